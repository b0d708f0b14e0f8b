"""The pairwise test: McNemar's statistic, the paper's generic definition, and the options of the paper's program."""

import numpy as np
import pytest
from scipy.stats import chi2

from support.learning import exchangeable_table, random_table, summary
from xspn.core.errors import ParameterError
from xspn.learning.exchangeability import pairwise_test


def mcnemar(first, second, weights):
    n10 = weights[(first == 1) & (second == 0)].sum()
    n01 = weights[(first == 0) & (second == 1)].sum()
    return (n10 - n01) ** 2 / (n10 + n01) if n10 + n01 else 0.0


def pearson_by_definition(first, second, weights):
    """Σ (O − E)² / E over the four cells, E = the weight of the cell's count over the number of cells with it."""
    statistic = 0.0
    for a in (0, 1):
        for b in (0, 1):
            observed = weights[(first == a) & (second == b)].sum()
            same_count = weights[first + second == a + b].sum()
            expected = same_count / (2 if a + b == 1 else 1)
            statistic += (observed - expected) ** 2 / expected if expected else 0.0
    return statistic


def pairs_of(n):
    return [(i, j) for i in range(n) for j in range(i + 1, n)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("statistic", [mcnemar, pearson_by_definition])
def test_the_statistic_is_the_largest_of_all_pairs(rng, weighted, statistic):
    for _ in range(15):
        table = random_table(rng, 40, 4).astype(int)
        weights = rng.random(40) * 4 if weighted else np.ones(40)
        found = pairwise_test(summary(table, weights))
        of_pairs = {(i, j): statistic(table[:, i], table[:, j], weights) for i, j in pairs_of(4)}
        assert found.statistic == pytest.approx(max(of_pairs.values()), abs=1e-9)
        assert of_pairs[found.parts["pair"]] == pytest.approx(found.statistic, abs=1e-9)
        assert found.p_value == pytest.approx(chi2.sf(found.statistic, 1))
        assert (found.method, found.dof) == ("pairwise", 1)


def test_the_first_variable_alone_can_be_compared_with_the_others(rng):
    for _ in range(15):
        table = random_table(rng, 40, 5).astype(int)
        found = pairwise_test(summary(table), pairs="first")
        expected = max(mcnemar(table[:, 0], table[:, j], np.ones(40)) for j in range(1, 5))
        assert found.statistic == pytest.approx(expected)
        assert found.parts["pair"][0] == 0


def test_degrees_of_freedom_and_correction_change_the_p_value_only(rng):
    own = summary(random_table(rng, 60, 5))
    plain = pairwise_test(own)
    loose = pairwise_test(own, dof=3)
    corrected = pairwise_test(own, correction="bonferroni")
    first = pairwise_test(own, pairs="first", correction="bonferroni")
    assert plain.statistic == loose.statistic == corrected.statistic
    assert loose.p_value == pytest.approx(chi2.sf(plain.statistic, 3))
    assert corrected.p_value == pytest.approx(min(1, 10 * plain.p_value))
    assert first.p_value == pytest.approx(min(1, 4 * chi2.sf(first.statistic, 1)))


@pytest.mark.parametrize(
    ("case", "columns"),
    [
        ("identical", [[0, 0], [1, 1]]),
        ("exclusive", [[0, 1], [1, 0], [0, 0]]),
        ("never both 0", [[0, 1], [1, 0], [1, 1]]),
    ],
)
def test_empty_cells_reject_only_where_that_is_asked_for(case, columns):
    own = summary(columns * 20)
    assert pairwise_test(own).p_value == 1.0
    assert pairwise_test(own, empty_cells="reject").p_value == 0.0


def test_full_cells_are_not_rejected_for_emptiness(rng):
    own = summary(exchangeable_table(rng, 500, 4))
    assert pairwise_test(own, empty_cells="reject").p_value == pairwise_test(own).p_value


def test_one_variable_is_exchangeable_with_itself():
    found = pairwise_test(summary([[0], [1], [1]]))
    assert (found.statistic, found.p_value, found.parts["pair"]) == (0.0, 1.0, None)


@pytest.mark.parametrize(
    "options",
    [{"pairs": "some"}, {"correction": "holm"}, {"empty_cells": "accept"}, {"dof": 0}, {"dof": -1}, {"dof": "three"}],
)
def test_unknown_options_are_refused_by_name(options):
    (name, value), *_ = options.items()
    with pytest.raises(ParameterError, match=f"{name}.*{value!r}"):
        pairwise_test(summary([[0, 1], [1, 0]]), **options)
