"""A toy test of exchangeability for bits and for columns of any types: are the largest and the least mean near?"""

import numpy as np

from xspn.learning.exchangeability.base import TestResult, tests
from xspn.learning.methods import Can, Method


def range_test(summary, *, largest=0.1):
    cells, weights = summary.rows()
    means = [np.average(own[~np.isnan(own)], weights=weights[~np.isnan(own)]) for own in cells.T]
    apart = float(max(means) - min(means))
    return TestResult("range", apart, 1.0, 1.0 if apart <= largest else 0.0)


tests.add("range", Method(bits=range_test, tables=range_test, can=Can.ANY_TYPE | Can.ANY_ROWS))
