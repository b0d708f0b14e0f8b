"""Contexts: clusters of rows, in each of which the variables form exchangeable blocks of their own.

EM for mixtures of products of exchangeable blocks. Rows are told apart by the counts of blocks, so that variables which
are alike weigh alike. How many contexts there are is found by evidence: one is split in two as long as that gains, and
all are fitted again. The evidence of a mixture is that of rows completed by their responsibilities, plus the entropy of
these (Cheeseman and Stutz, 1996): a lower bound in closed form.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.learning.blocks.context_search import MOST_CONTEXTS, ContextMixture, ContextSearch, evidence_of
from xspn.learning.blocks.laws import log_factorials_to
from xspn.learning.blocks.mixtures import counts_of_blocks, em, laws_of_counts, log_prob_of_rows, plan_of, words_of
from xspn.learning.blocks.pairs import equal_columns, information_with, sums_of_columns, sums_of_rows
from xspn.learning.blocks.search import MOST_AT_ONCE, best_partition, log_prior
from xspn.learning.steps import step

Array = Any
LEAST_RESPONSIBILITY = 1e-3  # a context's blocks do not depend on rows of less than this fraction of the largest
LEAST_FRACTION = 1e-9  # of all rows; contexts of fewer have died out
FEWEST_ROWS = 4.0  # contexts of fewer are not split
LEAST_GAIN = 1.0  # nats of evidence, for a split to be tried on all rows
MOST_ROWS = 50_000  # in which contexts are looked for; what is found is fitted to all
MOST_TRIAL_ROWS = 4_000  # in which a context is split
MOST_TOLD = 500  # variables of which a variable may tell
TOLERANCE = 1e-5  # of EM, in nats per row
TRIAL_PASSES, PASSES, ROUNDS = 6, 8, 2
RANDOM_STARTS, STARTS_ANEW = 2, 4
ROWS_IN_FLOAT32 = 1 << 16  # whose counts are added up in it
MOST_STARTED_ANEW = 6  # from random rows; with more contexts such starts hardly ever win


@dataclass(frozen=True, eq=False)
class Context:
    """A product of exchangeable blocks, fitted to weighted rows.

    Attributes:
        label: The block of each variable, numbered from 0.
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

    @property
    def blocks(self) -> list[IntArray]:
        """The variables of each block."""
        return [np.flatnonzero(self.label == b) for b in range(len(self.first) - 1)]

    def log_prob(self, bits: AnyArray) -> FloatArray:
        """Return the log-probability of each row."""
        return np.asarray(log_prob_of_rows(words_of(bits), plan_of(self.label[None, :]), self.table))


Mixture = ContextMixture[Context]


def one_context(bits: AnyArray, weights: FloatArray) -> Context:
    """Return the product of exchangeable blocks of best evidence.

    Args:
        bits: Zeros and ones, of type uint8: (rows, variables).
        weights: The weight of each row.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> copies = np.repeat(rng.integers(0, 2, size=(100, 2), dtype=np.uint8), 3, axis=1)
        >>> [block.tolist() for block in one_context(copies, np.ones(100)).blocks]
        [[0, 1, 2], [3, 4, 5]]
    """
    if len(bits) > MOST_ROWS:  # some of them are looked at first
        order = _order_of_rows(bits, weights)
        bits, weights = bits[order], weights[order]
    return _Search(bits, weights).context()


def evidence_alone(bits: AnyArray, weights: FloatArray) -> float:
    """Return the log-evidence of variables that each stand on their own, that of this partition included."""
    return _Search(bits, weights).fitted(np.arange(bits.shape[1]), weights).evidence


def find_contexts(
    bits: AnyArray, weights: FloatArray, seed: int, most: int = MOST_CONTEXTS, alone: Context | None = None
) -> Mixture:
    """Return the contexts of best evidence.

    Args:
        bits: Zeros and ones, of type uint8: (rows, variables).
        weights: The weight of each row.
        seed: The seed of random starts.
        most: The largest number of contexts.
        alone: The product of blocks of best evidence (`one_context`), if at hand.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> many = rng.integers(0, 2, size=(400, 1))  # two kinds of rows: about 80 % ones, and about 20 %
        >>> bits = (rng.random((400, 8)) < np.where(many, 0.8, 0.2)).astype(np.uint8)
        >>> bits[:, 4:] = bits[:, 3:4] * many  # in one of them half of the variables are copies
        >>> len(find_contexts(bits, np.ones(400), seed=0).contexts)
        2
    """
    rng = np.random.default_rng(seed)
    order = _order_of_rows(bits, weights)
    whole = _Search(bits[order], weights[order])
    search = whole.sample(MOST_ROWS)
    found = search.mixture_of_one(alone if alone is not None and search is whole else search.context())
    found = search.search(found, most, rng)
    if search is not whole:
        found = whole.fitted_to_all(found, alone)
    own = np.empty_like(found.responsibilities)
    own[order] = found.responsibilities
    return replace(found, responsibilities=own)


