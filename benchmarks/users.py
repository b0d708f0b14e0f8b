"""What users do with a model: recommend, fill in, classify, find outliers. Prints every bar, and whether it is met.

    XSPN_DATA=../shared/data python benchmarks/users.py [recommend recommend-all impute classify outliers] [--draws 2]

`recommend`: "exactly one more item" by `quality="mixed"`, which the guide recommends for baskets, must be better than
popularity, item-kNN and pair rules, by hit@10 and by MRR, on four generated shops with companions and four without, on
retail and on kosarek (see `recommending.py`); the default model stands beside it, and others with `recommend-all`. The
tables of the other parts come with scikit-learn or are generated; what is missing, who is an outlier and how models are
set is the same for all of them.
"""

from time import perf_counter

import numpy as np
from harness import parser, verdict
from recommending import HITS, MODELS, SHOPS, compare, quality
from sklearn import datasets as sklearn_tables
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from xspn import NormalMixture, XSPNClassifier, XSPNImputer, XSPNOutlierDetector

# -- next items of baskets ------------------------------------------------------------------------------------------

BASELINES = ("popularity", "item-kNN", "pair rules")


def recommend(_: int, models: tuple[str, ...] = ("default", "mixed")) -> None:
    for load in SHOPS.values():
        shops, start = load(), perf_counter()
        parts = [compare(shop, {name: MODELS[name] for name in models}) for shop in shops]
        found = {name: np.concatenate([own[name] for own in parts]) for name in parts[0]}
        scores = {name: quality(own) for name, own in found.items()}
        n_items, n_tests = shops[0].train.shape[1], len(next(iter(found.values())))
        print(f"{shops[0].name} ({len(shops)}): {n_items} items, {n_tests} test baskets")
        for name, (hits, mrr) in scores.items():
            print(f"  {name:<22} hit@{HITS} {hits:.4f}   MRR {mrr:.4f}")
        own = scores["mixed, one more"]
        better = all(own[part] > scores[name][part] for name in BASELINES for part in (0, 1))
        print(f"  better than all: {verdict(better)}   ({perf_counter() - start:.0f} s)", flush=True)


# -- tables of scikit-learn -----------------------------------------------------------------------------------------


def table_with_class(name):
    """Return a table of scikit-learn whose last column is a category: the class, or the sex in diabetes."""
    if name == "diabetes":
        X = sklearn_tables.load_diabetes(scaled=False).data
        return np.column_stack([np.delete(X, 1, axis=1), X[:, 1] - 1])
    data = getattr(sklearn_tables, f"load_{name}")()
    return np.column_stack([data.data, data.target])


def rows_and_classes(name):
    X, y = getattr(sklearn_tables, f"load_{name}")(return_X_y=True)
    return (X[y < 5], y[y < 5]) if name == "digits" else (X, y)  # half of the digits: all take too long


# -- missing cells filled in ----------------------------------------------------------------------------------------


def impute(draws: int) -> None:
    print(
        "20 % of all cells missing at random: NRMSE of numbers and wrong categories at least as good as the better of"
    )
    print("the others' on four of five tables; 90 % intervals of real columns hold 85 to 95 % of what is missing. The")
    print("others get standardized numbers, and categories as indicators or as codes, whichever is better.")
    header = f"  {'table':<15}{'':>2}{'XSPN':>8}{'KNN':>8}{'Iter.':>8}{'':>4}{'XSPN':>8}{'KNN':>8}{'Iter.':>8}{'':>4}"
    print(header + f"{'intervals':>10}{'seconds':>9}")
    won = []
    for name in ("iris", "wine", "breast_cancer", "diabetes", "digits"):
        X, found = table_with_class(name), []
        start = perf_counter()
        for draw in range(draws):
            missing = np.random.default_rng(draw).random(X.shape) < 0.2
            found.append(imputed(X, missing))
        mean = np.mean(found, axis=0)
        (ours, held), others = (mean[0, :2], mean[0, 2]), mean[1:, :2].min(axis=0)
        won.append(ours <= others)
        print(
            f"  {name:<15}{'':>2}" + "".join(f"{own:>8.3f}" for own in mean[:, 0]) + f"{'':>4}"
            + "".join(f"{own:>8.3f}" for own in mean[:, 1])
            + f"{'':>4}{held:>10.3f}{(perf_counter() - start) / draws:>9.0f}  "
            + f"{verdict(won[-1][0])}, {verdict(won[-1][1])}"
            + ("" if np.isnan(held) else f", {verdict(0.85 <= held <= 0.95)}"),
            flush=True,
        )  # fmt: skip
    for what, count in zip(("numbers", "categories"), np.sum(won, axis=0), strict=True):
        print(f"  {what}: {count} of 5 tables  {verdict(count >= 4)}")


