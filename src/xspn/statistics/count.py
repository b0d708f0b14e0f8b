"""T#: the number of ones among binary variables. The statistic of the paper."""

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.logspace import log_binomials
from xspn.core.random import Rng
from xspn.statistics.base import Statistic, ranks_of_missing, register


@register
class Count(Statistic):
    """The number of ones, 0..n: fully exchangeable binary variables.

    Examples:
        >>> Count().of(np.array([[0, 1, 1], [0, 0, 0]])).tolist()
        [2, 0]
        >>> np.exp(Count().log_completions(np.array([[1, np.nan, np.nan]]))).round(9).tolist()
        [[0.0, 1.0, 2.0, 1.0]]
    """

    name = "count"
    cardinality = 2

    def size(self, n: int) -> int:
        """Return n + 1."""
        return n + 1

    def values(self, n: int) -> IntArray:
        """Return 0..n."""
        return np.arange(n + 1)

    def of(self, x: AnyArray) -> IntArray:
        """Return the number of ones in each row."""
        return np.asarray(x.sum(axis=1), dtype=np.int64)

    def log_class_size(self, n: int) -> FloatArray:
        """Return log C(n, t)."""
        return log_binomials(n)

    def key(self, evidence: FloatArray) -> IntArray:
        """Return (observed cells, ones among them)."""
        observed = (~np.isnan(evidence)).sum(axis=1)
        return np.column_stack([observed, (evidence == 1).sum(axis=1)]).astype(np.int64)

    def distinct_keys(self, evidence: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the different keys; as single numbers they are told apart faster than as pairs."""
        numbers = evidence.shape[1] + 1
        codes, which = np.unique(self.key(evidence) @ np.array([numbers, 1]), return_inverse=True)
        return np.stack(np.divmod(codes, numbers), axis=1), which.reshape(-1)

    def completions_of_key(self, n: int, key: IntArray) -> FloatArray:
        """Return log C(n − observed, t − ones)."""
        observed, ones = int(key[0]), int(key[1])
        row = np.full(n + 1, -np.inf)
        row[ones : ones + n - observed + 1] = log_binomials(n - observed)
        return row

    def construct(self, evidence: FloatArray, t: IntArray, rng: Rng | None = None) -> FloatArray:
        """Put the ones that are still needed into missing cells."""
        needed = t - (evidence == 1).sum(axis=1)
        fill = ranks_of_missing(evidence, rng) < needed[:, None]
        return np.where(np.isnan(evidence), fill.astype(np.float64), evidence)

    def restrict(self, positions: IntArray) -> Statistic:
        """Return the same statistic: it counts whatever there is."""
        return self

    def ones(self, n: int) -> IntArray:
        """Return t itself."""
        return np.arange(n + 1)

    @classmethod
    def example(cls, rng: np.random.Generator) -> tuple[Statistic, int]:
        """Return the count of one to six variables."""
        return cls(), int(rng.integers(1, 7))
