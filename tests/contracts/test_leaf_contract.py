"""Every registered discrete leaf × every promise of `xspn.leaves.base`, against enumeration.

The leaves come from the registry: a new family is enrolled the moment it is registered.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

from support.chi_square import assert_frequencies_fit
from support.enumeration import agreeing, assignments, count_of, log, partial_rows, subsets
from xspn.graph import Graph, Scope
from xspn.inference.oracle import Oracle
from xspn.leaves import Leaf, leaf_from_params, leaves

SEEDS = {"exchangeable": 24, "chow_liu": 12}
CLOSE = {"rtol": 0, "atol": 1e-11}


@dataclass
class Case:
    """A leaf with all its assignments."""

    leaf: Leaf

    @cached_property
    def cardinalities(self):
        return [domain.cardinality for domain in self.leaf.domains]

    @cached_property
    def all_assignments(self):
        return assignments(self.cardinalities)

    @cached_property
    def probabilities(self):
        return np.exp(self.leaf.log_prob(self.all_assignments))

    @cached_property
    def partial(self):
        return partial_rows(self.cardinalities)

    @cached_property
    def weights(self):
        """The probabilities of the assignments that agree with each partial row: (rows, assignments)."""
        return np.array([agreeing(self.all_assignments, row) for row in self.partial]) * self.probabilities

    @cached_property
    def possible(self):
        """The partial rows of positive probability."""
        return self.weights.sum(axis=1) > 0

    def data(self, rng, rows=40):
        chosen = rng.choice(len(self.all_assignments), size=rows, p=self.probabilities / self.probabilities.sum())
        return self.all_assignments[chosen]


def is_discrete(family):
    return all(domain.is_discrete for domain in leaves[family].example(np.random.default_rng(0)).domains)


EXAMPLES = [(family, seed) for family in leaves if is_discrete(family) for seed in range(SEEDS.get(family, 6))]
cases = {key: Case(leaves[key[0]].example(np.random.default_rng(key[1]))) for key in EXAMPLES}


@pytest.fixture(params=EXAMPLES, ids=lambda key: f"{key[0]}-{key[1]}")
def case(request):
    return cases[request.param]


def over_assignments(case, node, variables):
    """The probabilities that a node gives to the case's assignments, looking at some positions only."""
    oracle = Oracle(Graph(node, max(case.leaf.variables) + 1))
    table = np.full((len(case.all_assignments), max(case.leaf.variables) + 1), np.nan)
    table[:, [case.leaf.variables[i] for i in variables]] = case.all_assignments[:, variables]
    assert set(oracle.variables) == {case.leaf.variables[i] for i in variables}
    return np.exp(oracle.log_likelihood(table))


# -- probabilities -----------------------------------------------------------------------------------------------------


def test_the_assignments_sum_to_one(case):
    assert abs(case.probabilities.sum() - 1) < 1e-12
    assert (case.probabilities >= 0).all()


def test_every_pattern_of_missing_values_is_summed_out(case):
    np.testing.assert_allclose(case.leaf.log_prob(case.partial), log(case.weights.sum(axis=1)), **CLOSE)


def test_rows_are_answered_one_by_one(case):
    whole = case.leaf.log_prob(case.partial)
    single = np.concatenate([case.leaf.log_prob(case.partial[r : r + 1]) for r in range(0, len(case.partial), 7)])
    np.testing.assert_allclose(whole[::7], single, **CLOSE)


def test_the_mode_is_the_best_completion_of_every_row(case):
    filled, log_prob = case.leaf.mode(case.partial)
    assert not np.isnan(filled).any()
    assert ((filled == case.partial) | np.isnan(case.partial)).all()
    np.testing.assert_allclose(log_prob, log(case.weights.max(axis=1)), **CLOSE)
    np.testing.assert_allclose(case.leaf.log_prob(filled), log_prob, **CLOSE)


def test_samples_respect_the_evidence_and_fit_the_exact_frequencies(case):
    rng = np.random.default_rng(7)
    rows = np.flatnonzero(case.possible & np.isnan(case.partial).any(axis=1))
    nothing_known = len(case.partial) - 1
    for row in {nothing_known, *rng.choice(rows, size=2).tolist()}:
        evidence = np.repeat(case.partial[row : row + 1], 1500, axis=0)
        drawn = case.leaf.sample(evidence, rng)
        assert ((drawn == evidence) | np.isnan(evidence)).all()
        assert_frequencies_fit(count_of(drawn, case.all_assignments), case.weights[row] / case.weights[row].sum())


