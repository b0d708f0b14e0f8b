"""One pass over a partition: rows are routed to the open tasks, and summed up, sampled or gathered for them.

Which open tasks a row belongs to follows from the path of splits from the root down, and whether it is drawn into a
sample from its position and a seed alone. So a partition needs to remember nothing, and a worker that takes over from a
dead one comes to the same rows.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.distributed.partitions import Partition, PartitionBlock, TableLayout, blocks_of_partition
from xspn.distributed.summary import Aggregate
from xspn.learning.clustering.base import Rule
from xspn.learning.data import MISSING, BinaryData, Bits
from xspn.learning.sampling import scrambled
from xspn.learning.task import SMALLEST_RESPONSIBILITY, Rows

ALL = 1 << 64
PARTITION_BITS = 40  # a partition has fewer rows than 2⁴⁰


def threshold(wanted: int, rows: float) -> int:
    """Return the bound below which a row's number must be, so that about `wanted` of so many rows are drawn."""
    return ALL if rows <= wanted else int(wanted / rows * ALL)


def drawn(partition: int, rows: IntArray, seed: int, bound: int) -> BoolArray:
    """Mark the rows of a partition, given by their positions in it, that are drawn."""
    if bound >= ALL:
        return np.ones(len(rows), dtype=bool)
    open_tasks = rows.astype(np.uint64) + np.uint64(partition << PARTITION_BITS)
    return np.asarray(scrambled(open_tasks ^ np.uint64(seed % ALL)) < np.uint64(bound))


@dataclass(frozen=True)
class TableStatistics:
    """What the first pass over a table finds.

    Attributes:
        rows: The number of informative rows: of a weight above 0, with some cell seen.
        total: Their weight.
        complete: Whether no cell is missing.
        digest: A fingerprint of all cells and weights.
    """

    rows: int
    total: float
    complete: bool
    digest: str

    @property
    def weight_unit(self) -> float | None:
        """The unit of all weights, so small that sums of rounded weights are exact; None if each row counts once."""
        if self.complete and self.total == self.rows:
            return None
        return float(2.0 ** (np.ceil(np.log2(max(self.total, 1e-300))) - 50))


def merged_statistics(parts: list[TableStatistics]) -> TableStatistics:
    """Return the statistics of several partitions together."""
    digest = hashlib.blake2b("".join(own.digest for own in parts).encode(), digest_size=16).hexdigest()
    rows, total = sum(own.rows for own in parts), float(sum(own.total for own in parts))
    return TableStatistics(rows, total, all(own.complete for own in parts), digest)


def partition_statistics(partition: Partition, layout: TableLayout) -> TableStatistics:
    """Read a partition and return its statistics."""
    digest = hashlib.blake2b(digest_size=16)
    count, total, complete = 0, 0.0, True
    for block in blocks_of_partition(partition, layout):
        digest.update(block.bits.data)
        if block.weights is not None:
            digest.update(np.ascontiguousarray(block.weights).data)
        whole = not (block.bits == MISSING).any()
        complete = complete and whole
        own = _informative_rows(block, whole, None)
        count += len(own)
        total += own.total
    return TableStatistics(count, total, complete, digest.hexdigest())


@dataclass(frozen=True, eq=False)
class Route:
    """Where the rows of an inner node go.

    Attributes:
        node: The node.
        targets: The nodes below that rows are wanted for; None for others.
        variables: The variables that the rule is about.
        rule: Which cluster a row belongs to; None for a product, whose factors have all rows.
        soft: Whether a row may belong to both clusters in part.
    """

    node: int
    targets: tuple[int | None, ...]
    variables: IntArray
    rule: Rule | None = None
    soft: bool = False


@dataclass(frozen=True, eq=False)
class Target:
    """A slice that is wanted.

    Attributes:
        variables: Its columns.
        seed: The seed of its sample.
        bound: The bound of its sample (see `threshold`).
        bundle: Where its rows are gathered; None if only sums and a sample are wanted.
        merged: Whether equal rows are gathered as one of their weight: of few variables there are few different rows.
    """

    variables: IntArray
    seed: int = 0
    bound: int = 0
    bundle: int | None = None
    merged: bool = False


@dataclass(frozen=True, eq=False)
class PassPlan:
    """All that a worker needs to know for one pass."""

    layout: TableLayout
    complete: bool
    weight_unit: float | None
    root: int
    routes: tuple[Route, ...]
    targets: dict[int, Target]
    n_bundles: int
    count_assignments: bool = False


