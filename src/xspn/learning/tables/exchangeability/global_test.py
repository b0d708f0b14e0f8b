"""A calibrated test of exchangeability for columns of any one domain, in closed form.

Condition on the values of each row, in whatever order they come. If the columns are exchangeable, every row is a
uniformly random arrangement of its values, independently of the others; so the moments of anything that is summed over
rows are known exactly, and no distribution is assumed. With features φ(x) ∈ ℝᵈ of the values, centred within each row:

- First order: T_i = Σ_r φ(x_ri). Its covariance is S ⊗ (I − J/n) n/(n − 1), with S the rows' own covariances summed up;
  χ² with (n − 1) · rank S degrees of freedom. For bits this is Cochran's Q.
- Item–rest associations: Σ_r φ_a(x_ri) φ_b(x_ri), which is what a column has in common with all the others of its row
  taken together, since the features of a row sum to nothing; less what the first order explains. For bits this is B.
- Second order, symmetric: φ_a(x_i) φ_b(x_j) + φ_b(x_i) φ_a(x_j), less what the two columns contribute on their own;
  n(n − 3)/2 degrees of freedom for each independent pair (a, b). For bits this is the S of the binary test.
- Second order, antisymmetric: φ_a(x_i) φ_b(x_j) − φ_b(x_i) φ_a(x_j); (n − 1)(n − 2)/2 degrees for each pair a < b. Bits
  have none.

These live in different irreducible parts of the permutation group's action, hence are uncorrelated. Within a part the
covariance is (by Schur's lemma) a small matrix between features times the identity; and since permuting a row leaves
norms as they are, this matrix is the mean product of the rows' own projections. How the parts are put together is told
in `learning.deviations` and `learning.exchangeability.base`.
"""

from collections.abc import Callable

import numpy as np

from xspn._core.arrays import FloatArray, IntArray
from xspn.learning.deviations import Cumulants, Index, Part, largest, needs_largest
from xspn.learning.exchangeability.base import TestResult, in_parts
from xspn.learning.tables.exchangeability.base import table_tests
from xspn.learning.tables.exchangeability.features import features
from xspn.learning.tables.exchangeability.partial_rows import partial_parts
from xspn.learning.tables.exchangeability.quadratic import (
    beyond,
    cumulants_of_cells,
    cumulants_of_pairs,
    explaining,
    possible,
    quadratic,
)
from xspn.learning.tables.summary import TableSummary

EffectsOf = Callable[[int], FloatArray]  # the effects that make a feature: (rows, n)


def global_test(summary: TableSummary) -> TestResult:
    """Test exchangeability by first and second order together; rows of one value only say nothing."""
    seen = np.flatnonzero(summary.seen > 0)
    own = summary if len(seen) == summary.n else summary.part(seen)
    phi = features(own)
    return in_parts(partial_parts(phi, own.weights) if not own.complete else _parts(phi, own.weights), seen)


def _parts(phi: FloatArray, weights: FloatArray) -> dict[str, Part]:
    """Return the parts for whole rows."""
    d, rows, n = phi.shape
    psi = phi - phi.mean(axis=2, keepdims=True)
    psi[phi.max(axis=2) == phi.min(axis=2)] = 0.0  # nor does rounding of the mean make them vary
    moments = np.einsum("ari,bri->abr", psi, psi)  # Σ_i ψ_a ψ_b within each row
    a, b = np.triu_indices(d)
    products = psi[a] * psi[b]
    flat = products.reshape(len(products), rows * n)
    squares = (flat * np.repeat(weights, n)) @ flat.T  # Σ_r Σ_i (ψ_a ψ_b)(ψ_c ψ_d)
    parts = _first(psi, products, np.diag(squares), weights)
    if n >= 4:
        parts["S"] = _symmetric(psi, squares, moments, weights)
    if d >= 2 and n >= 3:
        parts["A"] = _antisymmetric(psi, moments, weights)
    return parts


