import tempfile
from pathlib import Path

import numpy as np
import pytest

from xspn import Bernoulli, BetaBinomial, Categorical, Circuit, Gaussian, Product, Sum, save


def survey() -> Circuit:
    """Columns of every type, with labels, and one that is impossible beside another."""
    cities, answers = ["Bonn", "Köln", "a/b & c"], ["no", "yes"]
    young, old = (
        [Categorical(0, p), Gaussian(1, mean=age, std=4.0), BetaBinomial(range(2, 5), mean=q, dispersion=0.5)]
        for p, age, q in (([0.5, 0.3, 0.2], 25.0, 0.3), ([0.1, 0.0, 0.9], 60.0, 0.8))
    )
    root = Sum([0.6, 0.4], [Product([*young, Bernoulli(5, p=1.0)]), Product([*old, Bernoulli(5, p=0.0)])])
    names = ["city", "age", "likes_a", "likes_b", "likes_c", "student"]
    labels = {"city": cities} | dict.fromkeys(["likes_a", "likes_b", "likes_c"], answers)
    return Circuit(root, names=names, labels=labels)


def votes() -> Circuit:
    """Bits alone, without names."""
    parts = [[BetaBinomial(range(6), mean=m, dispersion=0.5), Bernoulli(6, p=m)] for m in (0.2, 0.7)]
    return Circuit(Sum([0.5, 0.5], [Product(part) for part in parts]))


@pytest.fixture(scope="session")
def circuits():
    return {"survey": survey(), "votes": votes()}


@pytest.fixture(scope="session")
def models(circuits):
    """The models as a worker has them."""
    pytest.importorskip("orjson", reason="the extra serve is not installed")
    from xspn.service.endpoints import BATCHED
    from xspn.service.models import Model, Models, prepare

    found = Models()
    with tempfile.TemporaryDirectory() as folder:
        for name, circuit in circuits.items():
            save(circuit, Path(folder) / f"{name}.json")
            prepare(name, Path(folder) / f"{name}.json", Path(folder) / name)
            model = Model.open(Path(folder) / name)
            model.warm_up(BATCHED)
            found.swap(model)
        yield found


@pytest.fixture
def table(circuits):
    """Rows of the survey with missing cells, as codes."""
    codes = circuits["survey"].sample(40, random_state=1)
    codes[np.random.default_rng(2).random(codes.shape) < 0.4] = np.nan
    return codes
