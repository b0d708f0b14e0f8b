"""Which columns form exchangeable blocks: the partition of best evidence, whatever gives the evidence of a block.

The prior of a partition and the way it is searched are those of bits (`learning/blocks/search.py`): blocks are merged
greedily, then those that do not pay are dissolved and columns move one by one.
"""

from collections.abc import Callable
from math import lgamma, log

import numpy as np

from xspn.core.arrays import IntArray

Block = tuple[int, ...]  # of columns, in rising order
Evidence = Callable[[Block], float]
SWEEPS = 3
HOPELESS = -10.0  # nats: two blocks that lose so much by merging are not looked at again
LEAST_GAIN = 1e-9


def best_partition(kinds: IntArray, evidence: Evidence) -> list[Block]:
    """Return the blocks, in the order of their first column.

    Args:
        kinds: The kind of each column: only columns of one kind may share a block.
        evidence: The log-evidence of a block.

    Examples:
        >>> def gain(block):  # even and odd numbers belong together
        ...     return 9.0 * (len(block) - 1) if len({column % 2 for column in block}) == 1 else -99.0
        >>> best_partition(np.zeros(6, dtype=int), gain)
        [(0, 2, 4), (1, 3, 5)]
    """
    search = _Search(kinds, evidence)
    search.merge()
    for _ in range(SWEEPS):
        changed = search.dissolve()
        if not search.move() and not changed:
            break
    best: list[Block] = max(search.candidates(), key=search.value)
    return sorted(best)


def log_prior(sizes: list[int]) -> float:
    """Return the log-probability of a partition beforehand: log of s! Π (m_b − 1)! / (n! (n + 1))."""
    n, single = sum(sizes), sum(size == 1 for size in sizes)
    return lgamma(single + 1) + sum(lgamma(size) for size in sizes) - lgamma(n + 1) - log(n + 1)


class _Search:
    def __init__(self, kinds: IntArray, evidence: Evidence) -> None:
        self.kinds = kinds.tolist()
        self.known: dict[Block, float] = {}
        self.of = evidence
        self.blocks: list[Block] = [(column,) for column in range(len(kinds))]

    def evidence(self, block: Block) -> float:
        if block not in self.known:
            self.known[block] = self.of(block)
        return self.known[block]

    def value(self, blocks: list[Block]) -> float:
        """Return the log-evidence of a partition, its prior included."""
        return sum(self.evidence(block) for block in blocks) + log_prior([len(block) for block in blocks])

    def merge(self) -> None:
        """Merge the two blocks whose union has the best evidence, as long as that gains.

        Merging is weighed as if blocks of one column were none of their own: to pass from single columns to a large
        block one must be allowed through pairs that are hardly dependent. What does not pay is dissolved.
        """
        gains: dict[tuple[Block, Block], float] = {}
        for i, one in enumerate(self.blocks):
            for other in self.blocks[:i]:
                self._add_gain(gains, other, one)
        while gains:
            (one, other), gain = max(gains.items(), key=lambda item: item[1])
            if gain <= 0:
                return
            union = _union(one, other)
            rest = [block for block in self.blocks if block not in (one, other)]
            for block in rest:
                # What fits with neither half does not fit the whole.
                if max(gains.get(_pair(one, block), -np.inf), gains.get(_pair(other, block), -np.inf)) > HOPELESS:
                    self._add_gain(gains, block, union)
            gains = {pair: gain for pair, gain in gains.items() if one not in pair and other not in pair}
            self.blocks = [*rest, union]

    def _add_gain(self, gains: dict[tuple[Block, Block], float], one: Block, other: Block) -> None:
        if self.kinds[one[0]] != self.kinds[other[0]]:
            return
        m, k = len(one), len(other)
        gain = self.evidence(_union(one, other)) - self.evidence(one) - self.evidence(other)
        gains[_pair(one, other)] = gain + lgamma(m + k) - lgamma(m) - lgamma(k)

    def dissolve(self) -> bool:
        """Dissolve blocks that are worth less than their columns alone, the worst one first; tell whether any was."""
        changed = False
        while True:
            single = sum(len(block) == 1 for block in self.blocks)
            gains = [(self._gain_of_dissolving(block, single), block) for block in self.blocks if len(block) > 1]
            gain, worst = max(gains, default=(0.0, ()))
            if gain <= LEAST_GAIN:
                return changed
            self.blocks.remove(worst)
            self.blocks += [(column,) for column in worst]
            changed = True

    def _gain_of_dissolving(self, block: Block, single: int) -> float:
        m = len(block)
        of_prior = lgamma(single + m + 1) - lgamma(single + 1) - lgamma(m)
        return of_prior + sum(self.evidence((column,)) for column in block) - self.evidence(block)

    def move(self) -> bool:
        """Move each column to the block where it is worth most, or let it stand alone; tell whether any was moved."""
        changed = False
        for column in range(len(self.kinds)):
            home = next(block for block in self.blocks if column in block)
            left = tuple(other for other in home if other != column)
            others = [block for block in self.blocks if block != home] + ([left] if left else [])
            single = sum(len(block) == 1 for block in others)
            stays = self._worth(column, left, single)
            best, target = stays + 1e-6, home
            for block in [(), *others]:
                if block == left or (len(block) == 1) or (block and self.kinds[block[0]] != self.kinds[column]):
                    continue
                worth = self._worth(column, block, single)
                if worth > best:
                    best, target = worth, block
            if target != home:
                self.blocks = [block for block in others if block != target] + [_union(target, (column,))]
                changed = True
        return changed

    def _worth(self, column: int, block: Block, single: int) -> float:
        """Return what a column adds to a block of others, or alone, beside so many single columns."""
        if not block:
            return self.evidence((column,)) + log(single + 1)
        of_prior = -log(single) if len(block) == 1 else log(len(block))
        return self.evidence(_union(block, (column,))) - self.evidence(block) + of_prior

    def candidates(self) -> list[list[Block]]:
        """Return the partition found, all columns alone, and each kind as one block: merging may miss these."""
        kinds = [tuple(c for c, own in enumerate(self.kinds) if own == kind) for kind in dict.fromkeys(self.kinds)]
        return [self.blocks, [(column,) for column in range(len(self.kinds))], kinds]


def _union(one: Block, other: Block) -> Block:
    return tuple(sorted(one + other))


def _pair(one: Block, other: Block) -> tuple[Block, Block]:
    return (one, other) if one < other else (other, one)
