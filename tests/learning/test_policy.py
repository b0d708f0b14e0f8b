"""Each decision, reached by a small table made for it; the policy is a pure function."""

import numpy as np
import pytest

from support.learning import exchangeable_table, random_table, summary
from xspn.learning.config import LearnConfig, PublishedProgram
from xspn.learning.policy import Operation
from xspn.learning.policy import decide as decide_slice
from xspn.learning.slice import BinarySlice
from xspn.learning.task import Dependence


def decide(summary, config, **known):
    return decide_slice(BinarySlice(summary), config, **known)


def copies(rng, rows, *groups, noise=0.05):
    """Noisy copies of one hidden bit for each group; the groups are independent of each other."""
    parts = []
    for size in groups:
        hidden = rng.random((rows, 1)) < 0.5
        parts.append(hidden ^ (rng.random((rows, size)) < noise))
    return np.hstack(parts)


def independent(rng, rows, *chances):
    return rng.random((rows, len(chances))) < chances


def variables(decision):
    return [group.tolist() for group in decision.groups]


def test_one_variable_is_a_leaf(rng):
    assert decide(summary([[0], [1]]), LearnConfig()).operation is Operation.UNIVARIATE


def test_variables_known_to_be_independent_are_leaves(rng):
    own = summary(copies(rng, 100, 3))
    assert decide(own, LearnConfig(), known=Dependence.INDEPENDENT).operation is Operation.UNIVARIATE


@pytest.mark.parametrize(
    ("published", "expected"),
    [(None, [[1, 3], [0, 2]]), (PublishedProgram(), [[1], [3], [0, 2]])],
    ids=["ours", "paper"],
)
def test_constant_variables_are_split_off_before_rows_are_counted(published, expected):
    own = summary([[0, 1, 1, 0], [1, 1, 0, 0]])
    decision = decide(own, LearnConfig(published=published))
    assert decision.operation is Operation.CONSTANTS
    assert variables(decision) == expected
    assert decision.known == [Dependence.UNKNOWN] * len(expected)
    assert decision.test is None


def test_constants_alone_are_a_leaf():
    assert decide(summary([[0, 1, 1]] * 500), LearnConfig()).operation is Operation.CONSTANT


@pytest.mark.parametrize(("rows", "few"), [(19, True), (20, False)])
def test_too_few_rows_are_a_leaf(rng, rows, few):
    table = np.vstack([np.eye(4), 1 - np.eye(4), exchangeable_table(rng, rows - 8, 4)])
    found = decide(summary(table), LearnConfig(min_instances=20)).operation
    assert (found is Operation.FEW_ROWS) == few


def test_rows_are_counted_by_their_weights(rng):
    table = exchangeable_table(rng, 10, 4)
    assert decide(summary(table), LearnConfig(min_instances=20)).operation is Operation.FEW_ROWS
    assert decide(summary(table, np.full(10, 2.0)), LearnConfig(min_instances=20)).operation is not Operation.FEW_ROWS


@pytest.mark.parametrize("test", ["global", "pairwise", "full"])
def test_exchangeable_variables_are_one_leaf_with_the_test_as_evidence(rng, test):
    own = summary(exchangeable_table(rng, 500, 5))
    decision = decide(own, LearnConfig(exchangeability=test, significance=1e-4))
    assert decision.operation is Operation.EXCHANGEABLE
    assert decision.test.method == test
    assert not decision.test.rejects(1e-4)


def test_options_reach_the_test(rng):
    own = summary(exchangeable_table(rng, 500, 5))
    settings = {"exchangeability": "pairwise", "significance": 1e-9}
    program = PublishedProgram(test_options=(("dof", 3), ("pairs", "first")))
    assert decide(own, LearnConfig(**settings, published=program)).test.dof == 3
    assert decide(own, LearnConfig(**settings)).test.dof == 1


def test_a_conventional_network_does_not_test(rng):
    decision = decide(summary(exchangeable_table(rng, 500, 5)), LearnConfig(exchangeability=None))
    assert decision.operation is Operation.CLUSTER
    assert decision.test is None


def test_independent_groups_are_a_product(rng):
    table = np.hstack([copies(rng, 800, 2, 3), independent(rng, 800, 0.2, 0.6)])[:, [0, 5, 2, 3, 1, 6, 4]]
    decision = decide(summary(table), LearnConfig())
    assert decision.operation is Operation.INDEPENDENT
    assert variables(decision) == [[0, 4], [2, 3, 6], [1, 5]]
    assert decision.known == [Dependence.CONNECTED, Dependence.CONNECTED, Dependence.INDEPENDENT]
    assert decision.test.rejects(0.01), "the test that was tried before is kept"


