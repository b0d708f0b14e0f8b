"""Mixtures of independent columns: their number of classes chosen on validation rows, their parameters shrunk.

Where many columns depend on each other a little, as the items of baskets do, no test and no evidence speaks for any one
split of the rows, and one circuit leaves most of the dependence out. Many classes in which columns are independent hold
it together, if the frequencies of a class are shrunk towards those of all rows. Starts differ in which dependence they
find, so several are averaged.
"""

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.random import child_seed
from xspn.graph.graph import Graph
from xspn.graph.nodes import Product, Sum
from xspn.learning.assembly import Learned
from xspn.learning.data import MISSING, BinaryData
from xspn.learning.search.budget import SearchContext
from xspn.learning.search.components import Component, ComponentSummary
from xspn.learning.source import TrainingData
from xspn.learning.trace import Trace
from xspn.leaves.bernoulli import Bernoulli

STRENGTH = 30.0  # rows that the frequencies of all rows count for in those of a class
PASSES, TOLERANCE = 60, 1e-4  # of EM; the latter in nats per row
SPREAD = 0.3  # of the responsibilities that EM starts from: a Dirichlet's parameter
CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """Classes of rows in which columns are independent.

    Attributes:
        weights: The weight of each class: (classes,).
        chances: P(column = 1) in each class: (classes, columns).
    """

    weights: FloatArray
    chances: FloatArray

    def log_joint(self, bits: AnyArray) -> FloatArray:
        """Return log P(row, class); missing cells are summed out: (rows, classes)."""
        zero, one = np.log1p(-self.chances).T, np.log(self.chances).T
        return np.asarray((bits == 1).astype(np.float64) @ one + (bits == 0).astype(np.float64) @ zero) + np.log(
            self.weights
        )

    def product_nodes(self) -> list[Product]:
        """Return the classes as nodes."""
        return [Product([Bernoulli(v, p=p) for v, p in enumerate(own)]) for own in self.chances.tolist()]


def fit_latent_classes(bits: AnyArray, weights: FloatArray, n_classes: int, seed: int) -> LatentClasses:
    """Fit classes by EM, from random responsibilities.

    Args:
        bits: Rows of zeros, ones and `MISSING`.
        weights: How often each row counts.
        n_classes: The number of classes.
        seed: Of the start.

    Examples:
        >>> bits = np.repeat(np.array([[1, 1, 0, 0], [0, 0, 1, 1]], dtype=np.uint8), 500, axis=0)
        >>> found = fit_latent_classes(bits, np.ones(1000), 2, seed=0)
        >>> np.sort(found.chances.round(1), axis=0).tolist()
        [[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    """
    ones, seen = _expected(bits, weights[:, None], np.ones((len(bits), 1)))
    overall = (ones[0] + 0.5) / (seen[0] + 1.0)
    responsibilities = np.random.default_rng(seed).dirichlet(np.full(n_classes, SPREAD), size=len(bits))
    before = -np.inf
    for _ in range(PASSES):
        ones, seen = _expected(bits, weights[:, None], responsibilities)
        mass = (responsibilities * weights[:, None]).sum(axis=0) + 1.0
        chances = (ones + STRENGTH * overall) / (seen + STRENGTH)
        found = LatentClasses(mass / mass.sum(), chances)
        responsibilities, log_likelihood = _responsibilities(found, bits, weights)
        if log_likelihood - before < TOLERANCE * weights.sum():
            break
        before = log_likelihood
    return found


def _expected(bits: AnyArray, weights: FloatArray, responsibilities: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the expected number of ones, and of observed cells, of each column in each class."""
    own = (responsibilities * weights).T  # (classes, rows)
    ones, seen = (np.zeros((len(own), bits.shape[1])) for _ in range(2))
    for rows in _parts(bits):
        ones += own[:, rows] @ (bits[rows] == 1).astype(np.float64)
        seen += own[:, rows] @ (bits[rows] != MISSING).astype(np.float64)
    return ones, seen


def _responsibilities(found: LatentClasses, bits: AnyArray, weights: FloatArray) -> tuple[FloatArray, float]:
    responsibilities, total = np.empty((len(bits), len(found.weights))), 0.0
    for rows in _parts(bits):
        logs = found.log_joint(bits[rows])
        top = logs.max(axis=1, keepdims=True)
        own = np.exp(logs - top)
        sums = own.sum(axis=1, keepdims=True)
        responsibilities[rows] = own / sums
        total += float(weights[rows] @ (top + np.log(sums))[:, 0])
    return responsibilities, total


def _parts(bits: AnyArray) -> list[slice]:
    step = max(1, CELLS_AT_ONCE // max(1, bits.shape[1]))
    return [slice(start, start + step) for start in range(0, len(bits), step)]


def number_of_fits(context: SearchContext, refit: bool) -> int:
    """Return how many mixtures are fitted at most; `refit` counts the final fits to all rows."""
    budget = context.budget
    if not (budget.classes and isinstance(context.data, BinaryData)):
        return 0
    return len(budget.classes) - 1 + budget.class_starts * (1 + refit)


def best_latent_classes(context: SearchContext, seed: int) -> Component | None:
    """Return an average over starts, with the number of classes that one start is best with; for bits only."""
    data, validation, budget = context.data, context.validation, context.budget
    if not (budget.classes and isinstance(data, BinaryData)):
        return None
    held_out = np.where(np.isnan(validation.rows), MISSING, validation.rows).astype(np.uint8)

    def fitted(rows: BinaryData, number: int, start: int) -> LatentClasses:
        with threadpool_limits(1, user_api="blas"):  # sums come out the same everywhere
            found = fit_latent_classes(rows.bits, rows.weights, number, child_seed(seed, start))
        context.on_step()
        return found

    def scores(found: LatentClasses) -> FloatArray:
        return np.asarray(np.logaddexp.reduce(found.log_joint(held_out), axis=1))

    first = {number: fitted(data, number, 0) for number in budget.classes}
    best = max(first, key=lambda number: validation.mean(scores(first[number])))
    starts = range(1, budget.class_starts)
    members = [first[best], *(fitted(data, best, start) for start in starts)]
    of_rows = np.logaddexp.reduce([scores(own) for own in members], axis=0) - np.log(len(members))

    def refit(rows: TrainingData) -> Learned:
        assert isinstance(rows, BinaryData)
        return _mixture([fitted(rows, best, start) for start in range(budget.class_starts)])

    return Component(ComponentSummary("classes", len(members), f"{best} classes"), _mixture(members), of_rows, refit)


def _mixture(members: list[LatentClasses]) -> Learned:
    """Return the average as one circuit."""
    weights = np.concatenate([own.weights for own in members]) / len(members)
    nodes = [node for own in members for node in own.product_nodes()]
    return Learned(Graph(Sum(weights, nodes), members[0].chances.shape[1]), Trace(()))
