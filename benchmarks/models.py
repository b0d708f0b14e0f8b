"""What the paper's other models must show: MEVM, MADE, the classifiers, EM on any circuit.

    XSPN_DATA=../shared/data python benchmarks/models.py [mevm time made classes targets em] [--only NAME ...]

Everything runs on one thread; seconds are seconds of that processor. Where something is chosen, it is chosen on
validation rows; where the validation file is the test file, a fifth of the training rows takes its place.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from xspn import MEVM, XSPN, Bernoulli, Circuit, Exchangeable, Product, Sum, XSPNClassifier, datasets
from xspn.paper.baselines import MADE, MEVMClassifier, XGBoost, svm
from xspn.paper.datasets import LabelledDataset

MEVM_BARS = {
    "threshold": -67.41,
    "exact": -67.91,
    "parity": -69.37,
    "counting": -67.94,
    "MEVM-s": -12.52,
    "MEVM-l": -94.31,
    "conference": -5.91,
    "senate": -21.11,
    "house": -83.47,
    "bundestag": -106.42,
    "exam": -7.07,
}
MADE_BARS = {  # the paper's figures, less one per cent
    "senate": -20.97 * 1.01,
    "house": -83.28 * 1.01,
    "bundestag": -161.7 * 1.01,
    "MEVM-s": -11.885 * 1.01,
    "nltcs": -6.04 * 1.01,
    "plants": -12.32 * 1.01,
}
CLASS_BARS = {
    "counting": 1.0,
    "exact": 1.0,
    "parity": 1.0,
    "threshold": 1.0,
    "conference": 0.852,
    "exam": 0.98,
    "senate": 0.99,
    "house": 0.96,
    "bundestag": 0.95,
}
SMOOTHINGS = (0.3, 1.0, 3.0)
CLASSIFIERS = tuple(
    {"independence_threshold": rho, "min_instances": rows, "n_estimators": circuits}
    for rho in (5.0, 15.0)
    for rows in (20, 200)
    for circuits in (1, 10)
)
MOST_SECONDS = 60.0


def verdict(good: bool) -> str:
    return "ok" if good else "MISSED"


def rows_to_choose_on(data: datasets.Dataset) -> tuple[np.ndarray, np.ndarray, str]:
    """Return training and validation rows, and a remark where the validation file is the test file."""
    if np.array_equal(data.valid, data.test):
        held_out = np.arange(len(data.train)) % 5 == 0
        return data.train[~held_out], data.train[held_out], "  (validation file = test file: a fifth of training rows)"
    return data.train, data.valid, ""


# -- densities ---------------------------------------------------------------------------------------------


def mevm(only: Iterable[str]) -> None:
    print("MEVM, 20 components: test LL, at least the paper's (smoothing, start and stop chosen on validation rows)")
    print(f"  {'data':<12}{'test LL':>10}{'bar':>10}{'':>3}{'smoothing':<12}{'welch LL':>10}{'seconds':>9}")
    for name, bar in MEVM_BARS.items():
        if name not in only:
            continue
        data = datasets.load(name)
        train, valid, remark = rows_to_choose_on(data)
        start = time.process_time()
        fits = [MEVM(smoothing=own, random_state=0).fit(train, X_valid=valid) for own in SMOOTHINGS]
        seconds = time.process_time() - start
        best = max(fits, key=lambda fit: fit.score(valid))
        welch = MEVM(structure="welch", smoothing=best.smoothing, random_state=0).fit(train, X_valid=valid)
        ll, welch_ll = best.score(data.test), welch.score(data.test)
        print(f"  {name:<12}{ll:>10.3f}{bar:>10.2f}   {best.smoothing:<12g}{welch_ll:>10.3f}{seconds:>9.1f}  ", end="")
        print(f"{verdict(ll >= bar)}{remark}", flush=True)


def mevm_time(_: Iterable[str]) -> None:
    X = datasets.load("MEVM-l").train
    start = time.process_time()
    MEVM(n_components=20, random_state=0).fit(X)
    seconds = time.process_time() - start
    shape = f"{X.shape[0]:,} × {X.shape[1]}"
    print(f"MEVM-l, {shape}, 20 components, 4 starts: {seconds:.1f} s (bar {MOST_SECONDS:g})  ", end="")
    print(verdict(seconds <= MOST_SECONDS), flush=True)


def made(only: Iterable[str]) -> None:
    if find_spec("torch") is None:
        print("MADE: not run, it needs the extra torch")
        return
    import torch

    torch.set_num_threads(1)
    print("MADE, one layer of 500 units, 8 orderings: test LL, at least the paper's less 1 %")
    print(f"  {'data':<12}{'test LL':>10}{'bar':>10}{'epochs':>9}{'seconds':>9}")
    for name, bar in MADE_BARS.items():
        if name not in only:
            continue
        data = datasets.load(name)
        start = time.process_time()
        model = MADE(random_state=0).fit(data.train, X_valid=data.valid)
        seconds, ll = time.process_time() - start, model.score(data.test)
        epochs = len(model.valid_log_likelihoods_)
        print(f"  {name:<12}{ll:>10.3f}{bar:>10.3f}{epochs:>9}{seconds:>9.0f}  {verdict(ll >= bar)}", flush=True)
    print("  conference −5.541 and MEVM-l −81.835, as published, are better than the true distributions of the public")
    print("  files (−5.906, and about −84.43 as far as it can be seen): they cannot be reproduced, and are no bars.")


# -- classification ----------------------------------------------------------------------------------------


def chosen_circuits(data: LabelledDataset, **fixed: Any) -> tuple[XSPNClassifier, dict[str, Any]]:
    """Return the classifier with the smallest log-loss on validation rows, and its settings.

    Accuracies would not do to choose by: on 41 or 100 rows most settings have the same one.
    """

    def log_loss(model: XSPNClassifier) -> float:
        logs = model.predict_log_proba(data.X_valid)
        return -float(logs[np.arange(len(logs)), np.searchsorted(model.classes_, data.y_valid)].mean())

    fits = [XSPNClassifier(random_state=0, **own, **fixed).fit(data.X_train, data.y_train) for own in CLASSIFIERS]
    best = int(np.argmin([log_loss(fit) for fit in fits]))
    return fits[best], CLASSIFIERS[best]


def opponents(data: LabelledDataset) -> dict[str, Callable[[], Any]]:
    """Return how each other classifier is trained."""
    X, y = data.X_train, data.y_train
    found: dict[str, Callable[[], Any]] = {
        "SPN": lambda: chosen_circuits(data, exchangeability=None)[0],
        "MEVM": lambda: MEVMClassifier().fit(X, y),
        "SVM": lambda: svm().fit(X, y),
    }
    if find_spec("xgboost") is not None:
        found["XGB-2"] = lambda: XGBoost(random_state=0).fit(X, y)
        found["XGB"] = lambda: XGBoost.untied(0).fit(X, y, X_valid=data.X_valid, y_valid=data.y_valid)
    return found


def classes(only: Iterable[str]) -> None:
    print("Classification: test accuracy of XSPN, at least the paper's to its three digits")
    print(
        "  (ρ, min_instances and the number of circuits are chosen by the log-loss of validation rows. The paper does"
    )
    print("  not say which variable of exam, senate, house and bundestag it predicts; here: the hardest to guess.)")
    names = ("SPN", "MEVM", "SVM", "XGB-2", "XGB")
    print(f"  {'data':<12}{'XSPN':>8}{'bar':>8}{'seconds':>9}" + "".join(f"{name:>8}" for name in names))
    for name, bar in CLASS_BARS.items():
        if name not in only:
            continue
        data = datasets.classification(name)
        start = time.process_time()
        model, settings = chosen_circuits(data)
        accuracy = model.score(data.X_test, data.y_test)
        seconds = time.process_time() - start
        print(f"  {name:<12}{accuracy:>8.4f}{bar:>8.3f}{seconds:>9.1f}", end="", flush=True)
        others = opponents(data)
        for other in names:
            score = others[other]().score(data.X_test, data.y_test) if other in others else np.nan
            print(f"{score:>8.3f}", end="", flush=True)
        print(f"  {verdict(round(accuracy, 3) >= bar)}  {settings}", flush=True)


def targets(_: Iterable[str]) -> None:
    print("Classification of senate with every senator in turn as the one to predict: mean test accuracy, no choices")
    data = datasets.load("senate")
    makers: dict[str, Callable[[], Any]] = {
        "XSPN": lambda: XSPNClassifier(random_state=0),
        "XSPN, ensemble of 10": lambda: XSPNClassifier(n_estimators=10, random_state=0),
        "SPN, ensemble of 10": lambda: XSPNClassifier(n_estimators=10, exchangeability=None, random_state=0),
        "SVM": svm,
    }
    tasks = [datasets.with_target(data, column) for column in range(data.n_variables)]
    for name, make in makers.items():
        found = np.array([make().fit(t.X_train, t.y_train).score(t.X_test, t.y_test) for t in tasks])
        print(f"  {name:<16}{found.mean():>8.4f}, 0.99 or more for {np.mean(found >= 0.99):.0%} of them", flush=True)


# -- parameters --------------------------------------------------------------------------------------------


def em(_: Iterable[str]) -> None:
    print("EM on the senate XSPN: the validation LL rises (smoothing and stop chosen on validation rows)")
    data = datasets.load("senate")
    circuit = XSPN(random_state=0).fit(data.train).circuit_
    before = circuit.log_likelihood(data.valid).mean()
    fits = [circuit.fit_parameters(data.train, smoothing=own, X_valid=data.valid) for own in (0.1, 0.3, 1.0)]
    after = max(fit.log_likelihood(data.valid).mean() for fit in fits)
    print(f"  {before:.4f} → {after:.4f}  {verdict(after > before)}")
    start = time.process_time()
    circuit.log_likelihood(data.train)
    scoring = time.process_time() - start
    start = time.process_time()
    circuit.fit_parameters(data.train, n_iter=10, smoothing=0.1, tol=0)
    print(f"  one pass of EM costs {(time.process_time() - start) / 11 / scoring:.1f} times as much as scoring")
    print(
        "EM on a circuit built by hand, with random parameters: 6 variables, 20,000 rows, a tenth of the cells missing"
    )
    recovery()


def recovery() -> None:
    rng = np.random.default_rng(0)

    def part() -> Product:
        block = Exchangeable.from_class_probabilities([0, 1, 2], rng.dirichlet(np.ones(4)))
        return Product([block, *(Bernoulli(v, p=float(rng.random())) for v in (3, 4, 5))])

    truth = Circuit(Sum([0.35, 0.65], [part(), part()]))
    X = truth.sample(20_000, random_state=1)
    X[rng.random(X.shape) < 0.1] = np.nan
    start = Circuit(Sum([0.5, 0.5], [part(), part()]))
    fitted = start.fit_parameters(X, n_iter=500, tol=1e-8)
    p = truth.oracle.probabilities
    before, after = (p @ (np.log(p) - c.log_likelihood(truth.oracle.worlds)) for c in (start, fitted))
    print(f"  divergence from the truth {before:.4f} → {after:.4f} nats (bar 0.005)  {verdict(after <= 0.005)}")


PARTS: dict[str, Callable[[Iterable[str]], None]] = {
    "mevm": mevm,
    "time": mevm_time,
    "made": made,
    "classes": classes,
    "targets": targets,
    "em": em,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", default=list(PARTS), help=f"what to run: {', '.join(PARTS)}; all by default"
    )
    parser.add_argument("--only", nargs="+", default=[*MEVM_BARS, *MADE_BARS, *CLASS_BARS], help="data sets to run")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; known: {', '.join(PARTS)}")
    os.environ.setdefault("XSPN_DATA", str(Path(__file__).resolve().parents[2] / "shared" / "data"))
    with threadpool_limits(1):
        for part in options.parts:
            PARTS[part](options.only)
            print()


if __name__ == "__main__":
    main()
