"""Odd tables through everything that learns: refused with a reason, or learned into a sensible model.

Sensible: the training rows have finite scores, samples are possible, marginals are numbers, imputation changes nothing
that was observed, and a real column's deviation is of the order that the table says.
"""

import pickle
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from xspn import MEVM, XSPN, XSPNClassifier, XSPNError, exchangeability_test, exchangeable_groups
from xspn.data.domain import Domain

MOST_DEVIATION = 10.0  # of a model, in deviations of the table
ENOUGH_ROWS = 30  # for that to be said
LARGE = 1e15  # beyond that floats are not the numbers that they were


# -- columns -----------------------------------------------------------------------------------------------------------


def _labels(rng, n, k):
    return rng.choice([f"label {i}" for i in range(k)], size=n)


def _objects(values):
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


PLAIN = {  # usual ones come up most often: odd ones are found beside usual ones
    "bits": lambda rng, n: rng.integers(0, 2, n),
    "truth": lambda rng, n: rng.random(n) < 0.3,
    "bits as floats": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "steps": lambda rng, n: rng.integers(0, 5, n),
    "real": lambda rng, n: rng.normal(size=n),
    "labels": lambda rng, n: _labels(rng, n, 3),
    "yes or no": lambda rng, n: rng.choice(["yes", "no"], size=n),
}
ODD = {
    "constant bit": lambda rng, n: np.ones(n, dtype=int),
    "constant number": lambda rng, n: np.full(n, 3.25),
    "constant text": lambda rng, n: np.full(n, "same"),
    "constant but once": lambda rng, n: np.where(np.arange(n) == 0, 1.0, 0.5),
    "missing": lambda rng, n: np.full(n, np.nan),
    "none": lambda rng, n: _objects([None] * n),
    "infinite": lambda rng, n: np.where(rng.random(n) < 0.2, np.inf, 1.0),
    "huge whole": lambda rng, n: 2**53 + rng.integers(0, 9, n) * 2 + 1,
    "largest whole": lambda rng, n: np.full(n, 2**63 - 1) - rng.integers(0, 3, n),
    "unsigned": lambda rng, n: np.array([2**64 - 1 - int(i) for i in rng.integers(0, 3, n)], dtype=np.uint64),
    "beyond whole": lambda rng, n: _objects([10 ** int(k) for k in rng.integers(18, 400, n)]),
    "negative": lambda rng, n: rng.integers(-3, 3, n),
    "small whole": lambda rng, n: rng.integers(0, 40, n).astype(np.int8),
    "many steps": lambda rng, n: rng.integers(0, 1000, n),
    "far away": lambda rng, n: 1e9 + rng.normal(size=n),
    "large": lambda rng, n: rng.normal(size=n) * 1e150,
    "largest": lambda rng, n: rng.normal(size=n) * 1e307,
    "tiny": lambda rng, n: rng.normal(size=n) * 1e-200,
    "any unit": lambda rng, n: rng.normal(size=n) * 2.0 ** int(rng.integers(-330, 330)),
    "outlier": lambda rng, n: np.where(np.arange(n) == 0, 1e12, rng.normal(size=n)),
    "often zero": lambda rng, n: np.where(rng.random(n) < 0.4, 0.0, np.exp(rng.normal(size=n))),
    "heavy": lambda rng, n: np.exp(rng.normal(size=n) * 8),
    "half": lambda rng, n: rng.normal(size=n).astype(np.float16),
    "single": lambda rng, n: rng.normal(size=n).astype(np.float32),
    "long": lambda rng, n: rng.normal(size=n).astype(np.longdouble),
    "big-endian": lambda rng, n: rng.normal(size=n).astype(">f8"),
    "big-endian bits": lambda rng, n: rng.integers(0, 2, n).astype(">i4"),
    "identifiers": lambda rng, n: np.array([f"person {i}" for i in range(n)]),
    "many labels": lambda rng, n: _labels(rng, n, 40),
    "numbers as text": lambda rng, n: rng.integers(0, 3, n).astype(str),
    "odd labels": lambda rng, n: rng.choice(["", " ", "é", "\0", "\x1b[31m", "=1+1", "$\\alpha$", "nan"], size=n),
    "mixed": lambda rng, n: _objects([[0, "1", None, 2.5, True][int(k)] for k in rng.integers(0, 5, n)]),
    "numbers and truth": lambda rng, n: _objects([[0, True, False, 1.0][int(k)] for k in rng.integers(0, 4, n)]),
    "lists": lambda rng, n: _objects([[1, 2] for _ in range(n)]),
    "bytes": lambda rng, n: _objects([b"a", b"b"] * n)[:n],
    "decimals": lambda rng, n: _objects([Decimal(int(k)) / 3 for k in rng.integers(0, 9, n)]),
    "fractions": lambda rng, n: _objects([Fraction(int(k), 3) for k in rng.integers(0, 9, n)]),
    "days": lambda rng, n: _objects([date(2020, 1, 1 + int(k)) for k in rng.integers(0, 28, n)]),
    "complex": lambda rng, n: rng.normal(size=n) + 1j,
    "dates": lambda rng, n: pd.Series(pd.date_range("2020", periods=n)),
    "periods": lambda rng, n: pd.Series(pd.period_range("2020", periods=n, freq="D")),
    "durations": lambda rng, n: pd.Series(pd.to_timedelta(rng.integers(0, 9, n), unit="D")),
    "intervals": lambda rng, n: pd.Series(pd.interval_range(0, n, periods=n)),
    "categories": lambda rng, n: pd.Series(pd.Categorical(_labels(rng, n, 3))),
    "spare categories": lambda rng, n: pd.Series(pd.Categorical(["a"] * n, categories=["b", "a", "c"])),
    "ordered": lambda rng, n: pd.Series(pd.Categorical(rng.integers(0, 4, n), ordered=True)),
    "number categories": lambda rng, n: pd.Series(pd.Categorical(rng.choice([2.5, -1.0, 7.0], n))),
    "no categories": lambda rng, n: pd.Series(pd.Categorical([None] * n)),
    "nullable whole": lambda rng, n: pd.Series(rng.integers(0, 4, n)).astype("Int64").mask(rng.random(n) < 0.2),
    "nullable huge": lambda rng, n: pd.Series(2**60 + rng.integers(0, 4, n)).astype("Int64").mask(rng.random(n) < 0.2),
    "nullable truth": lambda rng, n: pd.Series(rng.random(n) < 0.5).astype("boolean").mask(rng.random(n) < 0.2),
    "nullable real": lambda rng, n: pd.Series(rng.normal(size=n)).astype("Float64").mask(rng.random(n) < 0.2),
    "strings": lambda rng, n: pd.Series(_labels(rng, n, 3), dtype="string").mask(rng.random(n) < 0.2),
    "sparse": lambda rng, n: pd.Series(pd.arrays.SparseArray(rng.integers(0, 2, n))),
    "arrow": lambda rng, n: pd.Series(rng.integers(0, 3, n), dtype="int64[pyarrow]"),
    "arrow text": lambda rng, n: pd.Series(_labels(rng, n, 2), dtype="string[pyarrow]"),
}


