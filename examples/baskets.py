"""Shopping baskets: which products are interchangeable, and what else will be in the basket?

python examples/baskets.py [FOLDER]    writes baskets.png
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from xspn import XSPN, Circuit
from xspn.plotting import exchangeability_map, posterior_bars

SHELVES = {
    "baking": ["flour", "sugar", "butter", "eggs", "yeast", "vanilla"],
    "grill": ["sausages", "charcoal", "mustard", "buns", "ketchup"],
    "greens": ["lettuce", "tomatoes", "cucumber", "radish", "peppers", "herbs", "leek"],
}
PRODUCTS = [product for shelf in SHELVES.values() for product in shelf]


def baskets(n: int, rng: np.random.Generator) -> np.ndarray:
    """Invent baskets: some people bake, some have a barbecue; on a shelf one product is as good as another."""
    bakes, grills = rng.random((n, 1)) < 0.25, rng.random((n, 1)) < 0.15
    keen = rng.beta(2, 3, size=(n, 1))  # how much somebody likes greens
    chances = [np.where(bakes, 0.75, 0.04), np.where(grills, 0.8, 0.03), keen]
    return np.hstack([rng.random((n, len(s))) < p for s, p in zip(SHELVES.values(), chances, strict=True)]).astype(int)


def main(folder: Path) -> None:
    rng = np.random.default_rng(0)
    train, test = baskets(4000, rng), baskets(4000, rng)
    model = XSPN(random_state=0).fit(train)
    circuit = Circuit.of_graph(model.circuit_.graph, PRODUCTS)
    alone = train.mean(axis=0)
    independent = (test * np.log(alone) + (1 - test) * np.log(1 - alone)).sum(axis=1).mean()
    print(f"log-likelihood of a new basket: {model.score(test):.2f}; with independent products: {independent:.2f}\n")
    print(model.explain(names=PRODUCTS))

    basket, shown = {"flour": 1, "eggs": 1}, ["sugar", "butter", "yeast", "vanilla", "buns", "lettuce"]
    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.2, 1])
    exchangeability_map(circuit, groups={p: s for s, own in SHELVES.items() for p in own}, ax=left)
    posterior_bars(circuit, basket, shown, title="Flour and eggs are in the basket: what else?", ax=right)
    figure.savefig(folder / "baskets.png", dpi=130)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
