"""The service under load, on loopback: senate model, one worker, a loader of our own in this process.

    XSPN_DATA=../shared/data python benchmarks/service.py                  # all parts, some minutes
    XSPN_DATA=../shared/data python benchmarks/service.py rate --short     # a few seconds

rate: single-row marginal queries a second over 32 connections, and the time of answers at half of 3,000 a second.
batches: 10,000 rows in one request against the same question to the library, from the same bytes.
memory: of the worker over 200,000 requests. chaos: mixed load for a minute while the model is swapped every second and
a worker is killed twice; every answer is compared with the library's.

Seconds of a busy machine say little: requests per processor second of the worker are what the service costs.
"""

import asyncio
import io
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import parser, verdict

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.chaos import chaos
from support.serving import Running, closed_load, open_load, post, request
from xspn import XSPN, Circuit, datasets, load, save

LEAST_RATE, SLOWEST, MOST_TIMES = 3000, 0.010, 2.0
PARTS = ("rate", "batches", "memory", "chaos")


def _run(main):
    """Run on a fast event loop if there is one: the loader has its part in what is measured."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        new_event_loop = asyncio.new_event_loop
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)


def processor_seconds(pid: int) -> float:
    """Return what all threads of a process have taken; `stat` would tell it in hundredths of a second."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def resident_megabytes(pid: int) -> float:
    """Return the memory that is the process's own."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def marginal_requests(X: np.ndarray, names: tuple[str, ...], n: int = 2000) -> list[bytes]:
    """Return requests about single rows, half of whose cells are known."""
    rng = np.random.default_rng(0)
    found = []
    for row in X[rng.integers(len(X), size=n)]:
        known = {name: int(value) for name, value in zip(names, row, strict=True) if rng.random() < 0.5}
        found.append(request("/v1/models/senate/marginals", json.dumps({"rows": [known]}).encode()))
    return found


def rate(service: Running, requests: list[bytes], short: bool) -> None:
    pid, total = service.workers()[0], 3000 if short else 30_000
    _run(closed_load(service.port, requests, 1000, 32))
    best, by_processor = 0.0, 0.0
    for _ in range(1 if short else 5):
        before = processor_seconds(pid)
        done = _run(closed_load(service.port, requests, total, 32))
        spent = processor_seconds(pid) - before
        best, by_processor = max(best, total / done.wall), max(by_processor, total / spent)
        assert set(done.statuses) == {200}, done.statuses
    print(f"marginals, one row, 32 connections: {best:,.0f} a second; {by_processor:,.0f} a processor second")
    print(
        f"  at least {LEAST_RATE:,} on one core: {verdict(by_processor >= LEAST_RATE)} (processor), "
        f"{verdict(best >= LEAST_RATE)} (wall, beside the loader and others)"
    )
    alone = _run(closed_load(service.port, requests, 2000, 1))
    middle, late = np.quantile(alone.seconds, (0.5, 0.99))
    print(f"one connection: {1e3 * middle:.2f} ms median, {1e3 * late:.2f} ms p99")
    runs, idle = [], []
    with Yardstick() as yardstick:
        for _ in range(1 if short else 5):
            for port, found in ((yardstick.port, idle), (service.port, runs)):
                done = _run(open_load(port, requests, total // 2, LEAST_RATE / 2, 256))
                found.append(1e3 * np.quantile(done.seconds, (0.5, 0.99)))
    for name, found in (("service", runs), ("a server that answers nothing", idle)):
        middle, late = min(found, key=lambda own: own[1])
        every = ", ".join(f"{own[1]:.1f}" for own in found)
        held = verdict(late <= 1e3 * SLOWEST) if found is runs else ""
        times = f"{middle:.2f} ms median, {late:.2f} p99 (of all runs: {every})"
        print(f"at {LEAST_RATE // 2:,} a second, {name}: {times} {held}")


class Yardstick:
    """A process that sends the same answer to whatever arrives: what the machine and the loader take by themselves."""

    CODE = """
