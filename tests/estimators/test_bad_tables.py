"""Tables and settings that cannot be used are refused by place and name; odd ones that can be used are."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from support.learning import all_assignments, random_table, total_probability
from xspn import MEVM, XSPN, Bernoulli, NormalMixture, XSPNClassifier
from xspn.core.errors import DataError, DataTypeError, ParameterError, XSPNError

BOTH = pytest.mark.parametrize("kind", [XSPN, XSPNClassifier])


def with_cell(value, kind=float):
    table = np.zeros((5, 3), dtype=kind)
    table[3, 1] = value
    return table


def fit(kind, X):
    return kind().fit(X, np.arange(len(X)) % 2)


@BOTH
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (with_cell(2), "expected 0 or 1, found 2 at row 3, column 1"),
        (with_cell(2, np.int64), "expected 0 or 1, found 2 at row 3, column 1"),
        (with_cell(0.5), "expected 0 or 1, found 0.5 at row 3, column 1"),
        (with_cell(-1), "found -1 at row 3, column 1"),
        (with_cell(np.inf), "found inf at row 3, column 1"),
        (with_cell(-np.inf), "found -inf at row 3, column 1"),
    ],
)
def test_who_insists_on_binary_columns_is_told_which_cell_is_not(kind, X, message):
    with pytest.raises(DataError, match=message):
        kind(domains="binary").fit(X, [0, 1, 0, 1, 0])


@BOTH
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (with_cell(np.inf), "found inf at row 3, column 1"),
        (with_cell(-np.inf), "found -inf at row 3, column 1"),
        (np.zeros((0, 3)), r"0 sample\(s\)"),
        (np.zeros((3, 0)), r"0 feature\(s\)"),
        (np.zeros(3), "expected a 2-D table of rows and columns, found 1-D"),
        (np.zeros((2, 2, 2)), "found 3-D"),
        (csr_array(np.eye(3)), r"sparse tables are not supported; pass X.toarray\(\)"),
        ([[0, 1], [0]], "row 1 has 1 values, row 0 has 2"),
    ],
)
def test_tables_that_cannot_be_learned_from_are_refused_by_their_place(kind, X, message):
    with pytest.raises(DataError, match=message):
        kind().fit(X, [0, 1, 0, 1, 0])


@BOTH
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (with_cell(-1e200), r"at most 1e\+100, found -1e\+200 at row 3, column 1; divide column 1 by a constant"),
        (with_cell(1e-200), r"column 1 lie within 1e-200 of each other, .* multiply the column by a constant"),
    ],
)
def test_numbers_whose_squares_are_none_are_refused(kind, X, message):
    with pytest.raises(DataError, match=message):
        fit(kind, X)


@BOTH
def test_text_is_refused_by_its_place(kind):
    for X in ([[0, 1], [0, "yes"]], np.array([["0", "1"], ["0", "yes"]])):
        with pytest.raises(DataTypeError, match=r"expected numbers, found '(0|yes)' at row"):
            fit(kind, X)


@BOTH
def test_a_frames_cells_are_named(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"ann": [0, 1], "bob": [1, 7]})
    with pytest.raises(DataError, match=r"found 7 at row 1, column 1 \('bob'\)"):
        kind(domains="binary").fit(frame, [0, 1])


@BOTH
def test_other_columns_at_query_time_are_refused(kind, rng):
    pandas = pytest.importorskip("pandas")
    table = random_table(rng, 30, 3)
    frame = pandas.DataFrame(table, columns=["a", "b", "c"])
    plain, named = fit(kind, table), fit(kind, frame)
    ask = "score_samples" if kind is XSPN else "predict"
    for width in (2, 4):
        with pytest.raises(ValueError, match=f"X has {width} features, but {kind.__name__} is expecting 3 features"):
            getattr(plain, ask)(np.zeros((2, width)))
    with pytest.raises(DataError, match="feature names"):
        getattr(named, ask)(frame.rename(columns={"b": "x"}))
    with pytest.raises(DataError, match="order"):
        getattr(named, ask)(frame[["b", "a", "c"]])
    with pytest.raises(DataError, match="the column 'a' occurs twice"):
        getattr(named, ask)(frame.rename(columns={"b": "a"}))
    with pytest.raises(DataError, match="the column 'a' occurs twice"):
        fit(kind, frame.rename(columns={"b": "a"}))
    with pytest.raises(DataTypeError, match="expected all names of columns to be strings, found 5"):
        fit(kind, frame.rename(columns={"b": 5}))


@BOTH
def test_bad_values_at_query_time_are_refused_by_their_place(kind, rng):
    model = fit(kind, random_table(rng, 30, 3))
    ask = model.score_samples if kind is XSPN else model.predict
    with pytest.raises(DataError, match="row 3, column 1"):
        ask(with_cell(2))
    with pytest.raises(DataError, match="row 3, column 1"):
        ask(with_cell(np.inf))
    with pytest.raises(DataError, match="sparse"):
        ask(csr_array(np.eye(3)))
    with pytest.raises(DataError, match="2-D"):
        ask(np.zeros(3))


@BOTH
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("min_instances", 0, "min_instances: expected a whole number of at least 1, found 0"),
        ("min_instances", 2.5, "min_instances"),
        ("significance", 2, "significance: expected a number from 0 to 1, found 2"),
        ("independence_threshold", -1, "independence_threshold: expected a number"),
        ("smoothing", -0.1, r"smoothing: expected a number from 0 to 1e\+100, found -0.1"),
        ("shrinkage", -1, "shrinkage"),
        ("n_estimators", 0, "n_estimators: expected a whole number of at least 1, found 0"),
        ("exchangeability", "globl", "unknown exchangeability test 'globl'; did you mean 'global'"),
        ("clustering", "kmean", "unknown clustering 'kmean'; did you mean 'kmeans'"),
        ("leaf_learner", "block", "unknown leaf learner 'block'; did you mean 'blocks'"),
        ("options", {"publish": None}, "options: unknown setting 'publish'; did you mean 'published'"),
        ("random_state", "seed", "random_state"),
        ("n_jobs", 0, "n_jobs: expected a number of workers, −1 for all cores, or None, found 0"),
        ("n_jobs", 1.5, "n_jobs"),
        ("domains", "binry", "domains of column 0: expected one of 'binary'"),
        ("domains", ["real"], "domains: expected one for each of the 3 columns, found 1"),
        ("domains", {7: "real"}, "variable 7: expected an index from 0 to 2"),
        ("domains", {"ann": "real"}, "unknown variable 'ann'"),
        ("domains", {0: 5}, "domains of column 0: expected one of binary, categorical, ordinal, real, labels"),
        ("domains", 5, "domains: expected a word, a mapping or a list, found 5"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(rng, kind, name, value, message):
    with pytest.raises(XSPNError, match=message):
        kind(**{name: value}).fit(random_table(rng, 30, 3), np.arange(30) % 2)


def test_unknown_parameters_are_refused():
    with pytest.raises(TypeError, match="min_rows"):
        XSPN(min_rows=3)
    with pytest.raises(ValueError, match="min_rows"):
        XSPN().set_params(min_rows=3)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(4), "every weight is zero"),
        ([1, 1, 1], "expected 4 weights, one per row"),
        ([1, -1, 1, 1], "found -1.0 at row 1"),
        ([1, np.nan, 1, 1], "found nan at row 1"),
        ([1, np.inf, 1, 1], "found inf at row 1"),
        (["1", "1", "1", "1"], "expected numbers"),
        ([1, 1, 1e300, 1], r"at most 1e\+100, found 1e\+300 at row 2"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(XSPNError, match=message):
        XSPN().fit(np.eye(4), sample_weight=weights)


def test_a_gaussian_mixture_with_weights_is_refused(rng):
    X = np.vstack([np.tile([0, 0, 1, 1], (30, 1)), np.tile([1, 1, 0, 0], (30, 1)), rng.integers(0, 2, (30, 4))])
    with pytest.raises(XSPNError, match="'gmm' cannot take sample weights"):
        XSPN(clustering="gmm", exchangeability=None).fit(X, sample_weight=rng.random(90) + 1)


def test_the_full_test_refuses_wide_tables(rng):
    with pytest.raises(XSPNError, match="full test: 20 variables"):
        XSPN(exchangeability="full").fit(rng.integers(0, 2, size=(100, 20)))


def test_a_column_without_values_needs_no_smoothing(rng):
    X = rng.integers(0, 2, (60, 4)).astype(float)
    X[:, 1] = np.nan
    for leaf_learner in ("auto", "factorized", "chow_liu", "blocks"):
        model = XSPN(smoothing=0.0, leaf_learner=leaf_learner, random_state=0).fit(X)
        assert model.circuit_.marginals()[0, 1] == pytest.approx(0.5)
        assert np.isfinite(model.score(X))


def test_several_circuits_of_a_table_without_any_value_are_alike(rng):
    model = XSPN(n_estimators=2, random_state=0).fit(np.full((5, 3), np.nan), sample_weight=rng.random(5))
    assert total_probability(model.circuit_) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    "X",
    [[[1, 0, 1]], [[1]], [[0], [1], [1]], np.ones((5, 3)), np.zeros((500, 4)), np.tile([0, 1, 0], (300, 1))],
    ids=["one row", "one cell", "one column", "ones", "zeros", "constant columns"],
)
@pytest.mark.parametrize("n_estimators", [1, 2])
def test_odd_tables_give_a_sensible_model(X, n_estimators):
    model = XSPN(n_estimators=n_estimators, random_state=0).fit(X)
    n = np.shape(X)[1]
    assert total_probability(model.circuit_) == pytest.approx(1, abs=1e-9)
    scores = model.score_samples(all_assignments(n))
    assert np.isfinite(scores).all()
    seen = model.score_samples(X)
    assert seen.min() >= scores.max() - 1e-9 or n == 1, "what was always seen is likeliest"


def test_one_column_is_one_smoothed_leaf():
    circuit = XSPN(smoothing=0.5).fit([[0], [1], [1]]).circuit_
    assert isinstance(circuit.root, Bernoulli)
    assert circuit.root.p == pytest.approx(2.5 / 4)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (XSPN, "n_estimators"),
        (XSPNClassifier, "n_estimators"),
        (NormalMixture, "n_estimators"),
        (NormalMixture, "n_components"),
        (MEVM, "n_components"),
        (MEVM, "n_init"),
        (MEVM, "max_iter"),
    ],
)
def test_numbers_that_no_fit_comes_to_the_end_of_are_refused(kind, name):
    with pytest.raises(ParameterError, match=f"{name}: expected a whole number of at most"):
        fit(lambda: kind(**{name: 10**30}), np.tile([0, 1, 1], (6, 1)))
