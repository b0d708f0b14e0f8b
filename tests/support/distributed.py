"""Tables in partitions, and learning on them with limits so small that nothing is gathered early."""

import dask.array as da
import numpy as np

from xspn.circuit import Circuit
from xspn.distributed.gathering import GatherLimits
from xspn.distributed.growth import Growth, OutOfCoreTable, learn_out_of_core, statistics_for_learning
from xspn.distributed.partitions import partitioned
from xspn.learning.config import LearnConfig

TINY = {"xspn.gather_cells": 300}


def in_blocks(table, rows=50, **options):
    """A Dask array with so many rows in a block."""
    return da.from_array(np.asarray(table), chunks=(rows, -1), **options)


def grown(table, seed=0, limits=None, weights=None, checkpoint=None, **settings):
    """A circuit learned from a Dask array, and what was done."""
    found = learn_out_of_core(
        OutOfCoreTable(table, weights),
        LearnConfig(**settings),
        seed,
        checkpoint=checkpoint,
        limits=limits or GatherLimits(300),
    )
    return Circuit.of_graph(found.learned.graph), found


def growth_of(table, limits, **settings):
    """What grows trees on a Dask array."""
    own = partitioned(table)
    return Growth(own, statistics_for_learning(own), LearnConfig(**settings), limits)
