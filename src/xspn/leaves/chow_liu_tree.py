"""The tree behind a Chow-Liu leaf: learning it, walking it, checking it, and summing some of its variables out."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.core.checks import real_numbers
from xspn.core.errors import ParameterError
from xspn.core.logspace import safe_log
from xspn.core.polynomials import SMALL, convolved
from xspn.graph.nodes import Node, Product, Scope, Sum
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.categorical import Categorical
from xspn.leaves.events import EXCLUDED, Mark, degree_of
from xspn.leaves.expansion import indicator, mixture_node, univariate

if TYPE_CHECKING:
    from xspn.leaves.chow_liu import ChowLiu


def children_of(parents: Sequence[int]) -> list[list[int]]:
    """Return the children of each node."""
    children: list[list[int]] = [[] for _ in parents]
    for i, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(i)
    return children


def parents_first(parents: Sequence[int]) -> list[int]:
    """Return the nodes that hang on a root, parents before children; nodes of a cycle are excluded."""
    children = children_of(parents)
    order = [i for i, parent in enumerate(parents) if parent < 0]
    for i in order:
        order.extend(children[i])
    return order


def information_of_bits(
    pairs: FloatArray, ones: FloatArray, total: float, mass: float, rows: slice = slice(None)
) -> FloatArray:
    """Return the mutual information of every two binary variables, from G = XᵀX and the number of rows.

    Each of the four cells of a pair gets mass/2, so that each value of a variable gets `mass`.

    Args:
        pairs: G, or some rows of it.
        ones: How often each variable is one.
        total: The number of rows of the data.
        mass: The smoothing mass.
        rows: Which rows of G these are.
    """
    whole = total + 2 * mass
    own = ones[rows]
    p1, own_p1 = (ones + mass) / whole, (own + mass) / whole
    cells = {
        (1, 1): (pairs + mass / 2) / whole,
        (1, 0): (own[:, None] - pairs + mass / 2) / whole,
        (0, 1): (ones[None, :] - pairs + mass / 2) / whole,
        (0, 0): (total - own[:, None] - ones[None, :] + pairs + mass / 2) / whole,
    }
    information = np.zeros_like(pairs, dtype=np.float64)
    for (a, b), joint in cells.items():
        first = own_p1 if a else 1 - own_p1
        second = p1 if b else 1 - p1
        information += information_of_cells(joint, first[:, None], second[None, :])
    return information


def information_of_cells(joint: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return what each cell of tables of two variables adds to their mutual information; an empty cell adds nothing.

    Args:
        joint: How often, or with which probability, the two values come together.
        first: The same for the value of the first variable.
        second: The probability of the value of the second one.
    """
    with np.errstate(invalid="ignore"):
        ratio = safe_log(joint) - safe_log(first) - safe_log(second)
        return np.where(joint > 0, joint * ratio, 0.0)


RowOfPairs = Callable[[int], FloatArray]  # how often each variable is one together with this one
RowOfEdges = Callable[
    [int], tuple[FloatArray, FloatArray]
]  # the weights of a node's edges, and what else is known of them


def maximum_spanning_tree(row: RowOfEdges, n: int, root: int = 0) -> tuple[IntArray, FloatArray]:
    """Return the parents in the tree of largest total weight (−1 for the root), and what is known of the edges to them.

    Prim's algorithm: it needs the edges of one node at a time, so that all of them need not be in memory. Ties are
    broken by the order of the nodes.

    Examples:
        >>> weights = np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0.0]])
        >>> maximum_spanning_tree(lambda i: (weights[i], weights[i]), 3)[0].tolist()
        [-1, 0, 1]
    """
    parents = np.full(n, root, dtype=np.int64)
    parents[root] = -1
    inside = np.zeros(n, dtype=bool)
    inside[root] = True
    nearest, known = (own.copy() for own in row(root))
    for _ in range(n - 1):
        nxt = int(np.argmax(np.where(inside, -np.inf, nearest)))
        inside[nxt] = True
        weights, own = row(nxt)
        closer = ~inside & (weights > nearest)
        parents[closer] = nxt
        nearest[closer], known[closer] = weights[closer], own[closer]
    return parents, known


def most_informative_tree(
    pairs: FloatArray | RowOfPairs, ones: FloatArray, total: float, mass: float
) -> tuple[IntArray, FloatArray]:
    """Return the parents of the tree of largest mutual information, and how often each is one together with its child.

    Args:
        pairs: G, or a function that returns one row of it.
        ones: How often each variable is one.
        total: The number of rows of the data.
        mass: The smoothing mass.
    """
    if callable(pairs):

        def row(i: int) -> tuple[FloatArray, FloatArray]:
            own = pairs(i)
            return information_of_bits(own[None, :], ones, total, mass, slice(i, i + 1))[0], own
    else:
        information = information_of_bits(pairs, ones, total, mass)

        def row(i: int) -> tuple[FloatArray, FloatArray]:
            return information[i], pairs[i]

    return maximum_spanning_tree(row, len(ones))


