"""`MEVM`: mixtures of exchangeable variable models."""

from typing import Any, Self

from xspn.circuit import Circuit
from xspn.core.random import RandomState, generator
from xspn.data.table import binary_table
from xspn.estimators.base import DensityEstimator, all_or_nothing
from xspn.graph.graph import Graph
from xspn.learning.data import BinaryData
from xspn.learning.em import learning_device
from xspn.learning.mevm import MEVMOptions, Structure, fit_mevm


class MEVM(DensityEstimator):
    """A mixture of products of exchangeable blocks, learned by EM: a shallow exchangeability-aware circuit.

    Each component partitions the variables into blocks of its own. The blocks are found anew, from the rows
    weighted by the components' responsibilities, whenever EM has settled.

    Args:
        n_components: The number of components; those that end up without any row are dropped. None finds as many as
            have most evidence, with blocks by evidence (`structure`, `n_init` and `level` are not used then).
        structure: How blocks are found: "evidence" takes the partition that makes the rows most probable when its
            parameters are integrated out; "welch" cuts the variables, sorted by mean, by Welch's t-test, as the
            inventors did.
        smoothing: The pseudo-mass at each value of a bit, and at all counts of a block together.
        n_init: The number of starts, of which the best one is kept.
        max_iter: The largest number of EM passes of a start.
        tol: Stop when the mean log-likelihood gains less, in nats per row.
        level: The level of Welch's test.
        binarize: Values above this number count as 1, others as 0; None takes zeros and ones only.
        random_state: A seed, for the same mixture every time.
        device: A device of torch for EM, such as "cuda"; None for the library's own kernels on the CPU, which also do
            the work, with a warning, where torch or the device is missing.

    Attributes:
        circuit_: The mixture, for every exact query.
        log_likelihoods_: The mean training log-likelihood, pass by pass, for each round of blocks.
        n_features_in_: The number of columns.
        feature_names_in_: Their names, if the table was a DataFrame.

    Examples:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> cluster = rng.random((500, 1)) < 0.5  # two clusters of rows, told apart by two groups of columns
        >>> p = np.where(cluster, [0.8, 0.8, 0.8, 0.1, 0.1], [0.1, 0.1, 0.1, 0.9, 0.9])
        >>> model = MEVM(n_components=2, random_state=0).fit(rng.random((500, 5)) < p)
        >>> model.predict_marginals([[1, 1, np.nan, np.nan, np.nan]]).round(1).tolist()
        [[1.0, 1.0, 0.8, 0.1, 0.1]]
    """

    circuit_: Circuit

    def __init__(
        self,
        n_components: int | None = 20,
        structure: Structure = "evidence",
        smoothing: float = 1.0,
        n_init: int = 4,
        max_iter: int = 100,
        tol: float = 1e-4,
        level: float = 0.1,
        binarize: float | None = None,
        random_state: RandomState = None,
        device: str | None = None,
    ) -> None:
        self.n_components = n_components
        self.structure = structure
        self.smoothing = smoothing
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.level = level
        self.binarize = binarize
        self.random_state = random_state
        self.device = device

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, *, X_valid: Any = None, sample_weight: Any = None) -> Self:
        """Learn the mixture.

        Args:
            X: A table of zeros and ones (array or DataFrame; bool, int, float, or text with two labels in a column).
            y: Ignored.
            X_valid: Validation rows, which choose when to stop and the best start.
            sample_weight: How often each row counts.
        """
        options = MEVMOptions(
            self.n_components,
            self.structure,
            self.smoothing,
            self.n_init,
            self.max_iter,
            self.tol,
            self.level,
            learning_device(self.device),
        )
        bits = self._training_bits(X)
        weights = self._row_weights(sample_weight, len(bits))
        valid = None if X_valid is None else BinaryData.of(binary_table(self._codes(X_valid), self.schema_.names))
        fit = fit_mevm(BinaryData.of(bits, weights), options, generator(self.random_state), valid)
        self.circuit_ = Circuit.of_schema(Graph(fit.root, bits.shape[1]), self.schema_).with_counts(bits, weights)
        self.log_likelihoods_ = fit.log_likelihoods
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "circuit_")
