"""What estimators around a density estimator share: it is cloned and fitted, and reads tables for them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from xspn.circuit import Circuit
from xspn.core.arrays import AnyArray
from xspn.core.errors import DataError, ParameterError
from xspn.core.random import RandomState
from xspn.data.frames import is_out_of_core
from xspn.data.table import Table
from xspn.estimators.base import DensityEstimator
from xspn.estimators.normal_mixture import NormalMixture, is_mostly_numbers
from xspn.estimators.xspn import XSPN


class AroundDensity(BaseEstimator):  # type: ignore[misc]
    """An estimator that answers by a density estimator of its own, `estimator_`.

    The table is read by that estimator: what it says of types of columns (`domains`), unknown values
    (`handle_unknown`) and columns in another order (`match_columns`) holds here, too.
    """

    estimator: DensityEstimator | None
    random_state: RandomState
    estimator_: DensityEstimator
    _defaults: Mapping[str, Any] = MappingProxyType({})  # settings of an `XSPN` if none is given

    def _unfitted(self, X: Any) -> DensityEstimator:
        """Return the density estimator to fit to a table.

        By default a `NormalMixture` where at least half of the columns are numbers, and an `XSPN` elsewhere: what many
        discrete columns have to do with each other is not told by contexts alone.
        """
        if self.estimator is None:
            if not is_out_of_core(X) and is_mostly_numbers(Table.of(X)):
                return NormalMixture(random_state=self.random_state)
            return XSPN(**self._defaults, random_state=self.random_state)
        if not isinstance(self.estimator, DensityEstimator):
            found = self.estimator.__name__ if isinstance(self.estimator, type) else type(self.estimator).__name__
            hint = "; pass an instance, not the class" if isinstance(self.estimator, type) else ""
            raise ParameterError(f"estimator: expected None, an XSPN, a NormalMixture or a MEVM, found {found}{hint}")
        return clone(self.estimator)  # type: ignore[no-any-return]

    def _adopt(self, fitted: DensityEstimator) -> None:
        """Take a fitted density estimator for one's own, and what it knows of the columns."""
        self.estimator_, self.n_features_in_ = fitted, fitted.n_features_in_
        if hasattr(fitted, "feature_names_in_"):
            self.feature_names_in_ = fitted.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    @property
    def circuit_(self) -> Circuit:
        """The circuit, for every exact query."""
        check_is_fitted(self)
        return self.estimator_.circuit_

    def _query_rows(self, X: Any) -> AnyArray:
        """Read a table that questions are asked about: codes, NaN where a value is missing."""
        check_is_fitted(self)
        try:
            return self.estimator_._query_rows(X)
        except DataError as error:  # the user knows this estimator, not the one inside
            own, inner = type(self).__name__, type(self.estimator_).__name__
            raise DataError(str(error).replace(f"but {inner} is", f"but {own} is")) from error

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
