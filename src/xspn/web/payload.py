"""A circuit as the explorer's page reads it: its nodes in flat arrays, its variables, and its contexts and blocks."""

import base64
import gzip
import json
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.errors import QueryError
from xspn.core.logspace import safe_log
from xspn.data.schema import Schema
from xspn.graph.graph import Graph, summarize
from xspn.graph.nodes import LeafNode, Node, Sum
from xspn.inference.composition import Composition
from xspn.leaves.base import Leaf, WebForm

MOST_EDGES = 1_000_000
MOST_NUMBERS = 8_000_000  # parameters of leaves
MOST_CELLS = 4_000_000  # of a table that comes along
MOST_CONTEXTS, MOST_CONTEXTS_IN_ALL, MOST_BLOCKS, DEEPEST = 40, 400, 60, 3
SMALLER = 'distill it (`circuit.distill`), or learn a smaller one: max_parameters, or quality="fast"'
SUM, PRODUCT, LEAF = 0, 1, 2


@dataclass
class PackedArrays:
    """Typed arrays that become one compressed text, and where each of them lies in it."""

    places: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    _parts: list[bytes] = field(default_factory=list)
    _end: int = 0

    def add(self, name: str, values: AnyArray) -> None:
        """Append an array; whole numbers take as few bytes as they need."""
        array = np.asarray(values)
        if array.dtype.kind != "f":
            signed = bool(array.size) and int(array.min()) < 0
            array = array.astype(np.min_scalar_type(-int(abs(array).max()) - 1) if signed else _smallest(array))
        self._parts.append(bytes(-self._end % 8))
        self._end += -self._end % 8
        self.places[name] = (array.dtype.name, self._end, array.size)
        self._parts.append(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
        self._end += len(self._parts[-1])

    def text(self) -> str:
        """Return all arrays, compressed, in base 64."""
        return base64.b64encode(gzip.compress(b"".join(self._parts), mtime=0)).decode("ascii")


def _smallest(array: AnyArray) -> Any:
    found = np.min_scalar_type(int(array.max()) if array.size else 0)
    return np.uint32 if found == np.uint64 else found  # scripts have no such array of 64 bits


def model_payload(
    graph: Graph, schema: Schema, rows: FloatArray | None = None, scores: FloatArray | None = None
) -> dict[str, Any]:
    """Return what the page is made of, as a value for JSON.

    Args:
        graph: The circuit's nodes.
        schema: The names, domains and labels of its columns.
        rows: The codes of a table that comes along, NaN for what is missing.
        scores: The log-likelihood of each of these rows.
    """
    arrays = PackedArrays()
    kinds = _add_nodes(arrays, graph)
    if rows is not None and scores is not None:
        _add_rows(arrays, rows, scores)
    size = summarize(graph)
    return {
        "variables": [_variable(schema, v) for v in graph.root.scope],
        "width": graph.n_variables,
        "kinds": kinds,
        "arrays": arrays.places,
        "data": arrays.text(),
        "structure": _Structure(graph, schema).all_rows(),
        "size": {"nodes": size.nodes, "edges": size.edges, "parameters": size.parameters, "leaves": size.leaves},
    }


def json_for_script(value: Any) -> str:
    r"""Return JSON that can stand inside of a script element: no sign in it ends the element.

    Examples:
        >>> json_for_script({"name": "</script>&"})
        '{"name":"\\u003c/script\\u003e\\u0026"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _add_nodes(arrays: PackedArrays, graph: Graph) -> list[str]:
    """Add nodes, edges, weights and leaves; return the names of the leaves' kinds."""
    if graph.n_edges > MOST_EDGES:
        size = f"{graph.n_edges:,} edges ({summarize(graph).parameters:,} parameters)"
        raise QueryError(
            f"explore: the model has {size}, more than the {MOST_EDGES:,} edges that a page answers at once; {SMALLER}"
        )
    nodes, forms = graph.nodes, [_form(leaf) for leaf in graph.leaves]
    numbers = sum(len(form.reals) for form in forms)
    if numbers > MOST_NUMBERS:
        raise QueryError(
            f"explore: the model's leaves have {numbers:,} numbers, more than the {MOST_NUMBERS:,} that a page can "
            f"hold; {SMALLER}"
        )
    kinds = sorted({form.kind for form in forms})
    place = {kind: i for i, kind in enumerate(kinds)}
    types = [LEAF if isinstance(node, LeafNode) else SUM if isinstance(node, Sum) else PRODUCT for node in nodes]
    weights = [node.weights for node in nodes if isinstance(node, Sum)]
    arrays.add("type", np.array(types, dtype=np.uint8))
    arrays.add("edges", np.diff(graph.edges.begin))
    arrays.add("child", graph.edges.child)
    arrays.add("weights", safe_log(np.concatenate(weights)) if weights else np.empty(0))
    arrays.add("kind", np.array([place[form.kind] for form in forms], dtype=np.uint8))
    for name, parts in (
        ("variable", [leaf.variables for leaf in graph.leaves]),
        ("integer", [form.integers for form in forms]),
        ("real", [form.reals for form in forms]),
    ):
        arrays.add(f"{name}s", np.array([len(part) for part in parts], dtype=np.int64))
        flat = np.fromiter(chain.from_iterable(parts), dtype=np.float64 if name == "real" else np.int64)
        arrays.add(name, flat)
    return kinds


def _form(leaf: LeafNode) -> WebForm:
    if not isinstance(leaf, Leaf):
        raise QueryError(f"explore: expected leaves of a registered family, found {type(leaf).__name__}")
    return leaf.web_form()


def _add_rows(arrays: PackedArrays, rows: FloatArray, scores: FloatArray) -> None:
    if rows.size > MOST_CELLS:
        raise QueryError(
            f"explore: the table has {rows.size:,} cells, more than the {MOST_CELLS:,} that a page can hold; "
            f"take at most {MOST_CELLS // max(rows.shape[1], 1):,} rows"
        )
    whole = np.where(np.isnan(rows), -1, rows)
    codes = bool((whole == np.round(whole)).all() and (whole >= -1).all() and (whole < 2**31).all())
    arrays.add("rows", whole.astype(np.int64).ravel() if codes else rows.ravel().astype(np.float64))
    arrays.add("scores", scores.astype(np.float64))


def _variable(schema: Schema, variable: int) -> dict[str, Any]:
    domain = schema.domains[variable]
    found: dict[str, Any] = {"column": variable, "name": schema.shown_name(variable)}
    if domain is None or domain.cardinality is None:
        whole = (schema.dtypes[variable] or "").lower().startswith(("int", "uint"))
        return {**found, "kind": "real", "whole": whole}
    labels = [schema.label(variable, code) for code in range(domain.cardinality)]
    found |= {"kind": domain.kind, "labels": list(map(str, labels)), "plain": schema.meanings[variable] is None}
    return found if all(isinstance(label, str) for label in labels) else {**found, "literals": list(map(repr, labels))}


class _Structure:
    """Contexts, blocks and what stands alone, for the page: the outer ones first, as many as a person would open."""

    def __init__(self, graph: Graph, schema: Schema) -> None:
        self.graph, self.schema = graph, schema
        self.composition = Composition(graph)
        self._told: set[int] = set()
        self._left = MOST_CONTEXTS_IN_ALL
        self._waiting: deque[tuple[Sum, int, list[dict[str, Any]]]] = deque()  # mixtures, and where to put contexts

    def all_rows(self) -> dict[str, Any]:
        """Return the root: a mixture of contexts, or one context."""
        root = self.graph.root
        is_mixture = isinstance(root, Sum) and len(root.scope) > 1
        found = self._mixture(root, 0) if is_mixture else {"node": self.graph.id_of(root), **self._parts(root, 0)}
        while self._waiting:
            mixture, depth, contexts = self._waiting.popleft()
            own = self.composition.contexts(mixture)[:MOST_CONTEXTS]
            if len(own) > self._left or self.graph.id_of(mixture) in self._told:
                continue
            self._left -= len(own)
            self._told.add(self.graph.id_of(mixture))
            contexts += [{"node": self.graph.id_of(context), **self._parts(context, depth + 1)} for _, context in own]
        return found

    def _mixture(self, mixture: Node, depth: int) -> dict[str, Any]:
        """Return a mixture whose contexts are told later, if there is room for them."""
        assert isinstance(mixture, Sum)
        contexts: list[dict[str, Any]] = []
        if depth < DEEPEST:
            self._waiting.append((mixture, depth, contexts))
        total = len(self.composition.contexts(mixture))
        return {
            "node": self.graph.id_of(mixture),
            "variables": list(mixture.scope),
            "total": total,
            "contexts": contexts,
        }

    def _parts(self, context: Node, depth: int) -> dict[str, Any]:
        parts = self.composition.parts(context)
        return {
            "blocks": [self._block(block) for block in parts.blocks[:MOST_BLOCKS]],
            "mixtures": [self._mixture(mixture, depth) for mixture in parts.mixtures[:MOST_BLOCKS]],
            "alone": [v for node in parts.alone for v in node.scope],
        }

    def _block(self, block: Leaf) -> dict[str, Any]:
        names = [self.schema.shown_name(v) for v in block.variables]
        law = block.law(names, partial(self._label, block.variables[0]))
        alike = [len(group) for group in block.interchangeable()]
        return {
            "node": self.graph.id_of(block),
            "variables": list(block.variables),
            "law": law,
            "alike": alike == [len(block.variables)],
        }

    def _label(self, variable: int, code: int) -> str:
        return str(self.schema.label(variable, code))
