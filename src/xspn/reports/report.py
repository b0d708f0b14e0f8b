"""A report on a model and a table: data, fit, calibration, segments, oddities, limits and provenance, in one file."""

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray
from xspn.core.errors import DataError, ParameterError, counted, printable
from xspn.core.files import path_of, write_text
from xspn.core.names import listed, shortened
from xspn.data.table import Table
from xspn.estimators.base import DensityEstimator
from xspn.inference.segments import ALL_ROWS, MOST_GROUPS, MOST_MARKS, Segments, rows_in_words
from xspn.leaves.laws import percent
from xspn.reports.calibration import Pair, Reliability, chosen_columns, pairs_of, reliability
from xspn.reports.document import Document, Grid, Heading, Listing, Paragraph, Picture
from xspn.reports.figures import calibration_picture, contexts_picture, map_picture, rows_picture
from xspn.reports.fit_measure import ModelScore, ScoredRows, compared, rows_to_score, with_names
from xspn.reports.oddities import ODD, CellScores, RowScores, chance, odd_cells, odd_rows

ENDINGS = (".html", ".htm", ".md")
MOST_LISTED = 40  # columns in a table
MOST_SEGMENTS = 20
MOST_ODD = 10
FAR = 3.0  # standard errors
FEWEST_ROWS, SMALL = 3, 0.01  # rows, and of all rows: smaller segments are tiny
WORTH_LISTING = 0.01  # the probability of a value at most as likely, of a cell that is listed
SHORT = 60  # letters of a cell
DIFFERENT = 0.05  # of a frequency, or deviations of a mean: columns of which a limit is told


@dataclass(frozen=True)
class Findings:
    """Everything that was measured for a report.

    Attributes:
        rows: Which rows were scored, and how they were chosen.
        scores: The model beside simple ones.
        cells: Calibration of single cells.
        pairs: Calibration of pairs.
        segments: The contexts.
        odd_rows: How odd each row is.
        odd_cells: The oddest cells.
    """

    rows: ScoredRows
    scores: list[ModelScore]
    cells: Reliability
    pairs: list[Pair]
    segments: Segments
    odd_rows: RowScores
    odd_cells: CellScores


