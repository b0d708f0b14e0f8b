"""Checkpoints: go on where it stopped, to the same end; refuse what was made from something else."""

import hashlib
import json
import random

import numpy as np
import pytest

from support.distributed import grown, growth_of, in_blocks
from support.learning import two_clusters
from xspn.core.errors import DataError, FormatError, ParameterError
from xspn.distributed import growth as growth_module
from xspn.distributed.checkpoint import SCHEMA, Checkpoint, identity
from xspn.distributed.gathering import GatherLimits
from xspn.io.json_format import to_json
from xspn.learning.config import LearnConfig

LIMITS = GatherLimits(gather_cells=400, sample_rows=300)


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
        ('{"format": "xspn-checkpoint", "schema": 2, "digest": "x"}\n{}', "damaged"),
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


def test_a_folder_as_the_file_is_refused(table, tmp_path):
    with pytest.raises(ParameterError, match="expected a file, found a folder"):
        grown(in_blocks(table, 200), 2, LIMITS, checkpoint=tmp_path)


# -- altered files, with the digest that belongs to them ---------------------------------------------------------------


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory):
    """A checkpoint of a fit that stopped with tasks open, its content, and what loads it again."""
    rng = np.random.default_rng(5)
    rows, _ = two_clusters(rng, 800, 8)
    rows = np.where(rng.random(rows.shape) < 0.1, np.nan, rows)
    growth = growth_of(in_blocks(rows, 200), LIMITS)
    tree = growth.root_tree(2)
    path = tmp_path_factory.mktemp("checkpoint") / "fit.json"
    own = Checkpoint.at(path, identity(growth.statistics, growth.table.layout, LearnConfig(), 2, LIMITS))
    while len(tree.records) < 4:
        growth._advance(tree)
    assert tree.open
    own.save(tree)

    def load(content):
        text = content if isinstance(content, str) else json.dumps(content)
        head = {"format": "xspn-checkpoint", "schema": SCHEMA, "digest": hashlib.sha256(text.encode()).hexdigest()}
        path.write_text(f"{json.dumps(head)}\n{text}\n")
        return own.load(growth.root_tree(2).open[-1])

    return json.loads(path.read_text().splitlines()[1]), load


ODD = [None, True, -1, 1, 10**9, 10**30, 0.5, 1e308, float("nan"), float("inf"), "x", "", [], [0], {}, [[1]], {"a": 1}]


def spots(value, at=()):
    """The way to each value inside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*at, key)
        yield from spots(item, (*at, key))


def changed(content, rng):
    """The content with one value lost, out of order, or replaced by an odd one."""
    data = json.loads(json.dumps(content))
    *way, last = rng.choice([spot for spot in spots(data) if len(spot) <= rng.choice([3, 4, 9])])
    inside = data
    for key in way:
        inside = inside[key]
    what = rng.randrange(3)
    if what == 0:
        del inside[last]
    elif what == 1 and isinstance(inside[last], list):
        rng.shuffle(inside[last])
    else:
        inside[last] = rng.choice(ODD)
    return data


@pytest.mark.parametrize("seed", range(10))
def test_altered_checkpoints_are_refused_whatever_was_altered(unfinished, seed):
    content, load = unfinished
    rng = random.Random(seed)
    refused = 0
    for _ in range(30):
        try:
            load(changed(content, rng))
        except (FormatError, DataError):
            refused += 1
    assert refused >= 15  # what was shuffled or replaced may be another tree of the same root: that one is no damage


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["tree"]["open"][0].update(seed=7), "seed and depth do not follow"),
        (lambda data: data["tree"]["open"][0].update(variables=[0]), "node|open task"),
        (lambda data: data["tree"]["open"][0].update(rows=1e9), "more rows than the table has"),
        (lambda data: data["tree"]["records"][0].update(total=5.0), "total"),
        (lambda data: data["tree"].update(parents=[None] * len(data["tree"]["parents"])), "node"),
        (lambda data: data["tree"].update(records=[]), "parents"),
        (lambda data: data["tree"]["contexts"][0].update(bits=data["tree"]["contexts"][0]["weights"]), "context"),
        (lambda data: data.pop("identity"), "identity"),
        (lambda data: data.update(identity=[]), "fit.json"),
    ],
)
def test_what_would_lead_to_another_fit_is_refused(unfinished, change, message):
    content, load = unfinished
    data = json.loads(json.dumps(content))
    change(data)
    with pytest.raises(FormatError, match=message) as caught:
        load(data)
    assert "delete it to begin anew" in str(caught.value)


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 10_000, "", "nul", "{}", "[]"])
def test_content_that_is_no_json_of_ours(unfinished, text):
    with pytest.raises(FormatError, match="damaged"):
        unfinished[1](text)


def test_packed_rows_are_not_unpacked_beyond_their_limit(unfinished):
    import base64
    import zlib

    content, load = unfinished
    data = json.loads(json.dumps(content))
    data["tree"]["contexts"][0]["bits"] = base64.b64encode(zlib.compress(bytes(50_000_000), 9)).decode()
    with pytest.raises(FormatError, match=r"bits: expected at most [\d,]+ packed numbers"):
        load(data)
