"""A toy test of exchangeability for bits: are the largest and the smallest mean near each other?"""

from xspn.learning.exchangeability.base import TestResult, tests


def range_test(summary, *, largest=0.1):
    apart = float(summary.means.max() - summary.means.min())
    return TestResult("range", apart, 1.0, 1.0 if apart <= largest else 0.0)


tests.add("range", range_test)