def column(rng, n, odd):
    kinds = ODD if odd else PLAIN
    made = kinds[list(kinds)[int(rng.integers(len(kinds)))]](rng, n)
    if rng.random() < 0.3:
        made = pd.Series(made).mask(rng.random(n) < 0.2)
    return made


# -- tables ------------------------------------------------------------------------------------------------------------

NAMES = [["a", "b", "a"], [0, 1, 2], ["a", 1, None], [("x", 1), ("x", 2)], ["", " ", "\n"], [1.5, 2.5], ["=1", "$x$"]]
INDEX = (
    lambda n: np.zeros(n, dtype=int),
    lambda n: pd.date_range("2020", periods=n),
    lambda n: [f"r{i}" for i in range(n)],
)


def n_rows(rng):
    return int(rng.choice([1, 2, 10, 40, 60, 80])) if rng.random() < 0.97 else 0


def frame(rng):
    """A DataFrame of some columns, with odd names or an odd index now and then."""
    n, width = n_rows(rng), int(rng.integers(1, 6))
    odd = rng.random(width) < rng.choice([0.0, 0.2, 0.2, 0.6])
    made = pd.DataFrame({f"c{j}": pd.Series(column(rng, n, odd[j])) for j in range(width)}, index=range(n))
    if rng.random() < 0.08:
        names = NAMES[int(rng.integers(len(NAMES)))]
        made.columns = [names[j % len(names)] for j in range(width)]
    elif rng.random() < 0.05:
        made.columns = pd.MultiIndex.from_product([["m"], made.columns])
    if rng.random() < 0.2:
        made.index = INDEX[int(rng.integers(len(INDEX)))](n)
    return made


