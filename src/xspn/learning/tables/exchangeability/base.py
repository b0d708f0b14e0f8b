"""The registry of tests for tables: functions (summary, options) → TestResult, under the names of the binary ones."""

from collections.abc import Callable, Iterable
from inspect import signature

from xspn.core.options import known_names
from xspn.core.registry import Registry
from xspn.learning.exchangeability.base import TestResult

table_tests: Registry[Callable[..., TestResult]] = Registry("exchangeability test of tables")


def check_table_test_options(method: str, options: Iterable[str]) -> None:
    """Refuse options that the test has for bits only."""
    known = [name for name in signature(table_tests[method]).parameters if name != "summary"]
    known_names(f"{method} test (columns of more than two values)", options, known)