@dataclass(frozen=True, eq=False)
class Packed:
    """Gathered rows, eight cells to a byte where none is missing."""

    cells: Bits
    n_columns: int
    packed: bool
    weights: FloatArray | None

    @classmethod
    def of(cls, data: BinaryData, packed: bool) -> "Packed":
        """Pack rows; weights are dropped if all are 1."""
        own = np.packbits(data.bits, axis=1) if packed else data.bits
        return cls(own, data.shape[1], packed, None if (data.weights == 1).all() else data.weights)

    def rows(self) -> tuple[Bits, FloatArray]:
        """Return the rows and their weights."""
        bits = np.unpackbits(self.cells, axis=1, count=self.n_columns) if self.packed else self.cells
        return bits, np.ones(len(bits)) if self.weights is None else self.weights


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that were drawn."""

    bits: Bits
    weights: FloatArray


@dataclass(eq=False)
class PassResult:
    """Sums and samples of the slices that stay out of core, from one pass."""

    sums: dict[int, Aggregate] = field(default_factory=dict)
    samples: dict[int, list[Sample]] = field(default_factory=dict)

    def add(self, other: "PassResult") -> None:
        """Add the result of other rows; samples keep the order of the partitions."""
        for key, own in other.sums.items():
            self.sums[key] = self.sums[key] + own if key in self.sums else own
        for key, rows in other.samples.items():
            self.samples.setdefault(key, []).extend(rows)

    def sample(self, key: int) -> Sample:
        """Return all rows that were drawn of a slice."""
        parts = self.samples[key]
        return Sample(np.concatenate([p.bits for p in parts]), np.concatenate([p.weights for p in parts]))


Bundle = dict[int, list[Packed]]


def read_partition(number: int, partition: Partition, plan: PassPlan) -> tuple[Any, ...]:
    """Read a partition; return sums and samples, and then each bundle of gathered rows."""
    result = PassResult()
    bundles: list[Bundle] = [{} for _ in range(plan.n_bundles)]
    for block in blocks_of_partition(partition, plan.layout):
        reader = _BlockReader(block)
        for key, own in _routed(reader, plan):
            target = plan.targets[key]
            bits = reader.bits(own, target.variables)
            if target.bundle is not None:
                rows = BinaryData.of(bits, own.weights) if target.merged else BinaryData(bits, own.weights)
                bundles[target.bundle].setdefault(key, []).append(Packed.of(rows, plan.complete))
                continue
            cells = BinaryData(bits, own.weights).slice(np.arange(len(bits)), np.arange(bits.shape[1]))
            chosen = drawn(number, own.index + block.first, target.seed, target.bound)
            result.add(
                PassResult(
                    {key: Aggregate.of(cells, own.weights, plan.complete, plan.count_assignments)},
                    {key: [Sample(bits[chosen], own.weights[chosen])]},
                )
            )
    return (result, *({key: _united(parts, plan.targets[key]) for key, parts in own.items()} for own in bundles))


def _united(parts: list[Packed], target: Target) -> list[Packed]:
    """Return what the blocks of a partition have of a target: as it is, or with equal rows as one."""
    if not target.merged or len(parts) == 1:
        return parts
    bits, weights = zip(*(part.rows() for part in parts), strict=True)
    return [Packed.of(BinaryData.of(np.concatenate(bits), np.concatenate(weights)), parts[0].packed)]


class _BlockReader:
    """Cells of a block; the rows of a task are picked once for all factors that share them."""

    def __init__(self, block: PartitionBlock) -> None:
        self.block = block
        self._picked: tuple[IntArray, Bits] | None = None

    def bits(self, rows: Rows, variables: IntArray) -> Bits:
        """Return some cells."""
        if self._picked is None or self._picked[0] is not rows.index:
            everything = len(rows.index) == len(self.block.bits)  # an index has no row twice
            self._picked = rows.index, self.block.bits if everything else self.block.bits[rows.index]
        return self._picked[1][:, variables]


def merged_results(results: list[PassResult]) -> PassResult:
    """Return the result of several partitions together."""
    whole = PassResult()
    for own in results:
        whole.add(own)
    return whole


def _routed(reader: _BlockReader, plan: PassPlan) -> Iterator[tuple[int, Rows]]:
    """Yield the rows of each target in a block; inner nodes come before those below them."""
    waiting = {plan.root: _informative_rows(reader.block, plan.complete, plan.weight_unit)}
    for route in plan.routes:
        own = waiting.pop(route.node)
        parts = [own] * len(route.targets) if route.rule is None else _split(reader, own, route, plan.weight_unit)
        waiting |= {target: part for target, part in zip(route.targets, parts, strict=True) if target is not None}
    yield from waiting.items()


def _informative_rows(block: PartitionBlock, complete: bool, unit: float | None) -> Rows:
    """Return the informative rows: of a weight above 0, with some cell seen."""
    weights = np.ones(len(block.bits)) if block.weights is None else block.weights
    keep = _rounded(weights, unit) > 0
    if not complete:
        keep &= ~(block.bits == MISSING).all(axis=1)
    return Rows(np.flatnonzero(keep), _rounded(weights, unit)[keep])


def _split(reader: _BlockReader, own: Rows, route: Route, unit: float | None) -> list[Rows]:
    """Return the rows of both clusters."""
    rule = route.rule
    if rule is None:
        return [own]
    if rule.variable is not None:
        value = reader.block.bits[own.index, route.variables[rule.variable]]
        if not (value == MISSING).any():
            return [Rows(own.index[members], own.weights[members]) for members in (value == 0, value == 1)]
    bits = reader.bits(own, route.variables)
    cells = BinaryData(bits, own.weights).slice(np.arange(len(bits)), np.arange(bits.shape[1]))
    second = rule.responsibilities(cells)
    if not route.soft:
        return [Rows(own.index[members], own.weights[members]) for members in (second <= 0.5, second > 0.5)]
    parts = []
    for responsibilities in (1 - second, second):
        weights = _rounded(own.weights * responsibilities, unit)
        keep = (responsibilities > SMALLEST_RESPONSIBILITY) & (weights > 0)
        parts.append(Rows(own.index[keep], weights[keep]))
    return parts


def _rounded(weights: FloatArray, unit: float | None) -> FloatArray:
    return weights if unit is None else np.asarray(np.round(weights / unit) * unit)
