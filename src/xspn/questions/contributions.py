"""Why an answer is what it is: what each item of the evidence adds to the log-odds, and the contexts it acts through.

The value of a set of items is the log-odds of the target given these items alone, all others summed out: conditional
probabilities of the model itself, each exact. Shapley values share the difference between all items and none among
them: the only way that adds up, treats items that act alike alike, and gives nothing to those that never matter.
This is not SHAP of a predictor: that averages a function over a distribution of absent features, and under a mixture's
own distribution it is intractable in general. Here nothing is averaged; absent evidence is just absent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from xspn.core import html
from xspn.core.arrays import BoolArray, FloatArray
from xspn.core.errors import ParameterError, QueryError
from xspn.core.random import generator
from xspn.data.schema import Schema
from xspn.engine import Backend
from xspn.questions.answers import Posterior
from xspn.questions.ask import Question, questions_of
from xspn.questions.events import Event, plain_row
from xspn.questions.reading import evidence_event

MOST_EXACT = 15  # items: 2^15 sets of them are evaluated
PERMUTATIONS = 200  # of more items, in pairs of an order and its reverse


@dataclass(frozen=True)
class Contribution:
    """What one item of the evidence adds.

    Attributes:
        item: The item, in words.
        log_odds: What it adds to the log-odds of the target: its Shapley value.
        error: The standard error, where orders were sampled; 0 if the value is exact.
        alone: What the item changes by itself, without all others.
    """

    item: str
    log_odds: float
    error: float
    alone: float

    @property
    def factor(self) -> float:
        """What the odds are multiplied by."""
        return float(np.exp(self.log_odds))

    def __str__(self) -> str:
        sure = f" ± {self.error:.2g}" if self.error else ""
        return f"{self.item} {_signed(self.log_odds)}{sure} (odds × {self.factor:.3g})"


class ContextShift(NamedTuple):
    """How much of the probability a context has, without and with the evidence."""

    name: str
    before: float
    after: float


@dataclass(frozen=True)
class Contributions:
    """Why a target is as probable as it is, given evidence; the largest contribution first.

    Attributes:
        target: The event.
        prior: Its log-odds without evidence.
        posterior: Its log-odds given all items: `prior` and the contributions add up to it.
        items: What each item adds.
        contexts: The weights of the model's contexts before and after; empty if there is one context only, or if the
            evidence is no row of values.
        is_exact: Whether all sets of items were evaluated.

    Examples:
        >>> from xspn import Bernoulli, Circuit, Product, Sum
        >>> wet, dry = (Product([Bernoulli(i, p=p) for i, p in enumerate(own)]) for own in ((0.9, 0.6), (0.1, 0.2)))
        >>> c = Circuit(Sum([0.4, 0.6], [wet, dry]), names=["rain", "umbrella"])
        >>> print(c.contributions("rain=1", given="umbrella=1"))
        rain=1: log-odds −0.323 without evidence, +0.547 with it: P = 0.42 to 0.6333
          umbrella=1 +0.869 (odds × 2.39)
          context no rain: 60 % to 33.3 %
          context rain, umbrella: 40 % to 66.7 %
    """

    target: str
    prior: float
    posterior: float
    items: tuple[Contribution, ...]
    contexts: tuple[ContextShift, ...]
    is_exact: bool

    def __str__(self) -> str:
        ends = " to ".join(f"{1 / (1 + np.exp(-own)):.4g}" for own in (self.prior, self.posterior))
        odds = f"log-odds {_signed(self.prior)} without evidence, {_signed(self.posterior)} with it: P = {ends}"
        lines = [f"{self.target}: {odds}", *(f"  {own}" for own in self.items)]
        shown = [f"  context {own.name}: {100 * own.before:.3g} % to {100 * own.after:.3g} %" for own in self.contexts]
        return "\n".join([*lines, *shown])

    def _repr_html_(self) -> str:
        most = max((abs(own.log_odds) for own in self.items), default=0.0) or 1.0
        lines = [
            [html.text(own.item, 80), html.bar(abs(own.log_odds) / most), _signed(own.log_odds), f"{own.factor:.3g}"]
            for own in self.items
        ]
        table = html.table(["item", "", "log-odds", "odds ×"], lines)
        return f"<div>{html.quiet(html.text(self.target, 80))}{table}</div>"


def _signed(value: float) -> str:
    return f"{round(value, 3) + 0.0:+.3f}".replace("-", "−")  # what rounds to zero has no sign of its own


def contributions(
    backend: Backend,
    schema: Schema,
    target: Any,
    given: Any,
    permutations: int = PERMUTATIONS,
    seed: Any = 0,
    contexts_of: Callable[[FloatArray], Sequence[ContextShift]] | None = None,
) -> Contributions:
    """Return what each item of the evidence adds to the log-odds of a target; see `Circuit.contributions`.

    Args:
        backend: What runs the circuit.
        schema: What is known of the columns.
        target: An event, in the language of questions.
        given: Items of evidence: a mapping, a row, a text whose parts are joined by "&", or several texts.
        permutations: How many orders are sampled where there are more than 15 items.
        seed: Of the orders.
        contexts_of: Returns the contexts' weights for a row of evidence.
    """
    question = _event_of(target, schema)
    names, values = _log_odds_of_sets(backend, schema, question, given)
    k = len(names)
    if not k:
        raise ParameterError("given: expected at least one item of evidence to explain the answer by")
    prior, posterior = values.of(np.array([[False] * k, [True] * k])).tolist()
    alone = values.of(np.eye(k, dtype=bool)) - prior
    if k <= MOST_EXACT:
        attributed, errors = shapley(values.of(all_sets(k)), k), np.zeros(k)
    else:
        attributed, errors = sampled(values, k, permutations, generator(seed))
    found = [
        Contribution(*own) for own in zip(names, attributed.tolist(), errors.tolist(), alone.tolist(), strict=True)
    ]
    found = sorted(found, key=lambda own: -round(abs(own.log_odds), 12))
    shifts = () if contexts_of is None or values.row is None else tuple(contexts_of(values.row))
    return Contributions(question.text, prior, posterior, tuple(found), shifts, k <= MOST_EXACT)


def _event_of(target: Any, schema: Schema) -> Question:
    if not isinstance(target, str):
        raise ParameterError(f"target: expected an event such as NAME=VALUE, found {target!r}")
    asked = questions_of(target, schema, "target")
    if len(asked) != 1:
        raise ParameterError(f"target: expected one event, found {len(asked)}, one for each column of the pattern")
    asked[0].refuse_distribution()
    return asked[0]


class LogOdds:
    """The log-odds of a target given some of the items."""

    def __init__(self, backend: Backend, schema: Schema, question: Question, events: Sequence[Event]) -> None:
        self.backend, self.schema, self.question, self.events = backend, schema, question, list(events)
        rows = [plain_row(event, len(schema)) for event in events]
        self.rows = None if any(row is None for row in rows) else [row for row in rows if row is not None]

    @property
    def row(self) -> FloatArray | None:
        """All items as one row of codes, if each fixes values."""
        return None if self.rows is None else self._row(np.ones(len(self.rows), dtype=bool))

    def _row(self, chosen: BoolArray) -> FloatArray:
        assert self.rows is not None
        out = np.full(len(self.schema), np.nan)
        for own in (row for row, one in zip(self.rows, chosen, strict=True) if one):
            out = np.where(np.isnan(own), out, own)
        return out

    def of(self, sets: BoolArray) -> FloatArray:
        """Return the log-odds given each set of items: (sets,)."""
        target = self.question.event
        if self.rows is not None:
            posterior = Posterior(self.backend, self.schema, np.array([self._row(own) for own in sets]))
            both = [own & posterior.event for own in (target, ~target)]
        else:
            posterior = Posterior(self.backend, self.schema)
            given = [self._event(own) for own in sets]
            both = [side & own for side in (target, ~target) for own in given]
        logs, scales = posterior.log_joint(both)
        logs, scales = logs.reshape(2, -1), scales.reshape(2, -1)
        if np.isneginf(logs).any():
            self._refuse(logs, sets)
        return np.asarray((logs[0] - logs[1]) + (scales[0] - scales[1]))

    def _event(self, chosen: BoolArray) -> Event:
        found = Event([{}])
        for own in (event for event, one in zip(self.events, chosen, strict=True) if one):
            found = found & own
        return found

    def _refuse(self, logs: FloatArray, sets: BoolArray) -> None:
        side, place = (int(own) for own in np.argwhere(np.isneginf(logs))[0])
        what = "impossible" if side == 0 else "certain"
        some = f"given {int(sets[place].sum())} of the items" if sets[place].any() else "without evidence"
        raise QueryError(
            f"target: {self.question.text} is {what} {some}, so its log-odds are infinite and cannot be shared among "
            "items; leave out what decides it"
        )


def _log_odds_of_sets(backend: Backend, schema: Schema, question: Question, given: Any) -> tuple[list[str], LogOdds]:
    """Return what the items of evidence are called, and the function that evaluates sets of them."""
    if isinstance(given, str) or (isinstance(given, list | tuple) and all(isinstance(own, str) for own in given)):
        texts = [given] if isinstance(given, str) else list(given)
        events = [(text, evidence_event([text], schema, "given")) for text in texts]
        items = [part for text, event in events for part in _parts(text, event, schema)]
    else:
        rows = np.asarray(schema.evidence(given, "given"), dtype=np.float64)
        if len(rows) != 1:
            raise ParameterError(f"given: expected one row of evidence, found {len(rows)}")
        row = rows[0]
        items = [_value(j, code, schema) for j, code in enumerate(row.tolist()) if code == code]
    whole = Event([{}])
    for _, event in items:
        whole = whole & event
    values = LogOdds(backend, schema, question, [event for _, event in items])
    Posterior(backend, schema, given if values.rows is None else values.row)  # refuses what is impossible
    return [text for text, _ in items], values


def _parts(text: str, event: Event, schema: Schema) -> list[tuple[str, Event]]:
    """Return a conjunction of values as one item each; anything else is one item."""
    row = plain_row(event, len(schema))
    if row is None or np.isfinite(row).sum() < 2:
        return [(text.strip(), event)]
    return [_value(j, code, schema) for j, code in enumerate(row.tolist()) if code == code]


def _value(column: int, code: float, schema: Schema) -> tuple[str, Event]:
    domain = schema.domains[column]
    if domain is not None and domain.is_discrete:
        question = Question.of_value(schema, column, int(code))
        return question.text, question.event
    text = f"{schema.shown_name(column)}={schema.label(column, code)}"
    return text, evidence_event([text], schema, "given")


# -- Shapley values ----------------------------------------------------------------------------------------------------


def all_sets(k: int) -> BoolArray:
    """Return all sets of k items: (2^k, k); item i is bit i of the row's number."""
    return (np.arange(1 << k)[:, None] >> np.arange(k) & 1).astype(bool)


