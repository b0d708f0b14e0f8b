"""Learning from tables with missing cells: 20 % of all training cells removed at random, whole test rows scored.

XSPN_DATA=../shared/data python benchmarks/tables.py
"""

import os
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from xspn import XSPN, datasets
from xspn.learning.exchangeability import global_test
from xspn.learning.summary import Summary

SHARE = 0.2


def verdict(good: bool) -> str:
    return "ok" if good else "MISSED"


def missing_cells() -> None:
    print(f"{SHARE:.0%} of the training cells removed at random: loss below 3 %, and better than the two usual ways")
    print(f"  {'data':<8}{'all cells':>10}{'holes':>9}{'loss':>7}{'filled first':>14}{'rows dropped':>14}")
    for name in ("nltcs", "plants", "senate", "jester"):
        data = datasets.load(name)
        rng = np.random.default_rng(0)
        table = np.where(rng.random(data.train.shape) < SHARE, np.nan, data.train)
        filled = np.where(np.isnan(table), np.nanmean(table, axis=0) > 0.5, table)
        whole = table[~np.isnan(table).any(axis=1)]
        scores = [score(name, X) for X in (data.train, table, filled, whole)]
        loss = scores[1] / scores[0] - 1
        good = loss < 0.03 and scores[1] > max(scores[2:])
        print(
            f"  {name:<8}{scores[0]:>10.3f}{scores[1]:>9.3f}{loss:>7.1%}{scores[2]:>14.3f}"
            f"{scores[3]:>14.3f}  {len(whole)} whole rows  {verdict(good)}"
        )


def score(name: str, X: np.ndarray) -> float:
    if len(X) == 0:
        return -np.inf
    model = XSPN(min_instances=20 if name == "senate" else 200, random_state=0).fit(X)
    return model.score(datasets.load(name).test)


def level_with_holes() -> None:
    print("Level of the global test at 0.05 on 300 exchangeable samples with 20 % of the cells missing (2 % to 8 %)")
    rng = np.random.default_rng(0)
    for n in (5, 20, 60):
        for rows in (200, 2000):
            rejected = np.mean([one_sample(n, rows, rng) for _ in range(300)])
            print(f"  n = {n:<4} N = {rows:<5} {rejected:6.1%}  {verdict(0.02 <= rejected <= 0.08)}")


def one_sample(n: int, rows: int, rng: np.random.Generator) -> bool:
    counts = rng.binomial(n, rng.beta(0.5, 0.5, rows))
    cells = (rng.random((rows, n)).argsort(axis=1).argsort(axis=1) < counts[:, None]).astype(np.float32)
    cells[rng.random(cells.shape) < SHARE] = np.nan
    return global_test(Summary.of(cells, np.ones(rows))).p_value < 0.05


if __name__ == "__main__":
    beside = Path(__file__).parents[2] / "shared" / "data"
    if "XSPN_DATA" not in os.environ and beside.is_dir():
        os.environ["XSPN_DATA"] = str(beside)
    with threadpool_limits(1):
        missing_cells()
        level_with_holes()
