"""Estimators as transformers: rows become responsibilities of the contexts that were found."""

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.errors import DataError
from xspn.data.frames import is_out_of_core
from xspn.estimators.base import DensityEstimator, answers_by_partition, in_memory
from xspn.inference.segments import Segments


class SegmentTransformer(TransformerMixin, DensityEstimator):  # type: ignore[misc]
    """A density estimator that also tells which context each row belongs to, and what these are."""

    def transform(self, X: Any) -> Any:
        """Return the probability of each segment given the row: (rows, segments). Rows sum to one.

        It is exact, and missing values are summed out. `segments` says what the columns mean, and
        `get_feature_names_out` what they are called; `set_output(transform="pandas")` gives a DataFrame. A model
        without contexts has one segment. For a Dask collection or a Parquet path the answer is a lazy Dask array.

        Examples:
            >>> from xspn import XSPN
            >>> rng = np.random.default_rng(0)
            >>> hot = rng.random((400, 1)) < 0.3
            >>> X = np.hstack([hot, rng.random((400, 5)) < np.where(hot, 0.9, 0.1)]).astype(int)
            >>> model = XSPN(random_state=0).fit(X)
            >>> model.get_feature_names_out().tolist()
            ['few X*', 'many X*']
            >>> model.transform([[1, 1, 1, np.nan, np.nan, np.nan]]).round(2).tolist()
            [[0.0, 1.0]]
        """
        return self._responsibilities(X)

    @answers_by_partition(lambda model: {"width": len(model.get_feature_names_out())})
    def _responsibilities(self, X: Any) -> FloatArray:
        rows = self._query_rows(X)
        return self.circuit_.responsibilities(rows)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the segments, which are the columns of `transform`.

        Args:
            input_features: The names of the table's columns, which are only compared with those that were seen.
        """
        check_is_fitted(self)
        try:
            _check_feature_names_in(self, input_features)
        except ValueError as error:
            raise DataError(str(error)) from error
        return np.array(self.segments().names, dtype=object)

    def segments(self, X: Any = None) -> Segments:
        """Return the contexts that were found: names, weights, what marks them, and their groups of columns.

        Args:
            X: A table whose rows are counted, each by its responsibilities; by default the training table.
        """
        check_is_fitted(self)
        rows = None if X is None else self._query_rows(in_memory(X, "X") if is_out_of_core(X) else X)
        return self.circuit_.segments(rows)
