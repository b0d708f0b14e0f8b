"""A mixture of products over the same exchangeable blocks, for blocks that depend on each other a little.

Where every two blocks are nearly independent, evidence takes all of them for independent, and rightly so: it asks what
made the rows. Many weak dependences together may still be worth predicting with. Components share the blocks, so that
EM needs the rows' counts of ones only. Their number grows as long as the likelihood pays for the parameters.
"""

from dataclasses import dataclass

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.logspace import log_binomials, logsumexp_quiet
from xspn.core.random import generator
from xspn.graph.nodes import Node, Product, Sum
from xspn.learning.leaf_learners.base import BinaryLeafData, Candidate, LeafOptions, leaf_learners
from xspn.learning.steps import step
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.exchangeable import Exchangeable

PRICE = 1.5  # nats for each parameter: one for what it fits of noise (Akaike), half a nat as everywhere for the choice
FIRST_PASSES, PASSES = 15, 120
TOLERANCE = 1e-5  # of EM, in nats per row
GROWTH = 1.3  # of the number of components from one trial to the next
MOST_COMPONENTS = 64
PRIOR_MASS = 1.0  # of a row, spread evenly over the counts of a block


def block_mixture_leaf(data: BinaryLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return the mixture of as many products as pay for their parameters, over the blocks of best evidence."""
    bits, weights = data.own.complete_rows()
    # What is found shall depend neither on the order of rows (equal ones are merged and sorted) nor on that of columns.
    blocks = sorted(data.own.exchangeable_blocks.blocks, key=lambda block: _as_counts(bits[:, block], weights))
    rows = _Counts.of(bits, weights, blocks)
    best = _best_of(rows)
    own = best.log_likelihoods - rows.n_parameters(best.n_components) / max(float(weights.sum()), 1.0)
    name = f"{best.n_components} products of blocks"
    return Candidate(name, best.node([variables[block] for block in blocks]), own)


def _as_counts(bits: AnyArray, weights: FloatArray) -> list[float]:
    return [bits.shape[1], *np.bincount(bits.sum(axis=1, dtype=np.int64), weights=weights).tolist()]


def _best_of(rows: "_Counts") -> "_Fitted":
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
    """The weights of components, the chances of each block's counts, and the log-likelihood of rows."""

    weights: FloatArray
    chances: list[FloatArray]  # of each block: (components, counts)
    log_likelihoods: FloatArray
    score: float

    @property
    def n_components(self) -> int:
        return len(self.weights)

    def node(self, variables: list[IntArray]) -> Node:
        """Return the circuit."""
        products = [
            _product([_leaf(own, chances[k]) for own, chances in zip(variables, self.chances, strict=True)])
            for k in range(len(self.weights))
        ]
        return products[0] if len(products) == 1 else Sum(self.weights, products)


@dataclass(frozen=True, eq=False)
class _Counts:
    """Rows as counts of ones in each block: (rows, blocks); equal rows are merged."""

    counts: IntArray
    of_row: IntArray
    weights: FloatArray
    sizes: IntArray
    log_sizes: FloatArray  # of each row, how many assignments have its counts

    @classmethod
    def of(cls, bits: AnyArray, weights: FloatArray, blocks: list[IntArray]) -> "_Counts":
        counts = np.stack([bits[:, block].sum(axis=1, dtype=np.int64) for block in blocks], axis=1)
        different, of_row = np.unique(counts, axis=0, return_inverse=True)
        of_row, sizes = of_row.ravel(), np.array([len(block) for block in blocks])
        log_sizes = np.sum([log_binomials(n)[different[:, b]] for b, n in enumerate(sizes.tolist())], axis=0)
        return cls(
            different, of_row, np.bincount(of_row, weights=weights).astype(np.float64), sizes, np.asarray(log_sizes)
        )

    def n_parameters(self, n_components: int) -> int:
        """Return how many parameters a mixture of so many components has."""
        return n_components * (1 + int(self.sizes.sum())) - 1

    def fitted(self, n_components: int, at_least: float = -np.inf) -> _Fitted:
        """Fit so many components by EM from random responsibilities; given up early if a score is out of reach."""
        total, previous = float(self.weights.sum()), -np.inf
        fixed = float(self.weights @ self.log_sizes) + PRICE * self.n_parameters(n_components)
        rng = generator(n_components)
        responsibilities = rng.dirichlet(np.ones(n_components), size=len(self.counts)).T  # (components, rows)
        for done in range(PASSES):
            weights, chances, logs = self._maximized(responsibilities)
            found = logsumexp_quiet(logs, axis=0)
            responsibilities = np.exp(logs - found)
            step()
            now = float(self.weights @ found)
            # Hopeless if fifty more passes that gain as much as this one would not do.
            hopeless = done >= FIRST_PASSES and now + 50 * (now - previous) - fixed < at_least
            if now - previous < TOLERANCE * total or hopeless:
                break
            previous = now
        return _Fitted(weights, chances, (found - self.log_sizes)[self.of_row], now - fixed)

    def _maximized(self, responsibilities: FloatArray) -> tuple[FloatArray, list[FloatArray], FloatArray]:
        """Return weights and chances, and the log-probability of each row together with each component."""
        own = responsibilities * self.weights
        masses = own.sum(axis=1)
        weights = masses / masses.sum()
        chances = []
        logs = np.repeat(np.log(np.maximum(weights, 1e-300))[:, None], len(self.counts), axis=1)
        for b, n in enumerate(self.sizes.tolist()):
            seen = np.stack([np.bincount(self.counts[:, b], weights=row, minlength=n + 1) for row in own])
            chance = (seen + PRIOR_MASS / (n + 1)) / (masses + PRIOR_MASS)[:, None]
            logs += np.log(chance)[:, self.counts[:, b]]
            chances.append(chance)
        return weights, chances, logs


def _product(leaves: list[Node]) -> Node:
    return leaves[0] if len(leaves) == 1 else Product(leaves)


def _leaf(variables: IntArray, chances: FloatArray) -> Node:
    if len(variables) == 1:
        return Bernoulli(int(variables[0]), p=float(chances[1]))
    return Exchangeable.from_class_probabilities(variables.tolist(), chances / chances.sum())


leaf_learners.add("block_mixture", block_mixture_leaf)