def checked_parents(parents: Any, n: int) -> tuple[int, ...]:
    """Return the parents' positions, or say that there are not n of them."""
    own = tuple(parents) if isinstance(parents, Iterable) else ()
    if len(own) != n or not all(isinstance(parent, int | np.integer) and -1 <= parent < n for parent in own):
        raise ParameterError(f"ChowLiu: expected {n} parents, each a position or −1, found {parents!r}")
    return tuple(int(parent) for parent in own)


def checked_tables(p: Any, n: int) -> FloatArray:
    """Return P(X_i = 1 | parent = u) as an (n, 2) array, or say what is wrong and where."""
    table = real_numbers(p, "ChowLiu: probabilities")
    if table.shape != (n, 2):
        raise ParameterError(f"ChowLiu: expected probabilities of shape ({n}, 2), found {table.shape}")
    bad = ~((table >= 0) & (table <= 1))
    if bad.any():
        i, u = (int(place) for place in np.argwhere(bad)[0])
        raise ParameterError(f"ChowLiu: expected probabilities from 0 to 1, found {table[i, u]} at position {i}, {u}")
    return table


# -- counts along the tree ---------------------------------------------------------------------------------------------


def tally_of_tree(tree: "ChowLiu", x: FloatArray, marks: Sequence[Mark | None]) -> FloatArray:
    """Return `Leaf.tally` of a tree: generating functions passed up, two for each node, one for each of its values."""
    below = [_Pair(np.ones((2, 1, 1))) for _ in tree.variables]
    roots = _Pair(np.ones((2, 1, 1)))
    tables = np.stack([tree.q, tree.p], axis=2)  # (n, parent's value, own value)
    missing = np.isnan(x)
    for i in reversed(tree.order):
        own = below[i].given(x[:, i], missing[:, i], marks[i])
        below[i] = own  # what was there is not needed any more
        parent = tree.parents[i]
        if parent < 0:
            roots = roots * own.mixed(tables[i])
        else:
            below[parent] = below[parent] * own.mixed(tables[i])
    logs = safe_log(roots.coefficients[0]) + roots.log_scale[0][:, None]  # a root has no parent: both are the same
    out = np.full((len(x), degree_of(marks) + 1), -np.inf)
    out[:, : logs.shape[1]] = logs
    return out


class _Pair:
    """Polynomials for both values of a node: exp(log_scale) · coefficients, the same for all rows where there is one.

    A scale other than 0 is needed only where many unlikely values have been observed.
    """

    def __init__(self, coefficients: FloatArray, log_scale: FloatArray | None = None) -> None:
        self.coefficients = coefficients  # (2, rows or 1, degree + 1)
        self.log_scale = np.zeros((2, 1)) if log_scale is None else log_scale  # (2, rows or 1)

    def given(self, values: FloatArray, missing: BoolArray, mark: Mark | None) -> "_Pair":
        """Return the polynomials after the node's own value was seen, or has counted."""
        coefficients = self.coefficients
        adds = [0, 0] if mark is None else [int(add) for add in mark]  # type: ignore[union-attr]
        if missing.all() and adds == [0, 0]:
            return self
        if missing.all():
            rows, width = coefficients.shape[1:]
            out = np.zeros((2, rows, width + max(*adds, 0)))
            for value, add in enumerate(adds):
                if add != EXCLUDED:
                    out[value, :, add : add + width] = coefficients[value]
            return _Pair(out, self.log_scale)
        rows, width = len(values), coefficients.shape[2]
        own = np.broadcast_to(coefficients, (2, rows, width))
        out = np.zeros((2, rows, width + max(*adds, 0)))
        for value, add in enumerate(adds):
            seen = ~missing & (values == value)
            out[value, seen, :width] = own[value, seen]
            if add != EXCLUDED:
                out[value, missing, add : add + width] = own[value, missing]
        return _Pair(out, self.log_scale)

    def mixed(self, table: FloatArray) -> "_Pair":
        """Return Σ P(own value | parent's value) · own polynomial, for both values of the parent."""
        size = self.coefficients.shape
        if not self.log_scale.any():
            return _Pair((table @ self.coefficients.reshape(2, -1)).reshape(size))
        possible = (table[:, :, None] > 0) & (self.coefficients.max(axis=2) > 0)  # (parent's, own, rows)
        shift = np.where(possible, self.log_scale, -np.inf).max(axis=1)  # (parent's, rows)
        shift = np.where(np.isneginf(shift), 0.0, shift)
        factors = np.where(possible, table[:, :, None] * np.exp(np.minimum(self.log_scale - shift[:, None], 0.0)), 0.0)
        return _Pair(
            np.einsum("uvr,vrk->urk", factors, np.broadcast_to(self.coefficients, (2, factors.shape[2], size[2]))),
            shift,
        )

    def __mul__(self, other: "_Pair") -> "_Pair":
        a, b = self.coefficients, other.coefficients
        both = np.stack([convolved(a[value], b[value]) for value in (0, 1)])
        log_scale = self.log_scale + other.log_scale
        top = both.max(axis=2)
        low = (top > 0) & (top < SMALL)
        if low.any():
            factor = np.where(low, top, 1.0)
            both, log_scale = both / factor[:, :, None], log_scale + np.log(factor)
        return _Pair(both, log_scale)


