"""The search for contexts by evidence, whatever columns and laws there are: which are split, started anew or merged.

A context is a product of exchangeable blocks, fitted to the rows by their responsibilities. One is split in two as long
as that gains evidence, and all are fitted again. The evidence of a mixture is that of rows completed by their
responsibilities, plus the entropy of these (Cheeseman and Stutz, 1996). What a context is made of, how EM fits several
of them and where halves come from is left to those who know the columns.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma
from operator import attrgetter
from typing import Generic, Protocol, TypeVar

import numpy as np
from scipy.special import gammaln, xlogy

from xspn.core.arrays import FloatArray

NEIGHBORS = 4  # of a context, that it may be merged with
MOST_CONTEXTS = 100


class FittedContext(Protocol):
    """A product of exchangeable blocks, fitted to weighted rows."""

    @property
    def evidence(self) -> float:
        """The log-evidence, that of the partition included."""

    @property
    def total(self) -> float:
        """The weight of the rows."""


C = TypeVar("C", bound=FittedContext)
P = TypeVar("P")  # how columns are put into blocks


@dataclass(frozen=True, eq=False)
class ContextMixture(Generic[C]):
    """Contexts, and the responsibility of each for each row: (rows, contexts)."""

    contexts: tuple[C, ...]
    responsibilities: FloatArray
    evidence: float


evidence_of = attrgetter("evidence")


def evidence_of_sizes(sizes: Sequence[float]) -> float:
    """Return the log-evidence of how often each context occurs, all fractions being equally likely beforehand."""
    return lgamma(len(sizes)) - lgamma(sum(sizes) + len(sizes)) + sum(lgamma(size + 1) for size in sizes)


class ContextSearch(ABC, Generic[C, P]):
    """Weighted rows in which contexts are looked for.

    Attributes:
        weights: The weight of each row.
        total: The weight of all rows.
    """

    weights: FloatArray
    total: float

    @abstractmethod
    def blocks_of(self, context: C) -> P:
        """Return the blocks of a context."""

    @abstractmethod
    def fitted(self, blocks: P, weights: FloatArray) -> C:
        """Fit the laws of given blocks to the rows under given weights."""

    @abstractmethod
    def fit_all(self, responsibilities: FloatArray) -> ContextMixture[C]:
        """Find the blocks of each context anew and fit all by EM, from first responsibilities."""

    @abstractmethod
    def fit_blocks(self, blocks: Sequence[P], responsibilities: FloatArray) -> ContextMixture[C]:
        """Fit contexts whose blocks are known by EM, from first responsibilities."""

    @abstractmethod
    def split(self, context: C, weights: FloatArray, rng: np.random.Generator) -> ContextMixture[C] | None:
        """Return the two halves of a context, by the best of several starts, for all rows; None if none pays."""

    @abstractmethod
    def shaken(self, found: ContextMixture[C], rng: np.random.Generator) -> ContextMixture[C] | None:
        """Return contexts of more evidence from other starts, None if there are none.

        Where rows of two contexts are mixed in several alike, no split gains.
        """

    @abstractmethod
    def columns(self) -> FloatArray:
        """Return the columns by whose means contexts are compared: (rows, columns)."""

    def search(self, found: ContextMixture[C], most: int, rng: np.random.Generator) -> ContextMixture[C]:
        """Return the contexts of best evidence, at most so many, from those at hand."""
        untried = [True] * len(found.contexts)  # contexts that nobody has tried to split
        while len(found.contexts) < most:
            larger, untried = self.with_splits(found, untried, rng)
            if larger is None:
                larger = self.shaken(found, rng)
                if larger is None:
                    break
                untried = [True] * len(larger.contexts)
            found = larger
        if len(found.contexts) > 1:
            found = max(found, self.fit_all(found.responsibilities), key=evidence_of)
            found = self.merged(found)
        return found

    def with_splits(
        self, found: ContextMixture[C], untried: list[bool], rng: np.random.Generator
    ) -> tuple[ContextMixture[C] | None, list[bool]]:
        """Split every context that gains by it, and fit all again; None if that has no more evidence."""
        parts: list[FloatArray] = []
        blocks: list[P] = []
        still: list[bool] = []
        for k, context in enumerate(found.contexts):
            own = found.responsibilities[:, k]
            halves = self.split(context, self.weights * own, rng) if untried[k] else None
            if halves is None:
                parts, blocks, still = [*parts, own], [*blocks, self.blocks_of(context)], [*still, False]
            else:
                parts += [own * half for half in halves.responsibilities.T]
                blocks += [self.blocks_of(half) for half in halves.contexts]
                still += [True, True]
        if not any(still):
            return None, still
        larger = self.fit_blocks(blocks, np.stack(parts, axis=1))
        return (larger if larger.evidence > found.evidence else None), still

    def merged(self, found: ContextMixture[C]) -> ContextMixture[C]:
        """Merge two contexts as long as that gains: a context that was cut by an early split is put together again."""
        while len(found.contexts) > 1:
            gains = {pair: self._gain_of_merging(found, *pair) for pair in self._near_contexts(found)}
            i, j = max(gains, key=gains.__getitem__)
            if gains[i, j] <= 0.0:
                return found
            own = found.responsibilities.copy()
            own[:, j] += own[:, i]
            fewer = self.fit_all(np.delete(own, i, axis=1))
            if fewer.evidence <= found.evidence:
                return found
            found = fewer
        return found

    def _near_contexts(self, found: ContextMixture[C]) -> list[tuple[int, int]]:
        """Return the pairs of contexts that may be one: those whose columns have similar means."""
        masses = found.responsibilities * self.weights[:, None]
        means = (masses.T @ self.columns()) / np.maximum(masses.sum(axis=0), 1e-300)[:, None]
        apart = ((means[:, None, :] - means[None, :, :]) ** 2).sum(axis=2)
        np.fill_diagonal(apart, np.inf)
        nearest = np.argsort(apart, axis=1, kind="stable")[:, : min(NEIGHBORS, len(means) - 1)]
        pairs = {(max(i, j), min(i, j)) for i, row in enumerate(nearest.tolist()) for j in row}
        return sorted(pairs)

    def _gain_of_merging(self, found: ContextMixture[C], i: int, j: int) -> float:
        """Return what evidence gains if two contexts become one, with the blocks of either and nothing else changed."""
        first, second = found.contexts[i], found.contexts[j]
        own = found.responsibilities[:, [i, j]]
        both = own.sum(axis=1)
        union = max(self.fitted(self.blocks_of(c), self.weights * both).evidence for c in (first, second))
        entropy = float(self.weights @ (xlogy(own, own).sum(axis=1) - xlogy(both, both)))
        k, sizes = len(found.contexts), np.array([first.total, second.total])
        of_sizes = gammaln(sizes.sum() + 1) - gammaln(sizes + 1).sum() - np.log(k - 1)
        of_sizes += gammaln(self.total + k) - gammaln(self.total + k - 1)
        return float(union - first.evidence - second.evidence + entropy + of_sizes)

    def mixture(
        self, contexts: Sequence[C], responsibilities: FloatArray, entropy: float | None = None
    ) -> ContextMixture[C]:
        """Return fitted contexts with their evidence: of each, of how often each occurs (a uniform prior), entropy."""
        of_sizes = evidence_of_sizes([context.total for context in contexts])
        if entropy is None:
            entropy = -float(self.weights @ xlogy(responsibilities, responsibilities).sum(axis=1))
        evidence = float(sum(context.evidence for context in contexts) + of_sizes + entropy)
        return ContextMixture(tuple(contexts), responsibilities, evidence)

    def has_all(self, responsibilities: FloatArray) -> bool:
        """Whether each cluster has a row."""
        return bool((self.weights @ responsibilities).min() >= 1.0)
