"""The registry of tests for tables, named as those for bits, and the features by which they compare columns.

A test is a function (summary, options) → TestResult. If columns are exchangeable, they still are after the same
function is applied to all of them. A few values are told apart by indicators. Real numbers, and long scales, are
replaced by normal scores of their ranks among all cells: the score tells of location and its square of spread, and no
outlier can dominate a sum.
"""

from collections.abc import Callable, Iterable
from inspect import signature

import numpy as np
from scipy.special import ndtri

from xspn.core.arrays import FloatArray
from xspn.core.checks import known_names
from xspn.core.errors import ParameterError
from xspn.core.registry import Registry
from xspn.learning.exchangeability.base import TestResult
from xspn.learning.table_summary import TableSummary, row_blocks

MOST_INDICATORS = 5  # values beyond the first; the second order has a number for every two of them

table_tests: Registry[Callable[..., TestResult]] = Registry("exchangeability test of tables")


def named_table_test(method: str, options: Iterable[str] = ()) -> Callable[..., TestResult]:
    """Return the test of a name; refuse one that is for bits only, and options that it has for bits only."""
    if method not in table_tests:
        raise ParameterError(
            f"exchangeability={method!r} is for tables of zeros and ones only; for columns of other types use one of "
            f"{', '.join(map(repr, table_tests))}"
        )
    known = [name for name in signature(table_tests[method]).parameters if name != "summary"]
    known_names(f"{method} test (columns of more than two values)", options, known)
    return table_tests[method]


class Features:
    """The features of the cells of a slice, made of some rows at a time."""

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
