"""The tests as a function of a table, for people who want the answer and not a model."""

from typing import Any

import numpy as np

from xspn.core.checks import table
from xspn.learning.binary import binary_table, column_names
from xspn.learning.data import BinaryData
from xspn.learning.exchangeability.base import TestResult, check_test_options, tests
from xspn.learning.summary import BinarySummary


def exchangeability_test(X: Any, method: str = "global", **options: Any) -> TestResult:
    """Test whether the columns of a 0/1 table are exchangeable: can they be permuted without changing the distribution?

    Args:
        X: A table of zeros and ones, one row per observation.
        method: "global" (calibrated, sees means and pairs), "pairwise" (the paper's), "full" (all 2ⁿ assignments).
        options: Those of the method: see `global_test` and `pairwise_test`. For "global" the p-value comes from χ², or
            from shuffling within rows where χ² is doubtful; `p_value="shuffle"` asks for that in any case.

    Returns:
        The statistic that decided, its degrees of freedom, the p-value, and for "global" in `parts` what the means, the
        associations and the pairs say each by themselves.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((500, 8)) < rng.random((500, 1))  # the rows differ, the columns do not
        >>> exchangeability_test(X).p_value > 0.01
        True
        >>> X[:, 0] |= rng.random(500) < 0.3  # now the first column has more ones
        >>> exchangeability_test(X).p_value > 0.01
        False
    """
    check_test_options(method, options)
    if method == "global":
        options = {"p_value": "auto", **options}
    bits = binary_table(table(X, what="X"), column_names(X), allow_missing=True)
    data = BinaryData.of(bits)
    cells = data.slice(np.arange(len(data.bits)), np.arange(bits.shape[1]))
    return tests[method](BinarySummary.of(cells, data.weights), **options)
