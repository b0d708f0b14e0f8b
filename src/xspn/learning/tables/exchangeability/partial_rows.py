"""The statistics of the global test for rows of which some cells are missing.

Given which cells of a row are seen, every arrangement of their values among them is equally likely. The moments are
known row by row, as for whole rows, and add up; only, every column and every pair has a covariance of its own.
"""

import numpy as np

from xspn._core.arrays import FloatArray
from xspn.learning.exchangeability.base import Statistics
from xspn.learning.tables.exchangeability.quadratic import SMALLEST_EIGENVALUE, beyond, quadratic


def partial_statistics(phi: FloatArray, weights: FloatArray) -> Statistics:
    """Return each part's statistic and degrees of freedom; see `global_test`."""
    d, _, n = phi.shape
    seen = (~np.isnan(phi[0])).astype(np.float64)
    m = seen.sum(axis=1)
    mean = np.nansum(phi, axis=2) / np.maximum(m, 1)
    psi = np.where(seen[None] > 0, phi - mean[:, :, None], 0.0)
    moments = np.einsum("ari,bri->abr", psi, psi)
    parts = {"Q": _first(psi, seen, m, moments, weights), "B": _bonds(psi, seen, m, weights)}
    if n >= 4:
        parts["S"] = _symmetric(psi, seen, m, moments, weights)
    if d >= 2 and n >= 3:
        parts["A"] = _antisymmetric(psi, seen, m, moments, weights)
    return parts


def _first(
    psi: FloatArray, seen: FloatArray, m: FloatArray, moments: FloatArray, weights: FloatArray
) -> tuple[float, float]:
    d, _, n = psi.shape
    difference = np.einsum("r,ari->ai", weights, psi).ravel()
    covariance = np.empty((d, n, d, n))
    for a in range(d):
        for b in range(d):
            spread = weights * _ratio(moments[a, b], m - 1)
            covariance[a, :, b, :] = np.diag(spread @ seen) - (seen * _ratio(spread, m)[:, None]).T @ seen
    values, directions = np.linalg.eigh(covariance.reshape(d * n, d * n))
    kept = values > SMALLEST_EIGENVALUE * values.max(initial=0.0)
    along = difference @ directions[:, kept]
    return float((along**2 / values[kept]).sum()), float(kept.sum())


def _bonds(psi: FloatArray, seen: FloatArray, m: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Take what each column has in common with the others by its own covariance."""
    d, _, n = psi.shape
    a, b = np.triu_indices(d)
    products = psi[a] * psi[b]
    centred = np.where(seen[None] > 0, products - _ratio(products.sum(axis=2), m)[:, :, None], 0.0)
    effects = np.concatenate([psi, centred])
    sums = np.einsum("r,ari->ia", weights, effects)
    spread = np.einsum("ari,bri->rab", effects, effects) * (weights * _ratio(np.ones_like(m), m))[:, None, None]
    covariances = np.tensordot(seen.T, spread, axes=1)  # (columns, features, features)
    statistic, ranks = 0.0, [0]
    for own, covariance in zip(sums, covariances, strict=True):
        value, rank = quadratic(*beyond(own[None, :], covariance, d), covariance[d:, d:])
        statistic += value
        ranks.append(rank)
    # One column's sums are determined by the others' (as for whole rows).
    return statistic * (n - 1) / n, float(max(ranks) * (n - 1))


def _symmetric(
    psi: FloatArray, seen: FloatArray, m: FloatArray, moments: FloatArray, weights: FloatArray
) -> tuple[float, float]:
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
    covariance = np.empty((len(a), len(a), n, n))
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        for other_k, (third, last) in enumerate(zip(a, b, strict=True)):
            crossed = moments[one, third] * moments[other, last] + moments[one, last] * moments[other, third]
            crossed = crossed - (products[k] * products[other_k]).sum(axis=1) * (
                2 + _ratio(np.full_like(m, 4.0), m - 2)
            )
            crossed = crossed + 2 * _ratio(moments[one, other] * moments[third, last], (m - 1) * (m - 2))
            of_row = own * _ratio(crossed, degrees) * _ratio(m - 3, m - 1)
            covariance[k, other_k] = (seen * of_row[:, None]).T @ seen
    statistic, rank = _pair_by_pair(residuals, covariance)
    # Residuals of n(n − 1)/2 pairs, of which n are determined by the others (as for whole rows).
    return statistic * (n - 3) / (n - 1), rank * n * (n - 3) / 2


def _antisymmetric(
    psi: FloatArray, seen: FloatArray, m: FloatArray, moments: FloatArray, weights: FloatArray
) -> tuple[float, float]:
    d, _, n = psi.shape
    a, b = np.triu_indices(d, 1)
    own = np.where(m >= 3, weights, 0.0)
    differences = np.empty((len(a), n, n))
    covariance = np.empty((len(a), len(a), n, n))
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        pairs = (psi[one] * own[:, None]).T @ psi[other]
        differences[k] = pairs - pairs.T
        for other_k, (third, last) in enumerate(zip(a, b, strict=True)):
            crossed = moments[one, third] * moments[other, last] - moments[one, last] * moments[other, third]
            # The mean square of one pair is 2/(m (m − 1)) of the sum over all pairs.
            of_row = own * _ratio(2 * crossed, m * (m - 1))
            covariance[k, other_k] = (seen * of_row[:, None]).T @ seen
    statistic, rank = _pair_by_pair(differences, covariance)
    return statistic * (n - 2) / n, rank * (n - 1) * (n - 2) / 2


def _pair_by_pair(vectors: FloatArray, covariance: FloatArray) -> tuple[float, float]:
    """Return Σ vᵀ C⁺ v over the pairs i < j, each with its own C, and the largest rank of any C."""
    upper = np.triu_indices(vectors.shape[1], 1)
    own = vectors[:, *upper].T  # (pairs, features)
    tables = np.moveaxis(covariance[:, :, *upper], 2, 0)  # (pairs, features, features)
    scale = np.sqrt(np.maximum(np.einsum("pkk->pk", tables), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    values, directions = np.linalg.eigh(tables / (scale[:, :, None] * scale[:, None, :]))
    kept = values > SMALLEST_EIGENVALUE * np.maximum(values[:, -1:], SMALLEST_EIGENVALUE)
    along = np.einsum("pk,pkl->pl", own / scale, directions)
    squares = np.where(kept, along**2 / np.where(kept, values, 1.0), 0.0)
    return float(squares.sum()), float(kept.sum(axis=1).max(initial=0))


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Divide, with 0 where there is nothing to divide by."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
