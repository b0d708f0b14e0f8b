"""A mixture of products over the same exchangeable blocks, for blocks that depend on each other a little.

Where every two blocks are nearly independent, evidence takes all of them for independent, and rightly so: it asks what
made the rows. Many weak dependences together may still be worth predicting with. Components share the blocks, so that
EM needs the rows' counts of ones only, and what is found is easily told. In each component a block has the law of its
counts that pays best, a histogram or a beta-binomial; components are added as long as they pay for their parameters.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.logspace import log_binomials, logsumexp_quiet
from xspn.core.random import generator
from xspn.graph.nodes import Node, Product, Sum
from xspn.learning.leaf_learners.base import BinaryLeafData, Candidate, LeafOptions
from xspn.learning.steps import step
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.beta_binomial import BetaBinomial
from xspn.leaves.exchangeable import Exchangeable

PRICE = 1.5  # nats for each parameter: one for what it fits of noise (Akaike), half a nat for the choice
FIRST_PASSES, PASSES = 15, 120
TOLERANCE = 1e-5  # of EM, in nats per row
GROWTH = 1.3  # of the number of components from one trial to the next
MOST_COMPONENTS = 64


def block_mixture_leaf(data: BinaryLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return the mixture of as many products as pay for their parameters, over the blocks of best evidence."""
    bits, weights = data.own.complete_rows()
    # What is found shall depend neither on the order of rows (equal ones are merged and sorted) nor on that of columns.
    blocks = sorted(data.own.exchangeable_blocks.blocks, key=lambda block: _as_counts(bits[:, block], weights))
    best = _best_of(_CountedRows.of(bits, weights, blocks))
    own = best.log_likelihoods - best.n_parameters / max(float(weights.sum()), 1.0)
    name = f"{best.n_components} products of blocks"
    return Candidate(name, best.node([variables[block] for block in blocks]), own)


def _as_counts(bits: AnyArray, weights: FloatArray) -> list[float]:
    return [bits.shape[1], *np.bincount(bits.sum(axis=1, dtype=np.int64), weights=weights).tolist()]


def _best_of(rows: "_CountedRows") -> "_Fitted":
    """Add components, more and more at a time, as long as that pays; then one by one, down or up."""
    best = rows.fitted(1)
    for growth, change in ((GROWTH, 1), (0.0, -1), (0.0, 1)):
        while True:
            wanted = max(best.n_components + change, int(growth * best.n_components))
            other = rows.fitted(wanted, at_least=best.score) if 0 < wanted <= MOST_COMPONENTS else best
            if other.score <= best.score:
                break
            best = other
    return best


@dataclass(frozen=True, eq=False)
class _Fitted:
    """The weights of components, the law of each block in each, and the log-likelihood of rows."""

    weights: FloatArray
    laws: "list[list[_Law]]"  # of each block, one for each component
    log_likelihoods: FloatArray
    n_parameters: int
    score: float

    @property
    def n_components(self) -> int:
        return len(self.weights)

    def node(self, variables: list[IntArray]) -> Node:
        """Return the circuit."""
        products = [
            _product([laws[k].leaf(own) for own, laws in zip(variables, self.laws, strict=True)])
            for k in range(self.n_components)
        ]
        return products[0] if len(products) == 1 else Sum(self.weights, products)


