"""What `xspn query --why` and `--next` print: contributions of evidence, and what to ask next."""

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from xspn.cli.output import print_aligned, print_json, say
from xspn.core.errors import ParameterError

if TYPE_CHECKING:
    from xspn.circuit import Circuit
    from xspn.questions import NextQuestions


def show_reasons_and_gains(args: argparse.Namespace, circuit: "Circuit") -> int:
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
            found["next"] = [_plain(own) for own in gains]
        return print_json(found)
    for line in [line for own in why for line in str(own).splitlines()]:
        say(line)
    for own in gains:
        say(f"{own.target or 'all open columns'}: {own.entropy:.4g} bits are open")
        shown = own if args.top is None else own[: args.top]
        print_aligned(("column", "bits"), [(one.column, _bits(one.gain, one.error)) for one in shown], right={"bits"})
    return 0


def _plain(own: "NextQuestions") -> dict[str, Any]:
    return {"target": own.target, "entropy": own.entropy, "columns": [asdict(one) for one in own]}


def _bits(gain: float, error: float) -> str:
    return f"{gain:.4f}{f' ± {error:.4f}' if error else ''}"
