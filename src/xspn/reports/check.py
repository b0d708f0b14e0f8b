"""What is wrong in a table: cells and rows that a model of the table finds unlikely, with false discoveries counted.

Every cell is compared with the rest of its row (`xspn.inference.cells`). A model that has learned from a row vouches
for it, so that by default the rows are scored by models that were learned without them, fold by fold. How many cells
would look as unlikely if nothing were wrong is counted in rows that these models draw, with the same cells missing;
what is reported is as long a list as keeps the expected fraction of such cells below a limit.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray, IntArray
from xspn.core.checks import is_real_number, known_names
from xspn.core.errors import DataError, ParameterError, counted, printable
from xspn.core.random import generator
from xspn.data.schema import Schema
from xspn.data.table import Table
from xspn.estimators import XSPN
from xspn.estimators.base import DensityEstimator
from xspn.inference.cells import cell_conditionals
from xspn.reports.document import Document, Grid, Heading, Paragraph, Picture
from xspn.reports.oddities import OddCell, cells_at, chance, odd_rows

FEWEST_ROWS = 20  # to learn from and to check
FEWEST_IN_FOLD = 10
DRAWN = 10_000  # rows to compare with
MOST_CELLS = 4_000_000  # of them
MOST_ROUNDS = 10  # of unlikely cells in one row
UNLIKELY = 0.05  # what is more probable is not called unlikely, however many there are of it
LISTED = 20  # cells and rows that are listed even if they may be as they should


@dataclass(frozen=True)
class OddRow:
    """A row that is unlikely as a whole.

    Attributes:
        row: The row.
        log_likelihood: Of its observed cells.
        deviations: How far that is below what the model expects of a row with these cells, in its deviations.
        q: The expected fraction of false discoveries among rows at least as odd.
    """

    row: int
    log_likelihood: float
    deviations: float
    q: float


@dataclass(frozen=True)
class TableCheck:
    """Unlikely cells and rows of a table, the least likely ones first.

    Attributes:
        cells: All cells whose `q` is at most `fdr`; if they are few, the next ones too.
        rows: The same of rows.
        fdr: The limit on the expected fraction of false discoveries.
        n_rows: How many rows were checked.
        n_cells: How many cells were checked.
        how: Which models have scored the rows.
        tails: The probability of a value at most as likely as each cell's: (rows, columns), NaN where it is missing.
        drawn: The same of the cells of rows that the models drew, in order.
        weight: How many cells of the table each of these stands for.
        schema: The names and labels of the columns.
    """

    cells: tuple[OddCell, ...]
    rows: tuple[OddRow, ...]
    fdr: float
    n_rows: int
    n_cells: int
    how: str
    tails: FloatArray
    drawn: FloatArray
    weight: float
    schema: Schema

    @property
    def unlikely_cells(self) -> tuple[OddCell, ...]:
        """The cells within the limit."""
        return tuple(cell for cell in self.cells if cell.q <= self.fdr)

    @property
    def unlikely_rows(self) -> tuple[OddRow, ...]:
        """The rows within the limit."""
        return tuple(row for row in self.rows if row.q <= self.fdr)

    def label(self, column: int, code: float) -> Any:
        """Return what a code of a column stands for."""
        return self.schema.label(column, code)

    def records(self) -> list[dict[str, Any]]:
        """Return the unlikely cells as plain values, a mapping for each."""
        return [
            {
                "row": cell.row,
                "column": self.schema.shown_name(cell.column),
                "value": self.label(cell.column, cell.value),
                "likelier": self.label(cell.column, cell.likelier),
                "probability": cell.probability,
                "q": cell.q,
            }
            for cell in self.unlikely_cells
        ]

    def __str__(self) -> str:
        found = counted(len(self.unlikely_cells), "cell")
        rows = counted(len({cell.row for cell in self.unlikely_cells}), "row")
        verb = "is" if len(self.unlikely_cells) == 1 else "are"
        return (
            f"{found} in {rows} {verb} unlikely given the rest of the row "
            f"(of {self.n_cells:,} cells; at most {self.fdr:.0%} of these expected by chance)"
        )

    def html(self, title: str = "What is unlikely in this table", row_name: Callable[[int], str] | None = None) -> str:
        """Return one page."""
        return _document(self, title, row_name or (lambda row: f"row {row}")).html()

    def _repr_html_(self) -> str:
        return self.html()


def check_table(
    X: Any,
    model: Any = None,
    *,
    fdr: float = 0.1,
    folds: int = 5,
    set_aside: float = 0.0,
    random_state: int = 0,
    **settings: Any,
) -> TableCheck:
    """Find the cells and rows of a table that are unlikely, given everything else.

    Args:
        X: The table.
        model: A fitted estimator or a circuit that rows are scored by. Without one, models are learned from the table
            itself, each from all folds but one, and score the rows of that fold: no row vouches for itself.
        fdr: The largest expected fraction of false discoveries among what is reported: cells that are as unlikely by
            chance, under the model. It knows nothing of what the model gets wrong.
        folds: The number of folds.
        set_aside: Learn each model twice, the second time without the cells that the first one gives at most this
            probability. A model that has learned from many wrong values expects as many, so that none stand out; one
            that has not finds more of them, and good values that are as rare.
        random_state: The seed of folds, learning, and the rows that are drawn.
        settings: Further settings of `XSPN`, where models are learned.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> X = np.repeat(rng.integers(0, 2, (300, 1)), 8, axis=1)  # each row is all zeros or all ones,
        >>> X[7, 3] = 1 - X[7, 3]  # but for one cell
        >>> [(cell.row, cell.column) for cell in check_table(X).cells]  # the least likely ones, first
        [(7, 3)]
    """
    if not is_real_number(fdr) or not 0 < fdr < 1:
        raise ParameterError(f"fdr: expected a fraction between 0 and 1, found {fdr!r}")
    if not is_real_number(set_aside) or not 0 <= set_aside < 1:
        raise ParameterError(f"set_aside: expected a probability of at least 0 and below 1, found {set_aside!r}")
    if model is None:
        known_names("check_table", settings, set(XSPN._get_param_names()) - {"random_state"})
        table = X if isinstance(X, Table) else Table.of(X)
        parts, how = _cross_fitted(table, folds, set_aside, random_state, settings)
        codes, schema = np.asarray(table.codes, dtype=np.float64), table.schema
    else:
        if settings:
            raise ParameterError(f"{next(iter(settings))}: a setting for learning, but a model is given")
        circuit, codes = _of_model(model, X)
        schema = circuit.schema
        parts, how = iter([(np.arange(len(codes)), circuit)]), "the given model"
    if not len(codes):
        raise DataError("X: found 0 rows; at least one is needed")
    return _checked(codes, list(parts), schema, fdr, random_state, how)


def _of_model(model: Any, X: Any) -> tuple[Circuit, FloatArray]:
    if isinstance(model, DensityEstimator):
        codes = np.asarray(model._query_rows(X), dtype=np.float64)  # refuses a model that is not fitted
        return model.circuit_, codes
    if isinstance(model, Circuit):
        return model, np.asarray(model.schema.encode(X), dtype=np.float64)
    raise ParameterError(f"check_table: expected a circuit or a fitted estimator, found {type(model).__name__}")


def _cross_fitted(
    table: Table, folds: int, set_aside: float, seed: int, settings: dict[str, Any]
) -> tuple[Iterator[tuple[IntArray, Circuit]], str]:
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or folds < 2:
        raise ParameterError(f"folds: expected a whole number of at least 2, found {folds!r}")
    if len(table) < FEWEST_ROWS:
        raise DataError(f"X: found {counted(len(table), 'row')}; a model to check them by needs {FEWEST_ROWS}")
    n_folds = min(int(folds), len(table) // FEWEST_IN_FOLD)
    fold = generator(seed).permutation(len(table)) % n_folds

    def parts() -> Iterator[tuple[IntArray, Circuit]]:
        for place in range(n_folds):
            yield np.flatnonzero(fold == place), _learned(table.rows(fold != place), set_aside, seed, settings)

    return parts(), f"{n_folds} models, each learned from the other {n_folds - 1} of {n_folds} folds of the rows"


def _learned(table: Table, set_aside: float, seed: int, settings: dict[str, Any]) -> Circuit:
    """Learn from a table, once more without the cells that the first model finds unlikely if there are any."""
    first = XSPN(random_state=seed, **settings).fit(table).circuit_
    if set_aside == 0:
        return first
    codes = np.asarray(table.codes, dtype=np.float64)
    unlikely = cell_conditionals(first.backend, codes).tail <= set_aside
    if not unlikely.any():
        return first
    left = Table(np.where(unlikely, np.nan, codes), table.schema)
    return XSPN(random_state=seed, **settings).fit(left).circuit_


def _checked(
    codes: FloatArray, parts: list[tuple[IntArray, Circuit]], schema: Schema, fdr: float, seed: int, how: str
) -> TableCheck:
    tails = np.full(codes.shape, np.nan)
    drawn: list[FloatArray] = []
    scores, deviations, fractions = (np.full(len(codes), np.nan) for _ in range(3))
    per_part = max(1, min(DRAWN, MOST_CELLS // codes.shape[1]) // len(parts))
    n_drawn, n_rows = 0, 0
    for own, circuit in parts:
        tails[own] = cell_conditionals(circuit.backend, codes[own]).tail
        rows = circuit.sample(per_part, random_state=seed)
        pattern = np.isnan(codes[own[np.arange(per_part) % len(own)]])
        of_drawn = cell_conditionals(circuit.backend, np.where(pattern, np.nan, rows)).tail
        drawn.append(of_drawn[~np.isnan(of_drawn)])
        n_drawn, n_rows = n_drawn + per_part, n_rows + len(own)
        found = odd_rows(circuit, codes[own], DRAWN)
        scores[own], deviations[own] = found.log_likelihood, found.deviations
        fractions[own] = (found.fraction * found.n_drawn + 1) / (found.n_drawn + 1)
    by_chance, weight = np.sort(np.concatenate(drawn)), n_rows / n_drawn
    cells = _unlikely_cells(codes, parts, tails, by_chance, weight, fdr)
    n_cells, odd = int((~np.isnan(tails)).sum()), _unlikely_rows(scores, deviations, fractions, fdr)
    return TableCheck(cells, odd, fdr, len(codes), n_cells, how, tails, by_chance, weight, schema)


def _expected(by_chance: FloatArray, weight: float, tails: FloatArray) -> FloatArray:
    """Return how many cells of the table would be as unlikely by chance; one more than were drawn, to be safe."""
    return np.asarray((np.searchsorted(by_chance, tails, side="right") + 1) * weight)


def _q_values(expected: FloatArray) -> FloatArray:
    """Return expected false discoveries over discoveries, for a list in order: the least of it and what follows."""
    ratio = expected / np.arange(1, len(expected) + 1)
    return np.asarray(np.minimum.accumulate(ratio[::-1])[::-1].clip(max=1.0))


def _unlikely_cells(
    codes: FloatArray,
    parts: list[tuple[IntArray, Circuit]],
    tails: FloatArray,
    by_chance: FloatArray,
    weight: float,
    fdr: float,
) -> tuple[OddCell, ...]:
    flat = np.sort(tails[tails <= UNLIKELY])  # what is missing compares as False
    n_found = int((_q_values(_expected(by_chance, weight, flat)) <= fdr).sum())
    limit = float(flat[min(max(n_found, LISTED), len(flat)) - 1]) if len(flat) else -1.0
    found: list[OddCell] = []
    for own, circuit in parts:
        part = _one_at_a_time(circuit, codes[own], tails[own], limit)
        found += [replace(cell, row=int(own[cell.row])) for cell in part]
    found.sort(key=lambda cell: (cell.probability, cell.row, cell.column))
    q = _q_values(_expected(by_chance, weight, np.array([cell.probability for cell in found])))
    listed = max(int((q <= fdr).sum()), min(LISTED, len(found)))
    return tuple(replace(cell, q=float(own)) for cell, own in zip(found[:listed], q[:listed], strict=True))


def _one_at_a_time(circuit: Circuit, codes: FloatArray, tails: FloatArray, limit: float) -> list[OddCell]:
    """Return the unlikely cells: of several in a row the least likely first, then what is still unlikely without it.

    A wrong value makes other cells of its row look unlikely, too. Once it is set aside they are compared with what is
    left.
    """
    found: list[OddCell] = []
    rows, left, now = np.arange(len(codes)), codes.copy(), tails
    for _ in range(MOST_ROUNDS):
        some = np.flatnonzero((now <= limit).any(axis=1))
        if not len(some):
            break
        rows, left, now = rows[some], left[some], now[some]
        first, place = np.nanargmin(now, axis=1), np.arange(len(rows))
        found += cells_at(circuit, rows, first, left, now[place, first])
        several = (now <= limit).sum(axis=1) > 1
        left[place, first] = np.nan
        rows, left = rows[several], left[several]
        now = cell_conditionals(circuit.backend, left).tail
    return found


def _unlikely_rows(scores: FloatArray, deviations: FloatArray, p: FloatArray, fdr: float) -> tuple[OddRow, ...]:
    """Return rows by how odd they are; false discoveries by Benjamini and Hochberg."""
    order = np.lexsort((-np.nan_to_num(deviations, posinf=1e300), p))
    order = order[~np.isnan(p[order])]
    q = _q_values(p[order] * len(order))
    listed = max(int((q <= fdr).sum()), min(LISTED, len(order)))
    rows = zip(order[:listed].tolist(), q[:listed].tolist(), strict=True)
    return tuple(OddRow(row, float(scores[row]), float(deviations[row]), own) for row, own in rows)


# -- pages -------------------------------------------------------------------------------------------------------------


def in_words(check: TableCheck, column: int, code: float, digits: int = 6) -> str:
    """Return a value as a person would write it."""
    label = check.label(column, code)
    return f"{label:.{digits}g}".replace("-", "−") if isinstance(label, float) else printable(str(label))


def _document(check: TableCheck, title: str, row_name: Callable[[int], str]) -> Document:
    from xspn.reports.figures import tails_picture

    out = Document(title)
    rows = counted(len(check.unlikely_rows), "row")
    out.add(
        Paragraph(f"{check}. {rows} {'is' if len(check.unlikely_rows) == 1 else 'are'} unlikely as a whole."),
        Paragraph(
            f"Rows were scored by {check.how}. Each cell is compared with the rest of its row: the probability is that "
            "of a value at most as likely as the one that stands there, for numbers of one as far out. q is the "
            "expected fraction of false discoveries in the list up to there, counted in rows that the models draw; it "
            "knows nothing of what the models get wrong. Unlikely is not wrong: look at each."
        ),
        Heading("Cells", anchor="cells"),
    )
    header = ("row", "column", "value", "likelier", "probability", "q")
    lines = [
        (
            row_name(cell.row),
            printable(check.schema.shown_name(cell.column)),
            in_words(check, cell.column, cell.value),
            in_words(check, cell.column, cell.likelier, digits=4),
            chance(cell.probability),
            f"{cell.q:.2g}" + ("" if cell.q <= check.fdr else " (not counted)"),
        )
        for cell in check.cells
    ]
    out.add(Grid(header, tuple(lines), frozenset(header[4:])))
    out.add(
        Picture(
            tails_picture(check),
            "How many cells are as unlikely, in the table and by chance",
            "Where the table's line leaves that of rows that the models draw, there are more unlikely cells than "
            "chance explains: wrong values, or what the models do not know.",
        ),
        Heading("Rows", anchor="rows"),
    )
    names = ("row", "log-likelihood", "deviations below", "q")
    lines_of_rows = [
        (
            row_name(row.row),
            f"{row.log_likelihood:.2f}".replace("-", "−"),
            f"{row.deviations:.1f}".replace("-", "−"),
            f"{row.q:.2g}" + ("" if row.q <= check.fdr else " (not counted)"),
        )
        for row in check.rows
    ]
    out.add(Grid(names, tuple(lines_of_rows), frozenset(names[1:])))
    return out
