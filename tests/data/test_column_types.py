"""What kind each column of a training table is, by rule and by wish, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xspn.core.errors import DataError, DataTypeError, ParameterError, XSPNError
from xspn.data.domain import Domain
from xspn.data.table import Table

NAN = np.nan


def kinds(X, domains=None):
    return [domain.kind for domain in Table.of(X, domains).schema.domains]


# -- by rule -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "domain"),
    [
        ([0, 1, 1], Domain.binary()),
        ([0.0, NAN, 1.0], Domain.binary()),
        ([True, False, False], Domain.binary()),
        ([0, 0, 0], Domain.binary()),
        ([1, 1, 1], Domain.binary()),
        ([NAN, NAN, NAN], Domain.binary()),
        ([0, 1, 2], Domain.ordinal(3)),
        ([5.0, NAN, 3.0], Domain.ordinal(6)),
        ([31, 0, 7], Domain.ordinal(32)),
        ([32, 0, 7], Domain.real()),
        ([-1, 1, 1], Domain.real()),
        ([0.5, 1, 0], Domain.real()),
        ([1e300, 1, 0], Domain.real()),
    ],
)
def test_numbers(cells, domain):
    for X in (np.array(cells)[:, None], [[cell] for cell in cells], pd.DataFrame({"a": cells})):
        found = Table.of(X)
        schema, codes = found.schema, found.codes
        assert schema.domains == (domain,)
        assert schema.labels == (None,)
        np.testing.assert_array_equal(np.asarray(codes, dtype=float)[:, 0], np.array(cells, dtype=float))


@pytest.mark.parametrize(
    ("column", "domain", "labels"),
    [
        (["b", "a", None, "b"], Domain.binary(), ("b", "a")),
        (["Yes", "No", "No", NAN], Domain.binary(), ("No", "Yes")),
        (["true", "false", "true", "true"], Domain.binary(), ("false", "true")),
        (["c", "a", "b", "a"], Domain(3), ("c", "a", "b")),
        (["a", "a", "a", "a"], Domain(1), ("a",)),
        ([True, None, False, True], Domain.binary(), (False, True)),
        ([1, None, 0, 5], Domain.ordinal(6), None),
        (pd.array([1, None, 0, 5], dtype="Int64"), Domain.ordinal(6), None),
        (pd.array([True, None, False, True], dtype="boolean"), Domain.binary(), None),
        (pd.array([1.5, None, 0, 1], dtype="Float64"), Domain.real(), None),
        (pd.array(["x", None, "y", "x"], dtype="string"), Domain.binary(), ("x", "y")),
        (pd.Categorical(["x", None, "y", "x"], categories=["z", "y", "x"]), Domain(3), ("z", "y", "x")),
        (pd.Categorical(["x", None, "y", "x"], categories=["x", "y"], ordered=True), Domain(2, True), ("x", "y")),
        (pd.Categorical([10, 20, 10, 30], ordered=True), Domain.ordinal(3), (10, 20, 30)),
    ],
)
def test_columns_of_frames(column, domain, labels):
    series = pd.Series(column, name="a")
    found = Table.of(series.to_frame())
    schema, codes = found.schema, found.codes
    assert schema.domains == (domain,)
    assert schema.labels == (labels,)
    back = [None if np.isnan(code) else schema.label(0, code) for code in codes[:, 0].astype(float)]
    assert [None if pd.isna(cell) else cell for cell in series] == back


def test_columns_of_text_with_the_same_labels_share_their_order():
    frame = pd.DataFrame(
        {
            "a": ["agree", "neutral", "disagree"],
            "b": ["neutral", "disagree", "agree"],
            "c": ["disagree", "agree", "agree"],
            "d": ["red", "green", "red"],
        }
    )
    found = Table.of(frame)
    schema, codes = found.schema, found.codes
    assert schema.labels[:3] == (("agree", "neutral", "disagree"),) * 3
    assert schema.labels[3] == ("red", "green")
    assert codes.tolist() == [[0, 1, 2, 0], [1, 2, 0, 1], [2, 0, 0, 0]]


def test_columns_that_are_much_alike_by_chance_keep_their_labels():
    frame = pd.DataFrame({"letter": list("abcdefg"), "other": ["a", "b"] * 3 + ["a"]})
    assert Table.of(frame).schema.labels[1] == ("a", "b")


@given(st.lists(st.lists(st.sampled_from([None, *"abcd"]), min_size=3, max_size=3), min_size=1, max_size=6))
def test_codes_stand_for_the_labels_that_they_came_from(cells):
    frame = pd.DataFrame(cells, columns=["x", "y", "z"], dtype=object)
    found = Table.of(frame)
    schema, codes = found.schema, found.codes
    for row, own in zip(codes.astype(float), cells, strict=True):
        assert own == [None if np.isnan(code) else schema.label(j, code) for j, code in enumerate(row)]


# -- by wish -----------------------------------------------------------------------------------------------------------


def test_words_lists_and_domains():
    X = np.array([[0, 1, 2001], [1, 0, 2003], [0, 2, NAN]])
    assert kinds(X) == ["binary", "ordinal", "real"]
    assert kinds(X, {1: "categorical", 2: "ordinal"}) == ["binary", "categorical", "ordinal"]
    assert Table.of(X, {2: "ordinal"}).schema.labels[2] == (2001, 2003)
    assert kinds(X, ["real", None, [2001, 2002, 2003]]) == ["real", "ordinal", "categorical"]
    assert Table.of(X, {1: Domain.ordinal(9)}).schema.domains[1] == Domain.ordinal(9)
    assert kinds(X, "real") == ["real"] * 3


def test_one_word_for_all_columns_gives_them_one_scale():
    X = np.array([[0, 1], [1, 7], [0, 2]])
    assert Table.of(X, "ordinal").schema.domains == (Domain.ordinal(8),) * 2
    found = Table.of([["a", "b"], ["c", "a"]], "categorical")
    schema, codes = found.schema, found.codes
    assert schema.labels == (("a", "c", "b"),) * 2
    assert codes.tolist() == [[0, 2], [1, 0]]


def test_types_of_pandas_say_labels_and_order():
    kind = pd.CategoricalDtype(["small", "large"], ordered=True)
    found = Table.of([["large", 1], ["small", 0]], {0: kind})
    schema, codes = found.schema, found.codes
    assert schema.domains == (Domain(2, ordered=True), Domain.binary())
    assert codes.tolist() == [[1, 1], [0, 0]]


def test_text_in_arrays_needs_a_wish():
    X = np.array([["no", "b"], ["yes", "a"]])
    with pytest.raises(DataTypeError, match="expected numbers, found 'no' at row 0, column 0"):
        Table.of(X)
    assert kinds(X, ["binary", "categorical"]) == ["binary", "binary"]


def test_many_labels_are_identifiers_unless_one_insists():
    frame = pd.DataFrame({"id": [f"row {i}" for i in range(150)], "bit": [0, 1] * 75})
    with pytest.raises(
        DataError, match=r"column 'id' looks like a row identifier \(150 different texts in 150 rows\); drop it"
    ):
        Table.of(frame)
    assert Table.of(frame, {"id": "categorical"}).schema.domains[0] == Domain(150)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "domains", "message"),
    [
        ([1, "yes", 0], None, r"one type of value in column 'a', found 'yes' \(a text\) at row 1, column 0 \('a'\)"),
        (["no", True, None], None, r"found True \(a truth value\) at row 1, column 0 \('a'\)"),
        ([1.0, np.inf, 2], None, r"expected a finite number, found inf at row 1, column 0 \('a'\)"),
        ([1, 2, 0], "binary", r"expected 0 or 1, found 2 at row 1, column 0 \('a'\)"),
        (["x", "y", "z"], "binary", r"expected 2 different labels, found 'z' besides at row 2, column 0 \('a'\)"),
        (pd.array([None, "y", "z", "x"], dtype="string"), "binary", r"found 'x' besides at row 3, column 0 \('a'\)"),
        (["x", "y", "z"], "real", r"expected numbers, found 'x' at row 0, column 0 \('a'\)"),
        (["x", "y", "z"], "ordinal", "the order of the labels of .* is unknown; list them"),
        (["x", "y", "z"], {"a": ["x", "y"]}, r"unknown value 'z' at row 2, column 0 \('a'\); known: 'x', 'y'"),
        ([1, 2, 7], {"a": Domain(3)}, r"expected one of 0, 1, 2, found 7 at row 2"),
        ([1, 2, 7], {"b": "real"}, "unknown variable 'b'"),
        ([1, 2, 7], {"a": "reel"}, "expected one of 'binary', 'categorical', 'ordinal', 'real', found 'reel'"),
        ([1, 2, 7], {"a": []}, "at least one label"),
        ([1, 2, 7], {"a": [1, 2, 2, 7]}, "the label 2 occurs twice"),
        ([1, 2, 7], {"a": [None, 1]}, "labels that are text, numbers or truth values, found None"),
        ([[1], [2], [3]], None, r"expected numbers, truth values or text, found \[1\]"),
        (pd.date_range("2020", periods=3), None, "column 'a' holds dates or times; convert it"),
        (np.array([1j, 2, 3]), None, "column 'a' holds complex numbers"),
        (pd.Categorical([None] * 3), None, "expected at least one label, found none"),
    ],
)
def test_refusals_name_the_column_and_the_cell(column, domains, message):
    with pytest.raises(XSPNError, match=message):
        Table.of(pd.DataFrame({"a": column}), domains)


@pytest.mark.parametrize("X", [np.empty((0, 2)), pd.DataFrame({"a": []}), pd.DataFrame(index=[1, 2]), []])
def test_empty_tables(X):
    with pytest.raises(DataError, match=r"found 0 (sample|feature)|found 1-D"):
        Table.of(X)


def test_names_of_frames():
    with pytest.raises(DataError, match="the column 'a' occurs twice"):
        Table.of(pd.DataFrame([[0, 1]], columns=["a", "a"]))
    with pytest.raises(DataTypeError, match="all names of columns to be strings"):
        Table.of(pd.DataFrame([[0, 1]], columns=["a", 1]))
    assert Table.of(pd.DataFrame([[0, 1]])).schema.names is None


def test_a_wish_for_every_column_or_none():
    with pytest.raises(ParameterError, match="one for each of the 2 columns, found 1"):
        Table.of([[0, 1]], ["real"])
    with pytest.raises(ParameterError, match="a word, a mapping or a list"):
        Table.of([[0, 1]], 3)


def test_other_libraries_frames_are_taken_by_way_of_pandas():
    pyarrow = pytest.importorskip("pyarrow")
    arrow = pyarrow.table({"a": ["x", "y", None], "b": [1.5, 2.0, 3.0]})
    found = Table.of(arrow)
    schema, codes = found.schema, found.codes
    assert schema.names == ("a", "b")
    assert codes[:, 1].tolist() == [1.5, 2.0, 3.0]
