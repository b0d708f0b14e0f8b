"""What to ask next: how much the value of each open column would tell, on average, in bits.

The expected information gain of X for a target T given evidence is their mutual information I(T; X | evidence) =
E[KL(P(X | T) ‖ P(X))], the definition of the explorer's page. With a discrete target it takes one evaluation of all
marginals for each of its values. Without a target, what X tells of the other columns is added up: Σ I(X; Y | evidence).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from xspn.core import html
from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.errors import ParameterError, QueryError, counted
from xspn.core.random import generator
from xspn.data.schema import Schema
from xspn.engine import Backend
from xspn.inference import queries
from xspn.questions.answers import Posterior
from xspn.questions.ask import EVENT, VARIABLE, Question, questions_of
from xspn.questions.events import Codes, Event

SAMPLES = 2000  # values of a real column, whose gain is a mean over them
MOST_SHOWN = 20


@dataclass(frozen=True)
class NextQuestion:
    """A column that could be asked for.

    Attributes:
        column: Its name.
        gain: What its value tells on average, in bits.
        error: The standard error of the gain: 0 for discrete columns, which are exact.
    """

    column: str
    gain: float
    error: float = 0.0

    def __str__(self) -> str:
        return f"{self.column} {self.gain:.4g} bits{f' ± {self.error:.1g}' if self.error else ''}"


class NextQuestions(list[NextQuestion]):
    """Columns to ask for, the most telling first.

    Attributes:
        target: What they tell about, in words; empty for everything.
        entropy: What is open about the target, in bits; of everything, that of all open discrete columns, added up.
    """

    def __init__(self, found: Iterable[NextQuestion], target: str, entropy: float) -> None:
        super().__init__(found)
        self.target, self.entropy = target, entropy

    def _repr_html_(self) -> str:
        most = max((own.gain for own in self), default=0.0) or 1.0
        lines = [[html.text(own.column, 80), html.bar(own.gain / most), f"{own.gain:.4g}"] for own in self[:MOST_SHOWN]]
        about = html.quiet(html.text(f"{self.target or 'everything'}: {self.entropy:.4g} bits are open", 80))
        left = len(self) - MOST_SHOWN
        more = html.quiet(f"and {counted(left, 'more column')}") if left > 0 else ""
        return f"<div>{about}{html.table(['column', '', 'bits'], lines)}{more}</div>"


def next_questions(
    backend: Backend, schema: Schema, target: Any = None, given: Any = None, seed: Any = 0
) -> NextQuestions:
    """Return what each open column would tell; see `Circuit.next_questions`."""
    posterior = Posterior(backend, schema, given)
    if len(posterior.rows) != 1:
        raise ParameterError(f"given: expected one row of evidence, found {len(posterior.rows)}")
    known = posterior.row
    question = None if target is None else _target(target, schema)
    own = () if question is None or question.kind != VARIABLE else question.variables
    open_columns = [
        v
        for v, domain in enumerate(schema.domains)
        if domain is not None and v not in own and (known is None or np.isnan(known[v]))
    ]
    if question is not None and question.kind == EVENT and len(question.variables) == 1:
        open_columns = [v for v in open_columns if v != question.variables[0]]
    sizes = backend.program.cardinalities
    discrete = [v for v in open_columns if sizes[v]]
    if question is None:
        gains, entropy = _of_everything(posterior, known, discrete)
    else:
        gains, entropy = _of_target(posterior, known, question, discrete)
    found = [NextQuestion(schema.shown_name(v), max(0.0, gain)) for v, gain in zip(discrete, gains, strict=True)]
    real = [v for v in open_columns if not sizes[v]]
    if real and question is not None and known is not None:
        found += _of_numbers(posterior, known, question, real, entropy, seed)
    order = sorted(found, key=lambda one: -round(one.gain, 12))
    return NextQuestions(order, "" if question is None else question.text, entropy)


def _target(target: Any, schema: Schema) -> Question:
    if isinstance(target, int | np.integer) and not isinstance(target, bool):
        column = schema.indices([int(target)])[0]
        question = Question(schema.shown_name(column), VARIABLE, (column,))
    elif isinstance(target, str):
        asked = questions_of(target, schema, "target")
        if len(asked) != 1:
            raise ParameterError(f"target: expected one column or event, found {len(asked)} by a pattern")
        question = asked[0]
    else:
        raise ParameterError(f"target: expected a column or an event such as NAME=VALUE, found {target!r}")
    domain = schema.domains[question.variables[0]] if question.variables else None
    if question.kind not in (VARIABLE, EVENT) or (question.kind == VARIABLE and not getattr(domain, "cardinality", 0)):
        raise QueryError(
            f"target: {question.text}: expected a discrete column or an event; of a real column ask about an interval, "
            "such as NAME > 3, and of a count about an event, such as count(…) >= 3"
        )
    return question


def _cases(posterior: Posterior, question: Question) -> list[Event]:
    """Return the values of a target as events that exclude each other."""
    if question.kind == EVENT:
        return [question.event, ~question.event]
    column = question.variables[0]
    size = posterior.backend.program.cardinalities[column]
    return [Event.of(column, Codes(size, frozenset({value}))) for value in range(size)]


def _of_target(
    posterior: Posterior, known: FloatArray | None, question: Question, columns: list[int]
) -> tuple[FloatArray, float]:
    """Return I(target; X) of each column, and the target's entropy."""
    cases = _cases(posterior, question)
    chances = posterior.probability(cases)[:, 0]
    if question.kind == VARIABLE and known is not None:
        gains = gains_of_rows(posterior.backend, known[None], question.variables[0])[0]
        return gains[columns], float(_entropy(chances))
    sizes = posterior.backend.program.cardinalities
    pairs = [(v, value) for v in columns for value in range(sizes[v])]
    values = [Event.of(v, Codes(sizes[v], frozenset({value}))) for v, value in pairs]
    joint = posterior.probability([case & value for value in values for case in cases])[:, 0].reshape(-1, len(cases))
    gains, start = np.zeros(len(columns)), 0
    for place, v in enumerate(columns):
        gains[place] = _information(joint[start : start + sizes[v]])
        start += sizes[v]
    return gains, float(_entropy(chances))


