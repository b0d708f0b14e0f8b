"""How sure the probability of an event is: by the delta method where it has few completions, else by simulation."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Protocol

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.data.schema import Schema
from xspn.engine import Backend
from xspn.inference.uncertainty import CredibleInterval, DeltaMethod, NodeCounts, check_level, deviation_of_draws
from xspn.questions.answers import Answer, Posterior
from xspn.questions.ask import Question
from xspn.questions.events import Case, Codes, CountOf, Event, fixed_value

MOST_COMPLETIONS = 1024  # of an event's columns, that are evaluated one by one
DRAWS = 200  # of all parameters: deviations are good to 5 %


class Uncertain(Protocol):
    """A circuit that knows how many rows are behind its parameters."""

    @property
    def backend(self) -> Backend:
        """What runs it."""

    @property
    def counts(self) -> NodeCounts | None:
        """The rows behind its nodes."""

    def delta_method(self) -> DeltaMethod:
        """Return what tells how sure answers are."""

    def posterior_draw(self, random_state: Any = None) -> "Uncertain":
        """Return the circuit with parameters drawn from their posterior."""


def with_intervals(
    circuit: Uncertain, posterior: Posterior, questions: Sequence[Question], answers: Sequence[Answer], level: float
) -> list[Answer]:
    """Return answers with the ends of their credible intervals.

    Args:
        circuit: The circuit.
        posterior: What it says given the evidence, which is one row or an event.
        questions: The questions about events.
        answers: Their answers.
        level: The probability with which an interval holds the truth.
    """
    check_level(level)
    delta = circuit.delta_method()
    deviations, rest = np.full(len(answers), np.nan), []
    for place, question in enumerate(questions):
        found = _by_completions(delta, posterior, question.event)
        if found is None:
            rest.append(place)
        else:
            deviations[place] = found
    estimate = np.array([answer.probability for answer in answers])
    if rest:
        events = [questions[place].event for place in rest]
        deviations[rest] = simulated(circuit, posterior, estimate[rest], lambda own: own.probability(events)[:, 0])
    known = CredibleInterval.of(estimate, deviations, level)
    return [
        replace(answer, low=float(low), high=float(high), level=level)
        for answer, low, high in zip(answers, known.low, known.high, strict=True)
    ]


def simulated(circuit: Uncertain, posterior: Posterior, estimate: FloatArray, ask: Any) -> FloatArray:
    """Return the deviation of log-odds over draws of all parameters."""
    counts = circuit.delta_method().counts
    draws = [ask(posterior.under(circuit.posterior_draw(seed).backend)) for seed in range(DRAWS)]
    return deviation_of_draws(estimate, draws, counts.inflation)


def _by_completions(delta: DeltaMethod, posterior: Posterior, event: Event) -> float | None:
    """Return the deviation of an event's log-odds given the evidence; None if it has too many completions."""
    sides = [completions(own & posterior.event, posterior.rows[0], posterior.schema) for own in (event, ~event)]
    if sides[0] is None or sides[1] is None or len(sides[0]) + len(sides[1]) > MOST_COMPLETIONS:
        return None
    logs = [posterior.backend.log_likelihood(own) if len(own) else np.empty(0) for own in sides]  # type: ignore[arg-type]
    possible = [~np.isneginf(own) for own in logs]
    if not possible[0].any() or not possible[1].any():
        return 0.0
    parts = [np.exp(own[live] - np.logaddexp.reduce(own[live])) for own, live in zip(logs, possible, strict=True)]
    rows = np.concatenate([own[live] for own, live in zip(sides, possible, strict=True)])  # type: ignore[index]
    return float(np.sqrt(delta.variances(rows, np.concatenate([parts[0], -parts[1]])[None])[0]))


def completions(event: Event, known: FloatArray, schema: Schema) -> FloatArray | None:
    """Return the rows in which an event comes true, as far as it says anything; None if there are too many.

    Examples:
        >>> from xspn.data.domain import Domain
        >>> schema = Schema.of([Domain(2), Domain(3)])
        >>> completions(Event.of(1, Codes(3, frozenset({0, 2}))), np.array([np.nan, np.nan]), schema).tolist()
        [[nan, 0.0], [nan, 2.0]]
    """
    rows: list[FloatArray] = []
    for case in event.cases:
        own = _of_case(case, known, schema)
        if own is None or len(rows) + len(own) > MOST_COMPLETIONS:
            return None
        rows += own
    return np.array(rows).reshape(len(rows), len(known))


def _of_case(case: Case, known: FloatArray, schema: Schema) -> list[FloatArray] | None:
    values: dict[int, list[float]] = {}
    for key, allowed in case.items():
        if isinstance(key, CountOf):
            for column in key.variables:
                size = getattr(schema.domains[column], "cardinality", None) or 0
                values.setdefault(column, [float(code) for code in range(size)])
        elif isinstance(allowed, Codes):
            values[key] = [float(code) for code in sorted(allowed.members)]
        else:
            value = fixed_value(allowed)
            if value is None:
                return None
            values[key] = [value]
    values = {v: own if np.isnan(known[v]) else [k for k in own if k == known[v]] for v, own in values.items()}
    if np.prod([float(len(own)) for own in values.values()]) > MOST_COMPLETIONS:
        return None
    found = []
    counts = [(key, allowed) for key, allowed in case.items() if isinstance(key, CountOf)]
    for chosen in product(*values.values()):
        row = known.copy()
        row[list(values)] = chosen
        if all(sum(row[v] in members for v, members in key.counted) in own.members for key, own in counts):  # type: ignore[union-attr]
            found.append(row)
    return found
