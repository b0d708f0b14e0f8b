"""Whether a tape that comes from a file can be run: kernels read and write by its indices without asking."""

from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, IntArray
from xspn.core.errors import FormatError
from xspn.core.logspace import log_binomials
from xspn.engine.program import ranges
from xspn.engine.tape import Op, Tape, TapeLayout, TapeNumbers, first_edges_down

TOLERANCE = 1e-9  # as that of weights and probabilities everywhere


def check_tape(tape: Tape, steps: AnyArray, n_given: int, n_variables: int) -> list[int]:
    """Refuse a tape with an index, a size or a number that no program has; return its binary variables."""
    layout, numbers = tape.layout, tape.numbers
    _check_types(layout, numbers, steps)
    _check_leaves(layout, n_given, n_variables)
    _check_edges(layout, numbers)
    _check_steps(layout, steps)
    _check_numbers(layout, numbers)
    used = (layout.bernoulli_variable, layout.count_variable, layout.tree_variable)
    binary: list[int] = np.unique(np.concatenate(used)).tolist()
    return binary


def _check_types(layout: TapeLayout, numbers: TapeNumbers, steps: AnyArray) -> None:
    """Check the lengths of arrays that belong together, and the types that kernels are compiled for."""
    n, edges = len(layout.op), len(layout.argument)
    bernoullis, counted, in_trees = (
        len(own) for own in (layout.bernoulli_variable, layout.count_variable, layout.tree_variable)
    )
    shapes: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("op", "slot", "begin", "end", "leaf", "register"), (n,)),
        **dict.fromkeys(("argument", "fresh", "weight_source", "weight", "log_weight"), (edges,)),
        **dict.fromkeys(("bernoulli_variable", "bernoulli_leaf"), (bernoullis,)),
        **dict.fromkeys(("tree_variable", "tree_parent", "tree_has_children", "tree_source"), (in_trees,)),
        "count_variable": (counted,),
        "count_size": (len(layout.count_size),),
        "bernoulli_p": (bernoullis, 2),
        "tree_p": (in_trees, 4),
        "count_log_w": (counted + len(layout.count_size),),
        "steps": (len(steps), 2),
    }
    types = {"op": np.uint8, "fresh": np.bool_, "tree_has_children": np.bool_}
    types |= dict.fromkeys(("weight", "log_weight", "bernoulli_p", "tree_p", "count_log_w"), np.float64)
    arrays = {**vars(layout), **vars(numbers), "steps": steps}
    for name, shape in shapes.items():
        found, expected = arrays[name], np.dtype(types.get(name, np.int64))
        _expect(found.dtype == expected, f"{name}: expected numbers of type {expected}, found {found.dtype}")
        _expect(found.shape == shape, f"{name}: expected shape {shape}, found {found.shape}")
    _expect(n > 0, "there are no instructions")


def _check_leaves(layout: TapeLayout, n_given: int, n_variables: int) -> None:
    _expect((layout.op <= max(Op)).all(), "op: unknown instruction")
    _expect(_is_permutation(layout.slot), "slot: expected each slot once")
    order = np.argsort(layout.slot)
    entries = {Op.FACTORS: len(layout.bernoulli_variable), Op.COUNT: len(layout.count_variable)}
    entries |= {Op.TREE: len(layout.tree_variable), Op.COLUMN: 0}
    for op, count in entries.items():
        own = order[layout.op[order] == op]  # the instructions of this family by slot
        _expect((np.diff(layout.slot[own]) == 1).all(), "slot: leaves of one family do not stand together")
        begin, end = layout.begin[own], layout.end[own]
        ends = np.concatenate([[0], end])
        follow = (begin == ends[:-1]).all() and ends[-1] == count
        several = (begin < end).all() or op == Op.COLUMN
        _expect(follow and several, f"begin, end: entries of {op.name} leaves do not follow each other")
        numbered = np.arange(len(own)) if op in (Op.COUNT, Op.COLUMN) else 0
        _expect((layout.leaf[own] == numbered).all(), f"leaf: {op.name} leaves are not numbered one after the other")
        if op == Op.COUNT:
            _expect(np.array_equal(layout.count_size, end - begin), "count_size: not the number of variables")
        if op == Op.COLUMN:
            _expect(len(own) == n_given, f"leaf: expected {n_given} leaves of other families, found {len(own)}")
    _expect(not layout.leaf[layout.op >= Op.SUM].any(), "leaf: sums and products have none")
    for op, name in ((Op.FACTORS, "bernoulli"), (Op.COUNT, "count"), (Op.TREE, "tree")):
        variables = getattr(layout, f"{name}_variable")
        _expect(_inside(variables, n_variables), f"{name}_variable: a variable is not below {n_variables}")
        own = np.flatnonzero(layout.op == op)
        numbers, which = ranges(layout.begin[own], layout.end[own])
        places = which * n_variables + variables[numbers]
        _expect(len(np.unique(places)) == len(places), f"{name}_variable: a leaf has a variable twice")
    _expect(_inside(layout.bernoulli_leaf, len(layout.bernoulli_leaf)), "bernoulli_leaf: unknown leaf")
    _check_trees(layout)


def _check_trees(layout: TapeLayout) -> None:
    own = np.flatnonzero(layout.op == Op.TREE)
    entries, which = ranges(layout.begin[own], layout.end[own])
    first = layout.begin[own][which]
    parent, source = layout.tree_parent[entries], layout.tree_source[entries]
    _expect(((parent >= -1) & (parent < entries - first)).all(), "tree_parent: expected parents before children")
    inside = ((source >= first) & (source < layout.end[own][which])).all()
    _expect(inside and _is_permutation(layout.tree_source), "tree_source: expected each entry of a tree once")
    has_children = np.zeros(len(layout.tree_parent), dtype=bool)
    has_children[(first + parent)[parent >= 0]] = True
    _expect(np.array_equal(has_children, layout.tree_has_children), "tree_has_children: not what parents say")