def array(rng):
    """A plain array: any type, any layout."""
    n, width = n_rows(rng), int(rng.integers(0, 6))
    made = (
        np.array([np.asarray(column(rng, n, rng.random() < 0.2), dtype=object) for _ in range(width)], dtype=object)
        .reshape(width, n)
        .T
    )
    kind = rng.choice(["O", "f8", "f4", ">f8", "i8", ">i2", "u1", "?", "U20", "f2", "c16"])
    try:
        with np.errstate(all="ignore"):
            made = made.astype(kind)
    except (ValueError, TypeError, OverflowError):
        made = rng.integers(0, 3, made.shape).astype(kind)
    match int(rng.integers(8)):
        case 0:
            made = np.asfortranarray(made)
        case 1:
            made = made[::-1, ::-1]
        case 2:
            made = np.ascontiguousarray(made)
            made.flags.writeable = False
        case 3 if made.dtype.kind in "iuf":
            made = np.ma.masked_array(made, rng.random(made.shape) < 0.2)
        case 4:
            made = np.broadcast_to(made[:1], made.shape)
    return made


def other(rng):
    """Something that is hardly a table, or none."""
    bits = rng.integers(0, 2, (30, 3))
    options = [
        lambda: bits.tolist(),
        lambda: [tuple(row) for row in bits.tolist()],
        lambda: [[0, 1], [0]],
        lambda: [[0, [1]], [0, 1]],
        lambda: [{"a": 1}, {"a": 0}],
        lambda: [[0, None], [1, "x"]],
        list,
        lambda: [[]],
        lambda: [[], []],
        lambda: {"a": [0, 1], "b": [1, 1]},
        lambda: None,
        lambda: 5,
        lambda: "table.csv",
        lambda: b"bytes",
        lambda: np.array(1.0),
        lambda: bits[:, 0],
        lambda: bits[None],
        lambda: bits.astype(object),
        lambda: np.matrix(bits),
        lambda: csr_array(bits),
        lambda: np.array([(1, 2.0)] * 9, dtype=[("a", "i4"), ("b", "f8")]),
        lambda: np.array([["a", "b"]] * 9),
        lambda: np.array(["2020-01-01"] * 9, dtype="M8[D]").reshape(3, 3),
        lambda: pd.Series(bits[:, 0]),
        lambda: pd.DataFrame(),
        lambda: pd.DataFrame(bits.astype(float), columns=list("abc")).astype(pd.SparseDtype("float")),
        lambda: iter(bits.tolist()),
        lambda: range(10),
        lambda: {1, 2, 3},
        lambda: np.full((5, 3), np.nan),
        lambda: np.full((5, 2), 1e308),
        lambda: bits.view(np.recarray),
    ]
    return options[int(rng.integers(len(options)))]()


def table(rng):
    kind = rng.random()
    return frame(rng) if kind < 0.6 else array(rng) if kind < 0.85 else other(rng)


# -- estimators --------------------------------------------------------------------------------------------------------


def settings(rng):
    """Settings of a learner: quick, mostly usual, sometimes out of range."""
    found = {"random_state": int(rng.integers(100)), "min_instances": int(rng.choice([5, 20, 200]))}
    odd = {
        "domains": ["real", "categorical", "ordinal", "binary", Domain(3), ["real", None], {"c0": "ordinal"},
                    {0: "real"}, {"c0": ["label 0", "label 1"]}, {"nobody": "real"}, 5],
        "binarize": [0.5, 0, "x", float("nan")],
        "smoothing": [0.0, 1e-300, 1e99, 1e300, -1, "1", None],
        "shrinkage": [0.0, 1e99, 1e300],
        "exchangeability": [None, "pairwise", "full", "evidence", "evidence", "nothing"],
        "clustering": ["gmm", "kmeans", "variable", "bernoulli", "contexts", 3],
        "leaf_learner": ["factorized", "chow_liu", "blocks", "exchangeable", "sparse", "evidence"],
        "significance": [0.0, 1.0, 2.0, float("nan")],
        "independence_threshold": [0.0, 1e9, float("inf"), -1],
        "n_estimators": [2, 0],
        "options": [{}, {"nothing": 1}, 5],
        "min_instances": [0, 1, 2.5, 10**30],
    }  # fmt: skip
    for _ in range(int(rng.choice([0, 0, 1, 2]))):
        name = list(odd)[int(rng.integers(len(odd)))]
        found[name] = odd[name][int(rng.integers(len(odd[name])))]
    return found


