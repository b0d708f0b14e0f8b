"""Small requests that arrive together are computed together; one that arrives alone is computed at once.

A call of a compiled kernel costs as much for one row as for a dozen. So while requests keep coming in, rows wait for
each other, for a few hundred microseconds at most. Timers of event loops are too coarse for that: the loop is turned
instead, which takes up what has arrived, until turns bring nothing new. A request that is alone waits for nothing.
"""

import asyncio
from collections.abc import Callable
from time import perf_counter

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.errors import XSPNError
from xspn.service.models import Compute, Model

WINDOW = 300e-6  # seconds that a row waits for others at most
IDLE_TURNS = 1  # that bring nothing new before the batch is computed: turning the loop has its price, too
MOST_ROWS = 512  # that are computed at once on the loop

Waiting = list[tuple[FloatArray, "asyncio.Future[FloatArray]"]]


class Batcher:
    """Gathers the rows of small requests, by model and question.

    Args:
        under_way: Says how many requests are under way, those included that were just read from their connections.
        on_batch: Told the number of requests of each batch.
    """

    def __init__(self, under_way: Callable[[], int], on_batch: Callable[[int], None]) -> None:
        self._under_way, self._on_batch = under_way, on_batch
        self._waiting: dict[tuple[Model, str, Compute], Waiting] = {}
        self._rows = self._seen = self._idle = 0
        self._opened = 0.0

    async def result(self, model: Model, name: str, compute: Compute, rows: FloatArray) -> FloatArray:
        """Return what a question gives for some rows, computed with others if there are others."""
        if not self._waiting and self._under_way() <= 1:
            return self._computed(model, name, compute, rows, 1)
        loop = asyncio.get_running_loop()
        if not self._waiting:
            self._opened, self._rows, self._seen, self._idle = perf_counter(), 0, 0, 0
            loop.call_soon(self._turn, loop)
        own: asyncio.Future[FloatArray] = loop.create_future()
        self._waiting.setdefault((model, name, compute), []).append((rows, own))
        self._rows += len(rows)
        return await own

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._idle = self._idle + 1 if self._seen == self._rows else 0
        self._seen = self._rows
        is_open = perf_counter() - self._opened < WINDOW and self._rows < MOST_ROWS
        if is_open and self._idle < IDLE_TURNS:
            loop.call_soon(self._turn, loop)
            return
        waiting, self._waiting = self._waiting, {}
        for (model, name, compute), group in waiting.items():
            self._answer(model, name, compute, [(rows, own) for rows, own in group if not own.done()])

    def _answer(self, model: Model, name: str, compute: Compute, group: Waiting) -> None:
        """Compute a batch; if that is refused, each request by itself, so that it is told of its own rows only."""
        if len(group) > 1:
            try:
                found = self._computed(model, name, compute, np.concatenate([rows for rows, _ in group]), len(group))
            except XSPNError:
                pass
            else:
                stop = 0
                for rows, own in group:
                    start, stop = stop, stop + len(rows)
                    own.set_result(found[start:stop])
                return
        for rows, own in group:
            try:
                own.set_result(self._computed(model, name, compute, rows, 1))
            except Exception as error:
                own.set_exception(error)

    def _computed(self, model: Model, name: str, compute: Compute, rows: FloatArray, requests: int) -> FloatArray:
        self._on_batch(requests)
        return model.computed(name, compute, rows)
