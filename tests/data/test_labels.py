"""Circuits with labels: questions in labels, answers in labels, and files that keep them."""

import hashlib
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from xspn import XSPN, Bernoulli, Categorical, Circuit, Gaussian, Product, Sum, load, save
from xspn.core.errors import DataError, FormatError, ParameterError, StructureError
from xspn.data.domain import Domain
from xspn.data.frames import pandas_column
from xspn.data.schema import Schema
from xspn.io import from_json, to_json

NAN = np.nan
COLOURS = ("red", "green", "blue")


def parts(p, colours, mean):
    return Product([Bernoulli(0, p=p), Categorical(1, colours), Gaussian(2, mean=mean, std=1.0), Bernoulli(3, p=0.5)])


@pytest.fixture
def circuit():
    root = Sum([0.5, 0.5], [parts(0.25, [0.5, 0.25, 0.25], 0.0), parts(0.75, [0.1, 0.1, 0.8], 2.0)])
    columns = Schema.of(
        [Domain(2), Domain(3, ordered=True), Domain(None), Domain(2)],
        ["hot", "colour", "height", "coin"],
        [("no", "yes"), COLOURS, None, None],
        ["str", "category", "float64", "bool"],
    )
    return Circuit.of_schema(Circuit(root).graph, columns)


def test_questions_in_labels_are_those_in_codes(circuit):
    frame = pd.DataFrame({"hot": ["yes", None], "colour": ["blue", "red"], "height": [0.5, NAN], "coin": [True, False]})
    codes = np.array([[1, 2, 0.5, 1], [NAN, 0, NAN, 0]])
    lists = [["yes", "blue", 0.5, 1], [None, "red", None, 0]]
    for X in (frame, lists, frame.astype({"colour": pd.CategoricalDtype(["blue", "red"])})):
        np.testing.assert_array_equal(circuit.log_likelihood(X), circuit.log_likelihood(codes))
        np.testing.assert_array_equal(circuit.mpe(X).values, circuit.mpe(codes).values)
        np.testing.assert_array_equal(
            circuit.sample(given=X, random_state=0), circuit.sample(given=codes, random_state=0)
        )
    known, same = {"colour": "blue", "hot": "no"}, {1: 2.0, 0: 0.0}
    plain = Circuit(circuit.root)
    np.testing.assert_array_equal(circuit.marginals(known), plain.marginals(same))
    assert to_json(Circuit(circuit.condition(known).root)) == to_json(Circuit(plain.condition(same).root))
    np.testing.assert_array_equal(
        circuit.conditional_log_likelihood(frame, known), plain.conditional_log_likelihood(codes, same)
    )
    np.testing.assert_array_equal(
        circuit.count_distribution(["hot"], {"colour": "red"}), plain.count_distribution([0], {1: 0})
    )


def test_a_series_is_a_row(circuit):
    row = pd.Series({"height": None, "colour": "red", "coin": None, "hot": None})
    np.testing.assert_array_equal(circuit.marginals(row), circuit.marginals({"colour": "red"}))


def test_unknown_labels_list_the_known_ones(circuit):
    with pytest.raises(DataError, match="unknown value 'rot' at variable 'colour'; known: 'red', 'green', 'blue'"):
        circuit.marginals({"colour": "rot"})
    with pytest.raises(DataError, match="did you mean 'green'"):
        circuit.marginals({"colour": "Greeen"})
    with pytest.raises(DataError, match=r"X: unknown value 'maybe' at row 1, column 0 \('hot'\); known: 'no', 'yes'"):
        circuit.log_likelihood([["yes", "red", 0.0, 1], ["maybe", "red", 0.0, 1]])
    with pytest.raises(DataError, match="unknown value 2"):
        circuit.marginals({"colour": 2})
    with pytest.raises(DataError, match="unknown variable 'color': no such name; did you mean 'colour'"):
        circuit.marginals({"color": "red"})
    with pytest.raises(DataError, match="did you mean 'colour' by 'color'"):
        circuit.log_likelihood(pd.DataFrame([["yes", "red", 0.5, 1]], columns=["hot", "color", "height", "coin"]))


