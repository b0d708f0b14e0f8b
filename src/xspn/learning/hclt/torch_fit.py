"""EM for several HCLTs at once on a device of torch, from the first pass to the last.

It is the algorithm of `fit.py`, tree by tree with the same seeds: the same start, the same batches, the same steps. In
single precision the parameters drift apart, as they do between two orders of summation; how good they are does not.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from xspn.core.arrays import FloatArray, IntArray
from xspn.engine.torch_backend import free_memory
from xspn.learning.hclt.fit import (
    FIRST_STEP,
    LAST_STEP,
    STATE_CHANGES,
    FittedHCLT,
    HCLTOptions,
    number_of_batches,
)
from xspn.learning.hclt.messages import HCLTTables
from xspn.learning.hclt.torch_forest import DeviceRows, Forest, ForestTables
from xspn.learning.hclt.tree import BlockTree, CountedRows
from xspn.learning.steps import step

BYTES_ON_CPU = 1 << 30  # for messages; an accelerator may use half of what it has free
ROWS_AT_ONCE = 4096  # for likelihoods, and for distances in double precision


@dataclass(frozen=True)
class TreeTask:
    """What one HCLT of several is fitted with; see `fit_hclt`."""

    tree: BlockTree
    options: HCLTOptions
    seed: int
    last_pass: int | None = None


def fit_hclts(
    data: CountedRows, tasks: Sequence[TreeTask], validation: CountedRows | None, device: str | torch.device
) -> list[tuple[FittedHCLT, FloatArray]]:
    """Fit HCLTs with the same number of latent states and passes to the same rows.

    Args:
        data: The rows.
        tasks: The trees, their smoothing and seeds.
        validation: Validation rows, which choose for each tree the pass after which its parameters are taken.
        device: Where to compute.

    Returns:
        Each tree, and the log-probabilities of the validation rows.
    """
    on = torch.device(device)
    pieces = data.in_even_pieces()
    own = DeviceRows(pieces, on)
    valid = None if validation is None else DeviceRows(validation, on)
    features = torch.as_tensor(pieces.features(), device=on)
    at_once = _trees_at_once(pieces, own, tasks[0].options.states, on)
    found: list[tuple[FittedHCLT, FloatArray]] = []
    with torch.cuda.device(on) if on.type == "cuda" else nullcontext():
        for first in range(0, len(tasks), at_once):
            found += _Fit(pieces, own, features, valid, tasks[first : first + at_once]).run()
    return found


def _trees_at_once(data: CountedRows, rows: DeviceRows, states: int, device: torch.device) -> int:
    """Return how many trees fit into memory: four messages for each node and row of a batch, and their indicators."""
    n_rows = len(data.weights)
    batch = -(-n_rows // number_of_batches(n_rows))
    n_blocks, n_pairs, n_counts = rows.chances.shape
    of_node = 4 * (batch * (4 * states + n_pairs) + n_pairs * (2 * states + n_counts) + 4 * states**2)
    free = BYTES_ON_CPU if device.type != "cuda" else free_memory(device) // 2
    return max(1, int(free // (n_blocks * of_node)))


class _Fit:
    """Fits some trees together."""

    def __init__(
        self, data: CountedRows, rows: DeviceRows, features: Tensor, valid: DeviceRows | None, tasks: Sequence[TreeTask]
    ) -> None:
        self.data, self.rows, self.valid, self.tasks = data, rows, valid, tasks
        self.device = features.device
        self.forest = Forest([task.tree for task in tasks], data.sizes, self.device)
        self.rngs = [np.random.default_rng(task.seed) for task in tasks]
        starts = [_start(data, features, task.options, rng) for task, rng in zip(tasks, self.rngs, strict=True)]
        self.tables = self.forest.tables_of(starts)

    def run(self) -> list[tuple[FittedHCLT, FloatArray]]:
        """Return the trees with the best of their parameters, and the log-probabilities of validation rows."""
        best, n_trees = self.tables.clone(), len(self.tasks)
        scores, passes = np.full(n_trees, -np.inf), np.zeros(n_trees, dtype=np.int64)
        logs = np.empty((n_trees, 0 if self.valid is None else self.valid.n_rows))
        last = np.array([np.iinfo(np.int64).max if t.last_pass is None else t.last_pass for t in self.tasks])
        for done, training in enumerate(self._passes(int(last.max()))):
            own = training
            if self.valid is not None:
                found = self._logs(self.valid)
                own = found @ self.valid.weights[:-1].double().cpu().numpy() / float(self.valid.weights.sum())
            better = (done <= last) & ((done == 0) | (self.valid is None) | (own > scores))
            for tree in np.flatnonzero(better):
                nodes = self.forest.node_of[tree]
                best.initial[tree] = self.tables.initial[tree]
                best.transitions[nodes] = self.tables.transitions[nodes]
                best.emissions[nodes] = self.tables.emissions[nodes]
                scores[tree], passes[tree] = own[tree], done
                if self.valid is not None:
                    logs[tree] = found[tree]
        return [
            (FittedHCLT(task.tree, self.forest.tables_to_host(best, t), int(passes[t]), float(scores[t])), logs[t])
            for t, task in enumerate(self.tasks)
        ]

    def _passes(self, last_pass: int) -> Iterator[FloatArray]:
        """Yield, before the first pass and after each, the mean log-likelihood of the rows on the way."""
        weights, options = self.data.weights, self.tasks[0].options
        unknown = np.full(len(self.tasks), np.nan)  # and not asked for: validation rows choose the pass
        yield unknown if self.valid is not None else self._logs(self.rows) @ weights / weights.sum()
        if last_pass == 0:
            return
        masses = [task.options.smoothing for task in self.tasks]
        em = ForestEM(self.forest, self.tables, self.rows, masses, number_of_batches(len(weights)))
        for size in np.linspace(FIRST_STEP, LAST_STEP, options.passes)[:last_pass]:
            total = em.run_pass([rng.permutation(len(weights)) for rng in self.rngs], float(size))
            for _ in self.tasks:
                step()
            yield total / weights.sum()

    def _logs(self, rows: DeviceRows) -> FloatArray:
        """Return the log-probability of all rows by each tree."""
        n_trees, parts = len(self.tasks), []
        of_row = 16 * self.tables.transitions.shape[0] * self.tables.transitions.shape[1]
        width = max(1, min(ROWS_AT_ONCE, BYTES_ON_CPU // of_row))
        for start in range(0, rows.n_rows, width):
            part = torch.arange(start, min(start + width, rows.n_rows), device=self.device)
            parts.append(self.forest.log_likelihoods(self.tables, rows, part.expand(n_trees, -1)))
        return np.asarray(torch.cat(parts, dim=1).cpu().numpy())


class ForestEM:
    """Stepwise EM for a forest: after each batch of rows the parameters move, in place, towards the batch's own.

    Args:
        forest: The trees.
        tables: Their parameters, which are changed.
        rows: The rows.
        smoothing: The pseudo-mass of each distribution of each tree, spread evenly.
        n_batches: The number of batches of a pass.
    """

    def __init__(
        self, forest: Forest, tables: ForestTables, rows: DeviceRows, smoothing: Sequence[float], n_batches: int
    ) -> None:
        self.forest, self.tables, self.rows, self.n_batches = forest, tables, rows, n_batches
        device, k = forest.device, tables.initial.shape[1]
        of_tree = torch.tensor(smoothing, dtype=torch.float32, device=device)
        of_node = of_tree[forest.tree_of_node][:, None, None]
        n_counts = 1 + torch.tensor(forest.sizes, device=device)[forest.block_of_node][:, None, None]
        exists = torch.arange(tables.emissions.shape[2], device=device) < n_counts
        self._smoothing = ForestTables(of_tree[:, None] / k, of_node / k, of_node * exists / n_counts)
        self._mass = rows.weights.sum()
        # A step reads what it works on from here, and adds to the log-likelihood, so that it can be recorded.
        self._batch = torch.arange(-(-rows.n_rows // n_batches), device=device).repeat(forest.n_trees, 1)
        self._size = torch.zeros((), device=device)
        self._log_likelihood = torch.zeros(forest.n_trees, dtype=torch.float64, device=device)
        self._step = _recorded(self._update, device)

    def run_pass(self, orders: Sequence[IntArray], size: float) -> FloatArray:
        """Take one step for each batch; return the log-likelihood of the rows on the way, by each tree.

        Args:
            orders: For each tree, the order in which it sees the rows.
            size: How far parameters move towards those of a batch, from 0 to 1.
        """
        batches = np.full((self.n_batches, *self._batch.shape), self.rows.n_rows)  # where one is short: no weight
        for tree, order in enumerate(orders):
            for place, own in enumerate(np.array_split(order, self.n_batches)):
                batches[place, tree, : len(own)] = own
        self._size.fill_(size)
        self._log_likelihood.zero_()
        for own in torch.as_tensor(batches, device=self.forest.device):
            self._batch.copy_(own)
            self._step()
        return np.asarray(self._log_likelihood.cpu().numpy())

    def _update(self) -> None:
        weights = self.rows.weights[self._batch]
        seen, logs = self.forest.expected(self.tables, self.rows, self._batch)
        self._log_likelihood += (weights * logs).sum(dim=1)
        whole = self._mass / weights.sum(dim=1)[:, None]
        of_node = whole[self.forest.tree_of_node][:, :, None]
        for table, own, scale, pseudo in (
            (self.tables.initial, seen.initial, whole, self._smoothing.initial),
            (self.tables.transitions, seen.transitions, of_node, self._smoothing.transitions),
            (self.tables.emissions, seen.emissions, of_node, self._smoothing.emissions),
        ):
            own.mul_(scale).add_(pseudo)
            table.lerp_(own.div_(own.sum(dim=-1, keepdim=True)), self._size)


def _recorded(job: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """Return a job that CUDA launches as one: its hundreds of small kernels would wait for the interpreter.

    It is run once while it is recorded, which must change nothing: steps have the size 0 then.
    """
    if device.type != "cuda":
        return job
    beside = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    beside.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(beside):  # libraries allocate what they need the first time, which cannot be recorded
        job()
    torch.cuda.current_stream(device).wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        job()
    return graph.replay


# -- the start ---------------------------------------------------------------------------------------------------------


def _start(data: CountedRows, features: Tensor, options: HCLTOptions, rng: np.random.Generator) -> HCLTTables:
    """Return the parameters that `fit_hclt` starts with, for a generator in the same state."""
    k = options.states
    nearest = nearest_of_random_rows(features, data.weights, k, rng)
    n_blocks = len(data.chances)
    changed = rng.dirichlet(np.ones(k), size=(n_blocks, k))
    transitions = ((1 - STATE_CHANGES) * np.eye(k) + STATE_CHANGES * changed).astype(np.float32)
    counts = []
    for chances, which in zip(data.chances, data.which.T, strict=True):
        of_pairs = np.bincount(nearest * len(chances) + which, data.weights, k * len(chances)).reshape(k, -1)
        counts.append(of_pairs @ (chances / chances.sum(axis=1, keepdims=True)))
    frequencies = HCLTTables(np.bincount(nearest, data.weights, k).astype(np.float64), transitions, tuple(counts))
    started = frequencies.normalized(1.0, options.smoothing)
    return HCLTTables(started.initial, transitions, started.emissions)


def nearest_of_random_rows(
    features: Tensor, weights: FloatArray, n_components: int, rng: np.random.Generator
) -> IntArray:
    """Return the nearest of some random rows for each row; see `xspn.learning.mevm.fit`.

    It draws the same random numbers in the same order, so that both assign rows in the same way.
    """
    chosen = [int(rng.choice(len(features), p=weights / weights.sum()))]
    own = torch.as_tensor(weights, device=features.device)
    distance = ((features - features[chosen[0]]) ** 2).sum(dim=1)
    for _ in range(n_components - 1):
        up_to = (own * distance).cumsum(0)
        if float(up_to[-1]) == 0:  # fewer different rows than components
            break
        chosen.append(int(torch.searchsorted(up_to / up_to[-1], rng.random(), right=True)))
        distance = torch.minimum(distance, ((features - features[chosen[-1]]) ** 2).sum(dim=1))
    centers = features[chosen]
    found = []
    for start in range(0, len(features), ROWS_AT_ONCE):
        part = features[start : start + ROWS_AT_ONCE]
        squares = (part**2).sum(dim=1)[:, None] + (centers**2).sum(dim=1) - 2 * part @ centers.T
        ties = torch.as_tensor(rng.random((len(part), len(chosen))), device=features.device)
        found.append((squares + 1e-6 * ties).argmin(dim=1))
    return np.asarray(torch.cat(found).cpu().numpy())