def n_rows_of(X):
    """The number of rows of what may be no table."""
    try:
        return len(X)
    except TypeError:
        return 3


def weights(rng, n):
    kind = rng.random()
    if kind < 0.8:
        return None
    options = [
        rng.random(n),
        np.zeros(n),
        rng.integers(0, 3, n),
        [1.0],
        ["a"] * n,
        np.full(n, np.nan),
        np.full(n, 1e300),
        np.where(np.arange(n) % 2 == 0, 1e-300, 1.0),
        np.where(np.arange(n) == 0, 1.0, 0.0),
    ]
    return options[int(rng.integers(len(options)))]


def density_case(rng, folder):
    """Fit a density, and see that the model is a sensible one."""
    X = table(rng)
    size = n_rows_of(X)
    try:
        if rng.random() < 0.15:
            model = MEVM(n_components=rng.choice([2, None]), n_init=1, max_iter=5, random_state=0)
        else:
            model = XSPN(**settings(rng))
        own = weights(rng, size)
        model.fit(X, sample_weight=own)
    except (XSPNError, FileNotFoundError):  # a text is the path of Parquet files
        return "refused"
    check_model(rng, model, X, own)
    return "learned"


def check_model(rng, model, X, sample_weight=None):
    smoothing = getattr(model, "smoothing", 1.0)  # mixtures of normals have none to choose
    smoothed = not isinstance(smoothing, float) or smoothing > 1e-100
    scores = model.score_samples(X)
    assert not np.isnan(scores).any(), "a training row has no score"
    assert np.isfinite(scores).all() or not smoothed, "a training row is impossible"
    drawn = model.sample(7, random_state=0)
    again = model.score_samples(drawn) if model.binarize is None else model.circuit_.log_likelihood(drawn)
    assert (again > -np.inf).all(), "a sample is impossible"
    if smoothed:
        assert not np.isnan(np.asarray(model.predict_marginals(X), dtype=float)).any(), "a marginal is no number"
    assert isinstance(model.explain() if hasattr(model, "explain") else "", str)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.score_samples(X), scores, err_msg="pickle")
    check_imputed(rng, model, X, smoothed)
    check_deviations(model, X, sample_weight)
    if isinstance(X, pd.DataFrame):
        assert list(drawn.columns) == list(X.columns), "samples have other columns"


def check_imputed(rng, model, X, smoothed):
    """Observed cells come back as they were; none is missing that the model has a value for."""
    if not smoothed:
        return
    method = str(rng.choice(["marginal", "mpe", "sample"]))
    filled = model.impute(X, method, random_state=0)
    if not isinstance(X, pd.DataFrame):
        before = np.asarray(X)
        if before.dtype.kind in "biuf" and not isinstance(X, np.ma.MaskedArray):
            known = ~np.isnan(before.astype(float))
            assert (np.asarray(filled, dtype=before.dtype)[known] == before[known]).all(), (
                "an observed cell was changed"
            )
        return
    for place in range(X.shape[1]):
        before, after = X.iloc[:, place], filled.iloc[:, place]
        known = before.notna().to_numpy(dtype=bool)
        same = [a == b or str(a) == str(b) for a, b in zip(before[known], after[known], strict=True)]
        assert all(same), f"an observed cell of a column of {before.dtype} was changed"
        assert not after.isna().any() or not known.any(), f"a cell of a column of {before.dtype} was not filled"


