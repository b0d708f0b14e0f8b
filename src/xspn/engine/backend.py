"""What a back end does: answer the questions that go over all rows of a table."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.checks import Names
from xspn.core.errors import EvidenceError
from xspn.core.logspace import safe_log
from xspn.engine.program import Program
from xspn.leaves.blocks import RowBlock


class Semiring(Enum):
    """How missing values and sums are combined on the way up."""

    SUM = "sum out missing values; add at sums"
    MAX = "best completion at leaves; best child at sums"
    BOUND = "best completion at leaves; add at sums: never less than the best completion of the whole"


@dataclass(frozen=True, eq=False)
class Counts:
    """What weighted rows tell about the parameters of a program, before leaves turn it into expected statistics.

    Attributes:
        sums: For each step of sums the flow to each child: (arity, sums).
        leaves: For each leaf block its counts.
        log_prob: The log-probability of each row; rows of probability zero count for nothing.
    """

    sums: Sequence[FloatArray]
    leaves: Sequence[FloatArray]
    log_prob: FloatArray

    def with_rows(self, rows: IntArray, own: "Counts") -> "Counts":
        """Return the counts with those of some rows added, which had counted for nothing."""
        log_prob = self.log_prob.copy()
        log_prob[rows] = own.log_prob
        return Counts(
            [a + b for a, b in zip(self.sums, own.sums, strict=True)],
            [a + b for a, b in zip(self.leaves, own.leaves, strict=True)],
            log_prob,
        )


class Backend(ABC):
    """Runs one program. All back ends give the same answers, up to rounding."""

    program: Program

    @property
    @abstractmethod
    def error_bound(self) -> float:
        """How far rounding alone can take a log-likelihood from exact arithmetic on the same parameters."""

    @abstractmethod
    def with_parameters(self, program: Program) -> "Backend":
        """Return the same for other parameters of the same circuit."""

    @abstractmethod
    def log_likelihood(self, X: AnyArray, names: Names | None = None, what: str = "X") -> FloatArray:
        """Return log P(observed part of each row): (rows,)."""

    @abstractmethod
    def marginals(self, evidence: AnyArray, names: Names | None = None) -> FloatArray:
        """Return P(X_i = v | evidence row) for all variables: (rows, n, k), NaN for real or absent variables."""

    def marginals_and_evidence(self, evidence: AnyArray, names: Names | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the marginals and log P(evidence row); where that is −inf, the marginals say nothing."""
        log_evidence = self.log_likelihood(evidence, names, "evidence")
        possible = ~np.isneginf(log_evidence)
        table = np.full((*evidence.shape, self.program.largest_cardinality), np.nan)
        table[possible] = self.marginals(evidence[possible], names)
        return table, log_evidence

    @abstractmethod
    def log_values(self, rows: RowBlock, semiring: Semiring) -> FloatArray:
        """Return the log-value of every slot: (slots, rows)."""

    @abstractmethod
    def counts(self, X: AnyArray, weights: FloatArray, names: Names | None = None) -> Counts:
        """Return what EM needs of weighted rows."""


def refuse_impossible(log_evidence: FloatArray, first_row: int = 0) -> None:
    """Raise if some row of evidence has probability zero: what is conditioned on it is undefined, not zero."""
    impossible = np.isneginf(log_evidence)
    if impossible.any():
        row = first_row + int(np.argmax(impossible))
        more = int(impossible.sum()) - 1
        others = f" (and {more} more rows)" if more else ""
        raise EvidenceError(f"the evidence in row {row}{others} has probability zero; nothing can be concluded from it")


class LinearBackend(Backend):
    """A back end whose answers near the end of the range of its numbers are given by another one.

    Attributes:
        least: Rows of smaller probability are computed again.
    """

    least: float

    @property
    @abstractmethod
    def fallback(self) -> Backend:
        """The back end for these rows: of a wider range, or in log space."""

    def _logarithms(
        self, p: AnyArray, log_scale: FloatArray | float, X: AnyArray, names: Names | None, what: str
    ) -> FloatArray:
        """Return the logarithm of the probability (density) of each row, which is p times the row's own scale."""
        result = safe_log(p.astype(np.float64, copy=False)) + log_scale
        low = np.flatnonzero(p < self.least)
        if len(low):
            result[low] = self.fallback.log_likelihood(X[low], names, what)
        return result

    def _recompute_underflow(
        self, table: FloatArray, p: AnyArray, evidence: AnyArray, names: Names | None
    ) -> FloatArray:
        """Return a table of marginals with those of very unlikely evidence computed again; impossible is an error."""
        low = np.flatnonzero(p < self.least)
        if len(low):
            log_evidence = np.zeros(len(evidence))
            table[low], log_evidence[low] = self.fallback.marginals_and_evidence(evidence[low], names)
            refuse_impossible(log_evidence)
        return table
