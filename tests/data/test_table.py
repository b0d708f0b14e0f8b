"""One door: arrays, DataFrames of any library and files become the same codes, and go out as what came in."""

import numpy as np
import pandas as pd
import pytest

from xspn import XSPN, XSPNClassifier, exchangeability_test, exchangeable_groups
from xspn.core.errors import DataError, DataTypeError, ParameterError
from xspn.data import Schema, Table
from xspn.data.domain import Domain

polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

N = 200
LIBRARIES = ["pandas", "polars", "pyarrow"]


@pytest.fixture
def survey():
    rng = np.random.default_rng(3)
    mood = rng.random((N, 1)) < 0.5
    bits = rng.random((N, 4)) < np.where(mood, 0.85, 0.2)
    return pd.DataFrame(np.where(bits, "yes", "no"), columns=["ann", "bob", "cy", "dee"])


@pytest.fixture
def mixed():
    rng = np.random.default_rng(4)
    kind = rng.integers(0, 3, N)
    frame = pd.DataFrame(
        {
            "color": np.array(["red", "green", "blue"])[kind],
            "height": np.round(rng.normal(170 - 5 * kind, 8), 1),
            "owner": rng.random(N) < 0.3 + 0.2 * kind,
            "steps": rng.integers(0, 6, N),
        }
    )
    frame.loc[::7, "color"] = None
    frame.loc[::5, "height"] = np.nan
    return frame


def as_library(frame, library):
    if library == "pandas":
        return frame
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    return table if library == "pyarrow" else polars.from_arrow(table)


def library_of(frame):
    return type(frame).__module__.partition(".")[0]


