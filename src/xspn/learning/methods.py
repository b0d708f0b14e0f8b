"""Clusterings, leaf learners and tests under their names, each with what it can handle; the rest is refused here.

A method is registered once. It has a function for tables of zeros and ones, which makes use of there being two values,
and perhaps one for columns of any types; the same function may serve both. Who uses it asks for the function for the
rows at hand. Where the method cannot handle them, the error names it, what it cannot handle, and the methods that can.
"""

from dataclasses import dataclass
from enum import Flag, auto
from functools import reduce
from operator import or_
from typing import Generic, TypeVar

from xspn.core.errors import ParameterError
from xspn.core.registry import Registry
from xspn.learning.summary import BinarySummary
from xspn.learning.table_summary import TableSummary

B = TypeVar("B")
T = TypeVar("T")


class Can(Flag):
    """What a method can handle beyond zeros and ones in whole rows that all count alike.

    Attributes:
        NOTHING: Nothing more.
        COLUMNS: Columns of other types than bits, ordered ones at least.
        CATEGORIES: More than two values without an order.
        REALS: Real numbers.
        MISSING: Missing values.
        WEIGHTS: Rows that count differently: those of sample weights, and equal rows merged into one.
        OUT_OF_CORE: Rows that it was not shown: a clustering of a sample gives them a rule.
    """

    NOTHING = 0
    COLUMNS = auto()
    CATEGORIES = auto()
    REALS = auto()
    MISSING = auto()
    WEIGHTS = auto()
    OUT_OF_CORE = auto()
    ANY_TYPE = CATEGORIES | REALS
    ANY_ROWS = MISSING | WEIGHTS


WORDS = {
    Can.CATEGORIES: "categories without an order",
    Can.REALS: "real numbers",
    Can.MISSING: "missing values",
    Can.WEIGHTS: "sample weights",
    Can.OUT_OF_CORE: "tables that are out of core",
}


@dataclass(frozen=True)
class Method(Generic[B, T]):
    """A way to cluster rows, to learn a leaf or to test, and what it can handle.

    Attributes:
        bits: What it does with tables of zeros and ones.
        tables: What it does with columns of any types; None if it is for bits only.
        can: What it can handle; `COLUMNS` follows from `tables`.
    """

    bits: B
    tables: T | None = None
    can: Can = Can.NOTHING

    def handles(self, asked: Can) -> bool:
        """Whether it can handle all of some things.

        Examples:
            >>> Method(bits=sum, can=Can.WEIGHTS).handles(Can.WEIGHTS | Can.MISSING)
            False
        """
        return not asked & ~(self.can if self.tables is None else self.can | Can.COLUMNS)


class Methods(Registry[Method[B, T]]):
    """The methods of one kind, by name.

    Examples:
        >>> clusterings = Methods("clustering", "clustering")
        >>> clusterings.add("halves", Method(bits=lambda summary, seed: None))
        >>> clusterings.add("others", Method(bits=lambda summary, seed: None, can=Can.ANY_ROWS))
        >>> clusterings.require("halves", Can.MISSING)
        Traceback (most recent call last):
        ...
        xspn.core.errors.ParameterError: clustering='halves' cannot take missing values; use one of 'others'
    """

    def __init__(self, kind: str, setting: str) -> None:
        """Make a registry.

        Args:
            kind: What messages call the methods.
            setting: The name of the setting that asks for one.
        """
        super().__init__(kind)
        self._setting = setting

    def for_bits(self, name: str, summary: BinarySummary | None = None, setting: str | None = None) -> B:
        """Return what a method does with bits; refuse one that cannot handle the rows.

        Args:
            name: The name of the method.
            summary: The rows, if they are at hand.
            setting: What asks for the method, if not the usual setting.
        """
        self._serve(name, summary, setting)
        return self[name].bits

    def for_tables(self, name: str, summary: TableSummary | None = None, setting: str | None = None) -> T:
        """Return what a method does with columns of any types; refuse one that cannot handle them, or the rows."""
        self.require(name, Can.COLUMNS, setting=setting)
        self._serve(name, summary, setting)
        found = self[name].tables
        assert found is not None, "columns of other types are refused above"
        return found

    def require(self, name: str, asked: Can, otherwise: str = "", setting: str | None = None) -> None:
        """Refuse a method that cannot handle some things.

        Args:
            name: The name of the method.
            asked: The things.
            otherwise: What else can be done than to use another method.
            setting: What asks for the method, if not the usual setting.
        """
        lacking = next((one for one in asked if not self[name].handles(one)), None)
        if lacking is None:
            return
        able = ", ".join(repr(other) for other in sorted(self) if self[other].handles(asked))
        if lacking is Can.COLUMNS:
            why = "is for tables of zeros and ones only; for columns of other types"
        else:
            why = f"cannot take {WORDS[lacking]};"
        raise ParameterError(
            f"{setting or self._setting}={name!r} {why} {f'use one of {able}' if able else 'no other can'}{otherwise}"
        )

    def _serve(self, name: str, summary: BinarySummary | TableSummary | None, setting: str | None) -> None:
        lacking = [one for one in WORDS if not self[name].handles(one)]
        if summary is not None and any(_asks(summary, one) for one in lacking):
            asked = [one for one in (Can.COLUMNS, *WORDS) if _asks(summary, one)]
            self.require(name, reduce(or_, asked), setting=setting)


def _asks(summary: BinarySummary | TableSummary, one: Can) -> bool:
    """Whether the rows of a slice ask for something that a method can handle or not."""
    columns = summary.columns if isinstance(summary, TableSummary) else ()
    match one:
        case Can.COLUMNS:
            return len(columns) > 0
        case Can.CATEGORIES:
            return any(not own.is_real and not own.domain.ordered and own.n_values > 2 for own in columns)
        case Can.REALS:
            return any(own.is_real for own in columns)
        case Can.MISSING:
            return not summary.complete
        case Can.WEIGHTS:
            weights = summary.rows()[1]
            return not (weights == weights[:1]).all()
    return False  # whether rows are out of core, their summary does not tell
