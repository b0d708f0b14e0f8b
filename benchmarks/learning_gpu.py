"""Learning on an accelerator: hidden Chow-Liu trees (HCLTs), alone and as ensembles, and `quality="best"` with them.

python benchmarks/learning_gpu.py                    # everything, on "cuda"
python benchmarks/learning_gpu.py passes --sets audio plants --states 64 512
python benchmarks/learning_gpu.py best --sets plants

passes     seconds of one EM pass over the training rows: one tree, and each of eight that are fitted together, beside a
           loop over the nodes of one tree in plain torch and, where it is installed, pyjuice (same tree, states, rows
           and number of batches)
agreement  validation log-likelihood of the same trees from the same seeds on the CPU (NumPy) and on the device
em         EM over all parameters of ten perturbed copies of a learned circuit: seconds of a pass on the CPU (compiled
           kernels, all cores) and on the device, and the validation log-likelihood after five passes on both
trees      test log-likelihood of mixtures of 1 to 64 trees, and the seconds that all of them took
best       `XSPN(quality="best", device=…)`: seconds and test log-likelihood

A pass of more than 40 batches is timed by 40 of them. The least of two measurements counts.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from types import ModuleType

import harness
import numpy as np
import torch

from xspn.learning.hclt import (
    BlockTree,
    CountedRows,
    HCLTOptions,
    chow_liu_tree,
    fit_hclt,
    sampled_chow_liu_tree,
    singleton_blocks,
)
from xspn.learning.hclt.fit import number_of_batches
from xspn.learning.hclt.messages import HCLTTables
from xspn.learning.hclt.torch_fit import ForestEM, TreeTask, fit_hclts
from xspn.learning.hclt.torch_forest import DeviceRows, Forest
from xspn.learning.search.budget import ValidationRows
from xspn.learning.search.refinement import em_options, refined_copies
from xspn.paper import datasets

SETS = ("audio", "netflix", "plants", "kdd", "generated")
MOST_BATCHES = 40
SMOOTHING = 0.1
ENSEMBLE = 8


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return training, validation and test rows; the generated table has a million rows of 200 bits."""
    if name != "generated":
        data = datasets.load(name, download=False)
        return data.train, data.valid, data.test
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, (1_010_000, 20), dtype=np.uint8)
    bits = np.repeat(hidden, 10, axis=1) ^ (rng.random((len(hidden), 200), dtype=np.float32) < 0.2)
    return bits[:1_000_000], bits[1_000_000:1_005_000], bits[1_005_000:]


def random_tables(n_blocks: int, states: int, rng: np.random.Generator) -> HCLTTables:
    transitions = rng.random((n_blocks, states, states), dtype=np.float32) + 0.1
    emissions = rng.random((n_blocks, states, 2)) + 0.1
    return HCLTTables(
        np.full(states, 1 / states),
        transitions / transitions.sum(axis=2, keepdims=True),
        tuple(emissions / emissions.sum(axis=2, keepdims=True)),
    )


def seconds(job: Callable[[], object], device: str) -> float:
    """Return the least time of two runs, after one that does not count."""

    def run() -> None:
        job()
        if device != "cpu":
            torch.cuda.synchronize()

    run()
    return harness.least_seconds(2, run, clock=time.perf_counter)


# -- passes ------------------------------------------------------------------------------------------------------------