def check_deviations(model, X, sample_weight):
    """The model's deviations of real columns are of the order of the table's, unless few rows have all the weight."""
    if sample_weight is not None and np.sum(sample_weight) ** 2 < ENOUGH_ROWS * np.sum(np.square(sample_weight)):
        return
    if not isinstance(X, pd.DataFrame | np.ndarray) or len(X) < ENOUGH_ROWS or model.binarize is not None:
        return
    found = np.sqrt(np.maximum(model.circuit_.moments().variance, 0.0))
    for j, domain in enumerate(model.schema_.domains):
        if domain is None or domain.is_discrete:
            continue
        if isinstance(X, pd.DataFrame):
            own = X.iloc[:, j]
        else:  # masked cells are missing, whatever number lies below the mask
            own = pd.Series(np.ma.filled(np.ma.asarray(X)[:, j].astype(object), np.nan))
        values = own.dropna().to_numpy(dtype=float)
        if len(values) < ENOUGH_ROWS or np.abs(values).max() > LARGE:
            continue
        spread = values.std()
        if spread > 1e-9 * np.abs(values).max():
            assert found[j] <= MOST_DEVIATION * spread, (
                f"deviation of a column: {found[j]:.3g}, in the table {spread:.3g}"
            )


def target(rng, n):
    """Labels for a classifier: usual ones, odd ones, and what is none."""
    options = [
        lambda: np.arange(n) % 2,
        lambda: np.arange(n) % 2,
        lambda: rng.choice(["no", "yes"], n),
        lambda: rng.random(n) < 0.5,
        lambda: rng.integers(0, 5, n).astype(float),
        lambda: rng.normal(size=n),
        lambda: np.zeros(n, dtype=int),
        lambda: pd.Series(pd.Categorical(rng.choice(["u", "v"], n))),
        lambda: pd.Series(rng.integers(0, 2, n)).astype("Int64").mask(rng.random(n) < 0.1),
        lambda: np.where(rng.random(n) < 0.1, np.nan, 1.0),
        lambda: _objects([[0, "a", None][int(k)] for k in rng.integers(0, 3, n)]),
        lambda: [None] * n,
        lambda: np.zeros((n, 2)),
        lambda: np.arange(n + 1) % 2,
        lambda: None,
        lambda: "labels",
        lambda: pd.date_range("2020", periods=n),
        lambda: np.array([2**53 + 1, 2**53 + 3] * n)[:n],
        lambda: [[1]] * n,
        lambda: rng.integers(0, 2, n).astype(">i4"),
        lambda: rng.integers(0, 2, n) + 0j,
    ]
    return options[int(rng.integers(len(options)))]()


def classifier_case(rng, folder):
    """Fit a classifier: refused, or its probabilities are some."""
    X = table(rng)
    size = n_rows_of(X)
    y = target(rng, size)
    try:
        model = XSPNClassifier(**settings(rng)).fit(X, y, sample_weight=weights(rng, size))
    except (XSPNError, FileNotFoundError):
        return "refused"
    chances = model.predict_proba(X)
    assert np.isfinite(chances).all(), "a probability is no number"
    assert np.allclose(chances.sum(axis=1), 1.0), "probabilities do not sum to 1"
    assert np.isin(model.predict(X), model.classes_).all(), "an unknown class was predicted"
    pickle.loads(pickle.dumps(model)).predict(X)
    return "learned"


def test_case(rng, folder):
    """Test the exchangeability of columns: refused, or a p-value and a partition."""
    X = table(rng)
    if rng.random() < 0.5:
        X = rng.integers(0, 2, (int(rng.integers(1, 60)), int(rng.integers(1, 8)))).astype(float)
        X[rng.random(X.shape) < rng.choice([0.0, 0.2, 0.9])] = np.nan
        if rng.random() < 0.3:
            X[:, 0] = rng.choice([0.0, 1.0, np.nan])
    method = str(rng.choice(["global", "pairwise", "full", "other"]))
    word = "refused"
    try:
        result = exchangeability_test(X, method)
        assert 0 <= result.p_value <= 1, f"a p-value of {result.p_value}"
        word = "tested"
    except XSPNError:
        pass
    try:
        groups = exchangeable_groups(X)
        found = sorted(v for group in groups for v in group.variables)
        assert found == list(range(np.shape(X)[1])), "the groups are no partition"
        return "tested"
    except XSPNError:
        return word


def prepare():
    """Import what learning needs."""
    X = np.random.default_rng(0).integers(0, 2, (60, 4))
    XSPN(random_state=0).fit(X).score(X)
    MEVM(n_components=2, n_init=1, max_iter=2, random_state=0).fit(X)
    XSPNClassifier(random_state=0).fit(X, X[:, 0])


TARGETS = {"densities": density_case, "classifiers": classifier_case, "tests": test_case}
