"""How well a set of columns is explained as one exchangeable block: the evidence of weighted rows."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.logspace import log_binomials

PRIOR_MASS = 1.0  # of the uniform Dirichlet prior on a block's counts: one row's worth of doubt


class Evidence:
    """Log-evidence of blocks for weighted rows over n binary columns.

    A block of n columns has n + 1 probabilities, one for each count of ones, with a Dirichlet prior spread evenly over
    them. Integrated out, they leave a score in closed form that needs no penalty of its own: any partition of n columns
    has n free parameters, and columns that do not belong together pay for it with their likelihood.

    Args:
        cells: The rows, zeros and ones: (rows, n).
        weights: The weight of each row.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> copies = np.repeat(rng.integers(0, 2, size=(100, 1)), 2, axis=1).astype(np.float32)
        >>> evidence = Evidence(copies, np.ones(100))
        >>> bool(evidence.of_block(np.array([0, 1])) > evidence.of_single.sum())
        True
    """

    def __init__(self, cells: NDArray[np.float32], weights: FloatArray) -> None:
        self.cells, self.weights = cells, weights
        self.total = float(weights.sum())
        self.ones = np.asarray(weights @ cells, dtype=np.float64)

    @property
    def n(self) -> int:
        """The number of columns."""
        return int(self.cells.shape[1])

    @cached_property
    def of_single(self) -> FloatArray:
        """The evidence of each column on its own."""
        return self._of_histograms(np.stack([np.maximum(self.total - self.ones, 0.0), self.ones], axis=-1))

    @cached_property
    def of_pairs(self) -> FloatArray:
        """The evidence of each two columns as a block: (n, n)."""
        both = np.asarray((self.cells * self.weights[:, None]).T @ self.cells, dtype=np.float64)
        one = self.ones[:, None] + self.ones[None, :] - 2 * both
        none = self.total - one - both
        return self._of_histograms(np.maximum(np.stack([none, one, both], axis=-1), 0.0))  # rounding may go below 0

    def of_block(self, columns: IntArray) -> float:
        """Return the evidence of some columns as one block."""
        return self.of_counts(self.cells[:, columns].sum(axis=1).astype(np.int64), len(columns))

    def of_counts(self, counts: AnyArray, n: int) -> float:
        """Return the evidence of a block of n columns, given the count of ones in each row."""
        histogram = np.asarray(np.bincount(counts, weights=self.weights, minlength=n + 1), dtype=np.float64)
        return float(self._of_histograms(histogram))

    def of_partition(self, blocks: "Partition") -> float:
        """Return the evidence of a product of blocks."""
        singles = [int(block[0]) for block in blocks if len(block) == 1]
        return float(self.of_single[singles].sum() + sum(self.of_block(block) for block in blocks if len(block) > 1))

    def _of_histograms(self, counts: FloatArray) -> FloatArray:
        """Return log ∫ Π_t (p_t / |S_t|)^c_t dDirichlet(p), for histograms along the last axis."""
        n = counts.shape[-1] - 1
        each = PRIOR_MASS / (n + 1)
        total = counts.sum(axis=-1)
        fit = (gammaln(counts + each) - gammaln(each)).sum(axis=-1) - counts @ log_binomials(n)
        return np.asarray(fit + gammaln(PRIOR_MASS) - gammaln(total + PRIOR_MASS))


Partition = tuple[IntArray, ...]
