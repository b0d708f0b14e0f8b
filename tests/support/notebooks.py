"""Run the notebooks of the examples without Jupyter: cells are plain Python, their output what they print and draw.

python tests/support/notebooks.py write NOTEBOOK …    stores what cells print and draw in the notebooks
"""

import contextlib
import io
import json
import sys
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))


@dataclass(frozen=True)
class CellRun:
    """A cell of code that was run: where it is, what it printed, and the PNGs that it showed."""

    number: int
    printed: str
    pictures: tuple[bytes, ...]


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def source_of(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def stored_text(cell: dict[str, Any]) -> str:
    return "".join("".join(own["text"]) for own in cell["outputs"] if own["output_type"] == "stream")


def stored_pictures(cell: dict[str, Any]) -> list[str]:
    """Return the pictures of a cell, in base64."""
    return [own["data"]["image/png"] for own in cell["outputs"] if own["output_type"] == "display_data"]


def run(path: Path) -> Iterator[CellRun]:
    """Run all cells of code in order, in one new namespace, and in a folder that has beside it what examples/ has."""
    space: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder, "notebooks")
        here.mkdir()
        for table in EXAMPLES.glob("*.csv"):
            Path(folder, table.name).symlink_to(table)
        for number, cell in enumerate(read(path)["cells"]):
            if cell["cell_type"] == "code":
                printed = io.StringIO()
                code = compile(source_of(cell), f"{path.name}, cell {number}", "exec")
                with contextlib.chdir(here), contextlib.redirect_stdout(printed), shown_pictures() as pictures:
                    exec(code, space)
                yield CellRun(number, printed.getvalue(), tuple(pictures))


@contextlib.contextmanager
def shown_pictures() -> Iterator[list[bytes]]:
    """Collect what `plt.show()` would show, as PNG; a page or a notebook shows it in the same place."""
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    pictures: list[bytes] = []

    def show() -> None:
        for number in plt.get_fignums():
            content = io.BytesIO()
            plt.figure(number).savefig(content, format="png", dpi=80, metadata={"Software": None})
            pictures.append(content.getvalue())
        plt.close("all")

    kept, plt.show = plt.show, show
    try:
        yield pictures
    finally:
        plt.show = kept
        plt.close("all")


def write(path: Path) -> None:
    """Run a notebook, and store what its cells print and draw."""
    notebook = read(path)
    for count, done in enumerate(run(path), 1):
        cell = notebook["cells"][done.number]
        text = {"name": "stdout", "output_type": "stream", "text": done.printed.splitlines(keepends=True)}
        cell["execution_count"] = count
        cell["outputs"] = [text] * bool(done.printed) + [
            {"data": {"image/png": b64encode(png).decode("ascii")}, "metadata": {}, "output_type": "display_data"}
            for png in done.pictures
        ]
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "write":
        for name in sys.argv[2:]:
            write(Path(name))
