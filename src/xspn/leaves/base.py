"""THE contract of a leaf, the registry of leaf families, and what families share: one variable, smoothing.

A leaf is a distribution over a few variables. It sees only its own columns, in its own order, as floats with NaN for
what is missing, already checked against its domains. Whatever the question is, missing values are summed out exactly.

To add a leaf, write one file with one class under `@register`, and import it in `xspn/leaves/__init__.py`; a leaf of
another package names its module in the entry point group "xspn.leaves". The tests in `tests/contracts` pick it up by
themselves, and every back end evaluates it through the contract. Faster evaluation is optional: of many leaves at once
(`together`, `together_numba`, `together_torch`), or by a block of the family's own (`xspn.leaves.blocks`). A leaf over
one variable starts from `Univariate`.
"""

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product as every_choice
from itertools import repeat
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeVar, get_args

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.checks import smoothing_mass
from xspn.core.errors import FormatError, ParameterError, QueryError, StructureError
from xspn.core.logspace import log_binomials, logsumexp_quiet
from xspn.core.random import NodeRandom, Rng
from xspn.core.registry import Registry
from xspn.data.domain import Domain
from xspn.graph.nodes import LeafNode, Node, Scope
from xspn.leaves import posterior
from xspn.leaves.events import Intervals, Mark, case_by_case

if TYPE_CHECKING:
    from xspn.leaves.blocks import LeafBlock

Spread = Literal["assignments", "values"]

# From rows of all columns (rows, variables) to log-probabilities (leaves, rows): of the observed parts, or of the best
# completions if the second argument is true.
Together = Callable[[FloatArray, bool], FloatArray]

# From values of leaves' variables, NaN for what is missing, and which leaf each one belongs to, to completed values:
# with the best ones, or with random ones if random numbers for all of them are given.
Completed = Callable[[FloatArray, IntArray, "NodeRandom | None"], FloatArray]

# What a drawing shows of a leaf, and its numbers: "bars" of P(number of ones = t), "chances" P(x = 1) of one bit,
# "frequencies" P(x = v) of each variable, a "bell" for real numbers, a "tree".
Picture = tuple[Literal["bars", "chances", "frequencies", "bell", "tree"], tuple[tuple[float, ...], ...]]

MOST_TABULATED = 4096  # assignments of a leaf that the explorer's page looks up one by one


class WebForm(NamedTuple):
    """A leaf as the explorer's page evaluates it, in JavaScript.

    Attributes:
        kind: What the page's engine computes (`web/static/engine/families.js`): "table", "normal" and "atom" of one
            variable; "count", "classes" and "total" of exchangeable ones, "tree", "normals", "alike", "transformed", or
            "joint", a table of all assignments.
        reals: The numbers that it computes with.
        integers: What else it needs to know: sizes, groups, parents.
    """

    kind: str
    reals: FloatArray
    integers: Sequence[int] = ()


leaves: "Registry[type[Leaf]]" = Registry("leaf family", entry_points="xspn.leaves")
L = TypeVar("L", bound="type[Leaf]")


def register(cls: L) -> L:
    """Make a leaf family known under its `family` name: to files, and to the contract tests."""
    leaves.add(cls.family, cls)
    return cls


