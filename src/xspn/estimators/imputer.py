"""`XSPNImputer`: missing values filled in from what is known of their row, with deviations, draws and intervals."""

from types import MappingProxyType
from typing import Any, Self, get_args

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import number_between, whole_number
from xspn.core.errors import ParameterError
from xspn.core.random import RandomState, generator
from xspn.data.schema import Schema
from xspn.estimators.base import (
    DensityEstimator,
    Method,
    all_or_nothing,
    answers_by_partition,
    completed,
    filled_in,
    knows_its_names,
)
from xspn.estimators.wrapped import AroundDensity

CELLS_AT_ONCE = 1 << 23  # of draws that quantiles are taken from


class XSPNImputer(OneToOneFeatureMixin, TransformerMixin, AroundDensity):  # type: ignore[misc]
    """Fill in missing values from their exact distribution given the rest of the row.

    A transformer: a DataFrame stays a DataFrame of its own library, with its columns, labels and types; cells that are
    observed stay as they are. The training table may have missing values, too; nothing is imputed to learn from it.

    Args:
        estimator: The density estimator, an `XSPN`, a `NormalMixture` or a `MEVM` with settings of its own. By default
            a `NormalMixture` where at least half of the columns are numbers: on such tables with missing cells it
            comes nearest to the truth. Elsewhere an `XSPN` that finds structure by tests, `exchangeability="global"`.
            `handle_unknown="missing"` has categories filled in that the training table lacked, and
            `match_columns="by_name"` absent columns.
        method: "mean" takes the mean of numbers, to the precision that their column has, and the likeliest category;
            "marginal" the likeliest value of everything but real numbers; "mpe" the likeliest completion of the row as
            a whole; "sample" a random completion.
        random_state: A seed, for the same circuit and the same draws every time.

    Attributes:
        estimator_: The fitted density estimator.
        circuit_: Its circuit.
        n_features_in_: The number of columns.
        feature_names_in_: Their names, if the table was a DataFrame.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> size = rng.normal(170, 10, size=300).round()
        >>> X = np.column_stack([size, (size - 100 + 5 * rng.normal(size=300)).round()])
        >>> imputer = XSPNImputer(random_state=0).fit(X)
        >>> filled, std = imputer.transform([[180, np.nan], [160, 61]], return_std=True)
        >>> filled.tolist()
        [[180.0, 80.0], [160.0, 61.0]]
        >>> std.round(0).tolist()
        [[0.0, 5.0], [0.0, 0.0]]
    """

    _defaults = MappingProxyType({"exchangeability": "global"})

    def __init__(
        self,
        estimator: DensityEstimator | None = None,
        method: Method = "mean",
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Learn the distribution of the rows; missing values are summed out.

        Args:
            X: A table, as `XSPN.fit` takes it.
            y: Ignored.
            sample_weight: How often each row counts.
        """
        if self.method not in get_args(Method):
            raise ParameterError(f"method: expected one of {', '.join(get_args(Method))}, found {self.method!r}")
        model: Any = self._unfitted(X)
        self._adopt(model.fit(X, sample_weight=sample_weight))
        return self

    @answers_by_partition(lambda model: {"like_input": True})
    def transform(self, X: Any, return_std: bool = False) -> Any:
        """Return the table with its missing values filled in.

        Args:
            X: The table. A file, or a `Table`, comes back as `XSPN.sample` gives rows.
            return_std: Whether to return deviations, too.

        Returns:
            The table; with `return_std` a pair of the table and the deviation of each cell given its row: 0 where a
            value was observed, NaN in columns of categories.
        """
        rows = self._query_rows(X)
        seed = int(generator(self.random_state).integers(2**63 - 1))
        filled = self._given_back(X, rows, completed(self.circuit_, rows, self.method, seed))
        return (filled, self._deviations(rows)) if return_std else filled

    def draw(self, X: Any, n_draws: int = 5, random_state: RandomState = None) -> list[Any]:
        """Return several completions of the table, each drawn at random: what multiple imputation needs.

        Args:
            X: The table.
            n_draws: How many completed tables.
            random_state: The seed; that of the imputer by default.
        """
        whole_number("n_draws", n_draws, 1)
        rows = self._query_rows(X)
        return [self._given_back(X, rows, own) for own in self._draws(rows, n_draws, self._generator(random_state))]

    def intervals(
        self, X: Any, level: float = 0.9, n_draws: int = 500, random_state: RandomState = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the ends of intervals that hold each missing number with a given probability.

        They are quantiles of draws given the row. What is observed is its own interval; categories have NaN.

        Args:
            X: The table.
            level: The probability.
            n_draws: The number of draws that quantiles are taken from.
            random_state: The seed; that of the imputer by default.

        Returns:
            The lower and the upper ends, each (rows, columns).
        """
        number_between("level", level, 0.0, 1.0)
        whole_number("n_draws", n_draws, 1)
        rows, rng = np.asarray(self._query_rows(X), dtype=np.float64), self._generator(random_state)
        tail, found = (1 - level) / 2, np.empty((2, *rows.shape))
        at_once = max(1, CELLS_AT_ONCE // (max(rows.shape[1], 1) * n_draws))
        for start in range(0, len(rows), at_once):
            own = slice(start, start + at_once)
            found[:, own] = np.quantile(self._numbers(self._draws(rows[own], n_draws, rng)), [tail, 1 - tail], axis=0)
        return found[0], found[1]

    # -- in codes ----------------------------------------------------------------------------------------------------

    @property
    def _schema(self) -> Schema:
        return self.estimator_.schema_

    def _generator(self, random_state: RandomState) -> np.random.Generator:
        return generator(self.random_state if random_state is None else random_state)

    def _draws(self, rows: AnyArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
        """Return random completions in codes: (draws, rows, columns)."""
        drawn = self.circuit_.sample(n_draws, given=rows, random_state=rng)
        return np.moveaxis(drawn.reshape(len(rows), n_draws, rows.shape[1]), 1, 0)

    def _given_back(self, X: Any, rows: AnyArray, filled: FloatArray) -> Any:
        filled = self.estimator_._presented(filled, rows)
        if knows_its_names(X):
            return self.estimator_._given_back(filled)
        return filled_in(X, self._schema, np.isnan(rows), filled, self.estimator_._tolerance, whole=True)

    def _numbers(self, codes: FloatArray) -> FloatArray:
        """Return codes as the numbers that they stand for; NaN in columns of categories."""
        out = np.full(codes.shape, np.nan)
        for j, values in enumerate(self._schema.numbers()):
            if values is not None:
                out[..., j] = values[codes[..., j].astype(np.int64)] if len(values) else codes[..., j]
        return out

    def _deviations(self, rows: AnyArray) -> FloatArray:
        """Return the deviation of each cell given its row, in the column's own units; NaN for categories."""
        out = np.sqrt(np.maximum(self.circuit_.variances(rows), 0.0))
        table = self.circuit_.marginals(rows)
        for j, values in enumerate(self._schema.numbers()):
            if values is None:
                out[:, j] = np.nan
            elif len(values):
                chances = table[:, j, : len(values)]
                away = values - (chances @ values)[:, None]
                out[:, j] = np.sqrt((chances * away**2).sum(axis=1))
        return np.asarray(out)
