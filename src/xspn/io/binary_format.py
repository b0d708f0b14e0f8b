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

from collections.abc import Mapping, Sequence
from itertools import chain, compress
from typing import Any

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import AnyArray, BoolArray, IntArray
from xspn.core.checks import probability_vector, sums_of_parts
from xspn.core.errors import FormatError
from xspn.data.domain import Domain
from xspn.graph.graph import Edges, Graph, levels_of, merged_domains
from xspn.graph.nodes import LeafNode, Node, Product, Scope, Sum, why_not_disjoint, why_not_equal
from xspn.io.container import packed_file, unpacked_file
from xspn.io.json_format import UNUSABLE, check_nodes, columns_in_head, columns_of_head, head_of_columns, shown_error
from xspn.leaves.base import Leaf, leaves, pieces

FORMAT, SCHEMA = "xspn-circuit", 1
SUM, PRODUCT, LEAF = 0, 1, 2
_NO_SCOPE = Scope()


def to_binary(circuit: Circuit, notes: dict[str, Any]) -> list[bytes | memoryview]:
    """Return the parts of a binary file, to be written one after the other."""
    graph = circuit.graph
    code = {Sum: SUM, Product: PRODUCT}
    kind: IntArray = np.fromiter((code.get(type(node), LEAF) for node in graph.nodes), dtype=np.int64, count=len(graph))
    families, family, arrays = pack_leaves(graph.leaves)
    kind[kind == LEAF] += family
    sums: list[Any] = list(compress(graph.nodes, (kind == SUM).tolist()))
    arrays["kind"], arrays["child"] = small_integers(kind), small_integers(graph.edges.child)
    arrays["arity"] = small_integers(np.diff(graph.edges.begin)[kind < LEAF])
    arrays["weight"] = np.concatenate([np.empty(0), *(node.weights for node in sums)])
    head = {"format": FORMAT, "schema": SCHEMA, **head_of_columns(circuit.schema), "notes": notes}
    return packed_file({**head, "families": families}, arrays)


def from_binary(content: bytes, source: str) -> tuple[Circuit, dict[str, Any]]:
    """Return the circuit of a binary file and the notes beside it, or say what is wrong with the file."""
    head, arrays = unpacked_file(np.frombuffer(content, dtype=np.uint8), source, FORMAT, SCHEMA)
    try:
        notes = head.get("notes", {})
        if not isinstance(notes, dict):
            raise FormatError("'notes' is not an object")
        n_variables = columns_in_head(head, source)
        with np.errstate(all="ignore"):  # numbers that are none are refused, not warned of
            graph = _Builder(head["families"], arrays, n_variables).graph()
        return Circuit.of_schema(graph, columns_of_head(head, graph.domains, source)), notes
    except UNUSABLE as error:
        raise FormatError(f"{source}: the content does not form a circuit ({shown_error(error)})") from error


# -- leaves ------------------------------------------------------------------------------------------------------------


def pack_leaves(own: Sequence[LeafNode]) -> tuple[list[str], IntArray, dict[str, AnyArray]]:
    """Return the names of the families of leaves, the family of each leaf, and the arrays of all families."""
    types = list(map(type, own))
    place = {family: index for index, family in enumerate(dict.fromkeys(types))}
    which = np.fromiter(map(place.__getitem__, types), dtype=np.int64, count=len(types))
    arrays: dict[str, AnyArray] = {}
    names: list[str] = []
    for family, index in place.items():
        alike: list[Any] = list(compress(own, (which == index).tolist()))
        variables = [leaf.variables for leaf in alike]
        known: type[Leaf] = leaves[alike[0].family]
        if known is not family:
            raise FormatError(f"{family.__name__}: a family that is not registered cannot be stored")
        names.append(known.family)
        arrays[f"{index}.size"] = small_integers(np.fromiter(map(len, variables), dtype=np.int64, count=len(alike)))
        arrays[f"{index}.variable"] = small_integers(np.fromiter(chain.from_iterable(variables), dtype=np.int64))
        arrays |= {f"{index}.{name}": small_integers(array) for name, array in known.pack(alike).items()}
    return names, which, arrays


