"""Ask a model: what is probable, given what is known?

xspn query model.json --given hot_topic=yes --ask overflow
xspn query model.json --given hot_topic=yes --ask "count(attends_*)"
xspn query model.json --given hot_topic=yes --ask overflow=yes
xspn query model.json --given hot_topic=yes --best
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import names_of, read_model
from xspn.cli.output import check_outputs, check_picture, number, print_aligned, print_json, save_picture, say
from xspn.cli.questions import Question, evidence_of, question_of
from xspn.core.errors import EvidenceError

if TYPE_CHECKING:
    from xspn.circuit import Circuit

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
    known = evidence_of(args.given, circuit.columns)
    questions = [question for text in args.ask for question in question_of(text, circuit.columns)]
    if not questions and not args.best:
        open_ones = [j for j in circuit.scope if j not in known]
        questions = [Question(names_of(circuit.columns)[j], "variable", (j,)) for j in open_ones]
    log_evidence = _log_evidence(circuit, known)
    answers = [_answer(circuit, known, question) for question in questions]
    best = _best(circuit, known) if args.best else None
    if args.plot is not None:
        _plot(circuit, known, questions, args.plot)
    said = {names_of(circuit.columns)[j]: circuit.columns.label(j, code) for j, code in known.items()}
    if args.json:
        return print_json({"given": said, "log_evidence": log_evidence, "answers": answers, "best": best})
    if not args.ask:
        _show_all(answers)
    for answer in answers if args.ask else ():
        _show(answer)
    if best is not None:
        exact = "" if best["exact"] else " (a good guess: the search was not exhaustive)"
        say(f"most probable{exact}, log-probability {number(best['log_probability'])}")
        print_aligned(("name", "value"), [(name, str(value)) for name, value in best["values"].items()], right=set())
    return 0


def _log_evidence(circuit: "Circuit", known: dict[int, float]) -> float:
    """Return log P(evidence), refusing evidence that the model holds to be impossible."""
    import numpy as np

    row = np.full((1, circuit.n_variables), np.nan)
    row[0, list(known)] = list(known.values())
    found = float(circuit.log_likelihood(row)[0])
    if found == -np.inf:
        columns = circuit.columns
        said = ", ".join(f"{names_of(columns)[j]}={columns.label(j, code)}" for j, code in known.items())
        raise EvidenceError(f"--given: {said} has probability zero under this model; nothing can be concluded from it")
    return found


def _answer(circuit: "Circuit", known: dict[int, float], question: Question) -> dict[str, Any]:
    import numpy as np

    from xspn.estimators.completion import table_of_marginals

    row = np.full(circuit.n_variables, np.nan)
    row[list(known)] = list(known.values())
    if question.kind == "count":
        chances = circuit.count_distribution(question.variables, row)
        if question.code == 0.0:
            chances = chances[::-1]
        names = [names_of(circuit.columns)[j] for j in question.variables]
        counted = circuit.columns.label(question.variables[0], question.code or 0.0)
        mean = float(chances @ np.arange(len(chances)))
        body = {"variables": names, "value": counted, "probabilities": chances.tolist(), "mean": mean}
        return {"ask": question.text, "kind": "count", **body}
    variable = question.variables[0]
    domain = circuit.domains[variable]
    if domain is not None and domain.cardinality is None:
        return _of_a_real_variable(circuit, row, question)
    size = 2 if domain is None or domain.cardinality is None else domain.cardinality
    chances = table_of_marginals(circuit, row[None, :])[0, variable, :size]
    if question.code is not None:
        return {"ask": question.text, "kind": "probability", "probability": float(chances[int(question.code)])}
    labels = [circuit.columns.label(variable, code) for code in range(size)]
    values = [{"value": label, "probability": float(p)} for label, p in zip(labels, chances, strict=True)]
    return {"ask": question.text, "kind": "distribution", "values": values}


def _of_a_real_variable(circuit: "Circuit", row: Any, question: Question) -> dict[str, Any]:
    """Return mean and deviation, or the density at a value."""
    import numpy as np

    variable = question.variables[0]
    if question.code is not None:
        both = np.full((1, len(row)), np.nan)
        both[0, variable] = question.code
        density = float(np.exp(circuit.conditional_log_likelihood(both, row[None, :])[0]))
        return {"ask": question.text, "kind": "density", "density": density}
    if not np.isnan(row[variable]):
        return {"ask": question.text, "kind": "mean", "mean": float(row[variable]), "deviation": 0.0}
    moments = circuit.condition(row).marginalize([variable]).moments()
    mean, deviation = float(moments.mean[variable]), float(np.sqrt(moments.variance[variable]))
    return {"ask": question.text, "kind": "mean", "mean": mean, "deviation": deviation}


def _best(circuit: "Circuit", known: dict[int, float]) -> dict[str, Any]:
    found = circuit.mpe({j: circuit.columns.label(j, code) for j, code in known.items()})
    names = names_of(circuit.columns)
    values = {names[j]: circuit.columns.label(j, found.values[0, j]) for j in circuit.scope}
    return {"values": values, "log_probability": float(found.log_prob[0]), "exact": found.exact}


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


def _plot(circuit: "Circuit", known: dict[int, float], questions: list[Question], path: Path) -> None:
    """Draw count distributions if a count was asked for, posterior bars otherwise."""
    from xspn.plotting import count_chart, posterior_bars

    columns = circuit.columns
    given = {j: columns.label(j, code) for j, code in known.items()}
    count = next((question for question in questions if question.kind == "count"), None)
    if count is not None:
        save_picture(count_chart(circuit, count.variables, given=given or None), path)
        return
    variables = list(dict.fromkeys(j for question in questions for j in question.variables if j not in known))
    save_picture(posterior_bars(circuit, given, variables or None), path)