def rows_of(frame):
    """A DataFrame of any library as lists of values, None where one is missing."""
    names = frame.column_names if library_of(frame) == "pyarrow" else frame.columns
    columns = {name: frame[name].to_pylist() if library_of(frame) == "pyarrow" else list(frame[name]) for name in names}
    return {name: [None if cell is None or cell != cell else cell for cell in own] for name, own in columns.items()}


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gives_the_same_codes(mixed, library):
    expected = Table.of(mixed)
    found = Table.of(as_library(mixed, library))
    np.testing.assert_array_equal(found.codes.astype(float), expected.codes.astype(float))
    assert (found.schema.names, found.schema.domains) == (expected.schema.names, expected.schema.domains)
    assert found.schema.labels == expected.schema.labels
    assert found.schema.library == library


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "npz"])
def test_every_file_gives_the_same_codes(mixed, tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    numbers = mixed[["height", "steps"]]
    if ending == "parquet":
        numbers.to_parquet(path)
    elif ending == "npz":
        np.savez(path, X=numbers.to_numpy(), names=np.array(numbers.columns, dtype=str))
    else:
        numbers.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    for X in (path, str(path)):
        found = Table.of(X)
        np.testing.assert_array_equal(found.codes, numbers.to_numpy())
        assert found.schema.names == ("height", "steps")


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_comes_in_goes_out(mixed, library):
    X = as_library(mixed, library)
    model = XSPN(random_state=0).fit(X)
    expected = XSPN(random_state=0).fit(mixed)
    np.testing.assert_array_equal(model.score_samples(X), expected.score_samples(mixed))
    np.testing.assert_array_equal(model.circuit_.log_likelihood(X), expected.score_samples(mixed))
    assert model.feature_names_in_.tolist() == list(mixed.columns)
    answers = {
        "sample": (model.sample(20, random_state=1), expected.sample(20, random_state=1)),
        "impute": (model.impute(X), expected.impute(mixed)),
        "marginals": (model.predict_marginals(X), expected.predict_marginals(mixed)),
        "decode": (
            model.circuit_.decode(model.circuit_.sample(9, random_state=2)),
            expected.circuit_.decode(expected.circuit_.sample(9, random_state=2)),
        ),
    }
    for found, own in answers.values():
        assert library_of(found) == library
        assert rows_of(found) == rows_of(own)


def test_types_survive_polars():
    X = polars.DataFrame(
        {
            "size": polars.Series(["small", "large", "medium"] * 20, dtype=polars.Enum(["small", "medium", "large"])),
            "word": polars.Series(["a", None, "b"] * 20, dtype=polars.Categorical),
            "bit": polars.Series([0, 1, None] * 20, dtype=polars.UInt8),
            "flag": [True, False, None] * 20,
            "real": polars.Series([0.5, 1.5, None] * 20, dtype=polars.Float32),
        }
    )
    model = XSPN(random_state=0).fit(X)
    assert model.schema_.domains[0] == Domain.ordinal(3)
    assert model.schema_.labels[0] == ("small", "medium", "large")
    for answer in (model.impute(X), model.sample(60, random_state=0)):
        assert answer.schema == X.schema
        assert answer.null_count().sum_horizontal().item() == 0


def test_a_lazy_frame_and_dates_are_refused():
    with pytest.raises(DataTypeError, match="lazy frame has no rows yet"):
        Table.of(polars.DataFrame({"a": [0, 1]}).lazy())
    dates = polars.DataFrame({"day": [0, 1]}).with_columns(polars.col("day").cast(polars.Date))
    with pytest.raises(DataTypeError, match="column 'day' holds dates or times"):
        Table.of(dates)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_public_tests_take_what_fit_takes(survey, tmp_path, library):
    bits = (survey == "yes").to_numpy()
    survey.to_csv(tmp_path / "survey.csv", index=False)
    expected, groups = exchangeability_test(bits), exchangeable_groups(bits)
    for X in (as_library(survey, library), tmp_path / "survey.csv", Table.of(survey)):
        assert exchangeability_test(X).p_value == expected.p_value
        assert [group.variables for group in exchangeable_groups(X)] == [group.variables for group in groups]
        assert exchangeable_groups(X)[0].names == tuple(survey.columns[v] for v in groups[0].variables)


def test_columns_of_other_types_are_tested_too(mixed):
    rng = np.random.default_rng(0)
    answers = np.clip(np.round(3 + rng.normal(size=(N, 1)) + rng.normal(size=(N, 5))), 1, 5)
    assert exchangeability_test(answers).p_value > 0.001
    assert exchangeability_test(answers, method="pairwise", correction="bonferroni").p_value > 0.001
    with pytest.raises(
        ParameterError, match=r"pairwise test \(columns of more than two values\): unknown setting 'dof'"
    ):
        exchangeability_test(answers, method="pairwise", dof=3)
    with pytest.raises(ParameterError, match="method='full' cannot take real numbers; use one of 'global', 'pairwise'"):
        exchangeability_test(rng.normal(size=(N, 3)), method="full")
    with pytest.raises(DataError, match="columns 'color' and 'height' hold different things"):
        exchangeability_test(mixed)
    found = [group.names for group in exchangeable_groups(mixed.assign(second=mixed["height"].to_numpy()[::-1]))]
    assert all(len(names) == 1 or set(names) == {"height", "second"} for names in found)


def test_a_table_is_read_once(survey, monkeypatch):
    table = Table.of(survey)
    monkeypatch.setattr("xspn.data.table._read_frame_or_array", None)  # nothing behind the door reads again
    model = XSPN(random_state=0).fit(table)
    assert model.score(table) == pytest.approx(XSPN(random_state=0).fit(table.rows(slice(None))).score(table))
    assert model.n_features_in_ == 4
    assert XSPNClassifier().fit(table.columns([0, 1, 2]), table.codes[:, 3]).predict(
        table.columns([0, 1, 2])
    ).shape == (N,)


def test_files_are_tables_for_every_query(survey, tmp_path):
    path = tmp_path / "survey.csv"
    survey[["dee", "ann", "cy", "bob"]].to_csv(path, index=False)  # a file's columns go by their names
    model = XSPN(random_state=0).fit(survey)
    expected = model.score_samples(survey)
    np.testing.assert_array_equal(model.score_samples(path), expected)
    np.testing.assert_array_equal(model.circuit_.log_likelihood(str(path)), expected)
    again = XSPN(random_state=0).fit(path)
    assert again.feature_names_in_.tolist() == ["dee", "ann", "cy", "bob"]
    assert list(again.sample(3, random_state=0).columns) == ["dee", "ann", "cy", "bob"]
    with pytest.raises(DataError, match=r"X: nothing\.csv: no such file"):
        model.score_samples("nothing.csv")


def test_tables_of_another_schema_are_recoded_by_their_labels():
    first = Table.of(pd.DataFrame({"a": ["x", "y", "z"]}))
    second = Table.of(pd.DataFrame({"a": ["z", "x", None]}))
    np.testing.assert_array_equal(first.schema.encode(second), [[2], [0], [np.nan]])
    with pytest.raises(DataError, match="expected 1 columns, found 2"):
        first.schema.encode(Table.of([[0, 1], [1, 0]]))
    with pytest.raises(ParameterError, match="known already"):
        Table.of(first, domains="categorical")


@pytest.mark.parametrize("library", LIBRARIES)
def test_numbers_are_binarized(library):
    frame = pd.DataFrame({"a": [0.2, 5.0, np.nan], "b": [3, 1, 0]})
    found = Table.of(as_library(frame, library), binarize=1.0)
    np.testing.assert_array_equal(found.codes, [[0, 1], [1, 0], [np.nan, 0]])
    assert found.schema == Schema.of([Domain.binary()] * 2, ["a", "b"])


def test_small_dask_collections_are_gathered_at_the_door(survey):
    dask, frames = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    X = frames.from_pandas(survey, npartitions=3)
    model = XSPN(random_state=0).fit(survey)
    np.testing.assert_array_equal(model.circuit_.log_likelihood(X), model.score_samples(survey))
    assert exchangeability_test(X).p_value == exchangeability_test(survey).p_value
    with (
        dask.config.set({"xspn.gather_cells": 100}),
        pytest.raises(DataError, match="200 rows of 4 columns are too many"),
    ):
        exchangeable_groups(X)
    with dask.config.set({"xspn.gather_cells": "many"}), pytest.raises(ParameterError, match=r"xspn\.gather_cells"):
        exchangeable_groups(X)


def test_models_of_other_libraries_answer_dask_with_pandas(mixed):
    frames = pytest.importorskip("dask.dataframe")
    X = frames.from_pandas(mixed, npartitions=2)
    for library in ("polars", "pyarrow"):
        model, expected = XSPN(random_state=0).fit(as_library(mixed, library)), XSPN(random_state=0).fit(mixed)
        assert rows_of(model.impute(X).compute()) == rows_of(expected.impute(mixed))
        pd.testing.assert_frame_equal(model.predict_marginals(X).compute(), expected.predict_marginals(mixed))
        drawn, own = model.sample(10, 0, chunks=4).compute(), expected.sample(10, 0, chunks=4).compute()
        assert rows_of(drawn) == rows_of(own)
