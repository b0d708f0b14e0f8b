"""Every discrete leaf, as a circuit of leaves over one variable, means the same."""

import numpy as np
import pytest

from support.enumeration import partial_rows
from xspn import BetaBinomial, ChowLiu, Circuit, Exchangeable
from xspn.core.errors import QueryError
from xspn.leaves import Leaf, leaves
from xspn.leaves.expansion import in_sequence
from xspn.statistics import Count


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("family", list(leaves))
def test_the_expansion_is_the_same_distribution(family, seed):
    leaf = leaves[family].example(np.random.default_rng(seed))
    if not all(domain.is_discrete for domain in leaf.domains):
        with pytest.raises(QueryError, match="has real variables"):
            in_sequence(leaf)
        return
    circuit = Circuit(leaf.expansion())
    assert all(len(own.variables) == 1 for own in circuit.graph.leaves)
    columns = list(leaf.variables)
    rows = partial_rows([domain.cardinality for domain in leaf.domains])
    wide = np.full((len(rows), circuit.n_variables), np.nan)
    wide[:, columns] = rows
    np.testing.assert_allclose(circuit.log_likelihood(wide), leaf.log_prob(rows), rtol=1e-12, atol=1e-12)


def test_counting_circuits_are_quadratic():
    sizes = []
    for n in (10, 20, 40):
        leaf = BetaBinomial(range(n), mean=0.3, dispersion=0.5)
        sizes.append(len(Circuit(leaf.expansion()).graph))
    assert sizes[0] <= 2 * 10**2
    assert sizes[2] / sizes[1] < 4.5


def test_trees_are_linear():
    n = 300
    rng = np.random.default_rng(0)
    p = rng.random((n, 2))
    p[0, 1] = p[0, 0]
    tree = ChowLiu(range(n), [-1, *range(n - 1)], p)
    assert len(Circuit(tree.expansion()).graph) <= 6 * n


class Odd(Exchangeable):
    """A leaf that says nothing of its own circuit."""

    expansion = Leaf.expansion


def test_leaves_without_a_circuit_of_their_own_are_refused_when_they_are_large():
    small = Odd(range(6), np.full(7, -6 * np.log(2)), Count())
    rows = np.array([[1, 0, 1, 1, 0, np.nan]])
    np.testing.assert_allclose(Circuit(small.expansion()).log_likelihood(rows), small.log_prob(rows))
    with pytest.raises(QueryError, match="more than 1,000,000 branches"):
        Odd(range(30), np.full(31, -30 * np.log(2)), Count()).expansion()
