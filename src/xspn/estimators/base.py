"""What the density estimators have in common: scores, samples, marginals, imputation."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray
from xspn.core.errors import DataError, MemoryLimitError
from xspn.core.random import RandomState
from xspn.data.frames import PANDAS, Frame, built, need_pandas
from xspn.estimators.completion import Method, completed, filled_in
from xspn.estimators.table_input import TableInput, answers_by_partition, knows_its_names
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

    @answers_by_partition()
    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of each row; missing values (NaN) are summed out.

        For a Dask collection or a Parquet path the answer is a Dask array, and nothing is computed yet.
        """
        rows = self._query_rows(X)
        return self.circuit_.log_likelihood(rows)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows."""
        scores = self.score_samples(X)
        if isinstance(scores, np.ndarray):
            mean, count = float(scores.mean()) if len(scores) else np.nan, len(scores)
        else:
            from xspn.distributed.lazy import mean_and_count

            mean, count = mean_and_count(scores)
        if not count:
            raise DataError("X: found 0 sample(s) while a minimum of 1 is required: the mean of nothing is undefined")
        return mean

    def sample(self, n_samples: int = 1, random_state: RandomState = None, chunks: int | None = None) -> Any:
        """Return random rows: a DataFrame with the same labels and types if the model was fitted to one.

        Args:
            n_samples: How many rows.
            random_state: The seed.
            chunks: Return a lazy Dask array or DataFrame (of pandas, whatever the library) with so many rows in each
                partition.
        """
        check_is_fitted(self)
        if chunks is None:
            return self._given_back(self.circuit_.sample(n_samples, random_state=random_state))
        from xspn.distributed.lazy import samples

        template = self._template
        if template is None and self.schema_.library is not None:
            template = replace(self.schema_, library=None).decode(np.empty((0, len(self.schema_))))
        return samples(self, n_samples, chunks, random_state, template)

    def _form_of_marginals(self) -> dict[str, Any]:
        """Return the form of lazy marginals: a DataFrame where those in memory are one."""
        names = self.marginal_names()
        if self.schema_.are_binary or self.schema_.library is None:
            return {"width": len(names)}
        return {"template": need_pandas().DataFrame(columns=names, dtype=np.float64)}

    @answers_by_partition(_form_of_marginals)
    def predict_marginals(self, X: Any) -> Any:
        """Return what the observed values of each row say of every variable.

        For a table of binary columns: P(variable is 1 | row), an array (rows, variables). For other tables the columns
        of the answer are those of `marginal_names()`: a binary variable has one, P(1 | row); a categorical or ordinal
        one has P(value | row) for each value; a real one has its mean given the row. The answer is a DataFrame, of the
        table's own library, if the model was fitted to one. For a Dask collection or a Parquet path it is a lazy Dask
        array or DataFrame.
        """
        rows = self._query_rows(X)
        table = self.circuit_.marginals(rows)
        if self.schema_.are_binary:
            return table[:, :, 1]
        means = self.circuit_.means(rows)
        parts = []
        for variable, domain in enumerate(self.schema_.domains):
            size = None if domain is None else domain.cardinality
            first = 1 if size == 2 else 0
            parts.append(means[:, [variable]] if size is None else table[:, variable, first:size])
        answer = np.hstack(parts)
        frame, names = Frame.of(X), self.marginal_names()
        library = self.schema_.library if frame is None or self.schema_.library is None else frame.library
        if library is None:
            return answer
        if library != PANDAS:
            return built(library, names, answer.T.tolist(), [None] * len(names))
        return need_pandas().DataFrame(answer, index=getattr(X, "index", None), columns=names)

    def marginal_names(self) -> list[str]:
        """Return the names of the columns of `predict_marginals`, such as "color=red"; X0, X1, … without names."""
        check_is_fitted(self)
        schema, names = self.schema_, []
        for variable, (name, domain) in enumerate(zip(schema.shown_names, schema.domains, strict=True)):
            size = None if domain is None else domain.cardinality
            names += [name] if size in (None, 2) else [f"{name}={schema.label(variable, v)}" for v in range(size or 0)]
        return names

    @answers_by_partition(lambda model: {"like_input": True})
    def impute(self, X: Any, method: Method = "marginal", random_state: RandomState = None) -> Any:
        """Return the table with its missing values filled in and nothing else changed; a DataFrame stays a DataFrame.

        Args:
            X: The table.
            method: "marginal" takes each cell's likeliest value given the row, and the mean for real variables; "mpe"
                the likeliest completion of the row as a whole; "sample" a random completion.
            random_state: The seed for "sample".

        For a Dask collection or a Parquet path the answer is a lazy Dask array or DataFrame. A file, or a `Table`, is
        given back as a DataFrame or an array, as `sample` gives rows.
        """
        rows = self._query_rows(X)
        filled = completed(self.circuit_, rows, method, random_state)
        if knows_its_names(X):
            return self._given_back(filled)
        return filled_in(X, self.schema_, np.isnan(rows), filled)
