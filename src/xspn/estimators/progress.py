"""A progress bar for learning: a bar on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from xspn.learning.steps import Progress

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def learning_progress(verbose: int, n_circuits: int) -> Iterator[Progress | None]:
    """Provide a function to call with how much of the work is done, or None without a progress bar."""
    if not verbose:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(file=sys.stderr)
    what = "learning" if n_circuits == 1 else f"learning {n_circuits} circuits"
    if not console.is_terminal:
        yield _lines(what)
        return
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task(what, total=1.0)

        def show(done: float, of: float) -> None:
            bar.update(task, completed=done / max(of, 1))

        yield show


def _lines(what: str) -> Progress:
    last = monotonic()

    def show(done: float, of: float) -> None:
        nonlocal last
        if done >= of or monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = monotonic()
            sys.stderr.write(f"{what}: {done / max(of, 1):.0%} is done\n")

    return show
