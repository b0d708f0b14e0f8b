"""The statistics of the global test for rows of which some cells are missing.

Given which cells of a row are seen, every arrangement of their values among them is equally likely. The moments are
known row by row, as for whole rows, and add up; only, every column and every pair has a covariance of its own.
"""

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.learning.deviations import (
    SMALLEST_EIGENVALUE,
    Cumulants,
    DeviationPart,
    Index,
    beyond,
    cumulants_of_cells,
    cumulants_of_pairs,
    explaining,
    largest,
    needs_largest,
    possible,
    quadratic,
    sum_of_squares,
    whitening,
)


def partial_parts(phi: FloatArray, weights: FloatArray) -> dict[str, DeviationPart]:
    """Return the parts of the test; see `global_test`. What cannot vary has no degrees of freedom."""
    d, _, n = phi.shape
    seen = (~np.isnan(phi[0])).astype(np.float64)
    m = seen.sum(axis=1)
    mean = np.nansum(phi, axis=2) / np.maximum(m, 1)
    # Where a row's features are all the same, rounding of their mean must not make them differ.
    varies = np.where(seen[None] > 0, phi, -np.inf).max(axis=2) > np.where(seen[None] > 0, phi, np.inf).min(axis=2)
    psi = np.where((seen[None] > 0) & varies[:, :, None], phi - mean[:, :, None], 0.0)
    moments = np.einsum("ari,bri->abr", psi, psi)
    parts = {"Q": _first(psi, seen, m, moments, weights), "B": _rests(psi, seen, m, weights)}
    if n >= 4:
        parts["S"] = _symmetric(psi, seen, m, moments, weights)
    if d >= 2 and n >= 3:
        parts["A"] = _antisymmetric(psi, seen, m, moments, weights)
    return parts


def _first(psi: FloatArray, seen: FloatArray, m: FloatArray, moments: FloatArray, weights: FloatArray) -> DeviationPart:
    d, _, n = psi.shape
    difference = np.einsum("r,ari->ai", weights, psi)
    covariance = np.empty((d, n, d, n))
    for a in range(d):
        for b in range(d):
            spread = weights * _ratio(moments[a, b], m - 1)
            covariance[a, :, b, :] = np.diag(spread @ seen) - (seen * _ratio(spread, m)[:, None]).T @ seen
    table = covariance.reshape(d * n, d * n)
    values, directions = np.linalg.eigh(table)
    kept = values > SMALLEST_EIGENVALUE * values.max(initial=0.0)
    along = difference.ravel() @ directions[:, kept]
    value, dof = float((along**2 / values[kept]).sum()), float(kept.sum())
    if not needs_largest(dof):
        return DeviationPart(value, dof)
    variances = np.maximum(np.diag(table), 0.0).reshape(d, n)
    found = largest(
        difference,
        variances,
        int(np.count_nonzero(variances)),
        lambda place: cumulants_of_cells(psi[place[0]], m, weights),
    )
    return DeviationPart(value, dof, found.at(found.member[1:]))


def _rests(psi: FloatArray, seen: FloatArray, m: FloatArray, weights: FloatArray) -> DeviationPart:
    """Take what each column has in common with the others by its own covariance."""
    d, _, n = psi.shape
    a, b = np.triu_indices(d)
    products = psi[a] * psi[b]
    centered = np.where(seen[None] > 0, products - _ratio(products.sum(axis=2), m)[:, :, None], 0.0)
    effects = np.concatenate([psi, centered])
    sums = np.einsum("r,ari->ia", weights, effects)
    per_cell = weights * _ratio(np.ones_like(m), m)
    spread = np.einsum("ari,bri->rab", effects, effects) * per_cell[:, None, None]
    covariances = np.tensordot(seen.T, spread, axes=1)  # (columns, features, features)
    whole = seen.T @ (np.einsum("kri,kri->rk", products, products) * per_cell[:, None])  # (columns, features)
    rests, variances = np.empty((n, len(a))), np.empty((n, len(a)))
    value, ranks = 0.0, 0
    for i in range(n):
        rest, covariance = beyond(sums[i : i + 1], covariances[i], d)
        own, rank = quadratic(rest, covariance, whole[i])
        value, ranks = value + own, ranks + rank
        rests[i], variances[i] = rest[0], possible(np.diag(covariance), whole[i])
    # One column's sums are determined by the others' (as for whole rows).
    value, dof = value * (n - 1) / n, ranks * (n - 1) / n
    if not needs_largest(dof):
        return DeviationPart(value, dof)
    coefficients = explaining(covariances.sum(axis=0), d)

    def cumulants(place: Index) -> Cumulants:
        k = place[1]
        return cumulants_of_cells(effects[d + k] - np.tensordot(coefficients[k], psi, axes=1), m, weights)

    found = largest(rests, variances, int(np.count_nonzero(variances)), cumulants)
    return DeviationPart(value, dof, found.at(found.member[:1]))


