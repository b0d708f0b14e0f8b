"""Tables that estimators are given: checked by scikit-learn's rules, read by their columns, given back as they came."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import as_array, cell_name, table, weights_of_rows
from xspn.core.errors import DataError
from xspn.data.columns import Columns
from xspn.data.domain import Domain
from xspn.data.frames import as_frame, names_of
from xspn.data.reading import read_table
from xspn.distributed import is_out_of_core
from xspn.learning.binary import binarized, binary_table
from xspn.learning.data import Bits

LARGEST_NUMBER = 1e100  # squares, and sums of them, must be numbers too
LEAST_RANGE = 1e-100


class TableInput(BaseEstimator):  # type: ignore[misc]
    """Reads tables by the columns that were seen in `fit`. Without a parameter `domains`, all columns are binary."""

    binarize: float | None
    columns_: Columns

    def _training_table(self, X: Any) -> AnyArray:
        """Read and remember the training table; return its codes, bits where all columns are binary."""
        frame = _plain_table(X)
        if self.binarize is None:
            columns, cells = read_table(X if frame is None else frame, getattr(self, "domains", "binary"))
            _refuse_extremes(cells, columns)
        else:
            names = None if frame is None else names_of(frame)
            cells = binarized(table(X if frame is None else frame, names=names, what="X"), self.binarize)
            columns = Columns.of([Domain.binary()] * cells.shape[1], names)
        self._check_names(X, reset=True)
        self.columns_ = columns
        self._template = None if frame is None else frame.iloc[:0]
        return cells

    def _training_bits(self, X: Any) -> Bits:
        """Read a training table that must be binary; missing values pass if the estimator's tags say so."""
        cells = self._training_table(X)
        return binary_table(cells, self.columns_.names, get_tags(self).input_tags.allow_nan)

    def _elsewhere(self) -> Any:
        """Return what answers questions about tables that are not in memory; Dask is imported here and not before."""
        check_is_fitted(self)
        from xspn.distributed import lazy

        return lazy

    def _query_rows(self, X: Any) -> AnyArray:
        """Read a table that questions are asked about: codes, NaN where a value is missing."""
        check_is_fitted(self)
        return self._codes(X)

    def _codes(self, X: Any) -> AnyArray:
        frame = _plain_table(X)
        rows: Any = frame
        if frame is None:
            rows = as_array(X, "X")
            if rows.ndim != 2 or not any(self.columns_.labels):
                rows = table(rows, what="X")
        self._check_names(X, reset=False)
        if rows.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return binarized(self.columns_.table(rows, numbers_are_codes=False), self.binarize)

    def _check_names(self, X: Any, reset: bool) -> None:
        """Let scikit-learn remember and compare names and numbers of columns; the cells are checked elsewhere."""
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
        if self._template is None:
            return self.columns_.values(codes)
        return self.columns_.decode(codes, list(self._template.dtypes), names=self._template.columns)


def _refuse_extremes(cells: AnyArray, columns: Columns) -> None:
    """Refuse real numbers that cannot be learned from: their squares are no numbers, or vanish."""
    for j, domain in enumerate(columns.domains):
        if domain is None or domain.is_discrete:
            continue
        own = np.asarray(cells[:, j], dtype=np.float64)
        name = j if columns.names is None else repr(columns.names[j])
        large = np.abs(own) > LARGEST_NUMBER
        if large.any():
            row = int(np.argmax(large))
            raise DataError(
                f"X: expected numbers of at most {LARGEST_NUMBER:g}, found {own[row]:g} at "
                f"{cell_name((row, j), columns.names)}; divide column {name} by a constant"
            )
        seen = own[~np.isnan(own)]
        span = float(np.ptp(seen)) if len(seen) else 0.0
        if 0 < span < LEAST_RANGE:
            raise DataError(
                f"X: the numbers of column {name} lie within {span:.3g} of each other, and deviations below "
                f"{LEAST_RANGE:g} vanish when squared; multiply the column by a constant"
            )


def _plain_table(X: Any) -> Any | None:
    """Return a DataFrame as such and None for anything else, refusing what can be no table of ours."""
    if is_out_of_core(X):
        raise DataError(
            "X: a Dask table or a Parquet path is not taken here; pass a table in memory, as X.compute() gives"
        )
    if hasattr(X, "toarray"):
        raise DataError("X: sparse tables are not supported; pass X.toarray()")
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise DataError("X: Complex data not supported; expected real numbers")
    frame = as_frame(X)
    if frame is not None:
        names_of(frame)
    return frame
