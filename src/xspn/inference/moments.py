"""Means and covariances: exact, by folding the circuit from the leaves up."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from xspn.core import html
from xspn.core.arrays import FloatArray, IntArray
from xspn.core.errors import counted
from xspn.data.schema import Schema
from xspn.graph.graph import Graph
from xspn.graph.nodes import Sum
from xspn.leaves.base import Leaf

MOST_VARIABLES = 20  # in a notebook


@dataclass(frozen=True)
class Moments:
    """First and second moments; NaN for variables that the circuit does not have.

    Attributes:
        mean: E[X_i]: (n,).
        covariance: Cov(X_i, X_j): (n, n).
        schema: The names of the columns, for notebooks.
    """

    mean: FloatArray
    covariance: FloatArray
    schema: Schema | None = field(default=None, repr=False, compare=False)

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

    def _repr_html_(self) -> str:
        schema = self.schema or Schema.of([None] * len(self.mean))
        inside = np.flatnonzero(~np.isnan(self.mean)).tolist()
        deviation = np.sqrt(self.variance)
        shown = inside[:MOST_VARIABLES]
        lines = [[html.text(schema.shown_name(v)), f"{self.mean[v]:.4g}", f"{deviation[v]:.4g}"] for v in shown]
        left = len(inside) - len(shown)
        more = html.quiet(f"and {counted(left, 'more variable')}") if left else ""
        return f"<div>{html.table(['variable', 'mean', 'deviation'], lines)}{more}</div>"


def moments(graph: Graph) -> Moments:
    """Return the mean and covariance of all variables (categories count as their codes).

    Products keep covariances apart and sums add the distances between their children's means, so the covariance of the
    root is that of each leaf, and the covariance between the means at each sum, times the probability that the node is
    used. Everything is about the mean of its own node: no digits are lost where means are large.
    """
    used = _usage(graph)
    total = _Covariance(graph.n_variables, len(graph.root.scope))
    waiting = graph.n_parents.copy()
    held: dict[int, _Means] = {}  # forgotten when the last parent is done
    for index, node in enumerate(graph.nodes):
        ids = graph.child_ids(node)
        if isinstance(node, Leaf):
            own_mean, own_covariance = node.moments()
            held[index] = _Means(np.array(node.variables), own_mean)
            total.add(held[index].variables, used[index] * own_covariance)
        elif isinstance(node, Sum):
            held[index], away = _mixed(node.weights, [held[c] for c in ids])
            total.add_rows(held[index].variables, np.sqrt(used[index] * node.weights)[:, None] * away)
        else:
            held[index] = _Means(parts=tuple(held[c] for c in ids))
        for c in ids:
            waiting[c] -= 1
            if waiting[c] == 0:
                del held[c]
    variables, own_mean = held[len(graph) - 1].flat()
    mean, covariance = np.full(graph.n_variables, np.nan), total.matrix()
    mean[variables] = own_mean
    covariance[np.isnan(mean)] = np.nan
    covariance[:, np.isnan(mean)] = np.nan
    return Moments(mean, covariance)


def _usage(graph: Graph) -> FloatArray:
    """Return the probability that each node is used."""
    used = np.zeros(len(graph))
    used[-1] = 1.0
    for index in range(len(graph) - 1, -1, -1):
        node = graph.nodes[index]
        weights = node.weights.tolist() if isinstance(node, Sum) else [1.0] * len(node.children)
        for child, weight in zip(graph.child_ids(node), weights, strict=True):
            used[child] += weight * used[index]
    return used


class _Means:
    """The means of some variables; those of a product are left in parts until a sum asks for them."""

    def __init__(
        self, variables: IntArray | None = None, mean: FloatArray | None = None, parts: "tuple[_Means, ...]" = ()
    ) -> None:
        self.variables = np.empty(0, dtype=np.int64) if variables is None else variables
        self.mean = np.empty(0) if mean is None else mean
        self._parts = parts

    def flat(self) -> tuple[IntArray, FloatArray]:
        """Return variables and means, each in one array, put together once and without recursion."""
        if self._parts:
            waiting, found = [*self._parts], []
            while waiting:
                own = waiting.pop()
                if own._parts:
                    waiting.extend(own._parts)
                else:
                    found.append(own)
            self.variables = np.concatenate([own.variables for own in found])
            self.mean = np.concatenate([own.mean for own in found])
            self._parts = ()
        return self.variables, self.mean


def _mixed(weights: FloatArray, below: Sequence[_Means]) -> tuple[_Means, FloatArray]:
    """Return the means of a sum over its sorted variables, and how far its children's are away: (children, scope)."""
    rows = []
    for variables, mean in (part.flat() for part in below):
        order = np.argsort(variables)
        rows.append(mean[order])
        scope = variables[order]
    table = np.array(rows)
    away = table - table[0]  # children that agree do so exactly, however large their means
    shift = weights @ away
    return _Means(scope, table[0] + shift), away - shift


class _Covariance:
    """A covariance matrix that is added up; what touches most of it is gathered and multiplied at once."""

    MOST_ROWS = 512

    def __init__(self, n: int, n_own: int) -> None:
        self._sum = np.zeros((n, n))
        self._wide = n_own / 4
        self._rows: list[FloatArray] = []

    def add(self, variables: IntArray, covariance: FloatArray) -> None:
        """Add the covariance of some variables."""
        if len(variables) == 1:
            self._sum[variables[0], variables[0]] += covariance[0, 0]
        else:
            self._sum[np.ix_(variables, variables)] += covariance

    def add_rows(self, variables: IntArray, rows: FloatArray) -> None:
        """Add rowsᵀ rows."""
        if not rows.any():
            return
        if len(variables) < self._wide or len(variables) == 1:
            self.add(variables, rows.T @ rows)
            return
        whole = np.zeros((len(rows), len(self._sum)))
        whole[:, variables] = rows
        self._rows.append(whole)
        if sum(map(len, self._rows)) >= self.MOST_ROWS:
            self.matrix()

    def matrix(self) -> FloatArray:
        """Return the matrix."""
        if self._rows:
            rows = np.concatenate(self._rows)
            self._sum += rows.T @ rows
            self._rows = []
        return self._sum
