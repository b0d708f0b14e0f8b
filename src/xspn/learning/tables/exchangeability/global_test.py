"""A calibrated test of exchangeability for columns of any one domain, in closed form.

Condition on the values of each row, in whatever order they come. If the columns are exchangeable, every row is a
uniformly random arrangement of its values, independently of the others; so the moments of anything that is summed over
rows are known exactly, and no distribution is assumed. With features φ(x) ∈ ℝᵈ of the values, centred within each row:

- First order: T_i = Σ_r φ(x_ri). Its covariance is S ⊗ (I − J/n) n/(n − 1), with S the rows' own covariances summed up;
  χ² with (n − 1) · rank S degrees of freedom. For bits this is Cochran's Q.
- Second order, symmetric: φ_a(x_i) φ_b(x_j) + φ_b(x_i) φ_a(x_j), less what the two columns contribute on their own;
  n(n − 3)/2 degrees of freedom for each independent pair (a, b). For bits this is the S of the binary test.
- Second order, antisymmetric: φ_a(x_i) φ_b(x_j) − φ_b(x_i) φ_a(x_j); (n − 1)(n − 2)/2 degrees for each pair a < b. Bits
  have none.

These live in different irreducible parts of the permutation group's action, hence are uncorrelated. Within a part the
covariance is (by Schur's lemma) a small matrix between features times the identity; and since permuting a row leaves
norms as they are, this matrix is the mean product of the rows' own projections.
"""

import numpy as np
from scipy.special import chdtrc

from xspn._core.arrays import FloatArray
from xspn.learning.exchangeability.base import TestResult
from xspn.learning.tables.exchangeability.base import table_tests
from xspn.learning.tables.exchangeability.features import features
from xspn.learning.tables.exchangeability.partial_rows import partial_statistics
from xspn.learning.tables.summary import TableSummary

SMALLEST_EIGENVALUE = 1e-9  # relative to the largest: directions in which nothing varies are left out


def global_test(summary: TableSummary) -> TestResult:
    """Test exchangeability by first and second order together; rows of one value only say nothing."""
    seen = np.flatnonzero(summary.seen > 0)
    own = summary if len(seen) == summary.n else summary.part(seen)
    phi = features(own)
    parts = partial_statistics(phi, own.weights) if not own.complete else _statistics(phi, own.weights)
    statistic = sum(value for value, _ in parts.values())
    dof = sum(degrees for _, degrees in parts.values())
    told: dict[str, float] = {}
    for name, (value, degrees) in parts.items():
        told |= {name: value, f"dof_{name}": degrees, f"p_{name}": tail(degrees, value)}
    return TestResult("global", statistic, dof, tail(dof, statistic), told)


def tail(dof: float, statistic: float) -> float:
    """Return the chance of a χ² beyond the statistic; 1 where there is nothing to test."""
    return float(chdtrc(dof, statistic)) if dof > 0 else 1.0


def quadratic(vectors: FloatArray, covariance: FloatArray) -> tuple[float, int]:
    """Return Σ vᵀ C⁺ v over rows v, and the rank of C."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(scale > 0, scale, 1.0)  # so that features of different size have the same chance to matter
    values, directions = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept = values > SMALLEST_EIGENVALUE * values.max(initial=0.0)
    along = (vectors / scale) @ directions[:, kept]
    return float((along**2 / values[kept]).sum()), int(kept.sum())


def _statistics(phi: FloatArray, weights: FloatArray) -> dict[str, tuple[float, float]]:
    """Return each part's statistic and degrees of freedom, for whole rows."""
    d, _, n = phi.shape
    psi = phi - phi.mean(axis=2, keepdims=True)
    moments = np.einsum("ari,bri->abr", psi, psi)  # Σ_i ψ_a ψ_b within each row
    first = np.einsum("r,ari->ia", weights, psi)
    q, rank = quadratic(first, np.einsum("r,abr->ab", weights, moments) / (n - 1))
    parts = {"Q": (q, float(rank * (n - 1)))}
    if n >= 4:
        parts["S"] = _symmetric(psi, moments, weights)
    if d >= 2 and n >= 3:
        parts["A"] = _antisymmetric(psi, moments, weights)
    return parts


def _symmetric(psi: FloatArray, moments: FloatArray, weights: FloatArray) -> tuple[float, float]:
    d, _, n = psi.shape
    a, b = np.triu_indices(d)
    upper = np.triu_indices(n, 1)
    residuals = np.empty((len(upper[0]), len(a)))
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        pairs = (psi[one] * weights[:, None]).T @ psi[other]
        residuals[:, k] = without_own_effects(pairs + pairs.T)[upper]
    products = psi[a] * psi[b]  # ψ_a ψ_b of each cell
    own = np.einsum("r,kri,lri->kl", weights, products, products, optimize=True)

    def row_sum(left: FloatArray, right: FloatArray) -> FloatArray:
        return np.asarray((left * weights) @ right.T)

    crossed = np.empty((len(a), len(a)))
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        crossed[k] = np.einsum("r,lr,lr->l", weights, moments[one][a], moments[other][b], optimize=True)
        crossed[k] += np.einsum("r,lr,lr->l", weights, moments[one][b], moments[other][a], optimize=True)
    sums = row_sum(moments[a, b], moments[a, b])
    projected = crossed - own * (2 + 4 / (n - 2)) + 2 * sums / ((n - 1) * (n - 2))
    degrees = n * (n - 3) / 2
    statistic, rank = quadratic(residuals, projected / degrees)
    return statistic, rank * degrees


def _antisymmetric(psi: FloatArray, moments: FloatArray, weights: FloatArray) -> tuple[float, float]:
    d, _, n = psi.shape
    a, b = np.triu_indices(d, 1)
    upper = np.triu_indices(n, 1)
    differences = np.empty((len(upper[0]), len(a)))
    covariance = np.empty((len(a), len(a)))
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        pairs = (psi[one] * weights[:, None]).T @ psi[other]
        differences[:, k] = (pairs - pairs.T)[upper]
        crossed = moments[one][a] * moments[other][b] - moments[one][b] * moments[other][a]
        covariance[k] = crossed @ weights
    degrees = (n - 1) * (n - 2) / 2
    statistic, rank = quadratic(differences, covariance / degrees)
    return statistic, rank * degrees


def without_own_effects(pairs: FloatArray) -> FloatArray:
    """Take the mean and each column's own effect out of a symmetric table of pairs; the diagonal is ignored."""
    n = len(pairs)
    off = pairs - np.diag(np.diag(pairs))
    mean = off.sum() / (n * (n - 1))
    own = (off.sum(axis=1) - (n - 1) * mean) / (n - 2)
    return np.asarray(off - mean - own[:, None] - own[None, :])


table_tests.add("global", global_test)
