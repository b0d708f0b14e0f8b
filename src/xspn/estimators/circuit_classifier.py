"""Classification by one circuit per class: exact posteriors, whatever made the circuits."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from xspn._core.arrays import AnyArray, FloatArray
from xspn._core.errors import DataError
from xspn._core.logspace import logsumexp_quiet
from xspn._core.random import RandomState, child_seed, generator
from xspn.circuit.nodes import Node, Product, Sum
from xspn.estimators.base import BinaryInput, DensityEstimator, all_or_nothing
from xspn.learning.binary import cells_of
from xspn.leaves.categorical import Categorical
from xspn.model import Circuit


class CircuitClassifier(ClassifierMixin, BinaryInput):  # type: ignore[misc]
    """Classifies rows of zeros and ones by P(y | x) ∝ P(x | y) P(y), with a density estimator for each class."""

    random_state: RandomState
    circuit_: Circuit
    classes_: AnyArray

    @all_or_nothing
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn a circuit for each class; rows of weight 0, and classes of such rows only, count as absent."""
        bits = self._training_bits(X)
        labels = _labels(y, len(bits))
        weights = self._row_weights(sample_weight, len(bits))
        if weights is None:
            weights = np.ones(len(bits))
        counts = weights > 0
        bits, labels, weights = bits[counts], labels[counts], weights[counts]
        classes, which = np.unique(labels, return_inverse=True)
        seed = int(generator(self.random_state).integers(2**63 - 1))
        masses = np.bincount(which, weights=weights, minlength=len(classes))
        branches: list[Node] = []
        for index in range(len(classes)):
            own = which == index
            model = clone(self._density()).set_params(random_state=child_seed(seed, index))
            model.fit(cells_of(bits[own]), sample_weight=weights[own])
            label = np.eye(len(classes))[index]
            branches.append(Product([model.circuit_.root, Categorical(bits.shape[1], label)]))
        names = getattr(self, "feature_names_in_", None)
        circuit = Circuit(
            branches[0] if len(branches) == 1 else Sum(masses / masses.sum(), branches),
            None if names is None else [*names, _unused_name(list(names))],
            bits.shape[1] + 1,
        )
        self.classes_, self.circuit_ = classes, circuit
        return self

    @abstractmethod
    def _density(self) -> DensityEstimator:
        """Return the density estimator of one class, with a parameter `random_state`; its table is binary already."""

    def _joint(self, X: Any) -> FloatArray:
        """Return log P(x, y) for every class: (rows, classes)."""
        rows = np.asarray(self._query_rows(X), dtype=np.float64)
        logs = [
            self.circuit_.log_likelihood(np.column_stack([rows, np.full(len(rows), float(index))]))
            for index in range(len(self.classes_))
        ]
        return np.stack(logs, axis=1)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return log P(y | x) for every class; the classes' frequencies where a row is impossible under all."""
        joint = self._joint(X)
        impossible = np.isneginf(joint).all(axis=1)
        if impossible.any():
            nothing = np.full((1, self.n_features_in_), np.nan)
            joint[impossible] = self._joint(nothing)
        return np.asarray(joint - logsumexp_quiet(joint, axis=1)[:, None])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(y | x) for every class."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> AnyArray:
        """Return the likeliest class of each row."""
        likeliest = np.argmax(self.predict_log_proba(X), axis=1)
        return np.asarray(self.classes_[likeliest])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "circuit_")


def _labels(y: Any, n_rows: int) -> AnyArray:
    """Return one label for each row."""
    if y is None:
        raise DataError("requires y to be passed, but the target y is None")
    labels = np.asarray(column_or_1d(y, warn=True))
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    if len(labels) != n_rows:
        raise DataError(f"y: expected {n_rows} labels, one for each row of X, found {len(labels)}")
    return labels


def _unused_name(names: list[str]) -> str:
    """Return a name for the class column that no other column has."""
    name = "class"
    while name in names:
        name += "_"
    return name
