"""Real columns get leaves that respect what they can be, and what is drawn or filled in looks like the table."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from xspn import XSPN, NormalMixture
from xspn.leaves import Atom, Gaussian, Transformed
from xspn.leaves.transformed import scales_of


def columns(rng, rows=1000):
    return {
        "normal": rng.normal(size=rows),
        "positive": np.exp(rng.normal(size=rows)),
        "bounded": rng.random(rows),
        "heavy": rng.standard_t(2, rows),
        "zeros": np.where(rng.random(rows) < 0.4, 0.0, rng.exponential(3, rows)),
        "whole": np.round(rng.normal(200, 30, rows)),
    }


@pytest.mark.parametrize("seed", range(3))
def test_scales_are_chosen_where_they_pay(seed):
    table = columns(np.random.default_rng(seed))
    model = XSPN(random_state=0).fit(np.column_stack(list(table.values())))
    place = {name: v for v, name in enumerate(table)}
    kinds = {v: scale.kind for v, scale in scales_of(model.circuit_.graph.leaves).items()}
    assert kinds.get(place["normal"], "plain") == "plain"
    assert kinds[place["positive"]] == "log"
    assert kinds[place["bounded"]] == "logit"
    assert kinds[place["heavy"]] == "asinh"
    assert kinds[place["whole"]] == "plain"
    atoms = {leaf.variables[0] for leaf in model.circuit_.graph.leaves if isinstance(leaf, Atom)}
    assert atoms == {place["zeros"]}


@pytest.mark.parametrize("seed", range(3))
def test_samples_and_imputations_are_in_the_range_and_the_precision_of_the_table(seed):
    rng = np.random.default_rng(seed)
    table = np.column_stack(list(columns(rng).values()))
    model = XSPN(random_state=0).fit(table)
    holes = np.where(rng.random(table.shape) < 0.3, np.nan, table)
    drawn = [model.sample(3000, random_state=1), *(model.impute(holes, method=m) for m in ("marginal", "mpe"))]
    drawn.append(model.impute(holes, method="sample", random_state=0))
    for rows in drawn:
        assert (rows[:, 1] > 0).all()
        assert ((rows[:, 2] >= 0) & (rows[:, 2] <= 1)).all()
        assert (rows[:, 4] >= 0).all()
        np.testing.assert_array_equal(rows[:, 5], np.round(rows[:, 5]))
    assert abs((drawn[0][:, 4] == 0).mean() - 0.4) < 0.06


@pytest.mark.parametrize("rows", [15, 60, 400])
def test_positive_numbers_that_are_normal_stay_positive_too(rows):
    rng = np.random.default_rng(rows)
    table = np.abs(rng.normal(3, 1.3, size=(rows, 3)))
    model = XSPN(random_state=0).fit(table)
    assert model.sample(5000, random_state=0).min() >= 0
    assert np.isfinite(model.score_samples(-0.1 * np.ones((1, 3)))).all() or rows >= 60


def test_each_scale_predicts_better_than_mixtures_of_normals():
    rng = np.random.default_rng(0)
    train, new = columns(rng, 1000), columns(rng, 4000)
    for name in ("positive", "bounded", "heavy"):
        ours = XSPN(random_state=0).fit(train[name][:, None])
        normals = XSPN(exchangeability="global", random_state=0).fit(train[name][:, None])
        assert any(isinstance(leaf, Transformed) for leaf in ours.circuit_.graph.leaves)
        assert all(isinstance(leaf, Gaussian) for leaf in normals.circuit_.graph.leaves)
        assert ours.score(new[name][:, None]) > normals.score(new[name][:, None]) + 0.005
        assert ours.circuit_.summary().parameters <= normals.circuit_.summary().parameters


def test_the_unit_of_a_column_changes_densities_by_its_factor_alone():
    rng = np.random.default_rng(0)
    table = np.column_stack(list(columns(rng, 600).values()))
    scores = XSPN(random_state=0).fit(table).score_samples(table)
    factors = np.array([1000.0, 1000.0, 1000.0, 0.001, 1.0, 1000.0])
    larger = XSPN(random_state=0).fit(table * factors).score_samples(table * factors)
    np.testing.assert_allclose(larger + np.log(factors).sum(), scores, atol=1e-5)
    rows, order = rng.permutation(600), rng.permutation(6)
    moved = XSPN(random_state=0).fit(table[rows][:, order])
    np.testing.assert_allclose(moved.score_samples(table[:, order]), scores, atol=1e-5)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_diabetes, load_breast_cancer])
def test_ordinary_tables_give_no_alarm_and_samples_with_their_quantiles(load, missing):
    rng = np.random.default_rng(0)
    table = load(scaled=False).data if load is load_diabetes else load().data
    table = np.where(rng.random(table.shape) < missing, np.nan, table)[:, :12]
    model = XSPN(random_state=0).fit(table)  # a warning would be an error
    drawn = model.sample(4000, random_state=0)
    assert (drawn >= np.where(np.nanmin(table, axis=0) >= 0, 0.0, -np.inf)).all()
    for p in (0.1, 0.5, 0.9):
        quantile = np.nanquantile(table, p, axis=0)
        below, up_to = (drawn < quantile).mean(axis=0), (drawn <= quantile).mean(axis=0)
        in_table = np.nanmean(np.where(np.isnan(table), np.nan, table <= quantile), axis=0)
        assert (up_to >= p - 0.08).all()
        assert (below <= in_table + 0.08).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("far", [1e6, 1e9, 1e12, -1e15])
def test_one_number_far_away_does_not_round_the_others(far):
    """Numbers far below the step that fits the far one are no multiples of it, zero times."""
    rng = np.random.default_rng(0)
    numbers = np.append(rng.normal(size=299), far)
    circuit = XSPN(random_state=0).fit(np.column_stack([numbers, rng.normal(size=300)])).circuit_
    drawn = circuit.sample(2000, random_state=0)[:, 0]
    assert np.median(np.abs(drawn)) == pytest.approx(0.67, abs=0.15)
    for low, high in [(-1, 1), (-2, 0), (0.5, 1.5)]:
        in_table = ((numbers >= low) & (numbers <= high)).mean()
        assert circuit.probability(f"X0 in {low}..{high}").probability == pytest.approx(in_table, abs=0.08)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(4))
def test_whole_numbers_beyond_all_digits_stay_near_each_other(seed):
    """Logarithms of 2⁵³, 2⁵³ + 2, … are one number."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": 2**53 + rng.integers(0, 9, 60) * 2 + 1, "b": rng.integers(0, 2, 60)})
    model = XSPN(random_state=0).fit(table)
    found = model.circuit_.moments()
    assert found.mean[0] - 2**53 == pytest.approx(table["a"].mean() - 2**53, abs=2)
    assert np.sqrt(found.variance[0]) == pytest.approx(table["a"].astype(float).std(), rel=0.2)
    drawn = model.sample(500, random_state=0)["a"].astype(float)
    assert np.abs(drawn - 2**53).max() < 60


