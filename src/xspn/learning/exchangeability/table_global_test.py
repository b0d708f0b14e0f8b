"""A calibrated test of exchangeability for columns of any one domain, in closed form.

Condition on the values of each row, in whatever order they come. If the columns are exchangeable, every row is a
uniformly random arrangement of its values, independently of the others; so the moments of anything that is summed over
rows are known exactly, and no distribution is assumed. With features φ(x) ∈ ℝᵈ of the values, centered within each row:

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

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.learning.deviations import (
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
)
from xspn.learning.exchangeability.base import Features, TestResult, in_parts
from xspn.learning.exchangeability.partial_rows import partial_parts
from xspn.learning.table_summary import TableSummary, row_blocks

ALL = slice(None)
Rows = tuple[FloatArray, FloatArray]  # features of some rows, centered within each row, and the rows' weights


def table_global_test(summary: TableSummary) -> TestResult:
    """Test exchangeability by first and second order together; rows of one value only say nothing."""
    seen = np.flatnonzero(summary.seen > 0)
    own = summary if len(seen) == summary.n else summary.part(seen)
    phi = Features(own) if own.n > 1 else None
    if phi is None or not len(phi):  # one column, or one value: nothing could differ
        return in_parts({name: DeviationPart() for name in ("Q", "B")}, seen)
    return in_parts(_parts(_WholeRows(own, phi)) if own.complete else partial_parts(phi.of(ALL), own.weights), seen)


class _WholeRows:
    """Rows without missing cells, some at a time where there are very many: all that is asked of them is sums."""

    def __init__(self, summary: TableSummary, phi: Features) -> None:
        self.d, self.n = len(phi), summary.n
        self._phi, self._weights = phi, summary.weights
        products = self.d * (self.d + 1) // 2
        self._blocks = row_blocks(len(summary.cells), (self.d + 2 * products) * self.n)
        self._only = self._centered(self._blocks[0]) if len(self._blocks) == 1 else None

    def _centered(self, rows: slice) -> Rows:
        phi = self._phi.of(rows)
        psi = phi - phi.mean(axis=2, keepdims=True)
        psi[phi.max(axis=2) == phi.min(axis=2)] = 0.0  # nor does rounding of the mean make them vary
        return psi, self._weights[rows]

    def __iter__(self) -> Iterator[Rows]:
        return iter([self._only]) if self._only is not None else map(self._centered, self._blocks)

    def add_up(self, of_rows: Callable[[FloatArray, FloatArray], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Return the sums of what is made of the features and weights of rows."""
        found: tuple[Any, ...] = ()
        for psi, weights in self:
            more = of_rows(psi, weights)
            found = tuple(one + other for one, other in zip(found, more, strict=True)) if found else more
        return found


def _parts(rows: _WholeRows) -> dict[str, DeviationPart]:
    """Return the parts for whole rows."""
    d, n = rows.d, rows.n
    a, b = np.triu_indices(d)
    one, other = np.triu_indices(d, 1)

    def sums_of(psi: FloatArray, weights: FloatArray) -> tuple[FloatArray, ...]:
        moments = np.einsum("ari,bri->abr", psi, psi)  # Σ_i ψ_a ψ_b within each row
        products = psi[a] * psi[b]
        flat = products.reshape(len(products), len(weights) * n)
        squares = (flat * np.repeat(weights, n)) @ flat.T  # Σ_r Σ_i (ψ_a ψ_b)(ψ_c ψ_d)
        effects = _effects(psi, products)
        flat = effects.reshape(len(effects), len(weights) * n)
        pairs = np.array([(psi[i] * weights[:, None]).T @ psi[j] for i, j in zip(a, b, strict=True)])
        crossed = [
            (moments[i][a] * moments[j][b] + moments[i][b] * moments[j][a]) @ weights for i, j in zip(a, b, strict=True)
        ]
        turned = [
            (moments[i][one] * moments[j][other] - moments[i][other] * moments[j][one]) @ weights
            for i, j in zip(one, other, strict=True)
        ]
        own = moments[a, b]
        return (
            (weights @ effects).T,
            (flat * np.repeat(weights, n)) @ flat.T / (n - 1),
            squares,
            pairs,
            np.array(crossed),
            (own * weights) @ own.T,
            np.array(turned).reshape(len(one), len(one)),
            (moments[one, one] * moments[other, other]) @ weights,
        )

    sums, covariance, squares, pairs, crossed, own, turned, whole_of_turned = rows.add_up(sums_of)
    parts = _first(rows, sums, covariance, np.diag(squares))
    upper = np.triu_indices(n, 1)
    if n >= 4:
        residuals = np.array([without_own_effects(table + table.T)[upper] for table in pairs]).T
        projected = crossed - squares * (2 + 4 / (n - 2)) + 2 * own / ((n - 1) * (n - 2))
        parts["S"] = _part_of_pairs(rows, residuals, projected, np.diag(crossed), n * (n - 3) / 2, (a, b, 1))
    if d >= 2 and n >= 3:
        tables = pairs[a != b]
        differences = np.array([(table - table.T)[upper] for table in tables]).T
        degrees = (n - 1) * (n - 2) / 2
        parts["A"] = _part_of_pairs(rows, differences, turned, whole_of_turned, degrees, (one, other, -1))
    return parts


