"""What learning from a table takes, in bytes: measured, and asked before anything large is made."""

from collections.abc import Callable, Sequence
from math import isqrt

from xspn.core.memory import need_memory
from xspn.data.domain import Domain
from xspn.learning.summary import WIDEST_AT_ONCE
from xspn.learning.table_summary import FEWEST_IN_BIN, MOST_BINS, ROWS_PER_CELL

# Bytes, as measured: bits are held as bytes, as single-precision numbers and, for a while, as indices.
OF_BIT = 12
OF_ROW_OF_BITS = 400
OF_PAIR = 96  # a dozen numbers for every two bits, of so many bits at most as are looked at together
OF_CELL = 16  # a number, whether it is there, and what slices copy
OF_CELL_AT_ONCE = 150  # what is made of a cell where all rows are worked on at once ...
MOST_AT_ONCE = 500_000_000  # ... and of all cells that are
OF_REAL_AT_ONCE = 400
OF_PAIR_OF_BINS = 24  # three numbers for every two bins of any two columns
OF_PAIR_OF_COLUMNS = 64
MOST_REALS_AT_ONCE = 900_000_000
SMALL = 100_000_000  # what needs less is not asked about
OTHERWISE = "take a sample of the rows or fewer columns, or pass a Dask collection or a Parquet path"


def memory_of_learning(n_rows: int, domains: Sequence[Domain]) -> int:
    """Return about how many bytes it takes to learn a circuit from a table in memory, beside the table itself.

    Examples:
        >>> memory_of_learning(1_000_000, [Domain.ordinal(5)] * 50) // 1_000_000
        1301
        >>> memory_of_learning(20, [Domain.binary()] * 20_000) // 1_000_000
        402
    """
    n = len(domains)
    if all(domain.cardinality == 2 for domain in domains):
        return max(OF_BIT * n_rows * n + OF_ROW_OF_BITS * n_rows, OF_PAIR * min(n, WIDEST_AT_ONCE) ** 2)
    reals = n_rows * sum(domain.cardinality is None for domain in domains)
    others = n_rows * n - reals
    at_once = min(OF_CELL_AT_ONCE * others, MOST_AT_ONCE) + min(OF_REAL_AT_ONCE * reals, MOST_REALS_AT_ONCE)
    bins = sum(_bins(n_rows, domain) for domain in domains)
    return OF_CELL * n_rows * n + at_once + OF_PAIR_OF_BINS * bins**2 + OF_PAIR_OF_COLUMNS * n**2


def _bins(n_rows: int, domain: Domain) -> int:
    """Return how many bins the test of independence makes of a column at most."""
    most = max(min(isqrt(int(n_rows / ROWS_PER_CELL)), MOST_BINS), 2)
    if domain.cardinality is None or (domain.ordered and domain.cardinality > most):
        return most
    return min(domain.cardinality, int(n_rows / FEWEST_IN_BIN) + 1)


def refuse_if_too_large(n_rows: int, domains: Sequence[Domain]) -> None:
    """Refuse a table that cannot be learned from in the memory that is available, and say what can."""
    needed, n = memory_of_learning(n_rows, domains), len(domains)

    def advice(available: int) -> str:
        rows = _most(n_rows, lambda count: memory_of_learning(count, domains) <= available)
        columns = _most(n, lambda count: memory_of_learning(n_rows, domains[:count]) <= available)
        fits = [f"{rows:,} of the rows"] * (rows > 0) + [f"{columns:,} of the columns"] * (columns > 0)
        would_fit = f"about {' or '.join(fits)} would fit" if fits else "not even a small part of it would fit"
        return f"{would_fit}; {OTHERWISE}"

    if needed >= SMALL:
        need_memory(needed, f"X: learning from {n_rows:,} rows and {n:,} columns", advice)


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to a limit that fits, given that what fits stops at some number."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
