"""Chow-Liu trees over binary variables, one by one and laid out in a row for kernels."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.errors import EvidenceError, ParameterError
from xspn.core.logspace import logsumexp_quiet, safe_log
from xspn.core.random import Rng
from xspn.data.domain import Domain
from xspn.graph.nodes import Node, Scope, frozen
from xspn.leaves.base import Leaf, Picture, Smoothing, WebForm, packed, pieces, refuse_first, register, sizes_of
from xspn.leaves.blocks import LoopBlock, Shape, ShapedBlock, fast_path
from xspn.leaves.chow_liu_tree import (
    RowOfPairs,
    checked_parents,
    checked_tables,
    marginal_circuit,
    most_informative_tree,
    parents_first,
    tally_of_tree,
    tree_circuit,
)
from xspn.leaves.events import Mark

UNLIKELY = 1e-3  # a conditional probability of 0 below this is kept beside that of 1, of which it is a few last digits
MOST_EDGES = 3  # in a line of text


@register
class ChowLiu(Leaf):
    """A directed tree (or forest): each variable depends on at most one parent.

    Args:
        variables: The variables of the leaf.
        parents: The position (not the variable) of each one's parent; −1 for a root.
        p: P(X_i = 1 | parent = u) at `p[i][u]`; for a root both entries are its own probability.
        q: P(X_i = 0 | parent = u) in the same way, where 1 − p would lose its digits: next to certain values.

    Examples:
        >>> tree = ChowLiu([0, 1], parents=[-1, 0], p=[[0.5, 0.5], [0.1, 0.8]])
        >>> np.exp(tree.log_prob(np.array([[1.0, 1.0], [np.nan, 1.0]]))).round(12).tolist()
        [0.4, 0.45]
    """

    __slots__ = ("_log_p", "order", "p", "parents", "q")
    family = "chow_liu"
    only_domain = Domain.binary()
    parents: tuple[int, ...]
    p: FloatArray
    q: FloatArray
    _log_p: FloatArray  # (n, parent's value, own value)
    order: tuple[int, ...]  # parents before children

    def __init__(
        self,
        variables: Iterable[int],
        parents: Sequence[int],
        p: Sequence[Sequence[float]] | FloatArray,
        q: Sequence[Sequence[float]] | FloatArray | None = None,
    ) -> None:
        self._set_variables(variables)
        n = len(self._variables)
        self.parents = checked_parents(parents, n)
        self.order = tuple(parents_first(self.parents))
        if len(self.order) != n:
            raise ParameterError(f"ChowLiu: the parents {list(parents)!r} form a cycle")
        table = checked_tables(p, n)
        other = 1 - table if q is None else checked_tables(q, n)
        if (np.abs(table + other - 1) > 1e-9).any():
            raise ParameterError("ChowLiu: expected p and q that sum to 1")
        for i, parent in enumerate(self.parents):
            if parent < 0 and (table[i, 0] != table[i, 1] or other[i, 0] != other[i, 1]):
                raise ParameterError(f"ChowLiu: root {i} has no parent, but two probabilities: {table[i].tolist()}")
        self.p, self.q = frozen(table), frozen(other)
        self._log_p = frozen(safe_log(np.stack([other, table], axis=2)))
        self._seal()

    @classmethod
    def from_pair_counts(
        cls, variables: Iterable[int], pairs: FloatArray, total: float, smoothing: float | Smoothing = 0.0
    ) -> Self:
        """Learn the tree of largest mutual information from G = XᵀX (weighted) and the number of rows.

        Each cell of a pair's table gets half of the smoothing mass, so that a single variable gets the mass for each of
        its values, as a Bernoulli leaf does.

        Examples:
            >>> X = np.array([[0, 0, 1], [1, 1, 0], [1, 1, 1], [0, 0, 0.0]])
            >>> ChowLiu.from_pair_counts([0, 1, 2], X.T @ X, len(X), smoothing=0.1).parents
            (-1, 0, 0)
        """
        G = np.asarray(pairs, dtype=np.float64)
        return cls.with_pair_counts(variables, G, np.diag(G), total, smoothing)[0]

    @classmethod
    def with_pair_counts(
        cls,
        variables: Iterable[int],
        pairs: FloatArray | RowOfPairs,
        ones: FloatArray,
        total: float,
        smoothing: float | Smoothing = 0.0,
    ) -> tuple[Self, FloatArray]:
        """Learn the tree as `from_pair_counts` does, and return how often each child is one together with its parent.

        Args:
            variables: The variables of the leaf.
            pairs: G, or a function that returns one row of it, where all of it would take too much memory.
            ones: The diagonal of G.
            total: The number of rows.
            smoothing: The mass of each value of a variable.
        """
        own = tuple(variables)
        mass = Smoothing.of(smoothing).mass
        if total + mass == 0:
            raise ParameterError("ChowLiu: no rows and no smoothing; nothing to learn from")
        parents, both = most_informative_tree(pairs, ones, float(total), mass)
        roots, above = parents < 0, ones[parents]
        counts = np.array([[total - ones - above + both, ones - both], [above - both, both]]).transpose(2, 0, 1)
        counts[roots] = np.array([total - ones, ones]).T[roots][:, None, :] * [[1.0], [0.0]]
        if (counts < -1e-9 * total).any():
            raise ParameterError(f"ChowLiu: some pair occurs more often than its variables, or than {total:g} rows")
        counts = np.maximum(counts, 0.0)  # differences of weighted counts round to just below 0
        return cls(own, parents.tolist(), _probabilities(counts, roots, mass, np.full((len(own), 2), 0.5))), both

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: one per root, two per child."""
        return sum(1 if parent < 0 else 2 for parent in self.parents)

    # -- messages ----------------------------------------------------------------------------------------------------

    def _upward(self, x: FloatArray, best: bool = False, messages: dict[int, FloatArray] | None = None) -> FloatArray:
        """Return log P(evidence at and below i | X_i = v): (n, rows, 2); the best completion instead of the sum.

        If asked for, all messages are kept, those of the roots too.
        """
        below = np.zeros((len(self._variables), len(x), 2))
        for value in (0, 1):
            below[:, :, value] = np.where(1 - value == x.T, -np.inf, 0.0)
        for i in reversed(self.order):
            if self.parents[i] >= 0 or messages is not None:
                message = self._message(i, below[i], best)
                if messages is not None:
                    messages[i] = message
                if self.parents[i] >= 0:
                    below[self.parents[i]] += message
        return below

    def _message(self, i: int, below: FloatArray, best: bool) -> FloatArray:
        """Return what node i tells its parent, for each value of the parent: (rows, 2)."""
        joint = below[:, None, :] + self._log_p[i][None, :, :]  # (rows, parent's value, own value)
        return np.asarray(joint.max(axis=2)) if best else np.logaddexp(joint[:, :, 0], joint[:, :, 1])

    def _root_value(self, below: FloatArray, best: bool) -> FloatArray:
        roots = [i for i, parent in enumerate(self.parents) if parent < 0]
        return np.asarray(sum(self._message(i, below[i], best)[:, 0] for i in roots))

    def log_prob(self, x: FloatArray) -> FloatArray:
        """Return the log-probability: of whole rows by looking it up, of partial ones by one pass up the tree."""
        found, missing = np.zeros(len(x)), np.isnan(x)
        whole, empty = ~missing.any(axis=1), missing.all(axis=1)
        found[whole] = self._of_whole_rows(x[whole].astype(np.int64))
        partial = ~(whole | empty)
        if partial.any():
            found[partial] = self._root_value(self._upward(x[partial]), best=False)
        return found

    def _of_whole_rows(self, values: IntArray) -> FloatArray:
        parents = np.array(self.parents)
        above = np.where(parents >= 0, values[:, parents], 0)  # a root's parent counts as 0
        return np.asarray(self._log_p[np.arange(len(parents)), above, values].sum(axis=1))

    def _choose(self, x: FloatArray, below: FloatArray, draws: FloatArray | None) -> FloatArray:
        """Pass down the tree, choosing each value given its parent's: the best, or by chance."""
        filled = x.copy()
        rows = np.arange(len(x))
        for i in self.order:
            above = filled[:, self.parents[i]].astype(np.int64) if self.parents[i] >= 0 else np.zeros(len(x), np.int64)
            score = below[i] + self._log_p[i][above]
            if draws is None:
                value = np.argmax(score, axis=1)
            else:
                total = np.logaddexp(score[:, 0], score[:, 1])
                value = (draws[:, i] < np.exp(score[rows, 1] - total)).astype(np.int64)
            filled[:, i] = np.where(np.isnan(x[:, i]), value, x[:, i])
        return filled

    def mode(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the most probable completion: max-product on the tree, which is exact."""
        below = self._upward(x, best=True)
        return self._choose(x, below, None), self._root_value(below, best=True)

    def sample(self, x: FloatArray, rng: Rng) -> FloatArray:
        """Draw each value given its parent's and the evidence below it."""
        below = self._upward(x)
        if np.isneginf(self._root_value(below, best=False)).any():
            raise EvidenceError(f"ChowLiu over {self.scope}: the evidence has probability zero")
        return self._choose(x, below, rng.random(x.shape))

    def _posteriors(self, x: FloatArray) -> FloatArray:
        """Return P(parent's value, own value | evidence) of each node: (n, rows, 2, 2); a root's parent counts as 0."""
        below = self._upward(x)
        pairs = np.zeros((len(self._variables), len(x), 2, 2))
        single = np.zeros((len(self._variables), len(x), 2))
        for i in self.order:
            joint = below[i][:, None, :] + self._log_p[i][None, :, :]
            total = np.logaddexp(joint[:, :, :1], joint[:, :, 1:])
            conditional = np.exp(joint - np.where(np.isneginf(total), 0.0, total))  # given the parent and the evidence
            if self.parents[i] < 0:
                pairs[i, :, 0] = conditional[:, 0]
            else:
                pairs[i] = single[self.parents[i]][:, :, None] * conditional
            single[i] = pairs[i].sum(axis=1)
        return pairs

    def marginals(self, x: FloatArray) -> FloatArray:
        """Return P(X_i = v | e) by one pass up and one down."""
        table = self._posteriors(x).sum(axis=2).transpose(1, 0, 2)
        table[np.isneginf(self.log_prob(x))] = 0.0
        return np.asarray(table)

    def alternatives(self, x: FloatArray, best: bool = False) -> FloatArray:
        """Return log P with one value replaced, by one pass up and one down."""
        messages: dict[int, FloatArray] = {}  # to the parent: (rows, parent's value)
        self._upward(x, best, messages)
        children: dict[int, list[int]] = {}
        for i in self.order:
            children.setdefault(self.parents[i], []).append(i)
        # What is known beside the subtree of i, for each value of its parent; roots have each other.
        beside: dict[int, FloatArray] = {}
        found = np.empty((len(x), len(self._variables), 2))
        evidence = np.stack([np.where(x == 1, -np.inf, 0.0), np.where(x == 0, -np.inf, 0.0)], axis=2)  # (rows, n, 2)
        for parent in (-1, *self.order):
            own = children.get(parent, [])
            if parent >= 0:
                joint = beside[parent][:, :, None] + self._log_p[parent][None, :, :]  # (rows, above, own value)
                above = joint.max(axis=1) if best else np.logaddexp(joint[:, 0], joint[:, 1])
                found[:, parent] = above + sum(messages[i] for i in own)
                above = above + evidence[:, parent]
            else:
                above = np.zeros((len(x), 2))
                above[:, 1] = -np.inf  # a root's parent counts as 0
            after = [np.zeros((len(x), 2))]
            for i in reversed(own):
                after.append(after[-1] + messages[i])
            for place, i in enumerate(own):
                beside[i] = above + after[len(own) - 1 - place]
                above = above + messages[i]
        return found

    # -- closure -----------------------------------------------------------------------------------------------------

    def condition(self, x: FloatArray) -> tuple[Node | None, float]:
        """Return the forest of the missing variables given the others."""
        below = self._upward(x[None, :])
        log_evidence = float(self._root_value(below, best=False)[0])
        rest = [i for i in range(len(x)) if np.isnan(x[i])]
        if not rest or np.isneginf(log_evidence):
            return None, log_evidence
        place = {old: new for new, old in enumerate(rest)}
        parents, chances = [], []
        for i in rest:
            joint = below[i][0][None, :] + self._log_p[i]  # (parent's value, own value)
            total = logsumexp_quiet(joint, axis=1)
            impossible = np.isneginf(total)  # for a parent's value that the evidence rules out anything will do
            chance = np.exp(joint - np.where(impossible, 0.0, total)[:, None])
            chance[impossible] = [1.0, 0.0]
            parent = self.parents[i]
            if parent not in place:
                chance = np.tile(chance[int(x[parent]) if parent >= 0 else 0], (2, 1))
            parents.append(place.get(parent, -1))
            chances.append(chance)
        q, p = np.array(chances).transpose(2, 0, 1)
        q = np.where(q < UNLIKELY, q, 1 - p)
        return ChowLiu([self._variables[i] for i in rest], parents, p, q), log_evidence

    def marginalize(self, keep: Scope) -> Node | None:
        """Return the distribution of the kept variables.

        A subtree of kept variables stays a tree. A dropped variable above kept ones becomes a sum over its two values,
        and so do its ancestors, so that the result has at most four nodes per variable of the tree.
        """
        if not self.scope & keep:
            return None
        if self.scope & keep == self.scope:
            return self
        return marginal_circuit(self, keep)

    def expansion(self) -> Node:
        """Return one sum over the two values of a variable for each value of its parent."""
        return tree_circuit(self)

    # -- moments and parameters --------------------------------------------------------------------------------------

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return E[x] and Cov(x): P(X_j = 1) · (P(X_i = 1 | X_j = 1) − P(X_i = 1)), one pass for each j."""
        n = len(self._variables)
        own = self.marginals(np.full((1, n), np.nan))[0]
        mean = own[:, 1]
        given = np.full((n, n), np.nan)
        np.fill_diagonal(given, 1.0)
        covariance = (self.marginals(given)[:, :, 1] - mean) * mean[:, None]
        covariance = (covariance + covariance.T) / 2
        np.fill_diagonal(covariance, own[:, 0] * mean)
        return mean, covariance

    def tally(self, x: FloatArray, marks: Sequence[Mark | None]) -> FloatArray:
        """Return what generating functions passed up the tree give."""
        return tally_of_tree(self, x, marks)

    def law(self, names: Sequence[str], label: Callable[[int], str]) -> str:
        """Name the edges, the strongest first."""
        information = self.edge_information()
        edges = [i for i in np.argsort(-information, kind="stable").tolist() if self.parents[i] >= 0]
        if not edges:
            return "each on its own"
        named = [f"{names[self.parents[i]]}–{names[i]}" for i in edges[:MOST_EDGES]]
        more = f" and {len(edges) - MOST_EDGES} more" if len(edges) > MOST_EDGES else ""
        return f"depend on each other along a tree: {', '.join(named)}{more}"

    def dependence(self) -> float:
        """Return the sum of the mutual information of all edges."""
        return float(self.edge_information().sum())

    def edge_information(self) -> FloatArray:
        """Return the mutual information of each variable and its parent, in nats; 0 for a root."""
        pairs = self._posteriors(np.full((1, len(self._variables)), np.nan))[:, 0]  # (n, parent's value, own value)
        apart = pairs.sum(axis=2, keepdims=True) * pairs.sum(axis=1, keepdims=True)
        ratio = np.divide(pairs, apart, out=np.ones_like(pairs), where=pairs > 0)
        return np.asarray((pairs * np.log(ratio)).sum(axis=(1, 2)))

    def picture(self) -> Picture:
        """Draw any tree: it would be too small to read."""
        return "tree", ()

    def web_form(self) -> WebForm:
        """Return the log-probabilities of each value given the parent's, and the parents."""
        return WebForm("tree", self._log_p.ravel(), self.parents)

    def statistics(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the expected weight of each (parent's value, own value), flattened."""
        missing = np.isnan(x)
        whole = ~missing.any(axis=1)
        counts = self._pair_counts(x[whole], weights[whole])
        if not whole.all():
            partial = np.flatnonzero(~whole & ~missing.all(axis=1))
            some = partial[~np.isneginf(self.log_prob(x[partial]))]
            counts += np.einsum("r,irab->iab", weights[some], self._posteriors(x[some]))
        return np.asarray(counts.ravel())

    def _pair_counts(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weight of whole rows with each (parent's value, own value): (n, 2, 2)."""
        above = np.array([x[:, parent] if parent >= 0 else np.zeros(len(x)) for parent in self.parents])  # (n, rows)
        given, own = np.stack([1 - above, above]), np.stack([1 - x.T, x.T])  # (value, n, rows)
        return np.asarray(np.einsum("uir,vir->iuv", given * weights, own))

    def from_statistics(self, statistics: FloatArray, smoothing: float | Smoothing = 0.0) -> Self:
        """Return the tree of the same shape with smoothed frequencies; nodes without any mass stay as they are."""
        mass = Smoothing.of(smoothing).mass
        counts = statistics.reshape(-1, 2, 2)
        p = _probabilities(counts, np.array(self.parents) < 0, mass, self.p)
        return type(self)(self._variables, self.parents, p)

    def sensitivity(self, x: FloatArray) -> FloatArray:
        """Return what the row says of each table: as many rows are behind it as have the parent's value."""
        pairs, usual = self._posteriors(x), self._posteriors(np.full((1, len(self._variables)), np.nan))[:, 0]
        above, chances = usual.sum(axis=2), np.exp(self._log_p)  # (n, parent's value), (n, parent's value, own value)
        open_part = (chances > 0) & (above > 0)[:, :, None]
        root = np.sqrt(np.where(open_part, chances, 1.0))[:, None]
        found = pairs / root - root * pairs.sum(axis=3, keepdims=True)
        found = found / np.sqrt(np.where(above > 0, above, 1.0))[:, None, :, None] * open_part[:, None]
        return np.asarray(found.transpose(1, 0, 2, 3).reshape(len(x), -1))

    def to_params(self) -> dict[str, Any]:
        """Return the tree and its tables."""
        params = {"parents": list(self.parents), "p": self.p.tolist()}
        return params if (self.q == 1 - self.p).all() else {**params, "q": self.q.tolist()}

    @classmethod
    def from_params(cls, variables: tuple[int, ...], params: dict[str, Any]) -> Self:
        """Build the leaf."""
        return cls(variables, params["parents"], params["p"], params.get("q"))

    @classmethod
    def pack(cls, leaves: Sequence[Self]) -> dict[str, AnyArray]:
        """Return all parents and all tables one after the other."""
        parents = np.concatenate([np.array(leaf.parents, dtype=np.int64) for leaf in leaves])
        p, q = (np.concatenate([getattr(leaf, name) for leaf in leaves]) for name in "pq")
        arrays = {"parents": parents, "p": p}
        return arrays if (q == 1 - p).all() else {**arrays, "q": q}

    @classmethod
    def unpack(cls, variables: Sequence[tuple[int, ...]], arrays: Mapping[str, AnyArray]) -> list[Self]:
        """Build the leaves."""
        sizes = sizes_of(variables)
        count = int(sizes.sum())
        above, p = packed(arrays, "parents", count, np.int64), packed(arrays, "p", count, width=2)
        q = packed(arrays, "q", count, width=2) if "q" in arrays else frozen(1 - p)
        good = (above >= -1) & (above < np.repeat(sizes, sizes))
        good &= ((p >= 0) & (p <= 1) & (q >= 0) & (q <= 1) & (abs(p + q - 1) <= 1e-9)).all(axis=1)
        good &= (above >= 0) | ((p[:, 0] == p[:, 1]) & (q[:, 0] == q[:, 1]))
        ones, zeros = pieces(p, sizes), pieces(q, sizes)
        parents = [tuple(own.tolist()) for own in pieces(above, sizes)]
        unusable = np.zeros(len(sizes), dtype=bool)
        unusable[np.repeat(np.arange(len(sizes)), sizes)[~good]] = True
        refuse_first(unusable, lambda i: cls(variables[i], parents[i], ones[i], zeros[i]))
        order = [tuple(parents_first(own)) for own in parents]
        refuse_first(sizes_of(order) != sizes, lambda i: cls(variables[i], parents[i], ones[i]))
        logs = pieces(frozen(safe_log(np.stack([q, p], axis=2))), sizes)
        return cls._in_bulk(variables, parents=parents, order=order, p=ones, q=zeros, _log_p=logs)

    @classmethod
    def example(cls, rng: np.random.Generator, first_variable: int = 0) -> Self:
        """Return a random tree or forest over two to five variables."""
        n = int(rng.integers(2, 6))
        parents = [-1] + [int(rng.integers(-1 if rng.random() < 0.2 else 0, i)) for i in range(1, n)]
        p = rng.random((n, 2))
        p[rng.random((n, 2)) < 0.1] = 0.0
        for i, parent in enumerate(parents):
            p[i, 1] = p[i, 0] if parent < 0 else p[i, 1]
        return cls(range(first_variable, first_variable + n), parents, p)

    def __repr__(self) -> str:
        return f"ChowLiu tree over {self.scope}"


def _probabilities(counts: FloatArray, roots: BoolArray, mass: float, otherwise: FloatArray) -> FloatArray:
    """Return P(X_i = 1 | parent's value) from smoothed counts (n, parent's value, own value)."""
    pooled = np.where(roots[:, None, None], counts.sum(axis=1, keepdims=True), counts)
    smoothed = pooled + np.where(roots, mass, mass / 2)[:, None, None]
    total = smoothed.sum(axis=2)
    return np.asarray(np.where(total > 0, smoothed[:, :, 1] / np.where(total > 0, total, 1.0), otherwise))


@fast_path(ChowLiu)
class TreeBlock(LoopBlock, ShapedBlock):
    """Chow-Liu trees. Entries are the variables of one tree after the other, in each tree parents before children."""

    shape = Shape.TREE
    leaves: "list[ChowLiu]"  # type: ignore[assignment]

    @cached_property
    def _sizes(self) -> IntArray:
        return np.array([len(tree.variables) for tree in self.leaves], dtype=np.int64)

    @cached_property
    def entry_ends(self) -> IntArray:
        """Where each tree's entries end."""
        return np.cumsum(self._sizes)

    @cached_property
    def entry_sources(self) -> IntArray:
        """Where each entry stands among all trees' variables in their own orders."""
        starts = self.entry_ends - self._sizes
        return np.concatenate([start + np.array(tree.order) for tree, start in zip(self.leaves, starts, strict=True)])

    @cached_property
    def entry_variables(self) -> IntArray:
        """The variable of each entry."""
        return np.concatenate([np.array(tree.variables)[list(tree.order)] for tree in self.leaves])

    @cached_property
    def entry_parents(self) -> IntArray:
        """The place of each entry's parent among the entries of its tree; −1 for a root."""
        found = []
        for tree in self.leaves:
            place = {old: new for new, old in enumerate(tree.order)}
            found += [place.get(tree.parents[i], -1) for i in tree.order]
        return np.array(found, dtype=np.int64)

    @cached_property
    def entry_has_children(self) -> BoolArray:
        """Whether some other variable depends on that of each entry."""
        starts = np.repeat(self.entry_ends - self._sizes, self._sizes)
        has = np.zeros(len(starts), dtype=bool)
        has[(starts + self.entry_parents)[self.entry_parents >= 0]] = True
        return has

    @cached_property
    def tables(self) -> FloatArray:
        """P(own | parent) of (parent, own) = 00, 01, 10, 11, in the trees' own orders: (variables of all trees, 4)."""
        p, q = (np.concatenate([getattr(tree, name) for tree in self.leaves]) for name in "pq")
        return np.stack([q[:, 0], p[:, 0], q[:, 1], p[:, 1]], axis=1)

    def layout_arrays(self) -> dict[str, AnyArray]:
        """Return what each entry is about, and where it stands in its tree."""
        return {
            "tree_variable": self.entry_variables,
            "tree_parent": self.entry_parents,
            "tree_has_children": self.entry_has_children,
            "tree_source": self.entry_sources,
        }

    def number_arrays(self) -> dict[str, AnyArray]:
        """Return the tables of all entries."""
        return {"tree_p": self.tables[self.entry_sources]}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, AnyArray], ends: IntArray, n_variables: int) -> Self:
        """Return the block of these trees."""
        sizes = np.diff(ends, prepend=0)
        names = ("tree_variable", "tree_parent", "tree_source", "tree_p")
        return cls([_tree(*own) for own in zip(*(pieces(arrays[name], sizes) for name in names), strict=True)])

    def counts_of_kernels(self, found: Any) -> FloatArray:
        """Return the counts of entries in the trees' own orders."""
        counts = np.empty_like(found.tree)
        counts[self.entry_sources] = found.tree
        return np.asarray(counts.ravel())


def _tree(variable: IntArray, above: IntArray, source: IntArray, p: FloatArray) -> ChowLiu:
    """Return the tree with these entries, its variables in the order in which they were given."""
    order = source - source.min()
    parents, variables, tables = np.full(len(order), -1), np.empty_like(order), np.empty((len(order), 4))
    parents[order] = np.where(above < 0, -1, order[above])
    variables[order], tables[order] = variable, p
    return ChowLiu(variables.tolist(), parents.tolist(), tables[:, [1, 3]], tables[:, [0, 2]])
