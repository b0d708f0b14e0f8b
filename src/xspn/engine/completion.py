"""Rows completed by a walk from the root to the leaves: with the best values, or with random ones.

This is how every back end completes rows that it has no faster way for: a pass up gives the values of all slots, then
each row goes down, to one child of a sum and to all children of a product, and the leaves that it comes to fill it in.
"""

from collections.abc import Callable

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.checks import Names
from xspn.core.random import RowRandom
from xspn.engine.program import ProductStep, Program
from xspn.leaves.blocks import RowBlock

CELLS = 1 << 22  # slots × rows that are walked at a time when drawing samples
Chooser = Callable[[FloatArray, IntArray, IntArray], IntArray]  # terms of some sums (arity, pairs), their slots, rows
Values = Callable[[RowBlock], FloatArray]  # the log-value of every slot: (slots, rows)


def best_completions(
    program: Program, values_of: Values, evidence: AnyArray, names: Names | None
) -> tuple[FloatArray, BoolArray]:
    """Return each row with the best child taken at every sum, and which rows are possible at all."""
    filled, is_possible = np.empty(evidence.shape), np.empty(len(evidence), dtype=bool)
    for start, stop, rows in program.row_blocks(evidence, names, "evidence"):
        values = values_of(rows)
        is_possible[start:stop] = ~np.isneginf(values[program.root])
        possible = np.flatnonzero(is_possible[start:stop])
        if len(possible) < stop - start:
            rows, values = RowBlock(rows.values[possible]), values[:, possible]
        filled[start + possible] = _filled(program, rows, choose_best(program, values), None)
    filled[:, program.absent] = np.nan
    return filled, is_possible


def random_completions(
    program: Program, values_of: Values, evidence: AnyArray, keys: AnyArray, names: Names | None
) -> tuple[FloatArray, FloatArray]:
    """Return random completions of each row, one after the other, and log P(row); −inf: impossible evidence.

    Args:
        program: The compiled circuit.
        values_of: The pass up.
        evidence: The rows.
        keys: What the random numbers of each completion come from: (rows, completions of each).
        names: The names of the columns, for messages.
    """
    repeats = keys.shape[1]
    drawn, log_evidence = np.empty((keys.size, evidence.shape[1])), np.empty(len(evidence))
    at_once = max(64, CELLS // program.n_slots)
    for start, stop, rows in program.row_blocks(evidence, names, "given", cells=CELLS):
        values = np.zeros((program.n_slots, stop - start))  # the logarithm of 1, where nothing is known
        known = np.flatnonzero(~rows.missing[~program.absent].all(axis=0))
        if len(known):
            values[:, known] = values_of(RowBlock(rows.values[known]))
        log_evidence[start:stop] = values[program.root]
        possible = ~np.isneginf(values[program.root])
        which = np.repeat(np.arange(stop - start), repeats)
        places = np.flatnonzero(possible[which])
        for first in range(0, len(places), at_once):
            own = places[first : first + at_once]
            column, random = which[own], RowRandom(keys[start:stop].ravel()[own])
            active = choose_by_chance(program, values, random, column)
            drawn[start * repeats + own] = _filled(program, RowBlock(rows.values[column]), active, random)
    drawn[:, program.absent] = np.nan
    return drawn, log_evidence


def _filled(program: Program, rows: RowBlock, active: BoolArray, random: RowRandom | None) -> FloatArray:
    out = rows.values.copy()
    for first, block in program.blocks:
        own = None if random is None else random.beyond(first)
        block.fill(rows, active[first : first + block.n_slots], out, own)
    return out


def choose_best(program: Program, values: FloatArray) -> BoolArray:
    """Return which slots each row uses when every sum takes its best child (after a MAX pass up)."""
    return _walk(program, values, lambda terms, slots, rows: np.asarray(np.argmax(terms, axis=0)), None)


def choose_by_chance(
    program: Program, values: FloatArray, random: RowRandom, which: IntArray | None = None
) -> BoolArray:
    """Return which slots each row uses when every sum draws a child by its posterior (after a SUM pass up)."""

    def draw(terms: FloatArray, slots: IntArray, rows: IntArray) -> IntArray:
        ends = np.cumsum(np.exp(terms - terms.max(axis=0)), axis=0)
        target = random.at(slots, rows).random(len(rows)) * ends[-1]
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
            below = values[children, column[row]]
            largest = below.max(axis=0)
            below -= np.where(np.isneginf(largest), 0.0, largest)  # before weights, which would lose their digits
            chosen = choose(below + step.log_weights[:, node], step.start + node, row)
            active[children[chosen, np.arange(len(node))], row] = True
    return active
