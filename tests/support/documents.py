"""Run the blocks of a page, and compare what they print with what the page says they print.

A block of `python` is run, all of a page in one space; a `text` block right after it is its output. A block of
`console` is a dialogue: lines after `$` are run by a shell, the lines that follow are their output. `…` stands for
anything; a number may differ by one in its last digit.

    python tests/support/documents.py write PAGE …        writes what is printed into the pages
    python tests/support/documents.py run FOLDER PAGE …    runs pages in a folder, for the pictures that they make
"""

import contextlib
import difflib
import io
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"[-−]?\d+(?:,\d{3})*(?:\.\d+)?")


@dataclass(frozen=True)
class Exchange:
    """Something that a page runs, what it says comes out, and what does; `place` is that of the output in the text."""

    what: str
    expected: str
    printed: str
    place: tuple[int, int] | None


def run_page(page: Path, folder: Path, environment: dict[str, str]) -> list[Exchange]:
    """Run all blocks of a page in a folder."""
    text = page.read_text(encoding="utf-8")
    space, done = {"__name__": "page"}, []
    fences = list(FENCE.finditer(text))
    with contextlib.chdir(folder):
        for number, fence in enumerate(fences):
            language, code = fence.groups()
            line = text.count("\n", 0, fence.start()) + 1
            if language == "python":
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile("\n" * line + code, str(page), "exec"), space)
                after = fences[number + 1] if number + 1 < len(fences) else None
                is_output = after is not None and after.group(1) == "text"
                expected, place = (after.group(2), after.span(2)) if is_output else ("", None)
                done.append(Exchange(f"{page.name}:{line}", expected, printed.getvalue(), place))
            elif language == "console":
                for command, start, end in dialogue(code):
                    place = (fence.start(2) + start, fence.start(2) + end)
                    printed = run_command(command, environment)
                    done.append(Exchange(f"{page.name}: $ {command}", text[slice(*place)], printed, place))
    return done


def run_command(command: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        timeout=300, check=False,
    )  # fmt: skip
    return done.stdout


def dialogue(text: str) -> list[tuple[str, int, int]]:
    """Return the commands of a console block, and where in the text the output of each begins and ends."""
    parts: list[tuple[str, int, int]] = []
    at, open_ended = 0, False
    for line in text.splitlines(keepends=True):
        at += len(line)
        if line.startswith("$ ") or open_ended:
            said = line.rstrip("\n").removeprefix("$ " if line.startswith("$ ") else "> ")
            before = parts.pop()[0] if open_ended else ""
            open_ended = said.endswith("\\")
            parts.append((before + said.removesuffix("\\"), at, at))
        elif parts:
            parts[-1] = (parts[-1][0], parts[-1][1], at)
    return parts


def differences(exchange: Exchange) -> list[str]:
    """Compare without blanks at the ends of lines; return what differs, if anything."""
    wanted, found = (tidy(text) for text in (exchange.expected, exchange.printed))
    as_many = len(wanted.splitlines()) == len(found.splitlines())
    if as_many and all(map(agree, wanted.splitlines(), found.splitlines())):
        return []
    lines = difflib.unified_diff(wanted.splitlines(), found.splitlines(), "printed on the page", "found", lineterm="")
    return [f"{exchange.what}\n" + "\n".join(lines)]


def agree(wanted: str, found: str) -> bool:
    """Whether two lines are the same, but for what `…` stands for and the last digits of numbers."""
    if "…" in wanted and wanted != found:
        pattern = "".join(".*" if part == "…" else re.escape(part) for part in re.split("(…)", wanted))
        return re.fullmatch(pattern, found) is not None
    return NUMBER.sub("0", wanted) == NUMBER.sub("0", found) and numbers_agree(wanted, found)


def tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").rstrip().splitlines())


def numbers_agree(wanted: str, found: str) -> bool:
    """Whether all numbers agree, but for one in the last digit that the page has."""
    for first, second in zip(NUMBER.findall(wanted), NUMBER.findall(found), strict=True):
        digits = len(first.partition(".")[2])
        a, b = (float(text.replace("−", "-").replace(",", "")) for text in (first, second))
        if abs(a - b) > (1.001 * 10**-digits if digits else 0):
            return False
    return True


def clean_environment() -> dict[str, str]:
    """Return an environment in which commands print as on a page: eighty columns, no colours."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("COLUMNS", "PYTEST"))}
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}


def rewrite(page: Path) -> None:
    """Write what is printed into a page, where it differs."""
    with tempfile.TemporaryDirectory() as folder:
        done = run_here(page, Path(folder))
    text = page.read_text(encoding="utf-8")
    for exchange in reversed([own for own in done if own.place is not None]):
        start, end = exchange.place
        if differences(exchange):
            blank = "\n" if exchange.expected.endswith("\n\n") else ""
            text = (
                text[:start] + tidy(exchange.printed) + ("\n" if exchange.printed.strip() else "") + blank + text[end:]
            )
    page.write_text(text, encoding="utf-8")


def run_here(page: Path, folder: Path) -> list[Exchange]:
    """Run a page in a folder in which the examples are."""
    link = folder / "examples"
    if not link.exists():
        link.symlink_to(Path(__file__).parents[2] / "examples")
    return run_page(page.resolve(), folder, clean_environment())


if __name__ == "__main__":
    if sys.argv[1] == "write":
        for name in sys.argv[2:]:
            rewrite(Path(name))
    elif sys.argv[1] == "run":
        for name in sys.argv[3:]:
            run_here(Path(name), Path(sys.argv[2]))
