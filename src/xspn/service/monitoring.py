"""Counters that all workers share, as Prometheus reads them; and logs of one JSON object a line, without data cells."""

import sys
import time
from bisect import bisect_left
from collections.abc import Sequence
from mmap import mmap
from typing import Any, TextIO

import numpy as np
import orjson

STATUSES = (200, 304, 400, 401, 404, 405, 406, 408, 413, 415, 422, 429, 500, 503)
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
HELP = {
    "requests_total": ("counter", "Requests that were answered, by status."),
    "rows_total": ("counter", "Rows that were asked about."),
    "batches_total": ("counter", "Computations on behalf of small requests."),
    "batched_requests_total": ("counter", "Small requests that these computations answered."),
    "in_flight": ("gauge", "Requests under way."),
    "reloads_total": ("counter", "Model files that were taken up after a change, by each worker."),
    "worker_starts_total": ("counter", "Times that workers were started."),
}


class Metrics:
    """Numbers in memory that workers share: each worker writes its own row, and whoever is asked adds the rows up.

    A worker that takes the place of another goes on with its numbers, so that totals never fall.

    Args:
        workers: How many workers there are.
        models: The names of the models.
        queries: The names of what can be asked, and of other addresses.

    Examples:
        >>> metrics = Metrics(1, ["senate"], ["score"])
        >>> metrics.of_worker(0).add_request("senate", "score", 200, 0.003, 5)
        >>> print([line for line in metrics.text().splitlines() if line.startswith("xspn_rows_total")][0])
        xspn_rows_total{model="senate",query="score"} 5
    """

    def __init__(self, workers: int, models: Sequence[str], queries: Sequence[str]) -> None:
        keys: list[tuple[str, str]] = []  # (metric, labels)
        self._places: dict[tuple[str, str], tuple[int, int, dict[int, int]]] = {}
        for model in ("", *models):
            for query in queries:
                labels = f'model="{model}",query="{query}"'
                first = len(keys)
                keys += [("requests_total", f'{labels},status="{status}"') for status in STATUSES]
                statuses = {status: first + k for k, status in enumerate(STATUSES)}
                keys.append(("rows_total", labels))
                seconds = len(keys)
                keys += [("request_seconds_bucket", f'{labels},le="{bound}"') for bound in (*SECONDS, "+Inf")]
                keys.append(("request_seconds_sum", labels))
                self._places[model, query] = (seconds - 1, seconds, statuses)
        self.single = {}
        for name in HELP:
            if name not in ("requests_total", "rows_total"):
                self.single[name] = len(keys)
                keys.append((name, ""))
        self._keys = keys
        self._memory = mmap(-1, max(workers, 1) * len(keys) * 8)  # anonymous, and shared with processes forked later
        self._table = np.frombuffer(self._memory, dtype=np.float64).reshape(max(workers, 1), len(keys))

    def of_worker(self, number: int) -> "WorkerMetrics":
        """Return the row of a worker, which is under way with nothing yet."""
        row = self._table[number]
        row[self.single["in_flight"]] = 0
        row[self.single["worker_starts_total"]] += 1
        return WorkerMetrics(row, self._places, self.single)

    def text(self, versions: dict[str, str] | None = None) -> str:
        """Return all numbers as Prometheus reads them; those of what was never asked are left out."""
        totals = self._table.sum(axis=0).tolist()
        lines: list[str] = []
        for name, (kind, help_text) in HELP.items():
            lines += [f"# HELP xspn_{name} {help_text}", f"# TYPE xspn_{name} {kind}"]
            for (metric, labels), total in zip(self._keys, totals, strict=True):
                if metric == name and (total or not labels):
                    lines.append(f"xspn_{name}{f'{{{labels}}}' if labels else ''} {total:.0f}")
        lines += [
            "# HELP xspn_request_seconds Time from a request's head to its answer.",
            "# TYPE xspn_request_seconds histogram",
        ]
        for (model, query), (_, first, _) in self._places.items():
            counts = np.cumsum(totals[first : first + len(SECONDS) + 1])
            if counts[-1]:
                labels = f'model="{model}",query="{query}"'
                for bound, count in zip((*SECONDS, "+Inf"), counts.tolist(), strict=True):
                    lines.append(f'xspn_request_seconds_bucket{{{labels},le="{bound}"}} {count:.0f}')
                lines.append(f"xspn_request_seconds_sum{{{labels}}} {totals[first + len(SECONDS) + 1]:.6f}")
                lines.append(f"xspn_request_seconds_count{{{labels}}} {counts[-1]:.0f}")
        lines += ["# HELP xspn_model_info The version of each model.", "# TYPE xspn_model_info gauge"]
        lines += [f'xspn_model_info{{model="{name}",version="{own}"}} 1' for name, own in (versions or {}).items()]
        return "\n".join([*lines, ""])


class WorkerMetrics:
    """The numbers that one worker writes."""

    def __init__(
        self, row: Any, places: dict[tuple[str, str], tuple[int, int, dict[int, int]]], single: dict[str, int]
    ):
        self._row, self._places, self._single = row, places, single

    def add(self, name: str, amount: float = 1) -> None:
        """Add to a number without labels."""
        self._row[self._single[name]] += amount

    def add_request(self, model: str, query: str, status: int, seconds: float, rows: int) -> None:
        """Count a request that was answered."""
        own, first, statuses = self._places[model, query]
        row = self._row
        row[statuses.get(status, statuses[500])] += 1
        row[own] += rows
        row[first + bisect_left(SECONDS, seconds)] += 1
        row[first + len(SECONDS) + 1] += seconds


class Log:
    """Lines of JSON on standard error.

    Args:
        level: "quiet" (faults only), "info" (what the service does), "requests" (each request too) or "data" (also what
            is wrong with requests in words, which may quote cells).
        stream: Where to; standard error by default.
    """

    LEVELS = ("quiet", "info", "requests", "data")

    def __init__(self, level: str = "info", stream: TextIO | None = None) -> None:
        self.rank, self._stream = self.LEVELS.index(level), stream

    @property
    def has_requests(self) -> bool:
        """Whether each request is told."""
        return self.rank >= 2

    @property
    def has_data(self) -> bool:
        """Whether lines may quote what a request holds."""
        return self.rank >= 3

    def take_warning(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        """Tell of a warning of Python in a line like all others; its words may quote cells."""
        words = {"note": str(message)} if self.has_data or issubclass(category, RuntimeWarning) else {}
        self.tell("warning", "quiet", kind=category.__name__, place=f"{filename}:{lineno}", **words)

    def tell(self, event: str, level: str = "info", **facts: Any) -> None:
        """Write a line, unless the level leaves it out."""
        if self.LEVELS.index(level) > self.rank:
            return
        now = time.time()
        stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now * 1000) % 1000:03d}Z"
        line = orjson.dumps({"time": stamp, "event": event, **facts}, default=str)
        stream = self._stream or sys.stderr
        try:
            stream.write(line.decode() + "\n")
            stream.flush()
        except (OSError, ValueError):
            return  # nobody listens: requests are answered all the same
