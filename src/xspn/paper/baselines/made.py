"""`MADE`: a masked autoencoder as a strong density estimator without tractable marginals."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.checks import cell_name, is_real_number, whole_number
from xspn.core.errors import DataError, ParameterError, QueryError
from xspn.core.logspace import logsumexp_quiet
from xspn.core.random import RandomState, generator
from xspn.core.registry import import_extra
from xspn.data.table import binary_table
from xspn.estimators.base import TableInput, all_or_nothing
from xspn.learning.data import Bits
from xspn.learning.em import Course

ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Orderings:
    """Several orders of the variables, and how far along each order every hidden unit may see.

    Attributes:
        places: The place of each variable in each order: (orders, variables).
        horizons: The last place that each hidden unit sees: (orders, units).
    """

    places: IntArray
    horizons: IntArray

    @classmethod
    def random(cls, n_orders: int, n_variables: int, n_units: int, rng: np.random.Generator) -> "Orderings":
        """Draw orders and horizons.

        Examples:
            >>> orderings = Orderings.random(8, 3, 500, np.random.default_rng(0))
            >>> orderings.places.shape, orderings.horizons.shape
            ((8, 3), (8, 500))
        """
        places = np.array([rng.permutation(n_variables) for _ in range(n_orders)])
        # A unit that saw the last variable could tell nobody: nothing comes after it.
        return cls(places, rng.integers(0, max(n_variables - 1, 1), size=(n_orders, n_units)))

    def __len__(self) -> int:
        return len(self.places)

    def masks(self) -> Iterator[tuple[BoolArray, BoolArray]]:
        """Yield for each order which inputs a unit sees, (units, variables), and which units an output sees."""
        for place, horizon in zip(self.places, self.horizons, strict=True):
            yield place[None, :] <= horizon[:, None], horizon[None, :] < place[:, None]


@dataclass(frozen=True, eq=False)
class Network:
    """One hidden layer of rectified units, shared by all orders.

    Attributes:
        inward: Weights from inputs to units: (units, variables).
        known: Weights that tell a unit which inputs it sees, whatever their values: (units, variables).
        outward: Weights from units to outputs: (variables, units).
        unit_bias: (units,).
        output_bias: (variables,).
        orderings: The orders of the variables.
    """

    inward: FloatArray
    known: FloatArray
    outward: FloatArray
    unit_bias: FloatArray
    output_bias: FloatArray
    orderings: Orderings

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return len(self.output_bias)

    def log_likelihood(self, X: AnyArray) -> FloatArray:
        """Return log P of whole rows under the uniform mixture of all orders."""
        result = np.empty(len(X))
        for start in range(0, len(X), ROWS_AT_ONCE):
            x = np.asarray(X[start : start + ROWS_AT_ONCE], dtype=np.float64)
            signs = 1 - 2 * x
            logs = [-np.logaddexp(0.0, signs * layer.logits(x)).sum(axis=1) for layer in self._ordered()]
            result[start : start + len(x)] = logsumexp_quiet(np.array(logs), axis=0) - np.log(len(logs))
        return result

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw rows: an order for each, then its variables one after the other."""
        rows = np.zeros((n, self.n_variables))
        chosen = rng.integers(len(self.orderings), size=n)
        for index, layer in enumerate(self._ordered()):
            own = np.flatnonzero(chosen == index)
            if not len(own):
                continue
            for variable in np.argsort(self.orderings.places[index]):
                chance = 1 / (1 + np.exp(-layer.logits(rows[own])[:, variable]))
                rows[own, variable] = rng.random(len(own)) < chance
        return rows

    def _ordered(self) -> "Iterator[_Layer]":
        for sees, heard in self.orderings.masks():
            bias = self.unit_bias + (self.known * sees).sum(axis=1)
            yield _Layer((self.inward * sees).T, bias, (self.outward * heard).T, self.output_bias)


@dataclass(frozen=True, eq=False)
class _Layer:
    """The network with the masks of one order applied."""

    inward: FloatArray
    unit_bias: FloatArray
    outward: FloatArray
    output_bias: FloatArray

    def logits(self, x: FloatArray) -> FloatArray:
        """Return the log-odds of every variable given those before it."""
        units = np.maximum(x @ self.inward + self.unit_bias, 0.0)
        return np.asarray(units @ self.outward + self.output_bias)


@dataclass(frozen=True)
class TrainingOptions:
    """How the network is trained.

    Attributes:
        learning_rate: The step size of Adam.
        batch_size: Rows per step; each step takes the next order.
        l1: The penalty on absolute weights, which keeps few inputs per unit.
        averaging: The fraction of the past in the running average of the weights; the average is what is kept.
        max_epochs: The largest number of passes over the data.
        patience: Stop after so many passes without a better validation log-likelihood.
        device: Where PyTorch computes.
    """

    learning_rate: float
    batch_size: int
    l1: float
    averaging: float
    max_epochs: int
    patience: int
    device: str


def train(
    X: AnyArray, X_valid: AnyArray, orderings: Orderings, options: TrainingOptions, rng: np.random.Generator
) -> tuple[Network, tuple[float, ...]]:
    """Return the network that is best for the validation rows, and their mean log-likelihood after each epoch."""
    torch = import_extra("torch", "torch", "MADE")
    trainer = _Trainer(torch, X, orderings, options, rng)
    course: Course[Network] = Course(options.patience, tolerance=0.0)
    for _ in range(options.max_epochs):
        loss = trainer.epoch()
        network = trainer.averaged()
        if course.ends_with(network, -loss, float(network.log_likelihood(X_valid).mean())):
            break
    return course.chosen, tuple(course.valid_log_likelihoods)


