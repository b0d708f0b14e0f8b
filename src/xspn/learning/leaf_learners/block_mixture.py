"""A mixture of products over the same exchangeable blocks, for blocks that depend on each other a little.

Where every two blocks are nearly independent, evidence takes all of them for independent, and rightly so: it asks what
made the rows. Many weak dependences together may still be worth predicting with. Components share the blocks, so that
EM needs the rows' counts of ones only, and what is found is easily told. In each component a block has the law of its
counts that pays best, a histogram or a beta-binomial; components are added as long as they pay for their parameters.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.logspace import log_binomials
from xspn.core.random import generator
from xspn.graph.nodes import Node, Product, Sum
from xspn.learning.leaf_learners.base import BinaryLeafData, Candidate, LeafOptions
from xspn.learning.steps import step
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.beta_binomial import BetaBinomial
from xspn.leaves.exchangeable import Exchangeable

PRICE = 1.5  # nats for each parameter: one for what it fits of noise (Akaike), half a nat for the choice
PASSES = 120
TOLERANCE = 1e-5  # of EM, in nats per row
GROWTH = 1.3  # of the number of components from one trial to the next
LOOK_AHEAD = 4  # trials in a row that may fail before no more components are tried, where counts are few
FEW_COUNTS = 1 << 17  # of all rows and blocks
MOST_COMPONENTS = 64


def block_mixture_leaf(data: BinaryLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return the mixture of as many products as pay for their parameters, over the blocks of best evidence."""
    found = products_of_blocks(data, variables, fewest=1)
    assert found is not None
    return found


def products_of_blocks(data: BinaryLeafData, variables: IntArray, fewest: int = 2) -> Candidate | None:
    """Return the same; None if fewer products than so many are enough, of which no leaf is made then."""
    bits, weights = data.own.complete_rows()
    # What is found shall depend neither on the order of rows (equal ones are merged and sorted) nor on that of columns.
    blocks = sorted(data.own.exchangeable_blocks.blocks, key=lambda block: _as_counts(bits[:, block], weights))
    rows = _CountedRows(bits, weights, blocks)
    best = _best_of(rows)
    if best.n_alive < fewest:
        return None
    own = best.log_likelihoods[rows.of_row] - best.n_parameters / max(float(weights.sum()), 1.0)
    name = f"{best.n_components} products of blocks"
    return Candidate(name, rows.node(best, [variables[block] for block in blocks]), own)


def _as_counts(bits: AnyArray, weights: FloatArray) -> list[float]:
    return [bits.shape[1], *np.bincount(bits.sum(axis=1, dtype=np.int64), weights=weights).tolist()]


