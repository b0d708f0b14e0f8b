"""Records, rules and places as plain values, for a file that any program can read; no pickle."""

import base64
import zlib
from typing import Any

import numpy as np

from xspn._core.arrays import AnyArray
from xspn.circuit.graph import Graph
from xspn.circuit.nodes import Node
from xspn.distributed.slice import Context
from xspn.distributed.subtrees import NO_ROWS, Place
from xspn.distributed.tree import Tree
from xspn.io.json_format import plain_nodes, root_of_plain
from xspn.learning.assembly import Record
from xspn.learning.clustering.base import Condition
from xspn.learning.clustering.rule import Rule
from xspn.learning.exchangeability.base import TestResult
from xspn.learning.policy import Dependence, Operation
from xspn.learning.task import Task


def plain_tree(tree: Tree) -> dict[str, Any]:
    """Return a tree as plain values; contexts that places share are written once."""
    contexts = {id(place.context): place.context for place in tree.open.values() if place.context is not None}
    numbers = {key: number for number, key in enumerate(contexts)}
    return {
        "records": [_plain_record(record) for record in tree.records],
        "parents": tree.parents,
        "in_shares": sorted(tree.in_shares),
        "keys": tree.keys,
        "contexts": [_plain_context(context) for context in contexts.values()],
        "open": [
            {"key": key, "context": numbers.get(id(place.context)), **_plain_place(place)}
            for key, place in tree.open.items()
        ],
    }


def tree_of_plain(data: dict[str, Any]) -> Tree:
    """Return the tree that `plain_tree` wrote."""
    contexts = [_context(own) for own in data["contexts"]]
    places = {own["key"]: _place(own, contexts) for own in data["open"]}
    records = [_record(own) for own in data["records"]]
    return Tree(records, list(data["parents"]), set(data["in_shares"]), places, data["keys"])


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


def _record(data: dict[str, Any]) -> Record:
    task = Task(NO_ROWS, np.array(data["variables"], dtype=np.int64), data["seed"], data["depth"])
    return Record(
        task,
        Operation[data["operation"]],
        data["detail"],
        data["total"],
        None if data["test"] is None else TestResult(*data["test"]),
        data["seconds"],
        None if data["node"] is None else root_of_plain(data["node"]),
        data["weights"],
        data["cut"],
        tuple(Condition(relation, value) for relation, value in data["conditions"]),
        _rule(data["rule"]),
        [[root_of_plain(node) for node in beside] for beside in data["extra"]],
        [],
        list(data["children"]),
    )


def _plain_node(node: Node | None) -> list[dict[str, Any]] | None:
    return None if node is None else plain_nodes(Graph(node))


def _plain_rule(rule: Rule | None) -> dict[str, Any] | None:
    if rule is None:
        return None
    return {"ones": rule.ones.tolist(), "zeros": rule.zeros.tolist(), "bias": rule.bias, "variable": rule.variable}


def _rule(data: dict[str, Any] | None) -> Rule | None:
    if data is None:
        return None
    return Rule(np.array(data["ones"]), np.array(data["zeros"]), data["bias"], data["variable"])


def _plain_place(place: Place) -> dict[str, Any]:
    return {
        "variables": place.variables.tolist(),
        "seed": place.seed,
        "depth": place.depth,
        "known": place.known.name,
        "rows": place.rows,
        "parent": place.parent,
        "branch": place.branch,
    }


def _place(data: dict[str, Any], contexts: list[Context]) -> Place:
    return Place(
        np.array(data["variables"], dtype=np.int64),
        data["seed"],
        data["depth"],
        Dependence[data["known"]],
        None if data["context"] is None else contexts[data["context"]],
        data["rows"],
        data["parent"],
        data["branch"],
    )


def _plain_context(context: Context) -> dict[str, Any]:
    return {
        "variables": context.variables.tolist(),
        "bits": _packed(context.bits),
        "weights": _packed(context.weights),
    }


def _context(data: dict[str, Any]) -> Context:
    variables = np.array(data["variables"], dtype=np.int64)
    bits = _unpacked(data["bits"], np.uint8).reshape(-1, len(variables))
    return Context(variables, bits, _unpacked(data["weights"], np.float64))


def _packed(array: AnyArray) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode("ascii")


def _unpacked(text: str, kind: Any) -> AnyArray:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind).copy()
