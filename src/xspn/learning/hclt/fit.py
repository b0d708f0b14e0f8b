"""EM for HCLTs, in batches of rows; a fitted HCLT as a circuit."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.graph.nodes import Node, Product, Sum
from xspn.learning.hclt.messages import HCLTTables, expected, log_likelihoods
from xspn.learning.hclt.tree import BlockTree, CountedRows
from xspn.learning.mevm.fit import nearest_of_random_rows
from xspn.learning.mevm.partition import BlockPartition
from xspn.learning.steps import step
from xspn.leaves import Bernoulli, Exchangeable

STATE_CHANGES = 0.3  # how often a block's latent state differs from its parent's, to begin with
FIRST_STEP, LAST_STEP = 0.5, 0.05  # towards what a batch says, falling evenly from pass to pass
FEW_ROWS, ENOUGH_BATCHES, MANY_ROWS = 100, 40, 2000  # a batch has few rows or there are enough batches; never many
ROWS_AT_ONCE = 500  # for likelihoods: the messages of all blocks are in memory


@dataclass(frozen=True)
class HCLTOptions:
    """How an HCLT is fitted.

    Attributes:
        states: The number of latent states of each block.
        smoothing: The pseudo-mass of each distribution, spread evenly; positive, so that nothing becomes impossible.
        passes: The number of passes over the data; steps become smaller from one to the next.
    """

    states: int
    smoothing: float
    passes: int = 15


@dataclass(frozen=True, eq=False)
class FittedHCLT:
    """An HCLT with its parameters.

    Attributes:
        tree: Which block hangs under which.
        tables: The probabilities.
        best_pass: The pass after which they were taken.
        score: The mean log-likelihood of the validation rows at that time, or of the training rows without any.
    """

    tree: BlockTree
    tables: HCLTTables
    best_pass: int
    score: float


def fit_hclt(
    data: CountedRows,
    tree: BlockTree,
    options: HCLTOptions,
    seed: int,
    validation: CountedRows | None = None,
    last_pass: int | None = None,
) -> FittedHCLT:
    """Fit an HCLT.

    It starts as a mixture: rows are assigned to the nearest of some rows that are far from each other, and blocks
    mostly keep the latent state of their parent. After each batch of rows the parameters move towards the batch's own.

    Args:
        data: The rows.
        tree: Which block hangs under which.
        options: How it is fitted.
        seed: The seed of the start and the batches.
        validation: Validation rows, which choose the pass after which the parameters are taken.
        last_pass: After which pass to stop, if not after all of them.
    """
    rng = np.random.default_rng(seed)
    best: FittedHCLT | None = None
    for done, (tables, score) in enumerate(_passes(tree, data.in_even_pieces(), options, rng)):
        own = score if validation is None else _mean(tree, tables, validation)
        if best is None or validation is None or own > best.score:
            best = FittedHCLT(tree, tables, done, own)
        if done == last_pass:
            break
    assert best is not None
    return best


def _passes(
    tree: BlockTree, data: CountedRows, options: HCLTOptions, rng: np.random.Generator
) -> Iterator[tuple[HCLTTables, float]]:
    """Yield the parameters at the start and after each pass, with the mean log-likelihood of the rows on the way."""
    tables = _start(tree, data, options, rng)
    yield tables, _mean(tree, tables, data)
    n_rows = len(data.weights)
    n_batches = number_of_batches(n_rows)
    total = float(data.weights.sum())
    for size in np.linspace(FIRST_STEP, LAST_STEP, options.passes):
        log_likelihood = 0.0
        for batch in np.array_split(rng.permutation(n_rows), n_batches):
            seen, logs = expected(tree, tables, data, batch)
            log_likelihood += float(data.weights[batch] @ logs)
            whole = total / float(data.weights[batch].sum())
            tables = tables.towards(seen.normalized(whole, options.smoothing), size)
        step()
        yield tables, log_likelihood / total


def number_of_batches(n_rows: int) -> int:
    """Return after how many batches a pass has seen all rows."""
    return max(min(n_rows // FEW_ROWS, ENOUGH_BATCHES), -(-n_rows // MANY_ROWS))


def _start(tree: BlockTree, data: CountedRows, options: HCLTOptions, rng: np.random.Generator) -> HCLTTables:
    responsibilities = (
        nearest_of_random_rows(data.features(), data.weights, options.states, rng) * data.weights[:, None]
    )
    k, n_blocks = options.states, len(tree.order)
    changed = rng.dirichlet(np.ones(k), size=(n_blocks, k))
    transitions = ((1 - STATE_CHANGES) * np.eye(k) + STATE_CHANGES * changed).astype(np.float32)
    counts = tuple(_first_emissions(data, b, responsibilities) for b in range(n_blocks))
    started = HCLTTables(responsibilities.sum(axis=0), transitions, counts).normalized(1.0, options.smoothing)
    return HCLTTables(started.initial, transitions, started.emissions)


def _first_emissions(data: CountedRows, block: int, responsibilities: FloatArray) -> FloatArray:
    """Return how often each count of ones is expected among the rows of each latent state, to begin with."""
    even = data.chances[block] / data.chances[block].sum(axis=1, keepdims=True)
    return np.asarray(responsibilities.T @ even[data.which[:, block]])


def row_scores(fitted: FittedHCLT, data: CountedRows) -> FloatArray:
    """Return the log-probability of each row, in single precision."""
    return _logs(fitted.tree, fitted.tables, data)


def _mean(tree: BlockTree, tables: HCLTTables, data: CountedRows) -> float:
    return float(np.average(_logs(tree, tables, data), weights=data.weights))


def _logs(tree: BlockTree, tables: HCLTTables, data: CountedRows) -> FloatArray:
    rows = np.arange(len(data.weights))
    parts = np.split(rows, range(ROWS_AT_ONCE, len(rows), ROWS_AT_ONCE))
    return np.concatenate([log_likelihoods(tree, tables, data, part) for part in parts])


def hclt_circuit(fitted: FittedHCLT, blocks: BlockPartition) -> Node:
    """Return the circuit: for each latent state of a block a product of its leaf and the sums of the blocks below."""
    tree, tables = fitted.tree, fitted.tables
    sums: dict[int, list[Node]] = {}  # of each block, one for each latent state of its parent
    for b in reversed(tree.order):
        states: list[Node] = []
        for state, chances in enumerate(tables.emissions[b]):
            below = [sums[child][state] for child in tree.children[b]]
            leaf = _leaf(blocks[b], chances)
            states.append(Product([leaf, *below]) if below else leaf)
        for child in tree.children[b]:
            del sums[child]
        rows = [tables.initial] if b == tree.root else list(tables.transitions[b])
        sums[b] = [_sum(row, states) for row in rows]
    return sums[tree.root][0]


def _sum(weights: FloatArray, states: list[Node]) -> Node:
    own = np.asarray(weights, dtype=np.float64)
    return states[0] if len(states) == 1 else Sum(own / own.sum(), states)


def _leaf(block: IntArray, chances: FloatArray) -> Node:
    variables = [int(v) for v in block]
    if len(variables) == 1:
        return Bernoulli(variables[0], p=min(float(chances[1]), 1.0))
    return Exchangeable.from_class_probabilities(variables, chances / chances.sum())
