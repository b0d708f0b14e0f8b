"""How strongly the variables of a group depend on each other: lift and intraclass correlation.

Interchangeable is not the same as together: products that are equally rare can be interchanged, whoever buys them. So
beside every group stands how much more often two of its variables are one together than if each went its own way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.data.domain import Domain
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node
from xspn.inference.moments import moments
from xspn.leaves.base import Leaf
from xspn.leaves.laws import INDEPENDENT

WEAK = 0.05  # an intraclass correlation below is as good as none
FAR_DOWN = 0.25  # of the lowest one that so many variables can have
ABSOLUTE = "mean |r|"


@dataclass(frozen=True)
class Strength:
    """How much two variables of a group go together, on average over its pairs.

    Attributes:
        correlation: The intraclass correlation: 0 for independent variables, 1 where all have the same value, negative
            where they exclude each other. For categories it is agreement beyond chance (κ), for numbers of different
            kinds the mean of |r|. NaN where it is undefined.
        lift: P(both are one) over what it would be if they were independent; None unless all are bits, NaN where it is
            undefined.
        size: The number of variables.
        measure: What the correlation is called: "ICC", "κ" or "mean |r|".

    Examples:
        >>> print(Strength(0.41, 3.2), "·", Strength(-0.2), "·", Strength(0.3, measure="mean |r|"))
        lift 3.2, ICC 0.41 · ICC −0.20 · mean |r| 0.30
        >>> Strength(0.001, 1.02).words
        'alike, not together'
    """

    correlation: float
    lift: float | None = None
    size: int = 2
    measure: str = "ICC"

    @property
    def are_apart(self) -> bool:
        """Whether the variables are as good as independent, pair by pair: they are alike, not together."""
        lowest = min(WEAK, FAR_DOWN / (self.size - 1))  # where exactly one of n is one, it is −1 / (n − 1)
        return not isfinite(self.correlation) or -lowest < self.correlation < WEAK

    @property
    def words(self) -> str:
        """What holds of the pairs, in a phrase."""
        if self.are_apart:
            return "alike, not together" if self.measure != ABSOLUTE else "hardly depend on each other"
        if self.measure == ABSOLUTE:
            return "depend on each other"
        return "go together" if self.correlation > 0 else "exclude each other"

    def __str__(self) -> str:
        found = [] if self.lift is None or not isfinite(self.lift) else [f"lift {_digits(self.lift)}"]
        if isfinite(self.correlation):
            found.append(f"{self.measure} {self.correlation:.2f}".replace("-0.00", "0.00").replace("-", "−"))
        return ", ".join(found)


def _digits(lift: float) -> str:
    return f"{lift:.0f}" if lift >= 10 else f"{lift:.1f}" if lift >= 1 else f"{lift:.2f}"


def strength_of_moments(
    mean: FloatArray, covariance: FloatArray, are_bits: bool, are_alike: bool = True
) -> Strength | None:
    """Return the strength of a group by the means and covariances of its variables; None where these are infinite.

    Pairs count by their variances, and for the lift by how often they would be one together by chance: what is rare
    and of few rows does not decide.

    Args:
        mean: The means.
        covariance: The covariances.
        are_bits: Whether all variables are bits, so that there is a lift.
        are_alike: Whether signs mean the same for all pairs. The correlations of ash with alcohol and with hue may
            cancel out; then it is their sizes that count.

    Examples:
        >>> both = np.array([[0.25, 0.25], [0.25, 0.25]])
        >>> print(strength_of_moments(np.array([0.5, 0.5]), both, are_bits=True))
        lift 2.0, ICC 1.00
    """
    if not np.isfinite(covariance).all():  # the tails of some scales have no variance
        return None
    pairs = ~np.eye(len(mean), dtype=bool)
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale, together = np.outer(deviation, deviation)[pairs], covariance[pairs]
    with np.errstate(invalid="ignore", divide="ignore"):
        if not are_alike:
            return Strength(float(np.abs(together / scale).mean()), None, len(mean), ABSOLUTE)
        by_chance = np.outer(mean, mean)[pairs].sum()
        lift = float((together.sum() + by_chance) / by_chance) if are_bits else None
        return Strength(float(together.sum() / scale.sum()), lift, len(mean))


def strength_of(node: Node, domains: Sequence[Domain | None]) -> Strength | None:
    """Return how strongly the variables below a node depend on each other, pair by pair; None where nothing says it.

    Bits, numbers and steps of a scale have it by their moments, interchangeable categories by how often two agree.
    Other categories have no order, so that no correlation speaks for them; and what is too weak to be seen in fifty
    rows has no number either.

    Args:
        node: The block, or any other part of a circuit.
        domains: What each column holds: that values are ordered, leaves do not know.
    """
    variables = list(node.scope)
    if len(variables) < 2 or (isinstance(node, Leaf) and node.dependence() < INDEPENDENT):
        return None
    if not have_moments(variables, domains):
        groups = node.interchangeable() if isinstance(node, Leaf) else []
        return _agreement(node) if isinstance(node, Leaf) and len(groups) == 1 and len(groups[0]) > 1 else None
    if isinstance(node, Leaf):
        mean, covariance = node.moments()
    else:
        found = moments(Graph(node))
        mean, covariance = found.mean[variables], found.covariance[np.ix_(variables, variables)]
    return strength_of_moments(mean, covariance, are_bits(variables, domains), are_alike(node, domains))


def have_moments(variables: Sequence[int], domains: Sequence[Domain | None]) -> bool:
    """Whether means and covariances say something of all these columns: no names without an order."""
    own = [domain for domain in (domains[v] for v in variables) if domain is not None]
    return all(domain.cardinality in (None, 2) or domain.ordered for domain in own)


def are_bits(variables: Sequence[int], domains: Sequence[Domain | None]) -> bool:
    """Whether all these columns have two values."""
    return all(domain is not None and domain.cardinality == 2 for domain in (domains[v] for v in variables))


def are_alike(node: Node, domains: Sequence[Domain | None]) -> bool:
    """Whether the variables below a node are all bits, or one interchangeable group."""
    variables = list(node.scope)
    return are_bits(variables, domains) or (isinstance(node, Leaf) and len(node.interchangeable()) == 1)


def _agreement(leaf: Leaf) -> Strength:
    """Return how often two interchangeable categories agree, beyond chance."""
    size = max(domain.cardinality or 0 for domain in leaf.domains)
    rows = np.full((size, len(leaf.variables)), np.nan)
    rows[:, 0] = np.arange(size)
    alone = np.exp(leaf.log_prob(rows))
    rows[:, 1] = np.arange(size)
    agree, by_chance = float(np.exp(leaf.log_prob(rows)).sum()), float(alone @ alone)
    beyond = (agree - by_chance) / (1 - by_chance) if by_chance < 1 else float("nan")
    return Strength(beyond, None, len(leaf.variables), "κ")