class Leaf(LeafNode):
    """A tractable distribution; rows are (rows, own variables) with NaN for what is missing."""

    __slots__ = ("_variables",)
    family: str
    only_domain: Domain | None = None  # of every variable of every leaf, where a family has just one
    block_type: "ClassVar[type[LeafBlock] | None]" = None  # the family's own fast path, if it has one

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The domain of each variable; families whose leaves differ in it say which."""
        if self.only_domain is None:
            raise NotImplementedError(f"{type(self).__name__} says nothing of its domains")
        return (self.only_domain,) * len(self._variables)

    def _set_variables(self, variables: int | Iterable[int]) -> None:
        """Set the variables and the scope; to be called first by every constructor."""
        own = tuple(variables) if isinstance(variables, Iterable) else (variables,)
        if not own:
            raise StructureError(f"{type(self).__name__}: expected at least one variable, found an empty scope")
        self.scope = Scope.of(own)
        self._variables = tuple(int(v) for v in own)
        self.children = ()

    @property
    def variables(self) -> tuple[int, ...]:
        """The leaf's variables, in the leaf's own order."""
        return self._variables

    # -- inference ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def log_prob(self, x: FloatArray) -> FloatArray:
        """Return the log-probability (density) of the observed part of each row."""

    @classmethod
    def together(cls, leaves: "Sequence[Self]") -> Together | None:
        """Return a function that evaluates many leaves at once, if the family has one; else each is asked by itself."""
        return None

    @classmethod
    def together_numba(cls, leaves: "Sequence[Self]") -> Together | None:
        """Return the same for the numba back end, if the family has compiled code; else `together` serves it, too."""
        return None

    @classmethod
    def together_torch(cls, leaves: "Sequence[Self]", device: Any) -> Together | None:
        """Return the same for the torch back end, if the family computes on its device; else `together` serves it."""
        return None

    @abstractmethod
    def mode(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each row completed to the most probable one, and its log-probability."""

    @property
    def mode_is_exact(self) -> bool:
        """Whether `mode` is known to find the most probable rows; False for a family that searches for them."""
        return True

    @abstractmethod
    def sample(self, x: FloatArray, rng: Rng) -> FloatArray:
        """Return each row with its missing values drawn from their distribution given the observed ones.

        Ask `rng` for the same numbers of each row, and for arrays whose first axis is rows: circuits hand in a source
        with numbers of its own for each row (`xspn.core.random.NodeRandom`: `random`, `normal`, `integers`, `choice`).
        """

    @classmethod
    def completed_together(cls, leaves: "Sequence[Self]") -> Completed | None:
        """Return a function that does `mode` and `sample` for many leaves over one variable each, if there is one.

        Otherwise each leaf is asked by itself, for the rows that come down to it.
        """
        return None

    @abstractmethod
    def marginalize(self, keep: Scope) -> Node | None:
        """Return the distribution of the kept variables; None if none is kept."""

    @abstractmethod
    def condition(self, x: FloatArray) -> tuple[Node | None, float]:
        """Return the distribution of what is missing in one row given the rest, and the rest's log-probability.

        The first is None if nothing is missing, or if the evidence is impossible (log-probability −inf).
        """

    @abstractmethod
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return E[x] (n,) and Cov(x) (n, n); discrete values count as their codes.

        Covariances are about the mean from the start: E[x xᵀ] − E[x] E[x]ᵀ has no digits left where means are large.
        """

    def marginals(self, x: FloatArray) -> FloatArray:
        """Return P(X_i = v | the observed part of the row): (rows, n, largest cardinality), 0 beyond a domain.

        An observed variable has all its mass on the observed value. Rows of probability zero give zeros.
        """
        cardinalities = [domain.cardinality for domain in self.domains]
        if any(k is None for k in cardinalities):
            raise QueryError(f"{type(self).__name__}: real variables have no table of marginal probabilities")
        sizes = [int(k) for k in cardinalities if k is not None]
        joint = np.full((len(x), len(sizes), max(sizes)), -np.inf)
        for i, k in enumerate(sizes):
            for value in range(k):
                rows = np.isnan(x[:, i]) | (x[:, i] == value)
                filled = x[rows]
                filled[:, i] = value
                joint[rows, i, value] = self.log_prob(filled)
        total = logsumexp_quiet(joint, axis=2)[:, :, None]
        return np.asarray(np.exp(joint - np.where(np.isneginf(total), 0.0, total)))

    def alternatives(self, x: FloatArray, best: bool = False) -> FloatArray:
        """Return the log-probability of each row with one value replaced: (rows, n, values), −inf beyond a domain.

        Entry (r, i, v) is log P of row r with X_i = v, whatever stands there. Other missing values are summed out or,
        if `best`, completed in the best way. A real variable has three entries: log P(rest of the row, X_i < x_i), the
        same of a mass at x_i itself, and of X_i > x_i; all of it is in the first where x_i is missing. Discrete
        families are asked for each value, real ones for intervals row by row, unless they say how.
        """
        sizes = [domain.cardinality or 3 for domain in self.domains]
        found = np.full((len(x), len(sizes), max(sizes)), -np.inf)
        for i, domain in enumerate(self.domains):
            filled = x.copy()
            if domain.is_discrete:
                for value in range(sizes[i]):
                    filled[:, i] = value
                    found[:, i, value] = self.mode(filled)[1] if best else self.log_prob(filled)
            else:
                filled[:, i] = np.nan
                found[:, i] = sides_of_rows(self, filled, i, x[:, i])
        return found

    def means(self, x: FloatArray) -> FloatArray:
        """Return E[X_i | the observed part of the row]: (rows, n); families of real variables say how."""
        table = self.marginals(x)
        return np.asarray(table @ np.arange(table.shape[2], dtype=np.float64))

    def variances(self, x: FloatArray) -> FloatArray:
        """Return Var[X_i | the observed part of the row]: (rows, n), 0 where a value is observed.

        Discrete values count as their codes. Families of real variables are asked row by row, unless they say how.
        """
        if all(domain.is_discrete for domain in self.domains):
            table = self.marginals(x)
            codes = np.arange(table.shape[2], dtype=np.float64)
            away = codes - (table @ codes)[:, :, None]
            return np.asarray((table * away**2).sum(axis=2))
        found = np.zeros(x.shape)
        for row, own in enumerate(x):
            rest = self.condition(own)[0] if np.isnan(own).any() else None
            if isinstance(rest, Leaf):
                places = [self._variables.index(v) for v in rest.variables]
                found[row, places] = np.diag(rest.moments()[1])
        return found

    def tally(self, x: FloatArray, marks: Sequence[Mark | None]) -> FloatArray:
        """Return log P(observed part of each row, missing values within their marks, count = k): (rows, degree + 1).

        A mark says what each value of a variable adds to the count, and which values are excluded; None marks a
        variable that is free (see `xspn.leaves.events`). Observed values are not excluded, and add nothing here. The
        degree is the sum of the largest additions. This adds up all cases; families with closed forms say how.
        """
        return case_by_case(self, x, marks)

    def count_distribution(self) -> FloatArray:
        """Return P(number of ones among the leaf's variables = k) for k = 0..n; binary variables only."""
        if any(domain.cardinality != 2 for domain in self.domains):
            raise QueryError(f"{type(self).__name__}: ones can be counted among binary variables only")
        n = len(self._variables)
        return np.asarray(np.exp(self.tally(np.full((1, n), np.nan), [np.array([0, 1])] * n))[0])

    def supports(self) -> tuple[frozenset[int] | None, ...]:
        """Return the values of positive probability of each variable; None where it is real."""
        if not all(domain.is_discrete for domain in self.domains):
            return tuple(None for _ in self.domains)
        # Logarithms tell what is impossible from what is too unlikely for a floating-point number.
        rows = [
            [value if own == i else np.nan for own in range(len(self.domains))]
            for i, domain in enumerate(self.domains)
            for value in range(domain.cardinality or 0)
        ]
        possible = iter(~np.isneginf(self.log_prob(np.array(rows))))
        return tuple(
            frozenset(value for value in range(domain.cardinality or 0) if next(possible)) for domain in self.domains
        )

    # -- how it is shown ---------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What text calls a leaf over several variables."""
        return type(self).__name__

    def details(self, label: Callable[[int], str]) -> str | None:
        """Return what a line says of a leaf over one variable, whose values have labels; None for its title alone."""
        return None

    def term(self, names: str) -> str:
        """Return the leaf as a term of an equation."""
        return f"{type(self).__name__}({names})"

    def law(self, names: Sequence[str], label: Callable[[int], str]) -> str:
        """Say in a phrase how several variables behave together; it must be true of the distribution.

        Args:
            names: What the variables are called.
            label: What a value of the first one is called.
        """
        return f"depend on each other ({self.title})"

    def dependence(self) -> float:
        """Return the total correlation Σ H(X_i) − H(X), in nats: what a row gains over independent variables.

        NaN for families that do not say.
        """
        return 0.0 if len(self._variables) == 1 else float("nan")

    def entropy(self) -> float:
        """Return the entropy in nats, a differential one for real variables; NaN for families that do not say.

        That of discrete variables is Σ H(X_i) less the total correlation.
        """
        if not all(domain.is_discrete for domain in self.domains):
            return float("nan")
        table = self.marginals(np.full((1, len(self._variables)), np.nan))[0]
        alone = -(table * np.log(np.where(table > 0, table, 1.0))).sum()
        return float(alone - self.dependence())

    def interchangeable(self) -> list[IntArray]:
        """Return groups of interchangeable positions; none for families that are not about exchangeability."""
        return []

    def picture(self) -> Picture:
        """Return what to draw: how likely each value of each variable is, or a bell where there are real ones."""
        if not all(domain.is_discrete for domain in self.domains):
            return "bell", ()
        table = self.marginals(np.full((1, len(self._variables)), np.nan))[0]
        return "frequencies", tuple(
            tuple(map(float, own[: domain.cardinality])) for own, domain in zip(table, self.domains, strict=True)
        )

    def web_form(self) -> WebForm:
        """Return what the explorer's page computes with; by default the probability of each assignment, which is exact.

        A family that has too many of them for a table says how else it is evaluated, or cannot be explored.
        """
        sizes = [domain.cardinality for domain in self.domains if domain.cardinality is not None]
        name = f"{type(self).__name__} over {self.scope}"
        if len(sizes) < len(self.domains):
            raise QueryError(f"explore: {name} has real variables, and no form for the page (`web_form`)")
        if prod(sizes) > MOST_TABULATED:
            raise QueryError(
                f"explore: {name} has {prod(sizes)} assignments, more than the {MOST_TABULATED} that the page can hold "
                "in a table, and no form of its own (`web_form`)"
            )
        rows = np.array(list(every_choice(*map(range, sizes))), dtype=np.float64)
        return WebForm("table" if len(sizes) == 1 else "joint", self.log_prob(rows), sizes)

    def expansion(self) -> Node:
        """Return the same distribution as a circuit of leaves over one variable, for programs without this family.

        Leaves over one variable are their own; others look at one variable after the other
        (`xspn.leaves.expansion`), which is refused where it takes too many nodes. Families with small ones say how.
        """
        from xspn.leaves.expansion import in_sequence

        return self if len(self._variables) == 1 else in_sequence(self)

    # -- parameters --------------------------------------------------------------------------------------------------

    @abstractmethod
    def statistics(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the expected sufficient statistics of weighted rows: pure, and additive over rows.

        Where a row is partly missing, the expectation is under this leaf; where it is all missing, it adds nothing.
        """

    @abstractmethod
    def from_statistics(self, statistics: FloatArray, smoothing: "float | Smoothing" = 0.0) -> Self:
        """Return the maximum-likelihood leaf of the same structure; without any mass, this leaf itself."""

    def recentered(self, statistics: FloatArray) -> Self:
        """Return a leaf of the same structure in whose statistics the spread of the rows would not be lost.

        Families that take moments about their own mean return themselves at the mean of the rows if that is so far off
        that the variance would be a small difference of large numbers; all others return themselves.
        """
        return self

    def restate(self, statistics: FloatArray, origin: Self) -> FloatArray:
        """Return statistics that `origin`, a leaf of the same structure, has taken as this leaf would have taken them.

        They are the same unless a family counts relative to its own parameters.
        """
        return statistics

    def sensitivity(self, x: FloatArray) -> FloatArray:
        """Return the derivatives of each row's log-probability by the parameters, standardized: (rows, directions).

        They are in coordinates in which n rows leave each parameter with variance 1 / n, independently (see
        `xspn.leaves.posterior`); 0 where nothing is observed. This takes the family for an exponential one whose
        `statistics` are sufficient, and samples their moments; families with closed forms say how.
        """
        return posterior.of_statistics(self, x)

    @classmethod
    def sensitivity_together(cls, leaves: "Sequence[Self]") -> Callable[[FloatArray], FloatArray] | None:
        """Return a function from rows of all columns to one sensitivity of each leaf, (leaves, rows), if there is one.

        For families of one parameter, of which circuits have many leaves.
        """
        return None

    def posterior_draw(self, rows: float, rng: np.random.Generator) -> "Leaf":
        """Return the leaf with parameters drawn from what so many rows leave open: a parametric bootstrap."""
        drawn: Leaf = posterior.refit(self, rows, rng)
        return drawn

    @abstractmethod
    def to_params(self) -> dict[str, Any]:
        """Return what a file stores beside family and variables: numbers, lists and strings only."""

    @classmethod
    @abstractmethod
    def from_params(cls, variables: tuple[int, ...], params: dict[str, Any]) -> Self:
        """Build the leaf that `to_params` describes."""

    @classmethod
    def pack(cls, leaves: Sequence[Self]) -> dict[str, AnyArray]:
        """Return the parameters of many leaves as a few arrays of numbers, for compact files.

        A family that says nothing of its own is stored as JSON text.
        """
        text = json.dumps([leaf.to_params() for leaf in leaves], separators=(",", ":"))
        return {"json": np.frombuffer(text.encode(), dtype=np.uint8)}

    @classmethod
    def unpack(cls, variables: Sequence[tuple[int, ...]], arrays: Mapping[str, AnyArray]) -> list[Self]:
        """Build the leaves that `pack` describes; unusable parameters are an error of this package."""
        stored = json.loads(packed(arrays, "json", None, np.uint8).tobytes())
        if not isinstance(stored, list) or len(stored) != len(variables):
            raise FormatError(f"{cls.family}: expected the parameters of {len(variables)} leaves")
        return [cls.from_params(own, params) for own, params in zip(variables, stored, strict=True)]

    @classmethod
    def _in_bulk(cls, variables: Sequence[tuple[int, ...]], **slots: Iterable[Any]) -> list[Self]:
        """Return leaves from parameters that have been checked."""
        scopes = {own: Scope.of(own) for own in set(variables)}
        found = map(scopes.__getitem__, variables)
        return cls.fill(cls.blank(len(variables)), _variables=variables, scope=found, children=repeat(()), **slots)

    @classmethod
    @abstractmethod
    def example(cls, rng: np.random.Generator, first_variable: int = 0) -> Self:
        """Return a small random leaf over consecutive variables, for the contract tests."""

    def fingerprint(self) -> Any:
        """Return family, variables and parameters as text: equal just when the leaves are."""
        return self.family, self._variables, json.dumps(self.to_params(), sort_keys=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return leaf_from_params, (self.family, self._variables, self.to_params())


def sides_of_rows(leaf: Leaf, rest: FloatArray, i: int, values: FloatArray) -> FloatArray:
    """Return log P(rest of each row, X_i below, at, above its value), by intervals: (rows, 3)."""
    found = np.full((len(rest), 3), -np.inf)
    for row, (own, value) in enumerate(zip(rest, values, strict=True)):
        if np.isnan(value):
            found[row, 0] = leaf.log_prob(own[None, :])[0]
            continue
        below, above = float(np.nextafter(value, -np.inf)), float(np.nextafter(value, np.inf))
        for side, ends in enumerate(((-np.inf, below), (float(value), float(value)), (above, np.inf))):
            marks: list[Mark | None] = [None] * len(own)
            marks[i] = Intervals.of(ends)
            found[row, side] = leaf.tally(own[None, :], marks)[0, 0]
    return found


def leaf_from_params(family: str, variables: tuple[int, ...], params: dict[str, Any]) -> Leaf:
    """Build a leaf of a registered family from what `to_params` gave."""
    try:
        return leaves[family].from_params(variables, params)
    except (KeyError, TypeError) as error:
        raise FormatError(f"leaf {family!r}: unusable parameters ({error!r})") from error


# -- parameters of many leaves in arrays -------------------------------------------------------------------------------


def packed(
    arrays: Mapping[str, AnyArray], name: str, count: int | None, dtype: type[np.generic] = np.float64, width: int = 0
) -> AnyArray:
    """Return an array that `Leaf.pack` wrote, if it has the type and the shape that the leaves need.

    Files keep whole numbers in as few bits as they need; here they have 64 again.
    """
    array = arrays.get(name)
    if array is not None and dtype is np.int64 and array.dtype.kind in "iu":
        array = array.astype(np.int64)
    expected = f"{'' if count is None else count} numbers of type {np.dtype(dtype)}"
    if array is None or array.dtype != dtype:
        raise FormatError(f"{name!r}: expected {expected}, found {'nothing' if array is None else array.dtype}")
    shape = (len(array) if count is None else count, *((width,) if width else ()))
    if array.shape != shape:
        raise FormatError(f"{name!r}: expected {expected} in shape {shape}, found {array.shape}")
    view = array.view()
    view.flags.writeable = False  # leaves keep parts of it
    return view


def refuse_first(bad: BoolArray, build: Callable[[int], object]) -> None:
    """Build the leaves whose parameters look wrong one by one, so that the constructor says what is wrong with them."""
    for index in np.flatnonzero(bad).tolist():
        build(index)


def sizes_of(variables: Sequence[tuple[int, ...]]) -> IntArray:
    """Return the number of variables of each leaf."""
    return np.fromiter(map(len, variables), dtype=np.int64, count=len(variables))


def pieces(values: AnyArray, sizes: IntArray) -> list[AnyArray]:
    """Return consecutive parts of an array as views, one for each size."""
    ends = np.cumsum(sizes).tolist()
    return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@lru_cache(maxsize=4096)
def _scope_of(variable: int) -> Scope:
    return Scope(1 << variable)


class Univariate(Leaf):
    """A leaf over one variable: marginalizing or conditioning leaves it whole or removes it."""

    __slots__ = ()

    def _set_variables(self, variables: int | Iterable[int]) -> None:
        if type(variables) is int and variables >= 0:  # what learners and files make by the thousand
            write = object.__setattr__  # nothing is sealed yet
            write(self, "scope", _scope_of(variables))
            write(self, "_variables", (variables,))
            write(self, "children", ())
        else:
            super()._set_variables(variables)
            self._only(self._variables)

    @classmethod
    def _only(cls, variables: tuple[int, ...]) -> int:
        """Return the leaf's variable, if there is just one."""
        if len(variables) != 1:
            raise StructureError(f"{cls.__name__}: expected one variable, found {len(variables)}")
        return variables[0]

    @classmethod
    def _in_bulk(cls, variables: Sequence[tuple[int, ...]], **slots: Iterable[Any]) -> list[Self]:
        if any(len(own) != 1 for own in set(variables)):
            raise StructureError(f"{cls.__name__}: expected one variable for each leaf")
        return super()._in_bulk(variables, **slots)

    def marginalize(self, keep: Scope) -> Node | None:
        """Return the leaf itself if its variable is kept."""
        return self if self.scope & keep else None

    def condition(self, x: FloatArray) -> tuple[Node | None, float]:
        """Return the leaf itself if its variable is missing, otherwise the value's log-probability."""
        if np.isnan(x[0]):
            return self, 0.0
        return None, float(self.log_prob(x[None, :])[0])


@dataclass(frozen=True)
class Smoothing:
    """A mass of pseudo-rows.

    A Bernoulli or categorical leaf adds `mass` to the count of each of its values. An exchangeable leaf adds `mass`
    in all, spread uniformly over

    - ``"assignments"``: class t gets mass · |S_t| / |all assignments|, as the program of the paper does;
    - ``"values"``: each value t of the statistic gets mass / |T|, which trusts sparse counts less.
    """

    mass: float = 0.0
    spread: Spread = "assignments"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", smoothing_mass(self.mass))
        if self.spread not in get_args(Spread):
            raise ParameterError(f"smoothing spread: expected one of {get_args(Spread)}, found {self.spread!r}")

    def of_counts(self, n: int) -> FloatArray:
        """Return the mass that each count of ones among n bits gets: (n + 1,)."""
        if self.spread == "assignments":
            return np.asarray(self.mass * np.exp(log_binomials(n) - n * np.log(2.0)))
        return np.full(n + 1, self.mass / (n + 1))

    @classmethod
    def of(cls, smoothing: "float | Smoothing") -> "Smoothing":
        """Return a smoothing for a plain number, or the smoothing itself."""
        return smoothing if isinstance(smoothing, Smoothing) else cls(smoothing)
