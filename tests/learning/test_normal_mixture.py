"""Mixtures of joint normals from rows with missing cells: expected sums by the leaves, and what is learned."""

import numpy as np
import pytest

from xspn import MultivariateGaussian, NormalMixture, XSPNImputer, load, save
from xspn.learning.normal_mixture import fit
from xspn.learning.normal_mixture.partial_rows import Mixture, PartialRows

NAN = np.nan


def two_kinds(rng, rows=400):
    """Two kinds of rows: three correlated numbers about other means, and a category that mostly tells the kind."""
    kind = rng.random(rows) < 0.4
    factor = rng.normal(size=(rows, 1))
    numbers = (
        np.where(kind[:, None], [4.0, -3.0, 2.0], 0.0) + factor * [1.0, -1.0, 0.5] + 0.4 * rng.normal(size=(rows, 3))
    )
    return np.column_stack([numbers, np.where(rng.random(rows) < 0.9, kind, ~kind)]), kind


def test_an_expectation_step_is_that_of_the_leaves():
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(2, 3, 5))
    mixture = Mixture(
        np.array([0.3, 0.7]),
        rng.normal(size=(2, 3)),
        roots @ roots.transpose(0, 2, 1) / 5,
        (np.array([[0.2, 0.8], [0.6, 0.4]]),),
    )
    cells = np.column_stack([rng.normal(size=(50, 3)), rng.integers(0, 2, 50)])
    cells[rng.random(cells.shape) < 0.4] = NAN
    cells[0, :3] = NAN
    weights = rng.random(50)
    rows = PartialRows(cells, weights, np.arange(3), np.array([3]), np.array([2]))
    found = rows.sums(mixture)
    leaves = [MultivariateGaussian(range(3), m, c) for m, c in zip(mixture.means, mixture.covariances, strict=True)]
    of_category = np.where(np.isnan(cells[:, [3]]), 1.0, mixture.tables[0].T[np.nan_to_num(cells[:, 3]).astype(int)])
    joint = np.exp([leaf.log_prob(cells[:, :3]) for leaf in leaves]).T * mixture.weights * of_category
    np.testing.assert_allclose(rows.log_likelihood(mixture), np.log(joint.sum(axis=1)), atol=1e-9)
    own = weights[:, None] * joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.mass, own.sum(axis=0))
    assert found.log_likelihood == pytest.approx(weights @ np.log(joint.sum(axis=1)))
    for c, leaf in enumerate(leaves):
        filled = leaf.means(cells[:, :3])
        second = (filled * own[:, [c]]).T @ filled
        for row, weight in zip(cells[:, :3], own[:, c], strict=True):
            hidden = np.isnan(row)
            if hidden.any():
                node = leaf.condition(row)[0]
                second[np.ix_(hidden, hidden)] += weight * node.moments()[1]
        np.testing.assert_allclose(found.first[c], own[:, c] @ filled)
        np.testing.assert_allclose(found.second[c], second, atol=1e-9)
        for value in (0, 1):
            assert found.counts[0][c, value] == pytest.approx(own[cells[:, 3] == value, c].sum())


def test_the_kinds_are_found_though_cells_are_missing():
    rng = np.random.default_rng(1)
    X, _ = two_kinds(rng)
    holes = np.where(rng.random(X.shape) < 0.2, NAN, X)
    model = NormalMixture(random_state=0).fit(holes)
    assert model.n_components_ >= 2
    fresh, told = two_kinds(rng)
    fresh[:, 3] = NAN
    category = model.circuit_.marginals(model._codes(fresh))[:, 3, 1] > 0.5
    assert (category == told).mean() > 0.97
    hidden = np.where(np.arange(4) == 1, NAN, two_kinds(np.random.default_rng(2))[0])
    truth = two_kinds(np.random.default_rng(2))[0][:, 1]
    error = np.sqrt(np.mean((model.impute(hidden, method="mean")[:, 1] - truth) ** 2))
    assert error < 0.62, "0.51 is left of the number given the others within a kind"


@pytest.mark.parametrize("seed", range(5))
def test_categories_choose_how_alike_components_are(seed):
    """Where two kinds differ in their covariances, these are their own; where they share one, rows are put together."""
    rng = np.random.default_rng(seed)
    kind, found = rng.random(300) < 0.5, []
    for factor in (2.0, 1.0):
        spreads = np.where(kind[:, None], factor ** rng.choice([-1, 1], 10), 1.0)
        X = np.column_stack([rng.normal(size=(300, 10)) * spreads + 0.5 * kind[:, None], kind])
        rows = PartialRows(X, np.ones(300), np.arange(10), np.array([10]), np.array([2]))
        found.append(fit._best_start(rows, 2, seed).strength)
    assert found[0] == min(fit.STRENGTHS) < found[1]


def test_the_same_seed_gives_the_same_mixture_and_weights_count_rows():
    rng = np.random.default_rng(3)
    X, _ = two_kinds(rng, rows=80)
    one, other = (NormalMixture(2, n_estimators=2, random_state=5).fit(X) for _ in range(2))
    assert (one.score_samples(X) == other.score_samples(X)).all()
    weights = rng.integers(0, 3, 80)
    weighted = NormalMixture(1, n_estimators=1, random_state=5).fit(X, sample_weight=weights)
    repeated = NormalMixture(1, n_estimators=1, random_state=5).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.score_samples(X), repeated.score_samples(X), rtol=1e-6)


def test_long_scales_are_numbers_unless_the_user_says_otherwise():
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.integers(0, 60, 200), rng.integers(0, 60, 200), rng.integers(0, 3, 200)]).astype(float)
    found = NormalMixture(1, n_estimators=1).fit(X).schema_.domains
    assert [domain.is_discrete for domain in found] == [False, False, True]
    found = NormalMixture(1, n_estimators=1, domains={0: "ordinal"}).fit(X).schema_.domains
    assert [domain.is_discrete for domain in found] == [True, False, True]


def test_the_imputer_takes_it_for_tables_of_numbers_and_files_keep_it(tmp_path):
    X, _ = two_kinds(np.random.default_rng(5), rows=100)
    imputer = XSPNImputer(random_state=0).fit(X)
    assert isinstance(imputer.estimator_, NormalMixture)
    save(imputer, tmp_path / "model.json")
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.3, NAN, X)
    assert (load(tmp_path / "model.json").transform(holes) == imputer.transform(holes)).all()


@pytest.mark.parametrize("column", [np.full(40, 7.0), np.full(40, NAN)], ids=["constant", "never seen"])
def test_a_column_without_any_spread_does_no_harm(column):
    rng = np.random.default_rng(6)
    X = np.column_stack([rng.normal(size=(40, 2)), column])
    model = NormalMixture(1, n_estimators=1, domains="real").fit(X)
    assert np.isfinite(model.score_samples(X)).all()


def test_a_table_without_any_value_is_learned_whatever_the_number_of_components():
    model = NormalMixture(n_components=3, n_estimators=2, random_state=0).fit(np.full((40, 2), NAN))
    assert model.score_samples([[NAN, NAN]]).tolist() == [0.0]


def test_wrong_settings_are_refused():
    for settings, reason in (({"n_components": 0}, "n_components"), ({"n_estimators": 1.5}, "n_estimators")):
        with pytest.raises(ValueError, match=reason):
            NormalMixture(**settings).fit([[0.1, 1.2], [2.3, 3.4]])
