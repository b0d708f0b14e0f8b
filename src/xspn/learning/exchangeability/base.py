"""What a test of exchangeability returns, and the registry of tests.

A test is a function (summary, options) → TestResult. To add one, write one file, register it, and import it in
`xspn/learning/exchangeability/__init__.py`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from scipy.special import chdtrc

from xspn._core.options import known_names
from xspn._core.registry import Registry

Statistics = dict[str, tuple[float, float]]  # by name: a statistic and its degrees of freedom
tests: "Registry[Callable[..., TestResult]]" = Registry("exchangeability test")


@dataclass(frozen=True)
class TestResult:
    """The outcome of a test whose null hypothesis is exchangeability: a small p-value speaks against it.

    Attributes:
        method: Which test this is.
        statistic: The test statistic.
        dof: Its degrees of freedom under the null hypothesis.
        p_value: The probability of so large a statistic if the variables are exchangeable.
        parts: Statistics that the test is made of, by name.
    """

    __test__ = False  # not a test class, whatever its name suggests to pytest

    method: str
    statistic: float
    dof: float
    p_value: float
    parts: dict[str, Any] = field(default_factory=dict)

    def rejects(self, level: float) -> bool:
        """Whether exchangeability is rejected at this level."""
        return self.p_value < level


def check_test_options(method: str, options: Iterable[str]) -> None:
    """Refuse a test that nobody registered, and options that it does not have."""
    known = [name for name in signature(tests[method]).parameters if name != "summary"]
    known_names(f"{method} test", options, known)


def in_parts(found: Statistics, **notes: object) -> TestResult:
    """Return the result of the global test, the sum of uncorrelated ones, with what each of them says by itself."""
    statistic = sum(value for value, _ in found.values())
    dof = sum(degrees for _, degrees in found.values())
    parts: dict[str, object] = {}
    for name, (value, degrees) in found.items():
        parts |= {name: value, f"dof_{name}": degrees, f"p_{name}": tail(degrees, value)}
    return TestResult("global", statistic, dof, tail(dof, statistic), {**parts, **notes})


def tail(dof: float, statistic: float) -> float:
    """Return the chance of a χ² beyond the statistic; 1 where there is nothing to test."""
    return float(chdtrc(dof, statistic)) if dof > 0 else 1.0
