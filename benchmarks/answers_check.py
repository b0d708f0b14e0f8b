"""What is wrong in a table, information and most probable rows: precision, recall, cost, exactness.

    python benchmarks/answers.py check        planted errors: precision and recall beside other methods
    python benchmarks/answers.py cost         checking all cells of a table beside scoring it, in CPU time
    python benchmarks/answers.py information  entropies: exact, simulated and bounded
    python benchmarks/answers.py map          marginal MAP on netflix: 50 % asked, 30 % known

The data sets are looked for where `XSPN_DATA` says. Times are CPU times, the least of several.
"""

import time
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from xspn import XSPN, check_table, datasets
from xspn.circuit import Circuit
from xspn.data.table import Table

ROWS = 4000  # of each data set that is checked
PLANTED = 0.01  # of the cells
FDR = 0.1
FEWER_ROWS, SET_ASIDE = 2000, 0.01  # where models are learned twice


# -- tables and planted errors -----------------------------------------------------------------------------------------


def survey(rng: np.random.Generator, n_rows: int = 2000) -> Table:
    """Return answers on scales of five to three blocks of questions, each with a trait behind it, and a group."""
    group = rng.integers(0, 3, n_rows)
    traits = rng.normal(size=(n_rows, 3)) + 0.8 * (group[:, None] - 1) * np.array([1.0, -1.0, 0.0])
    items = [np.clip(np.round(2 + traits[:, k % 3] + 0.7 * rng.normal(size=n_rows)), 0, 4) for k in range(15)]
    codes = np.column_stack([group, *items])
    return Table.of(codes, domains=["categorical"] * codes.shape[1])


def mixed() -> Table:
    """Return measurements of tumors, and what they turned out to be."""
    found = load_breast_cancer()
    return Table.of(np.column_stack([found.data, found.target]), domains=["real"] * 30 + ["binary"])


