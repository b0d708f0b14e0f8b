"""Conditional log-likelihood of rows with any pattern of missing values."""

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.checks import Names
from xspn.engine import Backend, refuse_impossible


def conditional_log_likelihood(
    backend: Backend, X: FloatArray, given: FloatArray, names: Names | None = None
) -> FloatArray:
    """Return log P(X | given) of each row; −inf where the two contradict each other."""
    log_given = backend.log_likelihood(given, names, "given")
    refuse_impossible(log_given)
    inside = ~backend.program.absent
    clash = (inside & ~np.isnan(given) & ~np.isnan(X) & (given != X)).any(axis=1)
    both = np.where(np.isnan(X), given, X)  # X first, so that its values are checked even where they clash
    joint = backend.log_likelihood(both, names)
    return np.where(clash, -np.inf, joint - log_given)
