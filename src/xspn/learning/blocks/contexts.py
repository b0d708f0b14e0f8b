"""Contexts: clusters of rows, in each of which the variables form exchangeable blocks of their own.

EM for mixtures of products of exchangeable blocks. Rows are told apart by the counts of blocks, so that variables which
are alike weigh alike. How many contexts there are is found by evidence: one is split in two as long as that gains, and
all are fitted again. The evidence of a mixture is that of rows completed by their responsibilities, plus the entropy of
these (Cheeseman and Stutz, 1996): a lower bound in closed form.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.exact import ROUNDING, best_of
from xspn.learning.blocks.context_search import (
    MOST_CONTEXTS,
    ContextMixture,
    ContextSearch,
    evidence_of,
    evidence_of_sizes,
)
from xspn.learning.blocks.laws import log_factorials_to
from xspn.learning.blocks.mixtures import (
    Plan,
    beyond_the_mean,
    counts_of_blocks,
    draw_nearer,
    em,
    em_from,
    laws_of_counts,
    log_prob_of_rows,
    plan_of,
    standardized_counts,
    words_of,
)
from xspn.learning.blocks.pairs import sums_of_columns, sums_of_rows, telling_variable
from xspn.learning.blocks.search import MOST_AT_ONCE, blocks_of_bits, log_prior
from xspn.learning.steps import step
from xspn.learning.summary import KnownBlocks

Array = Any
LEAST_RESPONSIBILITY = 1e-3  # a context's blocks do not depend on rows of less than this fraction of the largest
LEAST_FRACTION = 1e-9  # of all rows; contexts of fewer have died out
FEWEST_ROWS = 4.0  # contexts of fewer are not split
LEAST_GAIN = 1.0  # nats of evidence, for a split to be tried on all rows
WITHIN_REACH = 12.0  # nats below that, from which better blocks may still bring a split
MOST_ROWS = 50_000  # in which contexts are looked for; what is found is fitted to all
MOST_TRIAL_ROWS = 4_000  # in which a context is split
MOST_TOLD = 500  # variables of which a variable may tell
TOLERANCE = 1e-5  # of EM, in nats per row
TRIAL_PASSES, PASSES, ROUNDS = 6, 8, 2
RANDOM_STARTS = 2
FEW_CELLS, FEW_ROUNDS = 48_000, 4  # of rows in which every start of a split gets blocks of its own
FEWEST_SHAKES, MOST_SHAKES, SHAKEN_CELLS = 12, 48, 48_000  # in a row without a gain, the more the smaller the table
MOST_SHAKEN, MOST_SHAKEN_ROWS = 12, 1_000  # contexts; rows
ROWS_PER_VARIABLE = 10  # for contexts to be shaken
NO_BLOCKS = np.zeros(0, dtype=np.int64)


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


class Trial(NamedTuple):
    """Contexts of which only their evidence and their responsibilities for rows are asked."""

    evidence: float
    responsibilities: FloatArray


def one_context(bits: AnyArray, weights: FloatArray, known: KnownBlocks | None = None) -> Context:
    """Return the product of exchangeable blocks of best evidence.

    Args:
        bits: Zeros and ones, of type uint8: (rows, variables).
        weights: The weight of each row.
        known: The blocks, as far as they are known.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> copies = np.repeat(rng.integers(0, 2, size=(100, 2), dtype=np.uint8), 3, axis=1)
        >>> [block.tolist() for block in one_context(copies, np.ones(100)).blocks]
        [[0, 1, 2], [3, 4, 5]]
    """
    if len(bits) > MOST_ROWS:  # some of them are looked at first
        order = _order_of_rows(bits, weights)
        bits, weights = bits[order], weights[order]
    search = _Search(bits, weights)
    if known is None:
        return search.context()
    return search.fitted(known.label if known.settled else search.blocks(known.label), weights)


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


def fit_contexts(bits: AnyArray, weights: FloatArray, responsibilities: FloatArray) -> Mixture:
    """Find the blocks of given contexts, perhaps of other variables than they were found by, and fit them by EM."""
    order = _order_of_rows(bits, weights)
    found = _Search(bits[order], weights[order]).fit(responsibilities[order], PASSES, ROUNDS)
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
        if start is None and len(self.weights) > MOST_ROWS:
            start = self.sample(MOST_ROWS).blocks()
        from_blocks = NO_BLOCKS if start is None else start
        return np.asarray(blocks_of_bits(self.bits, self.weights, self.log_factorials, from_blocks))

    def fitted(self, label: IntArray, weights: FloatArray) -> Context:
        """Fit the laws of given blocks to the rows under given weights."""
        plan = plan_of(label[None, self.order])
        counts = counts_of_blocks(self.words, weights, plan)
        law, table, evidence = laws_of_counts(plan, counts, self.log_factorials)
        of_label = float(evidence[0]) + log_prior(label)
        return Context(label, plan.first, counts, law, table, of_label, float(weights.sum()))

    def fit(
        self,
        responsibilities: FloatArray,
        passes: int,
        rounds: int,
        start: Sequence[IntArray] | None = None,
        least: float = -np.inf,
    ) -> Mixture:
        """Alternate between finding the blocks of each context and EM, as long as the evidence gains.

        What has less than the `least` evidence after a round is given up.
        """
        best: Mixture | None = None
        labels: list[IntArray | None] = [None] * responsibilities.shape[1] if start is None else list(start)
        for _ in range(rounds):
            alive = self.weights @ responsibilities > LEAST_FRACTION * self.total  # contexts may die out
            responsibilities = responsibilities[:, alive]
            starts = [label for label, still in zip(labels, alive.tolist(), strict=True) if still]
            own = [
                self.part(self.weights * part)[0].blocks(label)
                for label, part in zip(starts, responsibilities.T, strict=True)
            ]
            found = self.fit_blocks(own, responsibilities, passes)
            if best is not None and found.evidence < best.evidence + 1e-3:
                break
            best, responsibilities = found, found.responsibilities
            labels = [context.label for context in found.contexts]
            if best.evidence < least:
                break
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

    def fit_blocks(self, blocks: Sequence[IntArray], responsibilities: FloatArray, passes: int = PASSES) -> Mixture:
        """Fit contexts whose blocks are known by EM, from first responsibilities."""
        labels, tolerance = np.stack(blocks), TOLERANCE * self.total
        start = np.ascontiguousarray(responsibilities)
        own = labels[:, self.order]
        found = em_from(self.words, self.weights, own, start, self.log_factorials, passes, tolerance)
        return self._as_mixture(labels, *found)

    def with_blocks(self, label: IntArray, responsibilities: FloatArray) -> Trial:
        """Fit contexts that all have the same blocks."""
        k = responsibilities.shape[1]
        own, tolerance = label[None, self.order].repeat(k, axis=0), TOLERANCE * self.total
        start = np.ascontiguousarray(responsibilities)
        _, found = em_from(self.words, self.weights, own, start, self.log_factorials, TRIAL_PASSES, tolerance)
        fitted, *_, evidence, totals, entropy = found
        step()
        of_counts = float(evidence.sum()) + k * log_prior(label)
        return Trial(of_counts + evidence_of_sizes(totals.tolist()) + entropy, fitted)

    def _em(self, contexts: Sequence[Context], passes: int) -> Mixture:
        """Go on with EM for contexts that were fitted to these rows, or to some of them."""
        labels, tolerance = np.stack([context.label for context in contexts]), TOLERANCE * self.total
        table = np.concatenate([context.table for context in contexts])
        totals = np.array([context.total for context in contexts])
        own = labels[:, self.order]
        found = em(self.words, self.weights, own, table, totals, self.log_factorials, passes, tolerance)
        return self._as_mixture(labels, *found)

    def _as_mixture(self, labels: IntArray, plan: Plan, fitted: tuple[Any, ...]) -> Mixture:
        """Return what EM found."""
        responsibilities, counts, law, table, evidence, totals, entropy = fitted
        contexts = []
        for k, label in enumerate(labels):
            start, end = plan.blocks[k], plan.blocks[k + 1]
            first = plan.first[start : end + 1]
            own = slice(first[0], first[-1])
            of_label = float(evidence[k]) + log_prior(label)
            contexts.append(
                Context(label, first - first[0], counts[own], law[start:end], table[own], of_label, float(totals[k]))
            )
        step()
        return self.mixture(contexts, responsibilities, entropy)

    def split(self, context: Context, weights: FloatArray, rng: np.random.Generator) -> Mixture | None:
        """Return the two halves of a context, by the best of several starts, for all rows; None if none pays."""
        if weights.sum() < FEWEST_ROWS:
            return None
        whole, own = self.part(weights)
        part = whole.sample(MOST_TRIAL_ROWS)
        starts, rounds = [start for start in part.starts(context, rng) if part.has_all(start)], FEW_ROUNDS
        if not starts:
            return None
        least = part.fitted(context.label, part.weights).evidence + LEAST_GAIN
        if self.rounds == 1 or part.bits.size > FEW_CELLS:
            # Only the best of them with the blocks of the whole gets blocks of its own.
            rough = best_of((part.with_blocks(context.label, start) for start in starts), evidence_of)
            starts, rounds = [rough.responsibilities], self.rounds
        fitted = (part.fit(start, TRIAL_PASSES, rounds, least=least - WITHIN_REACH) for start in starts)
        best = best_of(fitted, evidence_of)
        if best.evidence < least:
            by_frequency = part.split_by_frequency(context)
            if by_frequency is None or by_frequency[1].evidence < least:
                return None
            label, trial = by_frequency
            shared = part.fit_blocks([label, label], trial.responsibilities, 1)
            best = best_of((shared, part.fit(trial.responsibilities, TRIAL_PASSES, 1)), evidence_of)
        if len(best.contexts) < 2:
            return None
        if part is not whole:
            best = whole._em(list(best.contexts), 1)
        halves = np.full((len(weights), 2), 0.5)
        halves[own] = best.responsibilities
        return replace(best, responsibilities=halves)

    def shaken(self, found: Mixture, rng: np.random.Generator) -> Mixture | None:
        """Start anew from contexts cut in two or drawn at random, fit and merge these, until that gains.

        Only where rows are many for so many variables: of few, any contexts are a guess.
        """
        part, k = self.sample(MOST_SHAKEN_ROWS), len(found.contexts)
        may_gain = 1 < k <= MOST_SHAKEN and self.total >= ROWS_PER_VARIABLE * self.bits.shape[1]
        if not may_gain or part.bits.size > FEW_CELLS:
            return None
        now = found if part is self else part._em(list(found.contexts), PASSES)
        # Rows that are alike stand next to each other: they go to the same half, as one of their weight would.
        of_row = np.cumsum((np.diff(part.words, axis=0, prepend=part.words[:1]) != 0).any(axis=1))
        shakes = int(np.clip(SHAKEN_CELLS // part.bits.size, FEWEST_SHAKES, MOST_SHAKES))
        for shake in range(shakes):
            start = part.shaken_start(now, shake, of_row, rng)
            best = part.merged(part.fit_all(start[:, part.weights @ start > 0]))
            if best.evidence < now.evidence + LEAST_GAIN:
                continue
            if part is not self:
                rough = self._em(list(best.contexts), PASSES)
                best = self.fit(rough.responsibilities, PASSES, 1, [context.label for context in best.contexts])
            if best.evidence > found.evidence + LEAST_GAIN:
                return best
        return None

    def shaken_start(self, now: Mixture, shake: int, of_row: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return responsibilities to start anew from: all contexts cut in two at random, or fewer random ones.

        Too many contexts, in each of which rows of several are mixed, are not found together again by merging.

        Args:
            now: The contexts at hand.
            shake: Which kind it is, in turn.
            of_row: The number of each row, the same for equal rows.
            rng: Draws.
        """
        k, n_different = len(now.contexts), int(of_row[-1]) + 1
        kind = shake % 3 if k > 2 else 0
        if kind == 0:
            side = rng.integers(2, size=n_different)[of_row]
            return np.asarray(np.eye(2 * k)[2 * np.argmax(now.responsibilities, axis=1) + side])
        fewer = int(rng.integers(2, k))
        if kind == 1:
            return np.asarray(np.eye(fewer)[rng.integers(fewer, size=n_different)[of_row]])
        return self.nearest_of(self.bits, fewer, rng)

    def starts(self, context: Context, rng: np.random.Generator) -> list[FloatArray]:
        """Return several ways to split the rows in two.

        By the side of the mean along the main direction of the blocks' counts; by the value of the variable that tells
        most of the others; by the nearer of two random rows, in the counts of blocks and in single bits.
        """
        features = self.counts_of(context)
        beyond = beyond_the_mean(features, self.weights)
        told = self.bits[:, self._telling_variable()] == 1
        by_rows = [self.nearest_of(self.bits if s % 2 else features, 2, rng) for s in range(RANDOM_STARTS)]
        return [_as_halves(beyond), _as_halves(told), *by_rows]

    def split_by_frequency(self, context: Context) -> tuple[IntArray, Trial] | None:
        """Split rows by whether their ones are among the more frequent variables of their blocks; return these, too.

        Of variables that exclude each other nothing else tells frequent from rare ones: no pair, and no count.
        """
        ones, _ = sums_of_columns(self.bits, self.weights)
        above = ones - (np.bincount(context.label, ones) / np.bincount(context.label))[context.label]
        among = self.bits @ above
        mean = float(self.weights @ among) / self.total
        halves = _as_halves(among > mean + ROUNDING * (1.0 + abs(mean)))
        if not self.has_all(halves):
            return None
        label = np.unique(2 * context.label + (above > 0), return_inverse=True)[1].ravel()
        return label, self.with_blocks(label, halves)

    def counts_of(self, context: Context) -> FloatArray:
        """Return the count of ones in each block, on the scale of its spread: (rows, blocks)."""
        return np.asarray(standardized_counts(self.words, self.weights, plan_of(context.label[None, self.order])))

    def _telling_variable(self) -> int:
        """Return the variable of most mutual information with the others, or with many of them if there are more."""
        others = self.order[:: -(-self.bits.shape[1] // MOST_TOLD)]
        return int(telling_variable(self.bits, self.weights, others))

    def nearest_of(self, features: AnyArray, k: int, rng: np.random.Generator) -> FloatArray:
        """Assign each row to the nearest of k random rows, drawn far from each other (k-means++): (rows, k)."""
        chance = np.cumsum(self.weights)
        nearest, distance = np.zeros(len(features), dtype=np.int64), np.full(len(features), np.inf)
        for cluster in range(k):
            if chance[-1] == 0:  # fewer different rows than clusters
                break
            row = int(np.searchsorted(chance, rng.random() * chance[-1], side="right"))
            draw_nearer(features, min(row, len(features) - 1), cluster, nearest, distance)
            chance = np.cumsum(self.weights * distance)
        return np.asarray(np.eye(k)[nearest])


def _as_halves(own: AnyArray) -> FloatArray:
    """Return responsibilities of two halves, the rows that are not marked and those that are: (rows, 2)."""
    return np.stack([~own, own], axis=1).astype(np.float64)
