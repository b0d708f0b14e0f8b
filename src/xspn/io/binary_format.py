"""A circuit as a compact binary file: the same content as the JSON text, in arrays.

The container (`xspn.io.container`) holds in its head what JSON holds beside the nodes: names, domains, labels, dtypes
and notes, and the families of the leaves. Nodes are in order, children before parents, the last one is the root:

```
kind      (nodes,)      0 for a sum, 1 for a product, 2 + f for a leaf of family f of the head's list
arity     (sums and products,)
child     (edges,)      the children of one sum or product after the other
weight    (edges of sums,)
f.size    (leaves of family f,)  the number of variables of each
f.variable              the variables of one leaf after the other
f.…                     what `Leaf.pack` gives for the family
```

Everything is checked when a file is read: all at once in arrays, so that a million parameters take about a second.
"""

from collections.abc import Mapping
from itertools import chain, compress
from operator import attrgetter
from typing import Any

import numpy as np

from xspn._core.arrays import AnyArray, BoolArray, IntArray
from xspn._core.checks import probability_vector, sums_of_parts
from xspn._core.errors import FormatError, XSPNError
from xspn.circuit.domain import Domain
from xspn.circuit.graph import Edges, Graph, merged_domains
from xspn.circuit.nodes import Node, Product, Sum
from xspn.circuit.scope import Scope, why_not_disjoint, why_not_equal
from xspn.io.container import Content, packed_file, unpacked_file
from xspn.io.json_format import columns_in_head, columns_of_head, head_of_columns
from xspn.io.limits import check_nodes
from xspn.leaves.base import Leaf, cut, leaves
from xspn.model import Circuit

FORMAT, SCHEMA = "xspn-circuit", 1
SUM, PRODUCT, LEAF = 0, 1, 2
_NO_SCOPE = Scope()


def to_binary(circuit: Circuit, notes: dict[str, Any] | None = None) -> list[bytes | memoryview]:
    """Return the parts of a binary file, to be written one after the other."""
    graph = circuit.graph
    types = list(map(type, graph.nodes))
    families = list(dict.fromkeys(own for own in types if own is not Sum and own is not Product))
    code = {Sum: SUM, Product: PRODUCT, **{own: LEAF + place for place, own in enumerate(families)}}
    kind: IntArray = np.fromiter(map(code.__getitem__, types), dtype=np.int64, count=len(types))
    arity = np.diff(graph.edges.begin)[kind < LEAF]
    sums = list(compress(graph.nodes, (kind == SUM).tolist()))
    arrays: dict[str, AnyArray] = {"kind": _small(kind), "arity": _small(arity), "child": _small(graph.edges.child)}
    arrays["weight"] = np.concatenate([np.empty(0), *(node.weights for node in sums if isinstance(node, Sum))])
    for place, family in enumerate(families):
        own: Any = list(compress(graph.nodes, (kind == LEAF + place).tolist()))
        variables = list(map(attrgetter("_variables"), own))
        arrays[f"{place}.size"] = _small(np.fromiter(map(len, variables), dtype=np.int64, count=len(own)))
        arrays[f"{place}.variable"] = _small(np.fromiter(chain.from_iterable(variables), dtype=np.int64))
        arrays |= {f"{place}.{name}": _small(array) for name, array in family.pack(own).items()}  # type: ignore[attr-defined]
    head = {"format": FORMAT, "schema": SCHEMA, **head_of_columns(circuit.columns), "notes": notes or {}}
    return packed_file({**head, "families": [family.family for family in families]}, arrays)  # type: ignore[attr-defined]


