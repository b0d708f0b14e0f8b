"""`MADE`: a masked autoencoder as a strong density estimator without tractable marginals."""

from typing import Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import cell_name, is_real_number
from xspn.core.errors import DataError, ParameterError, QueryError
from xspn.core.options import whole_number
from xspn.core.random import RandomState, generator
from xspn.estimators.base import all_or_nothing
from xspn.estimators.table_input import TableInput
from xspn.learning.binary import binary_table
from xspn.learning.data import Bits
from xspn.paper.baselines.made_network import Network, Orderings
from xspn.paper.baselines.made_training import TrainingOptions, train


class MADE(DensityMixin, TableInput):  # type: ignore[misc]
    """A masked autoencoder for distribution estimation (Germain et al., 2015), trained with PyTorch.

    The network predicts each variable from those before it, in several orders at once; a row's probability is the mean
    over the orders. It is a good density estimator, but answers no question about part of a row: missing values would
    have to be summed over all their completions, 2 to the power of their number. Such questions are refused.

    Training needs the extra `torch`; a trained model does not.

    Args:
        hidden_units: The number of units of the hidden layer.
        n_orderings: The number of orders.
        learning_rate: The step size of Adam.
        batch_size: Rows per step.
        l1: The penalty on absolute weights.
        averaging: The share of the past in the running average of the weights.
        max_epochs: The largest number of passes over the data.
        patience: Stop after so many passes without a better validation log-likelihood.
        validation_fraction: The share of rows that is held out to stop early, if `fit` is given no validation rows.
        device: Where PyTorch computes: "cpu", "cuda", …
        binarize: Values above this number count as 1, others as 0; None takes zeros and ones only.
        random_state: A seed.

    Attributes:
        network_: The trained network.
        valid_log_likelihoods_: The mean log-likelihood of the validation rows after each epoch.
        n_features_in_: The number of columns.
    """

    network_: Network

    def __init__(
        self,
        hidden_units: int = 500,
        n_orderings: int = 8,
        learning_rate: float = 3e-3,
        batch_size: int = 100,
        l1: float = 5e-5,
        averaging: float = 0.998,
        max_epochs: int = 1000,
        patience: int = 40,
        validation_fraction: float = 0.1,
        device: str = "cpu",
        binarize: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.hidden_units = hidden_units
        self.n_orderings = n_orderings
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.l1 = l1
        self.averaging = averaging
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.device = device
        self.binarize = binarize
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, *, X_valid: Any = None) -> Self:
        """Train the network.

        Args:
            X: A table of zeros and ones (array or DataFrame; bool, int or float).
            y: Ignored.
            X_valid: Rows that tell when to stop; by default a random share of X is held out.
        """
        for name in ("hidden_units", "n_orderings", "batch_size", "max_epochs", "patience"):
            whole_number(name, getattr(self, name), 1)
        options = TrainingOptions(
            self.learning_rate, self.batch_size, self.l1, self.averaging, self.max_epochs, self.patience, self.device
        )
        bits, rng = self._training_bits(X), generator(self.random_state)
        if X_valid is None:
            bits, valid = self._held_out(bits, rng)
        else:
            valid = binary_table(self._codes(X_valid), self.columns_.names)
        orderings = Orderings.random(self.n_orderings, bits.shape[1], self.hidden_units, rng)
        self.network_, self.valid_log_likelihoods_ = train(bits, valid, orderings, options, rng)
        return self

    def _held_out(self, bits: Bits, rng: np.random.Generator) -> tuple[Bits, Bits]:
        """Return the rows to train on and those to stop by."""
        share = self.validation_fraction
        if not is_real_number(share) or not 0 < share < 1:
            raise ParameterError(f"validation_fraction: expected a number between 0 and 1, found {share!r}")
        if len(bits) < 2:
            raise DataError("X: expected at least two rows, one of them to stop by, found n_samples = 1 (1 sample)")
        order = rng.permutation(len(bits))
        size = min(max(1, round(share * len(bits))), len(bits) - 1)
        return bits[order[size:]], bits[order[:size]]

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of each row; rows with missing values are refused."""
        rows = self._query_rows(X)
        _refuse_missing(rows)
        return self.network_.log_likelihood(binary_table(rows, self.columns_.names))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> FloatArray:
        """Return random rows."""
        check_is_fitted(self)
        whole_number("n_samples", n_samples, 0)
        return self.network_.sample(n_samples, generator(random_state))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")


def _refuse_missing(rows: AnyArray) -> None:
    if rows.dtype.kind == "f" and np.isnan(rows).any():
        place = tuple(int(i) for i in np.argwhere(np.isnan(rows))[0])
        raise QueryError(
            f"X: a value is missing (NaN) at {cell_name(place)}, and MADE has no tractable marginals: it would have to "
            "sum over all completions of the row; use XSPN or MEVM, or fill the value in"
        )
