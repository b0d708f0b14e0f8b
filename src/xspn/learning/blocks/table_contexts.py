"""Contexts: clusters of rows, in each of which the columns form exchangeable blocks of their own.

EM for mixtures of products of blocks, with the number of contexts found by evidence, as for bits
(`learning/blocks/contexts.py`): a context is split in two as long as that gains, and all are fitted again. The evidence
of a mixture is that of rows completed by their responsibilities, plus the entropy of these (Cheeseman and Stutz, 1996).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
from scipy.special import gammaln, xlogy

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.errors import ParameterError
from xspn.learning.blocks.table_products import Product, ProductRows, Structure
from xspn.learning.steps import step
from xspn.learning.table_summary import TableSummary

LEAST_RESPONSIBILITY = 1e-3  # a context's blocks do not depend on rows of less than this fraction of the largest
FEWEST_ROWS = 4.0  # contexts of fewer are not split
LEAST_GAIN = 1.0  # nats of evidence, for a split to be tried on all rows
TOLERANCE = 1e-5  # of EM, in nats per row
ROUGH_PASSES, TRIAL_PASSES, PASSES, ROUNDS = 5, 15, 20, 2
RANDOM_STARTS, STARTS_ANEW = 2, 4
MOVES_OF_CENTERS = 5
NEIGHBORS = 4  # of a context, that it may be merged with
ROWS_TRIED = 5000  # that starts are tried on
MOST_CONTEXTS = 100
MOST_STARTED_ANEW = 6  # from random rows; with more contexts such starts hardly ever win


@dataclass(frozen=True, eq=False)
class Mixture:
    """Contexts, and the responsibility of each for each row: (rows, contexts)."""

    contexts: tuple[Product, ...]
    responsibilities: FloatArray
    evidence: float


def evidence_alone(summary: TableSummary) -> float:
    """Return the log-evidence of columns that each stand on their own, that of this partition included."""
    alone = Structure(tuple((column,) for column in range(summary.n)))
    return ProductRows(summary).evidence(alone, summary.weights)


def one_context(summary: TableSummary) -> Product:
    """Return the product of exchangeable blocks of best evidence.

    Args:
        summary: Rows without missing cells.
    """
    _refuse_missing(summary)
    rows = ProductRows(summary)
    return rows.fitted(rows.best_structure(), rows.weights)


def find_contexts(summary: TableSummary, seed: int, most: int = MOST_CONTEXTS) -> Mixture:
    """Return the contexts of best evidence.

    Args:
        summary: Rows without missing cells.
        seed: The seed of random starts.
        most: The largest number of contexts.
    """
    rng = np.random.default_rng(seed)
    search, order = _in_order(summary)
    found = search.fit(np.ones((len(order), 1)), passes=1, rounds=1)
    untried = [True]  # contexts that nobody has tried to split
    while len(found.contexts) < most:
        larger, untried = search.with_splits(found, untried, rng)
        if larger is None:
            larger = search.started_anew(found, rng)
            untried = [True] * (len(found.contexts) + 1)
        if larger is None:
            break
        found = larger
    if len(found.contexts) > 1:
        found = max(found, search.fit(found.responsibilities, PASSES, ROUNDS), key=_evidence_of)
        found = search.merged(found)
    return _as_before(found, order)


def find_two_contexts(summary: TableSummary, seed: int) -> Mixture | None:
    """Return the two contexts of best evidence, even if one has more; None where rows cannot be split in two."""
    search, order = _in_order(summary)
    context = search.fit(np.ones((len(order), 1)), passes=1, rounds=1).contexts[0]
    found = search.halves(context, np.random.default_rng(seed))
    return None if found is None or len(found.contexts) < 2 else _as_before(found, order)


def _refuse_missing(summary: TableSummary) -> None:
    if not summary.complete:
        raise ParameterError("blocks and contexts of best evidence are for tables without missing cells")


def _in_order(summary: TableSummary) -> tuple["_Search", IntArray]:
    """Return the search over rows in an order that does not depend on theirs, and the order."""
    _refuse_missing(summary)
    order = _order_of_rows(summary)
    rows = ProductRows(TableSummary(summary.cells[order], summary.weights[order], summary.columns))
    return _Search(rows), order


def _as_before(found: Mixture, order: IntArray) -> Mixture:
    own = np.empty_like(found.responsibilities)
    own[order] = found.responsibilities
    return replace(found, responsibilities=own)


def _order_of_rows(summary: TableSummary) -> IntArray:
    """Sort rows by what they hold, so that random starts depend neither on the order of rows nor on that of columns.

    By how far they are from the middle of each column, then by how common the values are; only rows that are alike in
    this are told apart by the order of the columns.
    """
    cells, weights = summary.cells, summary.weights
    common = np.zeros(len(cells))
    for column in summary.discrete.tolist():
        common += summary.value_weights(column)[cells[:, column].astype(np.int64)] / summary.total
    values = cells[:, summary.real]
    values = values - weights @ values / summary.total
    spreads = np.array([summary.columns[int(i)].spread for i in summary.real])
    far = np.zeros(len(cells)) if not len(spreads) else np.abs(values / spreads).sum(axis=1)
    return np.lexsort((*cells.T, common.round(9), far.round(9)))


class _Search:
    """Weighted rows in which contexts are looked for."""

    def __init__(self, rows: ProductRows) -> None:
        self.rows, self.weights, self.total = rows, rows.weights, rows.total
        self.alone = Structure(tuple((column,) for column in range(rows.n)))

    def part(self, weights: FloatArray) -> tuple["_Search", AnyArray]:
        """Return the rows that are not negligible under a part of their weights, and where they are."""
        fraction = weights / self.weights
        own = np.flatnonzero(fraction > LEAST_RESPONSIBILITY * fraction.max())
        return _Search(self.rows.some(own, weights[own])), own

    def sample(self, rng: np.random.Generator) -> tuple["_Search", AnyArray]:
        """Return as many rows as starts are tried on, which stand for all, and where they are; all if they are few."""
        n_rows = len(self.weights)
        if n_rows <= ROWS_TRIED:
            return self, np.arange(n_rows)
        own = np.sort(rng.choice(n_rows, size=ROWS_TRIED, replace=False))
        weights = self.weights[own] * (self.total / self.weights[own].sum())
        return _Search(self.rows.some(own, weights)), own

    def fit(self, responsibilities: FloatArray, passes: int, rounds: int) -> Mixture:
        """Alternate between finding the blocks of each context and EM, as long as the evidence gains."""
        best: Mixture | None = None
        for _ in range(rounds):
            responsibilities = responsibilities[:, self.weights @ responsibilities > 0]  # contexts may die out
            masses = [self.weights * own for own in responsibilities.T]
            structures = [self.part(own)[0].rows.best_structure() for own in masses]
            found = self._em(structures, responsibilities, passes)
            if best is not None and found.evidence < best.evidence + 1e-3:
                break
            best, responsibilities = found, found.responsibilities
        assert best is not None
        return best

    def _em(self, structures: list[Structure], responsibilities: FloatArray, passes: int) -> Mixture:
        """Fit the laws and the weights of contexts whose blocks are known, from first responsibilities."""
        previous = -np.inf
        contexts = self._fitted(structures, responsibilities)
        for _ in range(passes if len(structures) > 1 else 0):
            responsibilities, current = self.responsibilities(contexts)
            contexts = self._fitted(structures, responsibilities)
            step()
            if current - previous < TOLERANCE * self.total:
                break
            previous = current
        return Mixture(tuple(contexts), responsibilities, self._evidence(contexts, responsibilities))

    def responsibilities(self, contexts: Sequence[Product]) -> tuple[FloatArray, float]:
        """Return the responsibility of each context for each row, and the log-likelihood up to a constant."""
        logs = np.stack([self.rows.log_prob(c) + np.log(c.total + 1.0) for c in contexts], axis=1)
        top = logs.max(axis=1, keepdims=True)
        found = np.exp(logs - top)
        mass = found.sum(axis=1, keepdims=True)
        return found / mass, float(self.weights @ (top + np.log(mass))[:, 0])

    def _fitted(self, structures: list[Structure], responsibilities: FloatArray) -> list[Product]:
        parts = zip(structures, responsibilities.T, strict=True)
        return [self.rows.fitted(structure, self.weights * own) for structure, own in parts]

    def _evidence(self, contexts: list[Product], responsibilities: FloatArray) -> float:
        """Return the evidence of completed rows: contexts, how often each occurs (a uniform prior), and the entropy."""
        sizes = np.array([context.total for context in contexts])
        of_sizes = gammaln(len(sizes)) - gammaln(sizes.sum() + len(sizes)) + gammaln(sizes + 1).sum()
        entropy = -float(self.weights @ xlogy(responsibilities, responsibilities).sum(axis=1))
        return float(sum(context.evidence for context in contexts) + of_sizes + entropy)

    def with_splits(
        self, found: Mixture, untried: list[bool], rng: np.random.Generator
    ) -> tuple[Mixture | None, list[bool]]:
        """Split every context that gains by it, and fit all again; None if that has no more evidence."""
        parts: list[FloatArray] = []
        structures: list[Structure] = []
        still: list[bool] = []
        for k, context in enumerate(found.contexts):
            own = found.responsibilities[:, k]
            halves = self._split(context, self.weights * own, rng) if untried[k] else None
            if halves is None:
                parts, structures, still = [*parts, own], [*structures, context.structure], [*still, False]
            else:
                parts += [own * half for half in halves.responsibilities.T]
                structures += [half.structure for half in halves.contexts]
                still += [True, True]
        if not any(still):
            return None, still
        larger = self._em(structures, np.stack(parts, axis=1), PASSES)
        return (larger if larger.evidence > found.evidence else None), still

    def _split(self, context: Product, weights: FloatArray, rng: np.random.Generator) -> Mixture | None:
        """Return the two halves of a context, by the best of several starts, for all rows; None if none pays."""
        if weights.sum() < FEWEST_ROWS:
            return None
        part, own = self.part(weights)
        best = part.halves(context, rng, LEAST_GAIN)
        if best is None:
            return None
        halves = np.full((len(weights), 2), 0.5)
        halves[own] = best.responsibilities
        return replace(best, responsibilities=halves)

    def halves(self, context: Product, rng: np.random.Generator, least_gain: float = -np.inf) -> Mixture | None:
        """Return two contexts in place of one, by the best of several starts; None if they have too little evidence.

        Of many rows a sample is tried first, as if it were all of them.
        """
        tried, _ = self.sample(rng)
        starts = [start for start in tried.starts(context, rng) if tried.has_all(start)]
        if not starts:
            return None
        # The best of them with the blocks of the whole gets its own blocks. Where reals are jointly normal, EM hardly
        # leaves its start, as any two halves can be explained; without covariances it may find what there is.
        structures = {context.structure.joint: context.structure, False: replace(context.structure, joint=False)}
        fitted = []
        for structure in structures.values():
            rough = max((tried._em([structure] * 2, start, ROUGH_PASSES) for start in starts), key=_evidence_of)
            fitted.append(tried.fit(rough.responsibilities, TRIAL_PASSES, ROUNDS))
        best = max(fitted, key=_evidence_of)
        if tried is not self and tried._gain(best, context) >= least_gain:
            best, tried = self.fit(self.responsibilities(best.contexts)[0], TRIAL_PASSES, ROUNDS), self
        return best if len(best.contexts) > 1 and tried._gain(best, context) >= least_gain else None

    def _gain(self, halves: Mixture, context: Product) -> float:
        return halves.evidence - self.rows.evidence(context.structure, self.weights)

    def started_anew(self, found: Mixture, rng: np.random.Generator) -> Mixture | None:
        """Fit one context more from random rows: where two are mixed in all contexts alike, none gains by a split."""
        k = len(found.contexts) + 1
        if not 2 < k <= MOST_STARTED_ANEW:  # two halves of all rows have been tried
            return None
        tried, own = self.sample(rng)
        spaces = [tried.rows.features(tried.rows.best_structure()), tried.rows.features(tried.alone)]
        starts = [tried.nearest_of(spaces[s % 2], k, rng) for s in range(STARTS_ANEW)]
        fitted = [tried.fit(start, PASSES, ROUNDS) for start in starts if tried.has_all(start)]
        best = max(fitted, key=_evidence_of, default=found)
        if tried is not self and fitted:
            now = tried._em([context.structure for context in found.contexts], found.responsibilities[own], passes=1)
            if best.evidence <= now.evidence:
                return None
            best = self.fit(self.responsibilities(best.contexts)[0], PASSES, ROUNDS)
        return best if best.evidence > found.evidence else None

    def merged(self, found: Mixture) -> Mixture:
        """Merge two contexts as long as that gains: a context that was cut by an early split is put together again."""
        while len(found.contexts) > 1:
            gains = {pair: self._gain_of_merging(found, *pair) for pair in self._near_contexts(found)}
            i, j = max(gains, key=gains.__getitem__)
            if gains[i, j] <= 0.0:
                return found
            own = found.responsibilities.copy()
            own[:, j] += own[:, i]
            fewer = self.fit(np.delete(own, i, axis=1), PASSES, ROUNDS)
            if fewer.evidence <= found.evidence:
                return found
            found = fewer
        return found

    def _near_contexts(self, found: Mixture) -> list[tuple[int, int]]:
        """Return the pairs of contexts that may be one: those whose columns have similar means."""
        masses = found.responsibilities * self.weights[:, None]
        means = (masses.T @ self.rows.features(self.alone)) / np.maximum(masses.sum(axis=0), 1e-300)[:, None]
        apart = ((means[:, None, :] - means[None, :, :]) ** 2).sum(axis=2)
        np.fill_diagonal(apart, np.inf)
        nearest = np.argsort(apart, axis=1, kind="stable")[:, : min(NEIGHBORS, len(means) - 1)]
        pairs = {(max(i, j), min(i, j)) for i, row in enumerate(nearest.tolist()) for j in row}
        return sorted(pairs)

    def _gain_of_merging(self, found: Mixture, i: int, j: int) -> float:
        """Return what evidence gains if two contexts become one, with the blocks of either and nothing else changed."""
        first, second = found.contexts[i], found.contexts[j]
        own = found.responsibilities[:, [i, j]]
        both = own.sum(axis=1)
        union = max(self.rows.fitted(c.structure, self.weights * both).evidence for c in (first, second))
        entropy = float(self.weights @ (xlogy(own, own).sum(axis=1) - xlogy(both, both)))
        k, sizes = len(found.contexts), np.array([first.total, second.total])
        of_sizes = gammaln(sizes.sum() + 1) - gammaln(sizes + 1).sum() - np.log(k - 1)
        of_sizes += gammaln(self.total + k) - gammaln(self.total + k - 1)
        return float(union - first.evidence - second.evidence + entropy + of_sizes)

    def has_all(self, responsibilities: FloatArray) -> bool:
        """Whether each cluster has a row."""
        return bool((self.weights @ responsibilities).min() >= 1.0)

    def starts(self, context: Product, rng: np.random.Generator) -> list[FloatArray]:
        """Return several ways to split the rows in two.

        By the side of the mean along the main direction of the blocks' features, or of the one feature that tells most
        of the others; by the nearer of two random rows, by blocks and by single columns; by the value of a column that
        has most evidence.
        """
        features = self.rows.features(context.structure)
        correlations = features.T @ (features * self.weights[:, None]) / self.total
        directions = [_main_direction(correlations), np.eye(len(correlations))[_telling(correlations)]]
        sides = [features @ direction > 0 for direction in directions]
        spaces = [features, self.rows.features(self.alone)]
        by_rows = [self.nearest_of(spaces[s % 2], 2, rng) for s in range(RANDOM_STARTS)]
        cuts = self.rows.cuts(features)
        sides += [max(cuts, key=lambda inside: self._evidence_of_cut(context, inside))] if cuts else []
        return [*(np.stack([~own, own], axis=1).astype(np.float64) for own in sides), *by_rows]

    def _evidence_of_cut(self, context: Product, inside: BoolArray) -> float:
        """Return the evidence of rows with a value and of all others, with the blocks of both together."""
        return sum(self.rows.evidence(context.structure, self.weights * own) for own in (inside, ~inside))

    def nearest_of(self, features: FloatArray, k: int, rng: np.random.Generator) -> FloatArray:
        """Assign each row to the nearest of k centers: (rows, k).

        They start from random rows, drawn far from each other (k-means++), and move to the mean of their rows a few
        times: single rows are far from everything where columns are many.
        """
        centers = [features[int(rng.choice(len(features), p=self.weights / self.total))]]
        distances = [((features - centers[0]) ** 2).sum(axis=1)]
        for _ in range(k - 1):
            chance = self.weights * np.min(distances, axis=0)
            if chance.sum() == 0:  # fewer different rows than clusters
                break
            centers.append(features[int(rng.choice(len(features), p=chance / chance.sum()))])
            distances.append(((features - centers[-1]) ** 2).sum(axis=1))
        nearest = np.eye(k)[np.argmin(distances, axis=0)]
        for _ in range(MOVES_OF_CENTERS):
            masses = nearest * self.weights[:, None]
            means = (masses.T @ features) / np.maximum(masses.sum(axis=0), 1e-300)[:, None]
            nearest = np.eye(k)[np.argmin((means**2).sum(axis=1) - 2 * features @ means.T, axis=1)]
        return np.asarray(nearest)


def _main_direction(correlations: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.eigh(correlations)[1][:, -1])


def _telling(correlations: FloatArray) -> int:
    """Return the feature that is most correlated with the others, in all."""
    return int(np.argmax((correlations**2).sum(axis=0) - np.diag(correlations) ** 2))


_evidence_of = attrgetter("evidence")
