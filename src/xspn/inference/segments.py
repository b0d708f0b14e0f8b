"""Segments: the contexts that a circuit chooses from, with names, what marks them, their groups, and each row's part.

The topmost sum of a circuit is a choice between contexts. Given a row, however incomplete, the choice has an exact
posterior: the row's responsibilities. Where the root is a product, the sum over the most variables is taken.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from html import escape

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import Names
from xspn.core.errors import counted, printable
from xspn.core.names import counted_names, listed
from xspn.data.schema import Schema
from xspn.engine import NumpyBackend, Program, Semiring, compile_graph, flows, refuse_impossible
from xspn.engine.program import SumStep
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Sum
from xspn.inference.composition import Composition
from xspn.inference.moments import Moments, moments
from xspn.inference.naming import DIRECTIONS, Phrase, context_names, deciding, phrases_of
from xspn.inference.strength import Strength, are_alike, are_bits, have_moments, strength_of, strength_of_moments
from xspn.leaves.base import Leaf
from xspn.leaves.laws import percent

ALL_ROWS = "all rows"
MOST_MARKS, MOST_GROUPS = 4, 3  # of a segment, in a table
WIDEST = 2000  # columns of which all covariances are computed
NAMES = 40  # letters for the variables of a group


@dataclass(frozen=True)
class SegmentMark:
    """What is different in a segment.

    Attributes:
        text: It in a phrase: "class=barolo", "high proline", "few attends_*".
        columns: The columns.
        value: The value whose probabilities follow; None where they are means.
        here: The probability, or the mean, in this segment; of several columns the average.
        overall: The same in all rows.
    """

    text: str
    columns: tuple[str, ...]
    value: object
    here: float
    overall: float

    def __str__(self) -> str:
        show = _number if self.value is None else percent
        is_level = self.text.split(" ")[0] in DIRECTIONS and self.value is not None
        level = f": {printable(str(self.value))}" if is_level else ""  # of a scale: which value the numbers are of
        return f"{self.text}{level} {show(self.here)} ({show(self.overall)})"


@dataclass(frozen=True)
class ColumnGroup:
    """Columns of a segment that depend on each other, or can be interchanged.

    Attributes:
        columns: Their names.
        law: How they behave, in words.
        strength: How much two of them go together inside of the segment; None where no number says it.
        overall: The same in all rows, where what differs between segments counts too; None for the only segment.
        node: The number of the circuit's node.
    """

    columns: tuple[str, ...]
    law: str
    strength: Strength | None
    overall: Strength | None
    node: int

    def __str__(self) -> str:
        known = [f"{where} {text}" for where, own in self.strengths if (text := str(own))]
        strengths = f" [{'; '.join(known)}]" if known else ""
        return f"{counted_names(self.columns, NAMES)}: {self.law}{strengths}"

    @property
    def strengths(self) -> list[tuple[str, Strength]]:
        """The strengths that are known, with where they hold: "here" and "in all rows"."""
        both = (("here", self.strength), ("in all rows", self.overall))
        return [(where, own) for where, own in both if own is not None]


@dataclass(frozen=True)
class Segment:
    """A context of rows.

    Attributes:
        name: What it is called, after what marks it.
        weight: The fraction of rows that the model expects in it.
        rows: How many rows of a table that is; None where no table is known.
        marks: What tells it from the others, the most telling first.
        groups: Its groups of columns, the most dependent first.
        node: The number of the circuit's node.
    """

    name: str
    weight: float
    rows: float | None
    marks: tuple[SegmentMark, ...]
    groups: tuple[ColumnGroup, ...]
    node: int

    def __str__(self) -> str:
        return f"{self.name}: {percent(self.weight)}{'' if self.rows is None else f', {rows_in_words(self.rows)}'}"


class Segments(Sequence[Segment]):
    """All segments of a model, the heaviest first; as text, and as a table in a notebook.

    Attributes:
        columns: The columns that the segments are about: all, unless some are independent of the choice.
        n_columns: The number of columns of the model.
        common: Groups of columns that are independent of the choice: the same in all rows.

    Examples:
        >>> from xspn import Bernoulli, Circuit, Product
        >>> wet = Product([Bernoulli(0, p=0.995), Bernoulli(1, p=0.7)])
        >>> dry = Product([Bernoulli(0, p=0.001), Bernoulli(1, p=0.05)])
        >>> found = Circuit(Sum([0.3, 0.7], [wet, dry]), names=["rain", "umbrella"]).segments()
        >>> found.names
        ('no rain, no umbrella', 'rain, umbrella')
        >>> print(found)
        2 segments
        1. no rain, no umbrella: 70 %
           marked by no rain 0.1 % (30 %); no umbrella 5 % (24 %)
        2. rain, umbrella: 30 %
           marked by rain 99.5 % (30 %); umbrella 70 % (24 %)
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        columns: tuple[str, ...],
        n_columns: int,
        common: tuple[ColumnGroup, ...] = (),
    ) -> None:
        self._segments, self.columns, self.n_columns, self.common = tuple(segments), columns, n_columns, common

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        return self._segments[place]

    def __len__(self) -> int:
        return len(self._segments)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all segments."""
        return tuple(segment.name for segment in self._segments)

    def with_rows(self, rows: Sequence[float]) -> "Segments":
        """Return the same with the numbers of rows of a table."""
        own = [replace(segment, rows=float(n)) for segment, n in zip(self._segments, rows, strict=True)]
        return Segments(own, self.columns, self.n_columns, self.common)

    def _heading(self) -> str:
        if len(self) == 1:
            return "1 segment: no column is modeled as depending on a context"
        some = f" for {listed(self.columns, 2 * NAMES)}" if len(self.columns) < self.n_columns else ""
        return f"{counted(len(self), 'segment')}{some}"

    def __str__(self) -> str:
        return "\n".join([self._heading(), *self._lines()])

    def _lines(self) -> Iterator[str]:
        for place, segment in enumerate(self, 1):
            yield f"{place}. {segment}"
            if segment.marks:
                more = len(segment.marks) - MOST_MARKS
                marks = "; ".join(map(str, segment.marks[:MOST_MARKS]))
                yield f"   marked by {marks}{f'; and {more} more' if more > 0 else ''}"
            for group in segment.groups[:MOST_GROUPS]:
                yield f"   {group}"
        if self.common:
            yield "in all rows, whatever the segment:"
            yield from (f"   {group}" for group in self.common[:MOST_GROUPS])

    def __repr__(self) -> str:
        return f"<{self._heading()}: {'; '.join(map(str, self))}>"

    def _repr_html_(self) -> str:
        head = "".join(
            f"<th>{text}</th>" for text in ("segment", "rows", "marked by (in all rows)", "groups of columns")
        )
        body = []
        for segment in self:
            rows = "" if segment.rows is None else f"<br>{escape(rows_in_words(segment.rows))}"
            size = f"{escape(percent(segment.weight))}{rows}"
            marks = "<br>".join(escape(str(mark)) for mark in segment.marks[:MOST_MARKS])
            groups = "<br>".join(escape(str(group)) for group in segment.groups[:MOST_GROUPS])
            body.append(
                f"<tr><td><b>{escape(segment.name)}</b></td><td>{size}</td><td>{marks}</td><td>{groups}</td></tr>"
            )
        for group in self.common[:MOST_GROUPS]:
            body.append(f"<tr><td>{ALL_ROWS}</td><td></td><td></td><td>{escape(str(group))}</td></tr>")
        return f"<p>{escape(self._heading())}</p><table><tr>{head}</tr>{''.join(body)}</table>"


def rows_in_words(rows: float) -> str:
    """Write a number of rows, of which some may belong to it in part.

    Examples:
        >>> rows_in_words(294.02), rows_in_words(1200), rows_in_words(0.3), rows_in_words(1)
        ('about 294 rows', '1,200 rows', 'less than 1 row', '1 row')
    """
    if 0 < rows < 0.5:
        return "less than 1 row"
    whole = round(rows)
    text = f"{whole:,} row{'' if whole == 1 else 's'}"
    return text if abs(rows - whole) < 1e-6 else f"about {text}"


def topmost_sum(composition: Composition) -> Sum | None:
    """Return the sum whose choice makes the segments; None if no variables depend on a choice."""
    root = composition.graph.root
    if isinstance(root, Sum) and len(root.scope) > 1 and len(composition.contexts(root)) > 1:
        return root
    return max(composition.parts(root).mixtures, key=lambda own: len(own.scope), default=None)


def segments_of(graph: Graph, schema: Schema, n_rows: float | None = None) -> Segments:
    """Return the segments of a circuit.

    Args:
        graph: The circuit.
        schema: What its columns are.
        n_rows: The number of rows of the table that it was learned from, if that is known.
    """
    composition = Composition(graph)
    mixture = topmost_sum(composition)
    reader = _Reader(composition, schema, n_rows, are_all_rows=mixture is None)
    if mixture is None:
        own = reader.segment(ALL_ROWS, 1.0, graph.root)
        return Segments([own], tuple(schema.shown_name(v) for v in graph.root.scope), len(schema))
    names, contexts = context_names(composition, mixture, schema), composition.contexts(mixture)
    decided = deciding(composition, [context for _, context in contexts])
    found = [
        reader.segment(name, weight, context, phrases_of(composition, context, mixture, schema, decided))
        for name, (weight, context) in zip(names, contexts, strict=True)
    ]
    others = (
        [] if mixture is graph.root else [own for own in composition.parts(graph.root).dependent if own is not mixture]
    )
    common = tuple(replace(reader.group(part), overall=None) for part in others)
    return Segments(found, tuple(schema.shown_name(v) for v in mixture.scope), len(schema), common)


class _Reader:
    def __init__(self, composition: Composition, schema: Schema, n_rows: float | None, are_all_rows: bool) -> None:
        self.composition, self.schema, self.n_rows, self.are_all_rows = composition, schema, n_rows, are_all_rows
        self.names = [printable(name) for name in schema.shown_names]

    def segment(self, name: str, weight: float, node: Node, phrases: Sequence[Phrase] = ()) -> Segment:
        rows = None if self.n_rows is None else weight * self.n_rows
        groups = tuple(self.group(part) for part in self.composition.parts(node).dependent)
        place = self.composition.graph.id_of(node)
        return Segment(name, weight, rows, tuple(self.mark(one) for one in phrases if one.marks), groups, place)

    def mark(self, phrase: Phrase) -> SegmentMark:
        names, first = tuple(self.names[v] for v in phrase.variables), phrase.marks[0]
        here, overall = (float(np.mean([getattr(own, of) for own in phrase.marks])) for of in ("here", "overall"))
        if first.value is None:
            return SegmentMark(phrase.text, names, None, here, overall)
        domain, code = self.schema.domains[first.variable], first.value
        is_bit = domain is not None and domain.cardinality == 2
        if is_bit and self.schema.labels[first.variable] and not first.is_high and len(names) == 1:
            here, overall, code = 1 - here, 1 - overall, 1 - code  # the phrase is about the other one of two labels
        return SegmentMark(phrase.text, names, self.schema.label(first.variable, code), here, overall)

    def group(self, part: Leaf | Sum) -> ColumnGroup:
        names = tuple(self.names[v] for v in part.scope)
        strength = strength_of(part, self.schema.domains)
        if isinstance(part, Sum):
            law = f"{len(self.composition.contexts(part))} contexts of their own"
        else:
            own = [self.names[v] for v in part.variables]
            law = part.law(own, partial(self._label, part.variables[0]))
        return ColumnGroup(names, law, strength, self.overall(part), self.composition.graph.id_of(part))

    def overall(self, part: Node) -> Strength | None:
        """Return the strength of a group in all rows, where moments tell it."""
        variables, domains = list(part.scope), self.schema.domains
        if self.are_all_rows or self.moments is None or not have_moments(variables, domains):
            return None
        mean, covariance = self.moments.mean[variables], self.moments.covariance[np.ix_(variables, variables)]
        return strength_of_moments(mean, covariance, are_bits(variables, domains), are_alike(part, domains))

    @cached_property
    def moments(self) -> Moments | None:
        """Means and covariances in all rows; None where they are too many."""
        return moments(self.composition.graph) if len(self.schema) <= WIDEST else None

    def _label(self, variable: int, code: int) -> str:
        return printable(str(self.schema.label(variable, code)))


# -- responsibilities --------------------------------------------------------------------------------------------------


class ContextChoice:
    """The choice of the topmost sum, and its posterior given rows.

    The contexts become the children of one sum, at the root of a circuit of its own. What flows from it to each of
    them, on the way down, is the probability of the context given the row.

    Args:
        graph: The circuit.
    """

    def __init__(self, graph: Graph) -> None:
        composition = Composition(graph)
        mixture = topmost_sum(composition)
        contexts = [] if mixture is None else composition.contexts(mixture)
        self.n_contexts = max(1, len(contexts))
        self.program: Program | None = None
        if len(contexts) > 1:
            weights = np.array([weight for weight, _ in contexts])
            root = Sum(weights / weights.sum(), [node for _, node in contexts])
            self.program = compile_graph(Graph(root, graph.n_variables))

    def responsibilities(self, rows: AnyArray, names: Names | None = None) -> FloatArray:
        """Return P(context | row) of each row, the heaviest context first: (rows, contexts).

        Args:
            rows: Rows of codes, NaN where a value is missing.
            names: The names of the columns, for messages.
        """
        program = self.program
        if program is None:
            return np.ones((len(rows), 1))
        backend, out = NumpyBackend(program), np.zeros((len(rows), self.n_contexts))
        for start, stop, block in program.row_blocks(rows, names, "X"):
            values = backend.log_values(block, Semiring.SUM)
            refuse_impossible(values[program.root], start)
            flows(program, values, see=partial(_note, program.root, out[start:stop]))
        return np.asarray(out / out.sum(axis=1, keepdims=True))


def _note(root: int, out: FloatArray, step: SumStep, place: int, fraction: FloatArray) -> None:
    """Keep what flows from the root to its child at a place."""
    if step.start <= root < step.stop:
        out[:, place] = fraction[root - step.start]


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")
