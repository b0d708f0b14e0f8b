"""Records, rules and open tasks as plain values, for a file that any program can read; no pickle.

What is read back is checked: every value for its type and range here, how records and open tasks hang together in
`checked_tree`. A `FormatError` says what is wrong; nothing else is raised, whatever the file holds.
"""

import base64
import math
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.checks import is_finite_number
from xspn.core.errors import FormatError, XSPNError
from xspn.core.random import child_seed
from xspn.distributed.slice import RowsAbove
from xspn.distributed.tree import NO_ROWS, ROOT, OpenTask, PartialTree
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node
from xspn.io.json_format import plain_nodes, root_of_plain
from xspn.learning.assembly import Record
from xspn.learning.clustering.base import Condition, Rule
from xspn.learning.data import MISSING
from xspn.learning.exchangeability.base import TestResult
from xspn.learning.policy import Operation
from xspn.learning.task import Dependence, Task

RELATIONS = ("=", "≠", "≤", ">", "≈", "≉")
SEEDS = 2**64
DEEPEST = 2**31
SAME = 1e-6  # by how much totals of the same rows may differ: they were added up in another order


def plain_tree(tree: PartialTree) -> dict[str, Any]:
    """Return a tree as plain values; contexts that open tasks share are written once."""
    contexts = {
        id(open_task.context): open_task.context for open_task in tree.open.values() if open_task.context is not None
    }
    numbers = {key: number for number, key in enumerate(contexts)}
    return {
        "records": [_plain_record(record) for record in tree.records],
        "parents": tree.parents,
        "soft_sums": sorted(tree.soft_sums),
        "keys": tree.keys,
        "contexts": [_plain_context(context) for context in contexts.values()],
        "open": [
            {"key": key, "context": numbers.get(id(open_task.context)), **_plain_open_task(open_task)}
            for key, open_task in tree.open.items()
        ],
    }


