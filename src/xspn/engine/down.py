"""The passes down: how much of each row flows into every slot, or which slots a row chooses."""

from collections.abc import Callable

import numpy as np

from xspn._core.arrays import BoolArray, FloatArray, IntArray
from xspn.engine.program import ProductStep, Program, SumStep

Chooser = Callable[[SumStep], IntArray]


def flows(program: Program, values: FloatArray) -> FloatArray:
    """Return P(slot is used | row): 1 at the root, split at sums by posterior, passed on whole at products.

    `values` come from the pass up. Rows of probability zero have no flow below the sum that makes them impossible.
    """
    flow = np.zeros_like(values)
    flow[program.root] = 1.0
    for step in reversed(program.steps):
        own = flow[step.start : step.stop]
        if isinstance(step, ProductStep):
            flow[: step.start] += step.children.T @ own
        else:
            for child, share in zip(step.children, _shares(step, values), strict=True):
                np.add.at(flow, child, share * own)
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
