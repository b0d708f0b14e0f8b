"""Bagged ensembles: several circuits learned on bootstrap samples, mixed into one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed, effective_n_jobs

from xspn.core.checks import MOST_MODELS, whole_number
from xspn.core.errors import ParameterError
from xspn.core.random import child_seed
from xspn.graph.graph import Graph, from_records
from xspn.graph.nodes import Node, Sum
from xspn.graph.transform import share_and_tell
from xspn.learning.assembly import Learned
from xspn.learning.config import LearnConfig
from xspn.learning.learner import learn
from xspn.learning.long_tables import LongRows
from xspn.learning.source import TrainingData
from xspn.learning.steps import Meter, Progress, step
from xspn.learning.trace import Branch, Trace, TraceEntry

Member = tuple[list[Any], Trace]  # a circuit, flat, and its trace


def learn_ensemble(
    data: TrainingData | LongRows,
    config: LearnConfig,
    seed: int,
    n_circuits: int = 1,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    others: Sequence[LearnConfig] = (),
    known: Sequence[Member] = (),
) -> Learned:
    """Learn one circuit, or a uniform mixture of circuits on bootstrap samples of the rows.

    One circuit is learned by threads, several by processes; the result is the same for any number of them. With
    `others`, several circuits are learned with different settings, in turn. What `learn_members` has found for the
    first ones need not be learned again: it may be given as `known`.
    """
    whole_number("n_estimators", n_circuits, 1, MOST_MODELS)
    check_n_jobs(n_jobs)
    if n_circuits == 1:
        # Where joblib's loops run on a cluster, its workers are many and none of them is a thread of this process.
        return learn(data, config, seed, min(effective_n_jobs(n_jobs), cpu_count()), progress)
    assert isinstance(data, TrainingData)  # long rows are for one circuit
    config = config.settled(evidence_serves=False)  # of many circuits none is read, and all of them take their time
    numbers = range(len(known), n_circuits)
    members = [*known[:n_circuits], *learn_members(data, config, seed, numbers, n_jobs, progress, others)]
    return mixture_of(members, data.shape[1])


def learn_members(
    data: TrainingData,
    config: LearnConfig,
    seed: int,
    numbers: range,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    others: Sequence[LearnConfig] = (),
) -> list[Member]:
    """Learn the circuits of a bagged ensemble that have these numbers in it."""
    settings = [config, *others]
    jobs = (delayed(_member)(data, settings[k % len(settings)], child_seed(seed, k)) for k in numbers)
    members: list[Member] = []
    meter, found = Meter(progress, len(numbers)), iter(Parallel(n_jobs=n_jobs, return_as="generator")(jobs))
    for _ in numbers:
        with meter.part(1):
            members.append(next(found))
            step()  # steps of other processes are not heard here
    return [*members, *found]  # there are no more, but joblib warns unless it is asked


def mixture_of(members: Sequence[Member], n_variables: int) -> Learned:
    """Return the uniform mixture of circuits as one circuit, in which equal sub-circuits are shared."""
    roots = [from_records(records) for records, _ in members]
    root, became = share_and_tell(Sum(np.full(len(roots), 1.0 / len(roots)), roots))
    whole = Graph(root, n_variables)
    return Learned(whole, joined_trace(whole, roots, [trace for _, trace in members], became))


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse a number of workers that means nothing: zero, or a fraction."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise ParameterError(f"n_jobs: expected a number of workers, −1 for all cores, or None, found {n_jobs!r}")


def _member(data: TrainingData, config: LearnConfig, seed: int) -> Member:
    """Learn a circuit on a bootstrap sample; return it flat, because nested nodes would be pickled recursively."""
    rng = np.random.default_rng(seed)
    total = float(data.weights.sum())
    size = max(round(total), len(data.weights))  # weights below one do not make a sample smaller, only lighter
    if size == 0:  # no row says anything: there is nothing to draw from
        learned = learn(data, config, seed)
        return list(learned.graph.records()), learned.trace
    sample = data.with_weights(rng.multinomial(size, data.weights / total).astype(np.float64))
    if not config.merges_rows:
        sample = sample.repeated()
    if size != round(total):
        sample = sample.with_weights(sample.weights * (total / size))
    learned = learn(sample, config, seed)
    return list(learned.graph.records()), learned.trace


def joined_trace(
    whole: Graph, roots: Sequence[Node], traces: Sequence[Trace], became: Mapping[Node, Node] | None = None
) -> Trace:
    """Renumber the traces of several circuits for the nodes of the whole, into which some may have turned others."""
    entries: list[TraceEntry] = []
    for member, trace in zip(roots, traces, strict=True):
        own = Graph(member)
        start = len(entries)
        for entry in trace:
            branch = entry.branch
            moved: Branch | None = None if branch is None else replace(branch, parent=branch.parent + start)
            node = own.nodes[entry.node]
            entries.append(replace(entry, node=whole.id_of(node if became is None else became[node]), branch=moved))
    return Trace(tuple(entries))
