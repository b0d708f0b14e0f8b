"""Entropy, mutual information and divergences, in nats: exact where a circuit allows it, simulated with an error else.

Two ways are exact. A circuit with few assignments is enumerated. At a selective sum, whose children exclude
each other, the entropy is that of the choice plus the mean of the children's; products add, and leaves know their own.
Everything else is a mean of log-probabilities over rows that the circuit draws, with its standard error. Beside it
stand bounds that hold for certain: Σ w H ≤ H ≤ Σ w H + H(w) of a mixture with weights w and children of entropy H, for
what the choice adds is at most its own entropy.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.errors import ParameterError
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Sum
from xspn.graph.properties import overlapping_sums
from xspn.inference.oracle import Oracle
from xspn.leaves.base import Leaf

MOST_ASSIGNMENTS = 1 << 16
LOG_2PI_E = math.log(2 * math.pi * math.e)
Method = Literal["auto", "simulation"]
Score = Callable[[FloatArray], FloatArray]  # log-likelihoods of rows
Draw = Callable[[], FloatArray]  # rows


@dataclass(frozen=True)
class Information:
    """A quantity in nats, how it was found, and how far off it may be.

    Attributes:
        value: The quantity.
        method: "exact", or "simulation".
        error: The standard error of a simulation; 0 where the value is exact.
        lower: No smaller value is possible; −inf where nothing is known.
        upper: No larger value is possible; inf where nothing is known.
        n_rows: How many rows were drawn.
    """

    value: float
    method: Literal["exact", "simulation"]
    error: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf
    n_rows: int = 0

    @property
    def bits(self) -> float:
        """The value in bits."""
        return self.value / float(np.log(2.0))

    def __str__(self) -> str:
        if self.method == "exact":
            return f"{self.value:.6g} nats (exact)"
        ends = [f"at least {self.lower:.4g}"] if np.isfinite(self.lower) else []
        ends += [f"at most {self.upper:.4g}"] if np.isfinite(self.upper) else []
        known = f"; {', '.join(ends)}" if ends else ""
        return f"{self.value:.4g} ± {self.error:.2g} nats (standard error of {self.n_rows:,} drawn rows{known})"


def exact(value: float) -> Information:
    """Return a value that is known."""
    return Information(value, "exact", 0.0, value, value)


def mean_of_draws(terms: FloatArray, lower: float = -np.inf, upper: float = np.inf) -> Information:
    """Return the mean of terms that were drawn; one that is infinite makes the mean infinite."""
    mean = float(terms.mean())
    error = float(terms.std(ddof=1) / np.sqrt(len(terms))) if np.isfinite(mean) else 0.0
    return Information(mean, "simulation", error, lower, upper, len(terms))


def check_rows(n: int) -> int:
    """Return a number of rows to draw, if it can be one."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
        raise ParameterError(f"n_samples: expected a whole number of at least 2, found {n!r}")
    return int(n)


def check_method(method: str) -> None:
    """Refuse a method that is none."""
    if method not in ("auto", "simulation"):
        raise ParameterError(f"method: expected 'auto' or 'simulation', found {method!r}")


# -- entropy -----------------------------------------------------------------------------------------------------------


def is_small(graph: Graph) -> bool:
    """Whether all assignments can be enumerated."""
    sizes = [graph.domains[v] for v in graph.root.scope]
    return all(own is not None and own.cardinality is not None for own in sizes) and (
        sum(float(np.log2(own.cardinality or 1)) for own in sizes if own is not None) <= np.log2(MOST_ASSIGNMENTS)
    )


def exact_entropy(graph: Graph) -> float | None:
    """Return the entropy, if the circuit is small, or selective with leaves that know theirs."""
    if is_small(graph):
        p = Oracle(graph).probabilities
        return float(-(p[p > 0] * np.log(p[p > 0])).sum())
    lower, upper = entropy_bounds(graph)
    return lower if lower == upper else None


def entropy_bounds(graph: Graph) -> tuple[float, float]:
    """Return a lower and an upper bound of the entropy; they are equal where it is known."""
    overlapping = {id(graph.nodes[index]) for index, _, _ in overlapping_sums(graph)}

    def visit(node: Node, children: Sequence[tuple[float, float]]) -> tuple[float, float]:
        if isinstance(node, Leaf):
            return leaf_entropy(node)
        ends = np.array(children)
        if not isinstance(node, Sum):
            return float(ends[:, 0].sum()), float(ends[:, 1].sum())
        used = node.weights > 0
        w, ends = node.weights[used], ends[used]
        of_choice = float(-(w * np.log(w)).sum())
        low, high = float(w @ ends[:, 0]), float(w @ ends[:, 1])
        return (low if id(node) in overlapping else low + of_choice), high + of_choice

    found: tuple[float, float] = graph.rebuild(visit)
    return found


