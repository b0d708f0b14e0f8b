"""The contract of a tractable statistic T (Theorem 1 of the paper), and the registry of statistics.

A statistic sends an assignment of n discrete variables to one of finitely many values. Here a value is named by its
place `t` = 0, 1, …, size(n) − 1 in `values(n)`. All assignments with one value form a class S_t, and an exchangeable
leaf gives each of them the same probability.

What makes T tractable: how many completions of a partial row fall into S_t, and how to construct one, must be
computable without enumeration. Of a partial row only a short `key` matters (for `Count`: how many are observed, how
many of those are one), which is what makes large tables cheap.

To add a statistic, write one file with one class under `@register`, and import it in `xspn/statistics/__init__.py`.
"""

from abc import ABC, abstractmethod
from typing import Any, TypeVar

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.errors import ParameterError
from xspn.core.random import Rng
from xspn.core.registry import Registry

statistics: "Registry[type[Statistic]]" = Registry("statistic")
S = TypeVar("S", bound="type[Statistic]")
LARGEST_TABLE = 20_000_000


def register(cls: S) -> S:
    """Make a statistic known under its `name`: to files, and to the contract tests."""
    statistics.add(cls.name, cls)
    return cls


class Statistic(ABC):
    """T: a function of an assignment of n variables that all take values 0..cardinality−1.

    Rows of evidence are float arrays with NaN for what is missing.
    """

    name: str
    cardinality: int

    @abstractmethod
    def size(self, n: int) -> int:
        """Return |T|: the number of values for n variables."""

    @abstractmethod
    def values(self, n: int) -> AnyArray:
        """Return the values themselves, in the order of t: integers, or one row per value."""

    @abstractmethod
    def key(self, evidence: FloatArray) -> IntArray:
        """Return, for each partial row, all that matters of it: (rows, d) integers."""

    @abstractmethod
    def completions_of_key(self, n: int, key: IntArray) -> FloatArray:
        """Return log |S_{e,t}| for every t, for one key: (|T|,), −inf where nothing fits."""

    @abstractmethod
    def of(self, x: AnyArray) -> IntArray:
        """Return t for whole rows."""

    @abstractmethod
    def log_class_size(self, n: int) -> FloatArray:
        """Return log |S_t| for every t."""

    @abstractmethod
    def construct(self, evidence: FloatArray, t: IntArray, rng: Rng | None = None) -> FloatArray:
        """Complete each row to a member of S_{e,t}: some member, or a uniformly random one if `rng` is given."""

    @abstractmethod
    def restrict(self, positions: IntArray) -> "Statistic":
        """Return the statistic of the variables at these positions alone."""

    @abstractmethod
    def ones(self, n: int) -> IntArray:
        """Return the number of ones in a member of S_t, for every t (binary variables only)."""

    def symmetric_positions(self, n: int) -> list[IntArray]:
        """Return groups of positions that T treats alike: one group, unless the statistic says otherwise."""
        return [np.arange(n)]

    def replacements(self, n: int) -> IntArray | None:
        """Return the class of a row of each class with one value replaced by another, if that is all it depends on.

        The class is −1 where no row of a class has the value that is replaced: (|T|, cardinality, cardinality). None if
        it depends on more, or the table would be large: then rows are asked for one by one.
        """
        return None

    def to_params(self) -> dict[str, Any]:
        """Return what a file stores of the statistic, beside its name."""
        return {}

    @classmethod
    def from_params(cls, params: dict[str, Any]) -> "Statistic":
        """Build the statistic that `to_params` describes."""
        return cls(**params)

    @classmethod
    @abstractmethod
    def example(cls, rng: np.random.Generator) -> "tuple[Statistic, int]":
        """Return a small random instance and a number of variables, for the contract tests."""

    def log_completions(self, evidence: FloatArray, t: IntArray | None = None) -> FloatArray:
        """Return log |S_{e,t}| of each partial row: (rows, |T|), or (rows,) for the given t of each row."""
        keys, which = self.distinct_keys(evidence)
        n = evidence.shape[1]
        table = np.array([self.completions_of_key(n, key) for key in keys]).reshape(len(keys), self.size(n))
        return table[which] if t is None else table[which, t]

    def representatives(self, n: int) -> FloatArray:
        """Return one member of each class: (|T|, n)."""
        size = self.size(n)
        return self.construct(np.full((size, n), np.nan), np.arange(size))

    def distinct_keys(self, evidence: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the different keys among the rows, and which of them each row has."""
        keys, which = np.unique(self.key(evidence), axis=0, return_inverse=True)
        return keys, which.reshape(-1)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.to_params() == other.to_params()

    def __hash__(self) -> int:
        return hash((self.name, str(self.to_params())))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{key}={value!r}" for key, value in self.to_params().items())
        return f"{type(self).__name__}({arguments})"


def statistic_from_params(params: dict[str, Any]) -> Statistic:
    """Build a statistic from {"name": …, its own parameters}."""
    if not isinstance(params, dict) or "name" not in params:
        raise ParameterError(f"statistic: expected a mapping with a name, found {params!r}")
    rest = {key: value for key, value in params.items() if key != "name"}
    try:
        return statistics[params["name"]].from_params(rest)
    except (TypeError, KeyError) as error:
        raise ParameterError(f"statistic {params['name']!r}: unusable parameters ({error!r})") from error


def checked_cardinality(cardinality: Any) -> int:
    """Return a cardinality of at least 2, or say what is wrong with it."""
    if isinstance(cardinality, bool) or not isinstance(cardinality, int | np.integer) or cardinality < 2:
        found = repr(cardinality) if not isinstance(cardinality, int) or cardinality > -LARGEST_TABLE else "less"
        raise ParameterError(f"cardinality: expected an integer of at least 2, found {found}")
    if cardinality > LARGEST_TABLE:  # which may have too many digits to be printed
        raise ParameterError(f"cardinality: expected an integer of at least 2 and at most {LARGEST_TABLE}, found more")
    return int(cardinality)


def checked_size(size: int, what: str, advice: str) -> int:
    """Return the number of classes, or refuse one whose table would fill the memory."""
    if size > LARGEST_TABLE:
        count = str(size) if size < 10**18 else f"about 2^{size.bit_length()}"
        raise ParameterError(
            f"{what}: {count} classes, more than the {LARGEST_TABLE} that are supported; {advice}, or fewer variables"
        )
    return size


def ranks_of_missing(evidence: FloatArray, rng: Rng | None) -> IntArray:
    """Return the order in which the missing cells of each row are to be filled: 0 for the first one.

    Observed cells get ranks beyond the missing ones. With `rng` the order is uniformly random.
    """
    missing = np.isnan(evidence)
    urgency = rng.random(evidence.shape) if rng is not None else np.arange(evidence.shape[1]) / evidence.shape[1]
    order = np.argsort(np.where(missing, urgency, 2.0), axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(evidence.shape[1]), order.shape), axis=1)
    return ranks
