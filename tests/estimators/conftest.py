"""A generator of random numbers for each test, always the same one, and the published data where they are at hand."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from xspn import datasets

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
_PUBLISHED = Path(os.environ.get("XSPN_DATA") or _BESIDE)


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed."""
    return np.random.default_rng(20261105)


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], datasets.Dataset]:
    """A function that loads a published data set, without the network or the user's cache."""
    if not _PUBLISHED.is_dir():
        pytest.skip(f"the published files are not at hand: no folder {_PUBLISHED}; set XSPN_DATA")
    monkeypatch.setenv("XSPN_CACHE", str(tmp_path / "cache"))
    return lambda name: datasets.load(name, data_dir=_PUBLISHED, download=False)
