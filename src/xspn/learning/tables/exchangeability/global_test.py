"""A calibrated test of exchangeability for columns of any one domain, in closed form.

Condition on the values of each row, in whatever order they come. If the columns are exchangeable, every row is a
uniformly random arrangement of its values, independently of the others; so the moments of anything that is summed over
rows are known exactly, and no distribution is assumed. With features φ(x) ∈ ℝᵈ of the values, centred within each row:

- First order: T_i = Σ_r φ(x_ri). Its covariance is S ⊗ (I − J/n) n/(n − 1), with S the rows' own covariances summed up;
  χ² with (n − 1) · rank S degrees of freedom. For bits this is Cochran's Q.
- Bonds: Σ_r φ_a(x_ri) φ_b(x_ri), which is what a column has in common with all the others of its row taken together,
  since the features of a row sum to nothing; less what the first order explains. For bits this is B.
- Second order, symmetric: φ_a(x_i) φ_b(x_j) + φ_b(x_i) φ_a(x_j), less what the two columns contribute on their own;
  n(n − 3)/2 degrees of freedom for each independent pair (a, b). For bits this is the S of the binary test.
- Second order, antisymmetric: φ_a(x_i) φ_b(x_j) − φ_b(x_i) φ_a(x_j); (n − 1)(n − 2)/2 degrees for each pair a < b. Bits
  have none.

These live in different irreducible parts of the permutation group's action, hence are uncorrelated. Within a part the
covariance is (by Schur's lemma) a small matrix between features times the identity; and since permuting a row leaves
norms as they are, this matrix is the mean product of the rows' own projections.
"""

import numpy as np

from xspn._core.arrays import FloatArray
from xspn.learning.exchangeability.base import Statistics, TestResult, in_parts
from xspn.learning.tables.exchangeability.base import table_tests
from xspn.learning.tables.exchangeability.features import features
from xspn.learning.tables.exchangeability.partial_rows import partial_statistics
from xspn.learning.tables.exchangeability.quadratic import beyond, quadratic
from xspn.learning.tables.summary import TableSummary


def global_test(summary: TableSummary) -> TestResult:
    """Test exchangeability by first and second order together; rows of one value only say nothing."""
    seen = np.flatnonzero(summary.seen > 0)
    own = summary if len(seen) == summary.n else summary.part(seen)
    phi = features(own)
    return in_parts(partial_statistics(phi, own.weights) if not own.complete else _statistics(phi, own.weights))


def _statistics(phi: FloatArray, weights: FloatArray) -> Statistics:
    """Return each part's statistic and degrees of freedom, for whole rows."""
    d, _, n = phi.shape
    psi = phi - phi.mean(axis=2, keepdims=True)
    moments = np.einsum("ari,bri->abr", psi, psi)  # Σ_i ψ_a ψ_b within each row
    a, b = np.triu_indices(d)
    products = psi[a] * psi[b]
    parts = _first(np.concatenate([psi, products - products.mean(axis=2, keepdims=True)]), weights, d)
    if n >= 4:
        parts["S"] = _symmetric(psi, products, moments, weights)
    if d >= 2 and n >= 3:
        parts["A"] = _antisymmetric(psi, moments, weights)
    return parts


def _first(effects: FloatArray, weights: FloatArray, d: int) -> Statistics:
    """Return Q, by the first d of some features of which each row's sum is 0, and B, by what the others have beyond."""
    k, rows, n = effects.shape
    sums = np.einsum("r,ari->ia", weights, effects)
    scaled = (effects * np.sqrt(weights)[:, None]).reshape(k, rows * n)
    covariance = scaled @ scaled.T / (n - 1)
    q, rank = quadratic(sums[:, :d], covariance[:d, :d])
    b, rank_beyond = quadratic(*beyond(sums, covariance, d), covariance[d:, d:])
    return {"Q": (q, float(rank * (n - 1))), "B": (b, float(rank_beyond * (n - 1)))}


def _symmetric(psi: FloatArray, products: FloatArray, moments: FloatArray, weights: FloatArray) -> tuple[float, float]:
    d, _, n = psi.shape
    a, b = np.triu_indices(d)
    upper = np.triu_indices(n, 1)
    residuals = np.empty((len(upper[0]), len(a)))
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        pairs = (psi[one] * weights[:, None]).T @ psi[other]
        residuals[:, k] = without_own_effects(pairs + pairs.T)[upper]
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