class Report:
    """A report, as a page or as Markdown.

    Attributes:
        findings: What was measured.
        document: The text.
    """

    def __init__(self, findings: Findings, document: Document) -> None:
        self.findings, self.document = findings, document

    def html(self) -> str:
        """Return one HTML page, pictures inside."""
        return self.document.html()

    def markdown(self) -> str:
        """Return one Markdown text, pictures inside."""
        return self.document.markdown()

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the report: Markdown if the name ends in `.md`, HTML if it ends in `.html`."""
        place = path_of(path, "report")
        check_ending(place)
        write_text(place, self.markdown() if place.suffix.lower() == ".md" else self.html())
        return place

    def _repr_html_(self) -> str:
        return self.html()


def check_ending(path: Path) -> None:
    """Refuse a file of another form than reports have."""
    if path.suffix.lower() not in ENDINGS:
        raise ParameterError(f"{path}: expected a name ending in {', '.join(ENDINGS)}")


def report(
    model: Any,
    X: Any,
    path: str | PathLike[str] | None = None,
    *,
    test: Any = None,
    title: str | None = None,
    refit: bool | None = None,
    row_name: Callable[[int], str] | None = None,
) -> Report:
    """Report on a model and a table, in one file that doubles as model card.

    It tells what the data is, how well rows are predicted that were not learned from, beside simple models, whether
    probabilities are as frequent as they say, which contexts and groups there are, which rows and cells are odd, what
    the limits are, and where the model comes from.

    Args:
        model: A fitted estimator, or a circuit.
        X: The table; its columns are those of the model.
        path: The file to write, if any: `.html` or `.md`.
        test: Rows of their own to score. By default the rows that were held out when the model was learned, as its
            file tells; a quarter of the rows otherwise.
        title: What the report is called.
        refit: Whether to learn again from three quarters of the rows if the model has seen all of them; by default if
            the table has at most 50,000 cells and the quality is "fast".
        row_name: What a row is called, by its place; "row 0", … by default.

    Examples:
        >>> from xspn import XSPN
        >>> rng = np.random.default_rng(0)
        >>> X = (rng.random((200, 4)) < rng.random((200, 1))).astype(int)
        >>> found = report(XSPN(random_state=0).fit(X), X)
        >>> [score.name for score in found.findings.scores]
        ['this model', 'a Chow-Liu tree', 'independent columns']
    """
    if path is not None:
        check_ending(path_of(path, "report"))
    circuit, codes = _rows_of(model, X, "X")
    if len(codes) == 0:
        raise DataError("X: found 0 rows; a report needs some")
    if any(domain is None for domain in circuit.domains):
        raise DataError("report: the circuit has lost some of its columns; report on the one that it was made from")
    tested = None if test is None else _rows_of(model, test, "test")[1]
    if tested is not None and len(tested) == 0:
        raise DataError("test: found 0 rows; at least one is needed")
    Table(codes, circuit.schema).learnable()  # simple models are fitted beside it, and variances taken
    with threadpool_limits(1, user_api="blas"):  # many small problems: threads would wait for each other
        findings = _findings(circuit, codes, tested, refit)
    writer = _Writer(circuit, codes, findings, row_name or (lambda row: f"row {row}"))
    found = Report(findings, writer.document(title or "Report on a model"))
    if path is not None:
        found.save(path)
    return found


def _rows_of(model: Any, X: Any, what: str) -> tuple[Circuit, FloatArray]:
    if isinstance(model, DensityEstimator):
        codes = model._query_rows(X)
        circuit = model.circuit_
    elif isinstance(model, Circuit):
        circuit, codes = model, model.schema.encode(X, what)
    else:
        raise ParameterError(f"report: expected a circuit or a fitted estimator, found {type(model).__name__}")
    return with_names(circuit), np.asarray(codes, dtype=np.float64)


def _findings(circuit: Circuit, codes: FloatArray, test: FloatArray | None, refit: bool | None) -> Findings:
    rows = rows_to_score(circuit, codes, test, refit)
    columns = chosen_columns(circuit.schema, codes)
    odd = odd_rows(circuit, codes)
    return Findings(
        rows,
        compared(rows),
        reliability(rows.scored_by, rows.test, columns, codes),
        pairs_of(circuit, codes, columns),
        circuit.segments(codes) if np.isfinite(odd.log_likelihood).all() else circuit.segments(),
        odd,
        odd_cells(circuit, codes, odd, MOST_ODD),
    )


class _Writer:
    def __init__(self, circuit: Circuit, codes: FloatArray, findings: Findings, row_name: Callable[[int], str]) -> None:
        self.circuit, self.codes, self.findings, self.row_name = circuit, codes, findings, row_name
        self.schema = circuit.schema
        self.names = [printable(name) for name in self.schema.shown_names]
        self.missing = np.isnan(codes)
        nothing = np.full((1, len(self.schema)), np.nan)
        self.marginals, self.means = circuit.marginals(nothing)[0], circuit.means(nothing)[0]
        self.far_columns: list[str] = []

    def document(self, title: str) -> Document:
        own = Document(title)
        own.add(Paragraph(self._summary()))
        for part in (
            self._data,
            self._fit,
            self._calibration,
            self._segments,
            self._oddities,
            self._limits,
            self._provenance,
        ):
            part(own)
        return own

    def _summary(self) -> str:
        n, width = self.codes.shape
        size = self.circuit.summary()
        scores = {score.name: score for score in self.findings.scores}
        mine = scores["this model"]
        gain = (
            f"It predicts {'new rows' if self.findings.rows.are_new else 'rows'} {abs(mine.gain):.3g} nats a row "
            f"{'better' if mine.gain >= 0 else 'worse'} than independent columns do (± {mine.error:.2g})."
        )
        return (
            f"A circuit of {counted(size.nodes, 'node')} and {counted(size.parameters, 'parameter')} for "
            f"{counted(width, 'column')}, reported on with a table of {counted(n, 'row')}. {gain}"
        )

    # -- data ----------------------------------------------------------------------------------------------------------

    def _data(self, out: Document) -> None:
        n, width = self.codes.shape
        kinds = [domain.kind for domain in self.schema.domains if domain is not None]
        types = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        gone = int(self.missing.sum())
        complete = int((~self.missing.any(axis=1)).sum())
        out.add(
            Heading("Data", anchor="data"),
            Paragraph(
                f"{counted(n, 'row')} and {counted(width, 'column')} ({types}). {gone:,} of {n * width:,} cells are "
                f"missing ({percent(gone / max(1, n * width))}); {counted(complete, 'row')} "
                f"{'is' if complete == 1 else 'are'} complete. Nothing was imputed: missing cells are summed out."
            ),
        )
        rows = [self._column(v) for v in range(width)]
        shown = rows[:MOST_LISTED]
        out.add(
            Grid(("column", "type", "missing", "in the table", "under the model"), tuple(shown), frozenset({"missing"}))
        )
        if len(rows) > len(shown):
            out.add(Paragraph(f"… and {counted(len(rows) - len(shown), 'more column')}."))

    def _column(self, v: int) -> tuple[str, ...]:
        own, domain = self.codes[~self.missing[:, v], v], self.schema.domains[v]
        assert domain is not None, "circuits without some column were refused"
        gone = percent(float(self.missing[:, v].mean()))
        if not len(own):
            return self.names[v], domain.kind, gone, "no values", ""
        if domain.cardinality is None:
            mean, std = float(own.mean()), float(own.std())
            if abs(self.means[v] - mean) > DIFFERENT * max(std, 1e-300) + FAR * std / np.sqrt(len(own)):
                self.far_columns.append(self.names[v])
            low, high = _number(float(own.min())), _number(float(own.max()))
            table = f"mean {_number(mean)}, deviation {_number(std)}, from {low} to {high}"
            return self.names[v], domain.kind, gone, table, f"mean {_number(float(self.means[v]))}"
        found = np.bincount(own.astype(np.int64), minlength=domain.cardinality) / len(own)
        model = self.marginals[v, : domain.cardinality]
        if np.abs(found - model).max() > DIFFERENT + FAR * 0.5 / np.sqrt(len(own)):
            self.far_columns.append(self.names[v])
        values = [1] if domain.cardinality == 2 else np.argsort(-found, kind="stable")[:3].tolist()
        more = ", …" if domain.cardinality > max(2, len(values)) else ""
        texts = [
            ", ".join(f"{self._label(v, value)}: {percent(float(p[value]))}" for value in values) + more
            for p in (found, model)
        ]
        return self.names[v], domain.kind, gone, texts[0], texts[1]

    def _label(self, v: int, code: float) -> str:
        label = self.schema.label(v, code)
        return shortened(_number(label) if isinstance(label, float) else printable(str(label)), SHORT)

    # -- fit -----------------------------------------------------------------------------------------------------------

    def _fit(self, out: Document) -> None:
        found = self.findings
        cells = float((~np.isnan(found.rows.test)).sum(axis=1).mean())
        out.add(Heading("Fit", anchor="fit"), Paragraph(found.rows.how))
        rows = []
        for score in found.scores:
            gain = "" if score.name == "independent columns" else f"{_signed(score.gain)} ± {score.error:.2g}"
            impossible = f"{score.impossible:,}" if score.impossible else ""
            each = _number(score.mean / cells) if cells else ""
            rows.append((score.name, _number(score.mean, 3), each, gain, impossible))
        header = ("model", "nats a row", "a cell", "gain over independent columns", "impossible rows")
        keep = [True, True, True, True, any(row[-1] for row in rows)]
        chosen = [place for place, kept in enumerate(keep) if kept]
        out.add(
            Grid(
                tuple(header[place] for place in chosen),
                tuple(tuple(row[place] for place in chosen) for row in rows),
                frozenset(header[1:]),
            ),
            Paragraph(
                f"Mean log-likelihood of {counted(len(found.rows.test), 'row')}, larger is better; gains are per row, "
                "with their standard error. For real columns likelihoods are densities: gains do not depend on units, "
                "levels do."
            ),
        )

    # -- calibration ---------------------------------------------------------------------------------------------------

    def _calibration(self, out: Document) -> None:
        cells, pairs = self.findings.cells, self.findings.pairs
        n = len(self.schema)
        of_all = "" if cells.n_columns == n else f" of {n}"
        far = [pair for pair in pairs if pair.deviation > FAR]
        lines = [
            f"Each cell of {counted(cells.n_columns, 'column')}{of_all} in {counted(cells.n_rows, 'row')} was "
            f"predicted from the rest of its row. On average a predicted probability is {percent(cells.error)} from "
            "the fraction that came true, in ten bins."
            if len(cells.count)
            else "No cell could be predicted.",
        ]
        if pairs:
            lines.append(
                f"Of {len(pairs):,} conditional probabilities P(B | A) of two columns, {len(far):,} "
                f"({percent(len(far) / len(pairs))}) are more than three standard errors from the table's frequencies."
            )
        out.add(Heading("Calibration", anchor="calibration"), Paragraph(" ".join(lines)))
        out.add(
            Picture(
                calibration_picture(cells, pairs),
                "Two charts: predicted probabilities beside how often they came true, for cells and for pairs",
                "On the dashed line, what is called probable is as frequent. Left: larger dots stand for more "
                "predictions, bars for 95 % of chance. Right: orange pairs are more than three standard errors off.",
            )
        )
        if far:
            worst = sorted(far, key=lambda pair: -pair.deviation)[:5]
            out.add(
                Heading("Pairs that differ most", 3),
                Grid(
                    ("given A", "B", "model", "table", "rows with A"),
                    tuple(
                        (pair.given, pair.event, percent(pair.model), percent(pair.table), f"{pair.rows:,}")
                        for pair in worst
                    ),
                    frozenset({"model", "table", "rows with A"}),
                ),
            )

    # -- segments ------------------------------------------------------------------------------------------------------

    def _segments(self, out: Document) -> None:
        found = self.findings.segments
        out.add(Heading("Segments and groups", anchor="segments"))
        if len(found) == 1:
            out.add(Paragraph("The model has one context: no part of the rows is told from the others."))
        else:
            about = "" if len(found.columns) == found.n_columns else f", for {listed(found.columns, 120)}"
            out.add(
                Paragraph(
                    f"{counted(len(found), 'segment')} of rows, the contexts of the model{about}. In parentheses is "
                    "what holds in all rows. A row belongs to segments by the probability of each, given its observed "
                    "cells."
                )
            )
        rows = []
        for segment in found[:MOST_SEGMENTS]:
            marks = "; ".join(map(str, segment.marks[:MOST_MARKS])) or "no column by itself"
            size = "" if segment.rows is None else rows_in_words(segment.rows).removesuffix(" rows")
            rows.append((segment.name, percent(segment.weight), size, marks))
        if len(found) > 1:
            out.add(Grid(("segment", "weight", "rows", "marked by"), tuple(rows), frozenset({"weight", "rows"})))
        if len(found) > MOST_SEGMENTS:
            out.add(Paragraph(f"… and {counted(len(found) - MOST_SEGMENTS, 'more segment')}."))
        groups = [
            (segment.name, listed(group.columns, 60), group.law, str(group.strength or ""), str(group.overall or ""))
            for segment in found[:MOST_SEGMENTS]
            for group in segment.groups[:MOST_GROUPS]
        ]
        groups += [
            (ALL_ROWS, listed(group.columns, 60), group.law, str(group.strength or ""), "")
            for group in found.common[:MOST_GROUPS]
        ]
        if groups:
            single = len(found) == 1
            header = ("segment", "columns", "law", "strength here", "in all rows")
            chosen = [1, 2, 3] if single else [0, 1, 2, 3, 4]
            out.add(
                Heading("Groups of columns", 3),
                Paragraph(
                    "Strength says whether columns of a group go together or are only alike: lift is how many times "
                    "as often two are one together as if each went its own way, ICC their correlation (0: each on its "
                    "own), κ the agreement of categories beyond chance, mean |r| the size of correlations between "
                    "columns of different kinds. No strength is shown where a group is as good as independent."
                ),
                Grid(
                    tuple("strength" if single and header[p] == "strength here" else header[p] for p in chosen),
                    tuple(tuple(row[p] for p in chosen) for row in groups),
                ),
            )
        out.add(Picture(contexts_picture(self.circuit), "Contexts and their blocks of columns"))
        picture = map_picture(self.circuit)
        if picture is not None:
            out.add(Picture(picture, "Which columns can be interchanged", width=760))

    # -- oddities ------------------------------------------------------------------------------------------------------

    def _oddities(self, out: Document) -> None:
        rows, cells = self.findings.odd_rows, self.findings.odd_cells
        looked = ~np.isnan(rows.deviations)
        rare = int((rows.fraction[looked] <= 0.01).sum())
        out.add(
            Heading("Oddities", anchor="oddities"),
            Paragraph(
                "The log-likelihood of a row falls with every observed cell, so rows are compared with "
                f"{rows.n_drawn:,} rows that the model draws, of which the same cells are looked at. "
                f"{rare:,} of {int(looked.sum()):,} rows ({percent(rare / max(1, int(looked.sum())))}) are odder than "
                "99 % of these; about 1 % would be by chance."
            ),
            Picture(rows_picture(rows), "Histogram of how odd the rows are"),
        )
        table = []
        for place in rows.order[:MOST_ODD].tolist():
            if np.isnan(rows.deviations[place]):
                continue
            cell = cells.of_rows.get(place)
            table.append(
                (
                    self.row_name(place),
                    f"{rows.observed[place]:,}",
                    _number(float(rows.log_likelihood[place]), 2),
                    _number(float(rows.expected[place]), 2),
                    _number(float(rows.deviations[place]), 1),
                    "" if cell is None else f"{self.names[cell.column]} = {self._label(cell.column, cell.value)}",
                )
            )
        header = ("row", "cells", "log-likelihood", "expected", "deviations below", "oddest cell")
        out.add(Heading("The oddest rows", 3), Grid(header, tuple(table), frozenset(header[1:5])))
        apart = self._apart()
        if apart:
            out.add(
                Heading("Rows in segments of their own", 3),
                Paragraph(
                    "A model that has learned from an odd row may have made a segment for it, in which it is not odd. "
                    f"These segments have fewer than {_number(self._tiny)} rows:"
                ),
                Listing(tuple(apart)),
            )
        out.add(
            Heading("The oddest cells", 3),
            Paragraph(
                f"Given the rest of its row, a value at most as likely has a probability of at most {percent(ODD)} in "
                f"{percent(cells.odd)} of {cells.n_cells:,} cells; in rows that the model draws, in "
                f"{percent(cells.odd_drawn)}."
            ),
        )
        listed_cells = [cell for cell in cells.cells if cell.probability <= WORTH_LISTING]
        if not listed_cells:
            out.add(Paragraph(f"In none is it below {percent(WORTH_LISTING)}: no list is needed."))
        else:
            out.add(
                Grid(
                    ("row", "column", "value", "likelier", "probability"),
                    tuple(
                        (
                            self.row_name(cell.row),
                            self.names[cell.column],
                            self._label(cell.column, cell.value),
                            self._label(cell.column, cell.likelier),
                            chance(cell.probability),
                        )
                        for cell in listed_cells
                    ),
                    frozenset({"probability"}),
                )
            )

    @property
    def _tiny(self) -> float:
        return max(FEWEST_ROWS, SMALL * len(self.codes))

    def _apart(self) -> list[str]:
        """Return the tiny segments, with the rows that belong to them."""
        found = self.findings.segments
        tiny = [place for place, own in enumerate(found) if own.rows is not None and own.rows < self._tiny]
        if not tiny or not np.isfinite(self.findings.odd_rows.log_likelihood).all():
            return []
        belongs = self.circuit.responsibilities(self.codes).argmax(axis=1)
        texts = []
        for place in tiny:
            rows = [self.row_name(row) for row in np.flatnonzero(belongs == place).tolist()]
            if rows:
                more = f" and {len(rows) - MOST_ODD} more" if len(rows) > MOST_ODD else ""
                texts.append(f"{found[place].name}: {', '.join(rows[:MOST_ODD])}{more}")
        return texts

    # -- limits and provenance -----------------------------------------------------------------------------------------

    def _limits(self, out: Document) -> None:
        found, (n, width) = self.findings, self.codes.shape
        items = [
            "Conditional probabilities say what goes with what among rows like these, not what would follow from a "
            "change.",
            "Missing cells are taken to be missing at random: that a cell is empty tells nothing of its value beyond "
            "the rest of the row.",
        ]
        mine = found.scores[0]
        if not found.rows.are_new:
            items.append("The rows that were scored may be among those that were learned from; see Fit.")
        if mine.gain < 2 * mine.error:
            items.append("The gain over independent columns is within two standard errors of none.")
        better = [score for score in found.scores[1:-1] if score.gain > mine.gain]
        items += [f"{score.name[0].upper()}{score.name[1:]} predicts the scored rows better." for score in better]
        if mine.impossible:
            items.append(f"{counted(mine.impossible, 'scored row')} had probability zero.")
        if n < 10 * self.circuit.summary().parameters:
            items.append(
                f"There are {counted(n, 'row')} for {counted(self.circuit.summary().parameters, 'parameter')}: fine "
                "distinctions rest on few rows."
            )
        small = [segment.name for segment in found.segments if segment.rows is not None and segment.rows < 20]
        if small:
            shown = [f"“{name}”" for name in small]  # names have commas in them
            items.append(f"Segments of fewer than 20 rows: {listed(shown, 160)}.")
        if self.far_columns:
            items.append(f"Columns whose distribution by itself is not the table's: {listed(self.far_columns, 160)}.")
        gone = [self.names[v] for v in range(width) if self.missing[:, v].mean() > 0.5]
        if gone:
            items.append(f"Columns of which more than half is missing: {listed(gone, 160)}.")
        if found.cells.n_columns < width:
            items.append(f"Calibration was looked at in {found.cells.n_columns} of {width} columns.")
        out.add(Heading("Limits", anchor="limits"), Listing(tuple(items)))

    def _provenance(self, out: Document) -> None:
        known, size = self.circuit.provenance, self.circuit.summary()
        out.add(Heading("Provenance", anchor="provenance"))
        facts = [("circuit", f"{size}")]
        if known is None:
            out.add(Paragraph("The model does not say how it was learned."))
        else:
            same = "these rows" if known.knows(self.codes, self.schema) else "other rows, or part of these"
            if known.held_out is not None and known.knows(self.findings.rows.train, self.schema):
                same = "the rows of this table that were not held out"
            facts += [
                ("learned by", f"{known.learner}, xspn {known.version}"),
                ("seed", "none" if known.seed is None else str(known.seed)),
                ("settings", ", ".join(f"{name}={value}" for name, value in known.settings.items()) or "the defaults"),
                ("learned from", f"{same}: {_count(known.rows)} rows, {known.columns} columns, "
                 f"{_count(known.missing_cells)} missing cells{', weighted' if known.weighted else ''}"),
                ("digest of the rows", known.digest or "not known"),
            ]  # fmt: skip
            if known.held_out is not None:
                facts.append(
                    (
                        "held out",
                        f"{known.held_out.rows:,} rows ({known.held_out.fraction:g}, seed {known.held_out.seed})",
                    )
                )
        out.add(Grid(("what", "value"), tuple(facts)))


def _number(value: float, digits: int | None = None) -> str:
    text = f"{value:.4g}" if digits is None else f"{value:,.{digits}f}"
    return text.replace("-", "−")


def _signed(value: float) -> str:
    return f"{value:+.3g}".replace("-", "−")


def _count(value: int | None) -> str:
    return "an unknown number of" if value is None else f"{value:,}"
