"""Real tables: DataFrames with every type of column go in and come back with the same types and labels."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from xspn import MEVM, XSPN, XSPNClassifier, load, save
from xspn.core.errors import DataError, XSPNError
from xspn.data.domain import Domain

N = 240


def survey(rng, rows=N):
    """Two kinds of people, told apart by many types of columns, with missing values of every spelling."""
    kind = rng.random(rows) < 0.5

    def with_missing(values, missing, fraction=0.06):
        return [missing if rng.random() < fraction else value for value in values]

    colours = np.where(kind, rng.choice(["red", "green", "blue"], rows), rng.choice(["blue", "green"], rows))
    shapes, sizes = ["square", "round", "odd"], ["small", "medium", "large"]
    frame = {
        "colour": pd.Series(with_missing(colours, None), dtype=object),
        "answer": pd.Series(with_missing(np.where(kind, "yes", "no"), np.nan), dtype="str"),
        "word": pd.array(with_missing(rng.choice(["this", "that", "other"], rows), None), dtype="string"),
        "flag": rng.random(rows) < np.where(kind, 0.8, 0.2),
        "flag_or_not": pd.array(with_missing((~kind).tolist(), None), dtype="boolean"),
        "flag_or_none": pd.Series(with_missing(kind.tolist(), None), dtype=object),
        "shape": pd.Categorical(with_missing(rng.choice(shapes[:2], rows), None), categories=shapes),
        "size": pd.Categorical(with_missing(rng.choice(sizes, rows), None), categories=sizes, ordered=True),
        "level": pd.Categorical(rng.choice([10, 20, 30], rows), categories=[10, 20, 30], ordered=True),
        "children": rng.poisson(np.where(kind, 1, 3), rows),
        "pets": pd.array(with_missing(rng.poisson(2, rows).tolist(), None), dtype="Int64"),
        "age": np.where(kind, 30, 60) + rng.integers(-9, 10, rows),
        "height": rng.normal(np.where(kind, 1.6, 1.8), 0.1),
        "weight": pd.array(with_missing(rng.normal(70, 5, rows).tolist(), None), dtype="Float64"),
        "short": rng.normal(size=rows).astype(np.float32),
        "bit": rng.integers(0, 2, rows),
        "maybe": with_missing(rng.integers(0, 2, rows).astype(float).tolist(), np.nan),
        "same": ["always"] * rows,
    }
    return pd.DataFrame(frame).set_index(pd.Index([f"person {i}" for i in range(rows)]))


@pytest.fixture(scope="module")
def frame():
    return survey(np.random.default_rng(0))


@pytest.fixture(scope="module")
def model(frame):
    return XSPN(random_state=0).fit(frame)


def same_types(frame, other):
    assert list(other.columns) == list(frame.columns)
    wrong = [name for name in frame if other[name].dtype != frame[name].dtype]
    assert not wrong, other[wrong].dtypes


def test_the_kinds_are_found(model):
    found = dict(zip(model.feature_names_in_, [domain.kind for domain in model.schema_.domains], strict=True))
    assert found["colour"] == found["word"] == found["shape"] == found["same"] == "categorical"
    assert found["answer"] == found["flag"] == found["flag_or_not"] == found["flag_or_none"] == found["bit"] == "binary"
    assert found["size"] == found["level"] == found["children"] == found["pets"] == "ordinal"
    assert found["age"] == found["height"] == found["weight"] == found["short"] == "real"


def test_samples_have_the_types_and_labels_of_the_table(model, frame):
    rows = model.sample(30, random_state=1)
    same_types(frame, rows)
    assert not rows.isna().any().any()
    for name in ("colour", "answer", "word", "shape", "size", "level", "same"):
        assert set(rows[name]) <= set(model.circuit_.labels[list(frame).index(name)])
    assert np.isfinite(model.score_samples(rows)).all()
    pd.testing.assert_frame_equal(rows, model.sample(30, random_state=1))


@pytest.mark.parametrize("method", ["marginal", "mpe", "sample"])
def test_imputation_fills_missing_values_and_nothing_else(model, frame, method):
    before = frame.copy(deep=True)
    filled = model.impute(frame, method=method, random_state=0)
    same_types(frame, filled)
    assert list(filled.index) == list(frame.index)
    assert not filled.isna().any().any()
    for name in frame:
        seen = ~frame[name].isna()
        assert filled[name][seen].tolist() == frame[name][seen].tolist()
    pd.testing.assert_frame_equal(frame, before)


def test_files_keep_everything(model, frame, tmp_path):
    save(model.circuit_, tmp_path / "model.json")
    circuit = load(tmp_path / "model.json")
    np.testing.assert_array_equal(circuit.log_likelihood(frame), model.score_samples(frame))
    again = circuit.decode(circuit.sample(30, random_state=1))
    pd.testing.assert_frame_equal(again, model.sample(30, random_state=1))
    copy = pickle.loads(pickle.dumps(model))
    pd.testing.assert_frame_equal(copy.sample(5, random_state=2), model.sample(5, random_state=2))


def test_marginals_have_a_column_for_each_value(model, frame):
    some = frame.iloc[:7]
    found = model.predict_marginals(some)
    assert list(found.columns) == model.marginal_names()
    assert list(found.index) == list(some.index)
    colours = found[["colour=red", "colour=green", "colour=blue"]]
    np.testing.assert_allclose(colours.sum(axis=1), 1.0)
    np.testing.assert_allclose(found["height"], some["height"])
    alone = model.circuit_.marginals({"answer": "yes"})
    column = list(frame).index("flag")
    asked = pd.DataFrame({name: [None] for name in frame}, dtype=object)
    asked["answer"] = "yes"
    assert model.predict_marginals(asked)["flag"][0] == pytest.approx(alone[0, column, 1])


def test_labels_in_queries(model):
    circuit = model.circuit_
    assert circuit.condition({"colour": "red"}).marginals().shape[0] == 1
    with pytest.raises(DataError, match=r"unknown value 'rod' at variable 'colour'; known: .*; did you mean 'red'"):
        circuit.marginals({"colour": "rod"})
    with pytest.raises(DataError, match="did you mean 'colour'"):
        circuit.marginals({"color": "red"})


def test_new_labels_and_text_at_query_time_are_named(model, frame):
    other = frame.iloc[:5].copy()
    other["colour"] = ["red", "green", "pink", None, "red"]
    with pytest.raises(DataError, match=r"unknown value 'pink' at row 2, column 0 \('colour'\)"):
        model.score_samples(other)
    other = frame.iloc[:5].astype({"age": object})
    other.iloc[3, list(frame).index("age")] = "old"
    with pytest.raises(XSPNError, match=r"expected numbers, found 'old' at row 3, column 11 \('age'\)"):
        model.score_samples(other)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_few_rows(frame, rows):
    model = XSPN(random_state=0).fit(frame.iloc[:rows])
    assert np.isfinite(model.score_samples(frame.iloc[:rows])).all()
    assert model.sample(3, random_state=0).shape == (3, len(frame.columns))


@pytest.mark.parametrize("name", ["colour", "flag", "size", "children", "age", "height", "weight", "same"])
def test_one_column(frame, name):
    own = frame[[name]]
    model = XSPN(random_state=0).fit(own)
    assert np.isfinite(model.score_samples(own)).all()
    same_types(own, model.sample(10, random_state=0))
    assert not model.impute(own).isna().any().any()


def test_rows_and_columns_without_any_value(frame):
    partial = frame[["colour", "children", "height"]].astype(object)
    partial.iloc[::4] = None
    partial["nothing"] = np.nan
    model = XSPN(random_state=0).fit(partial)
    scores = model.score_samples(partial)
    np.testing.assert_allclose(scores[::4], 0.0, atol=1e-12)
    assert np.isfinite(scores).all()
    assert model.schema_.domains[3] == Domain.binary()


@pytest.mark.parametrize("dtype", ["str", "string"])
def test_samples_of_a_column_of_text_without_any_text_can_be_read_again(rng, dtype):
    frame = pd.DataFrame({"a": rng.normal(size=20), "b": pd.Series([None] * 20, dtype=dtype)})
    model = XSPN(random_state=0).fit(frame)
    assert np.isfinite(model.score_samples(model.sample(5, random_state=0))).all()


def test_labels_that_columns_share_come_back_whole_in_a_column_of_whole_numbers(rng):
    frame = pd.DataFrame({"a": rng.choice([2000.5, 1.0], 30), "b": rng.choice([1, 2000], 30)})
    model = XSPN(domains="categorical", smoothing=5.0, random_state=0).fit(frame)
    drawn = model.sample(200, random_state=0)
    assert set(drawn["b"]) == {1, 2000, 2000.5}
    assert np.isfinite(model.score_samples(drawn)).all()


def test_arrays_of_numbers_come_back_as_arrays(rng):
    X = np.column_stack(
        [rng.integers(0, 2, 200), rng.integers(0, 5, 200), rng.normal(size=200), rng.integers(2001, 2004, 200)]
    )
    X[rng.random(X.shape) < 0.05] = np.nan
    model = XSPN(domains={3: "ordinal"}, random_state=0).fit(X)
    assert [domain.kind for domain in model.schema_.domains] == ["binary", "ordinal", "real", "ordinal"]
    rows = model.sample(50, random_state=0)
    assert rows.dtype == np.float64
    assert set(rows[:, 3]) <= {2001.0, 2002.0, 2003.0}
    filled = model.impute(X)
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    assert not np.isnan(filled).any()
    assert model.predict_marginals(X).shape == (200, 1 + 5 + 1 + 3)
    assert model.marginal_names() == [
        "X0",
        *(f"X1={v}" for v in range(5)),
        "X2",
        *(f"X3={v}" for v in (2001, 2002, 2003)),
    ]
    with pytest.raises(DataError, match="unknown value 2009"):
        model.score_samples(np.array([[0, 1, 0.5, 2009]]))


def test_classification_of_mixed_tables(frame):
    y = np.where(frame["age"] > 45, "old", "young")
    X = frame.drop(columns=["age", "children"])
    model = XSPNClassifier(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.circuit_.names[-1] == "class"
    assert model.circuit_.labels[-1] == ("old", "young")
    np.testing.assert_allclose(model.predict_proba(X.iloc[:3]).sum(axis=1), 1.0)
    assert set(model.circuit_.decode(model.circuit_.sample(20, random_state=0))["class"]) <= {"old", "young"}


def test_mixtures_of_exchangeable_variables_are_for_binary_tables(frame):
    with pytest.raises(
        DataError, match=r"expected 2 different labels, found '\w+' besides at row \d+, column 1 \('word'\)"
    ):
        MEVM().fit(frame.drop(columns="colour"))
    with pytest.raises(DataError, match="expected 0 or 1, found"):
        MEVM().fit(frame[["bit", "age"]])
    words = frame[["answer", "flag", "bit"]].dropna()
    rows = MEVM(n_components=2, random_state=0).fit(words).sample(4, random_state=0)
    same_types(words, rows)


def test_domains_are_a_parameter_like_others(frame):
    model = XSPN(domains={"children": "real", "colour": ["blue", "green", "red"]}, random_state=0)
    fitted = clone(model).fit(frame)
    assert fitted.schema_.domains[list(frame).index("children")] == Domain.real()
    assert fitted.circuit_.labels[0] == ("blue", "green", "red")
    assert fitted.sample(5, random_state=0)["children"].dtype == frame["children"].dtype


BEYOND_FLOATS = 2**53 + 1 + 2 * np.arange(40)  # no float64 stands for any of these


@pytest.mark.parametrize("method", ["marginal", "mpe", "sample"])
def test_imputation_copies_what_is_seen(rng, method):
    """Through floating-point codes a large whole number would come back as its neighbour."""
    n = len(BEYOND_FLOATS)
    whole = {
        "signed": BEYOND_FLOATS.astype(np.int64),
        "unsigned": (BEYOND_FLOATS + 2**62).astype(np.uint64) + np.uint64(2**63 - 2**62),
        "single": rng.normal(size=n).astype(np.float32),
        "nullable": pd.array(BEYOND_FLOATS, dtype="Int64"),
        "flag": pd.array(rng.random(n) < 0.5, dtype="boolean"),
        "word": rng.choice(["a", "bb", "a much longer word"], n),
        "level": pd.Categorical(rng.choice(["low", "high"], n), categories=["low", "high", "never"], ordered=True),
    }
    frame = pd.DataFrame(whole, index=range(100, 100 + n))
    model = XSPN(random_state=0).fit(frame)
    partial = frame.copy()
    for name in list(frame)[2:]:
        partial.iloc[rng.choice(n, 7, replace=False), list(frame).index(name)] = None
    filled = model.impute(partial, method=method, random_state=0)
    same_types(partial, filled)
    assert not filled.isna().any().any()
    for name in partial:
        seen = partial[name].notna()
        assert filled[name][seen].tolist() == partial[name][seen].tolist(), name


@pytest.mark.parametrize("columns", [["c", "d"], [0, 1], pd.MultiIndex.from_tuples([("m", "c"), ("m", "d")])])
def test_categories_that_are_real_numbers_to_the_model(rng, columns):
    """Few real numbers are among a column's categories: missing cells stayed empty, and so did samples."""
    X = pd.DataFrame({0: pd.Categorical(rng.choice([2.5, 7.0, -1.0], 40)), 1: rng.integers(0, 2, 40)})
    X.columns = columns
    partial = X.copy()
    partial.iloc[:10, 0] = None
    model = XSPN(domains="real", random_state=0).fit(partial)
    filled = model.impute(partial)
    assert filled.dtypes.tolist() == [np.float64, np.int64]
    assert not filled.isna().any().any()
    assert filled.iloc[10:, 0].tolist() == partial.iloc[10:, 0].tolist()
    assert not model.sample(5, random_state=0).isna().any().any()
    assert model.impute(X).dtypes.tolist() == X.dtypes.tolist()  # where nothing is missing the table stays as it was


