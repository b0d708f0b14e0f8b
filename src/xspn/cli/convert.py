"""Write a model in another format, by the ending of its name.

  xspn convert model.json -o model.xspn     the same in a compact form
  xspn convert model.json -o model.jpc      for ProbabilisticCircuits.jl (Juice); also .spn
  xspn convert model.json -o model.psdd     a PSDD and, beside it, its model.vtree
  xspn convert trained.psdd -o model.json   and back

JSON and .xspn hold everything. The formats of other programs hold the distribution alone: variables are numbered, and
leaves that a format lacks are replaced by equal circuits, or refused with the reason.
"""

import argparse
from pathlib import Path

from xspn.cli.inputs import add_model_argument, read_model
from xspn.cli.output import STDOUT, check_outputs, say
from xspn.core.errors import ParameterError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model and the file to write."""
    add_model_argument(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="what to write: .json, .xspn, .jpc, .spn or .psdd"
    )


def run(args: argparse.Namespace) -> int:
    """Read and write."""
    from xspn.io.files import format_of_name, save

    if args.output == STDOUT:
        raise ParameterError("-o: expected the name of a file, whose ending says the format, found '-'")
    second = format_of_name(args.output).beside
    outputs = [args.output, *([] if second is None else [str(Path(args.output).with_suffix(second[0]))])]
    check_outputs(outputs, [args.model])
    circuit, notes = read_model(args.model)
    save(circuit, args.output, notes)
    say(f"{circuit.summary()}, written to {' and '.join(outputs)}")
    return 0
