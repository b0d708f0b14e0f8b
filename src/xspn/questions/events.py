"""What questions mean: events over the columns of a table, as disjoint cases that leaves can add up.

A case says for some columns, and for some counts, which values are allowed. The complement of such a set is a set of
the same column, so negations vanish, and what is left of "or" is written as cases that exclude each other.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.errors import QueryError
from xspn.leaves.events import Intervals

MOST_CASES = 4096


@dataclass(frozen=True)
class Codes:
    """Some of the values 0..size−1."""

    size: int
    members: frozenset[int]

    @classmethod
    def where(cls, chosen: Iterable[Any]) -> "Codes":
        """Return the places at which something is true."""
        own = [bool(one) for one in chosen]
        return cls(len(own), frozenset(k for k, one in enumerate(own) if one))

    def __and__(self, other: "Codes") -> "Codes":
        return Codes(self.size, self.members & other.members)

    def __or__(self, other: "Codes") -> "Codes":
        return Codes(self.size, self.members | other.members)

    def complement(self) -> "Codes":
        """Return all other values."""
        return Codes(self.size, frozenset(range(self.size)) - self.members)

    @property
    def is_empty(self) -> bool:
        """Whether no value is left."""
        return not self.members


@dataclass(frozen=True)
class CountOf:
    """How many of some columns have a value that counts."""

    counted: tuple[tuple[int, frozenset[int]], ...]
    text: str = field(default="", compare=False)

    @property
    def variables(self) -> tuple[int, ...]:
        """The columns."""
        return tuple(column for column, _ in self.counted)


Key = int | CountOf  # a column, or a count
Allowed = Codes | Intervals
Case = Mapping[Key, Allowed]


class Event:
    """Disjoint cases; the event is that one of them comes true.

    Examples:
        >>> rain, wind = Event.of(0, Codes.where([0, 1])), Event.of(1, Codes.where([0, 1]))
        >>> len((rain | wind).cases), len((rain | ~rain & wind).cases), len((rain & ~rain).cases)
        (2, 2, 0)
    """

    def __init__(self, cases: Sequence[Case]) -> None:
        _refuse_too_many(cases)
        self.cases = tuple(cases)

    @classmethod
    def of(cls, key: Key, allowed: Allowed) -> "Event":
        """Return the event that a column, or a count, has one of some values."""
        if allowed.is_empty:
            return cls([])
        return cls([{}]) if allowed.complement().is_empty else cls([{key: allowed}])

    def __and__(self, other: "Event") -> "Event":
        return Event(list(self._within(other)))

    def _within(self, other: "Event") -> Iterator[Case]:
        found = 0
        for mine in self.cases:
            for theirs in other.cases:
                both = _intersection(mine, theirs)
                if both is not None:
                    found += 1
                    yield both
                if found > MOST_CASES:
                    return  # which is refused

    def __or__(self, other: "Event") -> "Event":
        return Event.union([self, other])

    def __invert__(self) -> "Event":
        return Event(_remaining([{}], self.cases))

    @classmethod
    def union(cls, events: Iterable["Event"]) -> "Event":
        """Return the event that at least one of some events comes true: each without the cases of those before it."""
        merged: dict[Any, Event] = {}
        for place, event in enumerate(events):
            literal = next(iter(event.cases[0].items())) if [len(case) for case in event.cases] == [1] else None
            known = merged.get(literal[0]) if literal is not None else None
            if literal is None or known is None or not known.cases or not known.cases[0]:
                merged[("event", place) if literal is None or known is not None else literal[0]] = event
            else:  # sets of one column, or of one count, are one set
                merged[literal[0]] = cls.of(literal[0], known.cases[0][literal[0]] | literal[1])  # type: ignore[operator]
        cases: list[Case] = []
        before: list[Case] = []
        for event in merged.values():
            cases += _remaining(event.cases, before)
            before += event.cases
            _refuse_too_many(cases)
        return cls(cases)


def _refuse_too_many(cases: Sequence[Case]) -> None:
    if len(cases) > MOST_CASES:
        raise QueryError(
            f"the event has more than {MOST_CASES:,} cases that exclude each other; ask for its parts, or with fewer "
            "alternatives"
        )


def _remaining(cases: Sequence[Case], taken: Iterable[Case]) -> list[Case]:
    """Return what is left of disjoint cases without some others, as disjoint cases."""
    left = list(cases)
    for other in taken:
        left = [part for case in left for part in _without(case, other)]
        _refuse_too_many(left)
    return left


def _without(case: Case, other: Case) -> Iterator[Case]:
    """Yield the parts of a case in which another one does not come true, condition by condition."""
    if _intersection(case, other) is None:
        yield case
        return
    inside = dict(case)
    for key, allowed in other.items():
        known, outside = inside.get(key), allowed.complement()
        failing = outside if known is None else known & outside  # type: ignore[operator]
        if not failing.is_empty:
            yield {**inside, key: failing}
        inside[key] = allowed if known is None else known & allowed  # type: ignore[operator]


def _intersection(first: Case, second: Case) -> Case | None:
    """Return the case that both cases come true, None if they exclude each other."""
    both = dict(first)
    for key, allowed in second.items():
        known = both.get(key)
        both[key] = allowed if known is None else known & allowed  # type: ignore[operator]
        if both[key].is_empty:
            return None
    return both


def plain_row(event: Event, width: int) -> FloatArray | None:
    """Return the row of an event that only fixes values, None for any other."""
    row = np.full(width, np.nan)
    if len(event.cases) != 1:
        return None
    for key, allowed in event.cases[0].items():
        value = fixed_value(allowed)
        if not isinstance(key, int) or value is None:
            return None
        row[key] = value
    return row


def fixed_value(allowed: Allowed) -> float | None:
    """Return the only value of a set, None if it has several."""
    if isinstance(allowed, Codes):
        return float(next(iter(allowed.members))) if len(allowed.members) == 1 else None
    return allowed.bounds[0][0] if len(allowed.bounds) == 1 and allowed.bounds[0][0] == allowed.bounds[0][1] else None


def is_point(allowed: Allowed) -> bool:
    """Whether a set of real numbers has single numbers only, so that it has a density and no probability."""
    return isinstance(allowed, Intervals) and all(low == high for low, high in allowed.bounds)
