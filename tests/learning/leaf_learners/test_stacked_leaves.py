"""The default leaf learner: a mixture of leaves with the weights of the best leave-one-out score."""

from itertools import combinations

import numpy as np
import pytest

from support.learning import exchangeable_table, random_table, summary
from xspn import Bernoulli, BetaBinomial, ChowLiu, Exchangeable, Sum
from xspn.circuit import Circuit
from xspn.learning.leaf_learners import Candidate, LeafData, LeafOptions, best_candidate, leaf_learners, stack
from xspn.learning.leaf_learners.mixed import PRIOR_ROWS, SMALLEST_WEIGHT


def candidates(*leave_one_out):
    return [Candidate(f"c{k}", Bernoulli(0, p=0.1 * (k + 1)), np.array(logs)) for k, logs in enumerate(leave_one_out)]


def weights_of(found, names):
    """The mixture weight of each candidate, 0 for those dropped."""
    if not isinstance(found.node, Sum):
        return [float(name == found.name) for name in names]
    own = dict(zip(found.name.split(" + "), found.node.weights, strict=True))
    return [own.get(name, 0.0) for name in names]


def best_weights(logs, weights):
    """The maximum of Σ w log Σ s p + prior · Σ log s over a grid of mixture weights of two candidates."""
    s = np.linspace(1e-4, 1 - 1e-4, 20001)
    mixed = np.log(s[:, None] * np.exp(logs[0]) + (1 - s)[:, None] * np.exp(logs[1]))
    objective = mixed @ weights + PRIOR_ROWS * (np.log(s) + np.log(1 - s))
    best = s[np.argmax(objective)]
    return best, 1 - best


def test_equal_candidates_have_equal_weights():
    found = stack(candidates([-1.0, -2.0], [-1.0, -2.0], [-1.0, -2.0]), np.ones(2))
    assert found.name == "c0 + c1 + c2"
    np.testing.assert_allclose(found.node.weights, 1 / 3)
    np.testing.assert_allclose(found.leave_one_out, [-1, -2])


@pytest.mark.parametrize("rows", [1, 5, 40])
def test_weights_maximize_the_score_with_the_prior(rng, rows):
    logs = np.log(rng.random((2, rows)))
    weights = rng.random(rows) * 3
    found = stack(candidates(*logs), weights)
    np.testing.assert_allclose(weights_of(found, ["c0", "c1"]), best_weights(logs, weights), atol=0.01)
    assert found.node.weights.min() >= SMALLEST_WEIGHT
    assert found.node.weights.sum() == pytest.approx(1)


def test_with_little_data_the_prior_keeps_the_mixture_even():
    few = stack(candidates([-1.0], [-9.0]), np.ones(1)).node.weights
    more = stack(candidates([-1.0], [-9.0]), np.full(1, 10.0)).node.weights
    assert 0.5 < few[0] < more[0]
    assert few[0] == pytest.approx((1 + PRIOR_ROWS) / (1 + 2 * PRIOR_ROWS), abs=0.01)


def test_with_much_data_the_better_one_takes_all():
    better, worse = candidates([-1.0], [-9.0])
    assert stack([better, worse], np.full(1, 1000.0)) is better
    assert stack([worse, better], np.full(1, 1000.0)) is better


def test_scores_of_the_mixture_are_those_of_its_parts():
    leave_one_out = np.log([[0.5, 0.1, 0.3], [0.1, 0.5, 0.3]])
    found = stack(candidates(*leave_one_out), np.ones(3))
    np.testing.assert_allclose(found.leave_one_out, np.log(found.node.weights @ np.exp(leave_one_out)))


def test_rows_that_nobody_finds_possible_have_no_say():
    found = stack(candidates([-np.inf, -1.0], [-np.inf, -1.0]), np.ones(2))
    np.testing.assert_allclose(found.node.weights, 0.5)
    assert found.leave_one_out.tolist() == [-np.inf, -1.0]


def test_a_row_that_one_candidate_finds_impossible_speaks_against_it():
    found = stack(candidates([-np.inf] * 200, [-3.0] * 200), np.ones(200))
    assert found.name == "c1"


def test_the_mixture_has_at_least_the_leave_one_out_score_of_any_part(rng):
    for _ in range(10):
        data = LeafData.alone(summary(random_table(rng, 300, 5)))
        weights = data.own.rows()[1]
        parts = [
            leaf_learners.for_bits(name)(data, np.arange(5), LeafOptions())
            for name in ("factorized", "blocks", "chow_liu")
        ]
        mixed = leaf_learners.for_bits("auto")(data, np.arange(5), LeafOptions())
        best = max(part.score(weights) for part in parts)
        assert mixed.score(weights) >= best - 3 * PRIOR_ROWS * np.log(1 / SMALLEST_WEIGHT)


def kinds(found):
    return {type(leaf) for leaf in Circuit(found.node).graph.leaves}


def test_a_conventional_network_gets_no_exchangeable_leaves(rng):
    data = LeafData.alone(summary(exchangeable_table(rng, 200, 6)))
    for name in ("auto", "sparse"):
        found = kinds(leaf_learners.for_bits(name)(data, np.arange(6), LeafOptions()))
        assert found & {Exchangeable, BetaBinomial}
        conventional = leaf_learners.for_bits(name)(data, np.arange(6), LeafOptions(exchangeable=False))
        assert kinds(conventional) <= {Bernoulli, ChowLiu}


# -- the sparse one ----------------------------------------------------------------------------------------------------


def test_what_adds_nothing_is_dropped():
    assert best_candidate(candidates([-1.0, -2.0], [-1.0, -2.0], [-1.0, -2.0]), np.ones(2)).name == "c0"
    assert best_candidate(candidates([-9.0, -9.0], [-1.0, -1.0], [-1.5, -1.5]), np.ones(2)).name == "c1"


def test_candidates_that_know_different_rows_are_mixed():
    found = best_candidate(candidates([-1.0, -9.0], [-9.0, -1.0], [-9.0, -9.0]), np.full(2, 50.0))
    assert found.name == "c0 + c1"


def test_no_mixture_of_some_predicts_better(rng):
    for _ in range(10):
        logs, weights = np.log(rng.random((3, 20))), rng.random(20) * 5
        found = best_candidate(candidates(*logs), weights)
        others = [stack(some, weights) for size in (1, 2, 3) for some in combinations(candidates(*logs), size)]
        assert found.score(weights) == pytest.approx(max(other.score(weights) for other in others))


def test_a_row_that_nobody_finds_possible_does_not_choose():
    found = best_candidate(candidates([-np.inf, -5.0], [-np.inf, -1.0]), np.ones(2))
    assert found.name == "c1"
