"""`make` and `truth`: the paper's synthetic data sets, drawn anew from their models."""

from collections.abc import Callable
from functools import partial

import numpy as np

from xspn.circuit import Circuit
from xspn.core.errors import ParameterError, RegistryError
from xspn.core.random import RandomState, generator
from xspn.paper.datasets import models
from xspn.paper.datasets.catalogue import info, names
from xspn.paper.datasets.dataset import BinaryTable, Dataset
from xspn.paper.datasets.models import Constraint

# What the number of ones of a row must meet. For parity the paper prints "x mod 2 = 0": the number of ones is meant.
CONSTRAINTS: dict[str, Constraint] = {
    "threshold": lambda k: k < 45,
    "exact": lambda k: k % 5 == 0,
    "parity": lambda k: k % 2 == 0,
    "counting": lambda k: k % 5 == 3,
}
N_CONSTRAINED = 100

_FIXED: dict[str, Callable[[], Circuit]] = {
    **{name: partial(models.uniform_given_count, N_CONSTRAINED, accept) for name, accept in CONSTRAINTS.items()},
    "conference": models.conference,
}
_RANDOM: dict[str, Callable[[np.random.Generator], Circuit]] = {
    "MEVM-s": lambda rng: models.mevm(1, 4, 5, rng),
    "MEVM-l": lambda rng: models.mevm(10, 10, 15, rng),
}


def known_truth(name: str) -> Circuit | None:
    """Return the circuit that the *published* file of this name is a sample of, or None where it is not known."""
    return _FIXED[name]() if name in _FIXED else None


def truth(name: str, random_state: RandomState = 0) -> Circuit:
    """Return the circuit that `make(name, random_state=random_state)` draws from.

    For threshold, exact, parity, counting and conference there is one circuit, and the published files are samples of
    it. For the MEVM data sets the parameters are drawn from the seed; the authors' own are not known.

    Examples:
        >>> truth("conference").summary().leaves
        {'Exchangeable': 4, 'Bernoulli': 8}
    """
    return _truth(_synthetic_name(name), generator(random_state).spawn(2)[0])


def _truth(name: str, rng: np.random.Generator) -> Circuit:
    return _FIXED[name]() if name in _FIXED else _RANDOM[name](rng)


def _synthetic_name(name: str) -> str:
    entry = info(name)
    if entry.group != "synthetic":
        raise RegistryError(
            f"{entry.name!r} is no synthetic data set: no model of it is known. Load it with datasets.load; "
            f"synthetic are {', '.join(names('synthetic'))}"
        )
    return entry.name


def make(
    name: str,
    n_train: int | None = None,
    n_valid: int | None = None,
    n_test: int | None = None,
    random_state: RandomState = 0,
) -> Dataset:
    """Return a fresh sample of a synthetic data set, with the true circuit as `truth`.

    The mean of `truth.log_likelihood(test)` is the limit that no learnt model can pass, but by chance.

    Args:
        name: threshold, exact, parity, counting, MEVM-s, MEVM-l or conference.
        n_train: The number of training rows; the paper's by default.
        n_valid: The number of validation rows; the paper's by default.
        n_test: The number of test rows; the paper's by default.
        random_state: The seed. Each split has a random stream of its own: asking for more training rows does not change
            the test rows.

    Examples:
        >>> d = make("parity", n_train=100, n_valid=10, n_test=10, random_state=7)
        >>> d
        Dataset('parity', 100 variables, 100 + 10 + 10 rows)
        >>> set(d.train.sum(axis=1) % 2) == {0}
        True
    """
    own_name = _synthetic_name(name)
    entry = info(own_name)
    sizes = [
        _size(given, default, what)
        for given, default, what in zip(
            (n_train, n_valid, n_test), entry.n_rows, ("n_train", "n_valid", "n_test"), strict=True
        )
    ]
    model_rng, data_rng = generator(random_state).spawn(2)
    circuit = _truth(own_name, model_rng)
    train, valid, test = (_draw(circuit, size, rng) for size, rng in zip(sizes, data_rng.spawn(3), strict=True))
    seed = f", random_state={random_state}" if isinstance(random_state, int) else ""
    return Dataset(own_name, train, valid, test, circuit.names or (), f"datasets.make({own_name!r}{seed})", circuit)


def _size(given: int | None, default: int, what: str) -> int:
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
        raise ParameterError(f"{what}: expected a number of rows of at least 0, found {given!r}")
    return int(given)


def _draw(circuit: Circuit, size: int, rng: np.random.Generator) -> BinaryTable:
    return circuit.sample(size, random_state=rng).astype(np.uint8)