def imputed(X, missing):
    """Return (NRMSE, wrong categories, coverage of intervals) of our imputer, KNN and IterativeImputer."""
    table = np.where(missing, np.nan, X)
    last = X.shape[1] - 1
    density = NormalMixture(domains={last: "categorical"}, random_state=0)  # the imputer's own default for numbers
    ours = XSPNImputer(density, random_state=0).fit(table)
    low, high = ours.intervals(table, 0.9)
    real = np.array([not domain.is_discrete for domain in ours.estimator_.schema_.domains])
    inside = ((low <= X) & (high >= X))[missing & real]
    rows = [(*errors(X, missing, ours.transform(table)), inside.mean() if len(inside) else np.nan)]
    for other in (KNNImputer(), IterativeImputer(random_state=0)):
        ways = [errors(X, missing, filled_by(other, table, as_codes)) for as_codes in (False, True)]
        rows.append((*np.min(ways, axis=0), np.nan))
    return rows


def errors(X, missing, filled):
    spread = X.std(axis=0)
    numbers = [j for j in range(X.shape[1] - 1) if spread[j] > 0 and missing[:, j].any()]
    away = [np.sqrt(np.mean((filled - X)[missing[:, j], j] ** 2)) / spread[j] for j in numbers]
    last = missing[:, -1]
    return float(np.mean(away)), float((filled[last, -1] != X[last, -1]).mean())


def filled_by(imputer, table, as_codes):
    category = table[:, -1]
    values = np.unique(category[~np.isnan(category)])
    if as_codes:
        coded = category[:, None]
    else:
        coded = np.where(np.isnan(category)[:, None], np.nan, category[:, None] == values)
    scaler = StandardScaler()
    filled = scaler.inverse_transform(imputer.fit_transform(scaler.fit_transform(np.hstack([table[:, :-1], coded]))))
    rest = filled[:, table.shape[1] - 1 :]
    nearest = np.abs(rest - values).argmin(axis=1) if as_codes else rest.argmax(axis=1)
    return np.column_stack([filled[:, : table.shape[1] - 1], np.where(np.isnan(category), values[nearest], category)])


# -- classes of rows with missing cells -----------------------------------------------------------------------------


def classify(draws: int) -> None:
    print(
        "30 % of the cells missing at test time, 5 folds: accuracy better than both others on all (log-loss beside it)"
    )
    models = {
        "XSPN": lambda: XSPNClassifier(exchangeability="global", handle_unknown="missing", random_state=0),
        "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
        "logistic": lambda: make_pipeline(StandardScaler(), SimpleImputer(), LogisticRegression(max_iter=5000)),
    }
    print(f"  {'table':<15}" + "".join(f"{name:>16}" for name in models))
    for name in ("iris", "wine", "breast_cancer", "digits"):
        X, y = rows_and_classes(name)
        found = {model: [] for model in models}
        for draw in range(draws):
            rng = np.random.default_rng(draw)
            for train, test in StratifiedKFold(5, shuffle=True, random_state=draw).split(X, y):
                partial = np.where(rng.random(X[test].shape) < 0.3, np.nan, X[test])
                for model, made in models.items():
                    chances = made().fit(X[train], y[train]).predict_proba(partial)
                    right = np.mean(chances.argmax(axis=1) == y[test])
                    found[model].append((right, log_loss(y[test], np.clip(chances, 1e-12, 1))))
        mean = {model: np.mean(own, axis=0) for model, own in found.items()}
        best = max(own[0] for model, own in mean.items() if model != "XSPN")
        print(
            f"  {name:<15}" + "".join(f"{own[0]:>9.4f} {own[1]:.4f}" for own in mean.values())
            + f"  {verdict(mean['XSPN'][0] > best)}",
            flush=True,
        )  # fmt: skip


