"""`Question`: what a text asks of a model; one object for Python, the command line, pages and services."""

from dataclasses import dataclass, field

from xspn.core.errors import QueryError
from xspn.data.schema import Schema
from xspn.leaves.events import Intervals
from xspn.questions.events import Codes, CountOf, Event, fixed_value
from xspn.questions.grammar import Comparison, Counted, Expression, Junction, Negation, Word
from xspn.questions.reading import columns_of, count_of, event_of_tree, tree_of

VARIABLE, EVENT, COUNT, DENSITY = "variable", "event", "count", "density"


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        text: The question in the words of the language.
        kind: "event" (how probable is it?), "variable" or "count" (which distribution?), or "density" (of a real
            column at one number, unless that has a probability).
        variables: The columns that it is about.
        event: The event, of a question about one or about a number; everything otherwise.
        count: What is counted, of a question about a count.
        value: The number, of a question about a density.
    """

    text: str
    kind: str
    variables: tuple[int, ...]
    event: Event = field(default_factory=lambda: Event([{}]), compare=False)
    count: CountOf | None = None
    value: float | None = None

    @classmethod
    def of_value(cls, schema: Schema, column: int, code: int) -> "Question":
        """Return the question how probable one value of a discrete column is."""
        domain = schema.domains[column]
        size = int(getattr(domain, "cardinality", 0) or 0)
        text = f"{schema.shown_name(column)}={schema.label(column, code)}"
        return cls(text, EVENT, (column,), Event.of(column, Codes(size, frozenset({code}))))

    def refuse_distribution(self) -> None:
        """Refuse a question that is not about an event, where a probability is asked for."""
        if self.kind == DENSITY:
            raise QueryError(
                f"question: {self.text}: this column has any single number with probability zero; ask for an interval "
                "such as NAME in 3..4"
            )
        if self.kind != EVENT:
            raise QueryError(f"question: {self.text}: expected an event such as NAME=VALUE or count(…) >= NUMBER")


def questions_of(text: str, schema: Schema, what: str = "question") -> list[Question]:
    """Return what a text asks; one comparison with a pattern asks it of each of its columns.

    Examples:
        >>> from xspn.data.domain import Domain
        >>> schema = Schema.of([Domain(2)] * 3, names=["rain", "wind_n", "wind_s"])
        >>> [(question.text, question.kind) for question in questions_of("wind_*=1", schema)]
        [('wind_n=1', 'event'), ('wind_s=1', 'event')]
        >>> questions_of("count(wind_*)", schema)[0].variables
        (1, 2)
    """
    tree, own = tree_of(text, schema, what), text.strip()
    if not isinstance(tree, Comparison):
        return [_event(own, tree, text, schema, what)]
    subject, relation = tree.subject, tree.relation
    if isinstance(subject, Counted):
        if relation is not None:
            return [_event(own, tree, text, schema, what)]
        count = count_of(subject, text, schema, what)
        return [Question(own, COUNT, count.variables, count=count)]
    columns = columns_of(subject, text, schema, what)
    names = schema.shown_names
    if relation is None:
        return [Question(names[column], VARIABLE, (column,)) for column in columns]
    if len(columns) == 1:
        return [_event(own, tree, text, schema, what)]
    rest = text[subject.end :].strip()
    gap = "" if rest[:1] in "=!<>≠≤≥" else " "
    return [
        _event(
            f"{names[column]}{gap}{rest}",
            Comparison(Word(names[column], subject.start, subject.end, quoted=True), relation),
            text,
            schema,
            what,
        )
        for column in columns
    ]


def _event(own: str, tree: Expression, text: str, schema: Schema, what: str) -> Question:
    event = event_of_tree(tree, text, schema, what)
    if isinstance(tree, Comparison) and isinstance(tree.subject, Word) and len(event.cases) == 1:
        for key, allowed in event.cases[0].items():
            value = fixed_value(allowed)
            if isinstance(key, int) and isinstance(allowed, Intervals) and value is not None:
                return Question(own, DENSITY, (key,), event, value=value)
    return Question(own, EVENT, _variables(tree, text, schema, what), event)


def _variables(tree: Expression, text: str, schema: Schema, what: str) -> tuple[int, ...]:
    """Return the columns that an expression names, each once."""
    if isinstance(tree, Negation):
        return _variables(tree.part, text, schema, what)
    if isinstance(tree, Junction):
        found = [column for part in tree.parts for column in _variables(part, text, schema, what)]
        return tuple(dict.fromkeys(found))
    if isinstance(tree.subject, Counted):
        return count_of(tree.subject, text, schema, what).variables
    return tuple(columns_of(tree.subject, text, schema, what))
