"""How good a model `XSPN(quality="best")` is: test log-likelihoods against the bars, and what each part adds.

    XSPN_DATA=../shared/data python benchmarks/accuracy.py [best fast leaves ablation] [--only NAME ...] [--seeds N]

Everything is chosen on training and validation rows; MEVM-l's validation file equals its test file, so that there a
share of the training rows is kept apart instead. Test rows are scored once, at the end. Two processes; seconds are wall
time.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from xspn import XSPN, Circuit, datasets

BARS = {
    "senate": -17.2,
    "house": -68.0,
    "bundestag": -86.0,
    "exam": -6.50,
    "MEVM-l": -84.45,
    "conference": -5.910,
    "nltcs": -6.02,
    "plants": -12.30,
    "jester": -52.6,
    "audio": -39.7,
    "netflix": -56.0,
    "dna": -80.5,
    "accidents": -28.0,
    "pumsb": -23.0,
    "bbc": -249.0,
}
OTHERS = {  # published test log-likelihoods: ID-SPN, and MADE, which is not tractable
    "nltcs": (-6.02, -6.04),
    "plants": (-12.54, -12.32),
    "audio": (-39.79, -38.95),
    "jester": (-52.86, -52.23),
    "netflix": (-56.36, -55.16),
    "accidents": (-26.98, -26.42),
    "pumsb": (-22.41, -22.30),
    "dna": (-81.21, -82.77),
    "bbc": (-248.93, -242.4),
}
REAL = ("exam", "senate", "bundestag", "house")
MOST_MINUTES = 10.0
N_JOBS = 2


def verdict(good: bool) -> str:
    return "ok" if good else "MISSED"


def has_own_validation(data: datasets.Dataset) -> bool:
    return not np.array_equal(data.valid, data.test)


def fitted(data: datasets.Dataset, seed: int = 0, n_jobs: int = N_JOBS, **settings: Any) -> tuple[XSPN, float]:
    """Return a model, and how long it took."""
    start = time.perf_counter()
    valid = {"X_valid": data.valid} if has_own_validation(data) else {}
    model = XSPN(random_state=seed, n_jobs=n_jobs, **settings).fit(data.train, **valid)
    return model, time.perf_counter() - start


def best(only: Sequence[str], _: int) -> None:
    print('quality="best": test log-likelihood, and published ones of others')
    head = f"  {'data':<12}{'test':>10}{'bar':>9}{'ID-SPN':>9}{'MADE':>9}{'parameters':>12}{'minutes':>9}"
    print(f"{head}  verdict, and what was chosen")
    for name in only:
        data = datasets.load(name)
        model, seconds = fitted(data, quality="best")
        search, ll = model.search_, model.score(data.test)
        id_spn, made = (f"{value:.2f}" for value in OTHERS[name]) if name in OTHERS else ("", "")
        size = model.circuit_.summary().parameters
        chosen = ", ".join(map(str, search.parts))
        good = ll >= BARS[name] and seconds <= 60 * MOST_MINUTES
        print(f"  {name:<12}{ll:>10.3f}{BARS[name]:>9.2f}{id_spn:>9}{made:>9}{size:>12,}{seconds / 60:>9.1f}", end="")
        print(f"  {verdict(good)}  {chosen}", flush=True)


def fast(only: Sequence[str], _: int) -> None:
    print('quality="fast" and "balanced": test log-likelihood and seconds')
    print(f"  {'data':<12}{'fast':>10}{'seconds':>9}{'balanced':>10}{'seconds':>9}")
    for name in only:
        data = datasets.load(name)
        one, seconds = fitted(data)
        more, longer = fitted(data, quality="balanced")
        scores = f"{one.score(data.test):>10.3f}{seconds:>9.1f}{more.score(data.test):>10.3f}{longer:>9.1f}"
        print(f"  {name:<12}{scores}", flush=True)


def leaves(only: Sequence[str], n_seeds: int) -> None:
    print(f'quality="best" with and without exchangeable leaves, {n_seeds} seeds: mean test log-likelihood, parameters')
    print(f"  {'data':<12}{'with':>10}{'without':>10}{'difference':>12}{'±':>8}{'with':>11}{'without':>11}")
    for name in (name for name in REAL if name in only):
        data = datasets.load(name)
        jobs = (delayed(_score)(data, seed, test) for seed in range(n_seeds) for test in ("global", None))
        found = np.array(Parallel(N_JOBS)(jobs)).reshape(n_seeds, 2, 2)  # (seed, test, score and size)
        scores, sizes = found[:, :, 0], found[:, :, 1].mean(axis=0)
        gain = scores[:, 0] - scores[:, 1]
        error = gain.std(ddof=1) / np.sqrt(n_seeds) if n_seeds > 1 else np.nan
        good = gain.mean() >= -2 * error and sizes[0] < sizes[1]
        means = scores.mean(axis=0)
        print(f"  {name:<12}{means[0]:>10.3f}{means[1]:>10.3f}{gain.mean():>12.3f}{error:>8.3f}", end="")
        print(f"{sizes[0]:>11,.0f}{sizes[1]:>11,.0f}  {verdict(good)}", flush=True)


def _score(data: datasets.Dataset, seed: int, test: str | None) -> tuple[float, float]:
    model, _ = fitted(data, seed, n_jobs=1, quality="best", exchangeability=test)
    return model.score(data.test), model.circuit_.summary().parameters


def ablation(only: Sequence[str], _: int) -> None:
    print("What each part adds: test log-likelihood with and without exchangeable leaves")
    names = ("one circuit", "setting chosen", "ensemble", "copies", "hclts", "all of them")
    print(f"  {'data':<12}{'leaves':<16}" + "".join(f"{name:>16}" for name in names))
    for name in only:
        data = datasets.load(name)
        for test in ("global", None):
            ladder = _ladder(data, test)
            scores = "".join(f"{'–':>16}" if ll is None else f"{ll:>16.3f}" for ll in ladder)
            print(f"  {name:<12}{'exchangeable' if test else 'conventional':<16}{scores}", flush=True)


def _ladder(data: datasets.Dataset, test: str | None) -> list[float | None]:
    """Return the test log-likelihoods of one circuit, of the components of the best mixture, and of all."""
    whole, _ = fitted(data, exchangeability=test, quality="best")
    chosen = max(whole.search_.trials, key=lambda trial: trial.single).config
    setting = {name: getattr(chosen, name) for name in ("independence_threshold", "min_instances", "leaf_learner")}
    singles = [fitted(data, exchangeability=test, **own)[0] for own in ({}, setting)]
    kinds, root = [one.kind for one in whole.search_.components], whole.circuit_.root
    parts = dict(zip(kinds, root.children if len(kinds) > 1 else [root], strict=True))
    earned = [parts.get(kind) for kind in ("ensemble", "copies", "hclts")]
    roots = [*(model.circuit_.root for model in singles), *earned, root]
    return [None if root is None else float(Circuit(root).log_likelihood(data.test).mean()) for root in roots]


PARTS: dict[str, Callable[[Sequence[str], int], None]] = {
    "best": best,
    "fast": fast,
    "leaves": leaves,
    "ablation": ablation,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["best"], help=f"what to run: {', '.join(PARTS)}; best by default")
    parser.add_argument("--only", nargs="+", default=list(BARS), choices=list(BARS), metavar="NAME", help="data sets")
    parser.add_argument("--seeds", type=int, default=10, help="how many seeds the comparison of leaves takes")
    options = parser.parse_args()
    unknown: Iterable[str] = [part for part in options.parts if part not in PARTS]
    for part in unknown:
        parser.error(f"unknown part {part!r}; known: {', '.join(PARTS)}")
    os.environ.setdefault("XSPN_DATA", str(Path(__file__).resolve().parents[2] / "shared" / "data"))
    for part in options.parts:
        PARTS[part](options.only, options.seeds)
        print()


if __name__ == "__main__":
    main()