def test_other_circuits_of_the_same_tables_keep_the_columns(circuit):
    rows = circuit.sample(50, random_state=0)
    others = [
        circuit.marginalize(["colour", "hot"]),
        circuit.condition({"hot": "yes"}),
        circuit.simplify(),
        circuit.fit_parameters(circuit.decode(rows), n_iter=2, smoothing=0.1),
        pickle.loads(pickle.dumps(circuit)),
        from_json(to_json(circuit)),
    ]
    for other in others:
        assert other.labels == circuit.labels
        assert other.names == circuit.names
        assert other.schema.dtypes == circuit.schema.dtypes
        assert other.domains[1] == Domain.ordinal(3)
    assert others[0].domains == (Domain(2), Domain.ordinal(3), None, None)
    assert others[0].marginals({"hot": "no"}).shape == (1, 4, 3)


def test_codes_become_labels_again(circuit):
    rows = circuit.sample(20, random_state=1)
    frame = circuit.decode(rows)
    assert list(frame.columns) == ["hot", "colour", "height", "coin"]
    assert [str(dtype) for dtype in frame.dtypes] == ["str", "category", "float64", "bool"]
    assert frame["colour"].cat.ordered
    assert tuple(frame["colour"].cat.categories) == COLOURS
    assert frame["hot"].tolist() == [("no", "yes")[int(code)] for code in rows[:, 0]]
    np.testing.assert_array_equal(circuit.log_likelihood(frame), circuit.log_likelihood(rows))
    part = circuit.marginalize(["hot"])
    gone = part.decode(part.sample(5, random_state=0))
    assert gone[["colour", "height", "coin"]].isna().all().all()


def test_files_keep_labels_and_types(circuit, tmp_path):
    save(circuit, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.schema == circuit.schema
    assert to_json(loaded) == to_json(circuit)


def test_the_file_of_schema_2_stays_readable(circuit):
    path = Path(__file__).parent.parent / "golden" / "schema2.json"
    loaded = load(path)
    assert loaded.schema == circuit.schema
    assert to_json(loaded, indent=1) + "\n" == path.read_text(encoding="utf-8")
    assert to_json(loaded) == to_json(circuit)


def test_what_needs_no_labels_is_written_in_schema_1(circuit):
    assert '"schema": 1' in to_json(Circuit(circuit.root, names=["a", "b", "c", "d"]))
    assert '"schema": 2' in to_json(Circuit(circuit.root, labels={0: ["no", "yes"]}))


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ({"hot": ["no"]}, StructureError, "labels of variable 'hot': expected 2, one for each value, found 1"),
        ({"height": ["a", "b"]}, StructureError, "expected none for a real variable"),
        ({"hott": ["no", "yes"]}, DataError, "did you mean 'hot'"),
        ({"hot": ["no", "no"]}, ParameterError, "occurs twice"),
        ({"hot": "ny"}, ParameterError, "a list of labels"),
        ({"hot": [object(), "a"]}, ParameterError, "text, numbers or truth values"),
        ([None], StructureError, "4 columns need as many lists of labels, found 1"),
    ],
)
def test_labels_must_fit(circuit, labels, error, message):
    with pytest.raises(error, match=message):
        Circuit(circuit.root, names=circuit.names, labels=labels)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(labels=[["no"], None, None, None]),
        lambda data: data.update(labels=[["no", "no"], None, None, None]),
        lambda data: data.update(labels=["no", None, None, None]),
        lambda data: data.update(labels=[[[1], [2]], None, None, None]),
        lambda data: data.update(labels=[None]),
        lambda data: data.update(labels=5),
        lambda data: data.update(dtypes=[None]),
        lambda data: data.update(dtypes=[1, 2, 3, 4]),
        lambda data: data.update(dtypes="bool"),
        lambda data: data["domains"][1].update(ordered="yes"),
        lambda data: data["domains"][2].update(ordered=True),
        lambda data: data["domains"][1].update(cardinality=4),
    ],
)
def test_altered_columns_are_refused(circuit, change):
    data = json.loads(to_json(circuit))
    change(data)
    content = {key: data[key] for key in ("names", "domains", "labels", "dtypes", "nodes")}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    data["digest"] = hashlib.sha256(canonical.encode()).hexdigest()
    with pytest.raises(FormatError):
        from_json(json.dumps(data))


