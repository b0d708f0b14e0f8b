"""Tables of partial counts: what k observed variables with s ones are worth under leaves that count ones."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.memory import need_memory

LARGE = 1 << 24  # entries


@dataclass(frozen=True, eq=False)
class Triangles:
    """Where the weights and the tables of several leaves stand, one leaf after the other.

    A leaf over n variables has n + 1 weights and a triangle of (n+1)(n+2)/2 entries: M[k, s] = M[k+1, s] + M[k+1, s+1]
    with M[n, s] = w_s. Row k of a triangle begins at place k(k+1)/2.
    """

    sizes: IntArray  # (leaves,): n

    @cached_property
    def weight_starts(self) -> IntArray:
        """Where each leaf's weights begin."""
        return np.asarray(np.cumsum(self.sizes + 1) - (self.sizes + 1))

    @cached_property
    def _entries(self) -> IntArray:
        return np.asarray((self.sizes + 1) * (self.sizes + 2) // 2)

    @cached_property
    def table_starts(self) -> IntArray:
        """Where each leaf's triangle begins."""
        return np.asarray(np.cumsum(self._entries) - self._entries)

    @cached_property
    def n_entries(self) -> int:
        """The number of entries of all triangles."""
        return int(self._entries.sum())

    @cached_property
    def by_size(self) -> list[tuple[int, IntArray]]:
        """The leaves of each size."""
        return [(int(n), np.flatnonzero(self.sizes == n)) for n in np.unique(self.sizes)]

    def row_places(self, leaves: IntArray, k: int) -> IntArray:
        """Return where row k stands in the triangles of some leaves: (leaves, k + 1)."""
        return np.asarray(self.table_starts[leaves, None] + k * (k + 1) // 2 + np.arange(k + 1))

    def weight_places(self, leaves: IntArray, n: int) -> IntArray:
        """Return where the weights of some leaves of n variables stand: (leaves, n + 1)."""
        return np.asarray(self.weight_starts[leaves, None] + np.arange(n + 1))

    def table(self, log_weights: FloatArray, combine: np.ufunc) -> FloatArray:
        """Return the logarithms of all triangles: with `logaddexp` of sums, with `maximum` of best completions."""
        if self.n_entries > LARGE:
            widest = int(self.sizes.max())
            need_memory(
                8 * self.n_entries,
                f"query: a leaf that counts ones over {widest:,} variables",
                lambda _: "marginalize the circuit to the variables of interest first",
            )
        table = np.empty(self.n_entries)
        for n, leaves in self.by_size:
            row = log_weights[self.weight_places(leaves, n)]
            for k in range(n, -1, -1):
                table[self.row_places(leaves, k)] = row
                row = combine(row[:, :-1], row[:, 1:])
        return table