@dataclass(frozen=True, eq=False)
class _Law:
    """How the count of ones in a block is distributed: the log-probability of each assignment with t ones."""

    table: FloatArray
    n_parameters: int
    urn: tuple[float, float] | None  # mean and dispersion of a beta-binomial law

    @classmethod
    def of(cls, counts: FloatArray, log_factorials: FloatArray, price: float) -> "_Law":
        """Return the law that is best for what was counted, at a price for each parameter."""
        from xspn.learning.blocks.laws import BETA_BINOMIAL, HISTOGRAM, log_probabilities, moments_of_counts

        n = len(counts) - 1
        histogram, urn = np.empty(n + 1), np.empty(n + 1)
        log_probabilities(counts, n, log_factorials, HISTOGRAM, histogram)
        if n <= 2:
            return cls(histogram, n, None)
        log_probabilities(counts, n, log_factorials, BETA_BINOMIAL, urn)
        if counts @ (histogram - urn) >= price * (n - 2):
            return cls(histogram, n, None)
        return cls(urn, 2, moments_of_counts(counts, n))

    def leaf(self, variables: IntArray) -> Node:
        own = variables.tolist()
        if self.urn is not None:
            return BetaBinomial(own, *self.urn)
        if len(own) == 1:
            return Bernoulli(own[0], p=float(np.exp(self.table[1])))
        chances = np.exp(self.table + log_binomials(len(own)))
        return Exchangeable.from_class_probabilities(own, chances / chances.sum())


@dataclass(frozen=True, eq=False)
class _CountedRows:
    """Rows as counts of ones in each block: (rows, blocks); equal rows are merged."""

    counts: IntArray
    of_row: IntArray
    weights: FloatArray
    sizes: list[int]  # of blocks
    log_factorials: FloatArray

    @classmethod
    def of(cls, bits: AnyArray, weights: FloatArray, blocks: list[IntArray]) -> "_CountedRows":
        counts = np.stack([bits[:, block].sum(axis=1, dtype=np.int64) for block in blocks], axis=1)
        different, of_row = np.unique(counts, axis=0, return_inverse=True)
        of_row = of_row.ravel()
        merged = np.bincount(of_row, weights=weights).astype(np.float64)
        sizes = [len(block) for block in blocks]
        return cls(different, of_row, merged, sizes, gammaln(np.arange(max(sizes) + 1) + 1.0))

    def fitted(self, n_components: int, at_least: float = -np.inf) -> _Fitted:
        """Fit so many components by EM from random responsibilities; given up early if a score is out of reach."""
        total, previous = float(self.weights.sum()), -np.inf
        rng = generator(n_components)
        responsibilities = rng.dirichlet(np.ones(n_components), size=len(self.counts)).T  # (components, rows)
        for done in range(PASSES):
            # Laws are chosen once components are told apart: before, all of them look smooth.
            settled = done >= FIRST_PASSES
            weights, laws, logs = self._maximized(responsibilities, PRICE if settled else 0.0)
            size = n_components - 1 + sum(law.n_parameters for own in laws for law in own)
            found = logsumexp_quiet(logs, axis=0)
            responsibilities = np.exp(logs - found)
            step()
            now = float(self.weights @ found)
            # Hopeless if fifty more passes that gain as much as this one would not do.
            hopeless = now + 50 * (now - previous) - PRICE * size < at_least
            if settled and (now - previous < TOLERANCE * total or hopeless):
                break
            previous = now if settled else -np.inf
        return _Fitted(weights, laws, found[self.of_row], size, now - PRICE * size)

    def _maximized(self, responsibilities: FloatArray, price: float) -> tuple[FloatArray, list[list[_Law]], FloatArray]:
        """Return weights and laws, and the log-probability of each row together with each component."""
        own = responsibilities * self.weights
        masses = own.sum(axis=1)
        weights = masses / masses.sum()
        logs: Any = np.repeat(np.log(np.maximum(weights, 1e-300))[:, None], len(self.counts), axis=1)
        laws = []
        for counts, size in zip(self.counts.T, self.sizes, strict=True):
            seen = [np.bincount(counts, weights=row, minlength=size + 1) for row in own]
            laws.append([_Law.of(one.astype(np.float64), self.log_factorials, price) for one in seen])
            logs += np.stack([law.table for law in laws[-1]])[:, counts]
        return weights, laws, logs


def _product(leaves: list[Node]) -> Node:
    return leaves[0] if len(leaves) == 1 else Product(leaves)
