"""Ask a model: what is probable, given what is known?

  xspn query model.json --given hot_topic=yes --ask overflow               a distribution
  xspn query model.json --given hot_topic=yes --ask "count(attends_*)"     how many of them
  xspn query model.json --given "age in 30..40 & not city=Bonn" --ask "income > 50000"
  xspn query model.json --given "count(attends_*) >= 3" --ask overflow=yes hot_topic=yes
  xspn query model.json --given hot_topic=yes --top 5                      what it changes most
  xspn query model.json --given hot_topic=yes --best                       the most probable completion
  xspn query model.json --given hot_topic=yes --best-rows 5                the five most probable ones
  xspn query model.json --given hot_topic=yes --best-of overflow night     of these columns alone
  xspn query model.json --given hot_topic=yes --information overflow night          entropies, in bits
  xspn query model.json --given hot_topic=yes --ask overflow --interval 0.9         how sure it is
  xspn query model.json --given hot_topic=yes night=no --ask overflow=yes --why     what each item adds
  xspn query model.json --given hot_topic=yes --ask overflow --next                 what to ask next

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
from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import add_model_argument, columns_like, read_model
from xspn.cli.output import (
    check_outputs,
    check_picture,
    information_cells,
    number,
    plain_information,
    print_aligned,
    print_json,
    save_picture,
    say,
)
from xspn.core.errors import ParameterError

if TYPE_CHECKING:
    from xspn.circuit import Circuit
    from xspn.inference.best_rows import BestRows
    from xspn.questions import NextQuestions

BAR = 30
MOST_COMPARED = 20  # columns of which every two are compared


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
    parser.add_argument("--best-rows", type=int, metavar="K", help="the K most probable completions of what is given")
    parser.add_argument(
        "--best-of",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="the most probable values of these columns together, all others being summed out",
    )
    parser.add_argument(
        "--information",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="entropies of these columns, and what every two tell of each other, in bits",
    )
    parser.add_argument("--interval", type=float, metavar="LEVEL", help="credible intervals of this level, such as 0.9")
    parser.add_argument(
        "--why", action="store_true", help="what each item of the evidence adds to the log-odds of --ask"
    )
    parser.add_argument(
        "--next", action="store_true", help="what each open column would tell of --ask, or of all others"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw what the evidence changes: png, svg or pdf")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def run(args: argparse.Namespace) -> int:
    """Answer the questions."""
    from xspn.questions import replies
    from xspn.questions.replies import Sureness

    check_picture(args.plot)
    check_outputs([args.plot], [args.model])
    mode = _mode(args)
    circuit, _ = read_model(args.model)
    if mode == "information":
        return _information(args, circuit)
    if mode is not None:
        return _best(args, circuit)
    if args.why or args.next:
        return _reasons_and_gains(args, circuit)
    exact_max = circuit.max_product_is_exact if args.best else None
    sure = None if args.interval is None else Sureness(circuit, args.interval)
    found = replies(circuit.backend, circuit.schema, args.ask, args.given, args.top, exact_max, sure, flag="--")
    if args.plot is not None:
        _plot(circuit, args.given, args.ask, args.plot)
    if args.json:
        return print_json(found)
    best = found["best"]
    _show_all(found["answers"], bool(args.given), one_line_each=not args.ask)
    if best is not None:
        exact = "" if best["exact"] else " (a good guess: the search was not exhaustive)"
        say(f"most probable{exact}, log-probability {number(best['log_probability'])}")
        print_aligned(("name", "value"), [(name, str(value)) for name, value in best["values"].items()], right=set())
    return 0


def _mode(args: argparse.Namespace) -> str | None:
    """Return which of the options is there that answer by themselves; they go with --given alone."""
    asked = {"best_rows": args.best_rows is not None, "best_of": args.best_of, "information": args.information}
    modes = [name for name, there in asked.items() if there]
    others = ("ask", "top", "best", "interval", "why", "next", "plot")
    beside = [*modes[1:], *(name for name in others if getattr(args, name) not in (None, False, []))]
    if modes and beside:
        flags = [f"--{name.replace('_', '-')}" for name in (modes[0], beside[0])]
        raise ParameterError(f"{flags[0]}: goes with --given alone; leave {flags[1]} out")
    return modes[0] if modes else None


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
    return (f"{number(p)}{_ends(own)}", *lift, _factor(own["odds"]), _bar(p))


def _ends(own: dict[str, Any]) -> str:
    """Return the ends of an interval, if there is one."""
    return f" [{number(own['low'])}, {number(own['high'])}]" if "low" in own else ""


def _value(value: float) -> str:
    """Return a value of a column: a whole number without decimals."""
    return number(value).removesuffix(".0000")


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
        low, middle, high = map(_value, answer["quartiles"])
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
            p = f"{number(answer['probability'])}{_ends(answer)}"
            say(f"P({answer['ask']}) = {p}{lift}, odds {_factor(answer['odds'])}{prior}")
        case "density":
            say(f"density({answer['ask']}) = {number(answer['density'])}")
        case "mean":
            say(f"{answer['ask']}: mean {number(answer['mean'])}, deviation {number(answer['deviation'])}")
        case "quartiles":
            low, middle, high = map(_value, answer["quartiles"])
            say(f"{answer['ask']}: median {middle}, half of it from {low} to {high}")
        case "count":
            before = f" (without evidence {number(answer['prior_mean'], 2)})" if given else ""
            say(f"{answer['ask']}: mean {number(answer['mean'], 2)} of {len(answer['variables'])}{before}")
            print_aligned(("count", "P", ""), _counts(answer), right={"count"})
        case _:
            say(answer["ask"])
            rows = [(str(own["value"]), *_cells(own, given)) for own in answer["values"]]
            print_aligned(("value", *_header(given)), rows, right=set())


def _counts(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    ends = zip(answer.get("low", ()), answer.get("high", ()), strict=True)
    sure = [f" [{number(low)}, {number(high)}]" for low, high in ends] or [""] * len(answer["probabilities"])
    return [(str(k), f"{number(p)}{sure[k]}", _bar(p)) for k, p in enumerate(answer["probabilities"])]


def _bar(probability: float) -> str:
    return "█" * round(probability * BAR)


def _plot(circuit: "Circuit", given: list[str], ask: list[str], path: Path) -> None:
    """Draw count distributions if a count was asked for; otherwise what was asked, or what changes most."""
    from xspn.plotting import count_chart, posterior_bars
    from xspn.questions import questions_of

    questions = [question for text in ask for question in questions_of(text, circuit.schema, "--ask")]
    count = next((question for question in questions if question.kind == "count"), None)
    if count is not None:
        save_picture(count_chart(circuit, count.text, given=given or None), path)
        return
    asked: list[int | str] = []
    for question in questions:
        asked += [question.text] if question.kind == "event" else question.variables
    save_picture(posterior_bars(circuit, given or None, asked or None), path)


# -- --information -----------------------------------------------------------------------------------------------------


def _information(args: argparse.Namespace, circuit: "Circuit") -> int:
    """Print the entropy of some columns together and alone, and the mutual information of every two."""
    from xspn.questions import evidence_row

    schema = circuit.schema
    row = evidence_row(args.given, schema, "--given")
    names = schema.shown_names
    asked = list(
        dict.fromkeys(j for pattern in args.information for j in columns_like(pattern, names, "--information"))
    )
    if len(asked) > MOST_COMPARED:
        raise ParameterError(
            f"--information: every two columns are compared; expected at most {MOST_COMPARED}, found {len(asked)}"
        )
    alone = [(names[j], circuit.entropy([j], given=row)) for j in asked]
    pairs = [(names[a], names[b], circuit.mutual_information([a], [b], given=row)) for a, b in combinations(asked, 2)]
    together = circuit.entropy(asked, given=row)
    if args.json:
        return print_json(
            {
                "given": args.given,
                "entropy": plain_information(together),
                "columns": [{"column": name, **plain_information(own)} for name, own in alone],
                "pairs": [{"columns": [a, b], **plain_information(own)} for a, b, own in pairs],
            }
        )
    rows = [(f"H({name})", *information_cells(own)) for name, own in alone]
    if len(asked) > 1:
        rows.append(("H(all of them)", *information_cells(together)))
    rows += [(f"I({a}; {b})", *information_cells(own)) for a, b, own in pairs]
    print_aligned(("information", "bits", ""), rows, right={"bits"})
    return 0


# -- --best-rows and --best-of -----------------------------------------------------------------------------------------


def _best(args: argparse.Namespace, circuit: "Circuit") -> int:
    """Print the most probable rows, or the most probable values of some columns, all others summed out."""
    from xspn.questions import evidence_row

    schema = circuit.schema
    row = evidence_row(args.given, schema, "--given")
    inside = [j for j, domain in enumerate(schema.domains) if domain is not None]
    if args.best_of:
        names = schema.shown_names
        asked = list(dict.fromkeys(j for pattern in args.best_of for j in columns_like(pattern, names, "--best-of")))
        found, shown = circuit.marginal_map(asked, given=row), asked
    else:
        if args.best_rows < 1:
            raise ParameterError(f"--best-rows: expected a number of rows of at least 1, found {args.best_rows}")
        found, shown = circuit.k_best(args.best_rows, given=row), inside
    if args.json:
        known = {schema.shown_name(j): schema.label(j, row[j]) for j in inside if row[j] == row[j]}
        return print_json({"given": known, "rows": _plain_rows(circuit, found, shown), **_certificate(found)})
    columns = [f"{k + 1}" for k in range(len(found.values))]
    logs = [number(float(value)) for value in found.log_prob]
    values = [(schema.shown_name(j), *(str(schema.label(j, code)) for code in found.values[:, j])) for j in shown]
    print_aligned(("name", *columns), [*values, ("log-probability", *logs)], right=set())
    if not found.exact:
        say(f"the search was stopped: other rows have a log-probability of at most {number(found.bound)}")
    return 0


def _plain_rows(circuit: "Circuit", found: "BestRows", shown: Sequence[int]) -> list[dict[str, Any]]:
    schema = circuit.schema
    return [
        {
            "values": {schema.shown_name(j): schema.label(j, values[j]) for j in shown},
            "log_probability": float(log_probability),
        }
        for values, log_probability in zip(found.values, found.log_prob, strict=True)
    ]


def _certificate(found: "BestRows") -> dict[str, Any]:
    return {"exact": bool(found.exact), "bound": float(found.bound)}


# -- --why and --next --------------------------------------------------------------------------------------------------


def _reasons_and_gains(args: argparse.Namespace, circuit: "Circuit") -> int:
    """Say why, or what to ask next, for each target."""
    if args.why and not (args.ask and args.given):
        raise ParameterError("--why: expected an event after --ask, and what is known after --given")
    why = [circuit.contributions(text, args.given) for text in args.ask] if args.why else []
    gains = [circuit.next_questions(text, args.given or None) for text in (args.ask or [None])] if args.next else []
    if args.json:
        found: dict[str, Any] = {"given": args.given}
        if args.why:
            found["why"] = [{**asdict(own), "contexts": [shift._asdict() for shift in own.contexts]} for own in why]
        if args.next:
            found["next"] = [_plain_gains(own) for own in gains]
        return print_json(found)
    for line in [line for own in why for line in str(own).splitlines()]:
        say(line)
    for own in gains:
        say(f"{own.target or 'all open columns'}: {own.entropy:.4g} bits are open")
        shown = own if args.top is None else own[: args.top]
        print_aligned(("column", "bits"), [(one.column, _bits(one.gain, one.error)) for one in shown], right={"bits"})
    return 0


def _plain_gains(own: "NextQuestions") -> dict[str, Any]:
    return {"target": own.target, "entropy": own.entropy, "columns": [asdict(one) for one in own]}


def _bits(gain: float, error: float) -> str:
    return f"{gain:.4f}{f' ± {error:.4f}' if error else ''}"
