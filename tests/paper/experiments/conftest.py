"""Hand-made results, and a world without data files."""

import numpy as np
import pytest

from xspn.paper.experiments.results import Unit, UnitResult


@pytest.fixture(autouse=True)
def _no_files(monkeypatch, tmp_path):
    """Only generated data sets, whatever the machine has."""
    monkeypatch.delenv("XSPN_DATA", raising=False)
    monkeypatch.setenv("XSPN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XSPN_DOWNLOAD_BASE", (tmp_path / "nowhere").as_uri())


@pytest.fixture
def made():
    """A function that makes a result with given scores."""

    def make(dataset, model, test, valid=None, experiment="density", n_rows=50, settings=(), **more):
        noise = np.random.default_rng(0).normal(size=n_rows)
        rows = test + more.pop("spread", 1.0) * (noise - noise.mean())
        unit = Unit(experiment, dataset, model, tuple(settings))
        seconds = {"fit": 1.0, "test": 0.1}
        facts = {"majority": 0.6, "circuit": "abc", **more.pop("facts", {})}
        return UnitResult(unit, test if valid is None else valid, test, rows, more.pop("parameters", 7), seconds,
                      {"xspn": "0"}, facts)  # fmt: skip

    return make
