"""Do drawn frequencies fit exact probabilities?"""

import numpy as np
from scipy.stats import chisquare

SMALLEST_P_VALUE = 1e-4


def assert_frequencies_fit(counts, probabilities):
    """Compare counts with exact probabilities; cells with few expected draws are pooled."""
    counts, probabilities = np.asarray(counts, dtype=float), np.asarray(probabilities, dtype=float)
    total = counts.sum()
    assert counts[probabilities <= 0].sum() == 0, "something impossible was drawn"
    assert abs(probabilities.sum() - 1) < 1e-9
    order = np.argsort(-probabilities, kind="stable")
    expected, seen = total * probabilities[order], counts[order]
    common = int((expected >= 5).sum())
    expected = np.append(expected[:common], expected[common:].sum())
    seen = np.append(seen[:common], seen[common:].sum())
    if expected[-1] < 5 and len(expected) > 1:
        expected, seen = np.append(expected[:-2], expected[-2:].sum()), np.append(seen[:-2], seen[-2:].sum())
    if len(expected) < 2:
        return
    result = chisquare(seen, expected * seen.sum() / expected.sum())
    assert result.pvalue > SMALLEST_P_VALUE, f"drawn frequencies do not fit: p-value {result.pvalue:.2g}"
