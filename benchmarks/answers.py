"""Answers beyond a probability: how sure, why, what to ask next; what is wrong in a table, information, marginal MAP.

    python benchmarks/answers.py [sure why next check cost information map] [--seeds 3] [--rows 300 1000 5000]

*sure*: how many 90 % intervals hold the truth, for P(value | up to four values of a row). On planted circuits the truth
is known. On real data the model is learned from some rows, and the truth is the frequency in all others, whose own
binomial variance is added to the model's. Beside it: without the inflation that the fit asks for, with an inflation
measured on 1,000 rows of their own, and the median width in log-odds. *why*: Shapley values against enumeration on
random circuits, and sampled orders against exact values. *next*: how many questions until a column is known (with a
probability above 0.95), by expected gain, in the order of gains without evidence, and in random order; rows for which
it never is count with all their columns. The others are in `answers_check.py`.
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from statistics import NormalDist

import answers_check
import numpy as np
from harness import parser, verdict

from xspn import XSPN, Circuit, datasets
from xspn.paper.datasets.planted import FAMILIES, planted
from xspn.questions import Question, questions_of
from xspn.questions.contributions import LogOdds, all_sets, sampled, shapley
from xspn.questions.next_questions import gains_of_rows

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
LEVEL, QUESTIONS, MOST_ITEMS = 0.9, 300, 4
LEAST, MOST = 0.85, 0.95  # of intervals that hold the truth
REAL = ("nltcs", "plants")
HELD_OUT = 1000
KNOWN = 0.95
ASKED = (("nltcs", 200), ("plants", 100), ("exam", 70), ("senate", 60))  # data sets and rows that are asked about
Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)


def questions(X: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return evidence of up to four values of rows, and a column to ask for."""
    evidence, target = np.full((QUESTIONS, X.shape[1]), np.nan), np.zeros(QUESTIONS, dtype=int)
    for i, row in enumerate(X[rng.integers(len(X), size=QUESTIONS)]):
        order = rng.permutation(X.shape[1])
        own = order[: rng.integers(MOST_ITEMS + 1)]
        evidence[i, own], target[i] = row[own], order[-1]
    return evidence, target


def log_odds(circuit: Circuit, evidence: np.ndarray, target: np.ndarray) -> np.ndarray:
    p = circuit.marginals(evidence)[np.arange(len(target)), target]
    with np.errstate(divide="ignore"):
        return np.log(p[:, 1]) - np.log(p[:, 0])


