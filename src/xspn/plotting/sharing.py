"""Which variables share exchangeable leaves, and an order in which those that do stand together."""

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray, IntArray
from xspn.leaves import Leaf
from xspn.plotting.facts import Facts

MOST_ORDERED = 1000  # the best order of more takes too long: any order of the tree must do
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(19, 0, -1))


def shared_leaves(circuit: Circuit) -> FloatArray:
    """Return for each two variables the share of rows for which one exchangeable leaf holds both: (n, n).

    Variables of one leaf that its statistic does not treat alike do not count as shared. The diagonal says for which
    share of rows a variable can be interchanged with any other.

    Examples:
        >>> from xspn import Bernoulli, Exchangeable, Product, Sum
        >>> pair = Exchangeable.from_class_probabilities([0, 1], [0.2, 0.5, 0.3])
        >>> apart = Product([Bernoulli(0, p=0.1), Bernoulli(1, p=0.4)])
        >>> shared_leaves(Circuit(Sum([0.25, 0.75], [pair, apart]))).tolist()
        [[0.25, 0.25], [0.25, 0.25]]
    """
    shares = np.zeros((circuit.n_variables, circuit.n_variables))
    reach = Facts(circuit.graph).reach
    for leaf in circuit.graph.leaves:
        assert isinstance(leaf, Leaf)
        variables = np.array(leaf.variables)
        for group in leaf.interchangeable():
            if len(group) > 1:
                shares[np.ix_(variables[group], variables[group])] += reach[circuit.graph.id_of(leaf)]
    return shares


def grouped_order(shares: FloatArray, threshold: float | None = None) -> tuple[IntArray, list[IntArray], float]:
    """Return an order in which similar variables are neighbours, and groups that share more than a threshold.

    Groups are clusters by average linkage of at least two variables; each is contiguous in the order.

    Args:
        shares: The matrix.
        threshold: The least share; by default the one for which threshold × pairs inside groups is largest: a few pairs
            that are nearly always together weigh less than a large group that often is.

    Returns:
        The order, the groups, and the threshold.
    """
    from scipy.cluster.hierarchy import fcluster, leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    n = len(shares)
    if n < 2:
        return np.arange(n), [], threshold or 0.5
    apart = 1 - np.clip((shares + shares.T) / 2, 0, 1)
    np.fill_diagonal(apart, 0)
    distances = squareform(apart, checks=False)
    tree = linkage(distances, "average")

    def pairs(limit: float) -> float:
        sizes = np.bincount(fcluster(tree, 1 - limit, "distance"))
        return float(limit * (sizes * (sizes - 1)).sum())

    limit = max(THRESHOLDS, key=pairs) if threshold is None else threshold
    if n <= MOST_ORDERED:
        tree = optimal_leaf_ordering(tree, distances)
    order = leaves_list(tree)
    cluster = fcluster(tree, 1 - limit, "distance")[order]
    groups = [order[cluster == c] for c in dict.fromkeys(cluster)]
    return order, [group for group in groups if len(group) > 1], limit
