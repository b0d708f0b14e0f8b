"""Tests of exchangeability of columns of one domain, whatever it is."""

from xspn.learning.tables.exchangeability.base import table_tests
from xspn.learning.tables.exchangeability.full import full_test
from xspn.learning.tables.exchangeability.global_test import global_test
from xspn.learning.tables.exchangeability.pairwise import pairwise_test

__all__ = ["full_test", "global_test", "pairwise_test", "table_tests"]
