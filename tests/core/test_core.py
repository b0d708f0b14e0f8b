"""The ground floor: log-space arithmetic, registries, seeds, weights of rows."""

from math import comb, factorial, log

import numpy as np
import pytest

import xspn
from xspn.core.checks import weights_of_rows
from xspn.core.errors import DataError, ParameterError, RegistryError
from xspn.core.logspace import log_binomials, log_factorials, log_sum_counts, logsumexp_quiet, safe_log
from xspn.core.random import child_seed, generator
from xspn.core.registry import Registry


def test_factorials():
    found = log_factorials(300)
    np.testing.assert_allclose(np.array(found, float), [log(factorial(k)) for k in range(301)], rtol=1e-15, atol=1e-15)
    assert not found.flags.writeable


@pytest.mark.parametrize("n", [0, 1, 2, 61, 1000])
def test_binomials(n):
    found = log_binomials(n)
    np.testing.assert_allclose(found, [log(comb(n, k)) for k in range(n + 1)], rtol=1e-15, atol=1e-13)
    np.testing.assert_array_equal(found, found[::-1])
    assert not found.flags.writeable


@pytest.mark.parametrize(("n", "k"), [(0, 2), (0, 5), (1, 2), (1, 5), (3, 4), (40, 2)])
def test_sum_counts_add_up(n, k):
    found = log_sum_counts(n, k)
    assert found.shape == (n * (k - 1) + 1,)
    assert np.exp(found).sum() == pytest.approx(float(k) ** n)
    assert not found.flags.writeable


def test_logs_of_nothing():
    assert safe_log(0.0) == -np.inf
    assert logsumexp_quiet(np.full((2, 3), -np.inf)).tolist() == [-np.inf, -np.inf]
    assert logsumexp_quiet(np.log([[0.25, 0.5]]))[0] == pytest.approx(log(0.75))


def test_registry():
    registry = Registry("color")
    registry.add("red", 1)
    with pytest.raises(RegistryError, match="color 'red' is registered already"):
        registry.add("red", 2)
    with pytest.raises(RegistryError, match=r"unknown color 'blue'\. Known: red"):
        registry["blue"]
    assert (list(registry), len(registry), "red" in registry, "blue" in registry) == (["red"], 1, True, False)


def test_generators():
    own = np.random.default_rng(3)
    assert generator(own) is own
    assert generator(5).integers(1000) == generator(np.int64(5)).integers(1000)
    old = [generator(np.random.RandomState(1)).integers(1000) for _ in range(2)]
    assert old[0] == old[1]
    assert generator(None).integers(2) in (0, 1)


def test_child_seeds_depend_on_the_path_alone():
    seeds = {child_seed(parent, index) for parent in range(50) for index in range(20)}
    assert len(seeds) == 1000
    assert child_seed(1, 23) != child_seed(12, 3)


def test_nothing_touches_the_global_random_state():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    circuit = xspn.Circuit(xspn.Exchangeable.uniform([0, 1, 2]))
    circuit.sample(10)
    circuit.sample(10, random_state=0)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"expected 3 weights, one per row, found shape \(2,\)"),
        ([1, -1, 1], "found -1.0 at row 1"),
        ([1, 1, np.nan], "found nan at row 2"),
        ([np.inf, 1, 1], "found inf at row 0"),
        ([[1, 1, 1]], "found shape"),
        (["a", "b", "c"], "expected numbers"),
    ],
)
def test_weights_of_rows(weights, message):
    with pytest.raises((DataError, ParameterError), match=f"sample_weight: .*{message}"):
        weights_of_rows(weights, 3)


def test_weights_of_rows_by_default():
    assert weights_of_rows(None, 3).tolist() == [1, 1, 1]


def test_public_names():
    assert set(xspn.__all__) <= set(dir(xspn))
    for name in ("Circuit", "Sum", "Product", "Bernoulli", "Categorical", "Gaussian", "ChowLiu", "Exchangeable"):
        assert name in xspn.__all__
    assert {"load", "save", "__version__"} <= set(xspn.__all__)
