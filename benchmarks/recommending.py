"""Next items of baskets: one item of each test basket is taken out, and each way ranks what it may have been.

hit@10 is the fraction of baskets whose item is among the first ten, MRR the mean of 1 / rank. Baskets have at least two
items; ranks are among the items that are not in the basket. The settings of item-kNN and of pair rules are those with
the best MRR on validation baskets.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xspn import XSPN, datasets
from xspn.questions.recommendation import next_item_probabilities

Scores = Callable[[np.ndarray], np.ndarray]  # baskets (rows, items) → scores of the same shape
TEST, VALID = 4000, 1000  # baskets that are looked at, at most
HITS = 10
SEEDS = range(4)
NEIGHBORS = (10, 30, 100, 10_000)


@dataclass(frozen=True)
class Shop:
    """Training, validation and test baskets as tables of zeros and ones."""

    name: str
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray


def generated(seed: int = 0, n_items: int = 120, n_baskets: int = 6000, companions: float = 0.0) -> Shop:
    """Return baskets of a shop in which people come for one or two of eight purposes.

    A purpose draws items by a popularity of its own (Zipf), and a basket has a geometric number of items. With
    companions, a third of the items bring another one along with this chance (bread, butter): which is what pair rules
    are made for. No model of this library has either form.
    """
    rng = np.random.default_rng(seed)
    usual = 1.0 / np.arange(1, n_items + 1) ** 0.8
    purposes = np.array([rng.permutation(usual) * usual**0.3 for _ in range(8)])
    purposes /= purposes.sum(axis=1, keepdims=True)
    companion = np.where(rng.random(n_items) < 0.33, rng.permutation(n_items), -1)
    table = np.zeros((n_baskets, n_items), dtype=np.uint8)
    for row in table:
        chosen = rng.choice(8, size=1 + (rng.random() < 0.4), replace=False)
        weights = purposes[chosen].mean(axis=0)
        for item in rng.choice(n_items, size=min(1 + rng.geometric(0.2), 30), p=weights):
            row[item] = 1
            if companion[item] >= 0 and rng.random() < companions:
                row[companion[item]] = 1
    cut, end = int(0.6 * n_baskets), int(0.7 * n_baskets)
    return Shop("companions" if companions else "purposes", table[:cut], table[cut:end], table[end:])


def published(name: str) -> Shop:
    data = datasets.load(name)
    return Shop(name, data.train, data.valid, data.test)


# Each of several shops of a kind, whose test baskets are put together: one may be lucky.
SHOPS: dict[str, Callable[[], list[Shop]]] = {
    "companions": lambda: [generated(seed, companions=0.5) for seed in SEEDS],
    "purposes": lambda: [generated(seed) for seed in SEEDS],
    "retail": lambda: [published("retail")],
    "kosarek": lambda: [published("kosarek")],
}


def taken_out(table: np.ndarray, most: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return baskets that lack one item each, and the items."""
    rng = np.random.default_rng(seed)
    enough = np.flatnonzero(table.sum(axis=1) >= 2)
    chosen = rng.permutation(enough)[:most]
    baskets = table[chosen].astype(np.float64)
    items = np.array([rng.choice(np.flatnonzero(own)) for own in baskets])
    baskets[np.arange(len(items)), items] = 0
    return baskets, items


def ranks(scores: np.ndarray, baskets: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Return the rank of each item among those that are open; ties count half."""
    own = scores[np.arange(len(items)), items][:, None]
    is_open = baskets == 0
    above = ((scores > own) & is_open).sum(axis=1)
    alike = ((scores == own) & is_open).sum(axis=1) - 1
    return 1 + above + alike / 2


def quality(found: np.ndarray) -> tuple[float, float]:
    return float((found <= HITS).mean()), float((1 / found).mean())


# -- what it is compared with ------------------------------------------------------------------------------------------


def popularity(train: np.ndarray) -> Scores:
    counts = train.mean(axis=0)
    return lambda baskets: np.broadcast_to(counts, baskets.shape)


def item_knn(train: np.ndarray, neighbors: int) -> Scores:
    """Sum the cosines between an item and those in the basket, of each item's nearest ones alone."""
    X = train.astype(np.float64)
    G = X.T @ X
    size = np.sqrt(np.diag(G))
    cosine = G / np.maximum(np.outer(size, size), 1e-12)
    np.fill_diagonal(cosine, 0)
    if neighbors < len(cosine):
        least = np.sort(cosine, axis=1)[:, -neighbors][:, None]
        cosine = np.where(cosine >= least, cosine, 0)
    usual = 1e-6 * X.mean(axis=0)  # items that are alike otherwise go by popularity
    return lambda baskets: baskets @ cosine.T + usual


def pair_rules(train: np.ndarray, strongest: bool, smoothing: float = 5.0) -> Scores:
    """Take the strongest rule "who has i has j" of the basket's items, or the mean of all, shrunk to popularity."""
    X = train.astype(np.float64)
    usual = X.mean(axis=0)
    G = X.T @ X
    confidence = (G + smoothing * usual) / (np.diag(G)[:, None] + smoothing)  # (i, j)

    def scores(baskets: np.ndarray) -> np.ndarray:
        if not strongest:
            return (baskets @ confidence + 0.01 * usual) / (baskets.sum(axis=1, keepdims=True) + 0.01)
        return np.array([confidence[own > 0].max(axis=0, initial=0) + 1e-6 * usual for own in baskets])

    return scores


def best_of(ways: list[Scores], shop: Shop) -> Scores:
    baskets, items = taken_out(shop.valid, VALID, seed=1)
    return max(ways, key=lambda way: quality(ranks(way(baskets), baskets, items))[1])


# -- circuits ----------------------------------------------------------------------------------------------------------


def one_more(model: XSPN) -> Scores:
    n = model.n_features_in_
    items, known, never = np.arange(n), np.full(n, np.nan), np.zeros(n, dtype=bool)
    return lambda baskets: next_item_probabilities(model.circuit_.backend, baskets, items, known, never)


def marginals(model: XSPN) -> Scores:
    """P(item | the basket's items), which knows nothing of there being no others."""
    return lambda baskets: model.circuit_.marginals(np.where(baskets == 1, 1.0, np.nan))[:, :, 1]


MODELS = {
    "default": {},
    "mixed": {"quality": "mixed"},
    "tests": {"exchangeability": "global"},
    "balanced": {"quality": "balanced"},
}


def compare(shop: Shop, models: dict[str, dict[str, object]]) -> dict[str, np.ndarray]:
    """Return the ranks of every way on the test baskets."""
    baskets, items = taken_out(shop.test, TEST)
    ways = {
        "popularity": popularity(shop.train),
        "item-kNN": best_of([item_knn(shop.train, k) for k in NEIGHBORS], shop),
        "pair rules": best_of([pair_rules(shop.train, strongest) for strongest in (True, False)], shop),
    }
    for name, settings in models.items():
        valid = {"X_valid": shop.valid} if settings.get("quality") else {}
        model = XSPN(random_state=0, **settings).fit(shop.train, **valid)
        ways[f"{name}, one more"] = one_more(model)
        ways[f"{name}, marginals"] = marginals(model)
    return {name: ranks(np.nan_to_num(way(baskets), nan=-1.0), baskets, items) for name, way in ways.items()}