def from_binary(content: Content, source: str) -> tuple[Circuit, dict[str, Any]]:
    """Return the circuit of a binary file and the notes beside it, or say what is wrong with the file."""
    head, arrays = unpacked_file(content, source, FORMAT, SCHEMA)
    try:
        notes = head.get("notes", {})
        if not isinstance(notes, dict):
            raise FormatError("'notes' is not an object")
        n_variables = columns_in_head(head, source)
        graph = _Builder(head["families"], arrays, n_variables).graph()
        return Circuit.of_columns(graph, columns_of_head(head, graph.domains, source)), notes
    except (XSPNError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise FormatError(f"{source}: the content does not form a circuit ({error})") from error


class _Builder:
    """Makes the nodes of a file: leaves by family, then all sums and products at once."""

    def __init__(self, families: Any, arrays: Mapping[str, AnyArray], n_variables: int) -> None:
        self.arrays, self.n_variables = arrays, n_variables
        self.families = [leaves[name] for name in families]
        self.kind = self._integers("kind")
        check_nodes(len(self.kind), "circuit")
        _expect(self.kind.max() < LEAF + len(self.families) and self.kind.min() >= 0, "'kind': unknown family")

    def graph(self) -> Graph:
        nodes: AnyArray = np.empty(len(self.kind), dtype=object)
        domains: list[set[tuple[int, Domain]]] = []
        for place, family in enumerate(self.families):
            chosen = self.kind == LEAF + place
            own = self._leaves(place, family, int(chosen.sum()))
            nodes[chosen] = own
            domains.append(_domains(family, own, self.arrays[f"{place}.variable"]))
        edges = self._edges()
        made = self._with_inner_nodes(nodes, edges)
        return Graph.of_nodes(made, edges, merged_domains(chain.from_iterable(domains), self.n_variables))

    def _integers(self, name: str) -> IntArray:
        array = self.arrays[name]
        _expect(array.dtype.kind in "iu" and array.ndim == 1, f"{name!r}: expected whole numbers")
        return array.astype(np.int64)

    def _leaves(self, place: int, family: type[Leaf], count: int) -> list[Leaf]:
        size, variable = self._integers(f"{place}.size"), self._integers(f"{place}.variable")
        _expect(len(size) == count and (size > 0).all(), f"{family.family}: expected a size for each leaf")
        _expect((size <= len(variable)).all() and int(size.sum()) == len(variable), f"{family.family}: sizes differ")
        inside = (variable >= 0) & (variable < self.n_variables)
        _expect(inside.all(), f"{family.family}: a variable is not below {self.n_variables}, the number of columns")
        if (size == 1).all():
            alone = [(v,) for v in range(self.n_variables)]  # one tuple for each, however many leaves there are
            variables = list(map(alone.__getitem__, variable.tolist()))
        else:
            flat, ends = variable.tolist(), np.cumsum(size).tolist()
            variables = [tuple(flat[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
        prefix = f"{place}."
        own = {name.removeprefix(prefix): array for name, array in self.arrays.items() if name.startswith(prefix)}
        return family.unpack(variables, own)

    def _edges(self) -> Edges:
        arity, child = self._integers("arity"), self._integers("child")
        inner = np.flatnonzero(self.kind < LEAF)
        _expect(len(arity) == len(inner) and (arity > 0).all(), "'arity': expected one for each sum and product")
        _expect((arity <= len(child)).all() and int(arity.sum()) == len(child), "'child': not as many as arities say")
        _expect(((child >= 0) & (child < np.repeat(inner, arity))).all(), "'child': expected earlier nodes")
        used = np.bincount(child, minlength=len(self.kind))
        _expect((used[:-1] > 0).all(), "'child': some node is part of nothing")
        begin = np.zeros(len(self.kind) + 1, dtype=np.int64)
        begin[1:][inner] = arity
        return Edges(np.cumsum(begin), child)

    def _with_inner_nodes(self, nodes: AnyArray, edges: Edges) -> list[Node]:
        """Return all nodes: blank sums and products are made first, so that each can be the child of another."""
        inner = self.kind < LEAF
        is_sum = self.kind[inner] == SUM
        nodes[self.kind == SUM] = sums = Sum.blank(int(is_sum.sum()))
        nodes[self.kind == PRODUCT] = products = Product.blank(len(is_sum) - len(sums))
        made: list[Node] = nodes.tolist()
        scopes = self._scopes(made, edges, inner)
        begin, end = edges.begin[:-1][inner].tolist(), edges.begin[1:][inner].tolist()
        below = list(map(made.__getitem__, edges.child.tolist()))
        children = [tuple(below[start:stop]) for start, stop in zip(begin, end, strict=True)]
        own, others = is_sum.tolist(), (~is_sum).tolist()
        weights = self._weights(np.diff(edges.begin)[inner][is_sum])
        Sum.fill(sums, children=compress(children, own), scope=compress(scopes, own), weights=weights)
        Product.fill(products, children=compress(children, others), scope=compress(scopes, others))
        return made

    def _scopes(self, nodes: list[Node], edges: Edges, inner: BoolArray) -> list[Scope]:
        """Return the scopes of sums and products in order, or say which one is not smooth or not decomposable."""
        child, begin, kind = edges.child.tolist(), edges.begin.tolist(), self.kind.tolist()
        scope = [node.scope if k >= LEAF else _NO_SCOPE for node, k in zip(nodes, kind, strict=True)]
        shared: dict[int, Scope] = {}
        places = np.flatnonzero(inner).tolist()
        for i in places:
            own = [scope[c] for c in child[begin[i] : begin[i + 1]]]
            bits = own[0].bits
            if kind[i] == SUM:
                if any(other.bits != bits for other in own):
                    raise FormatError(f"node {i} is not smooth: {why_not_equal(own)}")
            else:
                for other in own[1:]:
                    if bits & other.bits:
                        raise FormatError(f"node {i} is not decomposable: {why_not_disjoint(own)}")
                    bits |= other.bits
            known = shared.get(bits)
            scope[i] = shared.setdefault(bits, Scope(bits)) if known is None else known
        return [scope[i] for i in places]

    def _weights(self, arity: IntArray) -> list[AnyArray]:
        flat = self.arrays["weight"]
        _expect(flat.dtype == np.float64 and flat.ndim == 1, "'weight': expected numbers")
        weights = cut(flat, arity)
        for i in np.flatnonzero(abs(sums_of_parts(flat, arity, "'weight'") - 1) > 1e-9).tolist():
            probability_vector(weights[i], f"weights of sum {i}")
        return weights


def _domains(family: type[Leaf], own: list[Leaf], variables: AnyArray) -> set[tuple[int, Domain]]:
    """Return what the leaves of a family say of their variables' domains."""
    if family.only_domain is not None:
        return {(v, family.only_domain) for v in np.unique(variables).tolist()}
    return {pair for leaf in own for pair in zip(leaf.variables, leaf.domains, strict=True)}


def _small(array: AnyArray) -> AnyArray:
    """Return whole numbers in as few bits as the container has types for."""
    if array.dtype != np.int64:
        return array
    least, most = array.min(initial=0), array.max(initial=0)
    if least >= 0 and most < 1 << 8:
        return array.astype(np.uint8)
    return array.astype(np.int32) if -(1 << 31) <= least and most < 1 << 31 else array


def _expect(holds: Any, otherwise: str) -> None:
    if not holds:
        raise FormatError(otherwise)
