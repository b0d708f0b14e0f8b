"""What all peers share: the task in JSON, the best of some runs, the answer in JSON."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def task() -> tuple[list[Any], np.ndarray, int]:
    """Return the nodes of the circuit (children first), the rows, and its number of edges."""
    folder = Path(sys.argv[1])
    nodes = json.loads((folder / "nodes.json").read_text())
    return nodes, np.load(folder / "rows.npy"), sum(len(node["children"]) for node in nodes)


def answer(evaluate: Callable[[], np.ndarray], n_rows: int, **more: Any) -> None:
    """Time an evaluation of all rows, in processor seconds of one thread, and print what came of it."""
    found = evaluate()
    times: list[float] = []
    while len(times) < 3 or (sum(times) < 3 and len(times) < 20):
        start = time.process_time()
        evaluate()
        times.append(time.process_time() - start)
    values = np.asarray(found, dtype=float).ravel()[:200].tolist()
    print(json.dumps({"rows_per_second": n_rows / min(times), "log_likelihood": values, **more}))
