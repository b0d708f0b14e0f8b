"""What values a variable can take."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from xspn.core.arrays import BoolArray, FloatArray
from xspn.core.errors import ParameterError


@dataclass(frozen=True, slots=True, repr=False)
class Domain:
    """Discrete with values 0..cardinality−1, or real where the cardinality is None.

    Leaves know how many values there are; whether their order means something is known to the table that the values
    come from, and matters to learning (totals of ordered values can be compared) and to what users are shown.

    Attributes:
        cardinality: The number of values, or None for real numbers.
        ordered: Whether discrete values are steps of a scale or counts, rather than names.

    Examples:
        >>> Domain.binary(), Domain.real(), Domain.ordinal(5)
        (Domain(cardinality=2), Domain(cardinality=None), Domain(cardinality=5, ordered=True))
        >>> Domain(3).describe()
        'one of 0, 1, 2'
        >>> [domain.kind for domain in (Domain(2), Domain(3), Domain.ordinal(3), Domain(None))]
        ['binary', 'categorical', 'ordinal', 'real']
    """

    cardinality: int | None
    ordered: bool = False

    def __post_init__(self) -> None:
        k = self.cardinality
        if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
            raise ParameterError(f"domain: expected a cardinality of at least 1 or None for real, found {k!r}")
        if not isinstance(self.ordered, bool | np.bool_):
            raise ParameterError(f"domain: expected ordered to be True or False, found {self.ordered!r}")
        if k is None and self.ordered:
            raise ParameterError("domain: real numbers have an order of their own; ordered is for discrete values")

    @classmethod
    def binary(cls) -> "Domain":
        """Return the domain of a 0/1 variable."""
        return _shared(2)

    @classmethod
    def real(cls) -> "Domain":
        """Return the domain of a real-valued variable."""
        return _shared(None)

    @classmethod
    def categorical(cls, cardinality: int) -> "Domain":
        """Return the domain of a variable whose values are names."""
        return _shared(cardinality)

    @classmethod
    def ordinal(cls, cardinality: int) -> "Domain":
        """Return the domain of a variable whose values are the steps of a scale, or counts."""
        return cls(cardinality, ordered=True)

    @property
    def kind(self) -> str:
        """One of "binary", "categorical", "ordinal" or "real"."""
        if self.cardinality is None:
            return "real"
        if self.ordered:
            return "ordinal"
        return "binary" if self.cardinality == 2 else "categorical"

    @property
    def is_discrete(self) -> bool:
        """Whether the values can be counted out."""
        return self.cardinality is not None

    def outside(self, values: FloatArray) -> BoolArray:
        """Mark the values that are neither missing nor in the domain."""
        if self.cardinality is None:
            return np.asarray(np.isinf(values))
        whole = (values >= 0) & (values < self.cardinality) & (values == np.floor(values))
        return np.asarray(~whole & ~np.isnan(values))

    def describe(self) -> str:
        """Say in words what a value may be."""
        if self.cardinality is None:
            return "a finite number"
        if self.cardinality <= 4:
            return "one of " + ", ".join(map(str, range(self.cardinality)))
        return f"an integer from 0 to {self.cardinality - 1}"

    def to_params(self) -> dict[str, Any]:
        """Return what a model file stores of the domain."""
        params: dict[str, Any] = {"cardinality": self.cardinality}
        return {**params, "ordered": True} if self.ordered else params

    def __repr__(self) -> str:
        order = ", ordered=True" if self.ordered else ""
        return f"Domain(cardinality={self.cardinality}{order})"


@lru_cache(maxsize=4096)
def _shared(cardinality: int | None) -> Domain:
    """Return one object for each domain without an order: a million leaves then need not have one each."""
    return Domain(cardinality)
