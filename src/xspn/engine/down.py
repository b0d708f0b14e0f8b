"""The passes down: how much of each row flows into every slot, or which slots a row chooses."""

from collections.abc import Callable

import numpy as np

from xspn._core.arrays import BoolArray, FloatArray, IntArray
from xspn.engine.program import ProductStep, Program, SumStep

Chooser = Callable[[SumStep], IntArray]
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
            flow[: step.start] += step.children.T @ own
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


def choose_best(program: Program, values: FloatArray) -> BoolArray:
    """Return which slots each row uses when every sum takes its best child (after a MAX pass up)."""

    def best(step: SumStep) -> IntArray:
        terms = values[step.children] + step.log_weights[:, :, None]
        return np.asarray(np.argmax(terms, axis=0))

    return _walk(program, values, best)


def choose_by_chance(program: Program, values: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Return which slots each row uses when every sum draws a child by its posterior (after a SUM pass up)."""

    def draw(step: SumStep) -> IntArray:
        ends = np.cumsum(np.array(_shares(step, values)), axis=0)  # (arity, sums, rows)
        target = rng.random(ends.shape[1:]) * ends[-1]
        return np.asarray(np.minimum((ends <= target).sum(axis=0), len(ends) - 1))

    return _walk(program, values, draw)


def _walk(program: Program, values: FloatArray, choose: Chooser) -> BoolArray:
    active = np.zeros(values.shape, dtype=bool)
    active[program.root] = True
    for step in reversed(program.steps):
        own = active[step.start : step.stop]
        if not own.any():
            continue
        if isinstance(step, ProductStep):
            active[: step.start] |= (step.children.T @ own.astype(np.float64)) > 0
        else:
            chosen = choose(step)
            for place, child in enumerate(step.children):
                np.logical_or.at(active, child, own & (chosen == place))
    return active
