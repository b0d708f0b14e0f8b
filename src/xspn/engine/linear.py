"""What back ends share that work with probabilities instead of logarithms: some rows are too unlikely for that."""

from abc import abstractmethod

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.core.logspace import safe_log
from xspn.engine.backend import Backend, refuse_impossible


class LinearBackend(Backend):
    """A back end whose answers near the end of the range of its numbers are given by another one.

    Attributes:
        least: Rows of smaller probability are computed again.
    """

    least: float

    @property
    @abstractmethod
    def careful(self) -> Backend:
        """The back end for these rows: of a wider range, or in log space."""

    def _logarithms(self, p: AnyArray, X: AnyArray, names: Names | None, what: str) -> FloatArray:
        """Return the logarithm of the probability of each row."""
        result = safe_log(p.astype(np.float64, copy=False))
        low = np.flatnonzero(p < self.least)
        if len(low):
            result[low] = self.careful.log_likelihood(X[low], names, what)
        return result

    def _mended(self, table: FloatArray, p: AnyArray, evidence: AnyArray, names: Names | None) -> FloatArray:
        """Return a table of marginals with those of very unlikely evidence computed again; impossible is an error."""
        low = np.flatnonzero(p < self.least)
        if len(low):
            log_evidence = np.zeros(len(evidence))
            table[low], log_evidence[low] = self.careful.marginals_and_evidence(evidence[low], names)
            refuse_impossible(log_evidence)
        return table
