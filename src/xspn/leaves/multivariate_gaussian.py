"""Real variables, jointly normal."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.linalg import solve_triangular

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.checks import real_numbers
from xspn.core.errors import ParameterError, StructureError
from xspn.core.random import Rng
from xspn.data.domain import Domain
from xspn.graph.nodes import Node, Scope, frozen
from xspn.leaves.base import Leaf, Smoothing, WebForm, packed, pieces, register, sizes_of
from xspn.leaves.events import Intervals, Mark, distinct_rows
from xspn.leaves.gaussian import FAR, LARGEST, LOG_2PI, SMALLEST, TINY, Gaussian, in_range
from xspn.leaves.normal_mass import log_box_mass, log_sides_by_precision

if TYPE_CHECKING:
    from xspn.leaves.partial_normals import PartialNormal

MANY = 16  # patterns of missing values, whose rows are evaluated together
WELL_CONDITIONED = 1e-6  # the least eigenvalue of correlations, for the precision matrix to be taken
FARTHEST = 1e60  # deviations: squares of larger numbers may overflow


@register
class MultivariateGaussian(Leaf):
    """A normal distribution with a mean for each variable and any covariance.

    Rows are handled pattern by pattern of what is missing, so that each pattern needs one factorization; many rows with
    patterns of their own all at once.

    Args:
        variables: At least two variables.
        mean: The mean of each.
        covariance: A symmetric, positive definite matrix.

    Examples:
        >>> leaf = MultivariateGaussian([0, 1], mean=[0, 0], covariance=[[1, 0.5], [0.5, 1]])
        >>> leaf.log_prob(np.array([[0.0, 0.0], [0.0, np.nan]])).round(6).tolist()
        [-1.694036, -0.918939]
        >>> leaf.mode(np.array([[2.0, np.nan]]))[0].tolist()
        [[2.0, 1.0]]
    """

    __slots__ = ("covariance", "mean")
    family = "multivariate_gaussian"
    only_domain = Domain.real()
    mean: FloatArray
    covariance: FloatArray

    def __init__(self, variables: Iterable[int], mean: Any, covariance: Any) -> None:
        self._set_variables(variables)
        n = len(self._variables)
        if n < 2:
            raise StructureError("MultivariateGaussian: expected at least two variables; one alone is a Gaussian leaf")
        own, table = real_numbers(mean, "MultivariateGaussian mean"), real_numbers(covariance, "covariance")
        if own.shape != (n,) or table.shape != (n, n):
            raise ParameterError(
                f"MultivariateGaussian: {n} variables need {n} means and {n} × {n} covariances, found shapes "
                f"{own.shape} and {table.shape}"
            )
        if not _in_range(own, table):
            raise ParameterError(
                f"MultivariateGaussian: expected finite means and deviations of at most {LARGEST:g}, and deviations of "
                f"at least {SMALLEST:g}"
            )
        if not _is_symmetric(table) or not _is_positive((table + table.T) / 2):
            raise ParameterError("MultivariateGaussian: expected a symmetric, positive definite covariance matrix")
        self.mean, self.covariance = frozen(own), frozen((table + table.T) / 2)
        self._seal()

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: means and covariances."""
        n = len(self._variables)
        return n + n * (n + 1) // 2

    def _given(self, seen: IntArray, rest: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the regression of the rest on what is seen, (rest, seen), and a factor of the covariance that is left.

        Both are parts of one factorization, so that what is left is positive definite whatever is seen.
        """
        order, k = np.concatenate([seen, rest]), len(seen)
        factor = np.linalg.cholesky(self.covariance[np.ix_(order, order)])
        linear = solve_triangular(factor[:k, :k], factor[k:, :k].T, lower=True, trans="T").T if k else factor[:, :0]
        return linear, factor[k:, k:]

    def _at_once(self, x: FloatArray) -> "PartialNormal | None":
        """Return many rows with missing values, evaluated together.

        None for few patterns, and where one by one is more exact: the covariance's inverse must be well conditioned.
        """
        if len(x) < MANY or len(np.unique(np.packbits(np.isnan(x), axis=1), axis=0)) < MANY:
            return None
        if np.linalg.eigvalsh(self._correlations())[0] < WELL_CONDITIONED:
            return None
        far = np.abs(x[~np.isnan(x)]).max(initial=0.0) > FARTHEST * float(np.sqrt(np.diag(self.covariance)).min())
        if far:
            return None
        from xspn.leaves.partial_normals import PartialNormal  # compiles, which few patterns do without

        return PartialNormal(self.mean, self.covariance, x)

    def log_prob(self, x: FloatArray) -> FloatArray:
        """Return the log-density of the observed values."""
        if (many := self._at_once(x)) is not None:
            return many.log_prob
        result = np.zeros(len(x))
        for rows, seen, _ in _patterns(x):
            if len(seen):
                factor = np.linalg.cholesky(self.covariance[np.ix_(seen, seen)])
                away = solve_triangular(factor, (x[np.ix_(rows, seen)] - self.mean[seen]).T, lower=True)
                log_determinant = 2 * np.log(np.diag(factor)).sum()
                with np.errstate(over="ignore"):  # a logarithm beyond the largest number is −inf
                    squares = np.where(np.isnan(away), np.inf, away**2).sum(axis=0)
                result[rows] = -0.5 * (len(seen) * LOG_2PI + log_determinant + squares)
        return result

    def mode(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Fill with the conditional mean."""
        filled = self.means(x)
        return filled, self.log_prob(filled)

    def means(self, x: FloatArray) -> FloatArray:
        """Return each row filled with the conditional mean, which is the mode."""
        if (many := self._at_once(x)) is not None:
            return many.filled
        filled = x.copy()
        for rows, seen, rest in _patterns(x):
            if len(rest):
                linear, _ = self._given(seen, rest)
                away = x[np.ix_(rows, seen)] - self.mean[seen]
                filled[np.ix_(rows, rest)] = self.mean[rest] + _row_by_row(away, linear)
        return filled

    def tally(self, x: FloatArray, marks: Sequence[Mark | None]) -> FloatArray:
        """Return the log-probability of intervals of up to three variables; more cannot be integrated exactly."""
        distinct, which = distinct_rows(x)
        logs = self.log_prob(distinct)
        for place, row in enumerate(distinct):
            seen = np.flatnonzero(~np.isnan(row))
            asked = [(i, own) for i, own in enumerate(marks) if isinstance(own, Intervals) and np.isnan(row[i])]
            if asked:
                rest = np.array([i for i, _ in asked])
                linear, factor = self._given(seen, rest)
                mean = self.mean[rest] + linear @ (row[seen] - self.mean[seen])
                sets = [own for _, own in asked]
                logs[place] += log_box_mass(type(self).__name__, mean, factor @ factor.T, sets)
        return logs[which, None]

    def alternatives(self, x: FloatArray, best: bool = False) -> FloatArray:
        """Return what the conditional distribution functions give, all from one inverse for each pattern."""
        score, precision = np.zeros(x.shape), np.ones(x.shape)
        for rows, seen, _ in _patterns(x):
            if len(seen):
                inverse = np.linalg.inv(self.covariance[np.ix_(seen, seen)])
                score[np.ix_(rows, seen)] = (x[np.ix_(rows, seen)] - self.mean[seen]) @ inverse
                precision[np.ix_(rows, seen)] = np.diag(inverse)
        return log_sides_by_precision(self.log_prob(x), x, score, precision)

    def variances(self, x: FloatArray) -> FloatArray:
        """Return the variances that are left: the same for all rows with the same variables missing."""
        if (many := self._at_once(x)) is not None:
            return many.variances()
        found = np.zeros(x.shape)
        for rows, seen, rest in _patterns(x):
            if len(rest):
                _, factor = self._given(seen, rest)
                found[np.ix_(rows, rest)] = (factor**2).sum(axis=1)
        return found

    def sample(self, x: FloatArray, rng: Rng) -> FloatArray:
        """Draw what is missing around its conditional mean."""
        noise = rng.normal(size=x.shape)
        if (many := self._at_once(x)) is not None:
            return many.sample(noise)
        filled = self.means(x)
        for rows, seen, rest in _patterns(x):
            if len(rest):
                _, factor = self._given(seen, rest)
                filled[np.ix_(rows, rest)] += _row_by_row(noise[np.ix_(rows, rest)], factor)
        return filled

    def marginalize(self, keep: Scope) -> Node | None:
        """Return the normal distribution of the kept variables."""
        kept = np.array([i for i, v in enumerate(self._variables) if v in keep], dtype=np.int64)
        if len(kept) == len(self._variables):
            return self
        return self._of(kept, self.mean[kept], self.covariance[np.ix_(kept, kept)])

    def condition(self, x: FloatArray) -> tuple[Node | None, float]:
        """Return the normal distribution of the missing variables, and the log-density of the others."""
        rest, seen = np.flatnonzero(np.isnan(x)), np.flatnonzero(~np.isnan(x))
        log_evidence = float(self.log_prob(x[None, :])[0])
        if not len(seen):
            return self, log_evidence
        linear, factor = self._given(seen, rest)
        mean = self.mean[rest] + linear @ (x[seen] - self.mean[seen])
        return self._of(rest, mean, factor @ factor.T), log_evidence

    def _of(self, positions: IntArray, mean: FloatArray, covariance: FloatArray) -> Node | None:
        variables = [self._variables[int(i)] for i in positions]
        if not variables:
            return None
        if len(variables) == 1:
            return Gaussian(variables[0], mean=float(mean[0]), std=float(np.sqrt(covariance[0, 0])))
        return MultivariateGaussian(variables, mean, covariance)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return the means and the covariance."""
        return self.mean.copy(), self.covariance.copy()

    def law(self, names: Sequence[str], label: Callable[[int], str]) -> str:
        """Say which two go together most."""
        correlations = np.triu(self._correlations(), 1)
        i, j = np.unravel_index(int(np.argmax(np.abs(correlations))), correlations.shape)
        most = f"{names[int(i)]} and {names[int(j)]} ({correlations[i, j]:+.2f})".replace("-", "−")
        return f"jointly normal, most correlated: {most}"

    def entropy(self) -> float:
        """Return that of independent normal variables less the total correlation."""
        variances = np.diag(self.moments()[1])
        return float(0.5 * (LOG_2PI + 1 + np.log(variances)).sum()) - self.dependence()

    def dependence(self) -> float:
        """Return −½ log of the correlation matrix's determinant."""
        return max(0.0, -0.5 * float(np.linalg.slogdet(self._correlations())[1]))

    def _correlations(self) -> FloatArray:
        scale = np.sqrt(np.diag(self.covariance))
        return np.asarray(self.covariance / np.outer(scale, scale))

    def web_form(self) -> WebForm:
        """Return the means and the covariance."""
        return WebForm("normals", np.concatenate([self.mean, self.covariance.ravel()]))

    def statistics(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weight, and the expected first and second moments about this leaf's own mean."""
        n = len(self._variables)
        if (many := self._at_once(x)) is not None:
            own = np.where(np.isnan(x).all(axis=1), 0.0, weights)
            filled = many.filled - self.mean
            second = (filled * own[:, None]).T @ filled + many.left_over(own)
            return np.concatenate([[own.sum()], own @ filled, second.ravel()])
        first, second, weight = np.zeros(n), np.zeros((n, n)), 0.0
        filled = self.means(x) - self.mean
        for rows, seen, rest in _patterns(x):
            if len(seen):
                own = weights[rows]
                weight += float(own.sum())
                first += own @ filled[rows]
                second += (filled[rows] * own[:, None]).T @ filled[rows]
                if len(rest):
                    _, factor = self._given(seen, rest)
                    second[np.ix_(rest, rest)] += own.sum() * (factor @ factor.T)
        return np.concatenate([[weight], first, second.ravel()])

    def from_statistics(self, statistics: FloatArray, smoothing: float | Smoothing = 0.0) -> Self:
        """Return the maximum-likelihood leaf; the smoothing mass counts as variance 1 in every direction."""
        mass = Smoothing.of(smoothing).mass
        weight, first, second = self._split(statistics)
        if weight == 0:
            return self
        shift = first / weight
        covariance = (second - weight * np.outer(shift, shift) + mass * np.eye(len(shift))) / (weight + mass)
        covariance = (covariance + covariance.T) / 2
        if not _is_positive(covariance, margin=16.0):
            raise ParameterError(
                f"MultivariateGaussian over {self.scope}: the values have no variance in some direction; "
                "use a smoothing above 0"
            )
        return type(self)(self._variables, self.mean + shift, covariance)

    def recentered(self, statistics: FloatArray) -> Self:
        """Return the leaf about the rows' means where some are far off."""
        weight, first, second = self._split(statistics)
        squares = np.diag(second)
        if not (squares - first**2 / max(weight, TINY) < FAR * squares).any():
            return self
        return type(self)(self._variables, self.mean + first / weight, self.covariance)

    def restate(self, statistics: FloatArray, origin: Self) -> FloatArray:
        """Move the moments from the other leaf's mean to this one's."""
        weight, first, second = self._split(statistics)
        shift = origin.mean - self.mean
        crossed = np.outer(first, shift)
        moved = second + crossed + crossed.T + weight * np.outer(shift, shift)
        return np.concatenate([[weight], first + weight * shift, moved.ravel()])

    def _split(self, statistics: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        n = len(self._variables)
        return float(statistics[0]), statistics[1 : n + 1], statistics[n + 1 :].reshape(n, n)

    def sensitivity(self, x: FloatArray) -> FloatArray:
        """Return what the row says of means and covariances, where the leaf is standard normal."""
        n = len(self._variables)
        factor = np.linalg.cholesky(self.covariance)
        first, second = np.zeros((len(x), n)), np.zeros((len(x), n, n))
        filled = self.mode(x)[0] - self.mean
        for rows, seen, rest in _patterns(x):
            if not len(seen):
                second[rows] = np.eye(n)
                continue
            first[rows] = own = solve_triangular(factor, filled[rows].T, lower=True).T
            left = np.zeros((n, n))
            if len(rest):
                _, open_part = self._given(seen, rest)
                left[np.ix_(rest, rest)] = open_part @ open_part.T
                left = solve_triangular(factor, solve_triangular(factor, left, lower=True).T, lower=True)
            second[rows] = own[:, :, None] * own[:, None, :] + left
        i, j = np.tril_indices(n, -1)
        own_variance = (np.diagonal(second, axis1=1, axis2=2) - 1) / np.sqrt(2)
        return np.column_stack([first, second[:, i, j], own_variance])

    def to_params(self) -> dict[str, Any]:
        """Return means and covariances."""
        return {"mean": self.mean.tolist(), "covariance": self.covariance.tolist()}

    @classmethod
    def from_params(cls, variables: tuple[int, ...], params: dict[str, Any]) -> Self:
        """Build the leaf."""
        return cls(variables, mean=params["mean"], covariance=params["covariance"])

    @classmethod
    def pack(cls, leaves: Sequence[Self]) -> dict[str, AnyArray]:
        """Return all means and all covariances one after the other."""
        return {
            "mean": np.concatenate([leaf.mean for leaf in leaves]),
            "covariance": np.concatenate([leaf.covariance.ravel() for leaf in leaves]),
        }

    @classmethod
    def unpack(cls, variables: Sequence[tuple[int, ...]], arrays: Mapping[str, AnyArray]) -> list[Self]:
        """Build the leaves; those of one size are checked at once."""
        sizes = sizes_of(variables)
        means = pieces(packed(arrays, "mean", int(sizes.sum())), sizes)
        flat = pieces(packed(arrays, "covariance", int((sizes**2).sum())), sizes**2)
        covariances = [table.reshape(n, n) for table, n in zip(flat, sizes.tolist(), strict=True)]
        for n in np.unique(sizes).tolist():
            alike = np.flatnonzero(sizes == n).tolist()
            mean, table = np.array([means[i] for i in alike]), np.array([covariances[i] for i in alike])
            usable = n > 1 and _in_range(mean, table)
            if not (usable and (table == table.transpose(0, 2, 1)).all() and _is_positive(table)):
                for i in alike:
                    cls(variables[i], means[i], covariances[i])  # says what is wrong with it
                raise ParameterError("MultivariateGaussian: expected covariances that are symmetric to the last bit")
        return cls._in_bulk(variables, mean=means, covariance=covariances)

    @classmethod
    def example(cls, rng: np.random.Generator, first_variable: int = 0) -> Self:
        """Return two to four variables with any covariance."""
        n = int(rng.integers(2, 5))
        root = rng.normal(size=(n, n + 1))
        return cls(range(first_variable, first_variable + n), rng.normal(size=n), root @ root.T / n + 0.05 * np.eye(n))

    def __repr__(self) -> str:
        return f"MultivariateGaussian over {self.scope}"


def _row_by_row(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return rows @ matrix.T, with the same roundings for a row whatever others there are: BLAS does not promise it."""
    total = np.zeros((len(rows), len(matrix)))
    for column, factors in zip(rows.T, matrix.T, strict=True):
        total += column[:, None] * factors
    return total


def _patterns(x: FloatArray) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Yield the rows of each pattern of missing values, with the positions seen and not seen."""
    missing = np.isnan(x)
    patterns, which = np.unique(missing, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        yield np.flatnonzero(which.reshape(-1) == k), np.flatnonzero(~pattern), np.flatnonzero(pattern)


def _is_symmetric(matrix: FloatArray) -> bool:
    """Whether a matrix is symmetric up to rounding, relative to its diagonal."""
    scale = np.sqrt(np.abs(np.diag(matrix)))
    return bool((np.abs(matrix - matrix.T) <= 1e-9 * np.outer(scale, scale)).all())


def _is_positive(matrix: FloatArray, margin: float = 4.0) -> bool:
    """Whether a symmetric matrix, or all of many, are positive definite, and not by rounding errors alone.

    The margin, in roundings a row of the matrix of correlations, makes every part of the matrix so, too.
    """
    variances = np.diagonal(matrix, axis1=-2, axis2=-1)
    if not (variances > 0).all():
        return False
    scale, n = np.sqrt(variances), matrix.shape[-1]
    correlations = matrix / scale[..., :, None] / scale[..., None, :]
    try:
        np.linalg.cholesky(correlations - margin * n * np.finfo(np.float64).eps * np.eye(n))
    except np.linalg.LinAlgError:
        return False
    return True


def _in_range(mean: FloatArray, covariance: FloatArray) -> bool:
    """Whether means and covariances are of a size that can be computed with."""
    variances = np.diagonal(covariance, axis1=-2, axis2=-1)
    negative = variances <= 0  # which is another fault
    good = in_range(mean, np.where(negative, 1.0, np.sqrt(np.where(negative, 1.0, variances))))
    return bool(good.all() and (np.abs(covariance) <= LARGEST**2).all())
