"""Answers of every kind as plain values that JSON can hold: what `xspn query --json` prints and the service sends."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.errors import ParameterError
from xspn.data.schema import Schema
from xspn.engine import Backend
from xspn.inference import queries
from xspn.inference.uncertainty import CredibleInterval, check_level
from xspn.questions.answers import TIES, Answer, Posterior
from xspn.questions.ask import COUNT, DENSITY, EVENT, VARIABLE, Question, questions_of
from xspn.questions.events import CountOf, plain_row
from xspn.questions.intervals import Uncertain, simulated, with_intervals

QUARTERS = (0.25, 0.5, 0.75)
SAFE_EXPONENT = 400  # of two: squares of smaller numbers, and sums of them, are in range


def replies(
    backend: Backend,
    schema: Schema,
    ask: Sequence[str] = (),
    given: Any = None,
    top: int | None = None,
    best: Callable[[], bool] | None = None,
    sure: "Sureness | None" = None,
    flag: str = "",
) -> dict[str, Any]:
    """Return the answers to questions, with the evidence as it was understood.

    Args:
        backend: What runs the circuit.
        schema: What is known of the columns.
        ask: Events, or names and counts for distributions; by default every column that the evidence leaves open,
            unless only the best completion is asked for.
        given: What is known: a text or several that all come true, a mapping {variable: value}, or a row of codes.
        top: Return so many answers: those that the evidence changes most, in order.
        best: To have the most probable completion too: says whether the max-product pass is exact for the circuit.
        sure: To have the ends of credible intervals too.
        flag: What stands before the names "given", "ask", "top" and "best" in messages.

    Examples:
        >>> from xspn import Bernoulli, Circuit
        >>> rain = Circuit(Bernoulli(0, p=0.25), names=["rain"])
        >>> answer = replies(rain.backend, rain.schema, ["rain=1"])["answers"][0]
        >>> answer["kind"], round(answer["probability"], 6)
        ('probability', 0.25)
    """
    if top is not None and top < 1:
        raise ParameterError(f"{flag}top: expected a number of answers of at least 1, found {top}")
    is_nothing = isinstance(given, str | Sequence | Mapping) and not given
    posterior = Posterior(backend, schema, None if is_nothing else given, f"{flag}given")
    asked = [question for text in ask for question in questions_of(text, schema, f"{flag}ask")]
    if not asked and best is None:
        asked = _every_column(posterior)
    answers = _Replies(posterior, sure, f"{flag}ask").of(asked)
    if top is not None:
        answers = sorted(answers, key=lambda answer: -round(_change(answer), TIES))[:top]
    return {
        "given": _fixed(posterior),
        "evidence": posterior.text,
        "log_evidence": float(posterior.log_evidence[0]),
        "answers": answers,
        "best": None if best is None else _best(posterior, best(), f"{flag}best"),
    }


def score_facts(scores: FloatArray) -> dict[str, Any]:
    """Return log-likelihoods with their mean over possible and impossible rows, as plain values.

    Examples:
        >>> score_facts(np.array([-1.0, -3.0]))["mean"]
        -2.0
    """
    possible = scores[np.isfinite(scores)]
    # A number a billion deviations away has a score whose square is out of range; a power of two changes no digit.
    scale = 2.0 ** max(0, int(np.frexp(np.abs(possible).max(initial=1.0))[1]) - SAFE_EXPONENT)
    spread = (possible / scale).std(ddof=1) * scale if len(possible) > 1 else float("nan")
    error = float(spread / np.sqrt(len(possible))) if len(possible) > 1 else float("nan")
    return {
        "rows": len(scores),
        "mean": float((scores / scale).mean() * scale) if len(scores) else float("nan"),
        "standard_error": error,
        "impossible": len(scores) - len(possible),
        "log_likelihoods": scores.tolist(),
    }


def _every_column(posterior: Posterior) -> list[Question]:
    """Return the question for the distribution of every column that is open."""
    row, schema = posterior.row, posterior.schema
    inside = [j for j, domain in enumerate(schema.domains) if domain is not None]
    return [Question(schema.shown_name(j), VARIABLE, (j,)) for j in inside if row is None or row[j] != row[j]]


def _fixed(posterior: Posterior) -> dict[str, Any]:
    """Return the values that the evidence fixes, as {name: label}."""
    schema, event = posterior.schema, posterior.event
    row = plain_row(event, len(schema)) if len(event.cases) == 1 else None
    if row is not None:
        row = np.where(np.isnan(row), posterior.rows[0], row)
    known = [] if row is None else [(j, code) for j, code in enumerate(row.tolist()) if code == code]
    return {schema.shown_name(j): schema.label(j, code) for j, code in known}


def _best(posterior: Posterior, is_exact: bool, what: str) -> dict[str, Any]:
    """Return the most probable completion of the evidence."""
    if posterior.row is None:
        raise ParameterError(f"{what}: expected evidence that fixes values, as NAME=VALUE does; leave other events out")
    schema = posterior.schema
    found = queries.max_product(posterior.backend, posterior.row[None, :], is_exact, schema.names)
    inside = [j for j, domain in enumerate(schema.domains) if domain is not None]
    values = {schema.shown_name(j): schema.label(j, found.values[0, j]) for j in inside}
    return {"values": values, "log_probability": float(found.log_prob[0]), "exact": found.exact}


@dataclass(frozen=True)
class Sureness:
    """Credible intervals of a level, from a circuit that knows how many rows are behind its parameters."""

    circuit: Uncertain
    level: float

    def answers(self, posterior: Posterior, questions: Sequence[Question], found: list[Answer]) -> list[Answer]:
        """Return answers with the ends of their intervals."""
        return with_intervals(self.circuit, posterior, questions, found, self.level) if questions else found

    def count(self, posterior: Posterior, count: CountOf, own: FloatArray) -> dict[str, list[float]]:
        """Return the ends for the distribution of a count."""
        spread = simulated(self.circuit, posterior, own, lambda drawn: drawn.count_distribution(count)[0])
        known = CredibleInterval.of(own, spread, check_level(self.level), "simulation")
        return {"low": known.low.tolist(), "high": known.high.tolist()}


class _Replies:
    """Answers of every kind, given evidence."""

    def __init__(self, posterior: Posterior, sure: Sureness | None, what: str) -> None:
        self.posterior, self.schema, self.sure, self.what = posterior, posterior.schema, sure, what

    def of(self, questions: Sequence[Question]) -> list[dict[str, Any]]:
        """Return the answers; events, and values of columns, are all evaluated together."""
        parts: dict[int, list[Question]] = {}
        questions = self.posterior.with_masses(questions)
        for place, question in enumerate(questions):
            domain = self.schema.domains[question.variables[0]] if question.variables else None
            if question.kind == EVENT:
                parts[place] = [question]
            elif question.kind == VARIABLE and domain is not None and domain.cardinality is not None:
                column = question.variables[0]
                parts[place] = [Question.of_value(self.schema, column, code) for code in range(domain.cardinality)]
        found = iter(self._answers([own for group in parts.values() for own in group]))
        answers = []
        for place, question in enumerate(questions):
            own = [next(found) for _ in parts.get(place, ())]
            if question.kind == EVENT:
                answers.append({"ask": question.text, "kind": "probability", **_numbers(own[0])})
            elif question.kind == COUNT:
                answers.append(self._count(question))
            elif own:
                label = self.schema.label
                values = [{"value": label(question.variables[0], k), **_numbers(p)} for k, p in enumerate(own)]
                answers.append({"ask": question.text, "kind": "distribution", "values": values})
            else:
                answers.append(self._of_a_real_column(question))
        return answers

    def _answers(self, questions: Sequence[Question]) -> list[Answer]:
        found = self.posterior.answers(questions)
        return found if self.sure is None else self.sure.answers(self.posterior, questions, found)

    def _count(self, question: Question) -> dict[str, Any]:
        assert question.count is not None, "the question is about a count"
        own = self.posterior.count_distribution(question.count)[0]
        prior = self.posterior.prior.count_distribution(question.count)[0] if self.posterior.text else own
        sizes = np.arange(len(own))
        counted = dict.fromkeys(
            str(self.schema.label(j, code)) for j, codes in question.count.counted for code in codes
        )
        return {
            "ask": question.text,
            "kind": "count",
            "variables": [self.schema.shown_name(j) for j in question.variables],
            "value": " or ".join(counted),
            "probabilities": own.tolist(),
            **({} if self.sure is None else self.sure.count(self.posterior, question.count, own)),
            "prior": prior.tolist(),
            "mean": float(own @ sizes),
            "prior_mean": float(prior @ sizes),
        }

    def _of_a_real_column(self, question: Question) -> dict[str, Any]:
        """Return mean and deviation, the density at a number, or quartiles where the evidence is no row of values."""
        column, row, names = question.variables[0], self.posterior.row, self.schema.names
        if row is None:
            if question.kind == DENSITY:
                raise ParameterError(
                    f"{self.what}: {question.text}: the density of a single number is known given values only, as "
                    "NAME=VALUE gives them; ask for an interval"
                )
            quartiles = self.posterior.quantiles(column, QUARTERS)
            return {"ask": question.text, "kind": "quartiles", "quartiles": quartiles}
        if question.kind == DENSITY:
            both = np.full((1, len(row)), np.nan)
            both[0, column] = question.value
            log_density = queries.conditional_log_likelihood(self.posterior.backend, both, row[None, :], names)
            return {"ask": question.text, "kind": "density", "density": float(np.exp(log_density[0]))}
        mean, variance = self._moments
        found = {"mean": float(mean[column]), "deviation": float(np.sqrt(variance[column]))}
        return {"ask": question.text, "kind": "mean", **found}

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Means and variances of all columns."""
        row, backend, names = self.posterior.row, self.posterior.backend, self.schema.names
        assert row is not None, "the evidence fixes values"
        return queries.means(backend, row[None, :], names)[0], queries.variances(backend, row[None, :], names)[0]


def _numbers(answer: Answer) -> dict[str, float]:
    ends = {} if answer.low is None or answer.high is None else {"low": answer.low, "high": answer.high}
    return {
        "probability": answer.probability,
        **ends,
        "prior": answer.prior,
        "lift": answer.lift,
        "odds": answer.odds,
    }


def _change(answer: dict[str, Any]) -> float:
    """Return how much the evidence changes an answer: the largest difference of a probability; 0 for densities."""
    if answer["kind"] == "probability":
        return abs(float(answer["probability"] - answer["prior"]))
    if answer["kind"] == "distribution":
        return max(abs(float(own["probability"] - own["prior"])) for own in answer["values"])
    if answer["kind"] == "count":
        pairs = zip(answer["probabilities"], answer["prior"], strict=True)
        return 0.5 * float(sum(abs(after - before) for after, before in pairs))
    return 0.0
