"""Generating functions: polynomials Σ_k P(count = k) z^k, one for each row, multiplied and mixed without underflow.

Coefficients are never negative and never subtracted, so each of them keeps nearly all of its digits, however small it
is beside the others.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.logspace import safe_log

SMALL, LARGE = 1e-100, 1e100  # largest coefficients beyond this are scaled; others keep their last digits


@dataclass(frozen=True, eq=False)
class Polynomials:
    """exp(log_scale) · Σ_k coefficients[k] z^k for each row; what is the same for all rows is stored once.

    Attributes:
        coefficients: (rows or 1, degree + 1).
        log_scale: (rows,) or (1,); −inf for a polynomial that is zero.

    Examples:
        >>> coin = Polynomials.of_probabilities(np.array([[0.5, 0.5]]))
        >>> np.exp((coin * coin).logarithms()).round(9).tolist()
        [[0.25, 0.5, 0.25]]
    """

    coefficients: FloatArray
    log_scale: FloatArray

    @classmethod
    def of_probabilities(cls, coefficients: FloatArray) -> "Polynomials":
        """Return polynomials with these coefficients."""
        return cls(coefficients, np.zeros(1))._in_range()

    @classmethod
    def of_logarithms(cls, logs: FloatArray) -> "Polynomials":
        """Return polynomials with coefficients that are given by their logarithms: (rows or 1, degree + 1)."""
        top = logs.max(axis=1)
        if top.min() > np.log(SMALL):
            return cls(np.exp(logs), np.zeros(1))
        shift = np.where(top > np.log(SMALL), 0.0, np.where(np.isneginf(top), 0.0, top))
        return cls(np.exp(logs - shift[:, None]), np.where(np.isneginf(top), -np.inf, shift))

    @classmethod
    def constants(cls, log_values: FloatArray) -> "Polynomials":
        """Return polynomials of degree 0, one for each row."""
        return cls(np.ones((1, 1)), log_values)

    def logarithms(self) -> FloatArray:
        """Return the logarithms of all coefficients: (rows or 1, degree + 1)."""
        return np.asarray(safe_log(self.coefficients) + self.log_scale[:, None])

    def with_small_scales_inside(self) -> "Polynomials":
        """Return the same with scales of usual size in the coefficients: beside −1e10 they would lose their digits."""
        usual = self.log_scale > np.log(SMALL)
        factors = np.exp(np.where(usual, self.log_scale, 0.0))
        return Polynomials(self.coefficients * factors[:, None], np.where(usual, 0.0, self.log_scale))

    def __mul__(self, other: "Polynomials") -> "Polynomials":
        product = convolved(self.coefficients, other.coefficients)
        return Polynomials(product, self.log_scale + other.log_scale)._in_range()

    def _in_range(self) -> "Polynomials":
        """Return the same polynomials with coefficients that further products cannot take out of range."""
        top = self.coefficients.max(axis=1)
        if top.min() > SMALL and top.max() < LARGE:
            return self
        out_of_range = (top > 0) & ((top <= SMALL) | (top >= LARGE))
        factor = np.where(out_of_range, top, 1.0)
        log_scale = np.where(top > 0, self.log_scale + np.log(factor), -np.inf)
        return Polynomials(self.coefficients / factor[:, None], log_scale)


def product(factors: Iterable[Polynomials]) -> Polynomials:
    """Return the product of some polynomials; short ones are multiplied first."""
    own = sorted(factors, key=lambda factor: factor.coefficients.shape[1])
    result = own[0]
    for factor in own[1:]:
        result = result * factor
    return result


def mixture(log_weights: Sequence[float], parts: Sequence[Polynomials]) -> Polynomials:
    """Return Σ weight · part.

    Scales come off before weights are added: beside a logarithm of −1e10 those of weights lose half their digits.
    """
    live = [k for k, weight in enumerate(log_weights) if weight > -np.inf]
    n_rows = max(max(len(parts[k].log_scale), len(parts[k].coefficients)) for k in live)
    scales = np.empty((len(live), n_rows))
    for place, k in enumerate(live):
        scales[place] = parts[k].log_scale
    shift = scales.max(axis=0)
    shift[np.isneginf(shift)] = 0.0
    terms = np.array([log_weights[k] for k in live])[:, None] + (scales - shift)
    top = terms.max(axis=0)
    lower = np.where((top < np.log(SMALL)) & ~np.isneginf(top), top, 0.0)
    weights = np.exp(terms - lower)  # (parts, rows)
    width = max(parts[k].coefficients.shape[1] for k in live)
    if all(len(parts[k].coefficients) == 1 for k in live):  # the rows differ in their weights alone
        table = np.zeros((len(live), width))
        for place, k in enumerate(live):
            own = parts[k].coefficients[0]
            table[place, : len(own)] = own
        mixed = weights.T @ table
    else:
        mixed = np.zeros((n_rows, width))
        for place, k in enumerate(live):
            own = parts[k].coefficients
            mixed[:, : own.shape[1]] += weights[place][:, None] * own
    return Polynomials(mixed, shift + lower)._in_range()


def convolved(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the coefficients of products row by row: (rows or 1, degrees added up + 1)."""
    if a.shape[1] < b.shape[1]:
        a, b = b, a
    if b.shape[1] == 1:
        return a * b
    if len(a) == len(b) == 1:
        return np.convolve(a[0], b[0])[None, :]
    out = np.zeros((max(len(a), len(b)), a.shape[1] + b.shape[1] - 1))
    for k in range(b.shape[1]):
        out[:, k : k + a.shape[1]] += a * b[:, k : k + 1]
    return out
