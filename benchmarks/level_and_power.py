"""Level and power of the global test of exchangeability, and what its parts' sum alone would have found.

python benchmarks/level_and_power.py    about two minutes on one core
"""

from collections.abc import Callable

import numpy as np
from harness import verdict
from scipy.special import chdtrc
from threadpoolctl import threadpool_limits

from xspn import XSPN
from xspn.data.domain import Domain
from xspn.learning.exchangeability import TestResult
from xspn.learning.exchangeability import global_test as test_of_bits
from xspn.learning.exchangeability import table_global_test as test_of_table
from xspn.learning.summary import BinarySummary
from xspn.learning.table_summary import Column, TableSummary

Rng = np.random.Generator
Draw = Callable[[Rng], TestResult]
HIGHEST_LEVEL = {0.05: 0.08, 0.01: 0.025}
LEAST_POWER = 0.95


def bits(cells: np.ndarray) -> TestResult:
    return test_of_bits(BinarySummary.of(cells.astype(np.float32), np.ones(len(cells))))


def table(cells: np.ndarray, domain: Domain) -> TestResult:
    columns = tuple(Column(domain) for _ in range(cells.shape[1]))
    return test_of_table(TableSummary(cells.astype(float), np.ones(len(cells)), columns))


def placed(n: int, counts: np.ndarray, rng: Rng) -> np.ndarray:
    """Rows with the given numbers of ones, in random places."""
    return rng.random((len(counts), n)).argsort(axis=1).argsort(axis=1) < counts[:, None]


def with_missing(cells: np.ndarray, fraction: float, rng: Rng) -> np.ndarray:
    return np.where(rng.random(cells.shape) < fraction, np.nan, cells)


def categories(rows: int, n: int, k: int, rng: Rng) -> np.ndarray:
    """Rows that differ in how likely each value is, the same for all columns."""
    ends = np.cumsum(rng.dirichlet(np.ones(k), rows), axis=1)[:, None, :-1]
    return (rng.random((rows, n, 1)) > ends).sum(axis=2).astype(float)


def numbers(rows: int, n: int, rng: Rng) -> np.ndarray:
    return rng.normal(size=(rows, n)) + rng.normal(size=(rows, 1))


def of_counts(n: int, counts: Callable[[Rng], np.ndarray]) -> Draw:
    return lambda rng: bits(placed(n, counts(rng), rng))


REAL = Domain.real()
NULL: dict[str, tuple[int, Draw]] = {  # by name: how many samples, and a sample of exchangeable columns
    "bits 30 × 3": (800, of_counts(3, lambda rng: rng.binomial(3, 0.4, 30))),
    "bits 30 × 20, means 0.5": (600, of_counts(20, lambda rng: rng.binomial(20, 0.5, 30))),
    "bits 30 × 200, means 0.3": (500, of_counts(200, lambda rng: rng.binomial(200, 0.3, 30))),
    "bits 100 × 50, means 0.02": (600, of_counts(50, lambda rng: rng.binomial(50, 0.02, 100))),
    "bits 200 × 20, any count": (800, of_counts(20, lambda rng: rng.integers(0, 21, 200))),
    "bits 200 × 20, means 0.98": (600, of_counts(20, lambda rng: rng.binomial(20, 0.98, 200))),
    "bits 200 × 100, two ones": (500, of_counts(100, lambda _: np.full(200, 2))),
    "bits 200 × 30, 3 or 4 ones": (500, of_counts(30, lambda rng: rng.choice([3, 4], 200))),
    "bits 300 × 100, 1 or 50 ones": (400, of_counts(100, lambda rng: rng.choice([1, 50], 300, p=[0.95, 0.05]))),
    "bits 500 × 100, one-hot": (300, of_counts(100, lambda _: np.ones(500))),
    "bits 500 × 200, means 0.3": (200, of_counts(200, lambda rng: rng.binomial(200, 0.3, 500))),
    "bits 500 × 200, means 0.01": (200, of_counts(200, lambda rng: rng.binomial(200, 0.01, 500))),
    "bits 500 × 200, heavy tail": (200, of_counts(200, lambda rng: np.minimum(rng.geometric(0.1, 500), 200))),
    "bits 5000 × 20, means 0.1": (200, of_counts(20, lambda rng: rng.binomial(20, 0.1, 5000))),
    "bits 300 × 12, 30 % missing": (500, lambda rng: bits(with_missing(rng.random((300, 12)) < 0.4, 0.3, rng))),
    "bits 100 × 40, 50 % missing": (400, lambda rng: bits(with_missing(rng.random((100, 40)) < 0.05, 0.5, rng))),
    "3 values 150 × 6": (400, lambda rng: table(categories(150, 6, 3, rng), Domain(3))),
    "3 values 150 × 15, 30 % missing": (
        150,
        lambda rng: table(with_missing(categories(150, 15, 3, rng), 0.3, rng), Domain(3)),
    ),
    "3 values 200 × 30, rare": (
        200,
        lambda rng: table(np.where(rng.random((200, 30)) < 0.03, rng.integers(1, 3, (200, 30)), 0), Domain(3)),
    ),
    "9 steps 100 × 15": (300, lambda rng: table(categories(100, 15, 9, rng), Domain.ordinal(9))),
    "reals 60 × 20": (300, lambda rng: table(numbers(60, 20, rng), REAL)),
    "reals 100 × 20, skewed": (300, lambda rng: table(np.exp(numbers(100, 20, rng)), REAL)),
    "reals 100 × 15, 20 % missing": (150, lambda rng: table(with_missing(numbers(100, 15, rng), 0.2, rng), REAL)),
    "reals 200 × 30, 95 % zeros": (
        150,
        lambda rng: table(np.where(rng.random((200, 30)) < 0.95, 0.0, rng.exponential(size=(200, 30))), REAL),
    ),
}


