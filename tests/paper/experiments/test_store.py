"""Result files: whole or not at all, read back exactly, merged without loss."""

import base64
import json
import tracemalloc
import zlib

import numpy as np
import pytest

from xspn.core.errors import FormatError, ParameterError
from xspn.paper.experiments import store as store_module
from xspn.paper.experiments.plan import plan, planned
from xspn.paper.experiments.results import Unit, UnitResult
from xspn.paper.experiments.store import Store


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
    np.testing.assert_equal(UnitResult.from_json(text).valid_score, score)


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
        UnitResult.from_json(text.replace('"schema": 1', '"schema": 99'))
    with pytest.raises(FormatError, match="not a result"):
        UnitResult.from_json("{}")
    with pytest.raises(FormatError, match="test rows"):
        UnitResult.from_json(text.replace('"n_test": 50', '"n_test": 51'))


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


# -- files of others ---------------------------------------------------------------------------------------------------

UNIT = Unit("density", "exam", "SPN", (("independence_threshold", 5.0), ("min_instances", 20)))


def altered(result, **changes):
    """The text of a result with some values replaced; a dictionary replaces values inside."""
    data = json.loads(result.to_json())
    for name, value in changes.items():
        data[name] = {**data[name], **value} if isinstance(value, dict) and value else value
    return json.dumps(data)


MALFORMED = {
    "no schema": {"schema": None},
    "no unit": {"unit": []},
    "a data set in another folder": {"unit": {"dataset": "../../escaped"}},
    "a model in another folder": {"unit": {"model": "/tmp/escaped"}},
    "a setting in another folder": {"unit": {"settings": {"../x": 1}}},
    "a word in another folder": {"unit": {"settings": {"leaf_learner": "../x"}}},
    "a data set with a zero byte": {"unit": {"dataset": "exam\0"}},
    "an unknown experiment": {"unit": {"experiment": ".."}},
    "a seed that is no number": {"unit": {"seed": "0/../.."}},
    "a setting that is a list": {"unit": {"settings": {"min_instances": [1]}}},
    "a score that is a text": {"test_score": "good"},
    "a score that is true": {"valid_score": True},
    "a score that no float holds": {"valid_score": 10**400},
    "a setting that no float holds": {"unit": {"settings": {"min_instances": -(10**400)}}},
    "a time that no float holds": {"seconds": {"fit": 10**400}},
    "a score of other rows": {"test_score": -1.0},
    "a size that is a text": {"parameters": "many"},
    "a size without bounds": {"parameters": 10**30},
    "times that are a list": {"seconds": [1.0]},
    "no time": {"seconds": {}},
    "a negative time": {"seconds": {"fit": -1.0}},
    "versions that are numbers": {"versions": {"xspn": 1}},
    "a version that is no text": {"versions": {"xspn": "\ud800"}},
    "a fact under a name that is no text": {"facts": {"\udfff": 1}},
    "facts that are a list": {"facts": [1]},
    "a limit that is a text": {"facts": {"limit": "x"}},
    "levels that are a number": {"facts": {"same_for_levels": 0.1}},
    "rows that are a number": {"test_rows": 5},
    "rows that are no base64": {"test_rows": "§"},
    "rows that are not packed": {"test_rows": "AAAA"},
    "a number of rows that is a text": {"n_test": "50"},
    "rows without bounds": {"n_test": 10**15},
}


@pytest.mark.parametrize("name", list(MALFORMED))
def test_malformed_results_are_refused_by_name(made, tmp_path, name):
    store = Store(tmp_path / "units")
    good = made("exam", "SPN-CLT", -6.0, settings=UNIT.settings)
    store.write(good)
    bad = store.path(UNIT)
    bad.parent.mkdir()
    bad.write_text(altered(made("exam", "SPN", -6.0, settings=UNIT.settings), **MALFORMED[name]))
    found = store.found(planned)
    assert [result.unit for result in found.results] == [good.unit]
    [reason] = found.refused
    assert reason.startswith(str(bad))
    merged = Store(tmp_path / "ours" / "units").merge(store.folder, planned)
    assert (merged.new, len(merged.refused)) == (1, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours", "units"]


@pytest.mark.parametrize("text", ["", "[" * 100_000, "1" * 10_000, "nul", "[]", "NaN", '"schema"'])
def test_what_is_no_json_of_a_result(text):
    with pytest.raises(FormatError, match="result"):
        UnitResult.from_json(text)


def test_packed_rows_are_not_unpacked_beyond_their_number(made):
    bomb = base64.b64encode(zlib.compress(bytes(200_000_000), 9)).decode()
    text = altered(made("exam", "SPN", -6.0), test_rows=bomb)
    tracemalloc.start()
    with pytest.raises(FormatError, match="expected 50 test rows, found more"):
        UnitResult.from_json(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_only_units_of_the_plan_are_taken_over(made, tmp_path):
    theirs, ours = Store(tmp_path / "theirs"), Store(tmp_path / "ours")
    theirs.write(made("exam", "SPN", -6.0, settings=[("min_instances", 3)]))
    theirs.write(made("exam", "SPN", -6.0, settings=UNIT.settings))
    merged = ours.merge(theirs.folder, planned)
    assert merged.new == 1
    [reason] = merged.refused
    assert "exam SPN m=3 is not part of any table" in reason
    assert [path.relative_to(ours.folder).as_posix() for path in ours.folder.rglob("*.json")] == [UNIT.path.as_posix()]


def test_all_units_of_plans_are_planned():
    for quick in (False, True):
        units = plan(("table1", "table2", "pairwise"), ("exact", "conference", "parity"), quick=quick, seed=3).units
        assert units
        assert [planned(unit) for unit in units] == list(units)


def test_a_merge_replaces_no_file_and_follows_no_link_out(made, tmp_path):
    theirs, ours = Store(tmp_path / "theirs"), Store(tmp_path / "ours")
    theirs.write(made("exam", "SPN", -6.0, settings=UNIT.settings))
    foreign = ours.path(UNIT)
    foreign.parent.mkdir(parents=True)
    foreign.write_text("a diary")
    [conflict] = ours.merge(theirs.folder, planned).conflicts
    assert "is no result of it; remove that file first" in conflict
    assert foreign.read_text() == "a diary"
    foreign.unlink()
    outside = tmp_path / "outside"
    outside.mkdir()
    foreign.parent.rmdir()
    foreign.parent.symlink_to(outside)
    with pytest.raises(ParameterError, match="a link that leaves the folder"):
        ours.merge(theirs.folder, planned)
    assert list(outside.iterdir()) == []


def test_folders_and_misplaced_files_are_no_results(made, tmp_path):
    store = Store(tmp_path)
    store.write(made("exam", "SPN", -6.0, settings=UNIT.settings))
    (tmp_path / "density" / "folder.json").mkdir()
    (tmp_path / "density" / "copy.json").write_text(store.path(UNIT).read_text())
    found = store.found(planned)
    assert len(found.results) == 1
    assert ["the result of another unit" in found.refused[0], "expected a file" in found.refused[1]] == [True, True]


def test_results_on_other_numbers_of_rows_are_refused(made, tmp_path):
    store = Store(tmp_path)
    for model, size in (("SPN", 50), ("SPN-CLT", 50), ("SPN-default", 40)):
        store.write(made("exam", model, -6.0, n_rows=size))
    found = store.found()
    assert len(found.results) == 2
    assert "expected 50 test rows as in other results, found 40" in found.refused[0]
