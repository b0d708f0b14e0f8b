"""Tests of exchangeability: is the order of these variables of any importance?

`full` and `pairwise` are the paper's tests; `global` is this library's own and the default.
"""

from xspn.learning.exchangeability.base import TestResult, tests
from xspn.learning.exchangeability.full import full_test
from xspn.learning.exchangeability.global_test import global_test
from xspn.learning.exchangeability.groups import Group, exchangeable_groups
from xspn.learning.exchangeability.pairwise import pairwise_test
from xspn.learning.exchangeability.public import exchangeability_test

__all__ = [
    "Group",
    "TestResult",
    "exchangeability_test",
    "exchangeable_groups",
    "full_test",
    "global_test",
    "pairwise_test",
    "tests",
]
