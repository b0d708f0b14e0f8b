"""Inference on learned circuits, against a yardstick and against other libraries.

    XSPN_DATA=../shared/data python benchmarks/inference.py            # rows a second, and ratios to the yardstick
    XSPN_DATA=../shared/data python benchmarks/inference.py queries    # processor time of other queries, in scorings
    XSPN_DATA=../shared/data python benchmarks/inference.py peers      # other libraries: benchmarks/inference_peers
    XSPN_DATA=../shared/data python benchmarks/inference.py circuits --folder F   # save them, for inference_gpu.py
    XSPN_DATA=../shared/data python benchmarks/inference.py --folder F            # as the first, with those in F

The yardstick is `np.exp` on a float64 array of rows × edges, in one thread. Circuits are learned with the defaults,
alone and as a bagged ensemble of twenty.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from harness import least_seconds, parser, verdict
from threadpoolctl import threadpool_limits

from xspn import XSPN, Bernoulli, Circuit, datasets, load, save
from xspn.engine.backend import all_cores
from xspn.graph import Graph, Node, Product, Sum

HERE = Path(__file__).parent
NAMES = ("nltcs", "senate", "plants")
ENSEMBLE = 20
CERTAIN = 1e-6  # SPFlow's leaves have logits: no value can be certain


def yardstick(n_edges: int) -> float:
    """Seconds of np.exp on the edges of one row, as part of an array that no cache holds."""
    rows = (1 << 24) // n_edges
    array = np.random.default_rng(0).normal(size=(rows, n_edges))
    out = np.empty_like(array)
    np.exp(array, out=out)
    return least_seconds(5, np.exp, array, out) / rows


def circuits(folder: Path | None = None) -> Iterator[tuple[str, Circuit, np.ndarray]]:
    """Yield the learned circuits with rows to ask about: those of the test set, drawn again and again."""
    for name in NAMES:
        data = datasets.load(name)
        for size, label in ((1, "single"), (ENSEMBLE, "bagged")):
            if folder is None:
                circuit = XSPN(n_estimators=size, random_state=0).fit(data.train).circuit_
            else:
                circuit = load(folder / f"{name}-{label}.json")
            n_rows = max(2048, min(1 << 17, 400_000_000 // circuit.graph.n_edges))
            rng = np.random.default_rng(0)
            yield f"{name}-{label}", circuit, data.test[rng.integers(len(data.test), size=n_rows)].astype(float)


def throughput(folder: Path | None) -> None:
    print(f"{'circuit':<14}{'edges':>8}{'exp ns':>8}{'whole':>7}{'half':>7}{'marg.':>7}{'1 row':>7}", end="")
    print(f"{'rows/s':>12}{'threads':>12}{'float32':>12}{'one row':>10}{'marg.':>9}")
    cores = all_cores()
    for name, circuit, X in circuits(folder):
        half = np.where(np.random.default_rng(1).random(X.shape) < 0.5, np.nan, X)
        one, single = circuit.to(threads=1), circuit.to(threads=1, dtype="float32")
        for evaluator, rows in ((one, X), (one, half), (single, X)):
            evaluator.log_likelihood(rows[:64])
        one.marginals(half[:64])
        unit = yardstick(circuit.graph.n_edges)
        whole, partial = least_seconds(5, one.log_likelihood, X), least_seconds(5, one.log_likelihood, half)
        few = half[: len(half) // 4]
        marginals = least_seconds(3, one.marginals, few) / len(few)
        both = least_seconds(5, circuit.to(threads=cores).log_likelihood, X, clock=time.perf_counter)
        fast = least_seconds(5, single.log_likelihood, X)
        row, answers = least_seconds(200, one.log_likelihood, half[:1]), least_seconds(200, one.marginals, half[:1])
        ratios = whole / len(X) / unit, partial / len(X) / unit, marginals / (partial / len(X)), answers / row
        print(f"{name:<14}{circuit.graph.n_edges:>8}{unit / circuit.graph.n_edges * 1e9:>8.2f}", end="")
        print("".join(f"{ratio:>7.2f}" for ratio in ratios), end="")
        print("".join(f"{len(X) / seconds:>12,.0f}" for seconds in (whole, both, fast)), end="")
        good = ratios[0] <= 0.5 and ratios[1] <= 1 and max(ratios[2:]) <= 4
        print(f"{row * 1e6:>7.0f} µs{answers * 1e6:>6.0f} µs  {verdict(good)}", flush=True)


def queries(folder: Path | None) -> None:
    """Print the processor time of each query as a multiple of scoring as many rows, in one thread.

    Rows with every second cell missing are compared with scoring the same rows, samples without evidence with scoring
    whole ones. All are asked in turn, many times, and the least time of each counts: other processes disturb all alike.
    """
    bars = {"mpe": 3.0, "marginals": 4.0, "sample": 1.0, "sample given": 4.0}
    print(f"{'circuit':<14}{'edges':>8}{'ns/row':>9}{'half':>9}" + "".join(f"{name:>14}" for name in bars))
    for name, circuit, rows in circuits(folder):
        n = max(2048, min(1 << 14, 50_000_000 // circuit.graph.n_edges))
        X = rows[:n]
        half = np.where(np.random.default_rng(1).random(X.shape) < 0.5, np.nan, X)
        one = circuit.to(threads=1)
        asked = {
            "whole": partial(one.log_likelihood, X),
            "half": partial(one.log_likelihood, half),
            "mpe": partial(one.mpe, half),
            "marginals": partial(one.marginals, half),
            "sample": partial(one.sample, n, random_state=0),
            "sample given": partial(one.sample, given=half, random_state=0),
        }
        least = {query: least_seconds(1, ask) for query, ask in asked.items()}
        for _ in range(20 if circuit.graph.n_edges < 50_000 else 6):
            for query, ask in asked.items():
                least[query] = min(least[query], least_seconds(1, ask))
        ratios = {query: least[query] / least["whole" if query == "sample" else "half"] for query in bars}
        print(f"{name:<14}{circuit.graph.n_edges:>8}", end="")
        print("".join(f"{least[rows_of] / n * 1e9:>9,.0f}" for rows_of in ("whole", "half")), end="")
        print("".join(f"{ratio:>14.2f}" for ratio in ratios.values()), end="")
        print(f"  {verdict(all(ratios[query] <= bar for query, bar in bars.items()))}", flush=True)


def memory() -> None:
    """Score a million rows of 100 variables; the peak of what is allocated meanwhile is what scoring costs."""
    parts = [Product([Bernoulli(i, p=p) for i in range(100)]) for p in np.linspace(0.1, 0.9, 80)]
    circuit = Circuit(Sum(np.full(80, 1 / 80), parts))
    X = np.random.default_rng(2).integers(0, 2, size=(1_000_000, 100), dtype=np.uint8)
    circuit.to(threads=1).log_likelihood(X[:10])
    tracemalloc.start()
    circuit.log_likelihood(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"\na million rows of 100 variables: {peak / 2**20:,.0f} MB beyond the input")


# -- other libraries ------------------------------------------------------------------------------------------------


def plain_circuit(name: str) -> Circuit:
    """A learned circuit of sums, products and Bernoulli leaves, which every library can hold."""
    model = XSPN(exchangeability=None, leaf_learner="factorized", random_state=0).fit(datasets.load(name).train)

    def within(node: Node, children: list[Node]) -> Node:
        if isinstance(node, Bernoulli):
            return Bernoulli(node.variables[0], p=float(np.clip(node.p, CERTAIN, 1 - CERTAIN)))
        return Sum(node.weights, children) if isinstance(node, Sum) else Product(children)

    graph = model.circuit_.graph
    return Circuit(graph.rebuild(within), n_variables=graph.n_variables)


def plain_nodes(graph: Graph) -> list[dict[str, object]]:
    nodes: list[dict[str, object]] = []
    for kind, payload, children in graph.records():
        more = {"weights": payload.tolist()} if kind == "sum" else {}
        if kind == "leaf":
            more = {"variable": payload.variables[0], "p": payload.p}
        nodes.append({"type": kind, "children": list(children), **more})
    return nodes


def peers() -> None:
    print(f"{'data':<9}{'library':<13}{'edges':>8}{'rows/s':>14}{'ratio':>9}{'per edge':>10}{'difference':>12}")
    for name in NAMES:
        circuit = plain_circuit(name)
        test = datasets.load(name).test
        rows = test[np.random.default_rng(0).integers(len(test), size=4096)]
        fast, edges = circuit.to(threads=1), circuit.graph.n_edges
        table = np.tile(rows, (8, 1)).astype(float)
        expected = fast.log_likelihood(table)[:200]
        own = len(table) / least_seconds(7, fast.log_likelihood, table)
        print(f"{name:<9}{'xspn':<13}{edges:>8}{own:>14,.0f}")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "nodes.json").write_text(json.dumps(plain_nodes(circuit.graph)))
            np.save(Path(folder) / "rows.npy", rows)
            for peer, least in (("deeprob", 50.0), ("spflow", 50.0), ("cirkit", 3.0)):
                report(name, peer, folder, own, edges, expected, least)


def report(name: str, peer: str, folder: str, own: float, edges: int, expected: np.ndarray, least: float) -> None:
    python = HERE.parent / ".peers" / peer / "bin" / "python"
    if not python.exists():
        print(f"{name:<9}{peer:<13}not installed: python benchmarks/inference_peers/install.py")
        return
    done = subprocess.run(
        [python, HERE / "inference_peers" / f"{peer}_peer.py", folder],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": "",
        },
    )
    if done.returncode:
        print(f"{name:<9}{peer:<13}failed: {done.stderr.strip().splitlines()[-1]}")
        return
    found = json.loads(done.stdout.splitlines()[-1])
    ratio = own / found["rows_per_second"]
    per_edge = ratio * edges / found["edges"]
    same = found["edges"] == edges
    off = f"{np.abs(np.array(found['log_likelihood']) - expected).max():.1e}" if same else "other circuit"
    good = (ratio if peer != "cirkit" else per_edge) >= least
    print(
        f"{name:<9}{peer:<13}{found['edges']:>8}{found['rows_per_second']:>14,.0f}{ratio:>9,.0f}{per_edge:>10,.1f}"
        f"{off:>15}  {verdict(good)}",
        flush=True,
    )


def save_circuits(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, circuit, _ in circuits():
        save(circuit, folder / f"{name}.json")
        data = name.split("-")[0]
        np.save(folder / f"{data}.npy", datasets.load(data).test.astype(np.uint8))


if __name__ == "__main__":
    own = parser(__doc__, ("throughput", "queries", "peers", "circuits"), default=("throughput",))
    own.add_argument("--folder", type=Path, help="of saved circuits (default: they are learned)")
    args = own.parse_args()
    if "circuits" in args.parts and args.folder is None:
        own.error("circuits: expected a --folder to save them in")
    print(f"Python {sys.version.split()[0]}, numpy {np.__version__}, {all_cores()} cores\n")
    with threadpool_limits(1):
        for part in args.parts:
            if part == "circuits":
                save_circuits(args.folder)
            elif part == "peers":
                peers()
            elif part == "queries":
                queries(args.folder)
            else:
                throughput(args.folder)
                memory()
