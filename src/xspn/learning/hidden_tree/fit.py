"""EM for hidden trees, in batches of rows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.learning.hidden_tree.counts import CountedRows
from xspn.learning.hidden_tree.states import Tables, expected, log_likelihoods
from xspn.learning.hidden_tree.tree import Tree
from xspn.learning.mevm.starts import nearest_of_random_rows
from xspn.learning.steps import step

WAVERING = 0.3  # how often a block's kind differs from its parent's, to begin with
FIRST_STEP, LAST_STEP = 0.5, 0.05  # towards what a batch says, falling evenly from pass to pass
FEW_ROWS, ENOUGH_BATCHES, MANY_ROWS = 100, 40, 2000  # a batch has few rows or there are enough batches; never many
ROWS_AT_ONCE = 500  # for likelihoods: the messages of all blocks are in memory


@dataclass(frozen=True)
class TreeOptions:
    """How a hidden tree is fitted.

    Attributes:
        states: The number of kinds of each block.
        smoothing: The pseudo-mass of each distribution, spread evenly; positive, so that nothing becomes impossible.
        passes: The number of passes over the data; steps become smaller from one to the next.
    """

    states: int
    smoothing: float
    passes: int = 15


@dataclass(frozen=True, eq=False)
class FittedTree:
    """A tree with its parameters.

    Attributes:
        tree: Which block hangs under which.
        tables: The probabilities.
        best_pass: The pass after which they were taken.
        score: The mean log-likelihood of the rows kept apart then, or of the training rows.
    """

    tree: Tree
    tables: Tables
    best_pass: int
    score: float


def fit_tree(
    data: CountedRows,
    tree: Tree,
    options: TreeOptions,
    seed: int,
    held_out: CountedRows | None = None,
    last_pass: int | None = None,
) -> FittedTree:
    """Fit a hidden tree.

    It starts as a mixture: rows are shared out to the nearest of some rows that are far from each other, and blocks
    mostly keep the kind of their parent. After each batch of rows parameters go some way towards what the batch says.

    Args:
        data: The rows.
        tree: Which block hangs under which.
        options: How.
        seed: For the start and the batches.
        held_out: Rows that tell after which pass to take the parameters.
        last_pass: After which pass to stop, if not after all of them.
    """
    rng = np.random.default_rng(seed)
    best: FittedTree | None = None
    for done, (tables, score) in enumerate(_passes(tree, data.in_even_pieces(), options, rng)):
        own = score if held_out is None else _mean(tree, tables, held_out)
        if best is None or held_out is None or own > best.score:
            best = FittedTree(tree, tables, done, own)
        if done == last_pass:
            break
    assert best is not None
    return best


def _passes(
    tree: Tree, data: CountedRows, options: TreeOptions, rng: np.random.Generator
) -> Iterator[tuple[Tables, float]]:
    """Yield the parameters at the start and after each pass, with the mean log-likelihood of the rows on the way."""
    tables = _start(tree, data, options, rng)
    yield tables, _mean(tree, tables, data)
    n_rows = len(data.weights)
    n_batches = max(min(n_rows // FEW_ROWS, ENOUGH_BATCHES), -(-n_rows // MANY_ROWS))
    total = float(data.weights.sum())
    for size in np.linspace(FIRST_STEP, LAST_STEP, options.passes):
        log_likelihood = 0.0
        for batch in np.array_split(rng.permutation(n_rows), n_batches):
            seen, logs = expected(tree, tables, data, batch)
            log_likelihood += float(data.weights[batch] @ logs)
            whole = total / float(data.weights[batch].sum())
            tables = tables.towards(seen.normalised(whole, options.smoothing), size)
        step()
        yield tables, log_likelihood / total


def _start(tree: Tree, data: CountedRows, options: TreeOptions, rng: np.random.Generator) -> Tables:
    shares = nearest_of_random_rows(data.features(), data.weights, options.states, rng) * data.weights[:, None]
    k, n_blocks = options.states, len(tree.order)
    wandering = rng.dirichlet(np.ones(k), size=(n_blocks, k))
    moves = ((1 - WAVERING) * np.eye(k) + WAVERING * wandering).astype(np.float32)
    counts = tuple(_shared_out(data, b, shares) for b in range(n_blocks))
    started = Tables(shares.sum(axis=0), moves, counts).normalised(1.0, options.smoothing)
    return Tables(started.first, moves, started.counts)


def _shared_out(data: CountedRows, block: int, shares: FloatArray) -> FloatArray:
    """Return how often each count of ones is expected among the rows of each kind, before anything is known."""
    even = data.chances[block] / data.chances[block].sum(axis=1, keepdims=True)
    return np.asarray(shares.T @ even[data.which[:, block]])


def row_scores(fitted: FittedTree, data: CountedRows) -> FloatArray:
    """Return the log-probability of each row, in single precision."""
    return _logs(fitted.tree, fitted.tables, data)


def _mean(tree: Tree, tables: Tables, data: CountedRows) -> float:
    return float(np.average(_logs(tree, tables, data), weights=data.weights))


def _logs(tree: Tree, tables: Tables, data: CountedRows) -> FloatArray:
    rows = np.arange(len(data.weights))
    parts = np.split(rows, range(ROWS_AT_ONCE, len(rows), ROWS_AT_ONCE))
    return np.concatenate([log_likelihoods(tree, tables, data, part) for part in parts])
