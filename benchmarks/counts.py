"""Distributions of counts given rows of evidence: milliseconds a row on circuits of the house data.

    XSPN_DATA=../shared/data python benchmarks/counts.py            # one circuit by evidence, one by tests
    XSPN_DATA=../shared/data python benchmarks/counts.py bagged     # and an ensemble of twenty

Rows are those of the test set. "half" has every second cell missing at random, another pattern in each row; "same" has
one pattern for all rows; "some" counts a third of the columns, half of all being missing. Processor seconds
of one thread.
"""

import importlib.util
from collections.abc import Iterator

import numpy as np
from harness import least_seconds, parser, verdict

from xspn import XSPN, Circuit, datasets

BAR = 20.0  # milliseconds a row
MODELS = {
    "evidence": {"exchangeability": "evidence"},
    "tests": {"exchangeability": "global"},
    "bagged": {"exchangeability": "global", "n_estimators": 20},
}
BACK_ENDS = ("numpy", "numba", *(("torch",) if importlib.util.find_spec("torch") else ()))


def questions(X: np.ndarray) -> Iterator[tuple[str, np.ndarray, list[int]]]:
    """Yield names, rows of evidence and the columns that are counted."""
    rng, n = np.random.default_rng(0), X.shape[1]
    half = np.where(rng.random(X.shape) < 0.5, np.nan, X)
    same = X.copy()
    same[:, rng.random(n) < 0.5] = np.nan
    yield "half", half, list(range(n))
    yield "same", same, list(range(n))
    yield "some", half, list(range(0, n, 3))
    yield "one row", half[:1], list(range(n))
    yield "no evidence", np.full((1, n), np.nan), list(range(n))


def main() -> None:
    chosen = parser(__doc__, MODELS, default=("evidence", "tests")).parse_args().parts
    data = datasets.load("house")
    X = data.test.astype(float)
    print(f"house: {X.shape[1]} columns, {len(X)} rows; milliseconds a row, at most {BAR:g} in batches")
    for name in chosen:
        circuit: Circuit = XSPN(random_state=0, **MODELS[name]).fit(data.train).circuit_
        print(f"{name}: {circuit.summary()}")
        print(f"  {'':<12}" + "".join(f"{backend:>9}" for backend in BACK_ENDS))
        for what, rows, columns in questions(X):
            found = []
            for backend in BACK_ENDS:
                own = circuit.to(backend)
                own.count_distribution(columns, given=rows[:1])
                found.append(1e3 * least_seconds(3, own.count_distribution, columns, rows) / len(rows))
            held = f"  {verdict(max(found) <= BAR)}" if len(rows) > 1 else ""
            print(f"  {what:<12}" + "".join(f"{one:>9.2f}" for one in found) + held, flush=True)


if __name__ == "__main__":
    main()
