"""Rows per second of the torch back end on an accelerator, for circuits that `benchmarks/inference.py` has saved.

python benchmarks/inference.py circuits --folder FOLDER  # where the data is
python benchmarks/inference_gpu.py FOLDER                # where the accelerator is

Completions (`mpe`) and samples are checked row by row against the compiled kernels of the CPU.

The fraction of memory bandwidth is that of the least traffic of a pass over levels, in which every value is written
once and read once for each edge, against the bandwidth of a large copy on the same device.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from xspn import load
from xspn.circuit import Circuit
from xspn.engine.program import ProductStep
from xspn.engine.torch_backend import TorchBackend

BATCH = 1 << 18


def best_of(repeats: int, job: Callable[[], object]) -> float:
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        job()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


def copy_bandwidth() -> float:
    """Bytes read and written a second by a copy that no cache holds."""
    source = torch.empty(1 << 30, dtype=torch.float32, device="cuda").uniform_()
    target = torch.empty_like(source)
    target.copy_(source)
    return 2 * source.nbytes / best_of(10, lambda: target.copy_(source))


def traffic(circuit: Circuit, itemsize: int) -> int:
    """The least bytes for a row: a value is written once and read once for each edge."""
    program = circuit.program
    edges = sum(s.children.nnz if isinstance(s, ProductStep) else s.children.size for s in program.steps)
    return itemsize * (program.n_slots + edges + 2 * len(program.domains))


def measure(name: str, circuit: Circuit, X: np.ndarray, bandwidth: float) -> list[dict[str, object]]:
    rng = np.random.default_rng(0)
    rows = X[rng.integers(len(X), size=BATCH)]
    half = np.where(rng.random(rows.shape) < 0.5, np.nan, rows).astype(np.float32)
    numpy = circuit.to("numpy")
    found = []
    for dtype in ("float64", "float32"):
        fast = circuit.to(device="cuda", dtype=dtype)
        assert isinstance(fast.backend, TorchBackend)
        for kind, table in (("whole", rows), ("half missing", half)):
            few = table[:200]
            error = np.abs(fast.log_likelihood(few) - numpy.log_likelihood(few)).max()
            off = np.abs(fast.marginals(few[:50]) - numpy.marginals(few[:50])).max()
            fast.backend.log_likelihood(table[: 1 << 15])
            seconds = best_of(3, lambda fast=fast, table=table: fast.backend.log_likelihood(table))
            part = table[: 1 << 15]
            marginals = best_of(2, lambda fast=fast, part=part: fast.backend.marginals(part))
            fraction = traffic(circuit, 8 if dtype == "float64" else 4) * BATCH / seconds / bandwidth
            row = {
                "circuit": name,
                "dtype": dtype,
                "rows": kind,
                "rows_per_second": BATCH / seconds,
                "fraction_of_bandwidth": fraction,
                "marginal_rows_per_second": len(part) / marginals,
                "error": float(error),
                "marginal_error": float(off),
                "error_bound": fast.error_bound,
            }
            found.append(row)
            print(
                f"{name:<10}{dtype:<9}{kind:<13}{BATCH / seconds:>13,.0f} rows/s{fraction:>7.0%} of bandwidth"
                f"{len(part) / marginals:>13,.0f} marginals/s   error {error:.1e} ({fast.error_bound:.1e}), {off:.1e}",
                flush=True,
            )
    return found


def completions(name: str, circuit: Circuit, X: np.ndarray) -> dict[str, object]:
    """Rows completed and sampled a second, on the device and by all cores, and how many rows come out otherwise."""
    rng = np.random.default_rng(1)
    rows = X[rng.integers(len(X), size=1 << 15)].astype(np.float64)
    half = np.where(rng.random(rows.shape) < 0.5, np.nan, rows)
    device, cpu = circuit.to(device="cuda"), circuit.to()
    asked = {
        "mpe": lambda on: on.mpe(half).values,
        "sample": lambda on: on.sample(len(rows), random_state=0),
        "sample given": lambda on: on.sample(given=half, random_state=0),
    }
    found: dict[str, object] = {"circuit": name}
    for query, ask in asked.items():
        own, expected = (np.asarray(ask(on)).reshape(len(rows), -1) for on in (device, cpu))
        other = int((own != expected).any(axis=1).sum())
        speeds = [len(rows) / best_of(3, lambda ask=ask, on=on: ask(on)) for on in (device, cpu)]
        found[query] = {"rows_per_second": speeds[0], "cpu_rows_per_second": speeds[1], "other_rows": other}
        print(
            f"{name:<15}{query:<13}{speeds[0]:>13,.0f} rows/s, all CPU cores {speeds[1]:>13,.0f}; "
            f"{other} of {len(rows):,} rows otherwise",
            flush=True,
        )
    return found


def main(folder: Path) -> None:
    bandwidth = copy_bandwidth()
    name = torch.cuda.get_device_name()
    print(f"torch {torch.__version__}, {name}, copies {bandwidth / 1e12:.2f} TB/s, batches of 2^18 rows\n", flush=True)
    found = []
    for path in sorted(folder.glob("*.json")):
        data = np.load(folder / f"{path.stem.split('-')[0]}.npy")
        found += measure(path.stem, load(path), data, bandwidth)
        found.append(completions(path.stem, load(path), data))
    target = Path(os.environ.get("OUT", folder))
    report = {"device": name, "bandwidth": bandwidth, "torch": torch.__version__, "batch": BATCH, "results": found}
    (target / "gpu.out").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