def _order_of_rows(bits: AnyArray, weights: FloatArray) -> IntArray:
    """Sort rows by what they hold, so that random starts depend neither on the order of rows nor on that of columns.

    By the number of ones, then by how frequent the ones are in their columns; only rows that are alike in this are told
    apart by the order of the columns.
    """
    ones, _ = sums_of_columns(bits, weights)
    return np.lexsort((*words_of(bits).T, *sums_of_rows(bits, ones)))


class _Search(ContextSearch[Context, IntArray]):
    """Weighted rows in which contexts are looked for.

    Args:
        bits: Zeros and ones: (rows, variables).
        weights: The weight of each row.
        whole: The search in all rows, if these are a part of them.
        own: Which rows of the whole they are.
    """

    def __init__(
        self, bits: AnyArray, weights: FloatArray, whole: "_Search | None" = None, own: AnyArray | None = None
    ) -> None:
        self.bits, self.weights = np.ascontiguousarray(bits), weights
        self.total = float(weights.sum())
        if whole is None:
            # Variables of similar means, of which blocks are made, share words.
            self.order = np.argsort(weights @ bits, kind="stable")
            self.words = words_of(self.bits[:, self.order])
            self.log_factorials = log_factorials_to(bits.shape[1])
        else:
            self.order, self.words, self.log_factorials = whole.order, whole.words[own], whole.log_factorials

    def part(self, weights: FloatArray) -> tuple["_Search", AnyArray]:
        """Return the rows that are not negligible under a part of their weights, and where they are."""
        fraction = np.divide(weights, self.weights, out=np.zeros(len(weights)), where=self.weights > 0)
        own = fraction > LEAST_RESPONSIBILITY * fraction.max()
        return _Search(self.bits[own], weights[own], self, own), own

    def sample(self, most: int) -> "_Search":
        """Return these rows, or as many of more, by their weights at equal distances in their order."""
        if len(self.weights) <= most:
            return self
        below = np.cumsum(self.weights)
        drawn = np.searchsorted(below, (np.arange(most) + 0.5) * (below[-1] / most), side="right")
        own, times = np.unique(np.minimum(drawn, len(below) - 1), return_counts=True)
        return _Search(self.bits[own], np.asarray(times * min(self.total / most, 1.0), dtype=np.float64), self, own)

    def fitted_to_all(self, found: Mixture, alone: Context | None) -> Mixture:
        """Fit what was found in a sample of these rows to all of them, each context with blocks of its own again."""
        whole = self.mixture_of_one(self.context() if alone is None else alone)
        if len(found.contexts) == 1:
            return whole
        rough = self._em(list(found.contexts), 1)
        several = self.fit(rough.responsibilities, PASSES, 1, [context.label for context in found.contexts])
        return max(several, whole, key=evidence_of)

    def mixture_of_one(self, context: Context) -> Mixture:
        """Return a single context as a mixture."""
        return Mixture((context,), np.ones((len(self.weights), 1)), context.evidence)

    @property
    def rounds(self) -> int:
        """How often the blocks of trials are looked for: once where there are many variables."""
        return ROUNDS if self.bits.shape[1] <= MOST_AT_ONCE else 1

    def context(self) -> Context:
        """Return the product of blocks of best evidence."""
        return self.fitted(self.blocks(), self.weights)

    def blocks(self, start: IntArray | None = None) -> IntArray:
        """Return the block of each variable in the partition of best evidence, from single variables or from blocks."""
        # What is found shall not depend on the order of columns: they are looked at from rare to frequent ones.
        ones, beside = sums_of_columns(self.bits, self.weights)
        order = np.lexsort((beside, ones))
        columns = np.ascontiguousarray(self.bits.T[order])
        if start is None and len(self.weights) > MOST_ROWS:
            start = self.sample(MOST_ROWS).blocks()
        if start is None:
            own = equal_columns(columns)
        else:
            _, first, which = np.unique(start[order], return_index=True, return_inverse=True)
            own = first[which.ravel()]
        found = best_partition(columns, self.weights, self._pairs(columns), self.log_factorials, own)
        label = np.empty_like(order)
        label[order] = order[found]
        return np.asarray(np.unique(label, return_inverse=True)[1])

    def _pairs(self, columns: AnyArray) -> FloatArray:
        """Return how often two variables are one together; columns are variables here."""
        found = np.zeros((len(columns), len(columns)))
        for start in range(0, len(self.weights), ROWS_IN_FLOAT32):
            some = slice(start, start + ROWS_IN_FLOAT32)
            rooted = np.multiply(columns[:, some], np.sqrt(self.weights[some]).astype(np.float32), dtype=np.float32)
            found += rooted @ rooted.T  # half the work of a product of two different arrays
        return found

    def fitted(self, label: IntArray, weights: FloatArray) -> Context:
        """Fit the laws of given blocks to the rows under given weights."""
        plan = plan_of(label[None, self.order])
        counts = counts_of_blocks(self.words, weights, plan)
        law, table, evidence = laws_of_counts(plan, counts, self.log_factorials)
        of_label = float(evidence[0]) + log_prior(label)
        return Context(label, plan.first, counts, law, table, of_label, float(weights.sum()))

    def fit(
        self, responsibilities: FloatArray, passes: int, rounds: int, start: Sequence[IntArray] | None = None
    ) -> Mixture:
        """Alternate between finding the blocks of each context and EM, as long as the evidence gains."""
        best: Mixture | None = None
        labels: list[IntArray | None] = [None] * responsibilities.shape[1] if start is None else list(start)
        for _ in range(rounds):
            alive = self.weights @ responsibilities > LEAST_FRACTION * self.total  # contexts may die out
            masses = [self.weights * own for own in responsibilities[:, alive].T]
            starts = [label for label, still in zip(labels, alive.tolist(), strict=True) if still]
            contexts = [
                self.fitted(self.part(own)[0].blocks(label), own) for label, own in zip(starts, masses, strict=True)
            ]
            found = self._em(contexts, passes)
            if best is not None and found.evidence < best.evidence + 1e-3:
                break
            best, responsibilities = found, found.responsibilities
            labels = [context.label for context in found.contexts]
        assert best is not None
        return best

    def blocks_of(self, context: Context) -> IntArray:
        """Return the blocks of a context: the block of each variable."""
        return context.label

    def columns(self) -> FloatArray:
        """Return the bits."""
        return self.bits

    def fit_all(self, responsibilities: FloatArray) -> Mixture:
        """Find the blocks of each context anew and fit all by EM, from first responsibilities."""
        return self.fit(responsibilities, PASSES, ROUNDS)

    def fit_blocks(self, blocks: Sequence[IntArray], responsibilities: FloatArray) -> Mixture:
        """Fit contexts whose blocks are known by EM, from first responsibilities."""
        return self._em(
            [self.fitted(label, self.weights * own) for label, own in zip(blocks, responsibilities.T, strict=True)],
            PASSES,
        )

    def with_blocks(self, label: IntArray, responsibilities: FloatArray) -> Mixture:
        """Return contexts that all have the same blocks."""
        contexts = [self.fitted(label, self.weights * own) for own in responsibilities.T]
        return self._em(contexts, TRIAL_PASSES)

    def _em(self, contexts: list[Context], passes: int) -> Mixture:
        """Fit the laws and the weights of contexts whose blocks are known."""
        plan = plan_of(np.stack([c.label[self.order] for c in contexts]))
        table = np.concatenate([c.table for c in contexts])
        totals = np.array([c.total for c in contexts])
        tolerance = TOLERANCE * self.total
        found = em(self.words, self.weights, plan, table, totals, self.log_factorials, passes, tolerance)
        responsibilities, counts, law, table, evidence, totals = found
        fitted = []
        for k, c in enumerate(contexts):
            start, end = plan.blocks[k], plan.blocks[k + 1]
            own = slice(plan.first[start], plan.first[end])
            first = plan.first[start : end + 1] - plan.first[start]
            of_label = float(evidence[k]) + log_prior(c.label)
            fitted.append(Context(c.label, first, counts[own], law[start:end], table[own], of_label, float(totals[k])))
        step()
        return self.mixture(fitted, responsibilities)

    def split(self, context: Context, weights: FloatArray, rng: np.random.Generator) -> Mixture | None:
        """Return the two halves of a context, by the best of several starts, for all rows; None if none pays."""
        if weights.sum() < FEWEST_ROWS:
            return None
        whole, own = self.part(weights)
        part = whole.sample(MOST_TRIAL_ROWS)
        starts = [start for start in part.starts(context, rng) if part.has_all(start)]
        if not starts:
            return None
        # The best of them with the blocks of the whole gets blocks of its own.
        rough = max((part.with_blocks(context.label, start) for start in starts), key=evidence_of)
        least = part.fitted(context.label, part.weights).evidence + LEAST_GAIN
        best = part.fit(rough.responsibilities, TRIAL_PASSES, self.rounds)
        if best.evidence < least:
            by_frequency = part.split_by_frequency(context)
            if by_frequency is None or by_frequency.evidence < least:
                return None
            best = max(by_frequency, part.fit(by_frequency.responsibilities, TRIAL_PASSES, 1), key=evidence_of)
        if len(best.contexts) < 2:
            return None
        if part is not whole:
            best = whole._em(list(best.contexts), 1)
        halves = np.full((len(weights), 2), 0.5)
        halves[own] = best.responsibilities
        return replace(best, responsibilities=halves)

    def started_anew(self, found: Mixture, rng: np.random.Generator) -> Mixture | None:
        """Fit one context more from random rows: where two are mixed in all contexts alike, none gains by a split."""
        k = len(found.contexts) + 1
        if not 2 < k <= MOST_STARTED_ANEW:  # two halves of all rows have been tried
            return None
        part = self.sample(MOST_TRIAL_ROWS)
        alone = part.context()
        features = part.counts_of(alone)
        starts = [part.nearest_of(part.bits if s % 2 else features, k, rng) for s in range(STARTS_ANEW)]
        starts = [start for start in starts if part.has_all(start)]
        if starts and self.rounds == 1:  # the best of them, as in a split, has to do
            starts = [max((part.with_blocks(alone.label, own) for own in starts), key=evidence_of).responsibilities]
        fitted = [part.fit(start, PASSES, self.rounds) for start in starts]
        best = max(fitted, key=evidence_of, default=found)
        if part is not self:
            best = self._em(list(best.contexts), PASSES)
        return best if best.evidence > found.evidence else None

    def starts(self, context: Context, rng: np.random.Generator) -> list[FloatArray]:
        """Return several ways to split the rows in two.

        By the side of the mean along the main direction of the blocks' counts; by the value of the variable that tells
        most of the others; by the nearer of two random rows, in the counts of blocks and in single bits.
        """
        features = self.counts_of(context)
        beyond = features @ self._main_direction(features) > 0
        told = self.bits[:, self._telling_variable()] == 1
        by_rows = [self.nearest_of(self.bits if s % 2 else features, 2, rng) for s in range(RANDOM_STARTS)]
        return [_as_halves(beyond), _as_halves(told), *by_rows]

    def split_by_frequency(self, context: Context) -> Mixture | None:
        """Split rows by whether their ones are among the more frequent variables of their blocks.

        Of variables that exclude each other nothing else tells frequent from rare ones: no pair, and no count.
        """
        ones, _ = sums_of_columns(self.bits, self.weights)
        above = ones - (np.bincount(context.label, ones) / np.bincount(context.label))[context.label]
        among = self.bits @ above
        halves = _as_halves(among > self.weights @ among / self.total)
        if not self.has_all(halves):
            return None
        label = np.unique(2 * context.label + (above > 0), return_inverse=True)[1].ravel()
        return self.with_blocks(label, halves)

    def counts_of(self, context: Context) -> FloatArray:
        """Return the count of ones in each block, on the scale of its spread: (rows, blocks)."""
        members = np.eye(len(context.first) - 1)[context.label]
        counts = self.bits @ members
        mean = self.weights @ counts / self.total
        spread = np.sqrt(self.weights @ (counts - mean) ** 2 / self.total)
        return np.asarray((counts - mean) / np.where(spread > 0, spread, 1.0))

    def _main_direction(self, features: FloatArray) -> FloatArray:
        direction = 1.0 + 0.1 * np.arange(features.shape[1]) / features.shape[1]
        for _ in range(15):  # power iteration; a rough direction will do
            direction = features.T @ (self.weights * (features @ direction))
            direction /= max(float(np.linalg.norm(direction)), 1e-300)
        return np.asarray(direction)

    def _telling_variable(self) -> int:
        """Return the variable of most mutual information with the others, or with many of them if there are more."""
        n = self.bits.shape[1]
        others = self.order[:: -(-n // MOST_TOLD)]
        root = np.sqrt(self.weights).astype(np.float32)
        rooted = self.bits * root[:, None]
        ones, _ = sums_of_columns(self.bits, self.weights)
        told = information_with(rooted.T @ rooted[:, others], ones, others, self.total)
        return int(np.argmax(told))

    def nearest_of(self, features: AnyArray, k: int, rng: np.random.Generator) -> FloatArray:
        """Assign each row to the nearest of k random rows, drawn far from each other (k-means++): (rows, k)."""
        row = features[int(rng.choice(len(features), p=self.weights / self.total))]
        distances = [((features - row.astype(np.float64)) ** 2).sum(axis=1)]
        for _ in range(k - 1):
            chance = self.weights * np.min(distances, axis=0)
            if chance.sum() == 0:  # fewer different rows than clusters
                break
            row = features[int(rng.choice(len(features), p=chance / chance.sum()))]
            distances.append(((features - row.astype(np.float64)) ** 2).sum(axis=1))
        return np.asarray(np.eye(k)[np.argmin(distances, axis=0)])


def _as_halves(own: AnyArray) -> FloatArray:
    """Return responsibilities of two halves, the rows that are not marked and those that are: (rows, 2)."""
    return np.stack([~own, own], axis=1).astype(np.float64)