def test_samples_depend_on_the_seed_alone(case):
    evidence = case.partial[case.possible]
    first, second = (case.leaf.sample(evidence, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_marginals_of_every_row(case):
    table = case.leaf.marginals(case.partial)
    assert table.shape == (len(case.partial), len(case.cardinalities), max(case.cardinalities))
    assert not table[~case.possible].any()
    weights = case.weights[case.possible] / case.weights[case.possible].sum(axis=1, keepdims=True)
    for i in range(len(case.cardinalities)):
        for value in range(max(case.cardinalities)):
            expected = weights @ (case.all_assignments[:, i] == value)
            np.testing.assert_allclose(table[case.possible, i, value], expected, **CLOSE)


@pytest.mark.parametrize("best", [False, True])
@pytest.mark.parametrize("which", ["partial", "all_assignments"])
def test_alternatives_of_every_cell(case, best, which):
    rows = getattr(case, which).astype(np.float64)
    found = case.leaf.alternatives(rows, best)
    assert found.shape == (len(rows), len(case.cardinalities), max(case.cardinalities))
    for i, size in enumerate(case.cardinalities):
        assert np.isneginf(found[:, i, size:]).all()
        for value in range(size):
            replaced = rows.copy()
            replaced[:, i] = value
            weights = np.array([agreeing(case.all_assignments, row) for row in replaced]) * case.probabilities
            expected = weights.max(axis=1) if best else weights.sum(axis=1)
            np.testing.assert_allclose(np.exp(found[:, i, value]), expected, **CLOSE)


def test_means_of_every_row(case):
    weights = case.weights[case.possible] / case.weights[case.possible].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(case.leaf.means(case.partial)[case.possible], weights @ case.all_assignments, **CLOSE)


def test_variances_of_every_row(case):
    weights = case.weights[case.possible] / case.weights[case.possible].sum(axis=1, keepdims=True)
    expected = weights @ case.all_assignments**2 - (weights @ case.all_assignments) ** 2
    np.testing.assert_allclose(case.leaf.variances(case.partial)[case.possible], expected, rtol=1e-9, atol=1e-9)


def test_supports_are_the_values_of_positive_probability(case):
    for i, support in enumerate(case.leaf.supports()):
        assert support == {int(v) for v in case.all_assignments[case.probabilities > 0, i]}


def test_moments(case):
    mean, covariance = case.leaf.moments()
    np.testing.assert_allclose(mean, case.probabilities @ case.all_assignments, **CLOSE)
    away = case.all_assignments - case.probabilities @ case.all_assignments
    np.testing.assert_allclose(covariance, (away * case.probabilities[:, None]).T @ away, **CLOSE)


def test_ones_are_counted(case):
    if set(case.cardinalities) != {2}:
        with pytest.raises(ValueError, match="binary"):
            case.leaf.count_distribution()
        return
    expected = np.bincount(
        case.all_assignments.sum(axis=1).astype(int), weights=case.probabilities, minlength=len(case.cardinalities) + 1
    )
    np.testing.assert_allclose(case.leaf.count_distribution(), expected, **CLOSE)


# -- other leaves ------------------------------------------------------------------------------------------------------


def test_marginalize_every_subset(case):
    for kept in subsets(range(len(case.cardinalities))):
        node = case.leaf.marginalize(Scope.of(case.leaf.variables[i] for i in kept))
        if not kept:
            assert node is None
            continue
        rows = np.full_like(case.all_assignments, np.nan)
        rows[:, kept] = case.all_assignments[:, kept]
        np.testing.assert_allclose(over_assignments(case, node, list(kept)), np.exp(case.leaf.log_prob(rows)), **CLOSE)


def test_keeping_other_variables_as_well_changes_nothing(case):
    everything = Scope.of([*case.leaf.variables, max(case.leaf.variables) + 3])
    assert case.leaf.marginalize(everything) is case.leaf


def test_condition_on_every_partial_row(case):
    for row, weights in zip(case.partial, case.weights, strict=True):
        node, log_evidence = case.leaf.condition(row)
        np.testing.assert_allclose(log_evidence, log(weights.sum()), **CLOSE)
        missing = np.flatnonzero(np.isnan(row)).tolist()
        if weights.sum() == 0 or not missing:
            assert node is None
            continue
        agree = agreeing(case.all_assignments, row)
        found = over_assignments(case, node, missing)[agree]
        np.testing.assert_allclose(found, weights[agree] / weights.sum(), **CLOSE)


def test_the_same_leaf_over_other_variables(case):
    others = tuple(v + 5 for v in case.leaf.variables)
    moved = leaf_from_params(case.leaf.family, others, case.leaf.to_params())
    assert moved.variables == others
    np.testing.assert_array_equal(moved.log_prob(case.partial), case.leaf.log_prob(case.partial))


# -- fitting -----------------------------------------------------------------------------------------------------------


def test_statistics_add_up_over_rows_and_weights(case):
    rng = np.random.default_rng(11)
    rows = case.partial[case.possible][rng.integers(case.possible.sum(), size=30)]
    weights = rng.integers(0, 4, size=30).astype(float)
    whole = case.leaf.statistics(rows, weights)
    parts = [case.leaf.statistics(rows[own], weights[own]) for own in (slice(0, 1), slice(1, 13), slice(13, 30))]
    np.testing.assert_allclose(whole, sum(parts), **CLOSE)
    repeated = np.repeat(rows, weights.astype(int), axis=0)
    np.testing.assert_allclose(whole, case.leaf.statistics(repeated, np.ones(len(repeated))), **CLOSE)
    np.testing.assert_allclose(case.leaf.statistics(rows, 0.25 * weights), 0.25 * whole, **CLOSE)


def test_statistics_of_partial_rows_are_expectations(case):
    for row, weights in zip(case.partial[case.possible], case.weights[case.possible], strict=True):
        found = case.leaf.statistics(row[None, :], np.ones(1))
        expected = case.leaf.statistics(case.all_assignments, weights / weights.sum())
        np.testing.assert_allclose(found, 0.0 * expected if np.isnan(row).all() else expected, **CLOSE)


def test_the_fit_maximises_the_likelihood_of_whole_rows(case):
    rng = np.random.default_rng(13)
    rows, weights = case.data(rng), rng.random(40)

    def score(leaf):
        return float(weights @ leaf.log_prob(rows))

    best = score(case.leaf.from_statistics(case.leaf.statistics(rows, weights)))
    assert best >= score(case.leaf) - 1e-9
    for size in (0.01, 0.1, 1.0):
        shaken = weights * (1 + size * rng.random(40))
        assert best >= score(case.leaf.from_statistics(case.leaf.statistics(rows, shaken))) - 1e-9


def test_expectation_maximisation_never_loses_likelihood(case):
    rng = np.random.default_rng(17)
    rows = case.partial[case.possible][rng.integers(case.possible.sum(), size=40)]
    leaf, before = case.leaf, -np.inf
    for _ in range(4):
        now = float(leaf.log_prob(rows).sum())
        assert now >= before - 1e-9
        leaf, before = leaf.from_statistics(leaf.statistics(rows, np.ones(40))), now


def test_exact_expected_statistics_reproduce_the_leaf(case):
    again = case.leaf.from_statistics(case.leaf.statistics(case.all_assignments, case.probabilities))
    assert again.variables == case.leaf.variables
    np.testing.assert_allclose(np.exp(again.log_prob(case.partial)), np.exp(case.leaf.log_prob(case.partial)), **CLOSE)


def test_without_any_mass_the_leaf_stays(case):
    nothing = case.leaf.statistics(case.all_assignments, np.zeros(len(case.all_assignments)))
    assert not nothing.any()
    assert case.leaf.from_statistics(nothing).fingerprint() == case.leaf.fingerprint()


def test_smoothing_makes_everything_possible(case):
    rows = case.data(np.random.default_rng(19), rows=3)
    smooth = case.leaf.from_statistics(case.leaf.statistics(rows, np.ones(3)), smoothing=0.5)
    assert np.isfinite(smooth.log_prob(case.all_assignments)).all()
    assert abs(np.exp(smooth.log_prob(case.all_assignments)).sum() - 1) < 1e-12


# -- no rows -----------------------------------------------------------------------------------------------------------


def test_no_rows_give_no_answers(case):
    none = np.empty((0, len(case.cardinalities)))
    assert case.leaf.log_prob(none).shape == (0,)
    assert [part.shape for part in case.leaf.mode(none)] == [none.shape, (0,)]
    assert case.leaf.sample(none, np.random.default_rng(0)).shape == none.shape
    assert case.leaf.marginals(none).shape == (0, len(case.cardinalities), max(case.cardinalities))
    assert not case.leaf.statistics(none, np.empty(0)).any()


@pytest.mark.parametrize("name", list(leaves))
def test_leaves_together_answer_as_each_alone(name):
    """A family that evaluates many leaves at once gives what its leaves give one by one."""
    rng = np.random.default_rng(0)
    own = [leaves[name].example(rng, int(rng.integers(4))) for _ in range(30)]
    together = leaves[name].together(own)
    if together is None:
        return
    for leaf in own:
        (variable,) = leaf.variables
        column = np.append(leaf.sample(np.full((6, 1), np.nan), rng), np.nan)
        rows = np.full((len(column), 10), np.nan)
        rows[:, variable] = column
        alike = [other for other in own if other.variables == leaf.variables and other.domains == leaf.domains]
        found, best = (leaves[name].together(alike)(rows, mode) for mode in (False, True))
        for place, other in enumerate(alike):
            np.testing.assert_allclose(found[place], other.log_prob(column[:, None]), rtol=1e-14)
            np.testing.assert_allclose(best[place], other.mode(column[:, None])[1], rtol=1e-14)
