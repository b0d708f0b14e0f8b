"""What the density estimators have in common: input checks, scores, samples, imputation."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from xspn._core.arrays import AnyArray, FloatArray
from xspn._core.checks import table, weights_of_rows
from xspn._core.errors import DataError, ParameterError
from xspn._core.random import RandomState
from xspn.learning.binary import binary_table, column_names
from xspn.learning.data import Bits
from xspn.model import Circuit

ImputeMethod = Literal["marginal", "mpe", "sample"]
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
        except BaseException:
            attributes.clear()
            attributes.update(before)
            raise

    return undone_on_failure


def binarized(array: AnyArray, threshold: float | None) -> AnyArray:
    """Return 1 where a value is above the threshold, 0 elsewhere, NaN where missing; unchanged without threshold."""
    if threshold is None:
        return array
    if not isinstance(threshold, int | float | np.number) or isinstance(threshold, bool) or np.isnan(threshold):
        raise ParameterError(f"binarize: expected a number or None, found {threshold!r}")
    values = np.asarray(array, dtype=np.float64)
    if np.isinf(values).any():
        row, column = (int(i) for i in np.argwhere(np.isinf(values))[0])
        raise DataError(f"X: expected finite numbers, found an infinity (inf) at row {row}, column {column}")
    return np.where(np.isnan(values), np.nan, (values > threshold).astype(np.float64))


class BinaryInput(BaseEstimator):  # type: ignore[misc]
    """Checks tables of zeros and ones against what was seen in `fit`, and keeps their names."""

    binarize: float | None

    def _training_bits(self, X: Any) -> Bits:
        """Check and remember the training table; missing values pass if the estimator's tags say so."""
        array = self._numeric(X, reset=True)
        allow_missing = get_tags(self).input_tags.allow_nan
        return binary_table(binarized(array, self.binarize), column_names(X), allow_missing)

    def _query_rows(self, X: Any) -> AnyArray:
        """Check a table that questions are asked about; NaN is missing."""
        check_is_fitted(self)
        return binarized(self._numeric(X, reset=False), self.binarize)

    def _numeric(self, X: Any, reset: bool) -> AnyArray:
        if hasattr(X, "toarray"):
            raise DataError("X: sparse tables are not supported; pass X.toarray()")
        if getattr(getattr(X, "dtype", None), "kind", "") == "c":
            raise DataError("X: Complex data not supported; expected real numbers")
        array = table(X, what="X")
        # scikit-learn remembers and compares names and numbers of columns; the values are checked here, by cell.
        validate_data(self, X, reset=reset, skip_check_array=True)
        if not reset and array.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {array.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return array

    def _row_weights(self, sample_weight: Any, n_rows: int) -> FloatArray | None:
        """Check the weights of the training rows."""
        if sample_weight is None:
            return None
        weights = weights_of_rows(sample_weight, n_rows)
        if not weights.any():
            raise DataError("sample_weight: expected some weight above 0, found that every weight is zero")
        return weights


class DensityEstimator(DensityMixin, BinaryInput):  # type: ignore[misc]
    """An estimator whose result is a circuit, `circuit_`."""

    circuit_: Circuit

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of each row; missing values (NaN) are summed out."""
        rows = self._query_rows(X)
        return self.circuit_.log_likelihood(rows)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows."""
        scores = self.score_samples(X)
        if not len(scores):
            raise DataError("X: found 0 sample(s) while a minimum of 1 is required: the mean of nothing is undefined")
        return float(scores.mean())

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> FloatArray:
        """Return random rows."""
        check_is_fitted(self)
        return self.circuit_.sample(n_samples, random_state=random_state)

    def predict_marginals(self, X: Any) -> FloatArray:
        """Return P(variable is 1 | the observed values of the row) for every variable: (rows, variables)."""
        rows = self._query_rows(X)
        return self.circuit_.marginals(rows)

    def impute(self, X: Any, method: ImputeMethod = "marginal", random_state: RandomState = None) -> Any:
        """Return the table with its missing values filled in; a DataFrame comes back as a DataFrame.

        Args:
            X: The table.
            method: "marginal" takes each cell's likelier value given the row, "mpe" the likeliest completion of the row
                as a whole, "sample" a random completion.
            random_state: The seed for "sample".
        """
        rows = self._query_rows(X)
        match method:
            case "marginal":
                likelier = (self.circuit_.marginals(rows) > 0.5).astype(np.float64)
                filled = np.where(np.isnan(rows), likelier, rows)
            case "mpe":
                filled = self.circuit_.mpe(rows).values
            case "sample":
                filled = self.circuit_.sample(given=rows, random_state=random_state)
            case _:
                raise ParameterError(f"impute: expected method 'marginal', 'mpe' or 'sample', found {method!r}")
        if hasattr(X, "columns"):
            return type(X)(filled, index=X.index, columns=X.columns)
        return filled