def passes(options: argparse.Namespace) -> None:
    for name in options.sets:
        bits = rows_of(name)[0]
        data = CountedRows.of(bits, np.ones(len(bits)), singleton_blocks(bits.shape[1]))
        tree = chow_liu_tree(data)
        trees = [tree, *(sampled_chow_liu_tree(data, seed) for seed in range(1, ENSEMBLE))]
        rows = DeviceRows(data, torch.device(options.device))
        n_batches = number_of_batches(len(bits))
        timed = min(n_batches, MOST_BATCHES)
        part, scale = len(bits) * timed // n_batches, n_batches / timed
        head = f"{name:<10}{len(bits):>9,} rows, {n_batches} batches"
        for states in options.states:
            found = {}
            for what, tf32 in (("float32", False), ("tf32", True)):
                torch.backends.cuda.matmul.allow_tf32 = tf32
                for own in (trees[:1], trees):
                    em_pass = our_pass(own, data, rows, states, timed, part)
                    found[f"{what}, {len(own)}"] = scale * seconds(em_pass, options.device) / len(own)
                    torch.cuda.empty_cache()
            torch.backends.cuda.matmul.allow_tf32 = False
            if name != "generated":
                found["plain loop"] = scale * seconds(plain_pass(tree, rows, states, timed, part), options.device)
            if options.pyjuice and name != "generated":
                found["pyjuice"] = pyjuice_pass(tree, bits[:part], states, timed, options.device) * scale
            text = "  ".join(f"{key}: {1000 * value:.1f}" for key, value in found.items())
            print(f"{head}, {states:>3} states, ms a pass and tree: {text}", flush=True)


def our_pass(
    trees: list[BlockTree], data: CountedRows, rows: DeviceRows, states: int, n_batches: int, n_rows: int
) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    forest = Forest(trees, data.sizes, rows.weights.device)
    tables = forest.tables_of([random_tables(len(data.sizes), states, rng)] * len(trees))
    part = DeviceRows.__new__(DeviceRows)
    part.__dict__.update(rows.__dict__ | {"n_rows": n_rows})
    em = ForestEM(forest, tables, part, [SMOOTHING] * len(trees), n_batches)
    orders = [rng.permutation(n_rows) for _ in trees]
    return lambda: em.run_pass(orders, 0.2)


def plain_pass(tree: BlockTree, rows: DeviceRows, states: int, n_batches: int, n_rows: int) -> Callable[[], object]:
    """One pass as one would write it first: node after node, batch after batch."""
    device, n = rows.weights.device, len(tree.order)
    own = random_tables(n, states, np.random.default_rng(0))
    initial = torch.as_tensor(own.initial, dtype=torch.float32, device=device)
    transitions = torch.as_tensor(own.transitions, device=device)
    emissions = torch.as_tensor(np.stack(own.emissions), dtype=torch.float32, device=device)

    def move(table: torch.Tensor, counts: torch.Tensor) -> None:
        counts = counts * n_batches + SMOOTHING / counts.shape[-1]
        table += 0.2 * (counts / counts.sum(-1, keepdim=True) - table)

    def run() -> None:
        for batch in torch.randperm(n_rows, device=device).chunk(n_batches):
            inside, message, flow = {}, {}, {}
            which = rows.which[batch]
            for b in reversed(tree.order):
                value = emissions[b].T[which[:, b]]
                for child in tree.children[b]:
                    value = value * message[child]
                    value = value / value.amax(1, keepdim=True)
                inside[b] = value
                if b != tree.root:
                    message[b] = value @ transitions[b].T
            for b in tree.order:
                if b == tree.root:
                    flow[b] = inside[b] * initial
                    flow[b] = flow[b] / flow[b].sum(1, keepdim=True)
                    move(initial, flow[b].sum(0))
                else:
                    reaching = flow[tree.parents[b]] / message[b].clamp(min=1e-30)
                    flow[b] = inside[b] * (reaching @ transitions[b])
                    move(transitions[b], transitions[b] * (reaching.T @ inside[b]))
                move(emissions[b], torch.stack([flow[b][which[:, b] == value].sum(0) for value in (0, 1)], 1))

    return run


