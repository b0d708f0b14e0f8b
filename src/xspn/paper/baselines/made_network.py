"""The network of a masked autoencoder: masks, parameters, and what they say about rows. Plain NumPy."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.logspace import logsumexp_quiet

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
