"""Scoring in a fresh process: what a script pays that loads a model and scores one table, against cirkit.

    XSPN_DATA=../shared/data python benchmarks/peers.py [nltcs plants jester] [--rows 10000] [--runs 5]

The learned circuit (defaults) is loaded from its file and scores rows of the test set, drawn again; cirkit compiles a
circuit over a Chow-Liu tree of the same columns with 16 units, and scores the same rows. In both the first call in the
process is timed, in processor seconds of one thread, without imports, loading and compiling of the circuit, but with
all that the call itself loads: compiled kernels come from the disk. The least of some processes counts. cirkit has an
environment of its own, made by `python benchmarks/inference_peers/install.py`.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import parser, verdict

from xspn import XSPN, datasets, save

HERE = Path(__file__).parent
CIRKIT = HERE.parent / ".peers" / "cirkit" / "bin" / "python"
NAMES = ("nltcs", "plants", "jester")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
OWN = """
import sys, time
import numpy as np
from xspn import load
circuit, rows = load(sys.argv[1]), np.load(sys.argv[2])
start = time.process_time()
circuit.log_likelihood(rows)
print(time.process_time() - start)
"""


def seconds(python: Path | str, *arguments: str | Path, runs: int) -> float:
    """Return the least processor seconds that some processes report, after one that may leave compiled code behind."""
    times = []
    for _ in range(runs + 1):
        done = subprocess.run(
            [python, *arguments], capture_output=True, text=True, check=True, env={**os.environ, **ONE_THREAD}
        )
        times.append(float(done.stdout.splitlines()[-1]))
    return min(times[1:])


def main() -> None:
    own = parser(__doc__, NAMES)
    own.add_argument("--rows", type=int, default=10_000)
    own.add_argument("--runs", type=int, default=5, help="processes, of which the fastest counts")
    arguments = own.parse_args()
    print(f"{'data':<9}{'edges':>8}{'xspn s':>9}{'cirkit s':>10}{'ratio':>8}")
    for name in arguments.parts:
        data = datasets.load(name)
        circuit = XSPN(random_state=0).fit(data.train).circuit_
        drawn = np.random.default_rng(0).integers(len(data.test), size=arguments.rows)
        with tempfile.TemporaryDirectory() as folder:
            rows, train = Path(folder) / "rows.npy", Path(folder) / "train.npy"
            np.save(rows, data.test[drawn].astype(np.uint8))
            np.save(train, data.train.astype(np.uint8))
            save(circuit, Path(folder) / "model.json")
            here = seconds(sys.executable, "-c", OWN, Path(folder) / "model.json", rows, runs=arguments.runs)
            line = f"{name:<9}{circuit.graph.n_edges:>8}{here:>9.4f}"
            if not CIRKIT.exists():
                print(f"{line}  cirkit is not installed: python benchmarks/inference_peers/install.py", flush=True)
                continue
            script = HERE / "inference_peers" / "cirkit_first_call.py"
            there = seconds(CIRKIT, script, train, rows, runs=arguments.runs)
        print(f"{line}{there:>10.4f}{there / here:>8.1f}  {verdict(here <= there)}", flush=True)


if __name__ == "__main__":
    main()