def pyjuice_pass(tree: BlockTree, bits: np.ndarray, states: int, n_batches: int, device: str) -> float:
    """Seconds of a pass of pyjuice's mini-batch EM over the same tree, as its own examples run it."""
    try:
        import networkx
        import pyjuice
        from pyjuice.structures.compilation import BayesianTreeToHiddenRegionGraph

        edges = networkx.Graph()
        edges.add_nodes_from(range(len(tree.order)))
        edges.add_edges_from((b, p) for b, p in enumerate(tree.parents) if p >= 0)
        root = BayesianTreeToHiddenRegionGraph(
            edges, tree.root, states, pyjuice.nodes.distributions.Categorical, {"num_cats": 2}
        )
        circuit = pyjuice.compile(root).to(device)
        optimizer = pyjuice.optim.MiniBatchEM(circuit, step_size=0.2, pseudocount=SMOOTHING)
        data = torch.as_tensor(bits, dtype=torch.int64, device=device)
        means: list[float] = []

        def run() -> None:
            total = torch.zeros((), device=device)
            for batch in torch.randperm(len(data), device=device).chunk(n_batches):
                logs = circuit(data[batch])
                logs.mean().backward()
                optimizer.step()
                total += logs.detach().mean()
            means.append(float(total) / n_batches)

        time_of_pass = seconds(run, device)
        print(f"           pyjuice's training log-likelihood, pass by pass: {[round(m, 2) for m in means]}", flush=True)
        return time_of_pass
    except Exception as error:  # of a package that may be absent, or lack what it needs here
        print(f"           pyjuice: {type(error).__name__}: {str(error)[:300]}", flush=True)
        return float("nan")


# -- quality -----------------------------------------------------------------------------------------------------------


def counted(name: str) -> Iterator[CountedRows]:
    for bits in rows_of(name):
        different, number = np.unique(bits, axis=0, return_counts=True)
        yield CountedRows.of(different, number.astype(np.float64), singleton_blocks(bits.shape[1]))


def agreement(options: argparse.Namespace) -> None:
    for name in [one for one in options.sets if one not in ("kdd", "generated")]:
        data, valid, _ = counted(name)
        tree, states = chow_liu_tree(data), 16
        settings = HCLTOptions(states, SMOOTHING, passes=8)
        tasks = [TreeTask(tree, settings, seed) for seed in range(4)]
        numpy_scores = [fit_hclt(data, tree, settings, task.seed, valid).score for task in tasks]
        for tf32 in (False, True):
            torch.backends.cuda.matmul.allow_tf32 = tf32
            scores = [fitted.score for fitted, _ in fit_hclts(data, tasks, valid, options.device)]
            torch.backends.cuda.matmul.allow_tf32 = False
            gaps = np.abs(np.subtract(scores, numpy_scores))
            print(
                f"{name:<10}{states} states, {'tf32' if tf32 else 'float32'}: CPU {np.mean(numpy_scores):.4f}, device "
                f"{np.mean(scores):.4f}; largest difference of a seed {gaps.max():.5f}, of means "
                f"{abs(np.mean(scores) - np.mean(numpy_scores)):.5f} {harness.verdict(gaps.max() <= 0.01)}",
                flush=True,
            )


def em(options: argparse.Namespace) -> None:
    from xspn import XSPN
    from xspn.graph.graph import summarize

    for name in [one for one in options.sets if one not in ("kdd", "generated")]:
        train, valid, _ = rows_of(name)
        base = XSPN(random_state=0).fit(train).circuit_.graph
        rows, found = ValidationRows.of(valid), {}
        for device in (None, options.device):
            times, scores = [], []
            for passes_ in (1, 6):
                settings = em_options(SMOOTHING, passes_, tolerance=0.0)
                start = time.perf_counter()
                fit = refined_copies(base, train, np.ones(len(train)), 10, settings, 0, rows, device)
                times.append(time.perf_counter() - start)
                scores = fit.valid_log_likelihoods
            found[device] = (times[1] - times[0]) / 5, scores[5]
        (cpu, cpu_score), (own, score) = found[None], found[options.device]
        print(
            f"{name:<10}EM over 10 copies of {summarize(base).parameters:,} parameters: {cpu:.3f} s a pass on the CPU, "
            f"{own:.3f} s on the device; validation log-likelihood {cpu_score:.5f} and {score:.5f} "
            f"{harness.verdict(abs(cpu_score - score) <= 0.01)}",
            flush=True,
        )


