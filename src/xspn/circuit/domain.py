"""What values a variable can take."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from xspn._core.arrays import BoolArray, FloatArray
from xspn._core.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Domain:
    """Discrete with values 0..cardinality−1, or real where the cardinality is None.

    Examples:
        >>> Domain.binary(), Domain.real()
        (Domain(cardinality=2), Domain(cardinality=None))
        >>> Domain(3).describe()
        'one of 0, 1, 2'
    """

    cardinality: int | None

    def __post_init__(self) -> None:
        k = self.cardinality
        if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
            raise ParameterError(f"domain: expected a cardinality of at least 1 or None for real, found {k!r}")

    @classmethod
    def binary(cls) -> "Domain":
        """Return the domain of a 0/1 variable."""
        return cls(2)

    @classmethod
    def real(cls) -> "Domain":
        """Return the domain of a real-valued variable."""
        return cls(None)

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
        return {"cardinality": self.cardinality}
