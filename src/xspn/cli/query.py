"""Ask a model: what is probable, given what is known?

  xspn query model.json --given hot_topic=yes --ask overflow               a distribution
  xspn query model.json --given hot_topic=yes --ask "count(attends_*)"     how many of them
  xspn query model.json --given "age in 30..40 & not city=Bonn" --ask "income > 50000"
  xspn query model.json --given "count(attends_*) >= 3" --ask overflow=yes hot_topic=yes
  xspn query model.json --given hot_topic=yes --top 5                      what it changes most
  xspn query model.json --given hot_topic=yes --best                       the most probable completion

events, for --given and --ask:
  NAME = VALUE   !=  <  <=  >  >=         city = "Bad Honnef", income > 50000
  NAME in LOW..HIGH, NAME in {A, B}       age in 30..40, city in {Bonn, Köln}
  count(NAME, …) >= 3                     count(*), count(attends_*), count(likes_*=often) in 3..5
  not … · … & … · … | … · (…)             sugar=1 & (butter=1 | not milk=1)

--ask also takes NAME and count(NAME, …) alone, for a distribution. Names may have * and ?; a pattern in --given is for
all its columns, one in --ask asks about each of them. Names and values with signs of the grammar are quoted: "a & b".
Several arguments of --given all come true. Answers are exact: P given the evidence, lift = P / P without evidence,
odds = P / (1 − P).
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import add_model_argument, read_model
from xspn.cli.output import check_outputs, check_picture, number, print_aligned, print_json, save_picture, say
from xspn.core.errors import ParameterError

if TYPE_CHECKING:
    from xspn.circuit import Circuit
    from xspn.core.arrays import FloatArray
    from xspn.questions import Answer, Posterior, Question

BAR = 30
QUARTERS = (0.25, 0.5, 0.75)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the evidence and the questions."""
    add_model_argument(parser)
    parser.add_argument(
        "--given", nargs="+", action="extend", default=[], metavar="EVENT", help="what is known; all of it comes true"
    )
    parser.add_argument(
        "--ask",
        nargs="+",
        action="extend",
        default=[],
        metavar="QUESTION",
        help="an event, or NAME or count(NAME, …) for a distribution (default: every column)",
    )
    parser.add_argument("--top", type=int, metavar="K", help="only the K answers that the evidence changes most")
    parser.add_argument("--best", action="store_true", help="the most probable completion of what is given")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw what the evidence changes: png, svg or pdf")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def run(args: argparse.Namespace) -> int:
    """Answer the questions."""
    from xspn.questions import Posterior, questions_of
    from xspn.questions.answers import TIES

    check_picture(args.plot)
    check_outputs([args.plot], [args.model])
    if args.top is not None and args.top < 1:
        raise ParameterError(f"--top: expected a number of answers of at least 1, found {args.top}")
    circuit, _ = read_model(args.model)
    posterior = Posterior(circuit.backend, circuit.schema, args.given or None, "--given")
    questions = [question for text in args.ask for question in questions_of(text, circuit.schema, "--ask")]
    if not questions and not args.best:
        questions = _every_column(circuit, posterior)
    answers = Answers(circuit, posterior).of(questions)
    if args.top is not None:
        answers = sorted(answers, key=lambda answer: -round(_change(answer), TIES))[: args.top]
    best = _best(circuit, posterior) if args.best else None
    if args.plot is not None:
        _plot(circuit, args.given, questions if args.ask else [], args.plot)
    if args.json:
        known = {"given": _fixed(posterior), "evidence": posterior.text}
        log_evidence = float(posterior.log_evidence[0])
        return print_json({**known, "log_evidence": log_evidence, "answers": answers, "best": best})
    _show_all(answers, bool(args.given), one_line_each=not args.ask)
    if best is not None:
        exact = "" if best["exact"] else " (a good guess: the search was not exhaustive)"
        say(f"most probable{exact}, log-probability {number(best['log_probability'])}")
        print_aligned(("name", "value"), [(name, str(value)) for name, value in best["values"].items()], right=set())
    return 0


def _fixed(posterior: "Posterior") -> dict[str, Any]:
    """Return the values that the evidence fixes, as {name: label}."""
    from xspn.questions.events import plain_row

    schema, event = posterior.schema, posterior.event
    row = plain_row(event, len(schema)) if len(event.cases) == 1 else None
    known = [] if row is None else [(j, code) for j, code in enumerate(row.tolist()) if code == code]
    return {schema.shown_name(j): schema.label(j, code) for j, code in known}


