"""Properties of a circuit: each function returns the reason why it does not hold, or None."""

from collections.abc import Iterator
from functools import reduce
from itertools import accumulate, combinations, compress
from typing import NamedTuple, cast

from xspn.core.checks import probability_vector
from xspn.core.errors import ParameterError
from xspn.graph.graph import Graph
from xspn.graph.nodes import LeafNode, Product, Sum, why_not_disjoint, why_not_equal


def why_not_smooth(graph: Graph) -> str | None:
    """Say which sum mixes children of different scopes; `Sum` refuses such children to begin with."""
    for index, node in enumerate(graph.nodes):
        if isinstance(node, Sum) and (reason := why_not_equal(c.scope for c in node.children)):
            return f"sum {index}: {reason}"
    return None


def why_not_decomposable(graph: Graph) -> str | None:
    """Say which product's children overlap; `Product` refuses such children to begin with."""
    for index, node in enumerate(graph.nodes):
        if isinstance(node, Product) and (reason := why_not_disjoint(c.scope for c in node.children)):
            return f"product {index}: {reason}"
    return None


def why_not_normalized(graph: Graph) -> str | None:
    """Say which sum's weights are not a distribution; leaves check their own parameters."""
    for index, node in enumerate(graph.nodes):
        if isinstance(node, Sum):
            try:
                probability_vector(node.weights, f"sum {index}")
            except ParameterError as error:
                return str(error)
    return None


def why_not_selective(graph: Graph) -> str | None:
    """Say which sum has two children that one assignment may both make positive.

    Two children are known to exclude each other when some variable has no value in common to their supports
    (or when one of them has weight 0). This is sufficient, not necessary: None is a proof, a reason is not a disproof.
    In a selective circuit the max-product pass finds the true most probable completion.
    """
    for index, a, b in overlapping_sums(graph):
        return f"sum {index}: no variable tells its children {a} and {b} apart"
    return None


def overlapping_sums(graph: Graph) -> Iterator[tuple[int, int, int]]:
    """Yield the sums that are not known to be selective, with two children that may overlap."""
    supports = _Supports(graph)
    for index, node in enumerate(graph.nodes):
        if isinstance(node, Sum):
            live = [k for k, weight in enumerate(node.weights.tolist()) if weight > 0]
            ids = graph.child_ids(node)
            for a, b in combinations(live, 2):  # supports are looked up as they are needed: mostly two are enough
                if not supports.of(ids[a]).excludes(supports.of(ids[b])):
                    yield index, a, b
                    break


class _Support(NamedTuple):
    """The possible values of some variables, as the bits of integers with a field for each variable.

    Attributes:
        values: A bit for each possible value.
        lowest: The lowest bit of each field.
        above: The bit above the values of each field.
    """

    values: int
    lowest: int
    above: int

    def union(self, other: "_Support") -> "_Support":
        """Return what is possible in either."""
        return _Support(self.values | other.values, self.lowest | other.lowest, self.above | other.above)

    def excludes(self, other: "_Support") -> bool:
        """Whether some variable has no value that is possible in both.

        Taking 1 from a field borrows the bit above its values just where it has none.
        """
        common = self.values & other.values | self.above
        return (common - self.lowest) & self.above != self.above


class _Supports:
    """The supports of nodes, found when they are asked for: most circuits fail the first sum that is looked at.

    Each variable has a field of bits; a real variable has one value, which is always possible.
    """

    def __init__(self, graph: Graph) -> None:
        self._nodes, self._child_ids = graph.nodes, graph.child_ids
        sizes = [1 if domain is None else domain.cardinality or 1 for domain in graph.domains]
        self._ends = [end - 1 for end in accumulate(size + 1 for size in sizes)]  # the bits above the values
        self._starts = [end - size for end, size in zip(self._ends, sizes, strict=True)]
        self._waiting = graph.n_parents.tolist()
        self._known: dict[int, _Support] = {}  # of sums and products; forgotten when the last parent's is known

    def of(self, index: int) -> _Support:
        """Return the support of a node whose parents' are not all known."""
        waiting = [index]
        while waiting:
            top = waiting[-1]
            unknown = [] if self._is_ready(top) else [c for c in self._live(top) if not self._is_ready(c)]
            if unknown:
                waiting += unknown
                continue
            waiting.pop()
            if not self._is_ready(top):
                self._known[top] = reduce(_Support.union, [self._get(c) for c in self._live(top)])
                for child in self._child_ids(self._nodes[top]):
                    self._waiting[child] -= 1
                    if self._waiting[child] == 0:
                        self._known.pop(child, None)
        return self._get(index)

    def _is_ready(self, index: int) -> bool:
        return index in self._known or not self._nodes[index].children

    def _get(self, index: int) -> _Support:
        return self._known[index] if self._nodes[index].children else self._of_leaf(index)

    def _live(self, index: int) -> list[int]:
        node = self._nodes[index]
        ids = self._child_ids(node)
        return list(compress(ids, (node.weights > 0).tolist())) if isinstance(node, Sum) else ids

    def _of_leaf(self, index: int) -> _Support:
        """Return the support of a leaf, which follows from what is zero in its parameters."""
        leaf = cast(LeafNode, self._nodes[index])
        values = lowest = above = 0
        for variable, possible in zip(leaf.variables, leaf.supports(), strict=True):
            start = self._starts[variable]
            values |= sum(1 << value for value in ((0,) if possible is None else possible)) << start
            lowest |= 1 << start
            above |= 1 << self._ends[variable]
        return _Support(values, lowest, above)
