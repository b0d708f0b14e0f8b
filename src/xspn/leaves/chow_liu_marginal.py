"""A Chow-Liu tree with some variables summed out, as a circuit."""

from typing import TYPE_CHECKING

from xspn.graph.nodes import Node, Product, Sum
from xspn.graph.scope import Scope
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.categorical import Categorical
from xspn.leaves.chow_liu_tree import children_of, parents_first

if TYPE_CHECKING:
    from xspn.leaves.chow_liu import ChowLiu


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
