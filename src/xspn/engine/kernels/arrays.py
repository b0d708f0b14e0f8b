"""What kernels are told about a tape, and how rows are written for them."""

from typing import Any, NamedTuple

import numpy as np

from xspn.core.arrays import AnyArray
from xspn.engine.tape import Op, Tape

FACTORS, COUNT, TREE, COLUMN, SUM, PRODUCT = (int(op) for op in Op)  # numba reads them as constants
MISSING = 2  # the code of a missing value; 0 and 1 stand for themselves
WHOLE, PARTIAL, BEST = 0, 1, 2  # how leaves treat missing values: there are none; summed out; completed to the best
FROM_X = -1  # instead of one of these three: of rows that a kernel has yet to read


INSTRUCTIONS = ("op", "begin", "end", "leaf", "register", "argument", "fresh")


class Arrays(NamedTuple):
    """A tape's arrays in one precision; all of them are read-only, so that one compiled kernel serves all tapes."""

    op: AnyArray
    begin: AnyArray
    end: AnyArray
    leaf: AnyArray
    register: AnyArray
    argument: AnyArray
    fresh: AnyArray
    weight: AnyArray
    bernoulli_variable: AnyArray
    bernoulli_p: AnyArray
    count_variable: AnyArray
    count_size: AnyArray
    count_start: AnyArray
    count_w: AnyArray
    triangle_start: AnyArray
    triangle: AnyArray
    tree_variable: AnyArray
    tree_parent: AnyArray
    tree_has_children: AnyArray
    tree_p: AnyArray


def arrays_of(tape: Tape, dtype: type[np.floating[Any]], triangle: AnyArray) -> Arrays:
    """Return the arrays of a tape with the given table of partial counts (empty if no row is partial)."""
    layout, numbers = tape.layout, tape.numbers
    fields = {name: getattr(layout, name) for name in Arrays._fields if hasattr(layout, name)}
    fields |= {"count_start": layout.triangles.weight_starts, "triangle_start": layout.triangles.table_starts}
    fields |= {name: getattr(numbers, name).astype(dtype) for name in ("weight", "bernoulli_p", "tree_p")}
    fields |= {"count_w": np.exp(numbers.count_log_w).astype(dtype), "triangle": triangle.astype(dtype)}
    return Arrays(**{name: read_only(array) for name, array in fields.items()})


def with_instructions(arrays: Arrays, tape: Tape) -> Arrays:
    """Return the arrays with the instructions of another tape, which reads the same entries of leaves."""
    layout = tape.layout
    fields = {name: getattr(layout, name) for name in INSTRUCTIONS}
    fields |= {"weight": tape.numbers.weight.astype(arrays.weight.dtype)}
    return arrays._replace(**{name: read_only(array) for name, array in fields.items()})


def read_only(array: AnyArray) -> AnyArray:
    """Return a view that cannot be written to: one type of array, one compiled kernel."""
    view = np.asarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


class Workspace(NamedTuple):
    """What kernels write while they work on a block of rows; every thread has its own. Rows are the last axis."""

    codes: AnyArray  # (variables, rows): 0, 1, or 2 for missing
    column: AnyArray  # (column leaves, rows): their probabilities
    values: AnyArray  # (places, rows)
    derivatives: AnyArray  # (registers, rows): the derivatives of the root's value
    below: AnyArray  # (2 · largest tree, rows): messages of a Chow-Liu tree
    tree_ones: AnyArray  # (3 · largest tree, rows): P(X_i = 1 | parent = 0 or 1, evidence), P(X_i = 1 | evidence)
    counters: AnyArray  # (2, rows): ones, and observed values
    factors: AnyArray  # (largest product + 1, rows): products of some children
    flow: AnyArray  # (2, rows)
    ones: AnyArray  # (variables, rows): P(X_v = 1, evidence)
    column_flow: AnyArray  # (column leaves, rows)
    total: AnyArray  # (rows,): P(row)
    one: np.floating[Any]  # 1 in the precision of the values


class Statistics(NamedTuple):
    """Expected flow, in the order of the tape."""

    sums: AnyArray  # (edges,)
    bernoulli: AnyArray  # (Bernoulli entries, 2): of zeros and ones
    whole: AnyArray  # as the weights of count leaves: of whole rows with so many ones
    partial: AnyArray  # as their triangles: of partial rows with so many values and so many ones
    tree: AnyArray  # (tree entries, 4): of (parent, own) = 00, 01, 10, 11


def no_statistics() -> Statistics:
    """Return what stands for statistics where nothing is learned."""
    none = np.empty(0)
    return Statistics(none, np.empty((0, 2)), none, none, np.empty((0, 4)))


def new_counters(tape: Tape, rows: int) -> AnyArray:
    """Return counters of ones: of two bytes, as long as they can hold the variables of any leaf."""
    return np.zeros((2, rows), dtype=np.uint16 if tape.layout.largest_count < 1 << 16 else np.uint32)


def workspace_for(
    tape: Tape, dtype: type[np.floating[Any]], rows: int, n_variables: int, places: int, down: bool
) -> Workspace:
    """Return a workspace for blocks of some rows; `places` values are kept at a time, with derivatives if `down`."""
    layout = tape.layout
    tree, n_columns = layout.largest_tree, layout.n_columns

    def table(height: int) -> AnyArray:
        return np.zeros((height, rows), dtype=dtype)

    return Workspace(
        codes=np.zeros((n_variables, rows), dtype=np.uint8),
        column=table(n_columns),
        values=table(places),
        derivatives=table(layout.n_registers if down else 0),
        below=table(2 * tree),
        tree_ones=table(3 * tree if down else 0),
        counters=new_counters(tape, rows),
        factors=table(layout.largest_arity + 1 if down else 0),
        flow=table(2),
        ones=table(n_variables if down else 0),
        column_flow=table(n_columns),
        total=np.zeros(rows, dtype=dtype),
        one=dtype(1),
    )
