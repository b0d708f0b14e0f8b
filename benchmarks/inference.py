"""Rows per second of the flat program, against a yardstick: `np.exp` on a float64 array of rows × edges, one thread.

python benchmarks/inference.py
"""

import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from xspn import Bernoulli, Circuit, Product, Sum
from xspn.circuit import Node


def random_tree(variables: np.ndarray, leaf_size: int, rng: np.random.Generator, depth: int) -> Node:
    """A tree as structure learning makes them: sums and products in turn, small groups factorised."""
    if len(variables) <= leaf_size or depth == 0:
        leaves = [Bernoulli(int(v), p=float(rng.uniform(0.02, 0.98))) for v in variables]
        return leaves[0] if len(leaves) == 1 else Product(leaves)
    parts = []
    for _ in range(2):
        order = rng.permutation(variables)
        cut = int(rng.integers(1, len(order)))
        halves = (np.sort(order[:cut]), np.sort(order[cut:]))
        parts.append(Product([random_tree(half, leaf_size, rng, depth - 1) for half in halves]))
    weight = float(rng.uniform(0.2, 0.8))
    return Sum([weight, 1 - weight], parts)


def tree_of(n_variables: int, n_edges: int) -> Circuit:
    """Return the random tree whose size is nearest to `n_edges` among some depths and seeds."""
    candidates: list[Circuit] = []
    for leaf_size in (2, 3, 4):
        for depth in range(2, 9):
            for seed in range(2):
                root = random_tree(np.arange(n_variables), leaf_size, np.random.default_rng(seed), depth)
                candidates.append(Circuit(root))
            if candidates[-1].graph.n_edges > n_edges:
                break
    return min(candidates, key=lambda circuit: abs(np.log(circuit.graph.n_edges / n_edges)))


def best_of(repeats: int, job: Callable[..., object], *arguments: object) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def yardstick(n_rows: int, n_edges: int) -> float:
    """Seconds of np.exp on a float64 array of rows × edges (timed on fewer rows where it would not fit into memory)."""
    timed_rows = min(n_rows, (1 << 26) // n_edges)
    array = np.random.default_rng(0).normal(size=(timed_rows, n_edges))
    out = np.empty_like(array)
    np.exp(array, out=out)
    return best_of(5, np.exp, array, out) * n_rows / timed_rows


def throughput() -> None:
    rng = np.random.default_rng(1)
    print(f"{'circuit':<34}{'rows':<14}{'rows/s':>12}{'× yardstick':>13}{'× whole':>9}")
    for n_variables, n_edges in ((16, 700), (100, 8000)):
        circuit = tree_of(n_variables, n_edges)
        edges = circuit.graph.n_edges
        X = rng.integers(0, 2, size=(20_000, n_variables)).astype(float)
        half = np.where(rng.random(X.shape) < 0.5, np.nan, X)
        circuit.log_likelihood(X[:10])
        unit = yardstick(len(X), edges)
        whole = best_of(7, circuit.log_likelihood, X)
        partial = best_of(7, circuit.log_likelihood, half)
        label = f"{n_variables} variables, {edges} edges"
        print(f"{label:<34}{'whole':<14}{len(X) / whole:>12,.0f}{whole / unit:>13.2f}{'':>9}")
        print(
            f"{label:<34}{'half missing':<14}{len(X) / partial:>12,.0f}{partial / unit:>13.2f}{partial / whole:>9.2f}"
        )


def memory() -> None:
    """Score a million rows of 100 variables; the peak of what is allocated meanwhile is what scoring costs."""
    circuit = tree_of(100, 8000)
    X = np.random.default_rng(2).integers(0, 2, size=(1_000_000, 100), dtype=np.uint8)
    circuit.log_likelihood(X[:10])
    tracemalloc.start()
    circuit.log_likelihood(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"\na million rows of 100 variables: {peak / 2**20:,.0f} MB beyond the input")


if __name__ == "__main__":
    print(f"Python {sys.version.split()[0]}, numpy {np.__version__}, one thread\n")
    with threadpool_limits(1):
        throughput()
        memory()
