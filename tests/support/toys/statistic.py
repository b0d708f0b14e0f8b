"""A toy statistic: the number of zeros."""

import numpy as np

from xspn.core.logspace import log_binomials
from xspn.statistics.base import Statistic, ranks_of_missing, register


@register
class Zeros(Statistic):
    """The number of zeros, 0..n."""

    name = "zeros"
    cardinality = 2

    def size(self, n):
        return n + 1

    def values(self, n):
        return np.arange(n + 1)

    def of(self, x):
        return np.asarray((x == 0).sum(axis=1), dtype=np.int64)

    def log_class_size(self, n):
        return log_binomials(n)

    def key(self, evidence):
        return np.column_stack([np.isnan(evidence).sum(axis=1), (evidence == 0).sum(axis=1)]).astype(np.int64)

    def completions_of_key(self, n, key):
        missing, zeros = (int(number) for number in key)
        row = np.full(n + 1, -np.inf)
        row[zeros : zeros + missing + 1] = log_binomials(missing)
        return row

    def construct(self, evidence, t, rng=None):
        needed = t - (evidence == 0).sum(axis=1)
        fill = ranks_of_missing(evidence, rng) >= needed[:, None]
        return np.where(np.isnan(evidence), fill.astype(np.float64), evidence)

    def restrict(self, positions):
        return self

    def ones(self, n):
        return n - np.arange(n + 1)

    @classmethod
    def example(cls, rng):
        return cls(), int(rng.integers(1, 7))
