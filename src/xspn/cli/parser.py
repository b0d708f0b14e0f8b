"""The parser of the command line: misuse is told in one line, with the nearest known word."""

import argparse
from difflib import get_close_matches
from typing import Any, NoReturn

from xspn.cli.output import say

MISUSE = 2


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, and that takes options by their full names only."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse, refusing what is unknown where it stands: the command's own parser knows the nearest option."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and leave."""
        text = " ".join(message.split())
        say(f"{self.prog}: {text}{self._suggestion(text)}; usage: {self.prog} --help", error=True)
        raise SystemExit(MISUSE)

    def _suggestion(self, message: str) -> str:
        """Return the known word that is nearest to the one that a message complains about."""
        word, known = "", []
        if message.startswith("unrecognized arguments: "):
            word = message.split(": ", 1)[1].split()[0].split("=")[0]
            known = [option for action in self._actions for option in action.option_strings]
        elif "invalid choice: " in message:
            word = message.split("invalid choice: ", 1)[1].split("'")[1] if "'" in message else ""
            known = [str(choice) for action in self._actions for choice in action.choices or ()]
        near = get_close_matches(word, known, n=1)
        return f"; did you mean {near[0]}?" if near else ""