def test_imputation_copies_what_is_seen_in_arrays(rng):
    X = np.column_stack([BEYOND_FLOATS, rng.integers(0, 2, len(BEYOND_FLOATS))])
    filled = XSPN(domains={0: "real"}, random_state=0).fit(X).impute(X)
    np.testing.assert_array_equal(filled, X)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_imputation_copies_what_is_seen_in_arrays_of_words(rng):
    words = pd.DataFrame({"first": ["a", "bb", "ccc"] * 20, "second": rng.choice(["x", "a longer word"], 60)})
    partial = words.to_numpy(dtype=object)
    partial[::4, 0], partial[1::5, 1] = None, None
    filled = XSPN(random_state=0).fit(words).impute(partial)
    seen = ~pd.isna(partial)
    assert (filled[seen] == partial[seen]).all()
    assert set(filled.ravel()) == set(words.to_numpy().ravel())


def test_a_column_of_one_word(rng, tmp_path):
    """Its one value is certain: with binary columns beside it as much as with others."""
    n = 60
    for other in (rng.integers(0, 2, n), rng.choice(["x", "y", "z"], n)):
        frame = pd.DataFrame({"same": ["word"] * n, "other": other})
        model = XSPN(random_state=0).fit(frame)
        assert model.predict_marginals(frame)["same=word"].tolist() == [1.0] * n
        table = model.circuit_.marginals({"other": other[0]})
        assert table[0, 0, 0] == 1.0
        assert np.isnan(table[0, 0, 1:]).all()
        partial = frame.copy()
        partial.loc[::3, "same"] = None
        assert model.impute(partial)["same"].tolist() == ["word"] * n


@pytest.mark.parametrize("dtype", ["period[D]", "string", "Int8", "float32"])
def test_a_column_of_any_type_may_be_all_missing(dtype):
    other = np.random.default_rng(0).integers(0, 2, 40)
    table = pd.DataFrame({"empty": pd.array([None] * 40, dtype=dtype), "other": other})
    model = XSPN(random_state=0).fit(table)
    assert len(model.sample(5, random_state=0)) == 5
    assert model.impute(table)["other"].tolist() == other.tolist()


@pytest.mark.parametrize("leaf_learner", ["auto", "blocks", "factorized", "chow_liu", "exchangeable"])
def test_columns_without_a_single_cell_and_without_smoothing(leaf_learner, rng):
    bits = np.column_stack([rng.integers(0, 2, (30, 2)).astype(float), np.full((30, 4), np.nan)])
    model = XSPN(smoothing=0.0, leaf_learner=leaf_learner, random_state=0).fit(bits)
    assert np.isfinite(model.score(bits))
