"""Properties of a circuit: each function returns the reason why it does not hold, or None."""

from functools import reduce
from itertools import accumulate, combinations
from typing import NamedTuple, cast

from xspn._core.checks import probability_vector
from xspn._core.errors import ParameterError
from xspn.circuit.graph import Graph
from xspn.circuit.nodes import LeafNode, Product, Sum
from xspn.circuit.scope import why_not_disjoint, why_not_equal


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


def why_not_normalised(graph: Graph) -> str | None:
    """Say which sum's weights are not a distribution; leaves check their own parameters."""
    for index, node in enumerate(graph.nodes):
        if isinstance(node, Sum):
            try:
                probability_vector(node.weights, f"sum {index}")
            except ParameterError as error:
                return str(error)
    return None


def why_not_selective(graph: Graph) -> str | None:
    """Say which sum has two children that one world may both make positive.

    Two children are known to exclude each other when some variable has no value in common to their supports
    (or when one of them has weight 0). This is sufficient, not necessary: None is a proof, a reason is not a disproof.
    In a selective circuit the max-product pass finds the true most probable completion.
    """
    fields = _Fields(graph)
    inner: dict[int, _Support] = {}  # of sums and products; forgotten when the last parent is done
    waiting = graph.n_parents.copy()
    for index, node in enumerate(graph.nodes):
        if isinstance(node, LeafNode):
            continue
        ids = graph.child_ids(node)
        weights = node.weights.tolist() if isinstance(node, Sum) else [1.0] * len(ids)
        places = [k for k, weight in enumerate(weights) if weight > 0]
        below = [inner[ids[k]] if ids[k] in inner else fields.support(ids[k]) for k in places]
        if isinstance(node, Sum):
            for a, b in combinations(range(len(below)), 2):
                if not below[a].excludes(below[b]):
                    return f"sum {index}: no variable tells its children {places[a]} and {places[b]} apart"
        inner[index] = reduce(_Support.union, below)
        for child in ids:
            waiting[child] -= 1
            if waiting[child] == 0:
                inner.pop(child, None)
    return None


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


class _Fields:
    """Where the field of each variable lies; a real variable has one value, which is always possible."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        sizes = [1 if domain is None else domain.cardinality or 1 for domain in graph.domains]
        self._ends = [end - 1 for end in accumulate(size + 1 for size in sizes)]  # the bits above the values
        self._starts = [end - size for end, size in zip(self._ends, sizes, strict=True)]

    def support(self, leaf_id: int) -> _Support:
        """Return the support of a leaf, which follows from what is zero in its parameters."""
        leaf = cast(LeafNode, self._graph.nodes[leaf_id])
        values = lowest = above = 0
        for variable, possible in zip(leaf.variables, leaf.supports(), strict=True):
            start = self._starts[variable]
            values |= sum(1 << value for value in ((0,) if possible is None else possible)) << start
            lowest |= 1 << start
            above |= 1 << self._ends[variable]
        return _Support(values, lowest, above)
