"""Contexts: clusters of rows, in each of which the columns form exchangeable blocks of their own.

EM for mixtures of products of blocks of columns of any types, and starts for the search of `context_search.py`, which
finds the number of contexts by evidence.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.errors import ParameterError
from xspn.core.exact import ROUNDING, best_of, first_of_largest, nearest
from xspn.learning.blocks.context_search import MOST_CONTEXTS, ContextMixture, ContextSearch, evidence_of
from xspn.learning.blocks.table_products import BlockProduct, ProductRows, Structure
from xspn.learning.steps import step
from xspn.learning.table_summary import TableSummary

LEAST_RESPONSIBILITY = 1e-3  # a context's blocks do not depend on rows of less than this fraction of the largest
FEWEST_ROWS = 4.0  # contexts of fewer are not split
LEAST_GAIN = 1.0  # nats of evidence, for a split to be tried on all rows
TOLERANCE = 1e-5  # of EM, in nats per row
ROUGH_PASSES, TRIAL_PASSES, PASSES, ROUNDS = 5, 15, 20, 2
RANDOM_STARTS, STARTS_ANEW = 2, 4
MOVES_OF_CENTERS = 5
ROWS_TRIED = 5000  # that starts are tried on
MOST_STARTED_ANEW = 6  # from random rows; with more contexts such starts hardly ever win

Mixture = ContextMixture[BlockProduct]


def evidence_alone(summary: TableSummary) -> float:
    """Return the log-evidence of columns that each stand on their own, that of this partition included."""
    alone = Structure(tuple((column,) for column in range(summary.n)))
    return ProductRows(summary).evidence(alone, summary.weights)


def one_context(summary: TableSummary) -> BlockProduct:
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
    search, order = _in_order(summary)
    found = search.fit(np.ones((len(order), 1)), passes=1, rounds=1)
    found = search.search(found, most, np.random.default_rng(seed))
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


class _Search(ContextSearch[BlockProduct, Structure]):
    """Weighted rows of any columns in which contexts are looked for."""

    def __init__(self, rows: ProductRows) -> None:
        self.rows, self.weights, self.total = rows, rows.weights, rows.total
        self.alone = Structure(tuple((column,) for column in range(rows.n)))

    def blocks_of(self, context: BlockProduct) -> Structure:
        """Return the blocks of a context."""
        return context.structure

    def fitted(self, blocks: Structure, weights: FloatArray) -> BlockProduct:
        """Fit the laws of given blocks to the rows under given weights."""
        return self.rows.fitted(blocks, weights)

    def columns(self) -> FloatArray:
        """Return every column on its own, on the scale of its spread."""
        return self.rows.features(self.alone)

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

    def fit_all(self, responsibilities: FloatArray) -> Mixture:
        """Find the blocks of each context anew and fit all by EM, from first responsibilities."""
        return self.fit(responsibilities, PASSES, ROUNDS)

    def fit_blocks(self, blocks: Sequence[Structure], responsibilities: FloatArray) -> Mixture:
        """Fit contexts whose blocks are known by EM, from first responsibilities."""
        return self._em(blocks, responsibilities, PASSES)

    def _em(self, structures: Sequence[Structure], responsibilities: FloatArray, passes: int) -> Mixture:
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
        return self.mixture(contexts, responsibilities)

    def responsibilities(self, contexts: Sequence[BlockProduct]) -> tuple[FloatArray, float]:
        """Return the responsibility of each context for each row, and the log-likelihood up to a constant."""
        logs = np.stack([self.rows.log_prob(c) + np.log(c.total + 1.0) for c in contexts], axis=1)
        top = logs.max(axis=1, keepdims=True)
        found = np.exp(logs - top)
        mass = found.sum(axis=1, keepdims=True)
        return found / mass, float(self.weights @ (top + np.log(mass))[:, 0])

    def _fitted(self, structures: Sequence[Structure], responsibilities: FloatArray) -> list[BlockProduct]:
        parts = zip(structures, responsibilities.T, strict=True)
        return [self.fitted(structure, self.weights * own) for structure, own in parts]

    def split(self, context: BlockProduct, weights: FloatArray, rng: np.random.Generator) -> Mixture | None:
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

    def halves(self, context: BlockProduct, rng: np.random.Generator, least_gain: float = -np.inf) -> Mixture | None:
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
            rough = best_of((tried._em([structure] * 2, start, ROUGH_PASSES) for start in starts), evidence_of)
            fitted.append(tried.fit(rough.responsibilities, TRIAL_PASSES, ROUNDS))
        best = best_of(fitted, evidence_of)
        if tried is not self and tried._gain(best, context) >= least_gain:
            best, tried = self.fit(self.responsibilities(best.contexts)[0], TRIAL_PASSES, ROUNDS), self
        return best if len(best.contexts) > 1 and tried._gain(best, context) >= least_gain else None

    def _gain(self, halves: Mixture, context: BlockProduct) -> float:
        return halves.evidence - self.rows.evidence(context.structure, self.weights)

    def shaken(self, found: Mixture, rng: np.random.Generator) -> Mixture | None:
        """Fit one context more from random rows: where two are mixed in all contexts alike, none gains by a split."""
        k = len(found.contexts) + 1
        if not 2 < k <= MOST_STARTED_ANEW:  # two halves of all rows have been tried
            return None
        tried, own = self.sample(rng)
        spaces = [tried.rows.features(tried.rows.best_structure()), tried.columns()]
        starts = [tried.nearest_of(spaces[s % 2], k, rng) for s in range(STARTS_ANEW)]
        fitted = [tried.fit(start, PASSES, ROUNDS) for start in starts if tried.has_all(start)]
        best = best_of(fitted, evidence_of) if fitted else found
        if tried is not self and fitted:
            now = tried._em([context.structure for context in found.contexts], found.responsibilities[own], passes=1)
            if best.evidence <= now.evidence:
                return None
            best = self.fit(self.responsibilities(best.contexts)[0], PASSES, ROUNDS)
        return best if best.evidence > found.evidence else None

    def starts(self, context: BlockProduct, rng: np.random.Generator) -> list[FloatArray]:
        """Return several ways to split the rows in two.

        By the side of the mean along the main direction of the blocks' features, or of the one feature that tells most
        of the others; by the nearer of two random rows, by blocks and by single columns; by the value of a column that
        has most evidence.
        """
        features = self.rows.features(context.structure)
        correlations = features.T @ (features * self.weights[:, None]) / self.total
        directions = [_main_direction(correlations), np.eye(len(correlations))[_telling(correlations)]]
        sides = [features @ direction > ROUNDING for direction in directions]
        spaces = [features, self.columns()]
        by_rows = [self.nearest_of(spaces[s % 2], 2, rng) for s in range(RANDOM_STARTS)]
        cuts = self.rows.cuts(features)
        sides += [best_of(cuts, lambda inside: self._evidence_of_cut(context, inside))] if cuts else []
        return [*(np.stack([~own, own], axis=1).astype(np.float64) for own in sides), *by_rows]

    def _evidence_of_cut(self, context: BlockProduct, inside: BoolArray) -> float:
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
        own = np.eye(k)[nearest(np.array(distances))]
        for _ in range(MOVES_OF_CENTERS):
            masses = own * self.weights[:, None]
            means = (masses.T @ features) / np.maximum(masses.sum(axis=0), 1e-300)[:, None]
            own = np.eye(k)[nearest((means**2).sum(axis=1)[:, None] - 2 * means @ features.T)]
        return np.asarray(own)


def _main_direction(correlations: FloatArray) -> FloatArray:
    direction = np.linalg.eigh(correlations)[1][:, -1]
    return np.asarray(direction * np.sign(direction[first_of_largest(np.abs(direction))]))  # either sign would do


def _telling(correlations: FloatArray) -> int:
    """Return the feature that is most correlated with the others, in all."""
    return first_of_largest((correlations**2).sum(axis=0) - np.diag(correlations) ** 2)