def _symmetric(
    psi: FloatArray, seen: FloatArray, m: FloatArray, moments: FloatArray, weights: FloatArray
) -> DeviationPart:
    """Take each pair's residual by its own covariance; rows with fewer than four seen cells say nothing."""
    d, _, n = psi.shape
    a, b = np.triu_indices(d)
    own = np.where(m >= 4, weights, 0.0)
    residuals = np.empty((len(a), n, n))
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        pairs = (psi[one] * own[:, None]).T @ psi[other]
        mean = _ratio(-2 * moments[one, other], m * (m - 1))
        effects = -2 * psi[one] * psi[other] - seen * ((m - 1) * mean)[:, None]
        members = (effects * (own * _ratio(np.ones_like(m), m - 2))[:, None]).T @ seen
        residuals[k] = pairs + pairs.T - (seen * (own * mean)[:, None]).T @ seen - members - members.T
    products = psi[a] * psi[b]
    degrees = m * (m - 3) / 2
    covariance, whole = np.empty((len(a), len(a), n, n)), np.empty((len(a), n, n))
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        for other_k, (third, last) in enumerate(zip(a, b, strict=True)):
            crossed = moments[one, third] * moments[other, last] + moments[one, last] * moments[other, third]
            if k == other_k:
                whole[k] = (seen * (own * _ratio(crossed, degrees))[:, None]).T @ seen
            crossed = crossed - (products[k] * products[other_k]).sum(axis=1) * (
                2 + _ratio(np.full_like(m, 4.0), m - 2)
            )
            crossed = crossed + 2 * _ratio(moments[one, other] * moments[third, last], (m - 1) * (m - 2))
            of_row = own * _ratio(crossed, degrees) * _ratio(m - 3, m - 1)
            covariance[k, other_k] = (seen * of_row[:, None]).T @ seen
    # Residuals of n(n − 1)/2 pairs, of which n are determined by the others (as for whole rows).
    return _pair_by_pair(residuals, covariance, whole, (n - 3) / (n - 1), (psi, a, b, 1), m, own)


def _antisymmetric(
    psi: FloatArray, seen: FloatArray, m: FloatArray, moments: FloatArray, weights: FloatArray
) -> DeviationPart:
    d, _, n = psi.shape
    a, b = np.triu_indices(d, 1)
    own = np.where(m >= 3, weights, 0.0)
    differences = np.empty((len(a), n, n))
    covariance, whole = np.empty((len(a), len(a), n, n)), np.empty((len(a), n, n))
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        pairs = (psi[one] * own[:, None]).T @ psi[other]
        differences[k] = pairs - pairs.T
        squares = own * _ratio(2 * moments[one, one] * moments[other, other], m * (m - 1))
        whole[k] = (seen * squares[:, None]).T @ seen
        for other_k, (third, last) in enumerate(zip(a, b, strict=True)):
            crossed = moments[one, third] * moments[other, last] - moments[one, last] * moments[other, third]
            # The mean square of one pair is 2/(m (m − 1)) of the sum over all pairs.
            of_row = own * _ratio(2 * crossed, m * (m - 1))
            covariance[k, other_k] = (seen * of_row[:, None]).T @ seen
    return _pair_by_pair(differences, covariance, whole, (n - 2) / n, (psi, a, b, -1), m, own)


def _pair_by_pair(
    vectors: FloatArray,
    covariance: FloatArray,
    whole: FloatArray,
    free: float,
    made_of: tuple[FloatArray, IntArray, IntArray, int],
    m: FloatArray,
    weights: FloatArray,
) -> DeviationPart:
    """Return Σ vᵀ C⁺ v over the pairs i < j, with C the mean covariance of a pair.

    Pairs are not measured by their own covariances: of those that were seldom seen together a single one says much.

    Args:
        vectors: (features, n, n).
        covariance: (features, features, n, n).
        whole: What the variances were before other effects were taken out: (features, n, n).
        free: The fraction of the pairs that the others do not determine.
        made_of: All features, which two of them make each of those here, and the sign between the two products.
        m: How many cells of each row are seen.
        weights: Those of the rows, 0 where the row says nothing.
    """
    upper = np.triu_indices(vectors.shape[1], 1)
    own = vectors[:, *upper].T  # (pairs, features)
    tables = np.moveaxis(covariance[:, :, *upper], 2, 0)  # (pairs, features, features)
    squares = whole[:, *upper].T
    directions, scales = whitening(tables.mean(axis=0), squares.mean(axis=0))
    along = (own / scales) @ directions
    sizes = np.einsum("kl,pkm,ml->p", directions, tables / np.outer(scales, scales), directions, optimize=True)
    value, dof = sum_of_squares(float(np.vdot(along, along)), sizes, free)
    value, dof = value * directions.shape[1], dof * directions.shape[1]
    if not needs_largest(dof):
        return DeviationPart(value, dof)
    psi, a, b, sign = made_of
    variances = possible(np.einsum("pkk->pk", tables), squares)

    def cumulants(place: Index) -> Cumulants:
        return cumulants_of_pairs(psi[a[place[1]]], psi[b[place[1]]], sign, m, weights)

    found = largest(own, variances, int(np.count_nonzero(variances)), cumulants)
    return DeviationPart(value, dof, found.at(axis[found.member[0]] for axis in upper))


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Divide, with 0 where there is nothing to divide by."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
