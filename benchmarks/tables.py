"""Learning from real tables: categories, counts, numbers and missing cells. Prints every bar, and whether it is met.

XSPN_DATA=../shared/data python benchmarks/tables.py [part …]

Parts: generated, blocks, groups, five, level, missing (all by default; the last one takes longest).
"""

from time import perf_counter

import numpy as np
from harness import parser, verdict
from scipy.special import gammaln
from scipy.stats import multivariate_normal
from sklearn import datasets as sklearn_tables
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from xspn import XSPN, Exchangeable, ExchangeableGaussian, datasets
from xspn.circuit import Circuit
from xspn.data.domain import Domain
from xspn.learning.config import LearnConfig
from xspn.learning.exchangeability import global_test as binary_global_test
from xspn.learning.exchangeability import table_global_test, table_pairwise_test
from xspn.learning.independence import independence_p_values
from xspn.learning.learner import learn
from xspn.learning.summary import BinarySummary
from xspn.learning.table_data import TableData
from xspn.learning.table_summary import Column, TableSummary

MISSING = 0.2
REAL = Domain.real()


def learned(X, domains, seed=0, **settings) -> Circuit:
    return Circuit.of_graph(learn(TableData.of(X, domains), LearnConfig(**settings), seed).graph)


def categories(rng, chances, n):
    """Rows of n values, each row by its own chances."""
    ends = np.cumsum(chances, axis=1)[:, None, :-1]
    return (ends < rng.random((len(chances), n, 1))).sum(axis=2).astype(float)


def compound_symmetry(rng, rows, n, correlation):
    return np.sqrt(correlation) * rng.normal(size=(rows, 1)) + np.sqrt(1 - correlation) * rng.normal(size=(rows, n))


# -- generated tables whose truth is known --------------------------------------------------------------------------


def generated() -> None:
    print("One leaf, and within 0.01 nats of the truth at N = 5000 (20 000 fresh rows)")
    rng = np.random.default_rng(0)
    a = np.array([2.0, 3.0, 1.0])

    def dirichlet_multinomial(rows):
        counts = np.stack([(rows == v).sum(axis=1) for v in range(3)], axis=1)
        return gammaln(a.sum()) - gammaln(a.sum() + rows.shape[1]) + (gammaln(a + counts) - gammaln(a)).sum(axis=1)

    X, fresh = (categories(rng, rng.dirichlet(a, rows), 30) for rows in (5000, 20_000))
    one_leaf("30 variables of 3 values", X, fresh, Domain(3), dirichlet_multinomial, Exchangeable)
    truth = multivariate_normal(np.zeros(20), 0.4 * np.ones((20, 20)) + 0.6 * np.eye(20))
    X, fresh = (compound_symmetry(rng, rows, 20, 0.4) for rows in (5000, 20_000))
    one_leaf("20 real variables", X, fresh, REAL, truth.logpdf, ExchangeableGaussian)


def one_leaf(name, X, fresh, domain, truth, family) -> None:
    start = perf_counter()
    circuit = learned(X, [domain] * X.shape[1])
    apart = truth(fresh).mean() - circuit.log_likelihood(fresh).mean()
    good = isinstance(circuit.root, family) and apart < 0.01
    print(
        f"  {name:<26}{type(circuit.root).__name__:<22}{apart:.4f} below the truth, "
        f"{perf_counter() - start:.1f} s  {verdict(good)}"
    )


def blocks() -> None:
    print("Two blocks (8 variables of 3 values, 6 real ones) beside five unrelated columns, N = 1000: both found")
    found = sum(both_found(np.random.default_rng(seed)) for seed in range(100))
    print(f"  {found} of 100 draws  {verdict(found >= 95)}")


def both_found(rng) -> bool:
    rows = 1000
    X = np.column_stack(
        [
            categories(rng, rng.dirichlet(np.ones(3), rows), 8),
            compound_symmetry(rng, rows, 6, 0.5),
            rng.integers(0, 2, rows),
            rng.integers(0, 4, rows),
            rng.binomial(8, 0.4, rows),
            rng.normal(size=rows),
            rng.exponential(size=rows),
        ]
    )
    domains = [Domain(3)] * 8 + [REAL] * 6 + [Domain(2), Domain(4), Domain.ordinal(9), REAL, REAL]
    nodes = learned(X, domains).graph.nodes
    scopes = {tuple(node.scope) for node in nodes if isinstance(node, Exchangeable | ExchangeableGaussian)}
    return scopes == {tuple(range(8)), tuple(range(8, 14))}