def test_two_groups_at_a_time(rng):
    table = np.hstack([copies(rng, 800, 2, 3), independent(rng, 800, 0.2, 0.6)])
    decision = decide(summary(table), LearnConfig(published=PublishedProgram()))
    assert variables(decision) == [[0, 1], [2, 3, 4, 5, 6]]
    assert decision.known == [Dependence.CONNECTED, Dependence.UNKNOWN]


def test_rows_are_clustered_where_nothing_else_applies(rng):
    table = copies(rng, 800, 5)
    table[:, 0] |= rng.random(800) < 0.5
    decision = decide(summary(table), LearnConfig())
    assert decision.operation is Operation.CLUSTER
    assert decision.test.rejects(0.01)


def test_known_components_are_not_tested_again(rng):
    own = summary(copies(rng, 800, 2, 3))
    assert decide(own, LearnConfig(), known=Dependence.CONNECTED).operation is Operation.CLUSTER


def test_rows_first_applies_to_the_root_only(rng):
    own = summary(copies(rng, 800, 2, 3))
    config = LearnConfig(exchangeability=None, published=PublishedProgram(rows_first=True))
    assert decide(own, config, is_root=True).operation is Operation.CLUSTER
    assert decide(own, config, is_root=False).operation is Operation.INDEPENDENT


def parity(rng, rows):
    """Rows with an even number of ones: no two variables depend on each other, all of them together do."""
    free = rng.integers(0, 2, size=(rows, 5))
    return np.column_stack([free, free.sum(axis=1) % 2])


def test_the_score_overrules_a_test_that_rejects_where_counts_predict_better(rng):
    own = summary(parity(rng, 2000))
    overruled = decide(own, LearnConfig(significance=1.0))
    assert overruled.operation is Operation.EXCHANGEABLE
    assert overruled.test.rejects(1.0)
    assert "predict better" in overruled.note
    obedient = decide(own, LearnConfig(significance=1.0, published=PublishedProgram()))
    assert obedient.operation is Operation.INDEPENDENT
    assert obedient.note == ""


def test_the_score_does_not_overrule_where_independence_predicts_better(rng):
    own = summary(independent(rng, 2000, 0.1, 0.9, 0.3, 0.6))
    assert decide(own, LearnConfig()).operation is Operation.INDEPENDENT


def test_the_score_has_no_say_without_a_test(rng):
    own = summary(parity(rng, 2000))
    assert decide(own, LearnConfig(exchangeability=None)).operation is Operation.INDEPENDENT


def test_the_same_input_gives_the_same_decision(rng):
    for _ in range(10):
        own = summary(random_table(rng, 60, 5))
        before = own.pairs.copy(), own.totals.copy(), own.rows()[0].copy()
        first, second = decide(own, LearnConfig()), decide(own, LearnConfig())
        assert first.operation is second.operation
        assert variables(first) == variables(second)
        assert first.known == second.known
        assert first.test == second.test
        for old, new in zip(before, (own.pairs, own.totals, own.rows()[0]), strict=True):
            np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(
    ("rows", "operation"), [(20_000, Operation.CLUSTER), (1000, Operation.EXCHANGEABLE)], ids=["many rows", "few rows"]
)
def test_variables_that_exclude_each_other_are_no_product(rng, rows, operation):
    """Half of the categories are twice as frequent, which the test sees in both tables."""
    table = np.eye(60)[rng.choice(60, size=rows, p=np.repeat([2.0, 1.0], 30) / 90)]
    decision = decide(summary(table), LearnConfig())
    assert decision.test.rejects(0.01)
    assert decision.operation is operation
    assert decide(summary(table), LearnConfig(exchangeability=None)).operation is Operation.CLUSTER
    paper = LearnConfig(exchangeability=None, published=PublishedProgram())
    assert decide(summary(table), paper).operation is Operation.INDEPENDENT


def test_the_one_column_that_differs_is_split_off_and_the_others_stay_together(rng):
    """Of 19,701 other pairs about thirty seem dependent by chance, and would break them up."""
    table = rng.random((500, 200)) < 0.3
    table[:, 7] = rng.random(500) < 0.7
    decision = decide(summary(table), LearnConfig())
    assert decision.operation is Operation.INDEPENDENT
    assert variables(decision) == [[7], [v for v in range(200) if v != 7]]
    assert decision.known == [Dependence.INDEPENDENT, Dependence.UNKNOWN]
    table[:, 9] = rng.random(500) < 0.7  # with two of them it is not that simple
    assert len(decide(summary(table), LearnConfig()).groups) > 2


def test_a_column_that_differs_and_depends_on_others_is_not_split_off(rng):
    table = rng.random((500, 60)) < 0.3
    table[:, 7] = table[:, 3] | (rng.random(500) < 0.6)
    assert [7] not in variables(decide(summary(table), LearnConfig()))
