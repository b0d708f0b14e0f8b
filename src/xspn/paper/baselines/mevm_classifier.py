"""Classification by a mixture of exchangeable variable models whose indicator is the class."""

from xspn.core.random import RandomState
from xspn.estimators.circuit_classifier import CircuitClassifier
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
