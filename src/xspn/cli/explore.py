"""Write a model as one HTML page that answers by itself: click what you know, and see what follows.

    xspn explore model.json
    xspn explore model.json --data table.csv -o page.html --no-open

With --data the page steps through the rows of a table, and says which cells are least expected.
"""

import argparse
import os
import sys
from pathlib import Path

from xspn.cli.inputs import STDIN, add_model_argument, add_table_options, read_input, read_model, refuse_two_inputs
from xspn.cli.output import STDOUT, check_outputs, say
from xspn.core.errors import ParameterError

ENDINGS = (".html", ".htm")
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the table that comes along, and where to write."""
    add_model_argument(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="the page (default: the model's name with .html)")
    parser.add_argument("--data", metavar="TABLE", help="a table whose rows the page steps through, least usual first")
    parser.add_argument("--title", help="what the page is called (default: the model's name)")
    parser.add_argument("--no-open", action="store_true", help="do not open the page in the browser")
    add_table_options(parser)


def run(args: argparse.Namespace) -> int:
    """Write the page and open it."""
    model = Path("model.json" if args.model == STDIN else args.model)
    path = Path(args.output or model.with_suffix(".html").name)
    if args.output == STDOUT:
        raise ParameterError("-o: expected a file; a page is opened from one")
    if path.suffix.lower() not in ENDINGS:  # a browser shows others as text
        raise ParameterError(f"{path}: expected a name ending in {', '.join(ENDINGS)}")
    if args.data is not None:
        refuse_two_inputs(args.model, args.data)
    check_outputs([path], [args.model, args.data])
    circuit, _ = read_model(args.model)
    data = None if args.data is None else read_input(args.data, args)
    circuit.explore(path, data=data, title=args.title or model.stem, source=model.name)
    say(f"wrote {path}, {path.stat().st_size / 1e6:.1f} MB")
    if not args.no_open and _has_screen():
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0


def _has_screen() -> bool:
    """Whether a browser has somewhere to show itself; one in a terminal would take it over."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in SCREENS)
