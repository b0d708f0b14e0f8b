"""One binary variable, and the block of all Bernoulli leaves, folded product by product."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, log
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.checks import is_real_number
from xspn.core.errors import ParameterError
from xspn.core.logspace import safe_log
from xspn.core.polynomials import Polynomials
from xspn.core.random import Rng, RowRandom
from xspn.data.domain import Domain
from xspn.graph.nodes import Node
from xspn.leaves import posterior
from xspn.leaves.base import Leaf, Picture, Smoothing, Univariate, WebForm, packed, refuse_first, register
from xspn.leaves.blocks import RowBlock, Shape, ShapedBlock, fast_path
from xspn.leaves.events import Mark, degree_of

SLOTS_AT_ONCE = 1024  # slots × variables are counted densely: this bounds the memory


@register
class Bernoulli(Univariate):
    """P(X = 1) = p. With p = 0 or 1 it is an indicator of one value.

    Examples:
        >>> leaf = Bernoulli(0, p=0.4)
        >>> np.exp(leaf.log_prob(np.array([[1.0], [0.0], [np.nan]]))).round(12).tolist()
        [0.4, 0.6, 1.0]
        >>> leaf.from_statistics(np.array([2.0, 6.0]), smoothing=1)  # two zeros and six ones
        Bernoulli(0, p=0.7)
    """

    __slots__ = ("p",)
    family = "bernoulli"
    only_domain = Domain.binary()
    p: float

    def __init__(self, variable: int, p: float) -> None:
        self._set_variables(variable)
        if not is_real_number(p) or not 0 <= p <= 1:
            raise ParameterError(f"Bernoulli: expected a probability p from 0 to 1, found {p!r}")
        object.__setattr__(self, "p", float(p))
        self._seal()

    @property
    def log_p(self) -> tuple[float, float]:
        """The log-probabilities of 0 and of 1."""
        return (log(1 - self.p) if self.p < 1 else -inf, log(self.p) if self.p > 0 else -inf)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: one, or none for an indicator."""
        return 1 if 0 < self.p < 1 else 0

    def log_prob(self, x: FloatArray) -> FloatArray:
        """Return log p, log(1 − p), or 0 where the value is missing."""
        value, (zero, one) = x[:, 0], self.log_p
        return np.where(value == 1, one, np.where(value == 0, zero, 0.0))

    def condition(self, x: FloatArray) -> tuple[Node | None, float]:
        """Return the leaf itself if its variable is missing, otherwise the value's log-probability."""
        value = x[0]
        return (self, 0.0) if value != value else (None, self.log_p[1 if value == 1 else 0])

    def mode(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Fill with the likelier value; 0 in case of a tie."""
        filled = np.where(np.isnan(x), float(self.p > 0.5), x)
        return filled, self.log_prob(filled)

    def sample(self, x: FloatArray, rng: Rng) -> FloatArray:
        """Fill with 1 with probability p."""
        return np.where(np.isnan(x), (rng.random(x.shape) < self.p).astype(np.float64), x)

    def marginals(self, x: FloatArray) -> FloatArray:
        """Return 1 − p and p, or all mass on the observed value: circuits have so many of these leaves."""
        value, own = x[:, :, None], np.array([1 - self.p, self.p])
        return np.where(np.isnan(value), own, (value == np.arange(2)) & (own > 0))

    def alternatives(self, x: FloatArray, best: bool = False) -> FloatArray:
        """Return both log-probabilities, whatever stands there."""
        return np.broadcast_to(np.array(self.log_p), (len(x), 1, 2))

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return p and p(1 − p)."""
        return np.array([self.p]), np.array([[self.p * (1 - self.p)]])

    def supports(self) -> tuple[frozenset[int] | None, ...]:
        """Return the values whose probability is not 0."""
        return (frozenset(value for value in (0, 1) if self.log_p[value] > -inf),)

    def details(self, label: Callable[[int], str]) -> str:
        """Return the probability of a one."""
        return f"P({label(1)}) = {self.p:.3g}"

    def term(self, names: str) -> str:
        """Return B(name; p)."""
        return f"B({names}; {self.p:.4g})"

    def picture(self) -> Picture:
        """Return p."""
        return "chances", ((float(self.p),),)

    def web_form(self) -> WebForm:
        """Return both log-probabilities."""
        return WebForm("table", np.array(self.log_p), (2,))

    def statistics(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weight of zeros and of ones."""
        value = x[:, 0]
        return np.array([weights[value == 0].sum(), weights[value == 1].sum()])

    def from_statistics(self, statistics: FloatArray, smoothing: float | Smoothing = 0.0) -> Self:
        """Return p = (n₁ + α) / (n + 2α)."""
        mass = Smoothing.of(smoothing).mass
        total = statistics.sum() + 2 * mass
        if total == 0:
            return self
        return type(self)(self._variables[0], p=(statistics[1] + mass) / total)

    def sensitivity(self, x: FloatArray) -> FloatArray:
        """Return (x − p) / √(p(1 − p)); nothing is open of an indicator."""
        return np.asarray(np.nan_to_num(x - self.p) / np.sqrt(self.p * (1 - self.p)) if self.n_parameters else 0.0 * x)

    @classmethod
    def sensitivity_together(cls, leaves: Sequence[Self]) -> Callable[[FloatArray], FloatArray]:
        """Return the same for many leaves."""
        columns = np.array([leaf.variables[0] for leaf in leaves], dtype=np.int64)
        p = np.array([[leaf.p] for leaf in leaves])
        spread = np.sqrt(p * (1 - p))
        scale = np.divide(1.0, spread, out=np.zeros_like(p), where=spread > 0)
        return lambda values: np.nan_to_num(values.T[columns] - p) * scale

    def posterior_draw(self, rows: float, rng: np.random.Generator) -> Leaf:
        """Draw p from a beta distribution."""
        chances = posterior.dirichlet(np.array([1 - self.p, self.p]), rows, rng)
        return type(self)(self._variables[0], p=float(chances[1])) if self.n_parameters else self

    def to_params(self) -> dict[str, Any]:
        """Return p."""
        return {"p": self.p}

    @classmethod
    def from_params(cls, variables: tuple[int, ...], params: dict[str, Any]) -> Self:
        """Build the leaf."""
        return cls(cls._only(variables), p=params["p"])

    @classmethod
    def pack(cls, leaves: Sequence[Self]) -> dict[str, AnyArray]:
        """Return all p in one array."""
        return {"p": np.array([leaf.p for leaf in leaves], dtype=np.float64)}

    @classmethod
    def unpack(cls, variables: Sequence[tuple[int, ...]], arrays: Mapping[str, AnyArray]) -> list[Self]:
        """Build the leaves."""
        p = packed(arrays, "p", len(variables))
        refuse_first(~((p >= 0) & (p <= 1)), lambda i: cls.from_params(variables[i], {"p": float(p[i])}))
        return cls._in_bulk(variables, p=p.tolist())

    @classmethod
    def example(cls, rng: np.random.Generator, first_variable: int = 0) -> Self:
        """Return a random Bernoulli leaf, sometimes an indicator."""
        return cls(first_variable, p=float(rng.choice([0.0, 1.0, rng.random(), rng.random()])))

    def __repr__(self) -> str:
        return f"Bernoulli({self._variables[0]}, p={self.p:.6g})"


@dataclass(frozen=True, eq=False)
class _Entries:
    """Which leaf stands where, whatever its parameter: entries are (slot, leaf), sorted by slot."""

    slots: IntArray  # (entries,)
    which: IntArray  # (entries,): the leaf; one that several products share has several entries
    variables: IntArray  # (leaves,)
    n_slots: int
    n_variables: int

    @cached_property
    def _order(self) -> IntArray:
        """The entries by slot, and those of a slot by variable, as the rows of sparse matrices want them."""
        places = self.slots * self.n_variables + self.variables[self.which]
        return np.arange(len(places)) if (places[1:] >= places[:-1]).all() else np.argsort(places, kind="stable")

    @cached_property
    def _pattern(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        return self._pattern_of(self._order)

    def _pattern_of(self, entries: IntArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Return the leaves, the columns and the ends of rows of a matrix with these entries."""
        index = np.int32 if max(len(self.which), self.n_variables) < 1 << 31 else np.int64
        which = self.which[entries]
        ends = np.cumsum(np.bincount(self.slots[entries] + 1, minlength=self.n_slots + 1))
        return which, self.variables[which].astype(index), ends.astype(index)

    def matrix(self, values: AnyArray, chosen: BoolArray | None = None) -> csr_array:
        """Return a matrix (slots, variables) with the leaves' values at the chosen entries."""
        which, columns, ends = self._pattern if chosen is None else self._pattern_of(self._order[chosen[self._order]])
        return csr_array((values[which], columns, ends), shape=(self.n_slots, self.n_variables), dtype=np.float64)


def _products(slots: IntArray, factors: FloatArray) -> Iterator[tuple[int, FloatArray]]:
    """Yield the product of each slot's polynomials; neighbors in a slot are multiplied until one is left.

    Args:
        slots: The slot of each factor, in order.
        factors: Coefficients that sum to 1: (factors, rows or 1, degree + 1).
    """
    sizes = np.bincount(slots)
    while len(slots):
        first = np.concatenate([[True], slots[1:] != slots[:-1]])
        place = np.arange(len(slots)) - np.flatnonzero(first)[np.cumsum(first) - 1]  # within the slot
        alone = first & np.append(first[1:], True)
        for k in np.flatnonzero(alone).tolist():
            yield int(slots[k]), np.ascontiguousarray(factors[k, :, : sizes[slots[k]] + 1])
        left = np.flatnonzero((place % 2 == 0) & ~alone)
        if not len(left):
            return
        partner = np.minimum(left + 1, len(slots) - 1)
        paired = (slots[partner] == slots[left]) & (partner > left)
        width = factors.shape[2]
        out = np.zeros((len(left), factors.shape[1], 2 * width - 1))
        out[~paired, :, :width] = factors[left[~paired]]
        a, b = factors[left[paired]], factors[partner[paired]]
        both = np.zeros((len(a), a.shape[1], 2 * width - 1))
        for k in range(width):
            both[:, :, k : k + width] += a * b[:, :, k : k + 1]
        out[paired] = both
        slots, factors = slots[left], out


@fast_path(Bernoulli)
class BernoulliBlock(ShapedBlock):
    """Each slot is a product of Bernoulli leaves: a row of log-probabilities times the bits of the data.

    Leaves with p = 0 or 1 would put −inf into that product. They are counted apart: a slot with an impossible value
    is −inf, and only then.
    """

    shape = Shape.FACTORS

    def __init__(self, variables: IntArray, p: FloatArray, slots: IntArray, which: IntArray, n_variables: int) -> None:
        """Lay out leaves by their variables and parameters.

        Args:
            variables: The variable of each leaf.
            p: The parameter of each leaf.
            slots: The slot of each entry; slots are in order, and each has an entry.
            which: The leaf of each entry.
            n_variables: The number of variables of the circuit.
        """
        self._set(_Entries(slots, which, variables, int(slots[-1]) + 1, n_variables), p)

    @classmethod
    def of_leaves(cls, leaves: Sequence[Bernoulli], n_variables: int) -> Self:
        """Return the block of leaves that stand by themselves."""
        alone = np.arange(len(leaves))
        return cls.of_entries(leaves, alone, alone, n_variables)

    @classmethod
    def of_entries(cls, leaves: Sequence[Bernoulli], slots: IntArray, which: IntArray, n_variables: int) -> Self:
        """Return the block with the leaves `which` in the slots of the same places."""
        variables = np.fromiter((leaf.variables[0] for leaf in leaves), dtype=np.int64, count=len(leaves))
        p = np.fromiter((leaf.p for leaf in leaves), dtype=np.float64, count=len(leaves))
        block = cls(variables, p, slots, which, n_variables)
        block.__dict__["_leaves"] = list(leaves)
        return block

    def _set(self, layout: _Entries, p: FloatArray) -> None:
        self._layout, self.p = layout, p
        self.n_slots = layout.n_slots
        log_p = safe_log(np.stack([1 - p, p], axis=1))
        certain = np.isneginf(log_p)  # (leaves, 2): this value is impossible
        finite = np.where(certain, 0.0, log_p)
        self._log = [layout.matrix(finite[:, 0]), layout.matrix(finite[:, 1])]
        self._log_odds = layout.matrix(finite[:, 1] - finite[:, 0])
        self._all_zero = np.bincount(layout.slots, weights=finite[layout.which, 0], minlength=self.n_slots)
        self._impossible = [layout.matrix(np.ones(len(p)), certain[layout.which, value]) for value in (0, 1)]

    @property
    def entry_leaves(self) -> IntArray:
        """The leaf at each entry; entries are the leaves of one slot after the other."""
        return self._layout.which

    @property
    def entry_variables(self) -> IntArray:
        """The variable at each entry."""
        return np.asarray(self._layout.variables[self._layout.which])

    @property
    def entry_ends(self) -> IntArray:
        """Where each slot's entries end."""
        return np.cumsum(np.bincount(self._layout.slots, minlength=self.n_slots))

    def layout_arrays(self) -> dict[str, AnyArray]:
        """Return the variable and the leaf of each entry."""
        return {"bernoulli_variable": self.entry_variables, "bernoulli_leaf": self.entry_leaves}

    def number_arrays(self) -> dict[str, AnyArray]:
        """Return the probabilities of 0 and of 1."""
        p = self.p[self.entry_leaves]
        return {"bernoulli_p": np.stack([1 - p, p], axis=1)}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, AnyArray], ends: IntArray, n_variables: int) -> Self:
        """Return the block of one leaf for each entry."""
        variables, p = np.array(arrays["bernoulli_variable"]), np.array(arrays["bernoulli_p"][:, 1])
        slots = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        return cls(variables, p, slots, np.arange(len(slots)), n_variables)

    def counts_of_kernels(self, found: Any) -> FloatArray:
        """Return the counts of entries, added up for each leaf."""
        counts = self.new_counts()
        np.add.at(counts, self.entry_leaves, found.bernoulli)
        return counts

    @cached_property
    def _leaves(self) -> list[Bernoulli]:
        return [Bernoulli(int(v), p=p) for v, p in zip(self._layout.variables, self.p, strict=True)]

    @cached_property
    def _log_best(self) -> csr_array:
        p = self.p
        return self._layout.matrix(safe_log(np.maximum(p, 1 - p)))

    @cached_property
    def _p(self) -> csr_array:
        return self._layout.matrix(self.p)

    @cached_property
    def _reach(self) -> csr_array:
        """1 where a slot has a leaf for a variable."""
        return self._layout.matrix(np.ones(len(self.p)))

    @cached_property
    def _of_slot(self) -> list[IntArray]:
        """The leaves of each slot."""
        return np.split(self._layout.which, np.searchsorted(self._layout.slots, np.arange(1, self.n_slots)))

    def slot_leaves(self) -> Sequence[Sequence[Leaf]]:
        """Return the Bernoulli leaves of each product."""
        return [[self._leaves[i] for i in own] for own in self._of_slot]

    def log_prob(self, rows: RowBlock) -> FloatArray:
        """Return the sum of the leaves' log-probabilities."""
        if rows.whole:
            out = self._log_odds @ rows.ones
            out += self._all_zero[:, None]
        else:
            out = self._log[0] @ rows.observed
            out += self._log_odds @ rows.ones
        return self._without_impossible(out, rows)

    def log_mode(self, rows: RowBlock) -> FloatArray:
        """Return the same with the likelier value where one is missing."""
        out = self._log[0] @ rows.zeros + self._log[1] @ rows.ones + self._log_best @ rows.missing.astype(np.float64)
        return self._without_impossible(out, rows)

    def _without_impossible(self, out: FloatArray, rows: RowBlock) -> FloatArray:
        if self._impossible[0].nnz:
            out[self._impossible[0] @ rows.zeros > 0] = -np.inf
        if self._impossible[1].nnz:
            out[self._impossible[1] @ rows.ones > 0] = -np.inf
        return out

    def tally(self, rows: RowBlock, marks: Mapping[int, Mark]) -> list[Polynomials]:
        """Return the products of (P(0) z^a + P(1) z^b), multiplied pairwise in all slots at once."""
        layout = self._layout
        variables = layout.variables[layout.which]
        marked = np.flatnonzero(np.isin(variables, list(marks)))
        own_marks = {id(marks[v]): marks[v] for v in np.unique(variables[marked]).tolist()}
        if any(degree_of([mark]) > 1 for mark in own_marks.values()):
            return super().tally(rows, marks)  # several counts at once
        slots, own, p = layout.slots[marked], variables[marked], self.p[layout.which[marked]]
        missing = rows.missing[own]  # (entries, rows)
        missing = missing[:, :1] if (missing == missing[:, :1]).all() else missing
        adds = np.array([marks[v] for v in own.tolist()], dtype=np.int64).reshape(-1, 2)
        chances = np.stack([1 - p, p], axis=1)
        factors = np.stack([np.where(adds == k, chances, 0.0).sum(axis=1) for k in (0, 1)], axis=1)  # (entries, 2)
        allowed = np.where((adds < 0).any(axis=1), factors.sum(axis=1), 1.0)
        factors = np.where(
            missing[:, :, None], (factors / np.where(allowed > 0, allowed, 1.0)[:, None])[:, None], [1, 0]
        )
        observed = self.log_prob(rows)
        excluded = np.flatnonzero(allowed < 1.0)
        np.add.at(observed, slots[excluded], np.where(missing[excluded], safe_log(allowed[excluded])[:, None], 0.0))
        found = [Polynomials.constants(own) for own in observed]
        counts = (adds > 0).any(axis=1)
        for slot, coefficients in _products(slots[counts], factors[counts]):
            found[slot] = Polynomials(coefficients, observed[slot])
        return found

    def fill(self, rows: RowBlock, active: BoolArray, out: FloatArray, random: RowRandom | None) -> None:
        """Fill each product's missing bits."""
        for slot in np.flatnonzero(active.any(axis=1)).tolist():
            where, leaves = np.flatnonzero(active[slot]), self._of_slot[slot]
            columns, p = self._layout.variables[leaves], self.p[leaves]
            own = rows.values[np.ix_(where, columns)]
            drawn = p > 0.5 if random is None else random.at(slot, where).random(own.shape) < p
            out[np.ix_(where, columns)] = np.where(np.isnan(own), drawn, own)

    def add_marginals(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Add flow · p for missing bits and flow for observed ones: two sparse products for all leaves."""
        one = (self._p.T @ flow).T  # (rows, variables)
        reach = (self._reach.T @ flow).T
        observed = ~rows.missing.T
        p_one = np.where(observed, reach * (rows.values == 1), one)
        out[:, :, 1] += p_one
        out[:, :, 0] += reach - p_one

    @cached_property
    def _odds(self) -> list[csr_array]:
        """P(1) / P(0), and P(0) / P(1); 0 where the denominator is: what replaces that value is counted apart."""
        with np.errstate(divide="ignore"):
            pairs = [(1 - self.p, self.p), (self.p, 1 - self.p)]
            return [self._layout.matrix(np.where(own > 0, other / own, 0.0)) for own, other in pairs]

    @cached_property
    def _parts_of_best(self) -> list[csr_array]:
        """P(0) and P(1) as parts of the larger of the two."""
        best = np.maximum(self.p, 1 - self.p)
        return [self._layout.matrix((1 - self.p) / best), self._layout.matrix(self.p / best)]

    @cached_property
    def _impossible_variables(self) -> list[csr_array]:
        """The variable, at the entries that a value makes impossible."""
        own = [matrix.copy() for matrix in self._impossible]
        for matrix in own:
            matrix.data = matrix.indices.astype(np.float64)
        return own

    def add_alternatives(
        self, rows: RowBlock, log_derivative: FloatArray, values: FloatArray, out: FloatArray, best: bool
    ) -> None:
        """Add the flow on what stands there times the odds of the other value: a few sparse products for all leaves."""
        flow, missing = np.exp(log_derivative + values), rows.missing.T
        one, zero = rows.values == 1, rows.values == 0
        if not rows.whole:
            for value, part in enumerate(self._parts_of_best if best else [self._reach - self._p, self._p]):
                out[:, :, value] += np.where(missing, (part.T @ flow).T, 0.0)
        if best:
            return
        reach = (self._reach.T @ flow).T
        for value, own in ((0, zero), (1, one)):
            out[:, :, value] += np.where(own, reach, 0.0)
            out[:, :, 1 - value] += np.where(own, (self._odds[value].T @ flow).T, 0.0)
        if self._impossible[0].nnz or self._impossible[1].nnz:
            self._add_possible(rows, log_derivative, out)

    def _add_possible(self, rows: RowBlock, log_derivative: FloatArray, out: FloatArray) -> None:
        """Add the products that one value makes impossible: with the other value of that variable they are not."""
        n_zeros = self._impossible[0] @ rows.zeros + self._impossible[1] @ rows.ones
        slot, row = np.nonzero((n_zeros == 1) & (log_derivative > -np.inf))
        if not len(slot):
            return
        which = self._impossible_variables[0] @ rows.zeros + self._impossible_variables[1] @ rows.ones
        variable = which[slot, row].astype(np.int64)
        others = (self._log[0] @ rows.zeros + self._log[1] @ rows.ones)[slot, row]
        other_value = (rows.values[row, variable] == 0).astype(np.int64)
        np.add.at(out, (row, variable, other_value), np.exp(log_derivative[slot, row] + others))

    # -- parameters --------------------------------------------------------------------------------------------------

    def new_counts(self) -> FloatArray:
        """Return zeros and ones of each leaf: (leaves, 2)."""
        return np.zeros((len(self.p), 2))

    def add_counts(self, rows: RowBlock, flow: FloatArray, out: FloatArray) -> None:
        """Add the flow on zeros and ones: dense products of (slots, rows) by (rows, variables), leaves picked out."""
        layout = self._layout
        for first in range(0, self.n_slots, SLOTS_AT_ONCE):
            own = flow[first : first + SLOTS_AT_ONCE]
            chosen = slice(*np.searchsorted(layout.slots, (first, first + SLOTS_AT_ONCE)))
            slots, which = layout.slots[chosen] - first, layout.which[chosen]
            ones = (own @ rows.ones.T)[slots, layout.variables[which]]
            seen = own.sum(axis=1)[slots] if rows.whole else (own @ rows.observed.T)[slots, layout.variables[which]]
            # A difference of two sums may round to just below 0.
            out[:, 0] += np.bincount(which, weights=np.maximum(seen - ones, 0.0), minlength=len(out))
            out[:, 1] += np.bincount(which, weights=ones, minlength=len(out))

    def expected_statistics(self, counts: FloatArray) -> FloatArray:
        """Return the counts: a missing bit tells nothing."""
        return counts

    def refit(self, statistics: FloatArray, smoothing: Smoothing) -> Self:
        """Return p = (n₁ + α) / (n + 2α) for every leaf at once; indicators have nothing to fit."""
        total = statistics.sum(axis=1) + 2 * smoothing.mass
        free = (total > 0) & (self.p > 0) & (self.p < 1)
        fitted = (statistics[:, 1] + smoothing.mass) / np.where(total > 0, total, 1.0)
        block = type(self).__new__(type(self))
        block._set(self._layout, np.where(free, np.clip(fitted, 0.0, 1.0), self.p))
        return block
