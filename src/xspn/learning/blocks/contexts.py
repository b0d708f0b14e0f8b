"""Contexts: clusters of rows, in each of which the variables form exchangeable blocks of their own.

EM for mixtures of products of exchangeable blocks. Rows are told apart by the counts of blocks, so that variables which
are alike weigh alike. How many contexts there are is found by evidence: one is split in two as long as that gains, and
all are fitted again. The evidence of a mixture is that of rows completed by their responsibilities, plus the entropy of
these (Cheeseman and Stutz, 1996): a lower bound in closed form.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.compilation import kept
from xspn.learning.blocks.laws import HISTOGRAM, evidence_of_counts, log_binomial_table, log_probabilities
from xspn.learning.blocks.search import best_partition, log_prior
from xspn.learning.steps import step

Array = Any
LEAST_RESPONSIBILITY = 1e-3  # a context's blocks do not depend on rows of a smaller fraction of the largest weight
FEWEST_ROWS = 4.0  # contexts of fewer are not split
LEAST_GAIN = 1.0  # nats of evidence, for a split to be tried on all rows
TOLERANCE = 1e-5  # of EM, in nats per row
TRIAL_PASSES, PASSES, ROUNDS = 6, 8, 2
RANDOM_STARTS = 2
MOST_CONTEXTS = 100
MOST_STARTED_ANEW = 6  # from random rows; with more contexts such starts hardly ever win


@dataclass(frozen=True, eq=False)
class Context:
    """A product of exchangeable blocks, fitted to weighted rows.

    Attributes:
        label: The block of each variable, numbered in order of first appearance.
        first: Where each block's counts start in `table`; the last entry is its length.
        counts: How often each count of each block was seen.
        law: The law of each block.
        table: The log-probability of a single assignment with so many ones in a block.
        evidence: The log-evidence, that of the partition included.
        total: The weight of the rows.
    """

    label: IntArray
    first: IntArray
    counts: FloatArray
    law: IntArray
    table: FloatArray
    evidence: float
    total: float

    @classmethod
    def of(cls, bits: AnyArray, weights: FloatArray, label: IntArray, coefficients: FloatArray) -> "Context":
        """Fit the laws of given blocks."""
        first = np.concatenate([[0], np.cumsum(np.bincount(label) + 1)])
        counts, law, table, evidence = _fitted(bits, weights, label, first, coefficients)
        return cls(label, first, counts, law, table, evidence + log_prior(label), float(weights.sum()))

    @property
    def blocks(self) -> list[IntArray]:
        """The variables of each block."""
        return [np.flatnonzero(self.label == b) for b in range(len(self.first) - 1)]

    def log_prob(self, bits: AnyArray) -> FloatArray:
        """Return the log-probability of each row."""
        return np.asarray(_log_prob(bits, self.label, self.first, self.table))


@dataclass(frozen=True, eq=False)
class Mixture:
    """Contexts, and the responsibility of each for each row: (rows, contexts)."""

    contexts: tuple[Context, ...]
    responsibilities: FloatArray
    evidence: float


def find_blocks(bits: AnyArray, weights: FloatArray, coefficients: FloatArray | None = None) -> IntArray:
    """Return the block of each variable in the partition of best evidence, numbered in order of first appearance.

    Args:
        bits: Zeros and ones, of type uint8: (rows, variables).
        weights: The weight of each row.
        coefficients: log C(m, t) for all m up to the number of variables, if at hand.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> copies = np.repeat(rng.integers(0, 2, size=(100, 2), dtype=np.uint8), 3, axis=1)
        >>> find_blocks(copies, np.ones(100)).tolist()
        [0, 0, 0, 1, 1, 1]
    """
    own = weights > LEAST_RESPONSIBILITY * weights.max()
    seen, mass = bits[own], weights[own]
    wide = seen.astype(np.float64 if mass.sum() > 1e6 else np.float32)
    pairs = np.asarray((wide * mass[:, None].astype(wide.dtype)).T @ wide, dtype=np.float64)
    table = log_binomial_table(bits.shape[1]) if coefficients is None else coefficients
    columns = np.ascontiguousarray(seen.T)
    # Columns that are equal in all rows belong together, and need not be compared with each other.
    _, first, which = np.unique(np.packbits(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    label = best_partition(columns, mass, pairs, table, first[which.ravel()])
    return np.asarray(np.unique(label, return_inverse=True)[1])


def one_context(bits: AnyArray, weights: FloatArray) -> Context:
    """Return the product of blocks of best evidence, for all rows."""
    coefficients = log_binomial_table(bits.shape[1])
    return Context.of(bits, weights, find_blocks(bits, weights, coefficients), coefficients)


def find_contexts(bits: AnyArray, weights: FloatArray, seed: int, most: int = MOST_CONTEXTS) -> Mixture:
    """Return the contexts of best evidence.

    Args:
        bits: Zeros and ones, of type uint8: (rows, variables).
        weights: The weight of each row.
        seed: The seed of random starts.
        most: The largest number of contexts.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> many = rng.integers(0, 2, size=(400, 1))  # two kinds of rows: about 80 % ones, and about 20 %
        >>> bits = (rng.random((400, 8)) < np.where(many, 0.8, 0.2)).astype(np.uint8)
        >>> bits[:, 4:] = bits[:, 3:4] * many  # in one of them half of the variables are copies
        >>> len(find_contexts(bits, np.ones(400), seed=0).contexts)
        2
    """
    rng = np.random.default_rng(seed)
    coefficients = log_binomial_table(bits.shape[1])
    bits = np.ascontiguousarray(bits)
    found = _fit(bits, weights, np.ones((len(bits), 1)), coefficients, passes=1, rounds=1)
    open_ = [True]  # contexts of which a split has not been tried
    while len(found.contexts) < most:
        larger, still_open = _with_splits(bits, weights, found, open_, coefficients, rng)
        if larger is None:
            larger, still_open = _started_anew(bits, weights, found, coefficients, rng), []
        if larger is None or larger.evidence <= found.evidence:
            break
        found, open_ = larger, still_open or [True] * len(larger.contexts)
    return found


def _with_splits(
    bits: AnyArray,
    weights: FloatArray,
    found: Mixture,
    open_: list[bool],
    coefficients: FloatArray,
    rng: np.random.Generator,
) -> tuple[Mixture | None, list[bool]]:
    """Split every context that gains by it, and fit all again; None if no context does."""
    parts: list[FloatArray] = []
    still_open: list[bool] = []
    for k, context in enumerate(found.contexts):
        own = found.responsibilities[:, k]
        second = _split(bits, weights * own, context, coefficients, rng) if open_[k] else None
        if second is None:
            parts, still_open = [*parts, own], [*still_open, False]
        else:
            parts, still_open = [*parts, own * (1 - second), own * second], [*still_open, True, True]
    if not any(still_open):
        return None, still_open
    larger = _fit(bits, weights, np.stack(parts, axis=1), coefficients, PASSES, ROUNDS)
    return (larger if larger.evidence > found.evidence else None), still_open


def _started_anew(
    bits: AnyArray, weights: FloatArray, found: Mixture, coefficients: FloatArray, rng: np.random.Generator
) -> Mixture | None:
    """Fit one context more from random rows: where two are mixed in all contexts alike, none gains by a split."""
    k = len(found.contexts) + 1
    if k > MOST_STARTED_ANEW:
        return None
    features = _features(bits, weights, found.contexts[0] if k == 2 else Context.of(bits, weights, find_blocks(bits, weights, coefficients), coefficients))
    best: Mixture | None = None
    for start in range(2 * RANDOM_STARTS):
        nearest = _nearest_of(features if start % 2 == 0 else bits.astype(np.float64), weights, k, rng)
        halves = np.eye(k)[nearest]
        if (weights @ halves).min() < 1.0:
            continue
        fitted = _fit(bits, weights, halves, coefficients, PASSES, ROUNDS)
        if best is None or fitted.evidence > best.evidence:
            best = fitted
    return best


def _fit(
    bits: AnyArray, weights: FloatArray, responsibilities: FloatArray, coefficients: FloatArray, passes: int, rounds: int
) -> Mixture:
    """Alternate between finding the blocks of each context and EM, as long as the evidence gains."""
    best: Mixture | None = None
    total = float(weights.sum())
    for _ in range(rounds):
        masses = [weights * own for own in responsibilities.T]
        contexts = [Context.of(bits, own, find_blocks(bits, own, coefficients), coefficients) for own in masses]
        previous = -np.inf
        for _ in range(passes):
            logs = np.stack([c.log_prob(bits) + np.log(c.total + 1.0) for c in contexts], axis=1)
            top = logs.max(axis=1)
            responsibilities = np.exp(logs - top[:, None])
            mass = responsibilities.sum(axis=1)
            responsibilities /= mass[:, None]
            current = float(weights @ (top + np.log(mass))) - total * np.log(total + len(contexts))
            contexts = [
                Context.of(bits, weights * own, c.label, coefficients)
                for c, own in zip(contexts, responsibilities.T, strict=True)
            ]
            step()
            if current - previous < TOLERANCE * total:
                break
            previous = current
        found = Mixture(tuple(contexts), responsibilities, _evidence(contexts, responsibilities, weights))
        if best is not None and found.evidence < best.evidence + 1e-3:
            break
        best = found
    assert best is not None
    return best


def _evidence(contexts: list[Context], responsibilities: FloatArray, weights: FloatArray) -> float:
    """Return the evidence of completed rows: contexts, how often each occurs (a uniform prior), and the entropy."""
    sizes = np.array([context.total for context in contexts])
    of_sizes = gammaln(len(sizes)) - gammaln(sizes.sum() + len(sizes)) + gammaln(sizes + 1).sum()
    entropy = -float(weights @ xlogy(responsibilities, responsibilities).sum(axis=1))
    return float(sum(context.evidence for context in contexts) + of_sizes + entropy)


def _split(
    bits: AnyArray, weights: FloatArray, context: Context, coefficients: FloatArray, rng: np.random.Generator
) -> FloatArray | None:
    """Return the responsibilities of the second half of a context, from the best of several starts; None if none pays."""
    if weights.sum() < FEWEST_ROWS:
        return None
    own = weights > LEAST_RESPONSIBILITY * weights.max()
    rows, mass = bits[own], weights[own]
    whole = Context.of(rows, mass, context.label, coefficients).evidence
    best: Mixture | None = None
    for start in _starts(rows, mass, context, rng):
        second = start.astype(np.float64)
        if not 1.0 <= float(mass @ second) <= mass.sum() - 1.0:
            continue
        halves = np.stack([1 - second, second], axis=1)
        found = _fit(rows, mass, halves, coefficients, TRIAL_PASSES, rounds=1)
        if best is None or found.evidence > best.evidence:
            best = found
    if best is not None:
        again = _fit(rows, mass, best.responsibilities, coefficients, TRIAL_PASSES, rounds=1)
        best = max(best, again, key=lambda mixture: mixture.evidence)
    if best is None or best.evidence < whole + LEAST_GAIN:
        return None
    second = np.full(len(bits), 0.5)
    second[own] = best.responsibilities[:, 1]
    return second


def _starts(bits: AnyArray, weights: FloatArray, context: Context, rng: np.random.Generator) -> list[AnyArray]:
    """Return which rows are in the second of two clusters, in several ways.

    By the side of the mean along the main direction of the blocks' counts; by the value of the variable that tells most
    of the others; by the nearer of two random rows, in the counts of blocks and in single bits.
    """
    cells, features = bits.astype(np.float64), _features(bits, weights, context)
    found = [_beyond_mean(features, weights), bits[:, _telling_variable(cells, weights)] == 1]
    for k in range(RANDOM_STARTS):
        found.append(_nearest_of(features if k % 2 == 0 else cells, weights, 2, rng) == 1)
    return found


def _features(bits: AnyArray, weights: FloatArray, context: Context) -> FloatArray:
    """Return the count of ones in each block, on the scale of its spread: (rows, blocks)."""
    members = np.zeros((bits.shape[1], len(context.first) - 1))
    members[np.arange(bits.shape[1]), context.label] = 1.0
    counts = bits @ members
    mean = weights @ counts / weights.sum()
    spread = np.sqrt(weights @ (counts - mean) ** 2 / weights.sum())
    return np.asarray((counts - mean) / np.where(spread > 0, spread, 1.0))


def _beyond_mean(features: FloatArray, weights: FloatArray) -> AnyArray:
    direction = 1.0 + 0.1 * np.arange(features.shape[1]) / features.shape[1]
    for _ in range(15):  # power iteration; a rough direction will do
        direction = features.T @ (weights * (features @ direction))
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
    return np.asarray(features @ direction > 0)


def _telling_variable(cells: FloatArray, weights: FloatArray) -> int:
    """Return the variable of most mutual information with the others, in all."""
    both = (cells * weights[:, None]).T @ cells
    total, ones = float(weights.sum()), np.diag(both).copy()
    first, second = ones[:, None] - both, ones[None, :] - both
    neither = total - both - first - second
    of_cells = sum(xlogy(part, part) for part in map(_not_negative, (both, first, second, neither)))
    alone = xlogy(ones, ones) + xlogy(_not_negative(total - ones), _not_negative(total - ones))
    told = of_cells - alone[:, None] - alone[None, :]
    np.fill_diagonal(told, 0.0)
    return int(np.argmax(told.sum(axis=0)))


_not_negative: Callable[[FloatArray], FloatArray] = lambda counts: np.maximum(counts, 0.0)  # noqa: E731


def _nearest_of(features: FloatArray, weights: FloatArray, k: int, rng: np.random.Generator) -> IntArray:
    """Return which of k random rows, drawn far from each other (k-means++), each row is nearest to."""
    first = int(rng.choice(len(features), p=weights / weights.sum()))
    distances = [((features - features[first]) ** 2).sum(axis=1)]
    for _ in range(k - 1):
        chance = weights * np.min(distances, axis=0)
        if chance.sum() == 0:  # fewer different rows than clusters
            break
        row = features[int(rng.choice(len(features), p=chance / chance.sum()))]
        distances.append(((features - row) ** 2).sum(axis=1))
    return np.asarray(np.argmin(distances, axis=0))


@kept(nogil=True)
def _fitted(bits: Array, weights: Array, label: Array, first: Array, coefficients: Array) -> Any:
    """Return the counts of each block, its law, the log-probabilities, and the evidence of all blocks."""
    n_blocks, evidence = len(first) - 1, 0.0
    counts, table = np.zeros(first[-1]), np.zeros(first[-1])
    law = np.full(n_blocks, HISTOGRAM)
    ones = np.zeros(n_blocks, np.int64)
    for r in range(len(bits)):
        ones[:] = 0
        for j in range(len(label)):
            ones[label[j]] += bits[r, j]
        for b in range(n_blocks):
            counts[first[b] + ones[b]] += weights[r]
    for b in range(n_blocks):
        m = first[b + 1] - first[b] - 1
        own = counts[first[b] : first[b + 1]]
        found, law[b] = evidence_of_counts(own, m, coefficients[m])
        evidence += found
        log_probabilities(own, m, coefficients[m], law[b], table[first[b] : first[b + 1]])
    return counts, law, table, evidence


@kept(nogil=True)
def _log_prob(bits: Array, label: Array, first: Array, table: Array) -> Array:
    found = np.zeros(len(bits))
    ones = np.zeros(len(first) - 1, np.int64)
    for r in range(len(bits)):
        ones[:] = 0
        for j in range(len(label)):
            ones[label[j]] += bits[r, j]
        for b in range(len(ones)):
            found[r] += table[first[b] + ones[b]]
    return found
