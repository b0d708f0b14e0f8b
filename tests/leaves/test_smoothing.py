"""Laplace smoothing: where the pseudo-mass goes, by hand."""

import numpy as np
import pytest

from xspn import Bernoulli, Categorical, ChowLiu, Exchangeable, Gaussian, Smoothing
from xspn.core.errors import ParameterError
from xspn.statistics import ValueCounts


def test_bernoulli():
    leaf = Bernoulli(0, p=0.5).from_statistics(np.array([3.0, 1.0]), smoothing=0.5)
    assert leaf.p == pytest.approx(1.5 / 5)


def test_categorical():
    leaf = Categorical(0, [0.2, 0.3, 0.5]).from_statistics(np.array([3.0, 1.0, 0.0]), smoothing=1)
    assert leaf.probabilities.tolist() == pytest.approx([4 / 7, 2 / 7, 1 / 7])


@pytest.mark.parametrize(("spread", "pseudo"), [("assignments", [0.5, 1.0, 0.5]), ("values", [2 / 3, 2 / 3, 2 / 3])])
def test_exchangeable_by_hand(spread, pseudo):
    """Two variables, four rows with counts 1, 0, 3 and mass 2: over 4 assignments it is ½ each, over 3 values ⅔."""
    start = Exchangeable.uniform([0, 1])
    leaf = start.from_statistics(np.array([1.0, 0.0, 3.0]), Smoothing(2.0, spread))
    np.testing.assert_allclose(leaf.class_probabilities, (np.array([1.0, 0.0, 3.0]) + pseudo) / 6, rtol=1e-14)


def test_assignments_is_the_default():
    start = Exchangeable.uniform([0, 1], ValueCounts(3))
    counts = np.arange(6.0)
    by_number = start.from_statistics(counts, 0.7)
    by_name = start.from_statistics(counts, Smoothing(0.7, "assignments"))
    np.testing.assert_array_equal(by_number.log_weights, by_name.log_weights)
    np.testing.assert_allclose(
        by_name.class_probabilities, (counts + 0.7 * np.array([1, 2, 1, 2, 2, 1]) / 9) / 15.7, rtol=1e-14
    )


def test_smoothing_alone_gives_the_uniform_distribution():
    start = Exchangeable.from_class_probabilities([0, 1, 2], [0.7, 0.1, 0.1, 0.1])
    over_assignments = start.from_statistics(np.zeros(4), Smoothing(1.0, "assignments"))
    over_values = start.from_statistics(np.zeros(4), Smoothing(1.0, "values"))
    np.testing.assert_allclose(over_assignments.class_probabilities, [1 / 8, 3 / 8, 3 / 8, 1 / 8])
    np.testing.assert_allclose(over_values.class_probabilities, [1 / 4] * 4)


def test_chow_liu_gives_each_value_of_a_root_the_mass_and_each_cell_of_a_pair_half():
    start = ChowLiu([0, 1], [-1, 0], [[0.5, 0.5], [0.5, 0.5]])
    rows = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    leaf = start.from_statistics(start.statistics(rows, np.ones(3)), smoothing=1.0)
    np.testing.assert_allclose(leaf.p, [[3 / 5, 3 / 5], [0.5 / 2, 1.5 / 3]])


def test_a_gaussian_of_one_value_needs_smoothing():
    start = Gaussian(3, mean=0, std=1)
    statistics = start.statistics(np.full((4, 1), 2.0), np.ones(4))
    with pytest.raises(ParameterError, match=r"variable 3 .*smoothing"):
        start.from_statistics(statistics)
    leaf = start.from_statistics(statistics, smoothing=1.0)
    assert (leaf.mean, leaf.std) == (pytest.approx(2.0), pytest.approx(np.sqrt(1 / 5)))


@pytest.mark.parametrize("bad", [-1, np.nan, np.inf, "1", None, True, [1]])
def test_bad_mass(bad):
    with pytest.raises(ParameterError, match="smoothing"):
        Smoothing(bad)


def test_bad_spread():
    with pytest.raises(ParameterError, match=r"spread.*'assignments', 'values'.*'value'"):
        Smoothing(1.0, "value")
