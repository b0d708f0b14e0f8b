"""A vector of statistics over a partition of the variables: an exchangeable decomposition."""

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.errors import ParameterError
from xspn.core.random import Rng
from xspn.statistics.base import Statistic, checked_size, register, statistic_from_params
from xspn.statistics.count import Count


@register
class Blocks(Statistic):
    """T = (T₁, …, T_b): variables may be interchanged inside a block, and the blocks may depend on each other.

    Args:
        parts: The positions (0..n−1) of each block; together they are a partition.
        statistics: The statistic of each block; `Count()` for all if not given.

    Examples:
        >>> T = Blocks([[0, 1], [2]])
        >>> T.values(3).tolist()
        [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]
        >>> T.of(np.array([[1, 1, 0]])).tolist()
        [4]
    """

    name = "blocks"

    def __init__(self, parts: Sequence[Sequence[int]], statistics: Sequence[Statistic] | None = None) -> None:
        self.parts = _checked_parts(parts)
        self.statistics = [Count() for _ in self.parts] if statistics is None else list(statistics)
        if len(self.statistics) != len(self.parts):
            raise ParameterError(f"blocks: {len(self.parts)} parts need as many statistics, not {len(self.statistics)}")
        if other := [s for s in self.statistics if not isinstance(s, Statistic)]:
            raise ParameterError(f"blocks: expected a statistic such as Count() for each part, found {other[0]!r}")
        cardinalities = {statistic.cardinality for statistic in self.statistics}
        if len(cardinalities) > 1:
            raise ParameterError(f"blocks: the statistics differ in cardinality: {sorted(cardinalities)}")
        self.cardinality = cardinalities.pop() if cardinalities else 2
        self._n = sum(len(part) for part in self.parts)

    def _sizes(self) -> list[int]:
        return [statistic.size(len(part)) for part, statistic in zip(self.parts, self.statistics, strict=True)]

    def _check(self, n: int) -> None:
        if n != self._n:
            raise ParameterError(f"blocks: the parts cover {self._n} variables, but there are {n}")

    def size(self, n: int) -> int:
        """Return the product of the blocks' sizes."""
        self._check(n)
        return checked_size(prod(self._sizes()), f"blocks: {len(self.parts)} blocks", "use fewer blocks")

    def values(self, n: int) -> AnyArray:
        """Return one row per value: the place t_b in each block's own order."""
        self._check(n)
        return np.stack(np.unravel_index(np.arange(self.size(n)), self._sizes()), axis=1)

    def of(self, x: AnyArray) -> IntArray:
        """Return the mixed-radix number of the blocks' values."""
        places = [s.of(x[:, part]) for part, s in zip(self.parts, self.statistics, strict=True)]
        return np.asarray(np.ravel_multi_index(tuple(places), self._sizes()), dtype=np.int64)

    def log_class_size(self, n: int) -> FloatArray:
        """Return the sums of the blocks' log class sizes."""
        self._check(n)
        return _outer_sum([s.log_class_size(len(p)) for p, s in zip(self.parts, self.statistics, strict=True)])

    def key(self, evidence: FloatArray) -> IntArray:
        """Return the blocks' keys side by side."""
        return np.concatenate(
            [s.key(evidence[:, part]) for part, s in zip(self.parts, self.statistics, strict=True)], axis=1
        )

    def _key_ends(self) -> list[int]:
        widths = [
            s.key(np.full((1, len(p)), np.nan)).shape[1] for p, s in zip(self.parts, self.statistics, strict=True)
        ]
        return [int(end) for end in np.cumsum(widths)]

    def completions_of_key(self, n: int, key: IntArray) -> FloatArray:
        """Return the sums of the blocks' log completions."""
        self._check(n)
        keys = np.split(key, self._key_ends()[:-1])
        return _outer_sum(
            [
                statistic.completions_of_key(len(part), own)
                for part, statistic, own in zip(self.parts, self.statistics, keys, strict=True)
            ]
        )

    def construct(self, evidence: FloatArray, t: IntArray, rng: Rng | None = None) -> FloatArray:
        """Complete each block by itself."""
        filled = evidence.copy()
        places = np.unravel_index(t, self._sizes())
        for part, statistic, place in zip(self.parts, self.statistics, places, strict=True):
            filled[:, part] = statistic.construct(evidence[:, part], np.asarray(place, dtype=np.int64), rng)
        return filled

    def restrict(self, positions: IntArray) -> Statistic:
        """Return the blocks of the remaining variables; emptied blocks disappear."""
        new_place = {int(old): new for new, old in enumerate(positions)}
        parts: list[list[int]] = []
        kept: list[Statistic] = []
        for part, statistic in zip(self.parts, self.statistics, strict=True):
            inside = [i for i, old in enumerate(part) if int(old) in new_place]
            if inside:
                parts.append([new_place[int(part[i])] for i in inside])
                kept.append(statistic.restrict(np.array(inside)))
        return Blocks(parts, kept)

    def ones(self, n: int) -> IntArray:
        """Return the sum of the blocks' numbers of ones."""
        self._check(n)
        own = [s.ones(len(part)).astype(np.float64) for part, s in zip(self.parts, self.statistics, strict=True)]
        return _outer_sum(own).astype(np.int64)

    def symmetric_positions(self, n: int) -> list[IntArray]:
        """Return the blocks."""
        self._check(n)
        return [
            part[group]
            for part, statistic in zip(self.parts, self.statistics, strict=True)
            for group in statistic.symmetric_positions(len(part))
        ]

    def to_params(self) -> dict[str, Any]:
        """Return the partition and the blocks' statistics."""
        return {
            "parts": [part.tolist() for part in self.parts],
            "statistics": [{"name": s.name, **s.to_params()} for s in self.statistics],
        }

    @classmethod
    def from_params(cls, params: dict[str, Any]) -> Statistic:
        """Build the blocks and their statistics."""
        return cls(params["parts"], [statistic_from_params(own) for own in params["statistics"]])

    @classmethod
    def example(cls, rng: np.random.Generator) -> tuple[Statistic, int]:
        """Return a random partition of three to five binary variables into two blocks."""
        n = int(rng.integers(3, 6))
        order = rng.permutation(n)
        cut = int(rng.integers(1, n))
        return cls([order[:cut].tolist(), order[cut:].tolist()]), n


def _checked_parts(parts: Any) -> list[IntArray]:
    """Return the parts as arrays if they are a partition of 0..n−1."""
    try:
        own = [list(part) for part in parts]
        if not all(own) or sorted(i for part in own for i in part) != list(range(sum(map(len, own)))):
            raise ValueError
        return [np.array(part, dtype=np.int64) for part in own]
    except (TypeError, ValueError) as error:
        raise ParameterError(f"blocks: expected non-empty parts that partition 0..n−1, found {parts!r}") from error


def _outer_sum(vectors: Sequence[FloatArray]) -> FloatArray:
    """Return all sums of one element from each vector, in mixed-radix order."""
    return reduce(lambda left, right: (left[:, None] + right[None, :]).ravel(), vectors)