# -- outliers -------------------------------------------------------------------------------------------------------


def outliers(draws: int) -> None:
    print("5 % of the rows are outliers, and models are fitted to all: area under the ROC curve at least")
    print("IsolationForest's on five of six. In tables with classes each class in turn has the outliers.")
    print(f"  {'table':<15}{'XSPN':>8}{'forest':>8}{'seconds':>9}")
    won = []
    for name in ("iris", "wine", "breast_cancer", "digits", "dependence", "answers"):
        found, start = [], perf_counter()
        for draw in range(draws):
            rng = np.random.default_rng(draw)
            for X, odd in GENERATED[name](rng) if name in GENERATED else odd_classes(name, rng):
                models = XSPNOutlierDetector(random_state=0), IsolationForest(random_state=0)
                scores = [np.maximum(model.fit(X).score_samples(X), -1e9) for model in models]
                found.append([roc_auc_score(odd, -own) for own in scores])
        mean = np.mean(found, axis=0)
        won.append(bool(mean[0] >= mean[1]))
        seconds = (perf_counter() - start) / len(found)
        print(f"  {name:<15}{mean[0]:>8.4f}{mean[1]:>8.4f}{seconds:>9.0f}  {verdict(won[-1])}", flush=True)
    print(f"  {sum(won)} of 6 tables  {verdict(sum(won) >= 5)}")


def odd_classes(name, rng):
    """Yield all rows of the other classes and a few of one: 5 % of the table."""
    X, y = rows_and_classes(name)
    for odd in np.unique(y):
        usual = np.flatnonzero(y != odd)
        count = max(5, round(len(usual) * 0.05 / 0.95))
        rows = np.concatenate([usual, rng.choice(np.flatnonzero(y == odd), count, replace=False)])
        yield X[rows], y[rows] == odd


def dependence(rng):
    """Ten columns of two factors; an outlier has each number from another row: only the dependence is broken."""
    X = rng.normal(size=(1000, 2)) @ rng.normal(size=(2, 10)) + 0.5 * rng.normal(size=(1000, 10))
    X[:50] = np.column_stack([rng.choice(X[50:, j], 50) for j in range(10)])
    yield X, np.arange(1000) < 50


def answers(rng):
    """Two times ten yes-no answers of two kinds of people; an outlier answers at random, by the same frequencies."""
    kind, trait = np.where(rng.random((1000, 1)) < 0.5, 1.0, -1.0), 1.5 * rng.normal(size=(1000, 2))
    logits = np.hstack([np.repeat(trait[:, :1] + kind, 10, axis=1), np.repeat(trait[:, 1:] - kind, 10, axis=1)])
    X = (rng.random((1000, 20)) < 1 / (1 + np.exp(-logits))).astype(float)
    X[:50] = rng.random((50, 20)) < X[50:].mean(axis=0)
    yield X, np.arange(1000) < 50


GENERATED = {part.__name__: part for part in (dependence, answers)}

PARTS = {
    **{part.__name__: part for part in (recommend, impute, classify, outliers)},
    "recommend-all": lambda draws: recommend(draws, tuple(MODELS)),
}

if __name__ == "__main__":
    options = parser(__doc__, PARTS, default=("recommend", "impute", "classify", "outliers"))
    options.add_argument("--draws", type=int, default=2, help="of missing cells and outliers (default: 2)")
    args = options.parse_args()
    with threadpool_limits(1):
        for part in args.parts:
            PARTS[part](args.draws)