def _first(psi: FloatArray, products: FloatArray, squares: FloatArray, weights: FloatArray) -> dict[str, Part]:
    """Return Q, by features of which each row's sum is 0, and B, by what their products have beyond."""
    d, rows, n = psi.shape
    effects = np.concatenate([psi, products - products.mean(axis=2, keepdims=True)])
    sums = (weights @ effects).T
    flat = effects.reshape(len(effects), rows * n)
    covariance = (flat * np.repeat(weights, n)) @ flat.T / (n - 1)
    whole = squares / (n - 1)
    first = _part_of_columns(sums[:, :d], covariance[:d, :d], np.diag(covariance)[:d], effects.__getitem__, weights)
    coefficients = explaining(covariance, d)
    rest, covariance_of_rest = beyond(sums, covariance, d)

    def effects_beyond(k: int) -> FloatArray:
        return np.asarray(effects[d + k] - np.tensordot(coefficients[k], effects[:d], axes=1))

    return {"Q": first, "B": _part_of_columns(rest, covariance_of_rest, whole, effects_beyond, weights)}


def _part_of_columns(
    sums: FloatArray, covariance: FloatArray, whole: FloatArray, effects: EffectsOf, weights: FloatArray
) -> Part:
    """Return a part that has a member for each column and feature."""
    n = len(sums)
    value, rank = quadratic(sums, covariance, whole)
    dof = float(rank * (n - 1))
    if not needs_largest(dof):
        return Part(value, dof)
    variances = possible(np.diag(covariance), whole) * (n - 1) / n

    def cumulants(place: Index) -> Cumulants:
        return cumulants_of_cells(effects(place[1]), n, weights)

    found = largest(sums, variances, n * int(np.count_nonzero(variances)), cumulants)
    return Part(value, dof, found.at(found.member[:1]))


def _symmetric(psi: FloatArray, squares: FloatArray, moments: FloatArray, weights: FloatArray) -> Part:
    d, _, n = psi.shape
    a, b = np.triu_indices(d)
    upper = np.triu_indices(n, 1)
    residuals = np.empty((len(upper[0]), len(a)))
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        pairs = (psi[one] * weights[:, None]).T @ psi[other]
        residuals[:, k] = without_own_effects(pairs + pairs.T)[upper]
    crossed = np.empty((len(a), len(a)))
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        crossed[k] = (moments[one][a] * moments[other][b] + moments[one][b] * moments[other][a]) @ weights
    own = moments[a, b]
    sums = (own * weights) @ own.T
    projected = crossed - squares * (2 + 4 / (n - 2)) + 2 * sums / ((n - 1) * (n - 2))
    return _part_of_pairs(residuals, projected, np.diag(crossed), n * (n - 3) / 2, (psi, a, b, 1), weights)


def _antisymmetric(psi: FloatArray, moments: FloatArray, weights: FloatArray) -> Part:
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
    whole = (moments[a, a] * moments[b, b]) @ weights
    return _part_of_pairs(differences, covariance, whole, (n - 1) * (n - 2) / 2, (psi, a, b, -1), weights)


def _part_of_pairs(
    vectors: FloatArray,
    squares: FloatArray,
    whole: FloatArray,
    degrees: float,
    made_of: tuple[FloatArray, IntArray, IntArray, int],
    weights: FloatArray,
) -> Part:
    """Return a part that has a member for every two columns and every two features.

    Args:
        vectors: (pairs, features).
        squares: The sum over all pairs of the covariance between features, which all have in common.
        whole: What the diagonal of it was before other effects were taken out.
        degrees: The degrees of freedom of each feature.
        made_of: All features, which two of them make each of those here, and the sign between the two products.
        weights: Those of the rows.
    """
    psi, a, b, sign = made_of
    n = psi.shape[2]
    value, rank = quadratic(vectors, squares / degrees, whole / degrees)
    if not needs_largest(rank * degrees):
        return Part(value, rank * degrees)
    variances = possible(np.diag(squares), whole) / len(vectors)

    def cumulants(place: Index) -> Cumulants:
        one, other = psi[a[place[1]]], psi[b[place[1]]]
        return cumulants_of_pairs(one, other, sign, n, weights)

    n_members = len(vectors) * int(np.count_nonzero(variances))
    found = largest(vectors, variances, n_members, cumulants)
    return Part(value, rank * degrees, found.at(axis[found.member[0]] for axis in np.triu_indices(n, 1)))


def without_own_effects(pairs: FloatArray) -> FloatArray:
    """Take the mean and each column's own effect out of a symmetric table of pairs; the diagonal is ignored."""
    n = len(pairs)
    off = pairs - np.diag(np.diag(pairs))
    mean = off.sum() / (n * (n - 1))
    own = (off.sum(axis=1) - (n - 1) * mean) / (n - 2)
    return np.asarray(off - mean - own[:, None] - own[None, :])


table_tests.add("global", global_test)