def _best_of(rows: "_CountedRows") -> "_Fitted":
    """Add components, more and more at a time, as long as that pays; then one by one, down or up.

    Where each of several blocks has two peaks, so have two halves of the rows; only with a component for each way in
    which blocks go together do all laws become simple. So one failure is not the end.
    """
    best = rows.fitted(1)
    tried = {1: best}
    for growth, change, patience in ((GROWTH, 1, LOOK_AHEAD if rows.few else 1), (0.0, -1, 1), (0.0, 1, 1)):
        wanted, failed = best.n_components, 0
        while failed < patience:
            wanted = max(wanted + change, int(growth * wanted))
            if not 0 < wanted <= MOST_COMPONENTS or rows.most_likely(wanted) <= best.score:
                break
            other = tried[wanted] if wanted in tried else rows.fitted(wanted, at_least=best.score)
            tried[wanted] = other
            if other.score > best.score:
                best, failed = other, 0
            else:
                failed += 1
    return best


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A mixture.

    Attributes:
        counts: How often each count was seen in each component: (counts of all blocks, components).
        law: The law of each block in each component: (blocks, components).
        totals: The weight of the rows of each component.
        log_likelihoods: Of each of the counted rows.
        n_parameters: How many free parameters.
        score: The log-likelihood of all rows, less the price of the parameters.
    """

    counts: FloatArray
    law: IntArray
    totals: FloatArray
    log_likelihoods: FloatArray
    n_parameters: int
    score: float

    @property
    def n_components(self) -> int:
        return len(self.totals)

    @property
    def n_alive(self) -> int:
        """How many components have rows."""
        return int((self.totals > 0).sum())


class _CountedRows:
    """Rows as counts of ones in each block; equal rows are merged.

    Args:
        bits: Zeros and ones: (rows, variables).
        weights: The weight of each row.
        blocks: The variables of each block.
    """

    def __init__(self, bits: AnyArray, weights: FloatArray, blocks: list[IntArray]) -> None:
        from xspn.learning.blocks.shared import features_of, most_likely_score, places_of  # takes numba along

        counts = np.stack([bits[:, block].sum(axis=1, dtype=np.int64) for block in blocks], axis=1)
        different, of_row = np.unique(counts, axis=0, return_inverse=True)
        self.of_row = of_row.ravel()
        self.weights = np.bincount(self.of_row, weights=weights).astype(np.float64)
        self.sizes = [len(block) for block in blocks]
        self.places = places_of(different, self.sizes, self.weights)
        self.log_factorials = gammaln(np.arange(max(self.sizes) + 1) + 1.0)
        self.few = different.size <= FEW_COUNTS
        if self.few:
            self._features = features_of(different, self.weights)
        self._most_likely = float(most_likely_score(self.places, self.weights, self.log_factorials))
        self._fewest_parameters = sum(min(size, 2) for size in self.sizes)  # of a component

    def fitted(self, n_components: int, at_least: float = -np.inf) -> _Fitted:
        """Fit so many components by EM; given up early if a score is out of reach.

        From random responsibilities, and where counts are few also from the nearest of random rows.
        """
        from xspn.learning.blocks.shared import near_rows, random_responsibilities

        rng = generator(n_components)
        drawn = rng.standard_exponential((len(self.weights), n_components))
        best = self._fitted_from(random_responsibilities(drawn), at_least)
        if self.few and n_components > 1:
            start = near_rows(self._features, self.weights, rng.random(n_components))
            other = self._fitted_from(start, max(at_least, best.score))
            best = other if other.score > best.score else best
        return best

    def most_likely(self, n_components: int) -> float:
        """Return a score that no mixture of so many components can exceed."""
        return self._most_likely - PRICE * (n_components - 1 + n_components * self._fewest_parameters)

    def _fitted_from(self, start: FloatArray, at_least: float) -> _Fitted:
        from xspn.learning.blocks.shared import em_of_shared_blocks

        tolerance = TOLERANCE * float(self.weights.sum())
        found = em_of_shared_blocks(
            self.places, self.weights, start, self.log_factorials, PRICE, PASSES, tolerance, at_least
        )
        step()
        return _Fitted(*found)

    def node(self, fitted: _Fitted, variables: list[IntArray]) -> Node:
        """Return the circuit, given the variables of each block."""
        products = []
        alive = np.flatnonzero(fitted.totals > 0)
        for k in alive.tolist():
            leaves = [self._leaf(fitted, b, k, own.tolist()) for b, own in enumerate(variables)]
            products.append(leaves[0] if len(leaves) == 1 else Product(leaves))
        return products[0] if len(products) == 1 else Sum(fitted.totals[alive] / fitted.totals.sum(), products)

    def _leaf(self, fitted: _Fitted, b: int, k: int, variables: list[int]) -> Node:
        from xspn.learning.blocks.laws import BETA_BINOMIAL, log_probabilities, moments_of_counts

        n = len(variables)
        counts = np.ascontiguousarray(fitted.counts[self.places.first[b] : self.places.first[b + 1], k])
        if fitted.law[b, k] == BETA_BINOMIAL:
            return BetaBinomial(variables, *moments_of_counts(counts, n))
        table = np.empty(n + 1)
        log_probabilities(counts, n, self.log_factorials, int(fitted.law[b, k]), table)
        if n == 1:
            return Bernoulli(variables[0], p=float(np.exp(table[1])))
        chances = np.exp(table + log_binomials(n))
        return Exchangeable.from_class_probabilities(variables, chances / chances.sum())
