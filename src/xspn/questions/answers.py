"""Exact answers: probabilities of events and distributions of counts, given evidence that is a row or an event."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from xspn.core import html
from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.errors import EvidenceError, ParameterError, QueryError, counted
from xspn.data.schema import Schema
from xspn.engine import Backend
from xspn.engine.tally import log_tally
from xspn.leaves.events import Intervals, Mark
from xspn.questions.ask import DENSITY, EVENT, Question, questions_of
from xspn.questions.events import Allowed, Case, Codes, CountOf, Event, fixed_value, is_point, plain_row
from xspn.questions.grammar import conjunction
from xspn.questions.reading import evidence_event

TIES = 12  # digits in which changes are compared: those that differ by rounding alone stay in order
MOST_SHOWN, LONGEST = 20, 80  # answers in a notebook, and letters of each
MOST_COUNTS = 1 << 16  # values that several counts together may have
Marks = dict[int, Mark]


@dataclass(frozen=True)
class Answer:
    """How probable an event is.

    Attributes:
        text: The question.
        given: The evidence in words; empty if there is none.
        probability: P(event | evidence).
        prior: P(event), without evidence.
        low: The lower end of the credible interval; None if none was asked for.
        high: The upper end.
        level: The probability with which the interval holds the truth.

    Examples:
        >>> print(Answer("rain=1", "cloudy=1", probability=0.6, prior=0.2))
        P(rain=1 | cloudy=1) = 0.6, lift 3, odds 1.5 (without evidence 0.2)
        >>> print(Answer("rain=1", "", probability=0.6, prior=0.6, low=0.55, high=0.65, level=0.9))
        P(rain=1) = 0.6 [0.55, 0.65], odds 1.5
    """

    text: str
    given: str
    probability: float
    prior: float
    low: float | None = None
    high: float | None = None
    level: float | None = None

    @property
    def lift(self) -> float:
        """How many times as probable the evidence makes it; NaN for what is impossible anyway."""
        return self.probability / self.prior if self.prior > 0 else float("nan")

    @property
    def odds(self) -> float:
        """P / (1 − P); inf for what is certain."""
        return self.probability / (1 - self.probability) if self.probability < 1 else float("inf")

    @property
    def change(self) -> float:
        """The difference that the evidence makes."""
        return self.probability - self.prior

    def __str__(self) -> str:
        sure = "" if self.low is None else f" [{self.low:.4g}, {self.high:.4g}]"
        if not self.given:
            return f"P({self.text}) = {self.probability:.4g}{sure}, odds {self.odds:.4g}"
        return (
            f"P({self.text} | {self.given}) = {self.probability:.4g}{sure}, lift {self.lift:.4g}, odds {self.odds:.4g} "
            f"(without evidence {self.prior:.4g})"
        )

    def _repr_html_(self) -> str:
        return Answers([self])._repr_html_()


class Answers(list[Answer]):
    """Several answers: a list that notebooks show as a table, with bars; a mark says where each was without evidence.

    Examples:
        >>> found = Answers([Answer("rain=1", "cloudy=1", probability=0.6, prior=0.2)])
        >>> "given cloudy=1" in found._repr_html_(), found[0].probability
        (True, 0.6)
    """

    def _repr_html_(self) -> str:
        shown = self[:MOST_SHOWN]
        given = list(dict.fromkeys(answer.given for answer in shown))
        has_evidence = any(given)
        head = ["event", "", "probability", *(["without evidence", "lift"] if has_evidence else ["odds"])]
        lines = [
            [
                html.text(answer.text, LONGEST),
                html.bar(answer.probability, answer.prior if answer.given else None),
                f"{answer.probability:.4g}",
                *([f"{answer.prior:.4g}", f"{answer.lift:.4g}"] if has_evidence else [f"{answer.odds:.4g}"]),
            ]
            for answer in shown
        ]
        known = html.quiet(f"given {html.text(given[0], LONGEST)}") if len(given) == 1 and has_evidence else ""
        left = len(self) - len(shown)
        more = html.quiet(f"and {counted(left, 'more answer')}") if left else ""
        return f"<div>{known}{html.table(head, lines)}{more}</div>"


Refine = Callable[["Posterior", Sequence[Question], Sequence[Answer]], list[Answer]]


def probabilities(
    backend: Backend,
    schema: Schema,
    target: Any = None,
    given: Any = None,
    top: int | None = None,
    refine: Refine | None = None,
) -> Answer | Answers:
    """Return the answer to a question, or those to several; see `Circuit.probability`.

    `refine` adds something to the answers, such as intervals.
    """
    if top is not None and (isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 1):
        raise ParameterError(f"top: expected a number of answers of at least 1, found {top!r}")
    posterior = Posterior(backend, schema, given)
    if target is None:
        asked = posterior.open_values()
    else:
        texts = list(target) if isinstance(target, Iterable) and not isinstance(target, str) else [target]
        asked = [question for text in texts for question in questions_of(text, schema, "question")]
        asked = posterior.with_masses(asked)
        for question in asked:
            question.refuse_distribution()
    found = posterior.answers(asked)
    answers = Answers(found if refine is None else refine(posterior, asked, found))
    if top is not None:
        answers = Answers(sorted(answers, key=lambda answer: -round(abs(answer.change), TIES))[:top])
    return answers[0] if isinstance(target, str) and len(answers) == 1 and top is None else answers


class Posterior:
    """What a circuit says given evidence: rows of values, or an event.

    Args:
        backend: What runs the circuit.
        schema: What is known of the columns.
        given: A text or several that all come true, a mapping, a row, a table, or None.
        what: What the evidence is, for messages.
    """

    def __init__(self, backend: Backend, schema: Schema, given: Any = None, what: str = "given") -> None:
        self.backend, self.schema, self._given = backend, schema, (given, what)
        self.rows, self.event, self.text = _evidence_of(given, schema, what)
        dense = [_points(case) for case in self.event.cases]
        self._points = min(dense, key=len)
        if len({own for own in dense if len(own) == len(self._points)}) > 1:
            raise QueryError(
                f"{what}: the alternatives fix different real columns to single numbers, whose densities cannot be "
                "compared; give intervals"
            )
        self._evidence = tuple(own[0] for own in self.log_joint([self.event]))
        self.log_evidence = self._evidence[0] + self._evidence[1]
        impossible = np.isneginf(self.log_evidence)
        if impossible.any():
            if len(self.rows) > 1:
                row = int(np.argmax(impossible))
                raise EvidenceError(f"the evidence in row {row} has probability zero; nothing can be concluded from it")
            shown = self.text or "the evidence"
            raise EvidenceError(
                f"{what}: {shown} has probability zero under this model; nothing can be concluded from it"
            )

    @property
    def row(self) -> FloatArray | None:
        """The row of codes, if the evidence only fixes values; None otherwise."""
        if len(self.rows) > 1:
            return None
        own = plain_row(self.event, len(self.schema))
        return None if own is None else np.where(np.isnan(own), self.rows[0], own)

    def under(self, backend: Backend) -> "Posterior":
        """Return what another circuit over the same columns says given the same evidence."""
        return Posterior(backend, self.schema, *self._given)

    @cached_property
    def prior(self) -> "Posterior":
        """The same without evidence."""
        return Posterior(self.backend, self.schema)

    def log_joint(self, events: Sequence[Event], free: CountOf | None = None) -> tuple[FloatArray, FloatArray]:
        """Return log P(event, evidence row): (events, rows), with counts (events, rows, counts); and its scale.

        The events lie within the evidence. The logarithm is the sum of both (see `log_tally`).
        """
        width = 1 if free is None else len(free.counted) + 1
        out = np.full((len(events), len(self.rows), width), -np.inf)
        scale = np.full((len(events), len(self.rows)), -np.inf)
        for places, logs, scales in self._tallies(events, free):
            for place, own, own_scale in zip(places, logs, scales, strict=True):
                most = np.maximum(scale[place], own_scale)
                with np.errstate(invalid="ignore"):
                    before = np.where(np.isneginf(scale[place]), -np.inf, scale[place] - most)
                out[place] = np.logaddexp(out[place] + before[:, None], own + (own_scale - most)[:, None])
                scale[place] = most
        scale = np.where(np.isneginf(scale), 0.0, scale)
        return (out[:, :, 0] if free is None else out), scale

    def probability(self, events: Sequence[Event]) -> FloatArray:
        """Return P(event | evidence row) of each event: (events, rows)."""
        logs, scale = self.log_joint([event & self.event for event in events])
        known, known_scale = self._evidence
        return np.asarray(np.minimum(np.exp((logs - known) + (scale - known_scale)), 1.0))

    def count_distribution(self, count: CountOf) -> FloatArray:
        """Return P(count = k | evidence row): (rows, columns + 1)."""
        logs = self.log_joint([self.event], count)[0][0]
        found = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def marginal(self, column: int) -> FloatArray:
        """Return P(column = value | evidence) of each value of a discrete column: (values,)."""
        size = int(getattr(self.schema.domains[column], "cardinality", 0) or 0)
        return self.probability([Event.of(column, Codes(size, frozenset({value}))) for value in range(size)])[:, 0]

    def quantiles(self, column: int, levels: Sequence[float]) -> list[float]:
        """Return quantiles of a real column given the evidence, from its distribution function."""
        from scipy.optimize import brentq

        def below(value: float) -> float:
            return float(self.probability([Event.of(column, Intervals.of((-np.inf, value)))])[0, 0])

        low, high = -1.0, 1.0
        while below(low) > min(levels):
            low *= 4
        while below(high) < max(levels):
            high *= 4
        return [
            float(brentq(lambda x, level=level: below(x) - level, low, high, xtol=1e-9 * (high - low)))
            for level in levels
        ]

    def with_masses(self, questions: Sequence[Question]) -> list[Question]:
        """Return questions in which a single number that has a probability, not only a density, is an event."""
        single = [question for question in questions if question.kind == DENSITY]
        if not single:
            return list(questions)
        masses = self.prior.probability([question.event for question in single])[:, 0]
        heavy = {id(question) for question, mass in zip(single, masses, strict=True) if mass > 0}
        return [replace(question, kind=EVENT) if id(question) in heavy else question for question in questions]

    def answers(self, questions: Sequence[Question]) -> list[Answer]:
        """Return the answers to questions about events, all of them in one go."""
        events = [question.event for question in questions]
        own = self.probability(events)[:, 0]
        prior = own if not self.text else self.prior.probability(events)[:, 0]
        return [
            Answer(question.text, self.text, float(p), float(before))
            for question, p, before in zip(questions, own, prior, strict=True)
        ]

    def open_values(self) -> list[Question]:
        """Return a question for each value of each discrete column that the evidence leaves open; one for a bit."""
        first, *others = self.event.cases
        fixed = {key for key, own in first.items() if all(case.get(key) == own for case in others)}
        fixed = {key for key in fixed if fixed_value(first[key]) is not None}
        found = []
        for column, domain in enumerate(self.schema.domains):
            size = 0 if domain is None else domain.cardinality or 0
            if column in fixed or not np.isnan(self.rows[0, column]):
                continue
            for code in [1] if size == 2 else range(size):
                found.append(Question.of_value(self.schema, column, code))
        return found

    # -- cases of one shape are evaluated together --------------------------------------------------------------------

    def _tallies(
        self, events: Sequence[Event], free: CountOf | None = None
    ) -> Iterator[tuple[list[int], FloatArray, FloatArray]]:
        """Yield the events that cases belong to, log P(case, row): (cases, rows, values of `free`), and its scale."""
        groups: dict[Any, list[tuple[int, dict[Any, float]]]] = {}
        for place, event in enumerate(events):
            for case in event.cases:
                if not self._points <= _points(case):
                    continue  # what fixes other numbers is nothing beside densities of fewer
                fixed = {key: value for key, own in case.items() if (value := self._fixed(key, own)) is not None}
                sets = frozenset((key, own) for key, own in case.items() if key not in fixed)
                groups.setdefault(sets, []).append((place, fixed))
        for shape, members in groups.items():
            marks, counts = _marks_of(dict(shape), self.schema, free)
            X = np.repeat(self.rows[None], len(members), axis=0)  # (cases, rows, columns)
            clash = np.zeros(X.shape[:2], dtype=bool)
            for rows, bad, (_, fixed) in zip(X, clash, members, strict=True):
                for key, value in fixed.items():
                    bad |= ~np.isnan(rows[:, key]) & (rows[:, key] != value)
                    rows[:, key] = value
            table = X.reshape(-1, X.shape[2])
            logs, scales = log_tally(self.backend.program, table, marks, self.schema.names, "given")
            logs[clash.ravel()] = -np.inf
            summed = _added_up(logs, counts, free)
            places, by_case = [place for place, _ in members], summed.reshape(*clash.shape, summed.shape[1])
            yield places, by_case, scales.reshape(clash.shape)

    def _fixed(self, key: Any, own: Allowed) -> float | None:
        """Return the value of a column that has but one: of a real one only if it is known, and has a density."""
        if not isinstance(key, int) or (is_point(own) and key not in self._points):
            return None
        return fixed_value(own)


def _evidence_of(given: Any, schema: Schema, what: str) -> tuple[FloatArray, Event, str]:
    """Return rows of codes, an event beside them, and the evidence in words."""
    nothing, everything = np.full((1, len(schema)), np.nan), Event([{}])
    if given is None:
        return nothing, everything, ""
    is_texts = isinstance(given, list | tuple) and len(given) > 0 and all(isinstance(text, str) for text in given)
    if isinstance(given, str) or (is_texts and len(given) != len(schema)) or (is_texts and _are_events(given)):
        texts = [given] if isinstance(given, str) else list(given)
        return nothing, evidence_event(texts, schema, what), conjunction(texts)
    rows = np.asarray(schema.evidence(given, what), dtype=np.float64)
    if len(rows) != 1:
        return rows, everything, f"{len(rows)} rows"
    known = [(j, code) for j, code in enumerate(rows[0].tolist()) if code == code]
    shown = " & ".join(f"{schema.shown_name(j)}={schema.label(j, code)}" for j, code in known)
    return rows, everything, shown


def _are_events(texts: Iterable[str]) -> bool:
    """Whether as many texts as there are columns are events, not a row of labels."""
    return all(any(sign in text for sign in "=<>") or " in " in text for text in texts)


def _points(case: Case) -> frozenset[int]:
    return frozenset(key for key, own in case.items() if isinstance(key, int) and is_point(own))


def _marks_of(shape: Mapping[Any, Any], schema: Schema, free: CountOf | None) -> tuple[Marks, list[tuple[int, Codes]]]:
    """Return the marks of columns, and the counts as digits of one total: (values, those that are allowed)."""
    marks: Marks = {}
    for key, own in shape.items():
        if isinstance(key, int):
            marks[key] = own if isinstance(own, Intervals) else _mark(own)
    allowed = {key: own for key, own in shape.items() if isinstance(key, CountOf)}
    if free is not None:
        size = len(free.counted) + 1
        allowed = {free: allowed.pop(free, Codes(size, frozenset(range(size)))), **allowed}
    digits, stride = [], 1
    shared: dict[Any, IntArray] = {}  # columns that count alike have one mark
    for count, own in allowed.items():
        for column, members in count.counted:
            size, mark = int(getattr(schema.domains[column], "cardinality", 0) or 0), marks.get(column)
            assert not isinstance(mark, Intervals), "real columns are not counted"
            if mark is None:
                if (size, members, stride) not in shared:
                    shared[size, members, stride] = _counting(np.zeros(size, dtype=np.int64), members, stride)
                marks[column] = shared[size, members, stride]
            else:
                marks[column] = _counting(mark, members, stride)
        digits.append((stride, own))
        stride *= own.size
        if stride > MOST_COUNTS:
            raise QueryError(
                f"several counts at once have {stride:,} values together, more than the {MOST_COUNTS:,} that are "
                "supported; ask about fewer of them, or about fewer columns"
            )
    return marks, digits


def _counting(mark: IntArray, members: frozenset[int], stride: int) -> IntArray:
    """Return a mark in which some values add to a count, unless they are excluded."""
    counts = np.zeros(len(mark), dtype=bool)
    counts[sorted(members)] = True
    return np.where(counts & (mark >= 0), mark + stride, mark)


def _mark(own: Codes) -> IntArray:
    mark = np.full(own.size, -1, dtype=np.int64)
    mark[sorted(own.members)] = 0
    return mark


def _added_up(logs: FloatArray, counts: list[tuple[int, Codes]], free: CountOf | None) -> FloatArray:
    """Add the totals up in which every count is allowed: to one column, or one for each value of the free count."""
    totals = np.arange(logs.shape[1])
    good: BoolArray = np.ones(len(totals), dtype=bool)
    for stride, own in counts:
        good &= np.isin(totals // stride % own.size, list(own.members))
    kept = np.where(good, logs, -np.inf)
    if free is None:
        return _log_sum(kept)[:, None]
    size = len(free.counted) + 1  # the free count is the lowest digit
    padded = np.full((len(logs), -(-len(totals) // size) * size), -np.inf)
    padded[:, : len(totals)] = kept
    return np.stack(
        [_log_sum(own) for own in padded.reshape(len(logs), padded.shape[1] // size, size).transpose(2, 0, 1)], axis=1
    )


def _log_sum(logs: AnyArray) -> FloatArray:
    return np.asarray(np.logaddexp.reduce(logs, axis=1))
