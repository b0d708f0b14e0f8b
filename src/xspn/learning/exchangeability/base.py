"""What a test of exchangeability returns, and the registry of tests.

A test is a function (summary, options) → TestResult. To add one, write one file, register it, and import it in
`xspn/learning/exchangeability/__init__.py`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from operator import itemgetter
from typing import Any

from xspn.core.arrays import IntArray
from xspn.core.checks import known_names
from xspn.core.registry import Registry
from xspn.learning.deviations import DeviationPart, either, sidak, tail

tests: "Registry[Callable[..., TestResult]]" = Registry("exchangeability test")


@dataclass(frozen=True)
class TestResult:
    """The outcome of a test whose null hypothesis is exchangeability: a small p-value speaks against it.

    Attributes:
        method: Which test this is.
        statistic: The test statistic; that of the deciding part if the test has several.
        dof: Its degrees of freedom under the null hypothesis.
        p_value: The probability of so large a statistic (of any part) if the variables are exchangeable.
        parts: Statistics that the test is made of, by name. For the global test `parts["decided_by"]` names the one
            with the least p-value: a sum ("Q", "B", "S", "A"), or the largest deviation in it ("max_Q", …) if the
            others matter less, which is that of the columns `parts["member_Q"]`, ….
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

    def odd_one_out(self, level: float) -> int | None:
        """Return the one column without which nothing seems to speak against exchangeability at this level, if any."""
        part = str(self.parts.get("decided_by")).removeprefix("max_")
        if part == self.parts.get("decided_by") or len(self.parts.get(f"member_{part}", ())) != 1:
            return None
        rest = [
            p for key, p in self.parts.items() if key.startswith("p_") and key not in (f"p_{part}", f"p_max_{part}")
        ]
        alone = min([self.parts[f"others_{part}"], *rest]) >= level
        return int(self.parts[f"member_{part}"][0]) if alone else None


def check_test_options(method: str, options: Iterable[str]) -> None:
    """Refuse a test that nobody registered, and options that it does not have."""
    known = [name for name in signature(tests[method]).parameters if name != "summary"]
    known_names(f"{method} test", options, known)


def in_parts(found: Mapping[str, DeviationPart], columns: IntArray | None = None, **notes: object) -> TestResult:
    """Return the result of the global test: of several tests the one that speaks most against exchangeability.

    Each part is tested by its sum, and where that has many degrees of freedom by its largest deviation as well, either
    of which can reject. The parts are uncorrelated; so the p-value is the chance that the least of so many p-values is
    as small as the one found.

    Args:
        found: The parts by name.
        columns: Which columns the members of the parts are, if some were excluded.
        notes: What else the result shall tell among its parts.
    """
    parts: dict[str, Any] = {}
    tested: list[tuple[float, str, float, float]] = []  # p, what decided on it, the statistic, its degrees of freedom
    for name, part in found.items():
        p, single = tail(part.dof, part.value), part.largest
        parts |= {name: part.value, f"dof_{name}": part.dof, f"p_{name}": p}
        if part.dof > 0 and single is not None:
            member = single.member if columns is None else tuple(int(columns[i]) for i in single.member)
            parts |= {f"max_{name}": single.deviation, f"p_max_{name}": single.p_value, f"member_{name}": member}
            # If the sum of the others is less remarkable, it is this one that makes the sum what it is.
            others = tail(part.dof - 1, max(part.value - single.deviation**2, 0.0))
            parts[f"others_{name}"] = others
            by_one = single.p_value <= max(p, others)
            decided = (f"max_{name}", single.deviation**2, 1.0) if by_one else (name, part.value, part.dof)
            tested.append((either(p, single.p_value), *decided))
        elif part.dof > 0:
            tested.append((p, name, part.value, part.dof))
    if not tested:
        return TestResult("global", 0.0, 0.0, 1.0, {**parts, "decided_by": None, **notes})
    p, decided_by, statistic, dof = min(tested, key=itemgetter(0))
    return TestResult("global", statistic, dof, sidak(p, len(tested)), {**parts, "decided_by": decided_by, **notes})
