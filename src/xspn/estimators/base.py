"""What the density estimators have in common: scores, samples, marginals, imputation."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray
from xspn.core.errors import DataError, MemoryLimitError
from xspn.core.random import RandomState
from xspn.distributed import is_out_of_core
from xspn.estimators.completion import Method, completed, filled_in, table_of_marginals
from xspn.estimators.table_input import TableInput
from xspn.learning.memory import OTHERWISE

P = ParamSpec("P")
T = TypeVar("T")


def all_or_nothing(fit: Callable[P, T]) -> Callable[P, T]:
    """Make `fit` leave the estimator as it was if it is interrupted or fails, whatever it has set by then."""

    @wraps(fit)
    def undone_on_failure(*args: P.args, **kwargs: P.kwargs) -> T:
        attributes = vars(args[0])
        before = dict(attributes)
        try:
            return fit(*args, **kwargs)
        except BaseException as error:
            attributes.clear()
            attributes.update(before)
            if isinstance(error, MemoryError) and not isinstance(error, MemoryLimitError):
                raise MemoryLimitError(
                    f"X: the memory was not enough to learn from it ({error or 'no details'}); {OTHERWISE}"
                ) from error
            raise

    return undone_on_failure


class DensityEstimator(DensityMixin, TableInput):  # type: ignore[misc]
    """An estimator whose result is a circuit, `circuit_`."""

    circuit_: Circuit

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of each row; missing values (NaN) are summed out.

        For a Dask collection or a Parquet path the answer is a Dask array, and nothing is computed yet.
        """
        if is_out_of_core(X):
            return cast(FloatArray, self._elsewhere().answers(self, "score_samples", X))
        rows = self._query_rows(X)
        return self.circuit_.log_likelihood(rows)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows."""
        if is_out_of_core(X):
            mean, count = cast(tuple[float, int], self._elsewhere().mean_and_count(self.score_samples(X)))
        else:
            scores = self.score_samples(X)
            count = len(scores)
            mean = float(scores.mean()) if count else np.nan
        if not count:
            raise DataError("X: found 0 sample(s) while a minimum of 1 is required: the mean of nothing is undefined")
        return mean

    def sample(self, n_samples: int = 1, random_state: RandomState = None, chunks: int | None = None) -> Any:
        """Return random rows: a DataFrame with the same labels and types if the model was fitted to one.

        Args:
            n_samples: How many rows.
            random_state: The seed.
            chunks: Return a lazy Dask array or DataFrame with so many rows in each partition.
        """
        check_is_fitted(self)
        if chunks is not None:
            width = self.n_features_in_
            return self._elsewhere().samples(self, n_samples, chunks, random_state, self._template, width)
        return self._given_back(self.circuit_.sample(n_samples, random_state=random_state))

    def predict_marginals(self, X: Any) -> Any:
        """Return what the observed values of each row say of every variable.

        For a table of binary columns: P(variable is 1 | row), an array (rows, variables). For other tables the columns
        of the answer are those of `marginal_names()`: a binary variable has one, P(1 | row); a categorical or ordinal
        one has P(value | row) for each value; a real one has its mean given the row. The answer is a DataFrame if the
        model was fitted to one. For a Dask collection or a Parquet path it is a lazy Dask array or DataFrame.
        """
        if is_out_of_core(X):
            return self._marginals_elsewhere(X)
        rows = self._query_rows(X)
        if self.columns_.are_binary:
            return self.circuit_.marginals(rows)
        table, means = table_of_marginals(self.circuit_, rows), self.circuit_.means(rows)
        parts = []
        for variable, domain in enumerate(self.columns_.domains):
            size = None if domain is None else domain.cardinality
            first = 1 if size == 2 else 0
            parts.append(means[:, [variable]] if size is None else table[:, variable, first:size])
        answer = np.hstack(parts)
        if self._template is None:
            return answer
        index = getattr(X, "index", None)
        return type(self._template)(answer, index=index, columns=self.marginal_names())

    def _marginals_elsewhere(self, X: Any) -> Any:
        names = self.marginal_names()
        if self.columns_.are_binary or self._template is None:
            return self._elsewhere().answers(self, "predict_marginals", X, width=len(names))
        template = type(self._template)(columns=names, dtype=np.float64)
        return self._elsewhere().tables(self, "predict_marginals", X, template)

    def marginal_names(self) -> list[str]:
        """Return the names of the columns of `predict_marginals`, such as "colour=red"; X0, X1, … without names."""
        check_is_fitted(self)
        columns, names = self.columns_, []
        for variable, domain in enumerate(columns.domains):
            name = f"X{variable}" if columns.names is None else columns.names[variable]
            size = None if domain is None else domain.cardinality
            names += [name] if size in (None, 2) else [f"{name}={columns.label(variable, v)}" for v in range(size or 0)]
        return names

    def impute(self, X: Any, method: Method = "marginal", random_state: RandomState = None) -> Any:
        """Return the table with its missing values filled in and nothing else changed; a DataFrame stays a DataFrame.

        Args:
            X: The table.
            method: "marginal" takes each cell's likeliest value given the row, and the mean for real variables; "mpe"
                the likeliest completion of the row as a whole; "sample" a random completion.
            random_state: The seed for "sample".

        For a Dask collection or a Parquet path the answer is a lazy Dask array or DataFrame.
        """
        if is_out_of_core(X):
            chance = {"random_state": random_state} if method == "sample" else {}
            return self._elsewhere().tables(self, "impute", X, method=method, **chance)
        rows = self._query_rows(X)
        filled = completed(self.circuit_, rows, method, random_state)
        return filled_in(X, self.columns_, np.isnan(rows), filled)
