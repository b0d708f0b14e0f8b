"""Means, covariances and the distribution of counts: exact, by folding the circuit from the leaves up."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from xspn._core.arrays import FloatArray
from xspn.circuit.graph import Graph
from xspn.circuit.nodes import Node, Sum
from xspn.leaves.base import Leaf


@dataclass(frozen=True)
class Moments:
    """First and second moments; NaN for variables that the circuit does not have.

    Attributes:
        mean: E[X_i]: (n,).
        covariance: Cov(X_i, X_j): (n, n).
    """

    mean: FloatArray
    covariance: FloatArray

    @property
    def variance(self) -> FloatArray:
        """Var(X_i): (n,)."""
        return np.diag(self.covariance).copy()

    @property
    def correlation(self) -> FloatArray:
        """The correlation of each pair; NaN where a variable is constant."""
        scale = np.sqrt(self.variance)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.covariance / np.outer(scale, scale))


def moments(graph: Graph) -> Moments:
    """Return the mean and covariance of all variables (categories count as their codes).

    Each node's moments are over its own scope only, sorted by variable, and forgotten when its last parent is done.
    """
    uses = np.zeros(len(graph), dtype=np.int64)
    for node in graph.nodes:
        np.add.at(uses, graph.child_ids(node), 1)
    held: dict[int, tuple[FloatArray, FloatArray]] = {}
    for index, node in enumerate(graph.nodes):
        ids = graph.child_ids(node)
        held[index] = _node_moments(node, [held[c] for c in ids])
        for c in ids:
            uses[c] -= 1
            if uses[c] == 0:
                held.pop(c, None)
    mean, second = held[len(graph) - 1]
    n = graph.n_variables
    own = np.array(list(graph.root.scope))
    out = Moments(np.full(n, np.nan), np.full((n, n), np.nan))
    out.mean[own] = mean
    out.covariance[np.ix_(own, own)] = second - np.outer(mean, mean)
    return out


def _node_moments(node: Node, below: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Return E[x] and E[x xᵀ] over the node's scope, variables in increasing order."""
    if isinstance(node, Leaf):
        mean, second = node.moments()
        order = np.argsort(node.variables)
        return mean[order], second[np.ix_(order, order)]
    if isinstance(node, Sum):
        return (
            np.tensordot(node.weights, np.array([part[0] for part in below]), axes=1),
            np.tensordot(node.weights, np.array([part[1] for part in below]), axes=1),
        )
    variables = np.concatenate([np.array(list(child.scope)) for child in node.children])
    places = np.empty_like(variables)
    places[np.argsort(variables)] = np.arange(len(variables))
    mean = np.empty(len(variables))
    mean[places] = np.concatenate([part[0] for part in below])
    second = np.outer(mean, mean)
    start = 0
    for own_mean, own_second in below:
        own = places[start : start + len(own_mean)]
        second[np.ix_(own, own)] = own_second
        start += len(own_mean)
    return mean, second


def count_distribution(graph: Graph) -> FloatArray:
    """Return P(number of ones among all variables of the circuit = k) for k = 0..n; binary variables only."""

    def visit(node: Node, children: Sequence[Any]) -> FloatArray:
        if isinstance(node, Leaf):
            return node.count_distribution()
        if isinstance(node, Sum):
            return np.asarray(node.weights @ np.array(children))
        return reduce(np.convolve, children)

    result: FloatArray = graph.rebuild(visit)
    return result