def _every_column(circuit: "Circuit", posterior: "Posterior") -> "list[Question]":
    """Return the question for the distribution of every column that is open."""
    from xspn.questions import Question

    row, name = posterior.row, circuit.schema.shown_name
    return [Question(name(j), "variable", (j,)) for j in circuit.scope if row is None or row[j] != row[j]]


def _best(circuit: "Circuit", posterior: "Posterior") -> dict[str, Any]:
    """Return the most probable completion of the evidence."""
    if posterior.row is None:
        raise ParameterError("--best: expected evidence that fixes values, as NAME=VALUE does; leave other events out")
    schema, found = circuit.schema, circuit.mpe(posterior.row)
    values = {schema.shown_name(j): schema.label(j, found.values[0, j]) for j in circuit.scope}
    return {"values": values, "log_probability": float(found.log_prob[0]), "exact": found.exact}


# -- answers as plain values -------------------------------------------------------------------------------------------


class Answers:
    """Answers of every kind, as plain values that JSON can hold."""

    def __init__(self, circuit: "Circuit", posterior: "Posterior") -> None:
        self.circuit, self.posterior = circuit, posterior

    def of(self, questions: "list[Question]") -> list[dict[str, Any]]:
        """Return the answers; events, and values of columns, are all evaluated together."""
        from xspn.questions import Question

        parts: dict[int, list[Question]] = {}
        questions = self.posterior.with_masses(questions)
        for place, question in enumerate(questions):
            domain = self.circuit.domains[question.variables[0]] if question.variables else None
            if question.kind == "event":
                parts[place] = [question]
            elif question.kind == "variable" and domain is not None and domain.cardinality is not None:
                column = question.variables[0]
                codes = range(domain.cardinality)
                parts[place] = [Question.of_value(self.circuit.schema, column, code) for code in codes]
        found = iter(self.posterior.answers([own for group in parts.values() for own in group]))
        answers = []
        for place, question in enumerate(questions):
            own = [next(found) for _ in parts.get(place, ())]
            if question.kind == "event":
                answers.append({"ask": question.text, "kind": "probability", **_numbers(own[0])})
            elif question.kind == "count":
                answers.append(self._count(question))
            elif own:
                label = self.circuit.schema.label
                values = [{"value": label(question.variables[0], k), **_numbers(p)} for k, p in enumerate(own)]
                answers.append({"ask": question.text, "kind": "distribution", "values": values})
            else:
                answers.append(self._of_a_real_column(question))
        return answers

    def _count(self, question: "Question") -> dict[str, Any]:
        import numpy as np

        assert question.count is not None, "the question is about a count"
        own = self.posterior.count_distribution(question.count)[0]
        prior = self.posterior.prior.count_distribution(question.count)[0] if self.posterior.text else own
        schema, sizes = self.circuit.schema, np.arange(len(own))
        counted = dict.fromkeys(str(schema.label(j, code)) for j, codes in question.count.counted for code in codes)
        return {
            "ask": question.text,
            "kind": "count",
            "variables": [schema.shown_name(j) for j in question.variables],
            "value": " or ".join(counted),
            "probabilities": own.tolist(),
            "prior": prior.tolist(),
            "mean": float(own @ sizes),
            "prior_mean": float(prior @ sizes),
        }

    def _of_a_real_column(self, question: "Question") -> dict[str, Any]:
        """Return mean and deviation, the density at a number, or quartiles where the evidence is no row of values."""
        import numpy as np

        column, row = question.variables[0], self.posterior.row
        if row is None:
            if question.kind == "density":
                raise ParameterError(
                    f"--ask: {question.text}: the density of a single number is known given values only, as NAME=VALUE "
                    "gives them; ask for an interval"
                )
            quartiles = self.posterior.quantiles(column, QUARTERS)
            return {"ask": question.text, "kind": "quartiles", "quartiles": quartiles}
        if question.kind == "density":
            both = np.full((1, len(row)), np.nan)
            both[0, column] = question.value
            density = float(np.exp(self.circuit.conditional_log_likelihood(both, row[None, :])[0]))
            return {"ask": question.text, "kind": "density", "density": density}
        if not np.isnan(row[column]):
            return {"ask": question.text, "kind": "mean", "mean": float(row[column]), "deviation": 0.0}
        mean, variance = self._moments(row)
        found = {"mean": float(mean[column]), "deviation": float(np.sqrt(variance[column]))}
        return {"ask": question.text, "kind": "mean", **found}

    def _moments(self, row: "FloatArray") -> "tuple[FloatArray, FloatArray]":
        if not hasattr(self, "_known"):
            domains = self.circuit.domains
            real = [j for j in self.circuit.scope if row[j] != row[j] and not getattr(domains[j], "is_discrete", True)]
            found = self.circuit.condition(row).marginalize(real).moments()
            self._known = (found.mean, found.variance)
        return self._known


