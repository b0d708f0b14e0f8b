"""Loops compiled by numba; nothing here is imported before it is needed.

All of them work on a block of rows at a time, with rows along the last axis, and do the same arithmetic for every row
wherever it stands: no answer depends on how rows are cut into blocks, or on threads. Nothing is reordered for speed,
but for totals over the rows of a block.
"""

from contextlib import suppress
from pathlib import Path


def _forget_stale_kernels() -> None:
    """Delete compiled kernels that are older than a source: numba looks at a kernel's own file alone."""
    here = Path(__file__).parent
    newest = max(source.stat().st_mtime for source in here.glob("*.py"))
    for index in (here / "__pycache__").glob("*.nbi"):
        if index.stat().st_mtime < newest:
            with suppress(OSError):  # another process may have done it
                index.unlink()


_forget_stale_kernels()
