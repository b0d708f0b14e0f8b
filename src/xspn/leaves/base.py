"""THE contract of a leaf, and the registry of leaf families.

A leaf is a distribution over a few variables. It sees only its own columns, in its own order, as floats with NaN for
what is missing, already checked against its domains. Whatever the question is, missing values are summed out exactly.

To add a leaf, write one file with one class under `@register`, and import it in `xspn/leaves/__init__.py`. The tests
in `tests/contracts` pick it up by themselves; `xspn.engine.blocks` evaluates it without further notice (a faster
block for the family is optional).
"""

import json
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Self, TypeVar

import numpy as np

from xspn._core.arrays import FloatArray
from xspn._core.errors import FormatError, QueryError, StructureError
from xspn._core.logspace import logsumexp_quiet
from xspn._core.registry import Registry
from xspn.circuit.nodes import LeafNode, Node
from xspn.circuit.scope import Scope
from xspn.leaves.smoothing import Smoothing

leaves: "Registry[type[Leaf]]" = Registry("leaf family")
L = TypeVar("L", bound="type[Leaf]")


def register(cls: L) -> L:
    """Make a leaf family known under its `family` name: to files, and to the contract tests."""
    leaves.add(cls.family, cls)
    return cls


class Leaf(LeafNode):
    """A tractable distribution; rows are (rows, own variables) with NaN for what is missing."""

    __slots__ = ("_variables",)
    family: str

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

    @abstractmethod
    def mode(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each row completed to the most probable one, and its log-probability."""

    @abstractmethod
    def sample(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return each row with its missing values drawn from their distribution given the observed ones."""

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

    def means(self, x: FloatArray) -> FloatArray:
        """Return E[X_i | the observed part of the row]: (rows, n); families of real variables say how."""
        table = self.marginals(x)
        return np.asarray(table @ np.arange(table.shape[2], dtype=np.float64))

    def count_distribution(self) -> FloatArray:
        """Return P(number of ones among the leaf's variables = k) for k = 0..n; binary variables only."""
        raise QueryError(f"{type(self).__name__}: ones can be counted among binary variables only")

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

    # -- parameters --------------------------------------------------------------------------------------------------

    @abstractmethod
    def statistics(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the expected sufficient statistics of weighted rows: pure, and additive over rows.

        Where a row is partly missing, the expectation is under this leaf; where it is all missing, it adds nothing.
        """

    @abstractmethod
    def from_statistics(self, statistics: FloatArray, smoothing: float | Smoothing = 0.0) -> Self:
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

    @abstractmethod
    def to_params(self) -> dict[str, Any]:
        """Return what a file stores beside family and variables: numbers, lists and strings only."""

    @classmethod
    @abstractmethod
    def from_params(cls, variables: tuple[int, ...], params: dict[str, Any]) -> Self:
        """Build the leaf that `to_params` describes."""

    @classmethod
    @abstractmethod
    def example(cls, rng: np.random.Generator, first_variable: int = 0) -> Self:
        """Return a small random leaf over consecutive variables, for the contract tests."""

    def with_variables(self, variables: Iterable[int]) -> Self:
        """Return the same distribution over other variables."""
        return type(self).from_params(tuple(variables), self.to_params())

    def fingerprint(self) -> Any:
        """Return family, variables and parameters as text: equal just when the leaves are."""
        return self.family, self._variables, json.dumps(self.to_params(), sort_keys=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return leaf_from_params, (self.family, self._variables, self.to_params())


def leaf_from_params(family: str, variables: tuple[int, ...], params: dict[str, Any]) -> Leaf:
    """Build a leaf of a registered family from what `to_params` gave."""
    try:
        return leaves[family].from_params(variables, params)
    except (KeyError, TypeError) as error:
        raise FormatError(f"leaf {family!r}: unusable parameters ({error!r})") from error
