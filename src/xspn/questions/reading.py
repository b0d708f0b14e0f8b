"""From the tree of a text to an event: names and patterns, labels and numbers, counts; and texts as evidence."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.checks import suggestion
from xspn.core.errors import DataError, DataTypeError, EvidenceError, ParameterError, QuestionError
from xspn.core.names import matching
from xspn.data.domain import Domain, unknown_label
from xspn.data.schema import Schema
from xspn.data.table_file import number_or_text
from xspn.leaves.events import Intervals
from xspn.questions.events import Allowed, Codes, CountOf, Event, Key, plain_row
from xspn.questions.grammar import (
    Comparison,
    Counted,
    Expression,
    Item,
    Junction,
    Negation,
    Relation,
    Word,
    parse_question,
)

YES = ("yes", "y", "true", "t", "on", "1")
NO = ("no", "n", "false", "f", "off", "0")
ORDER = ("<", "<=", ">", ">=")


def tree_of(text: str, schema: Schema, what: str) -> Expression:
    """Return the tree of a text. One that is exactly NAME or NAME=VALUE is taken as it stands, whatever its letters."""
    if not isinstance(text, str):
        raise DataTypeError(f"{what}: expected a text such as NAME=VALUE, found {text!r:.60}")
    names, own = schema.shown_names, text.strip()
    shift = len(text) - len(text.lstrip())
    inside = own[6:-1].strip() if own.startswith("count(") and own.endswith(")") else None
    if own in names:
        return Comparison(Word(own, shift, shift + len(own), quoted=True), None)
    if inside in names and inside is not None:
        return Comparison(Counted((Item(Word(inside, shift + 6, shift, quoted=True), None),), shift, shift), None)
    for place in (k for k, letter in enumerate(own) if letter == "="):
        name, value = own[:place].strip(), own[place + 1 :].strip()
        if name in names and value:
            column = names.index(name)
            word = Word(value, shift + place + 1, shift + len(own), quoted=True)
            try:
                code_of(word, schema, column, what, text)
            except (DataError, QuestionError):
                continue
            return Comparison(
                Word(name, shift, shift + place, quoted=True), Relation("=", (word,), False, shift + place)
            )
    return parse_question(text, what)


def event_of_tree(tree: Expression, text: str, schema: Schema, what: str) -> Event:
    """Return the event of a tree that was read already."""
    return _Reader(text, schema, what).event(tree)


def count_of(counted: Counted, text: str, schema: Schema, what: str) -> CountOf:
    """Return what a count in a text counts."""
    return _Reader(text, schema, what).count(counted)


def columns_of(word: Word, text: str, schema: Schema, what: str) -> list[int]:
    """Return the columns of the model that a name or a pattern stands for."""
    names = schema.shown_names
    found = [names.index(word.text)] if word.text in names else [] if word.quoted else matching(word.text, names)
    if not found:
        raise QuestionError(f"there is no column {word.text!r}{suggestion(word.text, names)}", what, text, word.start)
    inside = [j for j in found if schema.domains[j] is not None]
    if not inside:
        raise QuestionError(f"{word.text!r} is not in the model", what, text, word.start)
    return inside


class _Reader:
    """Turns a tree into an event, for one text and one table."""

    def __init__(self, text: str, schema: Schema, what: str) -> None:
        self.text, self.schema, self.what = text, schema, what

    def fault(self, message: str, start: int) -> QuestionError:
        return QuestionError(message, self.what, self.text, start)

    def event(self, tree: Expression, negated: bool = False) -> Event:
        """Return the event of a tree; negations go down to the comparisons, so that "and" and "or" change places."""
        if isinstance(tree, Negation):
            return self.event(tree.part, not negated)
        if isinstance(tree, Comparison):
            return ~self.comparison(tree) if negated else self.comparison(tree)
        parts = [self.event(part, negated) for part in tree.parts]
        if (tree.sign == "|") != negated:
            return Event.union(parts)
        found = parts[0]
        for part in parts[1:]:
            found = found & part
        return found

    def comparison(self, tree: Comparison) -> Event:
        subject, relation = tree.subject, tree.relation
        if relation is None:
            expected = "count(…) >= NUMBER" if isinstance(subject, Counted) else "NAME=VALUE"
            shown = self.text[subject.start : subject.end] or self.text
            message = f"expected {expected}, or another comparison, found {shown!r} alone{self.likely(shown)}"
            raise self.fault(message, subject.start)
        if isinstance(subject, Counted):
            count = self.count(subject)
            return Event.of(count, self.numbers(relation, len(count.counted) + 1))
        found = Event([{}])
        for column in columns_of(subject, self.text, self.schema, self.what):
            found = found & Event.of(column, self.allowed(column, relation))
        return found

    def likely(self, name: str) -> str:
        """Return what the name of a column of two values alone is likely to mean, as a hint; else nothing."""
        if name not in self.schema.shown_names:
            return ""
        column = self.schema.shown_names.index(name)
        domain = self.schema.domains[column]
        if domain is None or domain.cardinality != 2:
            return ""
        return f"; did you mean {name}={self.schema.label(column, 1)}?"

    # -- columns -----------------------------------------------------------------------------------------------------

    def allowed(self, column: int, relation: Relation) -> Allowed:
        """Return the values of a column for which a relation holds."""
        domain = self.schema.domains[column]
        if domain is None:
            raise self.fault(f"{self.schema.shown_name(column)!r} is not in the model", relation.start)
        real = domain.cardinality is None
        if relation.sign in ("!=", "not in"):
            positive = Relation(
                "=" if relation.sign == "!=" else "in", relation.values, relation.is_range, relation.start
            )
            return self.allowed(column, positive).complement()
        if relation.is_range:
            low, high = relation.values
            found = None
            for sign, word in ((">=", low), ("<=", high)):
                if word is not None:
                    own = self.numbers_beyond(column, sign, word) if real else self.codes_beyond(column, sign, word)
                    found = own if found is None else found & own  # type: ignore[operator]
            if found is None or found.is_empty:
                raise self.fault(
                    f"expected a range from low to high for {self.schema.shown_name(column)!r}", relation.start
                )
            return found
        words = [word for word in relation.values if word is not None]
        if relation.sign in ORDER:
            return (self.numbers_beyond if real else self.codes_beyond)(column, relation.sign, words[0])
        codes = [code_of(word, self.schema, column, self.what, self.text) for word in words]
        if real:
            return Intervals.of(*((code, code) for code in codes))
        return Codes(int(domain.cardinality or 0), frozenset(map(int, codes)))

    def numbers_beyond(self, column: int, sign: str, word: Word) -> Intervals:
        value = self.number(word, f"{self.schema.shown_name(column)!r}")
        low, high = {
            "<": (-np.inf, float(np.nextafter(value, -np.inf))),
            "<=": (-np.inf, value),
            ">": (float(np.nextafter(value, np.inf)), np.inf),
            ">=": (value, np.inf),
        }[sign]
        return Intervals.of((low, high))

    def codes_beyond(self, column: int, sign: str, word: Word) -> Codes:
        """Compare numbers with numbers, and the steps of a scale by their order."""
        domain, labels = self.schema.domains[column], self.schema.labels[column]
        size = int((domain or Domain(1)).cardinality or 0)
        name = self.schema.shown_name(column)
        if labels is None or all(not isinstance(label, str) for label in labels):
            scale = np.arange(size, dtype=np.float64) if labels is None else np.array([float(own) for own in labels])
            value = self.number(word, repr(name))
        elif domain is not None and domain.ordered:
            scale, value = np.arange(size), code_of(word, self.schema, column, self.what, self.text)
        else:
            known = ", ".join(str(label) for label in labels[:3])
            raise self.fault(
                f"the values of {name!r} are names without an order; list them as in {{{known}}}", word.start
            )
        return Codes.where({"<": scale < value, "<=": scale <= value, ">": scale > value, ">=": scale >= value}[sign])

    def number(self, word: Word, of: str) -> float:
        try:
            value = float(word.text)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise self.fault(f"expected a number for {of}, found {word.text!r}", word.start)
        return value

    # -- counts ------------------------------------------------------------------------------------------------------

    def count(self, counted: Counted) -> CountOf:
        """Return the columns and what counts of each; a relation is for all names since the one before it."""
        found: dict[int, frozenset[int]] = {}
        waiting: list[Word] = []
        for item in counted.items:
            waiting.append(item.name)
            if item.relation is not None:
                for name in waiting:
                    self._add(found, name, item.relation)
                waiting = []
        for name in waiting:
            self._add(found, name, None)
        return CountOf(tuple(sorted(found.items())), self.text[counted.start : counted.end])

    def _add(self, found: dict[int, frozenset[int]], name: Word, relation: Relation | None) -> None:
        columns = columns_of(name, self.text, self.schema, self.what)
        is_pattern = name.text not in self.schema.shown_names
        for column in columns:
            domain, shown = self.schema.domains[column], self.schema.shown_name(column)
            if domain is None or domain.cardinality is None:
                if is_pattern and len(columns) > 1 and relation is None:
                    continue  # count(*) counts what can be counted
                raise self.fault(f"only discrete columns can be counted, {shown!r} is real", name.start)
            if relation is None and domain.cardinality != 2:
                if is_pattern and len(columns) > 1:
                    continue
                says = f"say which one counts, as in count({shown}={self.schema.label(column, 0)})"
                raise self.fault(f"{shown!r} has {domain.cardinality} values; {says}", name.start)
            own = frozenset({1}) if relation is None else self._members(column, relation)
            if found.setdefault(column, own) != own:
                raise self.fault(f"{shown!r} is counted twice, at different values", name.start)
        if not any(column in found for column in columns):
            raise self.fault(f"{name.text!r} stands for no column with two values; say which value counts", name.start)

    def _members(self, column: int, relation: Relation) -> frozenset[int]:
        allowed = self.allowed(column, relation)
        assert isinstance(allowed, Codes), "real columns have been refused"
        return allowed.members

    def numbers(self, relation: Relation, size: int) -> Codes:
        """Return the counts 0..size−1 for which a relation holds; numbers that cannot be reached are no mistake."""
        counts = np.arange(size)
        values = [None if word is None else self.number(word, "a count") for word in relation.values]
        if relation.is_range:
            low, high = (default if value is None else value for value, default in zip(values, (0, size), strict=True))
            if low > high:
                raise self.fault("expected a range from low to high", relation.start)
            chosen = (counts >= low) & (counts <= high)
        elif relation.sign in ORDER:
            value = values[0] or 0.0
            signs = {"<": counts < value, "<=": counts <= value, ">": counts > value, ">=": counts >= value}
            chosen = signs[relation.sign]
        else:
            chosen = np.isin(counts, [value for value in values if value is not None])
        return Codes.where(~chosen if relation.sign in ("!=", "not in") else chosen)


def code_of(word: Word, schema: Schema, column: int, what: str, text: str) -> float:
    """Return the code (or number) that a value stands for: a label in any case, a number, a word for yes or no."""
    labels, domain, name = schema.labels[column], schema.domains[column], schema.shown_name(column)
    if domain is None:
        raise QuestionError(f"{name!r} is not in the model", what, text, word.start)
    known: tuple[Any, ...] = tuple(range(domain.cardinality or 0)) if labels is None else labels
    if labels is not None:
        found = _code_of_label(word.text, labels)
        if found is not None:
            return found
    elif domain.cardinality == 2 and word.text.lower() in YES + NO:
        return float(word.text.lower() in YES)
    else:
        try:
            code = float(word.text)
        except ValueError:
            code = np.nan
        if not np.isnan(code) and not domain.outside(np.array([code]))[0]:
            return code
        if not np.isnan(code) or not domain.is_discrete:
            expected = domain.describe() if not np.isnan(code) or word.text.lower() == "nan" else "a number"
            raise QuestionError(f"expected {expected} for {name!r}, found {word.text!r}", what, text, word.start)
    message = str(unknown_label(word.text, known, repr(name), what)).removeprefix(f"{what}: ")
    raise QuestionError(message, what, text, word.start)


def _code_of_label(text: str, labels: tuple[Any, ...]) -> float | None:
    words = [str(label) for label in labels]
    if text in words:
        return float(words.index(text))
    lowered = [word.lower() for word in words]
    if lowered.count(text.lower()) == 1:
        return float(lowered.index(text.lower()))
    own = number_or_text(text)
    return float(labels.index(own)) if own in labels else None


# -- evidence ----------------------------------------------------------------------------------------------------------


def evidence_event(texts: Sequence[str], schema: Schema, what: str) -> Event:
    """Return the event that all texts come true; contradictions are told by the column at fault."""
    found = Event([{}])
    seen: dict[Key, tuple[Allowed, bool]] = {}
    for text in texts:
        tree = tree_of(text, schema, what)
        for part in tree.parts if isinstance(tree, Junction) and tree.sign == "&" else (tree,):
            own = event_of_tree(part, text, schema, what)
            is_value = isinstance(part, Comparison) and part.relation is not None and part.relation.sign == "="
            for key, allowed in own.cases[0].items() if len(own.cases) == 1 else ():
                known, was_value = seen.get(key, (allowed, is_value))
                both = known & allowed  # type: ignore[operator]
                if both.is_empty and isinstance(key, int):
                    name = schema.shown_name(key)
                    if is_value and was_value:
                        raise ParameterError(f"{what}: {name!r} is given twice, with different values")
                    raise EvidenceError(f"{what}: no value of {name!r} is allowed by all that is given")
                seen[key] = (both, is_value and was_value)
            found = found & own
    if not found.cases:
        raise EvidenceError(f"{what}: {' & '.join(texts)} contradicts itself; nothing can be concluded from it")
    return found


def evidence_row(texts: Sequence[str], schema: Schema, what: str = "given") -> FloatArray:
    """Return the row of codes of texts that fix values, such as "hot_topic=yes"; other events are refused."""
    row = plain_row(evidence_event(texts, schema, what), len(schema))
    if row is None:
        raise ParameterError(f"{what}: expected NAME=VALUE alone, found {' & '.join(texts)!r}")
    return row