def tree_of_plain(data: Any, root: OpenTask, total: float, context_rows: int) -> PartialTree:
    """Return the tree that `plain_tree` wrote, or refuse what no tree of this root can be.

    Args:
        data: The plain values.
        root: The open task that the tree has grown from.
        total: The weight of all its rows.
        context_rows: How many rows the context of an open task has at most.
    """
    try:
        n = len(root.variables)
        contexts = [_context(own, n, context_rows) for own in _listed(data, "contexts")]
        open_tasks = {_whole(own, "key", -DEEPEST, ROOT): _open_task(own, contexts, n) for own in _listed(data, "open")}
        records = [_record(own, n) for own in _listed(data, "records")]
        parents = [_whole_or_none(parent, "parents", len(records) - 1) for parent in _listed(data, "parents")]
        soft_sums = {_in_range(number, "soft_sums", 0, len(records) - 1) for number in _listed(data, "soft_sums")}
        if len(open_tasks) != len(data["open"]):
            raise FormatError("open: a key occurs twice")
        tree = PartialTree(records, parents, soft_sums, open_tasks, _whole(data, "keys", 1, DEEPEST))
        if records and not math.isclose(records[0].total, total, rel_tol=SAME):
            raise FormatError(f"total: expected {total:g}, found {records[0].total:g}")
        return checked_tree(tree, root)
    except FormatError:
        raise
    except (XSPNError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise FormatError(f"{type(error).__name__}: {error}") from error


def _plain_record(record: Record) -> dict[str, Any]:
    task, test = record.task, record.test
    return {
        "operation": record.operation.name,
        "detail": record.detail,
        "total": record.total,
        "variables": task.variables.tolist(),
        "seed": task.seed,
        "depth": task.depth,
        "seconds": record.seconds,
        "test": None if test is None else [test.method, test.statistic, test.dof, test.p_value, test.parts],
        "node": _plain_node(record.node),
        "weights": record.weights,
        "cut": record.cut,
        "conditions": [[condition.relation, condition.value] for condition in record.conditions],
        "rule": _plain_rule(record.rule),
        "extra": [[_plain_node(node) for node in beside] for beside in record.extra],
        "children": record.children,
    }


def _record(data: Any, n: int) -> Record:
    variables = _variables(data, n)
    task = Task(NO_ROWS, variables, _whole(data, "seed", 0, SEEDS), _whole(data, "depth", 0, DEEPEST))
    weights, extra = data["weights"], _listed(data, "extra")
    return Record(
        task,
        Operation[data["operation"]],
        _text(data, "detail"),
        _number(data, "total", 0.0),
        None if data["test"] is None else _test(data["test"]),
        _number(data, "seconds", 0.0),
        None if data["node"] is None else _node(data["node"], variables),
        None if weights is None else _numbers(data, "weights", 0.0).tolist(),
        _whole_or_none(data["cut"], "cut", n - 1),
        tuple(_condition(own) for own in _listed(data, "conditions")),
        _rule(data["rule"], len(variables)),
        [[_node(node, np.array([data["cut"]])) for node in beside] for beside in extra],
        [],
        [_in_range(child, "children", -DEEPEST, DEEPEST) for child in _listed(data, "children")],
    )


def _test(data: Any) -> TestResult:
    method, statistic, dof, p_value, parts = data
    if not isinstance(method, str) or not isinstance(parts, dict):
        raise FormatError(f"test: found {data!r:.60}")
    own = {"statistic": statistic, "dof": dof, "p_value": p_value}
    if not 0 <= _number(own, "p_value") <= 1:
        raise FormatError(f"p_value: expected a probability, found {p_value}")
    return TestResult(method, _number(own, "statistic"), _number(own, "dof", 0.0), _number(own, "p_value"), parts)


def _condition(data: Any) -> Condition:
    relation, value = data
    if relation not in RELATIONS:
        raise FormatError(f"conditions: found {relation!r:.60}")
    return Condition(relation, _number({"value": value}, "value"))


def _node(data: Any, variables: IntArray) -> Node:
    """Return a node, which must be about these variables, each with two values."""
    root = root_of_plain(data)
    graph = Graph(root)
    if set(root.scope) != set(variables.tolist()):
        raise FormatError("node: not about the variables of its record")
    if any(domain is not None and domain.cardinality != 2 for domain in graph.domains):
        raise FormatError("node: not about binary variables")
    return root


def _plain_node(node: Node | None) -> list[dict[str, Any]] | None:
    return None if node is None else plain_nodes(Graph(node))


def _plain_rule(rule: Rule | None) -> dict[str, Any] | None:
    if rule is None:
        return None
    return {"ones": rule.ones.tolist(), "zeros": rule.zeros.tolist(), "bias": rule.bias, "variable": rule.variable}


def _rule(data: Any, n: int) -> Rule | None:
    if data is None:
        return None
    ones, zeros = _numbers(data, "ones"), _numbers(data, "zeros")
    if not len(ones) == len(zeros) == n:
        raise FormatError(f"rule: expected {n} numbers, found {len(ones)} and {len(zeros)}")
    return Rule(ones, zeros, _number(data, "bias"), _whole_or_none(data["variable"], "variable", n - 1))


def _plain_open_task(open_task: OpenTask) -> dict[str, Any]:
    return {
        "variables": open_task.variables.tolist(),
        "seed": open_task.seed,
        "depth": open_task.depth,
        "known": open_task.known.name,
        "rows": open_task.rows,
        "parent": open_task.parent,
        "branch": open_task.branch,
    }


def _open_task(data: Any, contexts: Sequence[RowsAbove], n: int) -> OpenTask:
    number = _whole_or_none(data["context"], "context", len(contexts) - 1)
    return OpenTask(
        _variables(data, n),
        _whole(data, "seed", 0, SEEDS),
        _whole(data, "depth", 0, DEEPEST),
        Dependence[data["known"]],
        None if number is None else contexts[number],
        _number(data, "rows", 0.0),
        _whole_or_none(data["parent"], "parent", DEEPEST),
        _whole(data, "branch", 0, DEEPEST),
    )


def _plain_context(context: RowsAbove) -> dict[str, Any]:
    return {
        "variables": context.variables.tolist(),
        "bits": to_text(context.bits),
        "weights": to_text(context.weights),
    }


def _context(data: Any, n: int, most_rows: int) -> RowsAbove:
    variables = _variables(data, n)
    bits = from_text(data, "bits", np.dtype(np.uint8), most_rows * len(variables)).reshape(-1, len(variables))
    weights = from_text(data, "weights", np.dtype(np.float64), most_rows)
    if len(weights) != len(bits) or not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise FormatError("context: expected a weight of at least 0 for each row, and one above 0")
    if not np.isin(bits, (0, 1, MISSING)).all():
        raise FormatError("context: expected bits")
    return RowsAbove(variables, bits, weights)


def to_text(array: AnyArray) -> str:
    """Return the numbers of an array as text."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode("ascii")


def from_text(data: Any, key: str, kind: np.dtype[Any], most: int) -> AnyArray:
    """Return an array of at most so many numbers; what would be longer is never unpacked."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(base64.b64decode(_text(data, key), validate=True), most * kind.itemsize + 1)
    except zlib.error as error:
        raise FormatError(f"{key}: {error}") from error
    if len(content) > most * kind.itemsize or not unpacking.eof or unpacking.unused_data:
        raise FormatError(f"{key}: expected at most {most:,} packed numbers")
    return np.frombuffer(content, dtype=kind).copy()


# -- single values -----------------------------------------------------------------------------------------------------


def _listed(data: Any, key: str) -> list[Any]:
    if not isinstance(data[key], list):
        raise FormatError(f"{key}: expected a list, found {data[key]!r:.60}")
    return list(data[key])


def _text(data: Any, key: str) -> str:
    if not isinstance(data[key], str):
        raise FormatError(f"{key}: expected a text, found {data[key]!r:.60}")
    return str(data[key])


def _whole(data: Any, key: str, least: int, most: int) -> int:
    return _in_range(data[key], key, least, most)


def _in_range(value: Any, what: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise FormatError(f"{what}: expected a whole number from {least} to {most}, found {value!r:.60}")
    return value


def _whole_or_none(value: Any, what: str, most: int) -> int | None:
    return None if value is None else _in_range(value, what, 0, most)


def _number(data: Any, key: str, least: float = -math.inf) -> float:
    value = data[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormatError(f"{key}: expected a number, found {value!r:.60}")
    if not is_finite_number(value, least):
        raise FormatError(f"{key}: expected a finite number of at least {least}, found {value!r:.60}")
    return value


def _numbers(data: Any, key: str, least: float = -math.inf) -> FloatArray:
    return np.array([_number({key: value}, key, least) for value in _listed(data, key)], dtype=np.float64)


def _variables(data: Any, n: int) -> IntArray:
    """Return different columns of a table, in their order."""
    found = [_in_range(value, "variables", 0, n - 1) for value in _listed(data, "variables")]
    if not found or any(a >= b for a, b in pairwise(found)):
        raise FormatError("variables: expected different columns in their order")
    return np.array(found, dtype=np.int64)


# -- how records and open tasks hang together --------------------------------------------------------------------------


def checked_tree(tree: PartialTree, root: OpenTask) -> PartialTree:
    """Return the tree if it can have grown from this root: each part has one parent, and follows from it.

    What a leaf holds cannot be checked: the digest is there against damage, not against those who write a new one.
    """
    waiting: list[tuple[int, int | None, int]] = [(tree.root, None, 0)]
    seen: set[int] = set()
    while waiting:
        number, parent, branch = waiting.pop()
        if number in seen or not (0 <= number < len(tree.records) or number in tree.open):
            raise FormatError(f"node {number}: not there, or in two places")
        seen.add(number)
        above = None if parent is None else tree.records[parent].task
        own: Task | OpenTask = tree.records[number].task if number >= 0 else tree.open[number]
        expected = (root.seed, 0) if above is None else (child_seed(above.seed, branch), above.depth + 1)
        if (own.seed, own.depth) != expected:
            raise FormatError(f"node {number}: seed and depth do not follow from the node above")
        if above is None and not np.array_equal(own.variables, root.variables):
            raise FormatError(f"node {number}: not about all variables")
        if number >= 0:
            waiting += [(child, number, k) for k, child in enumerate(tree.records[number].children)]
        else:
            _check_open_task(tree, number, parent, branch, root)
    if len(seen) != len(tree.records) + len(tree.open) or len(tree.parents) != len(tree.records):
        raise FormatError("some record or open task hangs nowhere")
    if any(-key > tree.keys for key in tree.open):
        raise FormatError("keys: fewer than the open tasks")
    for number in range(len(tree.records)):
        _check_record(tree, number)
    return tree


def _check_open_task(tree: PartialTree, key: int, parent: int | None, branch: int, root: OpenTask) -> None:
    """Check that the rows of an open task can be found: the way up is known, and each sum on it has a rule."""
    open_task = tree.open[key]
    if open_task.parent != parent or (parent is not None and open_task.branch != branch):
        raise FormatError(f"open task {key}: hangs below {parent}, not below {open_task.parent}")
    if open_task.rows > root.rows * (1 + SAME):
        raise FormatError(f"open task {key}: more rows than the table has")
    number, nearest_sum = parent, None
    while number is not None:
        record, above = tree.records[number], tree.parents[number]
        if record.weights is not None and (record.rule is None or len(record.children) != 2):
            raise FormatError(f"node {number}: a sum without a rule")
        if number and (above is None or number not in tree.records[above].children):
            raise FormatError(f"node {number}: hangs below an open task's way up")
        nearest_sum = record.task if nearest_sum is None and record.weights is not None else nearest_sum
        number = above if number else None
    around = [] if open_task.context is None else open_task.context.variables.tolist()
    if around != ([] if nearest_sum is None else nearest_sum.variables.tolist()):
        raise FormatError(f"open task {key}: the context is that of another open task")


def _check_record(tree: PartialTree, number: int) -> None:
    """Check that a record is a leaf, a product or a sum, and that what is below makes up its variables and rows."""
    record, soft = tree.records[number], number in tree.soft_sums
    children = [tree.records[child] if child >= 0 else tree.open[child] for child in record.children]
    parts = [child.task.variables if isinstance(child, Record) else child.variables for child in children]
    own = record.task.variables
    if record.node is not None:
        if children or record.weights is not None or record.extra or soft:
            raise FormatError(f"node {number}: a leaf with something below it")
        return
    clustered = soft or record.extra or record.rule is not None or record.cut is not None
    if not children or (record.weights is None and clustered):
        raise FormatError(f"node {number}: neither a leaf nor a product nor a sum")
    totals = [child.total for child in children if isinstance(child, Record)]
    if record.weights is None:
        if not np.array_equal(np.sort(np.concatenate(parts)), np.sort(own)):
            raise FormatError(f"node {number}: factors that do not make up its variables")
        largest = max(totals, default=0.0)
    else:
        largest = sum(totals)
        beside = [set() if not nodes else {record.cut} for nodes in record.extra]
        if not len(record.weights) == len(beside) == len(children) or len(record.conditions) not in (0, len(children)):
            raise FormatError(f"node {number}: a sum whose parts do not belong together")
        if any(set(part.tolist()) | fixed != set(own.tolist()) for part, fixed in zip(parts, beside, strict=True)):
            raise FormatError(f"node {number}: clusters that do not have its variables")
        if any(record.cut in part for part, fixed in zip(parts, beside, strict=True) if fixed):
            raise FormatError(f"node {number}: a cluster that still has the variable of the split")
        if record.rule is not None and record.rule.variable is not None and own[record.rule.variable] != record.cut:
            raise FormatError(f"node {number}: a rule about another variable than the split's")
        if not math.isclose(sum(record.weights), 1.0, rel_tol=SAME):
            raise FormatError(f"node {number}: weights that do not add up to 1")
    if largest > record.total * (1 + SAME):
        raise FormatError(f"node {number}: more rows below it than in it")
