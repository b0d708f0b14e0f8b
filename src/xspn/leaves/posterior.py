"""What the rows behind a leaf leave open of its parameters: sensitivities for the delta method, and random refits.

The sensitivity of a row is the derivative of its log-probability by the leaf's parameters, in coordinates in which n
rows leave each parameter with variance 1 / n and no two of them with a covariance. So Σ c · sensitivity, squared and
added up, over n, is the variance of Σ c · log P(row). Families say it in closed form; for those that do not, what holds
for every exponential family is used: the derivative is E[T | row] − E[T], and the covariance of T standardizes it.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from xspn.core.arrays import FloatArray

if TYPE_CHECKING:
    from xspn.leaves.base import Leaf

SAMPLES = 2000  # rows that stand for the distribution of a leaf's statistics
NO_VARIANCE = 1e-9  # of the largest: directions in which statistics do not vary
PRIOR_ROWS, DRAWN = 1.0, 100  # of the leaf itself, beside the rows behind it: no refit is without a variance


def of_classes(posterior: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return the sensitivities of a distribution over classes from P(class | row): (rows, classes).

    The covariance of a Dirichlet distribution, (diag p − p pᵀ) / (n + 1), is that of n + 1 rows.

    Examples:
        >>> of_classes(np.array([[0.0, 1.0], [0.75, 0.25]]), np.array([0.75, 0.25])).round(4).tolist()
        [[-0.866, 1.5], [0.0, 0.0]]
    """
    possible = probabilities > 0
    root = np.sqrt(probabilities[possible])
    return np.asarray(posterior[:, possible] / root - root)


def of_derivatives(posterior: FloatArray, probabilities: FloatArray, derivatives: FloatArray) -> FloatArray:
    """Return the sensitivities of classes whose probabilities follow from a few parameters.

    Args:
        posterior: P(class | row): (rows, classes).
        probabilities: P(class).
        derivatives: Of log P(class), by each parameter: (classes, parameters).
    """
    information = derivatives.T @ (probabilities[:, None] * derivatives)
    return np.asarray((posterior - probabilities) @ derivatives @ standardizing(information))


def of_statistics(leaf: "Leaf", x: FloatArray) -> FloatArray:
    """Return the sensitivities of an exponential family from its sufficient statistics; of others they are a guess.

    The moments of the statistics come from a sample of the leaf, so that standard deviations are off by some percent.
    """
    mean, standard = _usual(leaf)
    scores = np.zeros((len(x), len(mean)))
    seen = ~np.isnan(x).all(axis=1)
    if seen.any():
        scores[seen] = _each(leaf, x[seen]) - mean
    return np.asarray(scores @ standard)


@lru_cache(maxsize=1024)
def _usual(leaf: "Leaf") -> tuple[FloatArray, FloatArray]:
    """Return the mean of a leaf's statistics, and what standardizes them."""
    drawn = _each(leaf, leaf.sample(np.full((SAMPLES, len(leaf.variables)), np.nan), np.random.default_rng(0)))
    return drawn.mean(axis=0), standardizing(np.cov(drawn, rowvar=False).reshape(drawn.shape[1], -1))


def _each(leaf: "Leaf", rows: FloatArray) -> FloatArray:
    return np.array([leaf.statistics(row[None, :], np.ones(1)) for row in rows])


def standardizing(information: FloatArray) -> FloatArray:
    """Return W with W Wᵀ the pseudo-inverse of an information matrix."""
    sizes, directions = np.linalg.eigh(information)
    kept = sizes > NO_VARIANCE * max(float(sizes.max(initial=0.0)), np.finfo(float).tiny)
    return np.asarray(directions[:, kept] / np.sqrt(sizes[kept]))


def dirichlet(probabilities: FloatArray, rows: float, rng: np.random.Generator) -> FloatArray:
    """Draw from a Dirichlet distribution with this mean and so many rows behind it."""
    drawn = rng.standard_gamma(probabilities * max(rows, np.finfo(float).tiny))
    total = float(drawn.sum())
    if total > 0:
        return np.asarray(drawn / total)
    return np.asarray(np.eye(len(probabilities))[rng.choice(len(probabilities), p=probabilities)])  # next to no rows


def refit(leaf: Any, rows: float, rng: np.random.Generator) -> Any:
    """Fit a leaf again to as many rows drawn from it as are behind it: a parametric bootstrap."""
    if not leaf.n_parameters:
        return leaf
    count = max(1, int(np.ceil(rows)))
    nothing = np.full((count, len(leaf.variables)), np.nan)
    told = leaf.statistics(leaf.sample(nothing, rng), np.full(count, rows / count))
    usual = leaf.sample(np.full((DRAWN, nothing.shape[1]), np.nan), rng)
    return leaf.from_statistics(told + leaf.statistics(usual, np.full(DRAWN, PRIOR_ROWS / DRAWN)))
