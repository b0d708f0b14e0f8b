"""A circuit on a back end of the user's choice."""

from collections.abc import Callable
from functools import partial
from typing import Any

from xspn.engine import Backend
from xspn.model.columns import Columns
from xspn.model.questions import Questions


class Evaluator(Questions):
    """Answers a circuit's questions on one back end; made by `Circuit.on`. Any number of threads may use it.

    Answers do not depend on the number of threads, nor on how rows are cut into tables: bit for bit.
    """

    def __init__(self, backend: Backend, columns: Columns, is_selective: Callable[[], bool]) -> None:
        self._backend, self._columns, self._selective = backend, columns, is_selective

    @property
    def backend(self) -> Backend:
        """What runs the circuit."""
        return self._backend

    @property
    def columns(self) -> Columns:
        """What is known of the columns: names, domains, labels and types."""
        return self._columns

    @property
    def error_bound(self) -> float:
        """How far a log-likelihood can be from exact arithmetic on the same parameters, by rounding alone.

        Every value is a sum of products of positive numbers, so this follows from the circuit's shape: at most so many
        roundings in a row, each of half a unit in the last place.
        """
        return self._backend.error_bound

    def _is_selective(self) -> bool:
        return self._selective()

    def __reduce__(self) -> tuple[Any, ...]:
        return Evaluator, (self._backend, self._columns, partial(bool, self._is_selective()))

    def __repr__(self) -> str:
        return f"Evaluator({self._backend!r})"
