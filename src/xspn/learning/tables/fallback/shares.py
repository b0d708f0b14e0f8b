"""How much each of several estimates of one distribution is worth, by how well it predicts what was left out."""

import numpy as np

from xspn.core.arrays import FloatArray

PRIOR_ROWS = 0.5
EM_STEPS = 30
SHARE_TOLERANCE = 1e-3


def shares_of_experts(left_out: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the experts' shares by EM; each has a prior of a few rows, so that little data leaves them even.

    Args:
        left_out: The probability that each expert gives to a value after a row with it is left out: (experts, values).
        weights: How often each value occurs.
    """
    possible = (left_out.max(axis=0) > 0) & (weights > 0)
    chances, own = left_out[:, possible], weights[possible]
    shares = np.full(len(left_out), 1.0 / len(left_out))
    for _ in range(EM_STEPS):
        previous = shares
        shares = shares * (chances @ (own / (shares @ chances))) + PRIOR_ROWS
        shares = shares / shares.sum()
        if abs(shares - previous).max() < SHARE_TOLERANCE:
            break
    return shares
