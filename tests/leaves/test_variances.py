"""Variances of what is missing: the families' own formulas against the definition, which conditions row by row."""

import numpy as np
import pytest

from xspn import Circuit, ExchangeableGaussian, Gaussian, MultivariateGaussian, Product, Scale, Sum, Transformed
from xspn.leaves.base import Leaf

COVARIANCE = np.array([[2.0, 0.7, -0.3], [0.7, 1.0, 0.2], [-0.3, 0.2, 0.5]])
JOINT = MultivariateGaussian([0, 1, 2], [0.2, -0.3, 0.1], COVARIANCE / 4)
LEAVES = [
    JOINT,
    ExchangeableGaussian([0, 1, 2], 0.5, 0.8, 0.4),
    ExchangeableGaussian([0, 1, 2], 0.5, 0.8, -0.3),
    Transformed(JOINT, [Scale("log"), Scale("soft", unit=0.5), Scale("asinh", low=1.0, unit=2.0)]),
]


def rows_with_every_pattern(leaf):
    rows = Circuit(leaf).sample(8, random_state=1)
    for pattern, row in enumerate(rows):
        row[[bool(pattern >> j & 1) for j in range(3)]] = np.nan
    return rows


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: type(leaf).__name__)
def test_closed_forms_agree_with_the_definition(leaf):
    rows = rows_with_every_pattern(leaf)
    found = leaf.variances(rows)
    np.testing.assert_allclose(found, Leaf.variances(leaf, rows), rtol=1e-9)
    assert ((found > 0) == np.isnan(rows)).all()


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: type(leaf).__name__)
def test_draws_vary_as_much(leaf):
    c = Circuit(leaf)
    row = rows_with_every_pattern(leaf)[3]
    drawn = c.sample(40_000, given=row, random_state=0)
    np.testing.assert_allclose(drawn.var(axis=0), c.variances(row)[0], rtol=0.08, atol=1e-12)


def test_a_mixture_varies_by_its_parts_and_by_their_distance_even_far_from_zero():
    parts = [Product([Gaussian(0, mean=m, std=1.0), Gaussian(1, mean=m, std=2.0)]) for m in (1e9, 1e9 + 6)]
    c = Circuit(Sum([0.5, 0.5], parts))
    np.testing.assert_allclose(c.variances(), [[1 + 9, 4 + 9]], rtol=1e-9)
    assert c.variances([[1e9, np.nan]])[0, 0] == 0.0