def shapley(values: FloatArray, k: int) -> FloatArray:
    """Return Shapley values from those of all sets.

    Examples:
        >>> shapley(np.array([0.0, 1.0, 2.0, 5.0]), 2).tolist()
        [2.0, 3.0]
    """
    sets = np.arange(1 << k)
    size = np.array([int(own).bit_count() for own in sets])
    weights = np.array([factorial(s) * factorial(k - s - 1) / factorial(k) for s in range(k)])
    out = np.empty(k)
    for i in range(k):
        without = sets[sets >> i & 1 == 0]
        out[i] = weights[size[without]] @ (values[without | 1 << i] - values[without])
    return out


def sampled(values: LogOdds, k: int, permutations: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return Shapley values over random orders and their reverses, and standard errors."""
    found = []
    for _ in range(max(2, permutations // 2)):
        order = rng.permutation(k)
        pair = np.zeros((2, k))
        for side, own in enumerate((order, order[::-1])):
            sets = np.zeros((k + 1, k), dtype=bool)
            for place, item in enumerate(own, 1):
                sets[place:, item] = True
            logs = values.of(sets)
            pair[side, own] = [after - before for before, after in pairwise(logs.tolist())]
        found.append(pair.mean(axis=0))
    pairs = np.array(found)
    return pairs.mean(axis=0), pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs))