def _numbers(answer: "Answer") -> dict[str, float]:
    return {
        "probability": answer.probability,
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


# -- answers for people ------------------------------------------------------------------------------------------------


def _show_all(answers: list[dict[str, Any]], given: bool, one_line_each: bool) -> None:
    """Print the answers: tables of one line each where they allow it, one after the other otherwise."""
    if one_line_each:
        rows = [_line(answer, given) for answer in answers]
        if rows:
            print_aligned(("name", "value", *_header(given)), rows, right=set())
        return
    for answer in answers:
        _show(answer, given)


def _header(given: bool) -> tuple[str, ...]:
    return ("P", "lift", "odds", "") if given else ("P", "odds", "")


def _cells(own: dict[str, Any], given: bool) -> tuple[str, ...]:
    """Return probability, lift where there is evidence, odds and a bar."""
    p = own["probability"]
    lift = (_factor(own["lift"]),) if given else ()
    return (number(p), *lift, _factor(own["odds"]), _bar(p))


def _factor(value: float) -> str:
    """Return a lift or odds in few digits."""
    if value != value:
        return "–"
    return "∞" if value == float("inf") else f"{value:.3g}".replace("-", "−")


def _line(answer: dict[str, Any], given: bool) -> tuple[str, ...]:
    """Return a column in a line: the second value of a binary one, the likeliest of others, a mean or median."""
    empty = ("",) * (len(_header(given)) - 2)
    if answer["kind"] == "mean":
        return (answer["ask"], f"mean {number(answer['mean'])}", f"± {number(answer['deviation'])}", *empty, "")
    if answer["kind"] == "quartiles":
        low, middle, high = map(number, answer["quartiles"])
        return (answer["ask"], f"median {middle}", f"{low} to {high}", *empty, "")
    values = answer["values"]
    own = values[1] if len(values) == 2 else max(values, key=lambda value: float(value["probability"]))
    return (answer["ask"], str(own["value"]), *_cells(own, given))


def _show(answer: dict[str, Any], given: bool) -> None:
    """Print one answer."""
    match answer["kind"]:
        case "probability":
            lift = f", lift {_factor(answer['lift'])}" if given else ""
            prior = f" (without evidence {number(answer['prior'])})" if given else ""
            say(f"P({answer['ask']}) = {number(answer['probability'])}{lift}, odds {_factor(answer['odds'])}{prior}")
        case "density":
            say(f"density({answer['ask']}) = {number(answer['density'])}")
        case "mean":
            say(f"{answer['ask']}: mean {number(answer['mean'])}, deviation {number(answer['deviation'])}")
        case "quartiles":
            low, middle, high = map(number, answer["quartiles"])
            say(f"{answer['ask']}: median {middle}, half of it from {low} to {high}")
        case "count":
            before = f" (without evidence {number(answer['prior_mean'], 2)})" if given else ""
            say(f"{answer['ask']}: mean {number(answer['mean'], 2)} of {len(answer['variables'])}{before}")
            print_aligned(("count", "P", ""), _counts(answer["probabilities"]), right={"count"})
        case _:
            say(answer["ask"])
            rows = [(str(own["value"]), *_cells(own, given)) for own in answer["values"]]
            print_aligned(("value", *_header(given)), rows, right=set())


def _counts(chances: list[float]) -> list[tuple[str, str, str]]:
    return [(str(k), number(p), _bar(p)) for k, p in enumerate(chances)]


def _bar(probability: float) -> str:
    return "█" * round(probability * BAR)


def _plot(circuit: "Circuit", given: list[str], questions: "list[Question]", path: Path) -> None:
    """Draw count distributions if a count was asked for; otherwise what was asked, or what changes most."""
    from xspn.plotting import count_chart, posterior_bars

    count = next((question for question in questions if question.kind == "count"), None)
    if count is not None:
        save_picture(count_chart(circuit, count.text, given=given or None), path)
        return
    asked: list[int | str] = []
    for question in questions:
        asked += [question.text] if question.kind == "event" else question.variables
    save_picture(posterior_bars(circuit, given or None, asked or None), path)
