"""Where a model comes from: set by `fit`, kept by files of both forms, refused where it was altered."""

import json
import pickle

import numpy as np
import pytest

from xspn import XSPN, Bernoulli, Circuit, XSPNError, load, save
from xspn._version import __version__
from xspn.data.provenance import Provenance, digest_of, held_out_rows
from xspn.data.table import Table
from xspn.io import to_json
from xspn.io.json_format import _digest


@pytest.fixture
def table(rng):
    cells = (rng.random((60, 4)) < 0.4).astype(float)
    cells[0, 0] = np.nan
    return cells


@pytest.mark.parametrize("suffix", [".json", ".xspn"])
def test_a_file_keeps_it(tmp_path, table, suffix):
    model = XSPN(min_instances=30, random_state=7).fit(table)
    known = model.circuit_.provenance
    assert known == model.provenance_
    assert (known.version, known.learner, known.seed, known.rows, known.columns) == (__version__, "XSPN", 7, 60, 4)
    assert known.missing_cells == 1
    assert dict(known.settings) == {"min_instances": 30}
    assert not known.weighted
    save(model.circuit_, tmp_path / f"m{suffix}")
    assert load(tmp_path / f"m{suffix}").provenance == known
    assert pickle.loads(pickle.dumps(model.circuit_)).provenance == known


def test_rows_are_known_by_their_digest(table):
    model = XSPN(random_state=0).fit(table)
    schema = model.circuit_.schema
    assert model.provenance_.knows(table, schema)
    other = table.copy()
    other[3, 2] = 1 - other[3, 2]
    assert not model.provenance_.knows(other, schema)
    assert not model.provenance_.knows(table[:-1], schema)
    assert digest_of(table.astype(np.float32), schema) == digest_of(table, schema)
    real = Table.of(table * 0.5 + 0.25)
    assert digest_of(real.codes, real.schema) != digest_of(table, schema)


def test_a_circuit_that_was_changed_does_not_know(table):
    circuit = XSPN(random_state=0).fit(table).circuit_
    assert circuit.simplify().provenance is None
    assert circuit.marginalize([0, 1]).provenance is None
    assert "provenance" not in to_json(circuit)  # the text of a circuit is about its distribution alone


def test_files_without_it_are_read_as_before(tmp_path):
    save(Circuit(Bernoulli(0, p=0.5)), tmp_path / "m.json", notes={"a": 1})
    assert load(tmp_path / "m.json").provenance is None


@pytest.mark.parametrize(
    "altered",
    [
        3,
        {"learner": "XSPN"},
        {"version": "1", "learner": "XSPN", "rows": -3},
        {"version": "1", "learner": "XSPN", "seed": "x"},
        {"version": "1", "learner": "XSPN", "settings": []},
        {"version": "1", "learner": "XSPN", "held_out": {"fraction": 2.0, "seed": 1, "rows": 1}},
    ],
)
def test_what_cannot_be_is_refused(tmp_path, altered):
    content = json.loads(to_json(Circuit(Bernoulli(0, p=0.5)), notes={"provenance": altered}))
    content["digest"] = _digest({key: content[key] for key in content if key not in ("format", "schema", "digest")})
    (tmp_path / "m.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(XSPNError, match="provenance"):
        load(tmp_path / "m.json")


def test_more_than_is_known_is_passed_over():
    found = Provenance.from_plain({"version": "9", "learner": "XSPN", "color": "red", "rows": None}, "a file")
    assert found.version == "9"
    assert found.rows is None


def test_held_out_rows_are_the_same_for_a_seed():
    assert held_out_rows(20, 0.25, 3).tolist() == held_out_rows(20, 0.25, 3).tolist()
    assert held_out_rows(20, 0.25, 3).sum() == 5
