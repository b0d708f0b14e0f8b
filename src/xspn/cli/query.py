"""Ask a model: what is probable, given what is known?

xspn query model.json --given hot_topic=yes --ask overflow
xspn query model.json --given hot_topic=yes --ask "count(attends_*)"
xspn query model.json --given hot_topic=yes --ask overflow=yes
xspn query model.json --given hot_topic=yes --best
"""

import argparse
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import read_model
from xspn.cli.output import check_outputs, check_picture, number, print_aligned, print_json, save_picture, say
from xspn.cli.questions import Question, evidence_of, question_of
from xspn.core.errors import EvidenceError

if TYPE_CHECKING:
    from xspn.circuit import Circuit
    from xspn.core.arrays import FloatArray
    from xspn.data.domain import Domain
    from xspn.inference.moments import Moments

BAR = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the evidence and the questions."""
    parser.add_argument("model", metavar="MODEL", help="a model file, or - for standard input")
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
        questions = [Question(schema.shown_names[j], "variable", (j,)) for j in open_ones]
    answers = [posterior.answer(question) for question in questions]
    best = posterior.best() if args.best else None
    if args.plot is not None:
        _plot(circuit, given, questions, args.plot)
    if args.json:
        known = {schema.shown_names[j]: label for j, label in given.items()}
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
            names = circuit.schema.shown_names
            known = ", ".join(f"{names[j]}={label}" for j, label in self.given().items())
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
        names = [schema.shown_names[j] for j in question.variables]
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
        values = {schema.shown_names[j]: schema.label(j, found.values[0, j]) for j in self.circuit.scope}
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


def _bar(share: float) -> str:
    return "█" * round(share * BAR)


def _plot(circuit: "Circuit", given: dict[int, Any], questions: list[Question], path: Path) -> None:
    """Draw count distributions if a count was asked for, posterior bars otherwise."""
    from xspn.plotting import count_chart, posterior_bars

    count = next((question for question in questions if question.kind == "count"), None)
    if count is not None:
        save_picture(count_chart(circuit, count.variables, given=given or None), path)
        return
    variables = list(dict.fromkeys(j for question in questions for j in question.variables if j not in given))
    save_picture(posterior_bars(circuit, given, variables or None), path)
