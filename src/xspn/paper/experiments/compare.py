"""Compare numbers: with the published ones, and row by row with those of another model."""

import math
from typing import Literal

import numpy as np
from scipy.special import stdtr

from xspn.core.arrays import FloatArray
from xspn.core.errors import DataError

Mark = Literal["better", "equal", "worse"]

TOLERANCE = 0.005  # relative: within that, a number counts as equal to the published one
LEVEL = 0.05


def against(own: float, published: float, tolerance: float = TOLERANCE) -> Mark:
    """Compare a number with a published one, of which more is better; three digits were printed.

    Examples:
        >>> against(-19.6, -19.663), against(-19.7, -19.663), against(-19.8, -19.663), against(-5.9073, -5.907)
        ('better', 'equal', 'worse', 'equal')
    """
    if own > published + 0.0005:
        return "better"
    return "equal" if own >= published - tolerance * abs(published) - 0.0005 else "worse"


def paired_p_value(first: FloatArray, second: FloatArray) -> float:
    """Return the two-sided p-value of the paired t-test that both have the same mean.

    Rows that are impossible under both models say nothing and are left out; a row that is impossible under one of them
    makes any test pointless: the other one is infinitely better, and the answer is 0.

    Examples:
        >>> rows = np.random.default_rng(0).normal(size=50)
        >>> paired_p_value(rows, rows), paired_p_value(rows + 1 + 0.1 * rows, rows) < 1e-9
        (1.0, True)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        raise DataError(f"paired test: expected as many rows of both models, found {len(a)} and {len(b)}")
    possible = np.isfinite(a) | np.isfinite(b)
    differences = a[possible] - b[possible]
    if not np.isfinite(differences).all():
        return 0.0
    n = len(differences)
    mean = float(differences.mean()) if n else 0.0
    error = float(differences.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    if error == 0.0:
        return 1.0 if mean == 0.0 or n < 2 else 0.0
    return float(2 * stdtr(n - 1, -abs(mean / error)))


def significantly_better(first: FloatArray, second: FloatArray, level: float = LEVEL) -> bool:
    """Whether the first model's rows are better on the mean, and the paired test rejects equality."""
    return bool(np.mean(first) > np.mean(second)) and paired_p_value(first, second) < level
