"""Classifiers: a circuit per class, exact posteriors. `XSPNClassifier` learns each as `XSPN` does."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from xspn.circuit import Circuit
from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.errors import DataError
from xspn.core.logspace import logsumexp_quiet
from xspn.core.random import RandomState, child_seed, generator
from xspn.data.domain import plain
from xspn.estimators.base import DensityEstimator, TableInput, all_or_nothing, answers_by_partition
from xspn.estimators.xspn import XSPN, LearnerParameters
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum
from xspn.inference.uncertainty import CredibleInterval, check_level, count_rows
from xspn.leaves.categorical import Categorical


class CircuitClassifier(ClassifierMixin, TableInput):  # type: ignore[misc]
    """Classifies rows by P(y | x) ∝ P(x | y) P(y), with a density estimator for each class."""

    random_state: RandomState
    circuit_: Circuit
    classes_: AnyArray

    @all_or_nothing
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn a circuit for each class; rows of weight 0, and classes of such rows only, count as absent."""
        own = self._training_table(X)
        labels = _labels(y, len(own))
        weights = self._row_weights(sample_weight, len(own))
        if weights is None:
            weights = np.ones(len(own))
        counts = weights > 0
        own, labels, weights = own.rows(counts), labels[counts], weights[counts]
        classes, which = np.unique(labels, return_inverse=True)
        seed = int(generator(self.random_state).integers(2**63 - 1))
        masses = np.bincount(which, weights=weights, minlength=len(classes))
        branches: list[Node] = []
        for index in range(len(classes)):
            of_class = which == index
            model = clone(self._density()).set_params(random_state=child_seed(seed, index))
            try:
                model.fit(own.rows(of_class), sample_weight=weights[of_class])
            except DataError as error:  # cells were checked with the whole table: there are too few of them
                raise DataError(f"class {classes[index]}: {error}") from error
            label = np.eye(len(classes))[index]
            branches.append(Product([model.circuit_.root, Categorical(len(own.schema), label)]))
        root = branches[0] if len(branches) == 1 else Sum(masses / masses.sum(), branches)
        schema = own.schema.with_class(_class_labels(classes), len(classes))
        circuit = Circuit.of_schema(Graph(root, len(schema)), schema)
        behind = count_rows(circuit.graph, circuit.program, np.column_stack([own.codes, which]), weights)
        self.classes_, self.circuit_ = classes, Circuit.of_schema(circuit.graph, schema, counts=behind)
        return self

    @abstractmethod
    def _density(self) -> DensityEstimator:
        """Return the density estimator of one class, with a parameter `random_state`; it takes a `Table`."""

    def _joint(self, X: Any) -> FloatArray:
        """Return log P(x, y) for every class: (rows, classes)."""
        rows = np.asarray(self._query_rows(X), dtype=np.float64)
        logs = [
            self.circuit_.log_likelihood(np.column_stack([rows, np.full(len(rows), float(index))]))
            for index in range(len(self.classes_))
        ]
        return np.stack(logs, axis=1)

    @answers_by_partition(lambda model: {"width": len(model.classes_)})
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return log P(y | x) for every class; the classes' frequencies where a row is impossible under all.

        For a Dask collection or a Parquet path this and the other predictions are lazy Dask arrays.
        """
        joint = self._joint(X)
        impossible = np.isneginf(joint).all(axis=1)
        if impossible.any():
            nothing = np.full((1, self.n_features_in_), np.nan)
            joint[impossible] = self._joint(nothing)
        return np.asarray(joint - logsumexp_quiet(joint, axis=1)[:, None])

    @answers_by_partition(lambda model: {"width": len(model.classes_)})
    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(y | x) for every class."""
        return np.exp(self.predict_log_proba(X))

    def predict_interval(self, X: Any, level: float = 0.9) -> CredibleInterval:
        """Return P(y | x) for every class with its credible interval: `estimate`, `low`, `high`: (rows, classes).

        Args:
            X: The rows.
            level: The probability with which an interval holds the truth.
        """
        chances = self.predict_proba(X)  # whose classes come last among the columns of the circuit
        rows, size = np.asarray(self._query_rows(X), dtype=np.float64), len(self.classes_)
        asked = np.column_stack([rows, np.full(len(rows), np.nan)])
        table = np.full((len(rows), asked.shape[1], size), np.nan)
        table[:, -1] = chances
        deviations = self.circuit_.delta_method().marginals(asked, table, [asked.shape[1] - 1])[:, -1]
        return CredibleInterval.of(chances, deviations, check_level(level))

    @answers_by_partition(lambda model: {"dtype": model.classes_.dtype})
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
    try:
        labels = np.asarray(column_or_1d(y, warn=True))
        if labels.dtype.kind == "f":
            assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        np.unique(labels)  # classes are sorted, which labels of different types do not allow
    except (ValueError, TypeError) as error:
        raise DataError(f"y: {error}") from error
    if len(labels) != n_rows:
        raise DataError(f"y: expected {n_rows} labels, one for each row of X, found {len(labels)}")
    return labels


def _class_labels(classes: AnyArray) -> list[Any] | None:
    """Return the classes as labels of the class column; None where they are 0, 1, … or no plain values."""
    own = [plain(label) for label in classes]
    if own == list(range(len(own))) or not all(isinstance(label, str | bool | int | float) for label in own):
        return None
    return own


class XSPNClassifier(CircuitClassifier, LearnerParameters):
    """Classify rows by P(y | x) ∝ P(x | y) P(y), with a circuit for each class.

    The parameters are those of `XSPN`, described at `LearnerParameters`. Missing values at prediction time are summed
    out exactly.

    Attributes:
        classes_: The labels.
        circuit_: The whole classifier as one circuit: the columns of the table, then the class.
        n_features_in_: The number of columns.

    Examples:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X = rng.integers(0, 2, size=(2000, 20))
        >>> y = np.where(X.sum(axis=1) % 2 == 0, "even", "odd")
        >>> XSPNClassifier(min_instances=200, random_state=0).fit(X, y).score(X, y)
        1.0
    """

    def _density(self) -> XSPN:
        """Return the density estimator of one class; its table is coded by the schema of the whole."""
        return XSPN(**{**self.get_params(), "binarize": None, "domains": None})
