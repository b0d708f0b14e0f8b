"""Whether the learner finds what generated the data: planted contexts, blocks, chains and nested contexts.

    python benchmarks/planted.py [blocks contexts laws nested chain observed mixed] [--seeds 10] [--rows 1000 10000]

Each line is the mean over seeds (and the worst seed) of the log-likelihood lost against the truth on fresh rows, in
nats per row; the parameters relative to the truth's; how well blocks are recovered, as the adjusted Rand index of the
leaves' scopes on the likeliest path of a row; processor seconds. `--option exchangeability=global` for other settings.
"""

import time

import numpy as np
from harness import parser, verdict
from joblib import Parallel, delayed
from sklearn.metrics import adjusted_rand_score

from xspn import XSPN, Circuit, Sum
from xspn.paper.datasets.planted import FAMILIES, planted

FRESH_ROWS = 20_000
ROWS_WITH_BLOCKS = 200
MOST_PARAMETERS = 1.3
LEAST_RAND = 0.95  # at 10,000 rows
MOST_LOST = {"blocks": 0.06, "contexts": 0.06, "laws": 0.25}  # at 1,000 rows; 0.15 for the others, 0.02 at 10,000 rows


def most_lost(family: str, rows: int) -> float:
    return 0.02 if rows >= 10_000 else MOST_LOST.get(family, 0.15)


def block_labels(circuit: Circuit, X: np.ndarray) -> np.ndarray:
    """Return which leaf each variable is in, on the likeliest path of each row: (rows, variables)."""
    graph = circuit.graph
    values: dict[int, np.ndarray] = {}
    for node in graph.nodes:  # children come first
        if isinstance(node, Sum):
            values[id(node)] = np.logaddexp.reduce(
                [np.log(w) + values[id(c)] for w, c in zip(node.weights, node.children, strict=True) if w > 0]
            )
        elif node.children:
            values[id(node)] = np.sum([values[id(c)] for c in node.children], axis=0)
        else:
            values[id(node)] = node.log_prob(X[:, list(node.scope)].astype(np.float64))
    labels = np.zeros(X.shape, dtype=np.int64)
    for row in range(len(X)):
        waiting = [graph.root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Sum):
                logs = [np.log(w) + values[id(c)][row] for w, c in zip(node.weights, node.children, strict=True)]
                waiting.append(node.children[int(np.argmax(logs))])
            elif node.children:
                waiting += node.children
            else:
                labels[row, list(node.scope)] = graph.id_of(node)
    return labels


def measure(family: str, rows: int, seed: int, n: int, options: dict[str, str]) -> tuple[float, float, float, float]:
    truth = planted(family, n, random_state=seed)
    train = truth.sample(rows, random_state=1000 + seed)
    fresh = truth.sample(FRESH_ROWS, random_state=2000 + seed)
    start = time.process_time()
    model = XSPN(random_state=seed, **options).fit(train)
    seconds = time.process_time() - start
    lost = float(truth.log_likelihood(fresh).mean()) - model.score(fresh)
    size = model.circuit_.summary().parameters / truth.summary().parameters
    found, true = (block_labels(c, fresh[:ROWS_WITH_BLOCKS]) for c in (model.circuit_, truth))
    rand = float(np.mean([adjusted_rand_score(a, b) for a, b in zip(true, found, strict=True)]))
    return lost, size, rand, seconds


def main() -> None:
    own = parser(__doc__, FAMILIES)
    own.add_argument("--seeds", type=int, default=10)
    own.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000])
    own.add_argument("--variables", type=int, nargs="+", default=[24])
    own.add_argument("--jobs", type=int, default=1, help="how many processes")
    own.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="a parameter of XSPN")
    arguments = own.parse_args()
    options = dict(pair.split("=", 1) for pair in arguments.option)
    print("family      variables    rows   lost (worst)      parameters (worst)   Rand index (worst)   seconds")
    for family in arguments.parts:
        for n in arguments.variables:
            for rows in arguments.rows:
                seeds = range(arguments.seeds)
                jobs = (delayed(measure)(family, rows, seed, n, options) for seed in seeds)
                found = np.array(Parallel(arguments.jobs)(jobs))
                lost, size, rand, seconds = found.mean(axis=0)
                good = lost <= most_lost(family, rows) and size <= MOST_PARAMETERS
                good &= rows < 10_000 or rand >= LEAST_RAND
                print(
                    f"{family:<12}{n:9d}{rows:8d}   {lost:.4f} ({found[:, 0].max():.4f})   {size:8.2f} "
                    f"({found[:, 1].max():.2f})   {rand:12.3f} ({found[:, 2].min():.3f})   {seconds:9.2f}   "
                    f"{verdict(bool(good))}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