def test_means_and_variances_are_those_of_the_conditioned_circuit(circuit):
    rows = circuit.sample(30, random_state=3)
    rows[np.random.default_rng(0).random(rows.shape) < 0.5] = NAN
    for row, means, variances in zip(rows, circuit.means(rows), circuit.variances(rows), strict=True):
        seen = ~np.isnan(row)
        np.testing.assert_allclose(means[seen], row[seen], atol=1e-12)
        np.testing.assert_allclose(variances[seen], 0.0, atol=1e-12)
        if not seen.all():
            expected = circuit.condition(row).moments()
            np.testing.assert_allclose(means[~seen], expected.mean[~seen], atol=1e-12)
            np.testing.assert_allclose(variances[~seen], expected.variance[~seen], atol=1e-12)


def test_a_column_of_empty_cells_takes_the_labels_that_it_is_filled_with(circuit):
    empty = pd.Series([NAN, NAN])  # its type is that of NaN
    template = pd.DataFrame(dict.fromkeys(circuit.names, empty))
    answer = circuit.schema.decode(np.array([[1.0, 2, 0.5, 1], [0, 0, 1.5, 0]]), template)
    assert answer["hot"].tolist() == ["yes", "no"]
    assert answer["colour"].tolist() == ["blue", "red"]


def test_labels_that_a_column_cannot_hold_come_back_as_they_are():
    """Columns that share their labels may have a label that is out of one column's range."""
    codes = np.array([0.0, 1.0])
    for dtype, most in ((pd.Int8Dtype(), 127), (pd.Int64Dtype(), 2**63 - 1), (pd.UInt8Dtype(), 255)):
        kept = pandas_column(codes, Domain.categorical(2), (1, most), dtype)
        assert list(kept) == [1, most]
        assert kept.dtype == dtype
        assert list(pandas_column(codes, Domain.categorical(2), (1, most + 1), dtype)) == [1, most + 1]
    for label in (2**53 + 1, 10**400):  # floats have no room for these
        assert list(pandas_column(codes, Domain.categorical(2), (1, label), np.dtype(float))) == [1, label]


def huge_tables():
    """Whole numbers whose floats are one and the same, as they come: with and without missing cells."""
    whole = (2**62 + np.arange(60) % 3).tolist()
    bits = (np.arange(60) % 2).tolist()
    missing = [None, *whole[1:]]
    return {
        "array": np.column_stack([whole, whole]),
        "pandas": pd.DataFrame({"a": whole, "b": bits}),
        "beside reals": pd.DataFrame({"a": whole, "b": np.arange(60) / 7}),
        "nullable": pd.DataFrame({"a": pd.array(missing, dtype="Int64"), "b": bits}),
        "polars": pl.DataFrame({"a": whole, "b": bits}),
        "polars with nulls": pl.DataFrame({"a": missing, "b": bits}),
    }


@pytest.mark.parametrize("kind", huge_tables())
def test_whole_numbers_beyond_floats_are_labels_of_their_own(kind):
    X = huge_tables()[kind]
    model = XSPN(domains="categorical").fit(X)
    assert set(model.schema_.labels[0]) >= {2**62, 2**62 + 1, 2**62 + 2}
    assert np.isfinite(model.score_samples(X)).all()
    drawn, filled = model.sample(20, random_state=0), model.impute(X)
    assert np.isfinite(model.score_samples(drawn)).all()
    for table in (drawn, filled):
        first = table[:, 0] if isinstance(table, np.ndarray) else table["a"]
        assert set(first) <= set(model.schema_.labels[0])
    assert {2**62, 2**62 + 1, 2**62 + 2} <= set(first), "observed cells are as they were"


@pytest.mark.filterwarnings("error")
def test_small_floats_hold_what_they_can():
    """A draw beyond the range of float16 is the largest number that it holds; labels that it lacks stay as they are."""
    found = pandas_column(np.array([1.0, -1e9]), Domain.real(), None, np.dtype("float16"))
    np.testing.assert_array_equal(np.asarray(found, dtype=np.float64), [1.0, -65504.0])
    assert list(pandas_column(np.array([0.0, 1.0]), Domain(2), (1.5, 1e300), np.dtype("float16"))) == [1.5, 1e300]