@pytest.mark.parametrize("rows", [40, 60, 80])
@pytest.mark.parametrize("far", [1e6, 1e12])
def test_one_number_far_away_does_not_make_the_model_vary_far_more_than_the_table(rows, far):
    """Smoothing widens the leaf of a single row; where it lies on a scale of logarithms, by powers of ten."""
    rng = np.random.default_rng(rows)
    numbers = np.append(rng.normal(size=rows - 1), far)
    both = np.column_stack([numbers, np.append(rng.normal(size=rows - 1), far)])
    for table in (np.column_stack([numbers, rng.normal(size=rows)]), both):
        found = XSPN(random_state=0).fit(table).circuit_.moments()
        assert np.sqrt(found.variance[0]) < 8 * numbers.std()
        assert abs(found.mean[0] - numbers.mean()) < numbers.std()


@pytest.mark.parametrize("value", [9.81, -0.123456789, 2.5e9])
@pytest.mark.parametrize("made", [XSPN, NormalMixture])
def test_a_number_that_all_rows_share_is_drawn_as_it_is_and_nothing_else_is_impossible(made, value):
    X = np.column_stack([np.random.default_rng(0).normal(size=100), np.full(100, value)])
    X[3, 1] = np.nan
    model = made(domains="real", random_state=0).fit(X)
    assert (model.sample(200, random_state=0)[:, 1] == value).mean() > 0.95
    assert model.impute([[0.0, np.nan]])[0, 1] == pytest.approx(value, rel=1e-12)
    usual, other = model.score_samples([[0.0, value], [0.0, value + 1.0]])
    assert usual - other > np.log(99)
    assert np.isfinite(other)
    assert any(isinstance(leaf, Atom) and leaf.value == value for leaf in model.circuit_.graph.leaves)
    few = made(domains="real", random_state=0).fit(X[:5])  # of which nobody knows
    assert not any(isinstance(leaf, Atom) for leaf in few.circuit_.graph.leaves)
