"""Evidence and questions as text: "hot_topic=yes", "overflow", "count(attends_*)"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import matching
from xspn.core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from xspn.core.arrays import FloatArray
    from xspn.data.schema import Schema

COUNT = re.compile(r"count\((.*)\)", re.DOTALL)
YES = ("yes", "y", "true", "t", "on", "1")
NO = ("no", "n", "false", "f", "off", "0")


@dataclass(frozen=True)
class Question:
    """What is asked: the distribution of a variable, the chance of one value, or how many of several are 1.

    Attributes:
        text: The question as it was typed.
        kind: "variable", "value" or "count".
        variables: The columns that it is about.
        code: The value that is asked for, or counted.
    """

    text: str
    kind: str
    variables: tuple[int, ...]
    code: float | None = None


def evidence_of(texts: Sequence[str], schema: "Schema") -> "FloatArray":
    """Return the row of codes of texts such as "hot_topic=yes"; a pattern gives all its columns the same value."""
    import numpy as np

    row = np.full(len(schema), np.nan)
    names = schema.shown_names
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise ParameterError(f"--given: expected NAME=VALUE, found {text!r}")
        for column in matching(name, names, "--given"):
            code = code_of(value, schema, column, "--given")
            if not np.isnan(row[column]) and row[column] != code:
                raise ParameterError(f"--given: {names[column]!r} is given twice, with different values")
            row[column] = code
    return row


def code_of(text: str, schema: "Schema", column: int, what: str) -> float:
    """Return the code (or number) that a value stands for: a label in any case, a number, a word for yes or no."""
    from xspn.data.labels import unknown_label

    labels, domain = schema.labels[column], schema.domains[column]
    name = schema.shown_names[column]
    if domain is None:
        raise DataError(f"{what}: {name!r} is not in the model")
    if labels is not None:
        return _code_of_label(text, labels, name, what)
    if domain.cardinality == 2 and text.lower() in YES + NO:
        return float(text.lower() in YES)
    try:
        code = float(text)
    except ValueError:
        known = (0, 1) if domain.cardinality == 2 else tuple(range(domain.cardinality or 0))
        if domain.is_discrete:
            raise unknown_label(text, known, repr(name), what) from None
        raise DataError(f"{what}: expected a number for {name!r}, found {text!r}") from None
    import numpy as np

    if np.isnan(code) or domain.outside(np.array([code]))[0]:
        raise DataError(f"{what}: expected {domain.describe()} for {name!r}, found {text!r}")
    return code


def _code_of_label(text: str, labels: tuple[Any, ...], name: str, what: str) -> float:
    from xspn.data.labels import unknown_label

    words = [str(label) for label in labels]
    if text in words:
        return float(words.index(text))
    lowered = [word.lower() for word in words]
    if lowered.count(text.lower()) == 1:
        return float(lowered.index(text.lower()))
    try:
        return float(labels.index(float(text)))
    except ValueError:
        raise unknown_label(text, labels, repr(name), what) from None


def question_of(text: str, schema: "Schema") -> list[Question]:
    """Return what a text asks; a pattern asks for each of its columns."""
    names = schema.shown_names
    counted = COUNT.fullmatch(text.strip())
    if counted:
        return [_count(text, counted.group(1), schema)]
    if text.strip() in names:
        return [Question(text.strip(), "variable", (names.index(text.strip()),))]
    name, equals, value = (part.strip() for part in text.partition("="))
    found = [j for j in matching(name, names, "--ask") if schema.domains[j] is not None]
    if not found:
        raise DataError(f"--ask: {name!r} is not in the model")
    if not equals:
        return [Question(names[j], "variable", (j,)) for j in found]
    return [Question(f"{names[j]}={value}", "value", (j,), code_of(value, schema, j, "--ask")) for j in found]


def _count(text: str, inside: str, schema: "Schema") -> Question:
    """Return the question how many of some binary columns are 1, or have a certain one of their two values."""
    names = schema.shown_names
    patterns, equals, value = (part.strip() for part in inside.partition("="))
    found: list[int] = []
    for pattern in patterns.split(","):
        if not pattern.strip():
            raise ParameterError(f"--ask: expected count(NAME, …) or count(NAME=VALUE), found {text!r}")
        found += matching(pattern.strip(), names, "--ask")
    chosen = tuple(dict.fromkeys(found))
    for j in chosen:
        domain = schema.domains[j]
        if domain is None or domain.cardinality != 2:
            fault = "is not in the model" if domain is None else f"has {domain.cardinality or 'real'} values"
            raise DataError(f"--ask: only columns with two values can be counted, {names[j]!r} {fault}")
    codes = {code_of(value, schema, j, "--ask") for j in chosen} if equals else {1.0}
    if len(codes) > 1:
        raise DataError(f"--ask: {value!r} is the first value of some of these columns and the second of others")
    return Question(text.strip(), "count", chosen, codes.pop())
