"""How much memory is available; work that would need more is refused before it begins."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from xspn.core.errors import MemoryLimitError

CGROUPS = Path("/sys/fs/cgroup")
NO_LIMIT = 1 << 60  # what is written where there is no limit is some number beyond this, or a word
MEGABYTE = 1_000_000


def need_memory(needed: float, what: str, advice: Callable[[int], str]) -> None:
    """Refuse work that needs more memory than is available, where that can be told.

    Args:
        needed: Bytes.
        what: What they are needed for.
        advice: Says what would fit into so many bytes, or what else can be done.
    """
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryLimitError(
            f"{what} needs about {bytes_in_words(needed)} of memory, and {bytes_in_words(available)} are available; "
            f"{advice(available)}"
        )


def available_memory() -> int | None:
    """Return how many bytes this process can still take: by the system, by its container, by its limits.

    None where none of them tells (systems other than Linux tell how much memory there is, not how much is free).
    """
    found = list(_of_system()) + list(_of_containers()) + list(_of_limits())
    return max(min(found), 0) if found else None


def bytes_in_words(n_bytes: float) -> str:
    """Return a number of bytes as people say it.

    Examples:
        >>> bytes_in_words(3_200_000_000), bytes_in_words(45_600_000)
        ('3.2 GB', '46 MB')
    """
    if n_bytes >= 1000 * MEGABYTE:
        return f"{n_bytes / (1000 * MEGABYTE):,.1f} GB"
    return f"{max(n_bytes, 0) / MEGABYTE:.0f} MB"


def _of_system() -> Iterator[int]:
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024
            return
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_containers() -> Iterator[int]:
    """Yield what is left of the limits of the control groups, of both versions, that this process is in."""
    for line in _lines(Path("/proc/self/cgroup")):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, names = CGROUPS, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            root, names = CGROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        own = root / path.strip("/")
        for folder in (own, *own.parents):
            left = _left_of_limit(folder, *names)
            if left is not None:
                yield left
            if folder == root:
                break


def _left_of_limit(folder: Path, limit: str, used: str, reclaimable: str) -> int | None:
    most, now = _number(folder / limit), _number(folder / used)
    if most is None or now is None or most >= NO_LIMIT:
        return None
    cached = [int(line.split()[1]) for line in _lines(folder / "memory.stat") if line.startswith(f"{reclaimable} ")]
    return most - now + sum(cached)


def _of_limits() -> Iterator[int]:
    """Yield what is left of the limit of the address space (`ulimit -v`)."""
    if sys.platform == "win32":
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _lines(Path("/proc/self/statm"))
    if limit != resource.RLIM_INFINITY and pages:
        yield limit - int(pages[0].split()[0]) * resource.getpagesize()


def _lines(path: Path) -> list[str]:
    """Return the lines of a file; none where there is no such file."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].isdigit() else None
