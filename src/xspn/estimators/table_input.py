"""Tables that estimators are given: made a `Table` once, by scikit-learn's rules, and given back as they came."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import as_array, table, weights_of_rows
from xspn.core.errors import DataError
from xspn.data.frames import Frame
from xspn.data.out_of_core import is_collection, is_out_of_core, is_path
from xspn.data.schema import Schema, is_coded
from xspn.data.table import Bits, Table, binarized, refuse_unreadable
from xspn.learning.data import BinaryData
from xspn.learning.source import TrainingData
from xspn.learning.tables import TableData

Method = TypeVar("Method", bound=Callable[..., Any])
Form = Callable[[Any], dict[str, Any]]  # a fitted estimator → the form of a lazy answer: its width, type or template


def answers_by_partition(form: Form | None = None) -> Callable[[Method], Method]:
    """Make a method that takes a table answer for Dask collections and Parquet paths too, lazily, by partition.

    Dask is imported here and not before. `form` gives the further arguments of `xspn.distributed.lazy.answers`.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def answer(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_out_of_core(X):
                return method(self, X, *args, **kwargs)
            check_is_fitted(self)
            from xspn.distributed import lazy

            bound = signature(method).bind(self, X, *args, **kwargs)
            bound.apply_defaults()
            options = dict(list(bound.arguments.items())[2:])
            return lazy.answers(self, method.__name__, X, options, **({} if form is None else form(self)))

        return cast(Method, answer)

    return decorate


def in_memory(X: Any, what: str) -> Any:
    """Return a table that is out of core and small enough to be gathered as one in memory, any other as it is."""
    if not is_out_of_core(X):
        return X
    from xspn.distributed.gathering import gathered, is_small

    if getattr(X, "ndim", 2) == 2 and not is_small(X):
        raise DataError(f"{what}: too large to be gathered; take fewer rows")
    return gathered(X)


def training_data(own: Table, weights: FloatArray | None = None, merge_equal_rows: bool = True) -> TrainingData:
    """Return a table as the learner takes it: bits where all columns are binary."""
    if own.schema.are_binary:
        return BinaryData.of(own.bits(allow_missing=True), weights, merge_equal_rows)
    return TableData.of(np.asarray(own.codes, dtype=np.float64), own.domains, weights, merge_equal_rows)


class TableInput(BaseEstimator):  # type: ignore[misc]
    """Reads tables by the schema that was seen in `fit`. Without a parameter `domains`, all columns are binary."""

    binarize: float | None
    schema_: Schema

    def _training_table(self, X: Any) -> Table:
        """Read the training table and remember its schema."""
        own = Table.of(X, getattr(self, "domains", "binary"), self.binarize).learnable()
        if knows_its_names(X):
            self.n_features_in_ = len(own.schema)
            if own.schema.names is not None:
                self.feature_names_in_ = np.array(own.schema.names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        else:
            self._check_names(X, reset=True)
        self.schema_, self._template = own.schema, own.template
        return own

    def _training_bits(self, X: Any) -> Bits:
        """Read a training table that must be binary; missing values pass if the estimator's tags say so."""
        return self._training_table(X).bits(get_tags(self).input_tags.allow_nan)

    def _query_rows(self, X: Any) -> AnyArray:
        """Read a table that questions are asked about: codes, NaN where a value is missing."""
        check_is_fitted(self)
        return self._codes(X)

    def _codes(self, X: Any) -> AnyArray:
        refuse_unreadable(X)
        if knows_its_names(X):
            return binarized(self.schema_.encode(X), self.binarize)
        frame = Frame.of(X)
        rows: Any = X
        if frame is None:
            rows = as_array(X, "X")
            if rows.ndim != 2 or not any(self.schema_.labels):
                rows = table(rows, what="X")
        else:
            _ = frame.names  # refuses names that are no names
        self._check_names(X, reset=False)
        n_features = rows.shape[1] if frame is None else frame.shape[1]
        if n_features != self.n_features_in_:
            raise DataError(
                f"X has {n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return binarized(self.schema_.encode(rows, numbers_are_codes=False), self.binarize)

    def _check_names(self, X: Any, reset: bool) -> None:
        """Let scikit-learn remember and compare names and numbers of columns; the cells are checked by the schema."""
        try:
            validate_data(self, X, reset=reset, skip_check_array=True)
        except (ValueError, TypeError) as error:
            raise DataError(str(error)) from error

    def _row_weights(self, sample_weight: Any, n_rows: int) -> FloatArray | None:
        """Check the weights of the training rows."""
        if sample_weight is None:
            return None
        weights = weights_of_rows(sample_weight, n_rows)
        if not weights.any():
            raise DataError("sample_weight: expected some weight above 0, found that every weight is zero")
        return weights

    def _given_back(self, codes: FloatArray) -> Any:
        """Return rows of codes as the training table was: a DataFrame with its labels and types, or an array."""
        if self.schema_.library is None:
            return self.schema_.values(codes)
        return self.schema_.decode(codes, self._template)


def knows_its_names(X: Any) -> bool:
    """Whether a table is not one whose names scikit-learn knows: a file, a `Table`, a Dask collection."""
    return is_coded(X) or is_path(X) or is_collection(X)
