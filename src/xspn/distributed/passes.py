"""Passes over the partitions, as Dask graphs."""

from collections.abc import Sequence
from dataclasses import dataclass

from xspn.data.out_of_core import dask_module
from xspn.distributed.partitions import PartitionedTable
from xspn.distributed.scheduler import compute, tree
from xspn.distributed.subtrees import Place, learn_bundle
from xspn.distributed.survey import Facts, Plan, Survey, facts_of, inspect, merged, survey
from xspn.learning.assembly import Record
from xspn.learning.config import LearnConfig


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a pass brought: sums and samples of slices, and what was learned of those that were gathered."""

    told: Survey
    learned: dict[int, list[Record]]


def inspected(table: PartitionedTable) -> Facts:
    """Read all partitions once and return the facts of the table."""
    delayed = dask_module("dask").delayed
    parts = [delayed(inspect, pure=False)(own, table.layout) for own in table.partitions]
    facts: Facts = compute([tree(parts, facts_of)], parts, _sources(table))[0]
    return facts


def run_pass(table: PartitionedTable, plan: Plan, bundles: Sequence[dict[int, Place]], config: LearnConfig) -> Outcome:
    """Read all partitions once, for all places of the plan; learn what is gathered as soon as it is there."""
    delayed = dask_module("dask").delayed
    shared = delayed(plan, traverse=False)  # one object for all tasks, which is sent to each worker once
    parts = [
        delayed(survey, pure=False, nout=1 + plan.n_bundles)(number, own, shared)
        for number, own in enumerate(table.partitions)
    ]
    outputs = [tree([part[0] for part in parts], merged)]
    for which, places in enumerate(bundles):
        gathered = [part[1 + which] for part in parts]
        outputs.append(
            delayed(learn_bundle, pure=False, traverse=True)(gathered, delayed(places, traverse=False), config)
        )
    told, *found = compute(outputs, [part[0] for part in parts], _sources(table))
    learned: dict[int, list[Record]] = {}
    for own in found:
        learned |= own
    return Outcome(told, learned)


def _sources(table: PartitionedTable) -> list[str]:
    return [own.source for own in table.partitions]