def _effects(psi: FloatArray, products: FloatArray) -> FloatArray:
    """Return the features, and their products less the mean of each row."""
    return np.concatenate([psi, products - products.mean(axis=2, keepdims=True)])


def _first(rows: _WholeRows, sums: FloatArray, covariance: FloatArray, squares: FloatArray) -> dict[str, DeviationPart]:
    """Return Q, from features that sum to 0 in each row, and B, from their products after regressing out Q's."""
    d, n = rows.d, rows.n
    a, b = np.triu_indices(d)
    whole = squares / (n - 1)
    coefficients = explaining(covariance, d)
    rest, covariance_of_rest = beyond(sums, covariance, d)

    def of_feature(place: Index) -> Cumulants:
        return _summed(rows, lambda psi, weights: cumulants_of_cells(psi[place[1]], n, weights))

    def of_product(place: Index) -> Cumulants:
        k = place[1]

        def cumulants(psi: FloatArray, weights: FloatArray) -> Cumulants:
            product = psi[a[k]] * psi[b[k]]
            effect = product - product.mean(axis=1, keepdims=True)
            return cumulants_of_cells(effect - np.tensordot(coefficients[k], psi, axes=1), n, weights)

        return _summed(rows, cumulants)

    return {
        "Q": _part_of_columns(sums[:, :d], covariance[:d, :d], np.diag(covariance)[:d], of_feature),
        "B": _part_of_columns(rest, covariance_of_rest, whole, of_product),
    }


def _summed(rows: _WholeRows, cumulants: Callable[[FloatArray, FloatArray], Cumulants]) -> Cumulants:
    """Return the cumulants of all rows, which are those of some rows added up."""
    second, third, fourth = rows.add_up(cumulants)
    return second, third, fourth


def _part_of_columns(
    sums: FloatArray, covariance: FloatArray, whole: FloatArray, cumulants: Callable[[Index], Cumulants]
) -> DeviationPart:
    """Return a part that has a member for each column and feature."""
    n = len(sums)
    value, rank = quadratic(sums, covariance, whole)
    dof = float(rank * (n - 1))
    if not needs_largest(dof):
        return DeviationPart(value, dof)
    variances = possible(np.diag(covariance), whole) * (n - 1) / n
    found = largest(sums, variances, n * int(np.count_nonzero(variances)), cumulants)
    return DeviationPart(value, dof, found.at(found.member[:1]))


def _part_of_pairs(
    rows: _WholeRows,
    vectors: FloatArray,
    squares: FloatArray,
    whole: FloatArray,
    degrees: float,
    made_of: tuple[IntArray, IntArray, int],
) -> DeviationPart:
    """Return a part that has a member for every two columns and every two features.

    Args:
        rows: The rows.
        vectors: (pairs, features).
        squares: The sum over all pairs of the covariance between features, which all have in common.
        whole: What the diagonal of it was before other effects were taken out.
        degrees: The degrees of freedom of each feature.
        made_of: Which two features make each of those here, and the sign between the two products.
    """
    a, b, sign = made_of
    n = rows.n
    value, rank = quadratic(vectors, squares / degrees, whole / degrees)
    if not needs_largest(rank * degrees):
        return DeviationPart(value, rank * degrees)
    variances = possible(np.diag(squares), whole) / len(vectors)

    def cumulants(place: Index) -> Cumulants:
        one, other = a[place[1]], b[place[1]]
        return _summed(rows, lambda psi, weights: cumulants_of_pairs(psi[one], psi[other], sign, n, weights))

    n_members = len(vectors) * int(np.count_nonzero(variances))
    found = largest(vectors, variances, n_members, cumulants)
    return DeviationPart(value, rank * degrees, found.at(axis[found.member[0]] for axis in np.triu_indices(n, 1)))


def without_own_effects(pairs: FloatArray) -> FloatArray:
    """Take the mean and each column's own effect out of a symmetric table of pairs; the diagonal is ignored."""
    n = len(pairs)
    off = pairs - np.diag(np.diag(pairs))
    mean = off.sum() / (n * (n - 1))
    own = (off.sum(axis=1) - (n - 1) * mean) / (n - 2)
    return np.asarray(off - mean - own[:, None] - own[None, :])