def leaf_entropy(leaf: Leaf) -> tuple[float, float]:
    """Return bounds of a leaf's entropy, equal where it knows it.

    Otherwise discrete variables have at least the entropy of one of them and at most that of all; real ones at most
    that of a normal distribution with their covariance.
    """
    known = leaf.entropy()
    if not np.isnan(known):
        return known, known
    if all(domain.is_discrete for domain in leaf.domains):
        table = leaf.marginals(np.full((1, len(leaf.variables)), np.nan))[0]
        alone = -(table * np.log(np.where(table > 0, table, 1.0))).sum(axis=1)
        return float(alone.max()), float(alone.sum())
    _, log_determinant = np.linalg.slogdet(leaf.moments()[1])
    return -np.inf, 0.5 * (len(leaf.variables) * LOG_2PI_E + float(log_determinant))


def entropy(graph: Graph, score: Score, draw: Draw, method: Method) -> Information:
    """Return the entropy of a circuit, whose rows are scored and drawn by others."""
    known = exact_entropy(graph) if method == "auto" else None
    if known is not None:
        return exact(known)
    return mean_of_draws(-score(draw()), *entropy_bounds(graph))


# -- two sets of variables, two circuits -------------------------------------------------------------------------------


def mutual_information(
    graphs: tuple[Graph, Graph, Graph], scores: tuple[Score, Score, Score], draw: Draw, method: Method
) -> Information:
    """Return I(A; B) = H(A) + H(B) − H(A, B).

    Args:
        graphs: The circuits over A, over B, and over both.
        scores: Log-likelihoods under each.
        draw: Draws rows of both.
        method: How.
    """
    known = [exact_entropy(graph) if method == "auto" else None for graph in graphs]
    if known[0] is not None and known[1] is not None and known[2] is not None:
        return exact(max(0.0, known[0] + known[1] - known[2]))
    rows = draw()
    pairs = zip(graphs, known, strict=True)
    ends = [entropy_bounds(graph) if own is None else (own, own) for graph, own in pairs]
    lower, upper = ends[0][0] + ends[1][0] - ends[2][1], ends[0][1] + ends[1][1] - ends[2][0]
    for graph, own in zip(graphs[:2], ends[:2], strict=True):
        if all(domain.is_discrete for v in graph.root.scope if (domain := graph.domains[v]) is not None):
            upper = min(upper, own[1])  # a set tells no more than it says
    a, b, both = (score(rows) for score in scores)
    return mean_of_draws(both - a - b, max(0.0, lower), upper)


def divergence(p: Graph, q: Graph, log_p: Score, log_q: Score, draw: Draw, method: Method) -> Information:
    """Return KL(p ‖ q) = E_p[log p − log q]; inf where q rules out what p does not."""
    if method == "auto" and is_small(p):
        own, other = Oracle(p).probabilities, Oracle(q).probabilities
        with np.errstate(divide="ignore"):
            return exact(float((own[own > 0] * (np.log(own[own > 0]) - np.log(other[own > 0]))).sum()))
    rows = draw()
    return mean_of_draws(log_p(rows) - log_q(rows), 0.0)


def jensen_shannon(
    p: Graph, q: Graph, log_p: Score, log_q: Score, draws: tuple[Draw, Draw], method: Method
) -> Information:
    """Return the Jensen–Shannon divergence: the mean of the divergences from p and q to their equal mixture."""
    most = float(np.log(2.0))
    if method == "auto" and is_small(p):
        own, other = Oracle(p).probabilities, Oracle(q).probabilities
        middle = (own + other) / 2
        parts = [float((x[x > 0] * np.log(x[x > 0] / middle[x > 0])).sum()) for x in (own, other)]
        return exact(sum(parts) / 2)
    terms = []
    for draw, sign in zip(draws, (1.0, -1.0), strict=True):
        rows = draw()
        gap = sign * (log_q(rows) - log_p(rows))  # log of the other over one's own
        terms.append(most - np.logaddexp(0.0, gap))
    return mean_of_draws((terms[0] + terms[1]) / 2, 0.0, most)