def unpack_leaves(
    names: Any, which: IntArray, arrays: Mapping[str, AnyArray], n_variables: int
) -> tuple[AnyArray, set[tuple[int, Domain]]]:
    """Return the leaves that `pack_leaves` described, and what they say of the variables' domains."""
    families = [leaves[name] for name in names]
    _expect(((which >= 0) & (which < len(families))).all(), "unknown family")
    made: AnyArray = np.empty(len(which), dtype=object)
    domains: set[tuple[int, Domain]] = set()
    for index, family in enumerate(families):
        size, variable = integers(arrays, f"{index}.size"), integers(arrays, f"{index}.variable")
        inside = ((variable >= 0) & (variable < n_variables)).all()
        _expect(inside, f"{family.family}: a variable is not below {n_variables}, the number of columns")
        _expect((size > 0).all() and (size <= len(variable)).all(), f"{family.family}: a leaf has no variables")
        _expect(int(size.sum()) == len(variable), f"{family.family}: the sizes do not add up to the variables")
        if (size == 1).all():
            alone = [(v,) for v in range(n_variables)]  # one tuple for each, however many leaves there are
            variables = list(map(alone.__getitem__, variable.tolist()))
        else:
            flat, ends = variable.tolist(), np.cumsum(size).tolist()
            variables = [tuple(flat[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
        prefix = f"{index}."
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        _expect(len(size) == int((which == index).sum()), f"{family.family}: not as many leaves as there are nodes")
        built = family.unpack(variables, own)
        made[which == index] = built
        if family.only_domain is not None:
            domains |= {(v, family.only_domain) for v in np.unique(variable).tolist()}
        else:
            domains |= {pair for leaf in built for pair in zip(leaf.variables, leaf.domains, strict=True)}
    return made, domains


# -- nodes -------------------------------------------------------------------------------------------------------------


class _Builder:
    """Makes the nodes of a file: leaves by family, then all sums and products at once."""

    def __init__(self, families: Any, arrays: Mapping[str, AnyArray], n_variables: int) -> None:
        self.families, self.arrays, self.n_variables = families, arrays, n_variables
        self.kind = integers(arrays, "kind")
        check_nodes(len(self.kind), "circuit")
        _expect(self.kind.min() >= 0, "'kind': unknown kind of node")

    def graph(self) -> Graph:
        nodes: AnyArray = np.empty(len(self.kind), dtype=object)
        of_leaf = self.kind >= LEAF
        nodes[of_leaf], domains = unpack_leaves(self.families, self.kind[of_leaf] - LEAF, self.arrays, self.n_variables)
        edges = self._edges()
        return Graph.of_nodes(self._with_inner_nodes(nodes, edges), edges, merged_domains(domains, self.n_variables))

    def _edges(self) -> Edges:
        arity, child = integers(self.arrays, "arity"), integers(self.arrays, "child")
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
        heights = levels_of(edges)[inner]
        begin, end = edges.begin[:-1][inner].tolist(), edges.begin[1:][inner].tolist()
        below = list(map(made.__getitem__, edges.child.tolist()))
        children = [tuple(below[start:stop]) for start, stop in zip(begin, end, strict=True)]
        own, others = is_sum.tolist(), (~is_sum).tolist()
        weights = self._weights(np.diff(edges.begin)[inner][is_sum])
        Sum.fill(
            sums,
            children=compress(children, own),
            scope=compress(scopes, own),
            height=heights[is_sum].tolist(),
            weights=weights,
        )
        Product.fill(
            products,
            children=compress(children, others),
            scope=compress(scopes, others),
            height=heights[~is_sum].tolist(),
        )
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
        weights = pieces(flat, arity)
        for i in np.flatnonzero(abs(sums_of_parts(flat, arity, "'weight'") - 1) > 1e-9).tolist():
            probability_vector(weights[i], f"weights of sum {i}")
        return weights


def integers(arrays: Mapping[str, AnyArray], name: str) -> IntArray:
    """Return an array of whole numbers, however many bits each has in the file."""
    array = arrays[name]
    _expect(array.dtype.kind in "iu" and array.ndim == 1, f"{name!r}: expected whole numbers")
    return array.astype(np.int64)


def small_integers(array: AnyArray) -> AnyArray:
    """Return whole numbers in as few bits as the container has types for."""
    if array.dtype != np.int64:
        return array
    least, most = array.min(initial=0), array.max(initial=0)
    if least >= 0 and most < 1 << 8:
        return array.astype(np.uint8)
    return array.astype(np.int32) if least >= -(1 << 31) and most < 1 << 31 else array


def _expect(holds: Any, otherwise: str) -> None:
    if not holds:
        raise FormatError(otherwise)
