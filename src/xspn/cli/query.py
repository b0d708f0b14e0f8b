"""Ask a model: what is probable, given what is known?

xspn query model.json --given hot_topic=yes --ask overflow
xspn query model.json --given hot_topic=yes --ask "count(attends_*)"
xspn query model.json --given hot_topic=yes --ask overflow=yes
xspn query model.json --given hot_topic=yes --best
"""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import add_model_argument, matching, read_model
from xspn.cli.output import check_outputs, check_picture, number, print_aligned, print_json, save_picture, say
from xspn.core.errors import DataError, EvidenceError, ParameterError

if TYPE_CHECKING:
    from xspn.circuit import Circuit
    from xspn.core.arrays import FloatArray
    from xspn.data.domain import Domain
    from xspn.data.schema import Schema
    from xspn.inference.moments import Moments

BAR = 30
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the evidence and the questions."""
    add_model_argument(parser)
    parser.add_argument(
        "--given",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="what is known; names may have * and ?",
    )
    parser.add_argument(
        "--ask",
        nargs="+",
        action="extend",
        default=[],
        metavar="QUESTION",
        help="NAME, NAME=VALUE, count(NAME, …) or count(NAME=VALUE); names may have * and ? (default: every column)",
    )
    parser.add_argument("--best", action="store_true", help="the most probable completion of what is given")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw what the evidence changes: png, svg or pdf")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def run(args: argparse.Namespace) -> int:
    """Answer the questions."""
    check_picture(args.plot)
    check_outputs([args.plot], [args.model])
    circuit, _ = read_model(args.model)
    schema = circuit.schema
    posterior = Posterior(circuit, evidence_of(args.given, schema))
    given = posterior.given()
    questions = [question for text in args.ask for question in question_of(text, schema)]
    if not questions and not args.best:
        open_ones = [j for j in circuit.scope if j not in given]
        questions = [Question(schema.shown_name(j), "variable", (j,)) for j in open_ones]
    answers = [posterior.answer(question) for question in questions]
    best = posterior.best() if args.best else None
    if args.plot is not None:
        _plot(circuit, given, questions, args.plot)
    if args.json:
        known = {schema.shown_name(j): label for j, label in given.items()}
        return print_json({"given": known, "log_evidence": posterior.log_evidence, "answers": answers, "best": best})
    if not args.ask:
        _show_all(answers)
    for answer in answers if args.ask else ():
        _show(answer)
    if best is not None:
        exact = "" if best["exact"] else " (a good guess: the search was not exhaustive)"
        say(f"most probable{exact}, log-probability {number(best['log_probability'])}")
        print_aligned(("name", "value"), [(name, str(value)) for name, value in best["values"].items()], right=set())
    return 0


class Posterior:
    """What a circuit says given one row of evidence: the evidence's probability and all marginals, found together."""

    def __init__(self, circuit: "Circuit", row: "FloatArray") -> None:
        import numpy as np

        self.circuit, self.row = circuit, row
        marginals, log_evidence = circuit.backend.marginals_and_evidence(row[None, :], circuit.names)
        self.marginals, self.log_evidence = marginals[0], float(log_evidence[0])
        if self.log_evidence == -np.inf:
            name = circuit.schema.shown_name
            known = ", ".join(f"{name(j)}={label}" for j, label in self.given().items())
            raise EvidenceError(
                f"--given: {known} has probability zero under this model; nothing can be concluded from it"
            )

    def given(self) -> dict[int, Any]:
        """Return what is known, as {column: label}."""
        schema = self.circuit.schema
        return {j: schema.label(j, code) for j, code in enumerate(self.row.tolist()) if code == code}

    @cached_property
    def moments(self) -> "Moments":
        """Means and covariances of the real variables that are open."""
        schema = self.circuit.schema
        real = [j for j in self.circuit.scope if self.row[j] != self.row[j] and _is_real(schema.domains[j])]
        return self.circuit.condition(self.row).marginalize(real).moments()

    def answer(self, question: Question) -> dict[str, Any]:
        """Return the answer to a question as plain values."""
        schema, variable = self.circuit.schema, question.variables[0]
        domain = schema.domains[variable]
        if question.kind == "count":
            return self._count(question)
        if domain is None or domain.cardinality is None:
            return self._of_a_real_variable(question)
        chances = self.marginals[variable, : domain.cardinality].tolist()
        if question.code is not None:
            return {"ask": question.text, "kind": "probability", "probability": chances[int(question.code)]}
        values = [{"value": schema.label(variable, code), "probability": p} for code, p in enumerate(chances)]
        return {"ask": question.text, "kind": "distribution", "values": values}

    def _count(self, question: Question) -> dict[str, Any]:
        import numpy as np

        schema = self.circuit.schema
        chances = self.circuit.count_distribution(question.variables, self.row)
        if question.code == 0.0:
            chances = chances[::-1]
        names = [schema.shown_name(j) for j in question.variables]
        counted = schema.label(question.variables[0], question.code or 0.0)
        mean = float(chances @ np.arange(len(chances)))
        body = {"variables": names, "value": counted, "probabilities": chances.tolist(), "mean": mean}
        return {"ask": question.text, "kind": "count", **body}

    def _of_a_real_variable(self, question: Question) -> dict[str, Any]:
        """Return mean and deviation, or the density at a value."""
        import numpy as np

        variable = question.variables[0]
        if question.code is not None:
            both = np.full((1, len(self.row)), np.nan)
            both[0, variable] = question.code
            density = float(np.exp(self.circuit.conditional_log_likelihood(both, self.row[None, :])[0]))
            return {"ask": question.text, "kind": "density", "density": density}
        if not np.isnan(self.row[variable]):
            return {"ask": question.text, "kind": "mean", "mean": float(self.row[variable]), "deviation": 0.0}
        mean, variance = float(self.moments.mean[variable]), float(self.moments.variance[variable])
        return {"ask": question.text, "kind": "mean", "mean": mean, "deviation": float(np.sqrt(variance))}

    def best(self) -> dict[str, Any]:
        """Return the most probable completion of the evidence."""
        schema = self.circuit.schema
        found = self.circuit.mpe(self.row)
        values = {schema.shown_name(j): schema.label(j, found.values[0, j]) for j in self.circuit.scope}
        return {"values": values, "log_probability": float(found.log_prob[0]), "exact": found.exact}