def variances(circuit: Circuit, evidence: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the variances of the log-odds that bits are one."""
    delta = circuit.delta_method()
    pair, found = np.array([[1.0, -1.0]]), np.zeros(len(target))
    for i, (known, column) in enumerate(zip(evidence, target, strict=True)):
        rows = np.tile(known, (2, 1))
        rows[:, column] = [1, 0]
        found[i] = delta.variances(rows, pair)[1][0]
    return found


def frequencies(X: np.ndarray, evidence: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the log-odds of frequencies among rows with the evidence, and their variances; inf for rare events."""
    odds, variance = np.zeros(len(target)), np.full(len(target), np.inf)
    for i, (known, column) in enumerate(zip(evidence, target, strict=True)):
        seen = ~np.isnan(known)
        own = X[(X[:, seen] == known[seen]).all(axis=1), column]
        f = (own.sum() + 0.5) / (len(own) + 1)
        odds[i] = np.log(f) - np.log1p(-f)
        if len(own) * f * (1 - f) > 10:
            variance[i] = 1 / (len(own) * f * (1 - f))
    return odds, variance


def covered(away: np.ndarray, variance: np.ndarray) -> float:
    return float((np.abs(away) <= Z * np.sqrt(variance)).mean())


def sure(args: argparse.Namespace) -> None:
    print(f"{'data':12} {'rows':>6} {'covered':>8} {'uninflated':>10} {'held out':>9} {'± log-odds':>10}")
    for family in [name for name in FAMILIES if name != "mixed"]:
        for rows in args.rows:
            lines = [_sure_of_planted(family, rows, seed, args.circuits) for seed in range(args.seeds)]
            _report(family, rows, lines)
    for name in REAL:
        for rows in args.rows:
            _report(name, rows, [_sure_of_real(name, rows, seed, args.circuits) for seed in range(args.seeds)])


def _report(name: str, rows: int, lines: list[list[float]]) -> None:
    mean = np.mean(lines, axis=0)
    good = verdict(LEAST <= mean[0] <= MOST)
    print(f"{name:12} {rows:6} {mean[0]:8.3f} {mean[1]:10.3f} {mean[2]:9.3f} {mean[3]:10.3f}  {good}", flush=True)


def learned(name: str) -> tuple[Circuit, datasets.Dataset]:
    data = datasets.load(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return XSPN(random_state=0).fit(data.train).circuit_, data


def _fitted(X: np.ndarray, circuits: int, held_out: np.ndarray) -> tuple[Circuit, Circuit]:
    """Return the model as it is learned, and with an inflation that other rows tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        circuit = XSPN(random_state=0, n_estimators=circuits).fit(X).circuit_
    return circuit, circuit.with_counts(X, X_valid=held_out, is_ensemble=circuits > 1)


def _line(
    models: tuple[Circuit, Circuit], evidence: np.ndarray, target: np.ndarray, truth: np.ndarray, noise: np.ndarray
) -> list[float]:
    kept = np.isfinite(truth) & np.isfinite(noise)
    evidence, target, truth, noise = evidence[kept], target[kept], truth[kept], noise[kept]
    away, own = log_odds(models[0], evidence, target) - truth, variances(models[0], evidence, target)
    plain = own / models[0].counts.inflation
    measured = plain * models[1].counts.inflation
    return [covered(away, v + noise) for v in (own, plain, measured)] + [float(np.median(Z * np.sqrt(own)))]


def _sure_of_planted(family: str, rows: int, seed: int, circuits: int) -> list[float]:
    truth = planted(family, 16, random_state=seed)
    held_out = truth.sample(HELD_OUT, random_state=seed + 50)
    models = _fitted(truth.sample(rows, random_state=seed + 100), circuits, held_out)
    evidence, target = questions(truth.sample(1000, random_state=seed + 7), np.random.default_rng(seed))
    known = log_odds(truth, evidence, target)
    return _line(models, evidence, target, known, np.zeros(len(known)))


def _sure_of_real(name: str, rows: int, seed: int, circuits: int) -> list[float]:
    data = datasets.load(name)
    X = np.random.default_rng(seed).permutation(np.vstack([data.train, data.valid, data.test]).astype(float))
    models = _fitted(X[:rows], circuits, X[rows : rows + HELD_OUT])
    evidence, target = questions(X[rows + HELD_OUT :], np.random.default_rng(seed))
    return _line(models, evidence, target, *frequencies(X[rows + HELD_OUT :], evidence, target))


# -- why ---------------------------------------------------------------------------------------------------------------


def why(args: argparse.Namespace) -> None:
    from support.circuits import random_circuit

    worst, asked = 0.0, 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        circuit = random_circuit(rng, rng.integers(2, 4, size=6).tolist(), depth=4, components=2)
        row = circuit.sample(1, random_state=seed)[0]
        columns = [v for v in circuit.scope if (circuit.domains[v].cardinality or 0) > 1]
        if len(columns) < 2:
            continue
        target, items = columns[0], columns[1:5]
        name = circuit.schema.shown_name
        try:
            found = circuit.contributions(f"{name(target)}={row[target]:g}", {v: row[v] for v in items})
        except ValueError:  # certain or impossible given some of the items
            continue
        exact = by_orders(circuit, target, int(row[target]), items, row)
        own = {item.item: item.log_odds for item in found.items}
        worst = max(worst, *(abs(own[f"{name(v)}={row[v]:g}"] - exact[v]) for v in items))
        asked += 1
    good = verdict(worst < 1e-9)
    print(f"Shapley values of {asked} random circuits against enumeration over orders: {worst:.1e} {good}")
    _sampled_orders()


def by_orders(circuit: Circuit, target: int, value: int, items: list[int], row: np.ndarray) -> dict[int, float]:
    """Return Shapley values from the joint distribution and all orders of the items."""
    worlds, p = circuit.oracle.assignments, circuit.oracle.probabilities
    place = {v: i for i, v in enumerate(circuit.oracle.variables)}

    def value_of(known: tuple[int, ...]) -> float:
        same = np.all([worlds[:, place[v]] == row[v] for v in known], axis=0) if known else np.ones(len(p), dtype=bool)
        hit = worlds[:, place[target]] == value
        return float(np.log(p[same & hit].sum()) - np.log(p[same & ~hit].sum()))

    found, orders = dict.fromkeys(items, 0.0), list(permutations(items))
    for order in orders:
        for i, v in enumerate(order):
            found[v] += (value_of(order[: i + 1]) - value_of(order[:i])) / len(orders)
    return found


def _sampled_orders() -> None:
    """Say how far sampled orders are from exact values, in their standard errors."""
    circuit, data = learned("nltcs")
    question = questions_of("X0=1", circuit.schema)[0]
    away: list[float] = []
    for row in data.test[:10]:
        items = [Question.of_value(circuit.schema, v, int(row[v])).event for v in range(1, 13)]
        values = LogOdds(circuit.backend, circuit.schema, question, items)
        shares, errors = sampled(values, 12, 200, np.random.default_rng(0))
        away += ((shares - shapley(values.of(all_sets(12)), 12)) / errors).tolist()
    inside = float((np.abs(away) < 2).mean())
    print(f"sampled orders of 12 items on nltcs: {inside:.0%} within two standard errors {verdict(inside > 0.9)}")


# -- what next ---------------------------------------------------------------------------------------------------------


def next_(args: argparse.Namespace) -> None:
    print(
        f"{'data':10} {'columns':>7} {'by gain':>8} {'fixed':>8} {'random':>8}   known  correct (gain, fixed, random)"
    )
    for name, n_rows in ASKED:
        circuit, data = learned(name)
        train, test = (np.asarray(own, dtype=float) for own in (data.train, data.test))
        frequency = np.nanmean(train, axis=0)
        targets = np.argsort(np.abs(frequency - 0.5), kind="stable")[:5]  # those that are hardest to guess
        rng, lines = np.random.default_rng(0), []
        for target in targets.tolist():
            rows = test[~np.isnan(test[:, target])][:n_rows]
            lines.append([played(circuit, rows, target, how, rng) for how in ("gain", "fixed", "random")])
        asked, known, correct = np.mean(lines, axis=0).T
        shown = ", ".join(f"{k:.0%}" for k in known), ", ".join(f"{c:.0%}" for c in correct)
        columns = f"{asked[0]:8.1f} {asked[1]:8.1f} {asked[2]:8.1f}"
        good = verdict(asked[0] < asked[2])
        print(f"{name:10} {train.shape[1]:7} {columns}   {shown[0]}   {shown[1]}  {good}", flush=True)


def played(circuit: Circuit, rows: np.ndarray, target: int, how: str, rng: np.random.Generator) -> tuple[float, ...]:
    """Return how many questions were asked of a row on average, how many rows were decided, and how many correctly."""
    answers = rows[:, target]
    evidence = np.full(rows.shape, np.nan)
    fixed = gains_of_rows(circuit.backend, evidence[:1], target)[0]
    chance = rng.random(rows.shape)
    asked, guess, done = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows), dtype=bool)
    others = np.arange(rows.shape[1]) != target
    while not done.all():
        p = circuit.marginals(evidence)[:, target, 1]
        guess = np.where(done, guess, p > 0.5)
        done |= np.maximum(p, 1 - p) > KNOWN
        open_ = np.isnan(evidence) & others & ~np.isnan(rows)
        live = np.flatnonzero(~done & open_.any(axis=1))
        if not len(live):
            break
        if how == "gain":
            score = gains_of_rows(circuit.backend, evidence[live], target)
        else:
            score = fixed if how == "fixed" else chance[live]
        best = np.where(open_[live], score, -1.0).argmax(axis=1)
        evidence[live, best] = rows[live, best]
        asked[live] += 1
    return float(asked.mean()), float(done.mean()), float((guess == answers)[done].mean())


# -- the parts ---------------------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "sure": sure,
    "why": why,
    "next": next_,
    "check": lambda _: answers_check.check(),
    "cost": lambda _: answers_check.cost(),
    "information": lambda _: answers_check.information(),
    "map": lambda _: answers_check.map_rows(),
}


def main() -> None:
    own = parser(__doc__, PARTS)
    own.add_argument("--seeds", type=int, default=3)
    own.add_argument("--rows", type=int, nargs="+", default=[300, 1000, 5000])
    own.add_argument("--circuits", type=int, default=1, help="members of a bagged ensemble, for sure")
    args = own.parse_args()
    for part in args.parts:
        print(f"-- {part}")
        PARTS[part](args)


if __name__ == "__main__":
    main()
