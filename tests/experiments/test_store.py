"""Result files: whole or not at all, read back exactly, merged without loss."""

import json

import numpy as np
import pytest

from xspn._core.errors import FormatError, ParameterError
from xspn.experiments import store as store_module
from xspn.experiments.result import Result
from xspn.experiments.store import Store
from xspn.experiments.unit import Unit


def test_a_result_survives_its_file(made, tmp_path):
    store, result = Store(tmp_path), made("senate", "XSPN-TF", -19.5, settings=[("min_instances", 20)])
    store.write(result)
    back = store.read(result.unit)
    assert back.unit == result.unit
    assert (back.test_score, back.valid_score, back.parameters) == (-19.5, -19.5, 7)
    np.testing.assert_allclose(back.test_rows, result.test_rows, rtol=1e-6)


@pytest.mark.parametrize("score", [float("-inf"), float("nan")])
def test_infinite_scores_are_valid_json(made, score):
    text = made("senate", "SPN", -1.0, valid=score).to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    np.testing.assert_equal(Result.from_json(text).valid_score, score)


def test_a_unit_without_result_is_none_and_so_is_a_damaged_one(made, tmp_path):
    store, result = Store(tmp_path), made("exam", "SPN", -6.0)
    assert store.read(result.unit) is None
    store.write(result)
    text = store.path(result.unit).read_text()
    store.path(result.unit).write_text(text[: len(text) // 2])
    assert store.read(result.unit) is None
    assert list(store) == []


def test_what_is_no_result_is_refused(made):
    text = made("exam", "SPN", -6.0).to_json()
    with pytest.raises(FormatError, match="schema"):
        Result.from_json(text.replace('"schema": 1', '"schema": 99'))
    with pytest.raises(FormatError, match="not a result"):
        Result.from_json("{}")
    with pytest.raises(FormatError, match="test rows"):
        Result.from_json(text.replace('"n_test": 50', '"n_test": 51'))


def test_a_write_that_fails_leaves_the_old_result_and_no_debris(made, tmp_path, monkeypatch):
    store, result = Store(tmp_path), made("exam", "SPN", -6.0)
    store.write(result)

    def full_disk(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(OSError, match="no space"):
        store.write(made("exam", "SPN", -5.0))
    monkeypatch.undo()
    assert store.read(result.unit).test_score == -6.0
    assert len(list(tmp_path.rglob("*"))) == 4  # three folders and one file


def test_merge_takes_what_is_new_and_tells_what_differs(made, tmp_path):
    ours, theirs = Store(tmp_path / "ours"), Store(tmp_path / "theirs")
    same, other = made("exam", "SPN", -6.0), made("exam", "SPN-CLT", -7.0)
    for result in (same, other):
        ours.write(result)
    theirs.write(same)
    theirs.write(made("exam", "SPN-CLT", -7.5))
    theirs.write(made("senate", "SPN", -19.0))
    merged = ours.merge(theirs.folder)
    assert (merged.new, merged.same) == (1, 1)
    assert merged.conflicts == ("exam SPN-CLT: -7.0000 here, -7.5000 there",)
    assert ours.read(other.unit).test_score == -7.0
    assert len(list(ours)) == 3
    with pytest.raises(ParameterError, match="expected a folder"):
        ours.merge(tmp_path / "nobody")


def test_old_debris_is_swept_and_young_is_not(made, tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.write(made("exam", "SPN", -6.0))
    debris = tmp_path / "density" / ".half.json.part"
    debris.write_text("{")
    store.sweep()
    assert debris.exists()
    monkeypatch.setattr(store_module, "STALE_SECONDS", -1)
    store.sweep()
    assert not debris.exists()
    assert len(list(store)) == 1


def test_generated_rows_and_seeds_have_files_of_their_own():
    units = [
        Unit("density", "exact", "SPN"),
        Unit("density", "exact", "SPN", generated=True),
        Unit("density", "exact", "SPN", seed=1),
        Unit("classification", "exact", "SPN"),
        Unit("density", "exact", "SPN", (("min_instances", 20),)),
    ]
    assert len({unit.path for unit in units}) == len(units)
    assert [Unit.from_dict(json.loads(json.dumps(unit.to_dict()))) for unit in units] == units
