"""Which of two clusters a row belongs to, as a function of the row alone.

A clustering labels the rows that it was shown. Its rule says the same of rows that it was not shown: those on other
machines, when a sample was clustered.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from xspn.core.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Rule:
    """Log-odds of the second cluster: a number for each one, each zero, and one to begin with.

    Attributes:
        ones: What a one of each variable adds.
        zeros: What a zero of each variable adds.
        bias: The log-odds of a row of which nothing is seen.
        variable: The position of the variable whose value decides where it is seen.

    Examples:
        >>> rule = Rule(np.array([2.0, 0.0]), np.array([-2.0, 0.0]), 0.0)
        >>> rule.shares(np.array([[1, 0], [0, 0], [np.nan, 1]], dtype=np.float32)).round(2).tolist()
        [0.88, 0.12, 0.5]
    """

    ones: FloatArray
    zeros: FloatArray
    bias: float
    variable: int | None = None

    @classmethod
    def of_bernoullis(cls, p: FloatArray, log_sizes: FloatArray) -> "Rule":
        """Return the posterior odds under two products of Bernoullis with these probabilities, (2, n), and sizes."""
        ones, zeros = np.log(p), np.log1p(-p)
        return cls(ones[1] - ones[0], zeros[1] - zeros[0], float(log_sizes[1] - log_sizes[0]))

    @classmethod
    def of_centres(cls, centres: FloatArray) -> "Rule":
        """Return the rule of the nearer of two centres, (2, n): the difference of the squared distances."""
        near, far = (1 - centres) ** 2, centres**2
        return cls(near[0] - near[1], far[0] - far[1], 0.0)

    def shares(self, cells: NDArray[np.float32]) -> FloatArray:
        """Return P(second cluster | what is seen) of each row; NaN is missing."""
        if self.variable is None:
            return np.asarray(expit(self._log_odds(cells)))
        value = cells[:, self.variable].astype(np.float64)
        unknown = np.isnan(value)
        if unknown.any():
            value[unknown] = expit(self._log_odds(cells[unknown]))
        return value

    def _log_odds(self, cells: NDArray[np.float32]) -> FloatArray:
        ones, zeros = (cells == 1).astype(np.float64), (cells == 0).astype(np.float64)
        return np.asarray(ones @ self.ones + zeros @ self.zeros + self.bias)
