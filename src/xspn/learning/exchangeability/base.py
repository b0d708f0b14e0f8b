"""What a test of exchangeability returns, the registry of tests, and the features by which they compare columns.

A test is a function (summary, options) → TestResult. To add one, write one file, register it with what it can handle,
and import it in `xspn/learning/exchangeability/__init__.py`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.special import ndtri

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.checks import known_names
from xspn.learning.deviations import DeviationPart, either, sidak, tail
from xspn.learning.methods import Methods
from xspn.learning.table_summary import TableSummary, row_blocks

MOST_INDICATORS = 5  # values beyond the first; the second order has a number for every two of them

tests: "Methods[Callable[..., TestResult], Callable[..., TestResult]]" = Methods(
    "exchangeability test", "exchangeability"
)


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


def check_test_options(method: str, options: Iterable[str], tables: bool = False) -> None:
    """Refuse a test that nobody registered, and options that it does not have, for bits or for tables."""
    test = tests[method].tables if tables else tests[method].bits
    if test is None:  # refused where it is asked for
        return
    known = [name for name in signature(test).parameters if name != "summary"]
    known_names(f"{method} test{' (columns of more than two values)' if tables else ''}", options, known)


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


class Features:
    """The features of the cells of a slice with columns of any one domain, made of some rows at a time.

    If columns are exchangeable, they still are after the same function is applied to all of them. A few values are told
    apart by indicators. Real numbers, and long scales, are replaced by normal scores of their ranks among all cells:
    the score tells of location and its square of spread, and no outlier can dominate a sum.
    """

    def __init__(self, summary: TableSummary) -> None:
        self._summary = summary
        blocks = row_blocks(len(summary.cells), summary.n)
        seen = [np.unique(summary.cells[rows][~summary.missing[rows]]) for rows in blocks]
        self._values = seen[0] if len(seen) == 1 else np.unique(np.concatenate(seen))
        is_short = not summary.columns[0].is_real and len(self._values) <= MOST_INDICATORS + 1
        self._scores = None if is_short else self._normal_scores(blocks)

    def __len__(self) -> int:
        return max(len(self._values) - 1, 0) if self._scores is None else 2

    def of(self, rows: slice) -> FloatArray:
        """Return the features of some rows, NaN where a cell is missing: (features, rows, n)."""
        cells, missing = self._summary.cells[rows], self._summary.missing[rows]
        if self._scores is None:
            marks = (cells[None] == self._values[1:, None, None]).astype(np.float64)
            return np.where(missing[None], np.nan, marks)
        scores = np.full(cells.shape, np.nan)
        scores[~missing] = self._scores[np.searchsorted(self._values, cells[~missing])]
        return np.stack([scores, scores**2])

    def _normal_scores(self, blocks: list[slice]) -> FloatArray:
        """Return Φ⁻¹ of each value's middle rank among all cells."""
        mass = np.zeros(len(self._values))
        for rows in blocks:
            seen = ~self._summary.missing[rows]
            weights = np.broadcast_to(self._summary.weights[rows, None], seen.shape)[seen]
            which = np.searchsorted(self._values, self._summary.cells[rows][seen])
            mass += np.bincount(which, weights=weights, minlength=len(self._values))
        return np.asarray(ndtri((np.cumsum(mass) - mass / 2) / mass.sum()))


def features(summary: TableSummary) -> FloatArray:
    """Return the features of every cell, NaN where it is missing: (features, rows, n)."""
    return Features(summary).of(slice(None))
