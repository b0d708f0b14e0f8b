"""Learn a circuit from an out-of-core table."""

import os
from dataclasses import dataclass
from typing import Any

from xspn.core.checks import whole_number
from xspn.core.errors import ParameterError
from xspn.core.random import child_seed
from xspn.distributed.checkpoint import Checkpoint, identity
from xspn.distributed.gathering import GatherLimits
from xspn.distributed.growth import Growth, PassReport, statistics_for_learning
from xspn.distributed.partitions import PartitionedTable, partitioned
from xspn.learning.assembly import Learned
from xspn.learning.config import LearnConfig
from xspn.learning.ensemble import Member, mixture_of
from xspn.learning.steps import Progress


@dataclass(frozen=True)
class Grown:
    """A learned circuit, and what each pass over the data did."""

    learned: Learned
    passes: tuple[PassReport, ...]


@dataclass(frozen=True)
class OutOfCoreTable:
    """An out-of-core table, and how its cells are read."""

    table: Any
    sample_weight: Any = None
    binarize: float | None = None


def learn_out_of_core(
    source: OutOfCoreTable,
    config: LearnConfig,
    seed: int,
    n_circuits: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    limits: GatherLimits | None = None,
) -> Grown:
    """Learn from a Dask collection or a Parquet path of zeros, ones and missing cells.

    Args:
        source: The table.
        config: The choices.
        seed: The seed of the root.
        n_circuits: How many circuits to learn, one after the other, on bootstrap samples of the rows, and to mix.
        checkpoint: A file to save the tree to after each pass, and to go on from if it is there; with several circuits
            one for each, with its number at the end.
        progress: Called with how much is done, and of how much.
        limits: How much may be in one process; those of Dask's configuration by default.
    """
    whole_number("n_estimators", n_circuits, 1)
    config = config.settled(evidence_serves=False)
    if config.by_evidence:
        raise ParameterError(
            "exchangeability='evidence' learns one circuit of an out-of-core table; use n_estimators=1, or 'global'"
        )
    own_limits = GatherLimits.configured() if limits is None else limits
    table = partitioned(source.table, source.sample_weight, source.binarize)
    if n_circuits == 1:
        return _grown(table, config, seed, own_limits, checkpoint, progress)
    members: list[Member] = []
    passes: list[PassReport] = []
    for index in range(n_circuits):
        own_seed = child_seed(seed, index)
        path = None if checkpoint is None else f"{os.fspath(checkpoint)}.{index}"
        grown = _grown(table.resampled(own_seed), config, own_seed, own_limits, path, None)
        members.append((list(grown.learned.graph.records()), grown.learned.trace))
        passes += grown.passes
        if progress is not None:
            progress(index + 1, n_circuits)
    return Grown(mixture_of(members, table.layout.n_columns), tuple(passes))


def _grown(
    table: PartitionedTable,
    config: LearnConfig,
    seed: int,
    limits: GatherLimits,
    checkpoint: str | os.PathLike[str] | None,
    progress: Progress | None,
) -> Grown:
    """Grow one tree, or go on growing it."""
    statistics = statistics_for_learning(table)
    growth = Growth(table, statistics, config, limits)
    tree, save = growth.root_tree(seed), None
    if checkpoint is not None:
        saved = Checkpoint.at(checkpoint, identity(statistics, table.layout, config, seed, limits))
        tree, save = saved.load(tree.open[tree.root]) or tree, saved.save
    learned = growth.grow(tree, save, progress)
    return Grown(learned, tuple(growth.reports))
