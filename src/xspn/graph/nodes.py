"""The nodes of a circuit, sums, products and leaves, and the scopes that they have."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Self, cast

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.checks import probability_vector
from xspn.core.errors import StructureError
from xspn.data.domain import Domain

DEEP = 64  # nodes of this height are pickled as a flat list: one inside the other, they would exhaust the stack

Record = tuple[str, Any, tuple[int, ...]]  # ("sum", weights, children), ("product", None, children), ("leaf", leaf, ())


@dataclass(frozen=True, slots=True)
class Scope:
    """A set of variables, held as the bits of one integer: set operations cost next to nothing.

    Examples:
        >>> a, b = Scope.of([0, 2]), Scope.of([2, 5])
        >>> list(a | b), list(a & b), 5 in b, len(a)
        ([0, 2, 5], [2], True, 2)
    """

    bits: int = 0

    @classmethod
    def of(cls, variables: Iterable[int]) -> "Scope":
        """Return the scope of these variables; negative or repeated ones are refused."""
        bits = 0
        for variable in variables:
            if isinstance(variable, bool | np.bool_) or not isinstance(variable, int | np.integer):
                raise StructureError(f"scope: expected integer variable indices, found {variable!r}")
            if variable < 0:
                raise StructureError(f"scope: expected indices of at least 0, found {variable}")
            bit = 1 << int(variable)
            if bits & bit:
                raise StructureError(f"scope: variable {variable} occurs twice")
            bits |= bit
        return cls(bits)

    def __or__(self, other: "Scope") -> "Scope":
        return Scope(self.bits | other.bits)

    def __and__(self, other: "Scope") -> "Scope":
        return Scope(self.bits & other.bits)

    def __sub__(self, other: "Scope") -> "Scope":
        return Scope(self.bits & ~other.bits)

    def __contains__(self, variable: int) -> bool:
        return bool(self.bits >> variable & 1)

    def __iter__(self) -> Iterator[int]:
        bits = self.bits
        while bits:
            low = bits & -bits
            yield low.bit_length() - 1
            bits ^= low

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __bool__(self) -> bool:
        return self.bits != 0

    @property
    def width(self) -> int:
        """One more than the largest variable: the columns that a table needs at least."""
        return self.bits.bit_length()

    def __str__(self) -> str:
        shown = [str(v) for _, v in zip(range(8), self, strict=False)]
        return "{" + ", ".join(shown) + (f", … {len(self)} in all" if len(self) > 8 else "") + "}"


def why_not_disjoint(scopes: Iterable[Scope]) -> str | None:
    """Return the reason why scopes are not pairwise disjoint, or None."""
    seen = Scope()
    for position, scope in enumerate(scopes):
        both = seen & scope
        if both:
            return f"child {position} shares variables {both} with an earlier child"
        seen = seen | scope
    return None


def why_not_equal(scopes: Iterable[Scope]) -> str | None:
    """Return the reason why scopes are not all the same, or None."""
    first: Scope | None = None
    for position, scope in enumerate(scopes):
        if first is None:
            first = scope
        elif scope != first:
            missing, extra = first - scope, scope - first
            parts = [f"lacks {missing}"] if missing else []
            parts += [f"adds {extra}"] if extra else []
            return f"child {position} {' and '.join(parts)} compared with child 0, which has {first}"
    return None


class Node:
    """A distribution over the variables in its scope."""

    __slots__ = ("_sealed", "children", "scope")
    scope: Scope
    children: "tuple[Node, ...]"
    height: int  # the longest way down to a leaf, in edges

    def _seal(self) -> None:
        """Make the node immutable from here on."""
        object.__setattr__(self, "_sealed", True)

    @classmethod
    def blank(cls, count: int) -> list[Self]:
        """Return nodes without any content, for `fill`.

        Constructors check one node at a time, which takes a minute for a million nodes. Whoever has checked the content
        of all nodes at once can make and fill them in half a second.
        """
        return list(map(cls.__new__, repeat(cls, count)))

    @classmethod
    def fill(cls, nodes: list[Self], **slots: Iterable[Any]) -> list[Self]:
        """Set the slots of blank nodes, to one value for each node, and make them immutable."""
        for name, values in {**slots, "_sealed": repeat(True)}.items():
            deque(map(getattr(cls, name).__set__, nodes, values), maxlen=0)
        return nodes

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_sealed", False):
            raise AttributeError(f"{type(self).__name__} is immutable: {name!r} cannot be set")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: {name!r} cannot be deleted")

    def __deepcopy__(self, memo: dict[int, Any]) -> "Node":
        return self


class LeafNode(Node, ABC):
    """A node without children. The whole contract of a leaf is `xspn.leaves.base.Leaf`."""

    __slots__ = ()
    height = 0

    @property
    @abstractmethod
    def domains(self) -> tuple[Domain, ...]:
        """The domain of each of the leaf's variables, in the leaf's own order."""

    @property
    @abstractmethod
    def variables(self) -> tuple[int, ...]:
        """The leaf's variables, in the leaf's own order."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """The number of free parameters."""

    @abstractmethod
    def supports(self) -> tuple[frozenset[int] | None, ...]:
        """Return the values of positive probability of each variable; None where it is real."""

    @abstractmethod
    def fingerprint(self) -> Any:
        """Return something hashable that two leaves share just when they are the same, bit for bit."""


def _checked_children(kind: str, children: Iterable[Node]) -> tuple[Node, ...]:
    nodes = tuple(children)
    if not nodes:
        raise StructureError(f"{kind}: expected at least one child, found none")
    for position, node in enumerate(nodes):
        if not isinstance(node, Node):
            raise StructureError(
                f"{kind}: expected nodes as children, found {type(node).__name__} at position {position}"
            )
    return nodes


def _height_above(children: "tuple[Node, ...]") -> int:
    return 1 + max(child.height for child in children)


class Product(Node):
    """Independent factors: the scopes of the children are pairwise disjoint.

    Examples:
        >>> from xspn import Bernoulli
        >>> Product([Bernoulli(0, p=0.2), Bernoulli(1, p=0.7)])
        Product of 2 over {0, 1}
    """

    __slots__ = ("height",)

    def __init__(self, children: Iterable[Node]) -> None:
        self.children = _checked_children("Product", children)
        bits = 0
        for child in self.children:
            own = child.scope.bits
            if bits & own:
                reason = why_not_disjoint(child.scope for child in self.children)
                raise StructureError(f"Product is not decomposable: {reason}")
            bits |= own
        self.scope = Scope(bits)
        self.height = _height_above(self.children)
        self._seal()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Product, (self.children,)) if self.height < DEEP else (from_records, (records_of(self),))

    def __repr__(self) -> str:
        return f"Product of {len(self.children)} over {self.scope}"


class Sum(Node):
    """A mixture: the children have one and the same scope, the weights are probabilities that sum to 1.

    Examples:
        >>> from xspn import Bernoulli
        >>> Sum([0.3, 0.7], [Bernoulli(0, p=0.2), Bernoulli(0, p=0.7)])
        Sum of 2 over {0}
    """

    __slots__ = ("height", "weights")
    weights: FloatArray

    def __init__(self, weights: Sequence[float] | FloatArray, children: Iterable[Node]) -> None:
        self.children = _checked_children("Sum", children)
        self.weights = frozen(probability_vector(weights, "Sum weights"))
        if len(self.weights) != len(self.children):
            raise StructureError(
                f"Sum: expected one weight per child, found {len(self.weights)} weights "
                f"for {len(self.children)} children"
            )
        self.scope = self.children[0].scope
        bits = self.scope.bits
        if not all(child.scope.bits == bits for child in self.children):
            raise StructureError(f"Sum is not smooth: {why_not_equal(child.scope for child in self.children)}")
        self.height = _height_above(self.children)
        self._seal()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Sum, (self.weights, self.children)) if self.height < DEEP else (from_records, (records_of(self),))

    def __repr__(self) -> str:
        return f"Sum of {len(self.children)} over {self.scope}"


def children_first(root: Node) -> list[Node]:
    """Return each node below a root once, children before parents, without recursion."""
    order: list[Node] = []
    done: set[int] = set()
    stack: list[Node | None] = [root]
    waiting: list[Node] = []  # nodes whose children come first; None on the stack says that they have come
    while stack:
        node = stack.pop()
        if node is None:
            node = waiting.pop()
        elif id(node) in done:
            continue
        elif node.children:
            waiting.append(node)
            stack.append(None)
            stack.extend(node.children[::-1])
            continue
        done.add(id(node))
        order.append(node)
    return order


def records_of(root: Node, nodes: Iterable[Node] | None = None) -> list[Record]:
    """Return the nodes below a root as a flat list; children are named by their places."""
    places: dict[int, int] = {}
    records: list[Record] = []
    for node in children_first(root) if nodes is None else nodes:
        places[id(node)] = len(places)
        children = tuple(places[id(child)] for child in node.children)
        if isinstance(node, Sum):
            records.append(("sum", node.weights, children))
        elif isinstance(node, Product):
            records.append(("product", None, children))
        else:
            records.append(("leaf", node, ()))
    return records


def from_records(records: Iterable[Record]) -> Node:
    """Build the root that `records_of` has listed."""
    nodes: list[Node] = []
    for kind, payload, children in records:
        below = [nodes[c] for c in children]
        if kind == "sum":
            nodes.append(Sum(payload, below))
        elif kind == "product":
            nodes.append(Product(below))
        else:
            nodes.append(cast(Node, payload))
    return nodes[-1]


def frozen(values: FloatArray) -> FloatArray:
    """Return a read-only copy, so that an immutable node stays immutable."""
    copy = np.array(values, dtype=np.float64)
    copy.flags.writeable = False
    return copy