def trees(options: argparse.Namespace) -> None:
    for name in options.sets:
        if name in ("kdd", "generated"):
            continue
        data, valid, test = counted(name)
        for states in options.states[:2]:
            settings = HCLTOptions(states, 5 * SMOOTHING)
            start = time.perf_counter()
            tasks = [TreeTask(sampled_chow_liu_tree(data, seed), settings, seed) for seed in range(64)]
            begun = time.perf_counter()
            fitted = [own for own, _ in fit_hclts(data, tasks, valid, options.device)]
            took = time.perf_counter() - begun
            scores = scores_of([own.tree for own in fitted], [own.tables for own in fitted], test, options.device)
            found = []
            for number in (1, 2, 4, 8, 16, 32, 64):
                groups = [scores[first : first + number] for first in range(0, 64, number)]
                means = [
                    np.average(np.logaddexp.reduce(own, axis=0) - np.log(number), weights=test.weights)
                    for own in groups
                ]
                found.append(f"{number}: {np.mean(means):.3f}")
            print(
                f"{name:<10}{states} states: test log-likelihood of mixtures of trees (mean over groups of 64): "
                f"{', '.join(found)}; edges {begun - start:.1f} s, 64 trees {took:.1f} s",
                flush=True,
            )


def scores_of(trees: list[BlockTree], tables: list[HCLTTables], data: CountedRows, device: str) -> np.ndarray:
    """Return the log-probability of rows by each tree."""
    rows, found = DeviceRows(data, torch.device(device)), []
    for first in range(0, len(trees), ENSEMBLE):
        forest = Forest(trees[first : first + ENSEMBLE], data.sizes, torch.device(device))
        own = forest.tables_of(tables[first : first + ENSEMBLE])
        every = torch.arange(rows.n_rows, device=device).chunk(8)
        parts = [forest.log_likelihoods(own, rows, part.expand(forest.n_trees, -1)).cpu() for part in every]
        found.append(torch.cat(parts, dim=1).numpy())
    return np.concatenate(found)


def best(options: argparse.Namespace) -> None:
    from xspn import XSPN
    from xspn.learning.search import hclts, refinement

    parts: dict[str, float] = {}

    def timed(module: ModuleType, name: str) -> None:
        """Let a function note how long it took."""
        function = getattr(module, name)

        def run(*arguments: object, **named: object) -> object:
            start = time.perf_counter()
            result = function(*arguments, **named)
            parts[name] = parts.get(name, 0.0) + time.perf_counter() - start
            print(f"           {name}: {time.perf_counter() - start:.1f} s", flush=True)
            return result

        setattr(module, name, run)

    timed(hclts, "best_hclts")
    timed(refinement, "best_copies")
    for name in [one for one in options.sets if one not in ("kdd", "generated")]:
        train, valid, test = rows_of(name)
        parts.clear()
        start = time.perf_counter()
        model = XSPN(quality="best", device=options.device, n_jobs=-1, random_state=0).fit(train, X_valid=valid)
        took = time.perf_counter() - start
        rest = took - sum(parts.values())
        text = ", ".join(f"{part} {value:.1f} s" for part, value in parts.items())
        made_of = "; ".join(map(str, model.search_.components))
        print(
            f"{name:<10}best: {took:.1f} s ({text}, bagged ensembles on the CPU and others {rest:.1f} s), "
            f"test log-likelihood {model.score(test):.4f}; {made_of}",
            flush=True,
        )


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "passes": passes,
    "agreement": agreement,
    "em": em,
    "trees": trees,
    "best": best,
}


def main() -> None:
    parser = harness.parser(__doc__, PARTS)
    parser.add_argument("--sets", nargs="+", default=SETS, help="data sets")
    parser.add_argument("--states", nargs="+", type=int, default=[64, 128, 256, 512], help="numbers of latent states")
    parser.add_argument("--device", default="cuda", help="a device of torch")
    parser.add_argument("--pyjuice", action="store_true", help="time pyjuice too, if it is installed")
    options = parser.parse_args()
    what = torch.cuda.get_device_name() if options.device.startswith("cuda") else "CPU"
    print(f"torch {torch.__version__}, {what}", flush=True)
    for part in options.parts:
        PARTS[part](options)


if __name__ == "__main__":
    main()
