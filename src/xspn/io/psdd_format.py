"""Probabilistic sentential decision diagrams: `.psdd` text, and beside it the `.vtree` that it respects.

```
psdd number-of-nodes
L id vtree literal                                    variable or −variable, variables from 1
T id vtree variable log-probability                   a bit: log P(1); some programs write log P(0) log P(1)
D id vtree number-of-elements {prime sub log-probability}+
```

An element is a product of two: its prime is over the variables left below the vtree node, its sub over those on the
right. To be a PSDD, all products that split a scope split it in the same way (structured decomposability), and at most
one prime of a D node is possible for any row (determinism). A circuit that is written must be so, which is checked
exactly, or is refused with the sum that is not; mixtures over hidden states are not, and have `.jpc`. The vtree is
found: its nodes are the scopes of the circuit's sums, and what tells the children of a sum apart is on the left.

A file that is read need not be deterministic; it must be a circuit. If its vtree lies beside it, it must respect it.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray
from xspn.core.errors import FormatError
from xspn.core.logspace import safe_log
from xspn.graph.nodes import Product, Scope, Sum
from xspn.io.json_format import MOST_COLUMNS
from xspn.io.node_lines import Expanded, Line, NodeLines, expanded, lines_of, log_table
from xspn.io.vtree import Vtree, from_vtree, to_vtree
from xspn.leaves.base import Leaf

WORD = b"psdd"
MOST_ELEMENTS = 5_000_000
MOST_PAIRS = 2_000_000  # of nodes that are compared to see that they exclude each other
HEAD = """c written by xspn
c ids of psdd nodes start at 0, children come before parents
c psdd count-of-psdd-nodes
c L id-of-literal-psdd-node id-of-vtree literal
c T id-of-trueNode-psdd-node id-of-vtree variable log(litProb)
c D id-of-decomposition-psdd-node id-of-vtree number-of-elements {id-of-prime id-of-sub log(elementProb)}*
c
"""


# -- writing -----------------------------------------------------------------------------------------------------------


def to_psdd(circuit: Circuit, notes: dict[str, Any] | None = None) -> list[bytes | memoryview]:
    """Return the content of a `.psdd` file; notes have no place in it."""
    parts = _Parts(expanded(circuit, "psdd"))
    vtree = parts.vtree()
    numbers = {id(node): number for number, node in enumerate(vtree.numbered())}
    lines: list[str] = []
    places: dict[_Task, int] = {}
    for task in _tasks(parts, vtree):
        places[task] = len(lines)
        lines.append(_line(parts, task, len(lines), numbers[id(task.vtree)], places))
    return [f"{HEAD}psdd {len(lines)}\n".encode(), "".join(lines).encode()]


def psdd_vtree(circuit: Circuit) -> list[bytes | memoryview]:
    """Return the content of the `.vtree` file that belongs to `to_psdd`."""
    return to_vtree(_Parts(expanded(circuit, "psdd")).vtree())


class _Element(NamedTuple):
    """A child of a sum: its weight, and the nodes that are multiplied, none of which is a product."""

    log_weight: float
    factors: tuple[int, ...]


class _Support(NamedTuple):
    """The variables that may be 0, and those that may be 1, as bits."""

    zero: int
    one: int

    def union(self, other: "_Support") -> "_Support":
        return _Support(self.zero | other.zero, self.one | other.one)

    def apart(self, other: "_Support", scope: Scope) -> int:
        """Return the variables that have no value in common."""
        return scope.bits & ~(self.zero & other.zero | self.one & other.one)


class _Parts:
    """A circuit as sums of products of sums and bits: nothing is nested in its own kind."""

    def __init__(self, own: Expanded) -> None:
        self.scopes = [node.scope for node in own.graph.nodes]
        self.origin = own.origin
        self.elements: list[list[_Element]] = []  # of each node; a sum over one bit is a bit
        self.bits: dict[int, FloatArray] = {}  # log P(0), log P(1)
        self.supports: list[_Support] = []
        several = next((v for v, size in enumerate(own.cardinalities) if size > 2), None)
        if several is not None:
            raise FormatError(f"psdd: variable {several} has {own.cardinalities[several]} values; the format has bits")
        total = 0
        for place, (node, children) in enumerate(zip(own.graph.nodes, own.graph.children(), strict=True)):
            if isinstance(node, Leaf):
                self.bits[place] = log_table(node)
            elif isinstance(node, Sum) and len(node.scope) == 1:
                self.bits[place] = safe_log(node.weights @ np.exp([self.bits[child] for child in children]))
            if place in self.bits:
                self.elements.append([_Element(0.0, (place,))])
                possible = ~np.isneginf(self.bits[place])
                self.supports.append(_Support(*(node.scope.bits if own else 0 for own in possible.tolist())))
                continue
            if isinstance(node, Product):
                factors = tuple(part for child in children for part in self._factors(child))
                self.elements.append([_Element(0.0, factors)])
            else:
                logs = np.log(node.weights).tolist() if isinstance(node, Sum) else []
                self.elements.append([])
                for log_weight, child in zip(logs, children, strict=True):
                    self.elements[-1] += [
                        _Element(log_weight + below.log_weight, below.factors) for below in self.elements[child]
                    ]
            self.supports.append(self.support_of(f for element in self.elements[-1] for f in element.factors))
            total += sum(len(element.factors) for element in self.elements[-1])
            if total > MOST_ELEMENTS:
                raise FormatError(f"psdd: more than {MOST_ELEMENTS:,} elements when nested sums are one")
        self._possible: dict[tuple[_Task, _Task], bool] = {}  # whether a row is possible in both
        self.sums = [place for place in self._used() if place not in self.bits]

    def _factors(self, place: int) -> tuple[int, ...]:
        """Return a node as a factor: those of a product, or itself."""
        elements = self.elements[place]
        return elements[0].factors if len(elements) == 1 else (place,)

    def _used(self) -> list[int]:
        """Return the bits and sums that the root is made of, the root first."""
        found = dict.fromkeys(self.root)
        waiting = list(found)
        while waiting:
            place = waiting.pop()
            if place in self.bits:
                continue
            new = dict.fromkeys(f for element in self.elements[place] for f in element.factors if f not in found)
            found |= new
            waiting += new
        return list(found)

    @property
    def root(self) -> tuple[int, ...]:
        """The factors of the root."""
        return self._factors(len(self.elements) - 1)

    def support_of(self, factors: Iterable[int]) -> _Support:
        """Return the support of some nodes together."""
        whole = _Support(0, 0)
        for place in factors:
            whole = whole.union(self.supports[place])
        return whole

    # -- the vtree ---------------------------------------------------------------------------------------------------

    def vtree(self) -> Vtree:
        """Return a vtree that the circuit respects, or say which sums are in the way."""
        by_scope: dict[int, list[int]] = {}  # sums by the bits of their scopes
        for place in self.sums:
            by_scope.setdefault(self.scopes[place].bits, []).append(place)
        whole = self.scopes[-1].bits
        by_scope.setdefault(whole, [])
        inside = self._nested(by_scope, whole)
        built: dict[int, Vtree] = {}
        for bits in sorted(by_scope, key=int.bit_count):
            children = inside[bits]
            trees = [built[c] if c in built else Vtree.leaf(c.bit_length() - 1) for c in children]
            left = self._primes(trees, by_scope[bits])
            first = [tree for k, tree in enumerate(trees) if k in left]
            rest = [tree for k, tree in enumerate(trees) if k not in left]
            halves = [Vtree.right_linear(half) for half in (first, rest) if half]
            built[bits] = Vtree.right_linear(halves)
        return built[whole]

    def _nested(self, by_scope: dict[int, list[int]], whole: int) -> dict[int, list[int]]:
        """Return the scopes right inside each scope: of sums, or of one variable; refuse scopes that cross."""
        owner = dict.fromkeys(Scope(whole), whole)  # the smallest scope of those seen that a variable is in
        inside: dict[int, list[int]] = {bits: [] for bits in by_scope}
        for bits in sorted(by_scope, key=int.bit_count, reverse=True):
            variables = list(Scope(bits))
            around = {owner[variable] for variable in variables}
            if len(around) > 1:
                other = min(around, key=int.bit_count)
                a, b = (self.origin[by_scope[own][0]] for own in (bits, other))
                raise FormatError(
                    f"psdd: the circuit is not structured: the scopes of nodes {a} and {b} overlap, and neither holds "
                    "the other; no vtree has both"
                )
            if bits != whole:
                inside[around.pop()].append(bits)
            for variable in variables:
                owner[variable] = bits
        for variable, bits in owner.items():
            inside[bits].append(1 << variable)
        return {bits: sorted(own, key=lambda part: part & -part) for bits, own in inside.items()}

    def _primes(self, trees: Sequence[Vtree], sums: Sequence[int]) -> set[int]:
        """Return which parts of a scope tell the elements of its sums apart: none of them can be left out."""
        if not sums:
            return {0}
        pairs: set[frozenset[int]] = set()  # for each two elements, the parts that tell them apart
        for place in sums:
            parts = [self._in_parts(element, trees) for element in self.elements[place]]
            for (a, one), (b, other) in combinations(enumerate(parts), 2):
                apart = frozenset(k for k in range(len(trees)) if not self._both_possible(one[k], other[k]))
                if not apart:
                    raise FormatError(
                        f"psdd: node {self.origin[place]} is not deterministic: rows are possible in both of its "
                        f"elements {a} and {b}; mixtures over hidden states can be written as .jpc"
                    )
                pairs.add(apart)
        chosen = set(range(len(trees)))
        for k in sorted(chosen, key=lambda k: sum(k in own for own in pairs)):  # what tells few apart goes first
            if all((own & chosen) - {k} for own in pairs):
                chosen.remove(k)
        if len(chosen) == len(trees):
            raise FormatError(
                f"psdd: node {self.origin[sums[0]]} takes all its variables to tell its elements apart; none is left "
                "for subs"
            )
        return chosen

    def _in_parts(self, element: _Element, trees: Sequence[Vtree]) -> "list[_Task]":
        """Return the factors of an element in each part of its scope."""
        factors: list[list[int]] = [[] for _ in trees]
        for place in element.factors:
            factors[next(k for k, tree in enumerate(trees) if tree.scope & self.scopes[place])].append(place)
        return [_Task(tree, tuple(own)) for tree, own in zip(trees, factors, strict=True)]

    def _both_possible(self, one: "_Task", other: "_Task") -> bool:
        """Whether some row is possible in both, exactly: element by element, down the vtree."""
        known, stack = self._possible, [(one, other)]
        while stack:
            pair = stack[-1]
            if pair not in known:
                below = self._undecided(*pair)
                if below is not None:
                    if len(known) > MOST_PAIRS:
                        raise FormatError(f"psdd: more than {MOST_PAIRS:,} comparisons to see if it is deterministic")
                    stack.append(below)
                    continue
            stack.pop()
        return known[one, other]

    def _undecided(self, one: "_Task", other: "_Task") -> "tuple[_Task, _Task] | None":
        """Decide whether both are possible, or return the pair below on which it depends."""
        known = self._possible
        known_apart = self.support_of(one.factors).apart(self.support_of(other.factors), one.vtree.scope)
        if known_apart or one.vtree.left is None or one == other:
            known[one, other] = not known_apart
            return None
        for _, *halves in _elements(self, one):
            for _, *others in _elements(self, other):
                for pair in zip(halves, others, strict=True):
                    if pair not in known:
                        return pair
                    if not known[pair]:
                        break
                else:
                    known[one, other] = True
                    return None
        known[one, other] = False
        return None


class _Task(NamedTuple):
    """A node to be written: at a vtree node, a sum or a bit, or several that are multiplied."""

    vtree: Vtree
    factors: tuple[int, ...]


def _halves(parts: _Parts, vtree: Vtree, factors: Sequence[int]) -> tuple[_Task, _Task]:
    """Return the factors on the left and on the right of a vtree node."""
    assert vtree.left is not None
    assert vtree.right is not None
    inside = [bool(parts.scopes[place] & vtree.left.scope) for place in factors]
    left = tuple(place for place, own in zip(factors, inside, strict=True) if own)
    right = tuple(place for place, own in zip(factors, inside, strict=True) if not own)
    return _Task(vtree.left, left), _Task(vtree.right, right)


def _elements(parts: _Parts, task: _Task) -> list[tuple[float, _Task, _Task]]:
    """Return the elements of a D node; none for a bit."""
    if task.vtree.left is None:
        return []
    if len(task.factors) == 1:
        own = parts.elements[task.factors[0]]
        return [(log_weight, *_halves(parts, task.vtree, factors)) for log_weight, factors in own]
    return [(0.0, *_halves(parts, task.vtree, task.factors))]


def _tasks(parts: _Parts, vtree: Vtree) -> list[_Task]:
    """Return what is to be written, children first: what lies below in the vtree."""
    found = {_Task(vtree, parts.root): None}
    waiting = list(found)
    while waiting:
        for _, *halves in _elements(parts, waiting.pop()):
            for half in halves:
                if half not in found:
                    found[half] = None
                    waiting.append(half)
        if len(found) > MOST_ELEMENTS:
            raise FormatError(f"psdd: more than {MOST_ELEMENTS:,} nodes")
    return sorted(found, key=lambda task: task.vtree.height)


def _line(parts: _Parts, task: _Task, own: int, vtree: int, places: dict[_Task, int]) -> str:
    elements = _elements(parts, task)
    if elements:
        words = [f"{places[prime]} {places[sub]} {weight!r}" for weight, prime, sub in elements]
        return f"D {own} {vtree} {len(words)} {' '.join(words)}\n"
    variable = task.vtree.scope.width
    logs = parts.bits[task.factors[0]].tolist()
    if np.isneginf(logs).any():
        return f"L {own} {vtree} {-variable if np.isneginf(logs[1]) else variable}\n"
    # Near 1, the logarithm of P(1) keeps the digits of P(0).
    return f"T {own} {vtree} {variable} {float(np.log1p(-np.exp(logs[0]))) if logs[0] < logs[1] else logs[1]!r}\n"


# -- reading -----------------------------------------------------------------------------------------------------------


def from_psdd(
    content: bytes, source: str, vtree: bytes | None = None, vtree_source: str = "vtree"
) -> tuple[Circuit, dict[str, Any]]:
    """Return the circuit of a `.psdd` file, and no notes, or say which line is wrong.

    Args:
        content: The file.
        source: Its name.
        vtree: The `.vtree` file, if there is one.
        vtree_source: The name of that file.
    """
    lines = lines_of(content, source)
    head = next(lines, None)
    if head is None or head.words[0] != "psdd":
        raise FormatError(f"{source}: not a psdd file (no line 'psdd number-of-nodes')")
    head.count(2, "psdd number-of-nodes")
    expected = head.integer(1, "a number of nodes", 1)
    reader = _Reader(source, None if vtree is None else from_vtree(vtree, vtree_source))
    for line in lines:
        reader.add(line)
    if len(reader.names) != expected:
        raise FormatError(
            f"{source}: line {head.number} says {expected} nodes, found {len(reader.names)}; the file is truncated"
        )
    return reader.nodes.circuit(), {}


class _Reader:
    """The nodes of a PSDD; with its vtree, the variables of each are those of its vtree node."""

    def __init__(self, source: str, vtrees: dict[int, Vtree] | None) -> None:
        self.nodes = NodeLines(source)
        self.vtrees = vtrees
        self.names: dict[int, Vtree | None] = {}  # the vtree node of each node

    def add(self, line: Line) -> None:
        """Add the node of a line."""
        name, number = line.integer(1, "the id of a node"), line.integer(2, "the id of a vtree node")
        if self.vtrees is not None and number not in self.vtrees:
            raise line.error(f"the vtree has no node {number}")
        vtree = None if self.vtrees is None else self.vtrees[number]
        match line.words[0]:
            case "L":
                line.count(4, "L id vtree literal")
                literal = line.integer(3, "a literal", -MOST_COLUMNS, MOST_COLUMNS)
                if literal == 0:
                    raise line.error("expected a literal such as 3 or -3, found 0")
                variable = self._variable(line, abs(literal), vtree)
                place = self.nodes.value(line, variable, int(literal > 0))
            case "T":
                if len(line.words) not in (5, 6):
                    raise line.error(f"expected T id vtree variable log-probability, found {len(line.words)} words")
                variable = self._variable(line, line.integer(3, "a variable", 1, MOST_COLUMNS), vtree)
                place = self.nodes.table(line, variable, self._logs(line))
            case "D":
                place = self._decision(line, vtree)
            case _:
                raise line.error(f"expected a node, L, T or D, found {line.words[0][:20]!r}")
        self.nodes.name(line, name, place)
        self.names[name] = vtree

    def _variable(self, line: Line, variable: int, vtree: Vtree | None) -> int:
        if vtree is not None and vtree.scope.bits != 1 << variable - 1:
            raise line.error(f"variable {variable} is not that of its vtree node")
        return variable - 1

    def _logs(self, line: Line) -> list[float]:
        """Return log P(0) and log P(1): both, or the second one, are in the line."""
        logs = [line.log_probability(place) for place in range(4, len(line.words))]
        if len(logs) == 1:
            logs.insert(0, float(safe_log(np.array([-np.expm1(min(logs[0], 0.0))]))[0]))
        return logs

    def _decision(self, line: Line, vtree: Vtree | None) -> int:
        count = line.integer(3, "a number of elements", 1)
        line.count(4 + 3 * count, f"D id vtree {count} and {count} elements of three")
        products, logs = [], []
        for start in range(4, 4 + 3 * count, 3):
            names = [line.integer(start, "a prime"), line.integer(start + 1, "a sub")]
            pair = [self.nodes.named(line, name) for name in names]
            for name, half in zip(names, (vtree and vtree.left, vtree and vtree.right), strict=True):
                below = self.names[name]
                if vtree is not None and (half is None or below is None or below.scope.bits & ~half.scope.bits):
                    raise line.error(f"node {name} is not on its side of the vtree node")
            products.append(self.nodes.product(line, pair))
            logs.append(line.log_probability(start + 2))
        return self.nodes.sum(line, products, logs)