# -- as sums and products ----------------------------------------------------------------------------------------------


def tree_circuit(tree: "ChowLiu") -> Node:
    """Return a tree as sums over each variable's two values: at most six nodes for each variable."""
    children = children_of(tree.parents)
    given: list[list[Node]] = [[] for _ in tree.variables]  # the sub-circuit at i when its parent has value u
    for i in reversed(tree.order):
        variable = tree.variables[i]
        tables = [np.array([tree.q[i, u], tree.p[i, u]]) for u in ((0, 1) if tree.parents[i] >= 0 else (0,))]
        if not children[i]:
            given[i] = [univariate(variable, safe_log(table)) for table in tables]
            continue
        below = [[given[child][value] for child in children[i]] for value in (0, 1)]
        branches = [Product([indicator(variable, value, 2), *below[value]]) for value in (0, 1)]
        given[i] = [mixture_node(table, branches) for table in tables]
    roots = [given[i][0] for i, parent in enumerate(tree.parents) if parent < 0]
    return roots[0] if len(roots) == 1 else Product(roots)


# -- some variables summed out -----------------------------------------------------------------------------------------


def marginal_circuit(tree: "ChowLiu", keep: Scope) -> Node:
    """Return the distribution of the kept variables of a tree."""
    parts = _Marginal(tree, keep).roots()
    return parts[0] if len(parts) == 1 else Product(parts)


class _Marginal:
    """The tree with some variables summed out, as a circuit."""

    def __init__(self, tree: "ChowLiu", keep: Scope) -> None:
        self.tree = tree
        self.children = children_of(tree.parents)
        order = parents_first(tree.parents)
        n = len(tree.variables)
        self.kept = [variable in keep for variable in tree.variables]
        self.any_kept, self.all_kept = self.kept.copy(), self.kept.copy()
        for i in reversed(order):
            for child in self.children[i]:
                self.any_kept[i] |= self.any_kept[child]
                self.all_kept[i] &= self.all_kept[child] or not self.any_kept[child]
        # Built from the leaves of the tree upward: given[i][u] is the sub-circuit at i when its parent has value u.
        self.given: list[list[Node]] = [[] for _ in range(n)]
        for i in reversed(order):
            if self.any_kept[i]:
                self.given[i] = [self._node(i, u) for u in ((0, 1) if tree.parents[i] >= 0 else (0,))]

    def roots(self) -> list[Node]:
        """Return one sub-circuit for each tree of the forest that keeps a variable."""
        return [self.given[i][0] for i, parent in enumerate(self.tree.parents) if parent < 0 and self.any_kept[i]]

    def _node(self, i: int, u: int) -> Node:
        if self.all_kept[i]:
            return self._subtree(i, u)
        branches = []
        for value in (0, 1):
            parts: list[Node] = [self.given[child][value] for child in self.children[i] if self.any_kept[child]]
            if self.kept[i]:
                parts.insert(0, Bernoulli(self.tree.variables[i], p=float(value)))
            branches.append(parts[0] if len(parts) == 1 else Product(parts))
        return Sum([float(self.tree.q[i, u]), float(self.tree.p[i, u])], branches)

    def _subtree(self, root: int, u: int) -> Node:
        """Return the kept part of the tree below `root` as a tree of its own."""
        members = [root]
        for i in members:
            members.extend(child for child in self.children[i] if self.any_kept[child])
        place = {old: new for new, old in enumerate(members)}
        p, q = self.tree.p[members].copy(), self.tree.q[members].copy()
        p[0], q[0] = self.tree.p[root, u], self.tree.q[root, u]
        parents = [-1] + [place[self.tree.parents[i]] for i in members[1:]]
        if len(members) > 1:
            return type(self.tree)([self.tree.variables[i] for i in members], parents, p, q)
        if q[0, 0] != 1 - p[0, 0]:  # a Bernoulli leaf knows p alone
            return Categorical(self.tree.variables[root], [q[0, 0], p[0, 0]])
        return Bernoulli(self.tree.variables[root], p=float(p[0, 0]))