def one_column(rows: int, n: int, mean: float, other: float, rng: Rng) -> np.ndarray:
    cells = rng.random((rows, n)) < mean
    cells[:, 0] = rng.random(rows) < other
    return cells


def one_shifted(rows: int, n: int, by: float, rng: Rng) -> np.ndarray:
    cells = rng.normal(size=(rows, n))
    cells[:, 0] += by
    return cells


def one_reversed(rows: int, n: int, rng: Rng) -> np.ndarray:
    cells = rng.random((rows, n)) < rng.choice([0.4, 0.6], (rows, 1))
    cells[:, 0] = ~cells[:, 0]
    return cells


def one_pair(rows: int, n: int, alike: float, rng: Rng) -> np.ndarray:
    cells = rng.random((rows, n)) < 0.3
    cells[:, 1] = np.where(rng.random(rows) < alike, cells[:, 0], cells[:, 1])
    return cells


def one_real_pair(rows: int, n: int, correlation: float, rng: Rng) -> np.ndarray:
    cells = rng.normal(size=(rows, n))
    cells[:, 1] = correlation * cells[:, 0] + np.sqrt(1 - correlation**2) * cells[:, 1]
    return cells


def blocks(size: int, apart: float, rng: Rng) -> np.ndarray:
    """Two independent blocks, in each of which rows are likely or unlikely to have ones."""
    return np.hstack([rng.random((500, size)) < 0.5 + apart * rng.choice([-1, 1], (500, 1)) for _ in range(2)])


def unequal_means(n: int, spread: float, rng: Rng) -> np.ndarray:
    return rng.random((500, n)) < np.clip(0.4 + spread * rng.normal(size=n), 0.02, 0.98)


def unequal_categories(rows: int, rng: Rng) -> np.ndarray:
    """One-hot rows of 100 categories, of which half are twice as frequent."""
    return np.eye(100)[rng.choice(100, size=rows, p=np.repeat([2.0, 1.0], 50) / 150)]


POWER: dict[str, tuple[int, bool, Draw]] = {  # by name: how many samples, whether all must be found, and a sample
    "500 × 200 bits 0.3, one of 0.7": (100, True, lambda rng: bits(one_column(500, 200, 0.3, 0.7, rng))),
    "500 × 200 bits 0.3, one of 0.45": (100, True, lambda rng: bits(one_column(500, 200, 0.3, 0.45, rng))),
    "300 × 100 bits 0.3, one of 0.7": (100, True, lambda rng: bits(one_column(300, 100, 0.3, 0.7, rng))),
    "500 × 200 bits 0.02, one of 0.1": (100, True, lambda rng: bits(one_column(500, 200, 0.02, 0.1, rng))),
    "500 × 200 bits 0.1, one of 0.01": (100, True, lambda rng: bits(one_column(500, 200, 0.1, 0.01, rng))),
    "500 × 200 reals, one shifted by 0.7": (40, True, lambda rng: table(one_shifted(500, 200, 0.7, rng), REAL)),
    "500 × 200 reals, one shifted by 0.35": (40, True, lambda rng: table(one_shifted(500, 200, 0.35, rng), REAL)),
    "500 × 200 bits, one reversed": (100, True, lambda rng: bits(one_reversed(500, 200, rng))),
    "500 × 200 bits, one pair alike": (100, True, lambda rng: bits(one_pair(500, 200, 0.35, rng))),
    "500 × 200 reals, one pair r = 0.4": (40, True, lambda rng: table(one_real_pair(500, 200, 0.4, rng), REAL)),
    "20000 × 100 one-hot, half twice as often": (5, True, lambda rng: bits(unequal_categories(20_000, rng))),
    "500 × 20 bits, two blocks": (200, True, lambda rng: bits(blocks(10, 0.4, rng))),
    "500 × 20 bits, two weak blocks": (300, False, lambda rng: bits(blocks(10, 0.1, rng))),
    "500 × 20 bits, unequal means": (300, False, lambda rng: bits(unequal_means(20, 0.03, rng))),
    "500 × 6 bits, unequal means": (300, False, lambda rng: bits(unequal_means(6, 0.03, rng))),
}


