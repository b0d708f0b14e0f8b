"""What the leaves over one variable have in common."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Self

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.errors import StructureError
from xspn.graph.nodes import Node
from xspn.graph.scope import Scope
from xspn.leaves.base import Leaf


@lru_cache(maxsize=4096)
def _scope_of(variable: int) -> Scope:
    return Scope(1 << variable)


class Univariate(Leaf):
    """A leaf over one variable: marginalizing or conditioning leaves it whole or removes it."""

    __slots__ = ()

    def _set_variables(self, variables: int | Iterable[int]) -> None:
        if type(variables) is int and variables >= 0:  # what learners and files make by the thousand
            write = object.__setattr__  # nothing is sealed yet
            write(self, "scope", _scope_of(variables))
            write(self, "_variables", (variables,))
            write(self, "children", ())
        else:
            super()._set_variables(variables)
            self._only(self._variables)

    @classmethod
    def _only(cls, variables: tuple[int, ...]) -> int:
        """Return the leaf's variable, if there is just one."""
        if len(variables) != 1:
            raise StructureError(f"{cls.__name__}: expected one variable, found {len(variables)}")
        return variables[0]

    @classmethod
    def _in_bulk(cls, variables: Sequence[tuple[int, ...]], **slots: Iterable[Any]) -> list[Self]:
        if any(len(own) != 1 for own in set(variables)):
            raise StructureError(f"{cls.__name__}: expected one variable for each leaf")
        return super()._in_bulk(variables, **slots)

    def marginalize(self, keep: Scope) -> Node | None:
        """Return the leaf itself if its variable is kept."""
        return self if self.scope & keep else None

    def condition(self, x: FloatArray) -> tuple[Node | None, float]:
        """Return the leaf itself if its variable is missing, otherwise the value's log-probability."""
        if np.isnan(x[0]):
            return self, 0.0
        return None, float(self.log_prob(x[None, :])[0])
