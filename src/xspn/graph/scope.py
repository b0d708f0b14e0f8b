"""A small immutable set of variable indices."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from xspn.core.errors import StructureError


@dataclass(frozen=True, slots=True)
class Scope:
    """A set of variables, held as the bits of one integer: set operations cost next to nothing.

    Examples:
        >>> a, b = Scope.of([0, 2]), Scope.of([2, 5])
        >>> list(a | b), list(a & b), 5 in b, len(a)
        ([0, 2, 5], [2], True, 2)
    """

    bits: int = 0

    @classmethod
    def of(cls, variables: Iterable[int]) -> "Scope":
        """Return the scope of these variables; negative or repeated ones are refused."""
        bits = 0
        for variable in variables:
            if isinstance(variable, bool | np.bool_) or not isinstance(variable, int | np.integer):
                raise StructureError(f"scope: expected integer variable indices, found {variable!r}")
            if variable < 0:
                raise StructureError(f"scope: expected indices of at least 0, found {variable}")
            bit = 1 << int(variable)
            if bits & bit:
                raise StructureError(f"scope: variable {variable} occurs twice")
            bits |= bit
        return cls(bits)

    def __or__(self, other: "Scope") -> "Scope":
        return Scope(self.bits | other.bits)

    def __and__(self, other: "Scope") -> "Scope":
        return Scope(self.bits & other.bits)

    def __sub__(self, other: "Scope") -> "Scope":
        return Scope(self.bits & ~other.bits)

    def __contains__(self, variable: int) -> bool:
        return bool(self.bits >> variable & 1)

    def __iter__(self) -> Iterator[int]:
        bits = self.bits
        while bits:
            low = bits & -bits
            yield low.bit_length() - 1
            bits ^= low

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __bool__(self) -> bool:
        return self.bits != 0

    @property
    def width(self) -> int:
        """One more than the largest variable: the columns that a table needs at least."""
        return self.bits.bit_length()

    def __str__(self) -> str:
        shown = [str(v) for _, v in zip(range(8), self, strict=False)]
        return "{" + ", ".join(shown) + (f", … {len(self)} in all" if len(self) > 8 else "") + "}"


def why_not_disjoint(scopes: Iterable[Scope]) -> str | None:
    """Return the reason why scopes are not pairwise disjoint, or None."""
    seen = Scope()
    for position, scope in enumerate(scopes):
        both = seen & scope
        if both:
            return f"child {position} shares variables {both} with an earlier child"
        seen = seen | scope
    return None


def why_not_equal(scopes: Iterable[Scope]) -> str | None:
    """Return the reason why scopes are not all the same, or None."""
    first: Scope | None = None
    for position, scope in enumerate(scopes):
        if first is None:
            first = scope
        elif scope != first:
            missing, extra = first - scope, scope - first
            parts = [f"lacks {missing}"] if missing else []
            parts += [f"adds {extra}"] if extra else []
            return f"child {position} {' and '.join(parts)} compared with child 0, which has {first}"
    return None