def groups() -> None:
    print("A group that is not alone in its node: exchangeable leaves and blocks against a conventional SPN")
    rng = np.random.default_rng(0)
    domains = [Domain(3)] * 12 + [REAL, Domain(2), Domain.ordinal(5)]
    fresh = hidden_score(rng, 5000)
    for rows in (500, 2000):
        compared(f"12 of 15 columns, N = {rows}", hidden_score(rng, rows), fresh, domains)
    X = sklearn_tables.load_digits().data
    train, test = next(iter(KFold(5, shuffle=True, random_state=0).split(X)))
    compared("digits, first fold", X[train], X[test], [Domain.ordinal(17)] * 64)


def hidden_score(rng, rows):
    """Twelve like answers of three kinds, a number, a bit and a grade, all dependent on one hidden score."""
    z = rng.normal(size=rows)
    logits = np.exp(np.column_stack([z, 0 * z, -z]))
    chances = np.array([rng.dirichlet(8 * own) for own in logits / logits.sum(axis=1, keepdims=True)])
    grade = np.clip(np.round(2 + z + 0.5 * rng.normal(size=rows)), 0, 4)
    bit = rng.random(rows) < 1 / (1 + np.exp(-2 * z))
    return np.column_stack([categories(rng, chances, 12), z + 0.3 * rng.normal(size=rows), bit, grade])


def compared(name, X, fresh, domains) -> None:
    scores = [learned(X, domains, exchangeability=kind).log_likelihood(fresh).mean() for kind in ("global", None)]
    print(f"  {name:<26}{scores[0]:>9.3f}{scores[1]:>9.3f}  {verdict(scores[0] > scores[1])}", flush=True)


# -- tables of scikit-learn -----------------------------------------------------------------------------------------


def five_tables():
    for name in ("iris", "wine", "breast_cancer"):
        X = getattr(sklearn_tables, f"load_{name}")().data
        yield name, X, [REAL] * X.shape[1]
    X = sklearn_tables.load_diabetes(scaled=False).data - np.eye(10)[1]  # the second column is the sex, 1 or 2
    yield "diabetes", X, [REAL, Domain(2), *[REAL] * 8]
    X = sklearn_tables.load_digits().data
    yield "digits", X, [Domain.ordinal(17)] * X.shape[1]


def five() -> None:
    print(
        "Held-out log-likelihood, 5 folds: better than tests, than univariate leaves and than a Gaussian mixture (BIC)"
    )
    print(
        "  Discrete columns are probabilities for us; the mixture gets them with uniform noise of width 1, whose mean"
    )
    print("  log-density is a lower bound of its log-probability. Its columns are standardized, covariances full.")
    print(
        f"  {'table':<15}{'XSPN':>9}{'by tests':>10}{'univariate':>12}{'mixture':>9}{'components':>13}"
        f"{'seconds':>9}{'mixture':>9}"
    )
    better = 0
    for name, X, domains in five_tables():
        ours, tested, alone, theirs, components, seconds = [], [], [], [], [], np.zeros(2)
        for train, test in KFold(5, shuffle=True, random_state=0).split(X):
            start = perf_counter()
            ours.append(learned(X[train], domains, exchangeability="auto").log_likelihood(X[test]))
            middle = perf_counter()
            tested.append(learned(X[train], domains).log_likelihood(X[test]))
            product = learned(X[train], domains, min_instances=10**9, leaf_learner="factorized")
            alone.append(product.log_likelihood(X[test]))
            between = perf_counter()
            scores, k = mixture_by_bic(X[train], X[test], domains)
            theirs.append(scores)
            components.append(k)
            seconds += middle - start, perf_counter() - between
        means = [float(np.concatenate(scores).mean()) for scores in (ours, tested, alone, theirs)]
        good = means[0] > max(means[1:])
        better += good
        shown = "/".join(map(str, components))
        print(
            f"  {name:<15}{means[0]:>9.3f}{means[1]:>10.3f}{means[2]:>12.3f}{means[3]:>9.3f}{shown:>13}"
            f"{seconds[0] / 5:>9.1f}{seconds[1] / 5:>9.1f}  {'better' if good else 'worse'}",
            flush=True,
        )
    print(f"  better on {better} of 5  {verdict(better >= 4)}")


def mixture_by_bic(train, test, domains):
    rng = np.random.default_rng(0)
    discrete = np.array([domain.is_discrete for domain in domains])
    train, test = (X + discrete * rng.random(X.shape) for X in (train, test))
    scale = train.std(axis=0)
    models = []
    for k in range(1, 7):
        models.append(GaussianMixture(k, n_init=3 if len(domains) < 50 else 1, random_state=0).fit(train / scale))
        if k > 2 and models[-1].bic(train / scale) > models[-2].bic(train / scale) > models[-3].bic(train / scale):
            break
    best = min(models, key=lambda model: model.bic(train / scale))
    return best.score_samples(test / scale) - np.log(scale).sum(), best.n_components


