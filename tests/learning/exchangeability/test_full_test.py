"""The full test against enumeration of all assignments."""

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import chi2

from support.learning import exchangeable_table, random_table, summary
from xspn.core.errors import QueryError
from xspn.learning.exchangeability import full_test, pairwise_test


def by_enumeration(table, weights):
    """Statistic and degrees of freedom, cell by cell."""
    n = table.shape[1]
    statistic, cells, classes = 0.0, 0, set()
    for assignment in product((0, 1), repeat=n):
        observed = weights[(table == assignment).all(axis=1)].sum()
        same_count = weights[table.sum(axis=1) == sum(assignment)].sum()
        if same_count > 0:
            expected = same_count / comb(n, sum(assignment))
            statistic += (observed - expected) ** 2 / expected
            cells += 1
            classes.add(sum(assignment))
    return statistic, cells - 1 - (len(classes) - 1)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_statistic_degrees_of_freedom_and_p_value(rng, n, weighted):
    for _ in range(8):
        table = random_table(rng, 50, n)
        weights = rng.random(50) * 4 if weighted else np.ones(50)
        found = full_test(summary(table, weights))
        statistic, dof = by_enumeration(table, weights)
        assert found.statistic == pytest.approx(statistic, rel=1e-9, abs=1e-9)
        assert found.dof == dof
        assert found.p_value == pytest.approx(chi2.sf(statistic, dof) if dof else 1.0, abs=1e-12)


def test_two_variables_are_mcnemars_test(rng):
    own = summary(random_table(rng, 80, 2))
    assert full_test(own).statistic == pytest.approx(pairwise_test(own).statistic)


def test_it_sees_what_means_do_not(rng):
    hidden = rng.random((600, 2)) < 0.5
    copies = hidden[:, [0, 0, 1, 1]] ^ (rng.random((600, 4)) < 0.1)
    assert full_test(summary(copies)).p_value < 1e-6
    assert full_test(summary(exchangeable_table(rng, 600, 4))).p_value > 0.01


def test_sixteen_variables_are_possible_and_seventeen_are_refused(rng):
    assert full_test(summary(exchangeable_table(rng, 50, 16))).dof > 0
    with pytest.raises(QueryError, match=r"17 variables have 2\^17 assignments; at most 16"):
        full_test(summary(exchangeable_table(rng, 50, 17)))
