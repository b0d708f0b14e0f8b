"""Progress of long work: code calls `step()`, and a `Meter` turns steps into a fraction of the work.

The number of steps of a part of the work is not known beforehand: EM stops when it has converged. So each step counts
for a fraction of its part, which shrinks with every step, and the end of the part counts for the rest: progress never
goes back, and ends at 100 %.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from time import monotonic

Progress = Callable[[float, float], None]  # (how much is done, of how much)
SECONDS_BETWEEN_STEPS = 0.2  # single steps are told no more often; ends of parts always
USUAL_STEPS = 150.0  # after so many, half of a part is supposed to be done
ALL_BUT_ROUNDING = 1 - 1e-9

_on_step: ContextVar[Callable[[float], None] | None] = ContextVar("on_step", default=None)


def step(weight: float = 1.0) -> None:
    """Report that a step is done to the listener, if there is one."""
    listener = _on_step.get()
    if listener is not None:
        listener(weight)


@contextmanager
def heard(listener: Callable[[float], None]) -> Iterator[None]:
    """Tell a listener of the steps that are done inside, in this thread."""
    before = _on_step.set(listener)
    try:
        yield
    finally:
        _on_step.reset(before)


class WorkPart:
    """A part of the work: its steps add up to less than the whole of it, until it ends."""

    def __init__(self, size: float, add: Callable[[float, float], None]) -> None:
        self._size, self._add = size, add
        self._steps, self._begun = 0.0, 0.0

    def step(self, weight: float) -> None:
        """Count a step."""
        self._steps += weight
        begun = self._size * self._steps / (self._steps + USUAL_STEPS)
        self._add(0.0, begun - self._begun)
        self._begun = begun

    def end(self) -> None:
        """Count what is left."""
        self._add(self._size, -self._begun)


class Meter:
    """Adds up the work done, in several threads if need be, and reports it.

    Args:
        progress: Called with the work done and the total; with None, steps go to an enclosing meter, if there is one.
        of: How much there is to do.

    Examples:
        >>> meter = Meter(lambda done, of: print(f"{done:.0f} of {of}"), of=3)
        >>> with meter.part(2):
        ...     step()  # a fraction of this part; not reported, because hardly any time has passed
        2 of 3
        >>> with meter.part(1):
        ...     pass
        3 of 3
    """

    def __init__(self, progress: Progress | None, of: float) -> None:
        self._progress, self._of = progress, of
        self._whole, self._begun = 0.0, 0.0  # parts that are over, and what is done of others
        self._told_at = monotonic()
        self._lock = Lock()

    @contextmanager
    def part(self, size: float) -> Iterator[None]:
        """Count the steps that are done inside towards a part of the work, which is done at the end."""
        if self._progress is None:
            yield
            return
        part = self.begin(size)
        with heard(part.step):
            yield
        part.end()

    def begin(self, size: float) -> WorkPart:
        """Return a part of the work, which is to be told of its steps and its end."""
        return WorkPart(size, self._add)

    def add(self, size: float) -> None:
        """Count a part that is done at once."""
        if self._progress is not None:
            self._add(size, 0.0)

    def _add(self, whole: float, begun: float) -> None:
        with self._lock:
            self._whole += whole
            self._begun += begun
            now = monotonic()
            if self._progress is not None and (whole or now - self._told_at >= SECONDS_BETWEEN_STEPS):
                self._told_at = now
                done = self._whole + self._begun
                self._progress(self._of if done > self._of * ALL_BUT_ROUNDING else done, self._of)