import asyncio, sys
class Always(asyncio.Protocol):
    def connection_made(self, transport): self.transport = transport
    def data_received(self, data): self.transport.write(b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\n{}")
async def main():
    server = await asyncio.get_running_loop().create_server(Always, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""

    def __enter__(self) -> "Yardstick":
        self._process = subprocess.Popen([sys.executable, "-c", self.CODE], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def batches(service: Running, circuit: Circuit, X: np.ndarray, names: tuple[str, ...], short: bool) -> None:
    import pandas as pd
    import pyarrow as pa

    pid, n = service.workers()[0], 1000 if short else 10_000
    codes = np.resize(X, (n, X.shape[1])).astype(np.uint8)
    table = pa.table({name: codes[:, j] for j, name in enumerate(names)})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    rows = [dict(zip(names, row, strict=True)) for row in codes.tolist()]
    lines = b"\n".join(json.dumps(row).encode() for row in rows)
    whole = json.dumps({"rows": rows}).encode()
    fast = circuit.to("numba", threads=1)
    forms = {
        "Arrow": (
            sink.getvalue(),
            "application/vnd.apache.arrow.stream",
            lambda ask: ask(pa.ipc.open_stream(sink.getvalue()).read_all()),
        ),
        "NDJSON": (lines, "application/x-ndjson", lambda ask: ask(pd.DataFrame(map(json.loads, lines.split(b"\n"))))),
        "JSON": (whole, "application/json", lambda ask: ask(pd.DataFrame(json.loads(whole)["rows"]))),
    }
    print(
        f"{n:,} rows in one request; milliseconds, least of five; the library is asked from the same bytes, "
        "and from an array of codes"
    )
    for name, ask in (("score", fast.log_likelihood), ("marginals", fast.marginals)):
        plain = min(_timed(ask, codes.astype(np.float64))[0] for _ in range(5))
        for form, (body, kind, called) in forms.items():
            library, own = (min(found) for found in zip(*(_timed(called, ask) for _ in range(5)), strict=True))
            walls, costs = [], []
            for _ in range(5):
                before, started = processor_seconds(pid), time.perf_counter()
                status, _, answer = post(service.port, f"/v1/models/senate/{name}", body, kind)
                walls.append(time.perf_counter() - started)
                costs.append(processor_seconds(pid) - before)
                assert status == 200, answer[:300]
            wall, cost = min(walls), min(costs)
            times = f"request {1e3 * wall:7.1f} (processor {1e3 * cost:4.0f}), library {1e3 * library:7.1f} "
            times += f"({1e3 * own:4.0f})"
            held = f"{wall / library:.2f} times {verdict(wall <= MOST_TIMES * library)}"
            by_processor = f"processor {cost / own:.2f} {verdict(cost <= MOST_TIMES * own)}"
            print(f"  {name:<10}{form:<7}{times}, array {1e3 * plain:6.1f}: {held}, {by_processor}")


def _timed(job, *arguments: object) -> tuple[float, float]:
    """Return seconds, and processor seconds."""
    before, started = time.process_time(), time.perf_counter()
    job(*arguments)
    return time.perf_counter() - started, time.process_time() - before


def memory(service: Running, requests: list[bytes], short: bool) -> None:
    pid, total, at_once = service.workers()[0], 10_000 if short else 200_000, 2000 if short else 20_000
    sizes = []
    for _ in range(0, total, at_once):
        _run(closed_load(service.port, requests, at_once, 16))
        sizes.append(resident_megabytes(pid))
    grown = sizes[-1] - sizes[0]
    shown = ", ".join(f"{own:.1f}" for own in sizes)
    print(f"memory of the worker alone, every {at_once:,} of {total:,} requests, MB: {shown}")
    print(f"  grown by {grown:+.1f} MB after the first {at_once:,}: {verdict(grown < 5)}")


def main() -> None:
    own = parser(__doc__, PARTS)
    own.add_argument("--short", action="store_true", help="a few seconds of each")
    own.add_argument("--model", help="a model file of the senate data (default: one is fitted)")
    args = own.parse_args()
    data = datasets.load("senate")
    X = data.test.astype(np.float64)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(args.model or f"{folder}/senate.json")
        if args.model is None:
            save(XSPN(random_state=0).fit(data.train).circuit_, path)
        circuit = load(path)
        names = circuit.schema.shown_names
        print(f"senate: {circuit.summary()}")
        requests = marginal_requests(X, names)
        if {"rate", "batches", "memory"} & set(args.parts):
            with Running(f"senate={path}", "--max-body", "64") as service:
                if "rate" in args.parts:
                    rate(service, requests, args.short)
                if "batches" in args.parts:
                    batches(service, circuit, X, names, args.short)
                if "memory" in args.parts:
                    memory(service, requests, args.short)
        if "chaos" in args.parts:
            print(chaos(circuit, Path(folder), seconds=6 if args.short else 60, swap=1.0, kills=2))


if __name__ == "__main__":
    main()
