"""The passes down: how much of each row flows into every slot, or which slots a row chooses."""

from collections.abc import Callable

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.engine.program import ProductStep, Program, SumStep

Chooser = Callable[[FloatArray], IntArray]  # terms of some sums (arity, pairs) → the place of the chosen child
EdgeVisitor = Callable[[SumStep, int, FloatArray], None]


def flows(
    program: Program, values: FloatArray, weights: FloatArray | float = 1.0, see: EdgeVisitor | None = None
) -> FloatArray:
    """Return P(slot is used | row): 1 at the root, split at sums by posterior, passed on whole at products.

    Rows of probability zero have no flow below the sum that makes them impossible.

    Args:
        program: The compiled circuit.
        values: What the pass up gave.
        weights: What flows into the root instead of 1, for each row.
        see: Called with a step of sums, a place among their children, and the flow from each sum to the child there.
    """
    flow = np.zeros_like(values)
    flow[program.root] = weights
    for step in reversed(program.steps):
        own = flow[step.start : step.stop]
        if isinstance(step, ProductStep):
            below, parents = step.parents
            flow[below] += parents @ own
            continue
        for place, (child, share) in enumerate(zip(step.children, _shares(step, values), strict=True)):
            share *= own
            if see is not None:
                see(step, place, share)
            if step.distinct[place]:
                flow[child] += share
            else:  # several sums share a child: plain addition would count it once
                np.add.at(flow, child, share)
    return flow


def _shares(step: SumStep, values: FloatArray) -> list[FloatArray]:
    """Return the posterior share of each child of each sum, one array per place: (sums, rows)."""
    total = values[step.start : step.stop]
    shift = np.where(np.isneginf(total), 0.0, total)
    return [
        np.exp(values[child] + weight[:, None] - shift)
        for child, weight in zip(step.children, step.log_weights, strict=True)
    ]


def choose_best(program: Program, values: FloatArray, which: IntArray | None = None) -> BoolArray:
    """Return which slots each row uses when every sum takes its best child (after a MAX pass up)."""
    return _walk(program, values, lambda terms: np.asarray(np.argmax(terms, axis=0)), which)


def choose_by_chance(
    program: Program, values: FloatArray, rng: np.random.Generator, which: IntArray | None = None
) -> BoolArray:
    """Return which slots each row uses when every sum draws a child by its posterior (after a SUM pass up)."""

    def draw(terms: FloatArray) -> IntArray:
        ends = np.cumsum(np.exp(terms - terms.max(axis=0)), axis=0)
        target = rng.random(terms.shape[1]) * ends[-1]
        return np.asarray(np.minimum((ends <= target).sum(axis=0), len(ends) - 1))

    return _walk(program, values, draw, which)


def _walk(program: Program, values: FloatArray, choose: Chooser, which: IntArray | None) -> BoolArray:
    """Go down from the root, only where rows go: (slots, rows).

    Args:
        program: The compiled circuit.
        values: What the pass up gave.
        choose: Chooses among the children of a sum.
        which: The column of `values` that each row goes by; several rows may share one.
    """
    column = np.arange(values.shape[1]) if which is None else which
    active = np.zeros((len(values), len(column)), dtype=bool)
    active[program.root] = True
    for step in reversed(program.steps):
        node, row = np.nonzero(active[step.start : step.stop])
        if not len(node):
            continue
        if isinstance(step, ProductStep):
            lengths = np.diff(step.children.indptr)[node]
            ends = np.cumsum(lengths)
            edges = np.arange(ends[-1]) + np.repeat(step.children.indptr[node] - (ends - lengths), lengths)
            active[step.children.indices[edges], np.repeat(row, lengths)] = True
        else:
            children = step.children[:, node]
            chosen = choose(values[children, column[row]] + step.log_weights[:, node])
            active[children[chosen, np.arange(len(node))], row] = True
    return active
