"""Classifiers to compare with: one exchangeable variable model for each class, and gradient boosted trees."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import whole_number
from xspn.core.errors import ParameterError
from xspn.core.random import RandomState, generator
from xspn.core.registry import import_extra
from xspn.estimators.classifier import CircuitClassifier
from xspn.estimators.mevm import MEVM
from xspn.learning.mevm import Structure


class MEVMClassifier(CircuitClassifier):
    """One product of exchangeable blocks for each class.

    Args:
        structure: How blocks are found: "evidence" or "welch", as in `MEVM`.
        smoothing: The pseudo-mass at each value of a bit, and at all counts of a block together.
        level: The level of Welch's test.
        binarize: Values above this number count as 1, others as 0; None takes zeros and ones only.
        random_state: A seed; with one component per class there is nothing random about the result.

    Attributes:
        classes_: The labels.
        circuit_: The whole classifier as one circuit: the columns of the table, then the class (as its index).
        n_features_in_: The number of columns.

    Examples:
        >>> import numpy as np
        >>> X = np.random.default_rng(0).integers(0, 2, size=(2000, 20))
        >>> y = X.sum(axis=1) % 2
        >>> MEVMClassifier().fit(X, y).score(X, y)
        1.0
    """

    def __init__(
        self,
        structure: Structure = "evidence",
        smoothing: float = 1.0,
        level: float = 0.1,
        binarize: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.structure = structure
        self.smoothing = smoothing
        self.level = level
        self.binarize = binarize
        self.random_state = random_state

    def _density(self) -> MEVM:
        """Return a model of one component."""
        return MEVM(1, self.structure, self.smoothing, level=self.level)


class XGBoost(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Gradient boosted trees with the defaults of XGBoost, which the extra `xgboost` brings.

    Args:
        n_rounds: The number of boosting rounds; 2 as in the paper.
        early_stopping: Stop after so many rounds that did not improve the validation rows; None boosts all rounds. With
            it, `n_rounds` should be large.
        random_state: A seed.

    Attributes:
        classes_: The labels.
        model_: The trained trees.
        n_features_in_: The number of columns.
    """

    classes_: AnyArray

    def __init__(self, n_rounds: int = 2, early_stopping: int | None = None, random_state: RandomState = None) -> None:
        self.n_rounds = n_rounds
        self.early_stopping = early_stopping
        self.random_state = random_state

    @classmethod
    def untied(cls, random_state: RandomState = None) -> Self:
        """Return the one that may boost as long as it helps: a fairer opponent than two rounds."""
        return cls(n_rounds=1000, early_stopping=20, random_state=random_state)

    def fit(self, X: Any, y: Any, *, X_valid: Any = None, y_valid: Any = None) -> Self:
        """Train the trees.

        Args:
            X: The rows.
            y: Their classes.
            X_valid: Rows that tell when to stop; needed with early stopping, ignored without.
            y_valid: Their classes.
        """
        xgboost = import_extra("xgboost", "xgboost", "XGBoost")
        whole_number("n_rounds", self.n_rounds, 1)
        rows, labels = validate_data(self, X, y, ensure_all_finite="allow-nan")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        model = xgboost.XGBClassifier(
            n_estimators=self.n_rounds,
            early_stopping_rounds=self.early_stopping,
            random_state=int(generator(self.random_state).integers(2**31 - 1)),
            n_jobs=1,
        )
        valid = None if self.early_stopping is None else [self._validation(X_valid, y_valid)]
        self.model_ = model.fit(rows, codes, eval_set=valid, verbose=False)
        return self

    def _validation(self, X_valid: Any, y_valid: Any) -> tuple[AnyArray, AnyArray]:
        if X_valid is None or y_valid is None:
            raise ParameterError("early_stopping: needs validation rows; pass X_valid and y_valid to fit")
        rows, labels = check_X_y(X_valid, y_valid, ensure_all_finite="allow-nan")
        known = np.isin(labels, self.classes_)
        return rows[known], np.searchsorted(self.classes_, labels[known])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(y | x) for every class."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, ensure_all_finite="allow-nan")
        return np.asarray(self.model_.predict_proba(rows), dtype=np.float64)

    def predict(self, X: Any) -> AnyArray:
        """Return the likeliest class of each row."""
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(chances, axis=1)])