# -- levels ---------------------------------------------------------------------------------------------------------


def null_columns(kind, rng, rows, n):
    """Exchangeable columns of one kind."""
    if kind == "names":
        return categories(rng, rng.dirichlet(np.ones(3), rows), n), Domain(3)
    if kind == "steps":
        return categories(rng, rng.dirichlet(np.ones(9), rows), n), Domain.ordinal(9)
    X = compound_symmetry(rng, rows, n, 0.5)
    return (X if kind == "numbers" else np.exp(X)), REAL


def summary_of(X, domains) -> TableSummary:
    return TableSummary(X, np.ones(len(X)), tuple(Column(domain) for domain in domains))


def level() -> None:
    print("Rejections at 0.05 on null data, 500 samples each (2 % to 8 %)")
    print(f"  {'columns':<10}{'N':>5}{'missing':>9}{'global (n = 8)':>16}{'pairwise (n = 2)':>18}{'independence':>14}")
    for kind in ("bits", "names", "steps", "numbers", "skewed"):
        for rows, fraction in ((100, 0.0), (500, 0.0), (500, MISSING)):
            rng = np.random.default_rng(0)
            rates = np.mean([rejections(kind, rng, rows, fraction) for _ in range(500)], axis=0)
            good = ((rates >= 0.02) & (rates <= 0.08)).all()
            print(
                f"  {kind:<10}{rows:>5}{fraction:>9.0%}{rates[0]:>16.1%}{rates[1]:>18.1%}{rates[2]:>14.1%}  "
                f"{verdict(good)}",
                flush=True,
            )


def rejections(kind, rng, rows, fraction):
    def with_missing(X):
        return np.where(rng.random(X.shape) < fraction, np.nan, X)

    if kind == "bits":
        X = with_missing((rng.random((rows, 8)) < rng.beta(0.5, 0.5, (rows, 1))).astype(float))
        alone = (rng.random((rows, 2)) < 0.3).astype(float)
        tests = [binary_global_test(BinarySummary.of(X.astype(np.float32), np.ones(rows)))]
        domain = Domain.binary()
    else:
        X, domain = null_columns(kind, rng, rows, 8)
        X = with_missing(X)
        alone = np.column_stack([null_columns(kind, rng, rows, 1)[0] for _ in range(2)])
        tests = [table_global_test(summary_of(X, [domain] * 8))]
    tests.append(table_pairwise_test(summary_of(X[:, :2], [domain] * 2)))
    independence = independence_p_values(summary_of(with_missing(alone), [domain] * 2))[0, 1]
    return [test.p_value < 0.05 for test in tests] + [independence < 0.05]


# -- missing cells --------------------------------------------------------------------------------------------------


def missing() -> None:
    print(f"{MISSING:.0%} of the training cells removed at random: loss below 3 %, and better than the two usual ways")
    print(f"  {'data':<8}{'all cells':>10}{'missing':>9}{'loss':>7}{'filled first':>14}{'rows dropped':>14}")
    for name in ("nltcs", "plants", "senate", "jester"):
        data = datasets.load(name)
        rng = np.random.default_rng(0)
        table = np.where(rng.random(data.train.shape) < MISSING, np.nan, data.train)
        filled = np.where(np.isnan(table), np.nanmean(table, axis=0) > 0.5, table)
        whole = table[~np.isnan(table).any(axis=1)]
        scores = [score(name, X) for X in (data.train, table, filled, whole)]
        loss = scores[1] / scores[0] - 1
        good = loss < 0.03 and scores[1] > max(scores[2:])
        print(
            f"  {name:<8}{scores[0]:>10.3f}{scores[1]:>9.3f}{loss:>7.1%}{scores[2]:>14.3f}"
            f"{scores[3]:>14.3f}  {len(whole)} whole rows  {verdict(good)}",
            flush=True,
        )


def score(name: str, X: np.ndarray) -> float:
    if len(X) == 0:
        return -np.inf
    model = XSPN(min_instances=20 if name == "senate" else 200, random_state=0).fit(X)
    return model.score(datasets.load(name).test)


PARTS = {part.__name__: part for part in (generated, blocks, groups, five, level, missing)}

if __name__ == "__main__":
    with threadpool_limits(1):
        for part in parser(__doc__, PARTS).parse_args().parts:
            PARTS[part]()
