"""Brute force: every query by enumerating all assignments. Slow, obvious, and what the tests compare with.

Nothing here uses the engine. A node's probability of a whole assignment is computed by the definition: products
multiply, sums mix, leaves look the assignment up.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray
from xspn.core.errors import QueryError
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Sum
from xspn.leaves.base import Leaf

MOST_ASSIGNMENTS = 2_000_000


@dataclass(frozen=True)
class Oracle:
    """All assignments of a circuit over few discrete variables, with their probabilities."""

    graph: Graph

    @cached_property
    def variables(self) -> list[int]:
        """The variables of the circuit."""
        return list(self.graph.root.scope)

    @cached_property
    def assignments(self) -> FloatArray:
        """Every assignment, one per row; columns outside the circuit are NaN."""
        sizes = []
        for variable in self.variables:
            domain = self.graph.domains[variable]
            if domain is None or domain.cardinality is None:
                raise QueryError(f"oracle: variable {variable} is real; its assignments cannot be enumerated")
            sizes.append(domain.cardinality)
        if float(np.prod([float(k) for k in sizes])) > MOST_ASSIGNMENTS:
            raise QueryError(f"oracle: more than {MOST_ASSIGNMENTS} assignments; take a smaller circuit")
        table = np.full((int(np.prod(sizes)), self.graph.n_variables), np.nan)
        table[:, self.variables] = list(product(*(range(k) for k in sizes)))
        return table

    @cached_property
    def probabilities(self) -> FloatArray:
        """The probability of every assignment."""

        def visit(node: Node, children: list[FloatArray]) -> FloatArray:
            if isinstance(node, Leaf):
                return np.exp(node.log_prob(self.assignments[:, list(node.variables)]))
            if isinstance(node, Sum):
                return np.asarray(sum(w * child for w, child in zip(node.weights, children, strict=True)))
            return np.asarray(np.prod(children, axis=0))

        result: FloatArray = self.graph.rebuild(lambda node, below: visit(node, list(below)))
        return result

    def agrees(self, row: FloatArray) -> BoolArray:
        """Mark the assignments that agree with the observed part of a row."""
        seen = [v for v in self.variables if not np.isnan(row[v])]
        return np.asarray((self.assignments[:, seen] == row[seen]).all(axis=1))

    def log_likelihood(self, X: FloatArray) -> FloatArray:
        """Return log P of the observed part of each row."""
        with np.errstate(divide="ignore"):
            return np.log([self.probabilities[self.agrees(row)].sum() for row in X])

    def marginals(self, X: FloatArray) -> FloatArray:
        """Return P(X_i = v | row): (rows, n, k), NaN beyond a domain."""
        sizes = [0 if d is None else (d.cardinality or 0) for d in self.graph.domains]
        table = np.full((len(X), len(sizes), max(2, *sizes)), np.nan)
        for r, row in enumerate(X):
            weights = self.probabilities * self.agrees(row)
            for i in self.variables:
                for value in range(sizes[i]):
                    table[r, i, value] = weights[self.assignments[:, i] == value].sum() / weights.sum()
        return table

    def best_log_prob(self, X: FloatArray) -> FloatArray:
        """Return log P of the most probable completion of each row."""
        with np.errstate(divide="ignore"):
            return np.log([self.probabilities[self.agrees(row)].max() for row in X])

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return E[x] and Cov(x) over the circuit's variables."""
        values = self.assignments[:, self.variables]
        mean = self.probabilities @ values
        return mean, ((values - mean) * self.probabilities[:, None]).T @ (values - mean)

    def count_distribution(self, variables: list[int], row: FloatArray | None = None) -> FloatArray:
        """Return P(number of ones among the variables = k | row)."""
        weights = self.probabilities * (1.0 if row is None else self.agrees(row))
        ones = (self.assignments[:, variables] == 1).sum(axis=1)
        return np.asarray(np.bincount(ones, weights=weights, minlength=len(variables) + 1) / weights.sum())