def p_of_sum(found: TestResult) -> float:
    """Return the p-value of the sum of all parts, which was the test before each of them could reject by itself.

    Then a part that cannot vary had its degrees of freedom all the same, and one-hot columns were never rejected.
    """
    names = [name for name in "QBSA" if name in found.parts]
    dof = sum(found.parts[f"dof_{name}"] for name in names)
    return float(chdtrc(dof, sum(found.parts[name] for name in names))) if dof > 0 else 1.0


def rejected(samples: list[TestResult], level: float) -> tuple[float, float]:
    """Return how often the sum of all parts rejects, and how often the test does."""
    by_sum = [p_of_sum(found) < level for found in samples]
    return float(np.mean(by_sum)), float(np.mean([found.rejects(level) for found in samples]))


def print_levels() -> None:
    most = ", ".join(f"{highest:.1%} at {level:g}" for level, highest in HIGHEST_LEVEL.items())
    print(f"Level of the global test on exchangeable columns (at most {most})")
    print(f"  {'':<34}{'sum 0.05':>9}{'test 0.05':>11}{'sum 0.01':>10}{'test 0.01':>11}{'samples':>9}")
    for name, (n_samples, draw) in NULL.items():
        rng = np.random.default_rng(0)
        samples = [draw(rng) for _ in range(n_samples)]
        figures = {level: rejected(samples, level) for level in HIGHEST_LEVEL}
        good = all(figures[level][1] <= highest for level, highest in HIGHEST_LEVEL.items())
        text = "".join(f"{before:>10.1%}{now:>11.1%}" for before, now in figures.values())
        print(f"  {name:<33}{text}{n_samples:>9}  {verdict(good)}", flush=True)


def print_power() -> None:
    print(f"Power at level 0.01 (at least {LEAST_POWER:.0%} where there is a bar; otherwise for comparison)")
    print(f"  {'':<42}{'sum':>8}{'Q alone':>9}{'test':>8}  decided by")
    for name, (n_samples, bar, draw) in POWER.items():
        rng = np.random.default_rng(1)
        samples = [draw(rng) for _ in range(n_samples)]
        before, now = rejected(samples, 0.01)
        by_means = float(np.mean([found.parts["p_Q"] < 0.01 for found in samples]))
        deciding = [str(found.parts["decided_by"]) for found in samples]
        usual = max(set(deciding), key=deciding.count)
        note = verdict(now >= LEAST_POWER) if bar else ""
        print(f"  {name:<42}{before:>8.0%}{by_means:>9.0%}{now:>8.0%}  {usual:<7}{note}", flush=True)


def print_learned() -> None:
    print("What is learned of such tables")
    rng = np.random.default_rng(2)
    cells = one_column(500, 200, 0.3, 0.7, rng)
    found = float(XSPN(random_state=0).fit(cells).circuit_.marginals()[0, 0, 1])
    frequency = float(cells[:, 0].mean())
    print(
        f"  500 × 200: P(X0 = 1) = {found:.3f}, in the data {frequency:.3f}  {verdict(abs(found - frequency) < 0.02)}"
    )
    train, test = unequal_categories(20_000, rng), unequal_categories(20_000, rng)
    ll = XSPN(random_state=0).fit(train.astype(int)).score(test.astype(int))
    truth = float(np.log(test @ (np.repeat([2.0, 1.0], 50) / 150)).mean())
    print(f"  one-hot: LL {ll:.3f}, truth {truth:.3f}, uniform {-np.log(100):.3f}  {verdict(ll > truth - 0.02)}")


def report() -> None:
    """Print levels, powers and what is learned."""
    print_levels()
    print_power()
    print_learned()


if __name__ == "__main__":
    with threadpool_limits(1):
        report()
