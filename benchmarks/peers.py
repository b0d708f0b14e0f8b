"""This library on the tables that docs/comparison.md compares libraries on: time, log-likelihood, rows per second.

python benchmarks/peers.py    one thread; needs the published data (XSPN_DATA, or `xspn datasets fetch`)
"""

import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from xspn import XSPN, datasets

TABLES = {"nltcs": 200, "plants": 200, "senate": 20, "jester": 200}  # with the fewest rows of a slice


def processor_seconds(job: Callable[[], object]) -> float:
    start = time.process_time()
    job()
    return time.process_time() - start


def rows_per_second(score: Callable[[np.ndarray], object], rows: np.ndarray) -> float:
    table = np.tile(rows, (-(-10_000 // len(rows)), 1))[:10_000]
    score(table[:10])
    return len(table) / min(processor_seconds(lambda: score(table)) for _ in range(3))


def main() -> None:
    print("| data | seconds | log-likelihood | nodes / parameters | rows/s | rows/s, half missing |")
    print("|---|---|---|---|---|---|")
    for name, min_instances in TABLES.items():
        data = datasets.load(name)
        model = XSPN(min_instances=min_instances, random_state=0)
        with threadpool_limits(1):
            seconds = processor_seconds(lambda model=model, data=data: model.fit(data.train))
            test = data.test.astype(float)
            holes = np.where(np.random.default_rng(0).random(test.shape) < 0.5, np.nan, test)
            whole, partial = (rows_per_second(model.score_samples, rows) for rows in (test, holes))
        size = model.circuit_.summary()
        print(
            f"| {name} | {seconds:.2g} | {model.score(data.test):.3f} | {size.nodes:,} / {size.parameters:,} "
            f"| {whole:,.0f} | {partial:,.0f} |"
        )


if __name__ == "__main__":
    main()
