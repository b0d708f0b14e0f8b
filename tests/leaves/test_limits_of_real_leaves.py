"""What real leaves can be computed with: sizes of their parameters, nearly singular covariances, values far away."""

import numpy as np
import pytest

from xspn import Circuit, Gaussian
from xspn.core.errors import ParameterError
from xspn.leaves import ExchangeableGaussian, MultivariateGaussian

NEARLY_ONE = 1 - 2**-53  # the largest number below 1


@pytest.mark.parametrize(("mean", "std"), [(1e200, 1.0), (0.0, 1e200), (0.0, 1e-200), (np.inf, 1.0), (0.0, np.nan)])
def test_parameters_whose_squares_are_no_numbers_are_refused(mean, std):
    with pytest.raises(ParameterError, match="expected"):
        Gaussian(0, mean, std)
    with pytest.raises(ParameterError, match="expected"):
        ExchangeableGaussian([0, 1], mean, std, 0.1)
    with pytest.raises(ParameterError, match="expected"), np.errstate(over="ignore"):
        MultivariateGaussian([0, 1], [mean, 0.0], np.diag([np.float64(std) ** 2, 1.0]))


@pytest.mark.parametrize("far", [1e149, 1e200, -1e308])
def test_values_far_away_have_no_density_and_cause_no_warning(far):
    for leaf in (ExchangeableGaussian([0, 1], 0.0, 1e-3, 0.5), MultivariateGaussian([0, 1], [0, 0], np.eye(2) * 1e-6)):
        found = leaf.log_prob(np.array([[far, far], [far, np.nan], [0.0, far]]))
        assert (found < -1e290).all()


def test_covariances_that_only_rounding_makes_positive_are_refused():
    with pytest.raises(ParameterError, match="positive definite"):
        MultivariateGaussian([0, 1], [0, 0], [[1.0, NEARLY_ONE], [NEARLY_ONE, 1.0]])
    with pytest.raises(ParameterError, match="need a correlation above"):
        ExchangeableGaussian(range(4), 0.0, 1.0, np.nextafter(-1 / 3, 0.0))


def test_what_is_left_of_a_nearly_singular_leaf_is_a_distribution(rng):
    direction = rng.normal(size=(4, 2))
    covariance = direction @ direction.T + 1e-11 * np.eye(4)
    leaf = MultivariateGaussian(range(4), np.zeros(4), covariance)
    row = np.array([0.3, np.nan, -0.2, np.nan])
    rest, _ = leaf.condition(row)
    assert np.isfinite(Circuit(rest).log_likelihood(np.full((1, 4), np.nan))).all()
    drawn = leaf.sample(np.tile(row, (500, 1)), rng)
    assert np.isfinite(leaf.log_prob(drawn)).all()
    expected = covariance[1, 1] - covariance[1, [0, 2]] @ np.linalg.solve(
        covariance[np.ix_([0, 2], [0, 2])], covariance[[0, 2], 1]
    )
    assert np.sqrt(rest.covariance[0, 0]) == pytest.approx(np.sqrt(expected), rel=1e-3)
