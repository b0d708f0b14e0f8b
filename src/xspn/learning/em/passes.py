"""One step of EM on a compiled circuit: expected statistics by a pass up and a pass down, then new parameters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.core.logspace import safe_log
from xspn.engine import Backend, Program, Semiring, flows
from xspn.engine.program import Step, SumStep
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum
from xspn.leaves.base import Leaf, Smoothing


@dataclass(frozen=True, eq=False)
class Expected:
    """What weighted rows are expected to tell about the parameters of a program; additive over rows.

    Attributes:
        sums: For each step of sums the flow to each child: (arity, sums).
        leaves: For each leaf block its leaves' sufficient statistics.
        log_likelihood: The weighted log-likelihood of the rows.
        impossible: The first row of probability zero, or −1; such rows tell nothing.
    """

    sums: Sequence[FloatArray]
    leaves: Sequence[FloatArray]
    log_likelihood: float
    impossible: int = -1

    def scaled(self, factor: float) -> "Expected":
        """Return the statistics of `factor` times as many rows of the same kind."""
        return Expected(
            [factor * counts for counts in self.sums],
            [factor * counts for counts in self.leaves],
            factor * self.log_likelihood,
            self.impossible,
        )

    def plus(self, other: "Expected") -> "Expected":
        """Return the statistics of both."""
        return Expected(
            [a + b for a, b in zip(self.sums, other.sums, strict=True)],
            [a + b for a, b in zip(self.leaves, other.leaves, strict=True)],
            self.log_likelihood + other.log_likelihood,
            self.impossible if self.impossible >= 0 else other.impossible,
        )

    def restated(self, origin: Program, program: Program) -> "Expected":
        """Return statistics taken under `origin` as its other fit `program` would have taken them."""
        pairs = zip(self.leaves, origin.blocks, program.blocks, strict=True)
        return replace(self, leaves=[new.restate(counts, old) for counts, (_, old), (_, new) in pairs])


def expect(backend: Backend, X: AnyArray, weights: FloatArray, names: Names | None = None) -> Expected:
    """Return the expected statistics of weighted rows: the E-step."""
    counts = backend.counts(X, weights, names)
    lost = np.isneginf(counts.log_prob) & (weights > 0)
    blocks = [block for _, block in backend.program.blocks]
    leaves = [block.expected_statistics(own) for block, own in zip(blocks, counts.leaves, strict=True)]
    if lost.any():
        return Expected(counts.sums, leaves, -np.inf, int(np.argmax(lost)))
    counted = weights > 0
    return Expected(counts.sums, leaves, float(weights[counted] @ counts.log_prob[counted]))


def recentered(
    backend: Backend, expected: Expected, X: AnyArray, weights: FloatArray, names: Names | None = None
) -> tuple[Program, Expected]:
    """Return the statistics of all rows about means near the rows, and the program whose leaves have these means.

    Where a leaf's mean is far from the rows, their variance about it drowns in rounding. Such leaves are moved to the
    rows' mean and take their part of the same flow again; without them this costs nothing.
    """
    pairs = list(zip(backend.program.blocks, expected.leaves, strict=True))
    blocks = [(first, block.recentered(own)) for (first, block), own in pairs]
    moved = [new is not old for (_, new), (_, old) in zip(blocks, backend.program.blocks, strict=True)]
    if not any(moved):
        return backend.program, expected
    counts = [block.new_counts() for _, block in blocks]
    for start, stop, rows in backend.program.row_blocks(X, names):
        values = backend.log_values(rows, Semiring.SUM)
        possible = weights[start:stop] * ~np.isneginf(values[backend.program.root])
        flow = flows(backend.program, values, possible)
        for (first, block), own, changed in zip(blocks, counts, moved, strict=True):
            if changed:
                block.add_counts(rows, flow[first : first + block.n_slots], own)
    leaves = [
        block.expected_statistics(new) if changed else old
        for (_, block), new, old, changed in zip(blocks, counts, expected.leaves, moved, strict=True)
    ]
    return replace(backend.program, blocks=blocks), replace(expected, leaves=leaves)


def maximize(program: Program, expected: Expected, smoothing: Smoothing) -> Program:
    """Return the program with the parameters that the statistics make most likely: the M-step."""
    new_sums = iter(expected.sums)
    steps: list[Step] = [
        replace(step, log_weights=_sum_weights(step, next(new_sums), smoothing)) if isinstance(step, SumStep) else step
        for step in program.steps
    ]
    blocks = [
        (first, block.refit(own, smoothing))
        for (first, block), own in zip(program.blocks, expected.leaves, strict=True)
    ]
    return replace(program, blocks=blocks, steps=steps)


def _sum_steps(program: Program) -> list[SumStep]:
    return [step for step in program.steps if isinstance(step, SumStep)]


def _sum_weights(step: SumStep, flow: FloatArray, smoothing: Smoothing) -> FloatArray:
    """Return log-weights: the smoothed fractions of the flow to each child; unchanged without any flow."""
    counts = flow + smoothing.mass
    total = counts.sum(axis=0)
    return np.where(total > 0, safe_log(counts) - safe_log(np.where(total > 0, total, 1.0)), step.log_weights)


def fitted_root(graph: Graph, start: Program, program: Program) -> Node:
    """Return the root of the circuit `graph` with the parameters of `program`, which was fitted from `start`."""
    leaf_of: dict[int, Leaf] = {}
    for (_, old), (_, new) in zip(start.blocks, program.blocks, strict=True):
        for before, after in zip(old.slot_leaves(), new.slot_leaves(), strict=True):
            leaf_of.update((id(a), b) for a, b in zip(before, after, strict=True))
    weights_of = {
        int(node): np.exp(column)
        for step in _sum_steps(program)
        for node, column in zip(step.nodes, step.log_weights.T, strict=True)
    }

    def visit(node: Node, children: Sequence[Node]) -> Node:
        if isinstance(node, Sum):
            weights = weights_of[graph.id_of(node)]
            return Sum(weights / weights.sum(), children)
        return Product(children) if isinstance(node, Product) else leaf_of[id(node)]

    return cast(Node, graph.rebuild(visit))
