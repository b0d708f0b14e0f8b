"""Models say of each column by itself, and of each category, what the table says; where one does not, a warning."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_wine

from support.tables import REAL, exchangeable_numbers
from xspn import XSPN, Bernoulli, Categorical, Circuit, ExchangeableGaussian, Gaussian, Product, Sum
from xspn.core.errors import AgreementWarning
from xspn.data.domain import Domain
from xspn.estimators.agreement import warn_of_disagreement
from xspn.learning.data import BinaryData
from xspn.learning.table_data import TableData
from xspn.leaves import Atom, Scale, Transformed
from xspn.leaves.transformed import scales_of


def many_units(rng, rows=160):
    """Three kinds of rows and ten measurements, each in a unit of its own, some of them skewed."""
    kind = rng.integers(0, 3, rows)
    centers = np.random.default_rng(0).normal(size=(3, 10))
    z = centers[kind] + 0.6 * rng.normal(size=(rows, 10)) + 0.5 * rng.normal(size=(rows, 1))
    units = [1, 0.1, 30, 900, 5, 0.01, 2, 12, 0.5, 60]
    z[:, 5:7] = np.exp(z[:, 5:7])
    return pd.DataFrame(z * units + np.multiply(units, 3), columns=[f"measure {i}" for i in range(10)])


def weather(rng, rows=1000):
    """Days of five kinds, of which 23 are of the last one: cold, wet and windy."""
    season = rng.random(rows)
    low = 10 + 8 * np.sin(2 * np.pi * season) + 3 * rng.normal(size=rows)
    kind = rng.choice(["sun", "rain", "fog", "drizzle"], rows, p=[0.5, 0.2, 0.25, 0.05])
    rain = np.where((kind == "sun") | (kind == "drizzle"), 0.0, rng.exponential(6, rows).round(1))
    low -= 2.0 * (kind == "rain")
    snow = rng.choice(rows, 23, replace=False)
    kind[snow], rain[snow], low[snow] = "snow", rng.exponential(9, 23).round(1), rng.normal(0, 2, 23)
    high = low + 6 + 2 * rng.normal(size=rows) - 2 * (kind == "snow")
    wind = 3 + 0.05 * rain + rng.gamma(2, 0.7, rows)
    return pd.DataFrame({"rain": rain, "high": high.round(1), "low": low.round(1), "wind": wind, "weather": kind})


def fitted(frame, seed):
    """A model, with the codes of its table; the rows and columns are in an order of the seed's."""
    rng = np.random.default_rng(seed)
    frame = frame.iloc[rng.permutation(len(frame)), rng.permutation(frame.shape[1])]
    model = XSPN(random_state=seed).fit(frame)
    return model, frame


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["wine", "diabetes", "many units", "standardized"])
def test_means_and_deviations_are_those_of_the_table(name, seed):
    if name == "many units":
        frame = many_units(np.random.default_rng(seed))
    else:
        bunch = load_diabetes(as_frame=True, scaled=False) if name == "diabetes" else load_wine(as_frame=True)
        frame = bunch.data.sample(140, random_state=seed)
    if name == "standardized":  # no scale tells the columns apart
        frame = (frame - frame.mean()) / frame.std()
    model, frame = fitted(frame, seed)
    moments, real = model.circuit_.moments(), [domain == REAL for domain in model.schema_.domains]
    ratio = np.sqrt(moments.variance) / frame.to_numpy().std(axis=0)
    apart = (moments.mean - frame.to_numpy().mean(axis=0)) / frame.to_numpy().std(axis=0)
    for v, scale in scales_of(model.circuit_.graph.leaves).items():
        if scale.kind in ("log", "asinh"):
            # The deviation of skewed numbers hangs on a few of them: the table's must be within its error, and on the
            # scale, where they are normal, the two must agree as closely as those of all other columns.
            x = frame.iloc[:, v].to_numpy()
            error = 0.5 * np.sqrt(np.mean(((x - x.mean()) ** 2 / x.var() - 1) ** 2) / len(x))
            assert abs(np.log(ratio[v])) < 2 * error
            drawn = scale.forward(model.sample(20_000, random_state=1).iloc[:, v].to_numpy())
            y = scale.forward(x)
            ratio[v], apart[v] = drawn.std() / y.std(), (drawn.mean() - y.mean()) / y.std()
    assert (ratio[real] > 0.9).all()
    assert (ratio[real] < 1.15).all()
    assert (np.abs(apart[real]) < 0.1).all()
    drawn, spans = model.sample(2000, random_state=0), frame.max() - frame.min()
    assert (drawn.max() < frame.max() + 2 * spans).all()
    assert (drawn.min() > frame.min() - 2 * spans).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_category_of_few_rows_is_not_drowned(seed):
    model, frame = fitted(weather(np.random.default_rng(seed)), seed)
    for kind, own in frame.groupby("weather"):
        given = model.circuit_.condition({"weather": kind}).moments()
        for name in ("high", "low", "rain", "wind"):
            mean, deviation = own[name].mean(), max(own[name].std(), 0.1 * frame[name].std())
            assert abs(given.mean[list(frame).index(name)] - mean) < 0.5 * deviation, (kind, name)


