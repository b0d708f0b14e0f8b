"""The parameters of an HCLT, and their expected statistics: messages up the tree, then down."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import FloatArray, IntArray
from xspn.learning.hclt.tree import BlockTree, CountedRows

Float = TypeVar("Float", np.float32, np.float64)
Message = NDArray[np.float32]  # (rows, states)
# What is less likely by so much than the likeliest state of its block does not count. Smaller numbers would become
# denormal on their way through the tree, and those are slow.
LEAST = np.float32(1e-12)
LEAST_FLOW = np.float32(1e-15)
TINY = np.float32(1e-30)  # in place of a zero that is divided by


@dataclass(frozen=True, eq=False)
class HCLTTables:
    """One number for each parameter: probabilities, or how often each event is expected to have happened.

    Attributes:
        initial: Of the root's latent states: (states,).
        transitions: The transition matrix from a parent's latent state to a block's own: (blocks, states, states); the
            root's is not used.
        emissions: For each block, of the number of ones in each latent state: (states, n + 1).
    """

    initial: FloatArray
    transitions: NDArray[np.float32]
    emissions: tuple[FloatArray, ...]

    def towards(self, other: "HCLTTables", step: float) -> "HCLTTables":
        """Return the tables a fraction `step` of the way to other ones."""
        emissions = tuple(a + step * (b - a) for a, b in zip(self.emissions, other.emissions, strict=True))
        transitions = self.transitions + np.float32(step) * (other.transitions - self.transitions)
        return HCLTTables(self.initial + step * (other.initial - self.initial), transitions, emissions)

    def normalized(self, scale: float, smoothing: float) -> "HCLTTables":
        """Return probabilities for scaled frequencies; each distribution gets the same pseudo-mass, spread evenly."""
        transitions = _normalized(self.transitions * np.float32(scale), smoothing)
        emissions = tuple(_normalized(own * scale, smoothing) for own in self.emissions)
        return HCLTTables(_normalized(self.initial * scale, smoothing), transitions, emissions)


def log_likelihoods(tree: BlockTree, tables: HCLTTables, data: CountedRows, rows: IntArray) -> FloatArray:
    """Return the log-probability of some rows, in single precision."""
    return _upward(tree, tables, data, rows).log_likelihoods


def expected(tree: BlockTree, tables: HCLTTables, data: CountedRows, rows: IntArray) -> tuple[HCLTTables, FloatArray]:
    """Return how often each event is expected to have happened in some rows, and their log-probabilities."""
    up = _upward(tree, tables, data, rows)
    flows: dict[int, Message] = {}
    transitions = np.zeros_like(tables.transitions)
    emissions: list[FloatArray] = [np.empty(0)] * len(tree.order)
    for b in tree.order:
        if b == tree.root:
            flow = up.inside[b] * tables.initial.astype(np.float32)
            flow *= (data.weights[rows] / flow.sum(axis=1)).astype(np.float32)[:, None]
        else:
            reaching = flows[tree.parents[b]] / np.maximum(up.to_parent[b], TINY)
            transitions[b] = tables.transitions[b] * (reaching.T @ up.inside[b])
            flow = up.inside[b] * (reaching @ tables.transitions[b])
        flows[b] = np.maximum(flow, LEAST_FLOW)
        emissions[b] = _expected_counts(tables.emissions[b], data, b, rows, flows[b])
    return HCLTTables(
        np.asarray(flows[tree.root].sum(axis=0), dtype=np.float64), transitions, tuple(emissions)
    ), up.log_likelihoods


@dataclass(frozen=True, eq=False)
class _Upward:
    """What is known from below: of each block's states, and of its parent's, up to a factor for each row."""

    inside: dict[int, Message]
    to_parent: dict[int, Message]
    log_likelihoods: FloatArray


def _upward(tree: BlockTree, tables: HCLTTables, data: CountedRows, rows: IntArray) -> _Upward:
    inside: dict[int, Message] = {}
    to_parent: dict[int, Message] = {}
    logs = -data.log_arrangements[rows]
    for b in reversed(tree.order):
        own = _scaled(_of_pairs(tables.emissions[b], data, b).astype(np.float32)[data.which[rows, b]], logs)
        for child in tree.children[b]:
            own = _scaled(own * to_parent[child], logs)  # each time: a product of many would vanish
        inside[b] = np.maximum(own, LEAST)
        if b != tree.root:
            to_parent[b] = inside[b] @ tables.transitions[b].T
    logs += np.log(inside[tree.root] @ tables.initial)
    return _Upward(inside, to_parent, logs)


def _scaled(message: Message, logs: FloatArray) -> Message:
    """Return a message with 1 for the likeliest state; what it was divided by is added to the rows' logarithms."""
    top = message.max(axis=1, keepdims=True)
    logs += np.log(top[:, 0])
    return np.asarray(message / top)


def _of_pairs(table: FloatArray, data: CountedRows, block: int) -> FloatArray:
    """Return the probability of what may be seen of a block, in each state: (pairs, states)."""
    return np.asarray(data.chances[block] @ table.T)


def _expected_counts(table: FloatArray, data: CountedRows, block: int, rows: IntArray, flow: Message) -> FloatArray:
    """Return how often a block is expected to have had t ones in each state; unseen blocks tell nothing."""
    pairs = data.keys[block]
    indicator = data.which[rows, block][:, None] == np.arange(len(pairs))
    of_pairs = np.asarray(indicator.T.astype(np.float32) @ flow, dtype=np.float64)
    of_pairs[pairs[:, 0] == 0] = 0.0
    return np.asarray(table * ((of_pairs / _of_pairs(table, data, block)).T @ data.chances[block]))


def _normalized(frequencies: NDArray[Float], smoothing: float) -> NDArray[Float]:
    full = frequencies + frequencies.dtype.type(smoothing / frequencies.shape[-1])
    return np.asarray(full / full.sum(axis=-1, keepdims=True))