class _Trainer:
    def __init__(
        self, torch: Any, X: AnyArray, orderings: Orderings, options: TrainingOptions, rng: np.random.Generator
    ) -> None:
        self.torch, self.orderings, self.options, self.rng = torch, orderings, options, rng
        self.X = self._tensor(X)
        self.masks = [(self._tensor(sees), self._tensor(heard)) for sees, heard in orderings.masks()]
        n, units = X.shape[1], orderings.horizons.shape[1]
        p = (X.sum(axis=0, dtype=np.float64) + 0.5) / (len(X) + 1)
        start = (
            rng.normal(size=(units, n)) / np.sqrt(n),
            np.zeros((units, n)),
            rng.normal(size=(n, units)) / np.sqrt(4 * units),
            np.zeros(units),
            np.log(p / (1 - p)),  # without any hidden unit, each variable has its own frequency
        )
        self.parameters = [self._tensor(values).requires_grad_() for values in start]
        self.average = [values.detach().clone() for values in self.parameters]
        self.optimizer = torch.optim.Adam(self.parameters, lr=options.learning_rate)
        self.steps = 0

    def _tensor(self, values: AnyArray) -> Any:
        return self.torch.tensor(np.asarray(values), dtype=self.torch.float32, device=self.options.device)

    def _batches(self) -> Iterator[Any]:
        order = self.rng.permutation(len(self.X))
        for first in range(0, len(order), self.options.batch_size):
            yield self.X[order[first : first + self.options.batch_size]]

    def epoch(self) -> float:
        """Pass over the data once; return the mean loss of a row."""
        total = 0.0
        for batch in self._batches():
            sees, heard = self.masks[self.steps % len(self.masks)]
            self.steps += 1
            loss = self._loss(batch, sees, heard)
            inward, _, outward, *_ = self.parameters
            penalty = self.options.l1 * (inward.abs().sum() + outward.abs().sum())
            self.optimizer.zero_grad()
            (loss + penalty).backward()
            self.optimizer.step()
            total += float(loss.detach()) * len(batch)
            self._follow()
        return total / len(self.X)

    def _loss(self, x: Any, sees: Any, heard: Any) -> Any:
        """Return minus the mean log-likelihood under one order."""
        inward, known, outward, unit_bias, output_bias = self.parameters
        units = self.torch.relu(x @ (inward * sees).T + unit_bias + (known * sees).sum(dim=1))
        logits = units @ (outward * heard).T + output_bias
        entropy = self.torch.nn.functional.binary_cross_entropy_with_logits
        return entropy(logits, x, reduction="sum") / len(x)

    def _follow(self) -> None:
        """Move the running average; at first it forgets faster, so that the random start does not linger."""
        fraction = min(self.options.averaging, self.steps / (self.steps + 10))
        with self.torch.no_grad():
            for mean, values in zip(self.average, self.parameters, strict=True):
                mean.lerp_(values, 1 - fraction)

    def averaged(self) -> Network:
        """Return the network with averaged weights."""
        inward, known, outward, unit_bias, output_bias = (
            np.asarray(mean.cpu().numpy(), dtype=np.float64) for mean in self.average
        )
        return Network(inward, known, outward, unit_bias, output_bias, self.orderings)


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
        averaging: The fraction of the past in the running average of the weights.
        max_epochs: The largest number of passes over the data.
        patience: Stop after so many passes without a better validation log-likelihood.
        validation_fraction: The fraction of rows that is held out to stop early, if `fit` is given no validation rows.
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
            X_valid: Rows that tell when to stop; by default a random fraction of X.
        """
        for name in ("hidden_units", "n_orderings", "batch_size", "max_epochs", "patience"):
            whole_number(name, getattr(self, name), 1)
        options = TrainingOptions(
            self.learning_rate, self.batch_size, self.l1, self.averaging, self.max_epochs, self.patience, self.device
        )
        bits, rng = self._training_bits(X), generator(self.random_state)
        if X_valid is None:
            bits, valid = self._validation_split(bits, rng)
        else:
            valid = binary_table(self._codes(X_valid), self.schema_.names)
        orderings = Orderings.random(self.n_orderings, bits.shape[1], self.hidden_units, rng)
        self.network_, self.valid_log_likelihoods_ = train(bits, valid, orderings, options, rng)
        return self

    def _validation_split(self, bits: Bits, rng: np.random.Generator) -> tuple[Bits, Bits]:
        """Return the rows to train on and those to stop by."""
        fraction = self.validation_fraction
        if not is_real_number(fraction) or not 0 < fraction < 1:
            raise ParameterError(f"validation_fraction: expected a number between 0 and 1, found {fraction!r}")
        if len(bits) < 2:
            raise DataError(
                "X: expected at least two rows, one of them for early stopping, found n_samples = 1 (1 sample)"
            )
        order = rng.permutation(len(bits))
        size = min(max(1, round(fraction * len(bits))), len(bits) - 1)
        return bits[order[size:]], bits[order[:size]]

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of each row; rows with missing values are refused."""
        rows = self._query_rows(X)
        _refuse_missing(rows)
        return self.network_.log_likelihood(binary_table(rows, self.schema_.names))

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