def test_repeated_measurements_still_share_a_leaf(rng):
    cells = np.column_stack([exchangeable_numbers(rng, 400, 5), 1000 * rng.random(400)])
    nodes = XSPN(random_state=0).fit(cells).circuit_.graph.nodes
    assert any(isinstance(node, ExchangeableGaussian) and len(node.variables) == 5 for node in nodes)


def check(root, cells, domains, names):
    warn_of_disagreement(Circuit(root, names=names), TableData.of(np.asarray(cells, dtype=float), domains))


def test_pooled_columns_of_different_units_are_named(rng):
    cells = rng.normal(size=(200, 3)) * [1, 50, 1]
    pooled = ExchangeableGaussian([0, 1], 0.0, float(cells[:, :2].std()), 0.0)
    with pytest.warns(
        AgreementWarning, match=r"column 'a' \(deviation 3\d.*, in the table .*\).* exchangeability=None"
    ):
        check(Product([pooled, Gaussian(2, mean=0.0, std=1.0)]), cells, [REAL] * 3, ["a", "b", "c"])


@pytest.mark.parametrize(
    ("root", "said"),
    [
        (Gaussian(0, mean=1.0, std=1.0), "mean 1, in the table"),
        (Gaussian(0, mean=0.0, std=0.6), "deviation 0.6, in the table"),
        (Sum([0.5, 0.5], [Gaussian(0, mean=m, std=0.01) for m in (-1.0, 1.0)]), r"P\(at most"),
    ],
)
def test_means_deviations_and_quantiles_are_compared(root, said, rng):
    with pytest.warns(AgreementWarning, match=said):
        check(root, rng.normal(size=(500, 1)), [REAL], ["a"])


def test_large_means_lose_no_digits(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(Gaussian(0, mean=1e9, std=1.0), 1e9 + rng.normal(size=(500, 1)), [REAL], ["a"])
    with pytest.warns(AgreementWarning, match="deviation"):
        check(Gaussian(0, mean=1e9, std=3.0), 1e9 + rng.normal(size=(500, 1)), [REAL], ["a"])


def test_shares_of_values_are_compared(rng):
    names = Circuit(Categorical(0, [0.5, 0.3, 0.2]), names=["color"], labels={"color": ["red", "green", "blue"]})
    cells = rng.choice(3, (400, 1), p=[0.2, 0.3, 0.5]).astype(float)
    with pytest.warns(AgreementWarning, match=r"'color' \(P\((red|blue)\) = "):
        warn_of_disagreement(names, TableData.of(cells, [Domain(3)]))
    bits = BinaryData.of((rng.random((500, 2)) < [0.7, 0.3]).astype(np.uint8))
    pooled = Circuit(Product([Bernoulli(0, p=0.31), Bernoulli(1, p=0.31)]))
    with pytest.warns(AgreementWarning, match=r"column 0 \(P\(1\) = 0.31, in the table 0\.[67]"):
        warn_of_disagreement(pooled, bits)


@pytest.mark.parametrize("rows", [3, 20, 60])
@pytest.mark.parametrize("seed", range(3))
def test_few_rows_and_skewed_columns_give_no_alarm(rows, seed):
    rng = np.random.default_rng(seed)
    columns = {
        "skewed": np.exp(rng.normal(size=rows)),
        "heavy": rng.standard_t(2, rows),
        "steps": rng.binomial(40, 0.5, rows) * 0.25,
        "spike": np.where(rng.random(rows) < 0.6, 0.0, rng.exponential(3, rows)),
        "grade": rng.integers(0, 7, rows),
        "name": rng.choice(["a", "b", "c"], rows),
        "bit": rng.integers(0, 2, rows),
    }
    XSPN(random_state=seed).fit(pd.DataFrame(columns))  # a warning would be an error
    XSPN(n_estimators=2, random_state=seed).fit(pd.DataFrame(columns))


@pytest.mark.filterwarnings("error")
def test_a_single_number_beside_an_atom_has_no_deviation_to_compare():
    cells = np.array([[0.0]] * 30 + [[2.5]] * 10)
    leaf = Transformed(Gaussian(0, mean=float(np.log(2.5)), std=0.1), [Scale("log")])
    circuit = Circuit(Sum([0.75, 0.25], [Atom(0, 0.0, 0.1), leaf]))
    warn_of_disagreement(circuit, TableData.of(cells, [Domain.real()]))
