"""The questions that a back end answers, asked with tables as users have them."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from xspn._core.arrays import FloatArray
from xspn._core.checks import Names
from xspn._core.errors import DataError, ParameterError
from xspn._core.random import RandomState, generator
from xspn.engine import Backend
from xspn.inference import expectation, likelihood, mpe, sampling
from xspn.inference.mpe import Completion
from xspn.model.columns import Columns


class Questions(ABC):
    """Probabilities, completions and samples; whoever offers them has a back end and columns."""

    @property
    @abstractmethod
    def backend(self) -> Backend:
        """What runs the circuit."""

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """What is known of the columns: names, domains, labels and types."""

    @abstractmethod
    def _is_selective(self) -> bool:
        """Whether a max-product pass finds most probable completions."""

    @property
    def names(self) -> Names | None:
        """The names of the columns, or None."""
        return self.columns.names

    def log_likelihood(self, X: Any) -> FloatArray:
        """Return log P of each row's observed part: (rows,); −inf where it is impossible."""
        return self.backend.log_likelihood(self.columns.table(X), self.names)

    def conditional_log_likelihood(self, X: Any, given: Any) -> FloatArray:
        """Return log P(X | given) of each row. `given` has a row for each row of X, or one for all of them.

        Where a row of X contradicts what is given the answer is −inf; evidence of probability zero is an error.
        """
        rows = np.asarray(self.columns.table(X), dtype=np.float64)
        known = np.asarray(self.columns.evidence(given, "given"), dtype=np.float64)
        if len(known) not in (1, len(rows)):
            raise DataError(f"given: expected 1 row or {len(rows)}, one for each row of X, found {len(known)}")
        known = np.broadcast_to(known, rows.shape)
        return likelihood.conditional_log_likelihood(self.backend, rows, known, self.names)

    def marginals(self, evidence: Any = None) -> FloatArray:
        """Return P(X_i = 1 | evidence row) for every variable: (rows, n); with categories P(X_i = v): (rows, n, k).

        Real variables and columns outside the circuit give NaN. Without evidence there is one row.
        """
        rows = self.columns.evidence(evidence)
        answer = self.backend.marginals(rows, self.names)
        if answer.shape[2] > 2:
            return answer
        only_zero = [domain is not None and domain.cardinality == 1 for domain in self.columns.domains]
        return np.where(only_zero, 0.0, answer[:, :, 1])

    def means(self, evidence: Any = None) -> FloatArray:
        """Return E[X_i | evidence row] for every variable: (rows, n). Categories count as their codes.

        Columns outside the circuit give NaN. Without evidence there is one row.
        """
        return expectation.means(self.backend, self.columns.evidence(evidence), self.names)

    def mpe(self, evidence: Any = None, exact: bool = False) -> Completion:
        """Return the most probable completion of each row: `.values`, `.log_prob`, `.exact`.

        The max-product pass is exact for selective circuits, and says so. With `exact=True` a branch-and-bound search
        makes it exact for others too, or refuses with the reason when the circuit is too large for that.
        """
        rows = self.columns.evidence(evidence)
        selective = self._is_selective()
        if exact and not selective:
            return mpe.branch_and_bound(self.backend, rows, self.names)
        return mpe.max_product(self.backend, rows, selective, self.names)

    def sample(self, n: int | None = None, *, given: Any = None, random_state: RandomState = None) -> FloatArray:
        """Return n random rows; with `given`, random completions of its rows (n of each if n is given)."""
        if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0):
            raise ParameterError(f"sample: expected a number of rows of at least 0, found {n!r}")
        rows = self.columns.evidence(given, "given")
        return sampling.sample(self.backend, rows, generator(random_state), self.names, 1 if n is None else int(n))
