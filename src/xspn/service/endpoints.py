"""What can be asked of a model: one entry of `QUERIES` for each address under `/v1/models/NAME/`.

An entry names its options, which become the fields of a request and part of the OpenAPI document, and the function that
answers. A query over rows may have a `compute`, whose result has a row for each row: then the rows of several small
requests are computed together.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.checks import suggestion
from xspn.core.errors import DataError, EvidenceError, XSPNError
from xspn.core.names import matching
from xspn.data.schema import Schema
from xspn.engine import refuse_impossible
from xspn.estimators.base import completed
from xspn.questions import Posterior, evidence_row, questions_of, replies, score_facts
from xspn.service.models import Compute, Model
from xspn.service.problems import Problem, pointer, problem_of
from xspn.service.rows import ARROW, JSON, Body, Column, dict_rows, refuse_too_many, to_arrow, to_json, to_ndjson

MOST_TEXTS, LONGEST_TEXT = 1000, 10_000  # of a request: questions or names, and letters of each
LARGEST_SEED = 2**32 - 1
Options = dict[str, Any]


@dataclass(frozen=True)
class Option:
    """A field of a request beside its rows.

    Attributes:
        name: Its name.
        kind: "integer", "boolean", "text", "texts" (one or several) or "evidence" (texts, or values by column).
        help: What it is for.
        default: What it is if the request does not say.
        choices: What a text may be, if not anything.
        least: The least integer.
        most: The largest integer, if there is one.
        is_rows: Whether it is a number of rows, of which a service has a limit.
        required: Whether a request must have it.
        example: For the document.
    """

    name: str
    kind: str
    help: str
    default: Any = None
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None
    is_rows: bool = False
    required: bool = False
    example: Callable[[Schema], Any] | None = None

    def read(self, value: Any, is_text: bool) -> Any:
        """Return the value of a field, or of a parameter in the address, which is text."""
        place = None if is_text else pointer(self.name)
        if value is None:
            return self.default
        if is_text and self.kind in ("integer", "boolean"):
            value = _of_text(value, self.kind)
        if self.kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON knows no difference
        if is_text and self.kind in ("texts", "evidence"):
            value = [value]
        good = {
            "integer": isinstance(value, int) and not isinstance(value, bool),
            "boolean": isinstance(value, bool),
            "text": isinstance(value, str) and (not self.choices or value in self.choices),
            "texts": isinstance(value, str) or _are_texts(value),
            "evidence": isinstance(value, str | dict) or _are_texts(value),
        }[self.kind]
        if not good:
            raise Problem(422, "invalid-option", f"{self.name}: expected {self.expected()}, found {value!r:.60}", place)
        if self.kind == "integer" and (value < self.least or (self.most is not None and value > self.most)):
            raise Problem(422, "invalid-option", f"{self.name}: expected {self.expected()}, found {value}", place)
        if self.kind in ("texts", "evidence") and not isinstance(value, dict):
            value = [value] if isinstance(value, str) else value
            if len(value) > MOST_TEXTS or any(len(text) > LONGEST_TEXT for text in value):
                detail = f"{self.name}: expected at most {MOST_TEXTS:,} texts of at most {LONGEST_TEXT:,} letters each"
                raise Problem(413, "too-large", detail, place)
        return value

    def expected(self) -> str:
        """Say in words what the field may be."""
        if self.kind == "integer":
            return f"a whole number from {self.least}" + (f" to {self.most}" if self.most is not None else " on")
        words = {"boolean": "true or false", "texts": "a text or a list of texts"}
        if self.kind == "text":
            return f"one of {', '.join(self.choices)}" if self.choices else "a text"
        return words.get(self.kind, "a text, a list of texts, or an object of columns and values")


def _of_text(text: str, kind: str) -> Any:
    if kind == "boolean":
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    try:
        return int(text) if len(text) <= 20 else text
    except ValueError:
        return text


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


@dataclass(frozen=True)
class Asked:
    """A request that was read.

    Attributes:
        model: The model that it is about.
        known: The codes of its rows; None if it has none.
        options: Its other fields.
        most_rows: How many rows one answer may have.
    """

    model: Model
    known: FloatArray | None
    options: Options
    most_rows: int

    @property
    def rows(self) -> FloatArray:
        """The codes of its rows, if it must have some."""
        assert self.known is not None, "the query asks for rows"
        return self.known


@dataclass(frozen=True)
class Reply:
    """An answer before it has a format.

    Attributes:
        value: The answer as JSON has it.
        columns: The answer's rows for other formats; None if it has none.
        finite: Whether all numbers of the value are finite.
        lines: The rows as JSON, if that is faster than by way of `value` or `columns`, and they are all of the answer.
    """

    value: Callable[[], Any]
    columns: Callable[[], Mapping[str, Column]] | None = None
    finite: bool = True
    lines: Callable[[], list[bytes]] | None = None

    def formatted(self, kind: str) -> Body:
        """Return the answer in one of the formats."""
        if self.lines is not None and kind != ARROW:
            lines = self.lines()
            return b'{"rows":[%b]}' % b",".join(lines) if kind == JSON else b"\n".join([*lines, b""])
        if kind == JSON or self.columns is None:
            return to_json(self.value(), self.finite)
        return (to_arrow if kind == ARROW else to_ndjson)(self.columns())


@dataclass(frozen=True)
class Query:
    """What can be asked.

    Attributes:
        name: The last step of its address.
        summary: What it is, in a line.
        answer: From what was asked, and what `compute` found if there is one, to the reply.
        compute: What may be computed for the rows of several requests at once.
        about_rows: Whether a request has rows; `rows_optional` if it need not have them.
        options: The other fields of a request.
        has_rows: Whether the answer can be written as rows, so that NDJSON and Arrow are possible.
        result: The JSON schema of an answer.
    """

    name: str
    summary: str
    answer: Callable[[Asked, FloatArray | None], Reply]
    result: dict[str, Any]
    compute: Compute | None = None
    about_rows: bool = True
    rows_optional: bool = False
    options: tuple[Option, ...] = ()
    has_rows: bool = True
    by_name: dict[str, Option] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {option.name: option for option in self.options})

    def read_options(self, fields: Mapping[str, Any], texts: Mapping[str, str]) -> Options:
        """Return all options of a request, from its body or its address; what is unknown is refused by name."""
        for name, in_address in [*((name, False) for name in fields), *((name, True) for name in texts)]:
            place = None if in_address else pointer(name)
            if name not in self.by_name:
                known = [*(["rows"] if self.about_rows and not in_address else []), *self.by_name]
                detail = f"unknown field {name!r:.60}{suggestion(name, known)}; known: {', '.join(known) or 'none'}"
                raise Problem(422, "unknown-field", detail, place)
            if in_address and name in fields:
                raise Problem(422, "given-twice", f"{name}: in the body and in the address", pointer(name))
        found = {
            name: option.read(texts[name], True) if name in texts else option.read(fields.get(name), False)
            for name, option in self.by_name.items()
        }
        for option in self.options:
            if option.required and found[option.name] is None:
                raise Problem(422, "missing-field", f"{option.name}: expected {option.expected()}, found nothing")
        return found


# -- answers -----------------------------------------------------------------------------------------------------------


def explained(error: Exception, model: Model, rows: FloatArray | None = None) -> Problem:
    """Return the problem that an error is; of impossible evidence the row is named as the request counts it."""
    if isinstance(error, EvidenceError) and rows is not None and len(rows):
        scores = model.evaluator.backend.log_likelihood(rows, model.schema.names, "rows")
        try:
            refuse_impossible(scores)
        except EvidenceError as of_rows:
            return problem_of(of_rows, pointer("rows", int(np.argmax(np.isneginf(scores)))))
    return problem_of(error)


def _scores(model: Model, rows: FloatArray) -> FloatArray:
    return model.evaluator.log_likelihood(rows)


def _score(asked: Asked, scores: FloatArray | None) -> Reply:
    assert scores is not None, "it is computed for rows"
    return Reply(lambda: score_facts(scores), lambda: {"log_likelihood": scores}, finite=False)


def _marginals(model: Model, rows: FloatArray) -> FloatArray:
    """Return P(value | row) of discrete columns, (rows, columns, values); of real ones mean and deviation."""
    evaluator, real = model.evaluator, model.real
    table = evaluator.marginals(rows)
    if real:
        table[:, real, 0] = evaluator.means(rows)[:, real]
        table[:, real, 1] = np.sqrt(evaluator.variances(rows)[:, real])
    return table


def _distributions(asked: Asked, table: FloatArray | None) -> Reply:
    assert table is not None, "it is computed for rows"
    model, chosen = asked.model, _columns(asked.model, asked.options["columns"])
    shown = model.distributions if chosen is None else [own for own in model.distributions if own[0] in chosen]

    def value() -> dict[str, Any]:
        rows = [{name: dict(zip(values, row[j])) for j, name, values in shown} for row in table.tolist()]  # noqa: B905
        return {"rows": rows}

    def lines() -> list[bytes]:
        # The numbers of all rows are written at once, and put between names: a tenth of what dictionaries take.
        template, places = model.line_of(None if chosen is None else tuple(sorted(chosen)))
        numbers = to_json(np.ascontiguousarray(table[:, places[0], places[1]]).ravel())[1:-1].split(b",")
        width = len(places[0])
        return [template % tuple(numbers[start : start + width]) for start in range(0, len(table) * width, width)]

    def columns() -> Mapping[str, Column]:
        by_column = np.ascontiguousarray(table.transpose(1, 2, 0))
        return {name: {value: by_column[j, k] for k, value in enumerate(values)} for j, name, values in shown}

    finite = not np.isinf(table).any()
    return Reply(value, columns, finite, lines if finite else None)


def _columns(model: Model, patterns: list[str] | None) -> set[int] | None:
    """Return the columns that names and patterns stand for; None for all."""
    domains, names = model.schema.domains, model.reader.names
    if patterns is None:
        return None
    if not patterns:
        raise Problem(422, "invalid-option", "columns: expected at least one column, found none", pointer("columns"))
    found: set[int] = set()
    for place, pattern in enumerate(patterns):
        own = [j for j in matching(pattern, names) if domains[j] is not None]
        if not own:
            detail = f"columns: there is no column {pattern!r:.80}{suggestion(pattern, names)}"
            raise Problem(422, "unknown-column", detail, pointer("columns", place))
        found.update(own)
    return found


def _table(model: Model, codes: FloatArray, observed: FloatArray | None = None) -> dict[str, Column]:
    """Return rows of codes as columns of labels and numbers; what was observed stays as it was."""
    schema = model.schema
    found: dict[str, Column] = {}
    for j, domain in enumerate(schema.domains):
        if domain is None:
            continue
        own = schema.plain_column(j, codes[:, j])
        if observed is not None and domain.cardinality is None:  # numbers that were given are not made whole
            seen = observed[:, j].tolist()
            own = [value if cell != cell else cell for value, cell in zip(own, seen, strict=True)]
        found[schema.shown_name(j)] = own
    return found


def _rows_reply(columns: Mapping[str, Column], **more: Any) -> Reply:
    return Reply(lambda: {"rows": list(dict_rows(columns)), **more}, lambda: columns, finite=False)


def _mpe(asked: Asked, _: FloatArray | None) -> Reply:
    found = asked.model.evaluator.mpe(asked.rows, exact=asked.options["exact"])
    columns = _table(asked.model, found.values, asked.rows)
    return _rows_reply(columns, log_probabilities=found.log_prob.tolist(), exact=found.exact)


def _sample(asked: Asked, _: FloatArray | None) -> Reply:
    n = asked.options["n"]
    refuse_too_many(n, asked.most_rows)
    given = evidence(asked, "given")
    row = given if isinstance(given, np.ndarray) else evidence_row(given or [], asked.model.schema, "given")
    drawn = asked.model.evaluator.sample(n, given=row, random_state=asked.options["seed"])
    return _rows_reply(_table(asked.model, drawn))


def _impute(asked: Asked, _: FloatArray | None) -> Reply:
    filled = completed(asked.model.evaluator, asked.rows, asked.options["method"], asked.options["seed"])
    inside = [domain is not None for domain in asked.model.schema.domains]
    n_filled = int((np.isnan(asked.rows) & ~np.isnan(filled))[:, inside].sum())
    return _rows_reply(_table(asked.model, filled, asked.rows), filled=n_filled)


def _count(asked: Asked, _: FloatArray | None) -> Reply:
    model, options = asked.model, asked.options
    schema, given = model.schema, evidence(asked, "given")
    text = options["count"]
    questions = questions_of(text if text.startswith("count(") else f"count({text})", schema, "count")
    count = questions[0].count
    if len(questions) != 1 or count is None:
        detail = f"count: expected columns such as 'attends_*' or 'likes_*=often', found {text!r:.80}"
        raise Problem(422, "question", detail, pointer("count"))
    if given is not None and asked.known is not None:
        raise Problem(
            422, "invalid-option", "given: not beside rows, which say what is known of each", pointer("given")
        )
    known = given if asked.known is None else asked.known
    chances = Posterior(model.evaluator.backend, schema, known, "rows").count_distribution(count)
    means = chances @ np.arange(chances.shape[1])
    columns: dict[str, Column] = {"probabilities": chances, "mean": means}
    return Reply(
        lambda: {"variables": [schema.shown_name(j) for j in count.variables], "rows": list(dict_rows(columns))},
        lambda: columns,
    )


def evidence(asked: Asked, name: str) -> Any:
    """Return evidence: texts, or values by column as one row of codes; None if there is none."""
    value = asked.options[name]
    if not isinstance(value, dict):
        return value
    try:
        return asked.model.reader.of_rows([value], 1)[0]
    except Problem as problem:
        place = None if problem.pointer is None else problem.pointer.replace("/rows/0", f"/{name}", 1)
        detail = (
            problem.detail.replace("rows:", f"{name}:", 1)
            .replace(", found at row 0", "", 1)
            .replace(" at row 0", "", 1)
        )
        raise Problem(problem.status, problem.kind, detail, place) from problem


def _query(asked: Asked, _: FloatArray | None) -> Reply:
    model, options = asked.model, asked.options
    best = model.evaluator.max_product_is_exact if options["best"] else None
    given, ask = evidence(asked, "given"), options["ask"] or []
    try:
        found = replies(model.evaluator.backend, model.schema, ask, given, options["top"], best)
    except XSPNError as error:
        named = next((name for name in ("given", "ask", "best") if str(error).startswith(f"{name}:")), None)
        raise problem_of(error, None if named is None else pointer(named)) from error
    return Reply(lambda: found, finite=False)


# -- the table ---------------------------------------------------------------------------------------------------------


def _first_value(schema: Schema) -> tuple[str, Any]:
    """Return the first column of the circuit and one of its values, for examples."""
    for j, domain in enumerate(schema.domains):
        if domain is not None:
            code = 0.0 if domain.cardinality is None else float(domain.cardinality - 1)
            return schema.shown_name(j), schema.label(j, code)
    raise DataError("the circuit has no variables")


def _some_evidence(schema: Schema) -> dict[str, Any]:
    name, value = _first_value(schema)
    return {name: value}


def _last_column(schema: Schema) -> str:
    return next(schema.shown_name(j) for j in reversed(range(len(schema))) if schema.domains[j] is not None)


def _countable(schema: Schema) -> str:
    """Return a name of a binary column for an example; any other if there is none, which is refused in words."""
    binary = [j for j, domain in enumerate(schema.domains) if domain is not None and domain.cardinality == 2]
    return f'"{schema.shown_name(binary[0])}"' if binary else _last_column(schema)


NUMBER = {"oneOf": [{"type": "number"}, {"type": "null"}, {"enum": ["inf", "-inf"]}]}
ROWS = {"type": "array", "items": {"type": "object"}}
GIVEN = Option(
    "given",
    "evidence",
    "What is known: events as text, such as 'age in 30..40', which all come true, or values by column.",
    example=_some_evidence,
)
SEED = Option("seed", "integer", "The random seed: the same seed draws the same rows.", default=0, most=LARGEST_SEED)


def _result(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": properties}


QUERIES = {
    query.name: query
    for query in (
        Query(
            "query",
            "Probabilities, distributions, counts and the most probable completion, in the language of questions",
            _query,
            _result(
                ("given", "evidence", "log_evidence", "answers", "best"),
                given={"type": "object"},
                evidence={"type": "string"},
                log_evidence=NUMBER,
                answers={"type": "array", "items": {"type": "object", "required": ["ask", "kind"]}},
                best={"type": ["object", "null"]},
            ),
            about_rows=False,
            options=(
                GIVEN,
                Option(
                    "ask",
                    "texts",
                    "Events, or columns and counts for their distributions; by default every column that is open.",
                    example=lambda schema: [f'"{_last_column(schema)}"'],
                ),
                Option("top", "integer", "Only so many answers: those that the evidence changes most.", least=1),
                Option("best", "boolean", "Also the most probable completion of the evidence.", default=False),
            ),
            has_rows=False,
        ),
        Query(
            "score",
            "The log-likelihood of each row, in nats; missing values are summed out",
            _score,
            _result(
                ("rows", "mean", "standard_error", "impossible", "log_likelihoods"),
                rows={"type": "integer"},
                mean=NUMBER,
                standard_error=NUMBER,
                impossible={"type": "integer"},
                log_likelihoods={"type": "array", "items": NUMBER},
            ),
            compute=_scores,
        ),
        Query(
            "marginals",
            "P(value | row) of every value of every column; mean and deviation of real ones",
            _distributions,
            _result(("rows",), rows=ROWS),
            compute=_marginals,
            options=(Option("columns", "texts", "Only these columns, by name or pattern."),),
        ),
        Query(
            "mpe",
            "The most probable completion of each row",
            _mpe,
            _result(
                ("rows", "log_probabilities", "exact"),
                rows=ROWS,
                log_probabilities={"type": "array", "items": NUMBER},
                exact={"type": "boolean"},
            ),
            options=(Option("exact", "boolean", "Search until it is proved, or refuse.", default=False),),
        ),
        Query(
            "sample",
            "Random rows, given what is known",
            _sample,
            _result(("rows",), rows=ROWS),
            about_rows=False,
            options=(Option("n", "integer", "How many rows.", default=10, is_rows=True), GIVEN, SEED),
        ),
        Query(
            "impute",
            "Each row with its missing values filled in; what was observed stays as it is",
            _impute,
            _result(("rows", "filled"), rows=ROWS, filled={"type": "integer"}),
            options=(
                Option(
                    "method",
                    "text",
                    "Each cell's likeliest value (the mean of real ones), the mean of all numbers, the likeliest row "
                    "as a whole, or a random one.",
                    default="marginal",
                    choices=("marginal", "mean", "mpe", "sample"),
                ),
                SEED,
            ),
        ),
        Query(
            "count",
            "The distribution of how many columns have a value, for each row or given an event",
            _count,
            _result(("variables", "rows"), variables={"type": "array", "items": {"type": "string"}}, rows=ROWS),
            rows_optional=True,
            options=(
                Option(
                    "count",
                    "text",
                    "What is counted: columns by name or pattern, perhaps with a value: 'attends_*', 'likes_*=often'.",
                    required=True,
                    example=_countable,
                ),
                GIVEN,
            ),
        ),
    )
}

# What is computed for the rows of several requests at once, by the name of its query.
BATCHED = [(query.name, query.compute) for query in QUERIES.values() if query.compute is not None]
