"""A baseline of one's own takes one class and one line: it is planned, run, reported, and refused by name."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from xspn import datasets
from xspn.paper.experiments import data
from xspn.paper.experiments import plan as plan_module
from xspn.paper.experiments.comparison import Chosen
from xspn.paper.experiments.models import ModelSpec, models
from xspn.paper.experiments.plan import known_models, plan, planned
from xspn.paper.experiments.runner import run_units
from xspn.paper.experiments.store import Store
from xspn.paper.experiments.tables import sizes_table


class Coins(BaseEstimator):
    """Independent coins, one for each column."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X):
        self.network_ = Weights((X.sum(axis=0) + 1) / (len(X) + 2))
        return self

    def score_samples(self, X):
        return np.log(np.where(X == 1, self.network_.p, 1 - self.network_.p)).sum(axis=1)

    def score(self, X):
        return float(self.score_samples(X).mean())


class Weights:
    """What the number of parameters is counted from."""

    def __init__(self, p):
        self.p = p


@pytest.fixture
def _coins(monkeypatch):
    monkeypatch.setitem(models._items, "coins", ModelSpec("coins", Coins))
    monkeypatch.setattr(data.datasets, "make", lambda name, make=datasets.make: make(name, 300, 100, 100))
    for cache in (data.dataset, data.facts, plan_module._all_units):
        cache.cache_clear()
    yield
    for cache in (data.dataset, data.facts, plan_module._all_units):
        cache.cache_clear()


@pytest.mark.usefixtures("_coins")
def test_a_baseline_is_planned_run_and_reported(tmp_path, monkeypatch):
    monkeypatch.delenv("XSPN_DATA", raising=False)
    monkeypatch.setenv("XSPN_CACHE", str(tmp_path / "cache"))
    (unit,) = plan(["table1"], ("MEVM-s",), ("coins",)).units
    assert "coins" in known_models()
    assert planned(unit) == unit
    store = Store(tmp_path / "units")
    assert run_units([unit], store).failures == ()
    result = store.read(unit)
    assert (result.parameters, len(result.test_rows)) == (20, 100)
    assert -20 < result.test_score < -10
    assert "coins" in sizes_table(Chosen([result], "density")).header


@pytest.mark.usefixtures("_coins")
def test_a_baseline_whose_package_is_missing_is_skipped_by_name(monkeypatch):
    monkeypatch.setitem(models._items, "coins", ModelSpec("coins", Coins, extra="no_such_package"))
    found = plan(["table1"], ("MEVM-s",), ("coins",))
    assert found.units == ()
    assert found.skipped == ("coins needs no_such_package: pip install 'xspn[no_such_package]'",)