def _is_real(domain: "Domain | None") -> bool:
    return domain is not None and not domain.is_discrete


def _show(answer: dict[str, Any]) -> None:
    """Print one answer for people."""
    match answer["kind"]:
        case "probability" | "density":
            what = "P" if answer["kind"] == "probability" else "density"
            say(f"{what}({answer['ask']}) = {number(answer[answer['kind']])}")
        case "mean":
            say(f"{answer['ask']}: mean {number(answer['mean'])}, deviation {number(answer['deviation'])}")
        case "count":
            say(f"{answer['ask']}: mean {number(answer['mean'], 2)} of {len(answer['variables'])}")
            chances = answer["probabilities"]
            print_aligned(
                ("count", "P", ""), [(str(k), number(p), _bar(p)) for k, p in enumerate(chances)], right={"count"}
            )
        case _:
            say(answer["ask"])
            rows = [
                (str(own["value"]), number(own["probability"]), _bar(own["probability"])) for own in answer["values"]
            ]
            print_aligned(("value", "P", ""), rows, right=set())


def _show_all(answers: list[dict[str, Any]]) -> None:
    """Print one line for each variable: the second value of a binary one, the likeliest of others, a mean."""
    rows = []
    for answer in answers:
        if answer["kind"] == "mean":
            rows.append((answer["ask"], f"mean {number(answer['mean'])}", f"± {number(answer['deviation'])}", ""))
            continue
        values = answer["values"]
        own = values[1] if len(values) == 2 else max(values, key=lambda value: float(value["probability"]))
        rows.append((answer["ask"], str(own["value"]), number(own["probability"]), _bar(own["probability"])))
    if rows:
        print_aligned(("name", "value", "P", ""), rows, right=set())


def _bar(probability: float) -> str:
    return "█" * round(probability * BAR)


def _plot(circuit: "Circuit", given: dict[int, Any], questions: list[Question], path: Path) -> None:
    """Draw count distributions if a count was asked for, posterior bars otherwise."""
    from xspn.plotting import count_chart, posterior_bars

    count = next((question for question in questions if question.kind == "count"), None)
    if count is not None:
        save_picture(count_chart(circuit, count.variables, given=given or None), path)
        return
    variables = list(dict.fromkeys(j for question in questions for j in question.variables if j not in given))
    save_picture(posterior_bars(circuit, given, variables or None), path)


# -- evidence and questions as text ------------------------------------------------------------------------------------


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
    from xspn.data.domain import unknown_label

    labels, domain = schema.labels[column], schema.domains[column]
    name = schema.shown_name(column)
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
    from xspn.data.domain import unknown_label
    from xspn.data.files import number_or_text

    words = [str(label) for label in labels]
    if text in words:
        return float(words.index(text))
    lowered = [word.lower() for word in words]
    if lowered.count(text.lower()) == 1:
        return float(lowered.index(text.lower()))
    try:
        return float(labels.index(number_or_text(text)))
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