def _check_edges(layout: TapeLayout, numbers: TapeNumbers) -> None:
    """Check that sums and products read what came before them, from registers that still hold it."""
    inner = np.flatnonzero(layout.op >= Op.SUM)
    begin, end = layout.begin[inner], layout.end[inner]
    inside = ((begin >= 0) & (begin < end) & (end <= len(layout.argument))).all()
    _expect(
        inside and int((end - begin).sum()) == len(layout.argument), "begin, end: not every edge belongs to one node"
    )
    edges, which = ranges(begin, end)
    _expect(_is_permutation(edges), "begin, end: two instructions have the same edge")
    reader, argument = inner[which], layout.argument[edges]
    _expect(((argument >= 0) & (argument < reader)).all(), "argument: expected earlier instructions")
    last_use = np.full(len(layout), -1)
    np.maximum.at(last_use, argument, reader)
    _expect((last_use[:-1] >= 0).all(), "argument: the value of some instruction is never read")
    last_use[-1] = len(layout)
    _expect(_inside(layout.register, len(layout)), "register: expected no more registers than instructions")
    order = np.lexsort((np.arange(len(layout)), layout.register))
    same = layout.register[order][1:] == layout.register[order][:-1]
    _expect((last_use[order[:-1]] < order[1:])[same].all(), "register: overwritten before it is read")
    fresh = first_edges_down(inner, layout.begin, layout.end, layout.argument)
    _expect(np.array_equal(fresh, layout.fresh), "fresh: not the first edges down")
    of_sum = np.zeros(len(edges), dtype=bool)
    of_sum[edges] = layout.op[reader] == Op.SUM
    sources = layout.weight_source[of_sum]
    known = (layout.weight_source[~of_sum] == -1).all() and _is_permutation(sources)
    _expect(known, "weight_source: expected each weight of sums once")
    _expect((numbers.weight[~of_sum] == 1).all(), "weight: expected 1 at products")


def _check_steps(layout: TapeLayout, steps: IntArray) -> None:
    """Check that steps cover the slots of sums and products, each with instructions of one kind and one size."""
    order = np.argsort(layout.slot)
    first = int((layout.op < Op.SUM).sum())
    bounds = np.concatenate([[first], steps[:, 1]])
    cover = (steps[:, 0] == bounds[:-1]).all() and (steps[:, 0] < steps[:, 1]).all() and bounds[-1] == len(layout)
    _expect(cover and (layout.op[order[first:]] >= Op.SUM).all(), "steps: expected all sums and products after leaves")
    if not len(steps):
        return
    start = np.repeat(steps[:, 0], steps[:, 1] - steps[:, 0])  # of the step of each slot after the leaves'
    op, arity = layout.op[order], (layout.end - layout.begin)[order]
    alike = (op[first:] == op[start]) & ((op[first:] == Op.PRODUCT) | (arity[first:] == arity[start]))
    _expect(alike.all(), "steps: instructions of one step differ")
    edges, which = ranges(layout.begin[order[first:]], layout.end[order[first:]])
    _expect((layout.slot[layout.argument[edges]] < start[which]).all(), "steps: a step reads what comes after it")


def _check_numbers(layout: TapeLayout, numbers: TapeNumbers) -> None:
    """Check that the parameters are probabilities, of which those that belong together sum to 1."""
    for name in ("weight", "bernoulli_p", "tree_p"):
        values = getattr(numbers, name)
        _expect(((values >= 0) & (values <= 1 + TOLERANCE)).all(), f"{name}: expected probabilities from 0 to 1")
    sums = np.flatnonzero(layout.op == Op.SUM)
    edges, which = ranges(layout.begin[sums], layout.end[sums])
    same = abs(np.exp(numbers.log_weight) - numbers.weight) <= TOLERANCE * numbers.weight
    _expect(bool(same.all()), "log_weight: expected the logarithms of the weights")
    total = np.bincount(which, weights=numbers.weight[edges], minlength=len(sums))
    _expect((abs(total - 1) <= 2 * TOLERANCE).all(), "weight: expected weights that sum to 1")
    pairs = [numbers.bernoulli_p, numbers.tree_p[:, :2], numbers.tree_p[:, 2:]]
    _expect(all((abs(own.sum(axis=1) - 1) <= TOLERANCE).all() for own in pairs), "p: expected two that sum to 1")
    roots = numbers.tree_p[layout.tree_parent < 0]
    _expect((roots[:, :2] == roots[:, 2:]).all(), "tree_p: a root has two probabilities")
    _expect((numbers.count_log_w <= TOLERANCE).all(), "count_log_w: expected log-weights of at most 0")
    for n, leaves in layout.triangles.by_size:
        mass = np.exp(numbers.count_log_w[layout.triangles.weight_places(leaves, n)] + log_binomials(n)).sum(axis=1)
        _expect((abs(mass - 1) <= 2 * TOLERANCE).all(), "count_log_w: the weights do not sum to 1")


def _is_permutation(values: IntArray) -> bool:
    """Whether values are 0, 1, …, each of them once."""
    return _inside(values, len(values)) and bool((np.bincount(values, minlength=len(values)) == 1).all())


def _inside(values: AnyArray, stop: int) -> bool:
    return bool(((values >= 0) & (values < stop)).all())


def _expect(holds: Any, otherwise: str) -> None:
    if not holds:
        raise FormatError(otherwise)
