"""Tests of exchangeability: can these variables be permuted without changing their distribution?

`full` and `pairwise` are the paper's tests; `global` is this library's own and the default. Those for any table are in
`public`.
"""

from xspn.learning.exchangeability.base import TestResult, tests
from xspn.learning.exchangeability.full import full_test
from xspn.learning.exchangeability.global_test import global_test
from xspn.learning.exchangeability.groups import Group
from xspn.learning.exchangeability.pairwise import pairwise_test

__all__ = [
    "Group",
    "TestResult",
    "full_test",
    "global_test",
    "pairwise_test",
    "tests",
]
