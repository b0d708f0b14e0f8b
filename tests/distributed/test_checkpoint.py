"""Checkpoints: go on where it stopped, to the same end; refuse what was made from something else."""

import numpy as np
import pytest

from support.distributed import grown, in_blocks
from support.learning import two_clusters
from xspn._core.errors import DataError, FormatError
from xspn.distributed import growth as growth_module
from xspn.distributed.limits import Limits
from xspn.io.json_format import to_json

LIMITS = Limits(gather_cells=400, sample_rows=300)


class StoppedError(Exception):
    """The power goes out."""


@pytest.fixture
def table(rng):
    rows, _ = two_clusters(rng, 800, 8)
    rows = rows.astype(float)
    rows[:, 3] = np.where(rng.random(800) < 0.5, rows[:, 2], rows[:, 3])
    return rows


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_a_fit_goes_on_where_it_stopped(table, rng, tmp_path, monkeypatch, missing):
    table[rng.random(table.shape) < missing] = np.nan
    X, path = in_blocks(table, 200), tmp_path / "fit.json"
    whole, report = grown(X, 2, LIMITS)
    assert len(report.passes) > 3
    original = growth_module.run_pass
    passes = []

    def stop_at_the_third(*args):
        passes.append(args)
        if len(passes) == 3:
            raise StoppedError
        return original(*args)

    monkeypatch.setattr(growth_module, "run_pass", stop_at_the_third)
    with pytest.raises(StoppedError):
        grown(X, 2, LIMITS, checkpoint=path)
    monkeypatch.setattr(growth_module, "run_pass", original)
    found, rest = grown(X, 2, LIMITS, checkpoint=path)
    assert to_json(found) == to_json(whole)
    assert len(rest.passes) == len(report.passes) - 2
    said = [(entry.operation, entry.rows, entry.detail, entry.branch) for entry in rest.learned.trace]
    assert said == [(entry.operation, entry.rows, entry.detail, entry.branch) for entry in report.learned.trace]
    again, nothing = grown(X, 2, LIMITS, checkpoint=path)  # one that is finished is taken as it is
    assert to_json(again) == to_json(whole)
    assert nothing.passes == ()


def test_other_data_and_other_settings_are_refused(table, tmp_path):
    path = tmp_path / "fit.json"
    grown(in_blocks(table, 200), 2, LIMITS, checkpoint=path)
    with pytest.raises(DataError, match=r"fit\.json: made from other settings \(seed: 2 there, 3 now\)"):
        grown(in_blocks(table, 200), 3, LIMITS, checkpoint=path)
    with pytest.raises(DataError, match=r"other settings \(smoothing"):
        grown(in_blocks(table, 200), 2, LIMITS, checkpoint=path, smoothing=0.5)
    table[0, 0] = 1 - table[0, 0]
    with pytest.raises(DataError, match=r"made from other data \(digest"):
        grown(in_blocks(table, 200), 2, LIMITS, checkpoint=path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a checkpoint"),
        ("[1]", "not a checkpoint"),
        ('{"format": "xspn-circuit", "schema": 1}', "damaged, or of another version"),
        ('{"format": "xspn-checkpoint", "schema": 1, "digest": "x"}\n{}', "damaged"),
    ],
)
def test_what_is_no_checkpoint_is_refused(table, tmp_path, content, message):
    path = tmp_path / "fit.json"
    path.write_text(content)
    with pytest.raises(FormatError, match=message):
        grown(in_blocks(table, 200), 2, LIMITS, checkpoint=path)


def test_a_folder_that_is_not_there_is_refused_before_any_work(table, tmp_path):
    with pytest.raises(FileNotFoundError):
        grown(in_blocks(table, 200), 2, LIMITS, checkpoint=tmp_path / "nowhere" / "fit.json")