def planted(codes: np.ndarray, table: Table, rng: np.random.Generator, how: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes with 1 % of the cells changed, and which they are.

    Args:
        codes: The table.
        table: Where the columns' domains are from.
        rng: The source of randomness.
        how: "flipped": another value of the column at random; "swapped": the value of another row. Numbers are swapped.
    """
    bad = codes.astype(np.float64).copy()
    n, width = codes.shape
    places = rng.choice(n * width, size=round(PLANTED * n * width), replace=False)
    for place in places.tolist():
        row, column = divmod(place, width)
        size = table.domains[column].cardinality
        if how == "flipped" and size is not None:
            bad[row, column] = (codes[row, column] + rng.integers(1, size)) % size
        else:
            bad[row, column] = codes[rng.integers(n), column]
    return bad, bad != codes


# -- other methods -----------------------------------------------------------------------------------------------------


def frequencies(bad: np.ndarray, table: Table) -> np.ndarray:
    """Return how unlikely each cell is in its column alone: its frequency, or its place among the numbers."""
    out = np.empty(bad.shape)
    for v in range(bad.shape[1]):
        if table.domains[v].cardinality is None:
            place = np.argsort(np.argsort(bad[:, v])) / len(bad)
            out[:, v] = 2 * np.minimum(place, 1 - place)
        else:
            _, which, counts = np.unique(bad[:, v], return_inverse=True, return_counts=True)
            out[:, v] = counts[which] / len(bad)
    return out


def column_models(bad: np.ndarray, table: Table) -> np.ndarray:
    """Return how unlikely each cell is given the rest of the row, by a regression for each column, cross-fitted."""
    from scipy.stats import norm

    real = np.array([domain.cardinality is None for domain in table.domains])
    out = np.ones(bad.shape)
    for v in range(bad.shape[1]):
        rest = np.delete(np.arange(bad.shape[1]), v)
        parts = []
        if not real[rest].all():
            parts.append(OneHotEncoder(drop="if_binary", sparse_output=False).fit_transform(bad[:, rest[~real[rest]]]))
        if real[rest].any():
            parts.append(StandardScaler().fit_transform(bad[:, rest[real[rest]]]))
        features = np.column_stack(parts)
        for train, test in KFold(5, shuffle=True, random_state=0).split(bad):
            if real[v]:
                model = Ridge().fit(features[train], bad[train, v])
                left = bad[train, v] - model.predict(features[train])
                spread = max(1.4826 * float(np.median(np.abs(left))), 1e-12)  # which errors do not widen
                out[test, v] = 2 * norm.sf(np.abs(bad[test, v] - model.predict(features[test])) / spread)
            elif len(np.unique(bad[train, v])) > 1:
                model = LogisticRegression(max_iter=300).fit(features[train], bad[train, v])
                chances, own = model.predict_proba(features[test]), np.searchsorted(model.classes_, bad[test, v])
                known = own < chances.shape[1]
                out[test, v] = np.where(
                    known, chances[np.arange(len(test)), np.minimum(own, chances.shape[1] - 1)], 0.0
                )
    return out


# -- parts -------------------------------------------------------------------------------------------------------------


def check() -> None:
    """Print precision and recall of what is reported, and average precision of the rankings."""
    rng = np.random.default_rng(0)
    nltcs, plants = (Table.of(datasets.load(name).train[:ROWS]) for name in ("nltcs", "plants"))
    tables = {"nltcs": nltcs, "plants": plants, "survey": survey(rng), "mixed": mixed()}
    print(
        "| table | errors | cells reported | precision | recall | AP: xspn | AP: regressions | AP: columns "
        "| rows AP: xspn | rows AP: isolation forest |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    cases = [
        (name, how, 0.0) for name in tables for how in ("flipped", "swapped") if (name, how) != ("mixed", "flipped")
    ]
    tables["plants, 1 % set aside"] = plants.rows(np.arange(FEWER_ROWS))
    for name, how, set_aside in [*cases, ("plants, 1 % set aside", "flipped", SET_ASIDE)]:
        table = tables[name]
        bad, wrong = planted(np.asarray(table.codes), table, np.random.default_rng(1), how)
        found = check_table(Table(bad, table.schema), fdr=FDR, set_aside=set_aside)
        reported = np.zeros(bad.shape, dtype=bool)
        for cell in found.unlikely_cells:
            reported[cell.row, cell.column] = True
        right = int((reported & wrong).sum())
        cells = [found.tails, column_models(bad, table), frequencies(bad, table)]
        scores = [average_precision_score(wrong.ravel(), -own.ravel()) for own in cells]
        forest = IsolationForest(n_estimators=300, random_state=0).fit(bad)
        rows = [found.tails.min(axis=1), forest.score_samples(bad)]
        of_rows = [average_precision_score(wrong.any(axis=1), -own) for own in rows]
        precision = f"{right / reported.sum():.2f}" if reported.any() else ""
        numbers = [right / int(wrong.sum()), *scores, *of_rows]
        first = (
            f"| {name} ({bad.shape[0]:,} × {bad.shape[1]}) | {int(wrong.sum()):,} {how} | {int(reported.sum()):,} "
            f"| {precision} |"
        )
        print(first, " | ".join(f"{own:.2f}" for own in numbers), "|", flush=True)


def least_time(ask: Callable[[np.ndarray], object], rows: np.ndarray, repeats: int = 7) -> float:
    """Return the least CPU time of several."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        ask(rows)
        times.append(time.process_time() - start)
    return min(times)


def cost() -> None:
    """Print what it costs to score every cell of 10,000 rows beside scoring the rows."""
    print("| circuit | back end | rows | scoring | all cells | ratio |\n|---|---|---|---|---|---|")
    tables = {name: Table.of(datasets.load(name).train[:10_000]) for name in ("nltcs", "plants", "netflix")}
    tables["survey"], tables["mixed"] = survey(np.random.default_rng(0), 10_000), mixed()
    for name, table in tables.items():
        circuit = XSPN(random_state=0).fit(table).circuit_
        rows = table.codes if name != "mixed" else np.tile(table.codes, (18, 1))[:10_000]
        for backend in ("numpy", "numba"):
            own = circuit.to(backend, threads=1)
            own.log_likelihood(rows[:2000])
            own.cell_log_likelihood(rows[:2000])
            score, cells = least_time(own.log_likelihood, rows), least_time(own.cell_log_likelihood, rows)
            print(
                f"| {name} | {backend} | {len(rows):,} | {score:.4f} s | {cells:.4f} s | {cells / score:.1f} |",
                flush=True,
            )


def information() -> None:
    """Print entropies of circuits: exact by enumeration, simulated, and bounded."""
    print("| circuit | exact | simulated | standard error | lower bound | upper bound |\n|---|---|---|---|---|---|")
    for name in ("nltcs", "plants"):
        circuit = XSPN(random_state=0).fit(datasets.load(name).train[:ROWS]).circuit_
        found, exact = circuit.entropy(method="simulation"), ""
        if circuit.n_variables <= 20:
            exact = f"{circuit.entropy().value:.4f}"
        print(f"| {name} | {exact} | {found.value:.4f} | {found.error:.4f} | {found.lower:.4f} | {found.upper:.4f} |")


def map_rows(circuit: Circuit | None = None, n: int = 10, seconds: float = 60.0) -> None:
    """Print how long marginal MAP takes on the netflix circuit."""
    data = datasets.load("netflix")
    circuit = XSPN(random_state=0).fit(data.train).circuit_ if circuit is None else circuit
    solved = 0
    print("| instance | log P | exact | nodes | CPU time |\n|---|---|---|---|---|")
    for seed in range(n):
        rng = np.random.default_rng(seed)
        order = rng.permutation(circuit.n_variables)
        query, known = sorted(order[:50].tolist()), order[50:80]
        row = np.full(circuit.n_variables, np.nan)
        row[known] = data.test[rng.integers(len(data.test))][known]
        start = time.process_time()
        found = circuit.marginal_map(query, given=row, seconds=seconds)
        solved += found.exact
        used = time.process_time() - start
        print(f"| {seed} | {found.log_prob[0]:.4f} | {found.exact} | {found.n_nodes} | {used:.1f} s |", flush=True)
    print(f"\nsolved exactly: {solved} of {n}")