def gains_of_rows(backend: Backend, rows: AnyArray, target: int) -> FloatArray:
    """Return I(target; X | row) in bits for every column of every row: (rows, variables), 0 for what is not open.

    Args:
        backend: What runs the circuit.
        rows: Rows of codes, NaN where a value is open; the target is.
        target: A discrete column.
    """
    now = backend.marginals(rows)
    out = np.zeros(rows.shape)
    for value in range(backend.program.cardinalities[target]):
        chance = now[:, target, value]
        live = np.flatnonzero(chance > 0)
        filled = np.array(rows[live], dtype=np.float64)
        filled[:, target] = value
        if len(live):
            out[live] += chance[live, None] * _divergence(backend.marginals(filled), now[live])
    out[:, target] = 0.0
    return np.where(np.isnan(rows), out, 0.0)


def _of_everything(posterior: Posterior, known: FloatArray | None, columns: list[int]) -> tuple[FloatArray, float]:
    """Return Σ I(X; Y) over all other open columns Y, and the entropies of all open columns, added up."""
    if known is None:
        raise QueryError(
            "next_questions: without a target, evidence must fix values, as NAME=VALUE does; name a target, or leave "
            "other events out"
        )
    backend = posterior.backend
    now = backend.marginals(known[None])[0]
    sizes = backend.program.cardinalities
    pairs = [(v, value) for v in columns for value in range(sizes[v]) if now[v, value] > 0]
    gains, place = np.zeros(len(known)), np.array([v for v, _ in pairs], dtype=np.int64)
    rows = np.tile(known, (len(pairs), 1))
    rows[np.arange(len(pairs)), place] = [value for _, value in pairs]
    told = _divergence(backend.marginals(rows), now[None]) if len(pairs) else np.zeros((0, len(known)))
    told[np.arange(len(pairs)), place] = 0.0  # what a column tells of itself
    np.add.at(gains, place, now[place, [value for _, value in pairs]] * told[:, columns].sum(axis=1))
    return gains[columns], float(sum(_entropy(now[v, : sizes[v]]) for v in columns))


def _of_numbers(
    posterior: Posterior, known: FloatArray, question: Question, columns: list[int], entropy: float, seed: Any
) -> list[NextQuestion]:
    """Return what real columns tell: the target's entropy less that given values drawn from the model."""
    drawn = queries.sample(posterior.backend, known[None], generator(seed), repeats=SAMPLES)
    found = []
    for v in columns:
        rows = np.tile(known, (SAMPLES, 1))
        rows[:, v] = drawn[:, v]
        then = Posterior(posterior.backend, posterior.schema, rows).probability(_cases(posterior, question))
        told = entropy - _entropy(then.T)
        name = posterior.schema.shown_name(v)
        found.append(NextQuestion(name, max(0.0, float(told.mean())), float(told.std() / np.sqrt(SAMPLES))))
    return found


def _divergence(then: FloatArray, now: FloatArray) -> FloatArray:
    """Return Σ p log2(p / q) over the values of each column: (rows, columns); 0 where there are none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(then > 0, then * (np.log2(then) - np.log2(now)), 0.0)
    return np.asarray(np.nan_to_num(terms).sum(axis=2))


def _information(joint: FloatArray) -> float:
    """Return the mutual information of a table of two variables, in bits."""
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    ratio = np.divide(joint, apart, out=np.ones_like(joint), where=joint > 0)
    return float((joint * np.log2(ratio)).sum())


def _entropy(chances: FloatArray) -> FloatArray:
    """Return entropies in bits, along the last axis."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(chances > 0, -chances * np.log2(chances), 0.0).sum(axis=-1))
