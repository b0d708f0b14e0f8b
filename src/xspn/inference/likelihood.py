"""Log-likelihood and conditional log-likelihood of rows with any pattern of missing values."""

import numpy as np

from xspn._core.arrays import AnyArray, FloatArray
from xspn._core.checks import Names
from xspn._core.errors import EvidenceError
from xspn.engine import Program, upward


def log_likelihood(program: Program, X: AnyArray, names: Names | None = None, what: str = "X") -> FloatArray:
    """Return log P(observed part of each row): (rows,)."""
    result = np.empty(len(X))
    for start, stop, rows in program.row_blocks(X, names, what):
        result[start:stop] = upward(program, rows)[program.root]
    return result


def conditional_log_likelihood(
    program: Program, X: AnyArray, given: AnyArray, names: Names | None = None
) -> FloatArray:
    """Return log P(X | given) of each row; −inf where the two contradict each other."""
    log_given = log_likelihood(program, given, names, "given")
    refuse_impossible(log_given)
    inside = np.array([domain is not None for domain in program.domains])
    clash = (inside & ~np.isnan(given) & ~np.isnan(X) & (given != X)).any(axis=1)
    both = np.where(np.isnan(X), given, X)  # X first, so that its values are checked even where they clash
    joint = log_likelihood(program, both, names)
    return np.where(clash, -np.inf, joint - log_given)


def refuse_impossible(log_evidence: FloatArray, first_row: int = 0) -> None:
    """Raise if some row of evidence has probability zero: what is conditioned on it is undefined, not zero."""
    impossible = np.isneginf(log_evidence)
    if impossible.any():
        row = first_row + int(np.argmax(impossible))
        more = int(impossible.sum()) - 1
        others = f" (and {more} more rows)" if more else ""
        raise EvidenceError(f"the evidence in row {row}{others} has probability zero; nothing can be concluded from it")
