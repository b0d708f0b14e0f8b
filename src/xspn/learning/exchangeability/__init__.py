"""Tests of exchangeability: can these variables be permuted without changing their distribution?

`full` and `pairwise` are the paper's tests; `global` is this library's own and the default. Those that take any table
as users have it are in `public`.
"""

from xspn.learning.exchangeability.base import TestResult, tests
from xspn.learning.exchangeability.full import full_test, table_full_test
from xspn.learning.exchangeability.global_test import global_test
from xspn.learning.exchangeability.groups import Group
from xspn.learning.exchangeability.pairwise import pairwise_test, table_pairwise_test
from xspn.learning.exchangeability.table_global_test import table_global_test

__all__ = [
    "Group",
    "TestResult",
    "full_test",
    "global_test",
    "pairwise_test",
    "table_full_test",
    "table_global_test",
    "table_pairwise_test",
    "tests",
]
