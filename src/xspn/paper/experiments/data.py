"""The data of an experiment: the authors' files where they are at hand, generated samples of the synthetic sets."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from xspn.paper import datasets
from xspn.paper.datasets.catalog import info, names
from xspn.paper.datasets.dataset import BinaryTable, Dataset
from xspn.paper.datasets.files import Places
from xspn.paper.datasets.loading import whereabouts

VALIDATION_STEP = 5  # every fifth training row is a validation row where the validation file cannot be used


@dataclass(frozen=True)
class Availability:
    """Which data sets can be run, which of them on generated rows, and which are missing."""

    files: tuple[str, ...]
    generated: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def usable(self) -> tuple[str, ...]:
        """All that can be run, in the paper's order."""
        here = {*self.files, *self.generated}
        return tuple(name for name in names() if name in here)


def availability(wanted: tuple[str, ...]) -> Availability:
    """Look for the files of data sets, by name only; nothing is downloaded."""
    places = Places.find()
    here = {name for name in wanted if whereabouts(info(name), places) != "not here"}
    synthetic = set(names("synthetic"))
    return Availability(
        files=tuple(name for name in wanted if name in here),
        generated=tuple(name for name in wanted if name not in here and name in synthetic),
        missing=tuple(name for name in wanted if name not in here and name not in synthetic),
    )


@lru_cache(maxsize=2)
def dataset(name: str, generated: bool) -> Dataset:
    """Return a data set; the last two are kept, because units of one data set follow each other."""
    return datasets.make(name) if generated else datasets.load(name, download=False)


def validation_is_test(data: Dataset) -> bool:
    """Whether the published validation file is the test file, so that nothing may be chosen on it."""
    return bool(np.array_equal(data.valid, data.test))


def rows_to_choose_on(data: Dataset) -> tuple[BinaryTable, BinaryTable]:
    """Return training and validation rows; some of the training rows where the validation file is the test file.

    Examples:
        >>> rows = np.arange(40).reshape(10, 4) % 2
        >>> train, valid = rows_to_choose_on(Dataset("leaky", rows, rows[:3], rows[:3]))
        >>> len(train), len(valid)
        (8, 2)
    """
    if not validation_is_test(data):
        return data.train, data.valid
    chosen_on = np.arange(len(data.train)) % VALIDATION_STEP == 0
    return data.train[~chosen_on], data.train[chosen_on]


def known_rows(data: Dataset) -> float:
    """Return the fraction of the test rows that also occur in training: memory is enough to predict those.

    Examples:
        >>> rows = np.array([[0, 1], [1, 1], [0, 1]])
        >>> known_rows(Dataset("leaky", rows[:1], rows[:1], rows))
        0.6666666666666666
    """
    known = {row.tobytes() for row in np.packbits(data.train, axis=1)}
    return sum(row.tobytes() in known for row in np.packbits(data.test, axis=1)) / len(data.test)


@lru_cache(maxsize=4)
def facts(name: str, generated: bool) -> dict[str, str | float | int | bool]:
    """Return what a result says of its data: digest, sizes, rows that recur, the limit where the truth is known."""
    data = dataset(name, generated)
    digest = hashlib.sha256()
    for part in (data.train, data.valid, data.test):
        digest.update(np.packbits(part).tobytes())
    found: dict[str, str | float | int | bool] = {
        "data": digest.hexdigest()[:16],
        "rows": len(data.train),
        "variables": data.n_variables,
        "held_out": validation_is_test(data),
        "test_rows_in_train": known_rows(data),
    }
    if data.truth is not None:
        found["limit"] = float(data.truth.log_likelihood(data.test).mean())
    return found
