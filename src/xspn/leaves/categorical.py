"""One variable with finitely many values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.checks import probability_vector, sums_of_parts
from xspn.core.logspace import safe_log
from xspn.core.random import NodeRandom, Rng
from xspn.data.domain import Domain
from xspn.graph.nodes import frozen
from xspn.leaves import posterior
from xspn.leaves.base import (
    Completed,
    Leaf,
    Picture,
    Smoothing,
    Together,
    Univariate,
    WebForm,
    packed,
    pieces,
    refuse_first,
    register,
)

MOST_VALUES = 5  # in a line of text


@register
class Categorical(Univariate):
    """P(X = v) = probabilities[v] for v = 0..k−1.

    Examples:
        >>> leaf = Categorical(2, [0.2, 0.3, 0.5])
        >>> np.exp(leaf.log_prob(np.array([[2.0], [np.nan]]))).round(12).tolist()
        [0.5, 1.0]
    """

    __slots__ = ("log_p", "probabilities")
    family = "categorical"
    probabilities: FloatArray
    log_p: FloatArray

    def __init__(self, variable: int, probabilities: Sequence[float] | FloatArray) -> None:
        self._set_variables(variable)
        self.probabilities = frozen(probability_vector(probabilities, "Categorical probabilities"))
        self.log_p = frozen(safe_log(self.probabilities))
        self._seal()

    @property
    def domains(self) -> tuple[Domain, ...]:
        """One domain of k values."""
        return (Domain.categorical(len(self.probabilities)),)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: k − 1, or none for an indicator of one value."""
        return 0 if (self.probabilities == 1).any() else len(self.probabilities) - 1

    def log_prob(self, x: FloatArray) -> FloatArray:
        """Return the value's log-probability, or 0 where it is missing."""
        missing = np.isnan(x[:, 0])
        return np.where(missing, 0.0, self.log_p[np.where(missing, 0, x[:, 0]).astype(np.int64)])

    @classmethod
    def together(cls, leaves: Sequence[Self]) -> Together:
        """Evaluate many leaves at once: look values up in one table of all probabilities."""
        columns = np.array([leaf.variables[0] for leaf in leaves], dtype=np.int64)
        sizes = np.array([len(leaf.log_p) for leaf in leaves], dtype=np.int64)
        table = np.concatenate([leaf.log_p for leaf in leaves])
        starts = np.cumsum(sizes) - sizes
        largest = np.maximum.reduceat(table, starts)[:, None]

        def log_prob(values: FloatArray, best: bool) -> FloatArray:
            own = values.T[columns]
            missing = np.isnan(own)
            known = table[starts[:, None] + np.where(missing, 0.0, own).astype(np.int64)]
            return np.where(missing, largest if best else 0.0, known)

        return log_prob

    def mode(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Fill with the likeliest value, the first of equals."""
        filled = np.where(np.isnan(x), float(np.argmax(self.log_p)), x)
        return filled, self.log_prob(filled)

    def sample(self, x: FloatArray, rng: Rng) -> FloatArray:
        """Fill by the probabilities."""
        ends = np.cumsum(self.probabilities)
        drawn = np.searchsorted(ends, rng.random(len(x)) * ends[-1], side="right")
        return np.where(np.isnan(x), drawn[:, None].astype(np.float64), x)

    def alternatives(self, x: FloatArray, best: bool = False) -> FloatArray:
        """Return all log-probabilities, whatever stands there."""
        return np.broadcast_to(self.log_p, (len(x), 1, len(self.log_p)))

    @classmethod
    def completed_together(cls, leaves: Sequence[Self]) -> Completed:
        """Complete by the cumulative probabilities of many leaves."""
        sizes = np.array([len(leaf.probabilities) for leaf in leaves], dtype=np.int64)
        starts = np.cumsum(sizes) - sizes
        ends = np.concatenate([np.cumsum(leaf.probabilities) for leaf in leaves])
        total, best = ends[starts + sizes - 1], np.array([float(np.argmax(leaf.log_p)) for leaf in leaves])

        def completed(values: FloatArray, which: IntArray, random: NodeRandom | None) -> FloatArray:
            if random is None:
                return np.where(np.isnan(values), best[which], values)
            target = random.random(len(which)) * total[which]
            drawn = np.zeros(len(which))
            open_, place = np.arange(len(which)), starts[which]
            while len(open_):  # value by value, with those rows for which it is not yet the one
                open_ = open_[ends[place[open_]] <= target[open_]]
                drawn[open_] += 1
                place[open_] += 1
            return np.where(np.isnan(values), drawn, values)

        return completed

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return the moments of the codes."""
        codes = np.arange(len(self.probabilities))
        mean = codes @ self.probabilities
        return np.array([mean]), np.array([[(codes - mean) ** 2 @ self.probabilities]])

    def supports(self) -> tuple[frozenset[int] | None, ...]:
        """Return the values whose probability is not 0."""
        return (frozenset(np.flatnonzero(self.probabilities > 0).tolist()),)

    def details(self, label: Callable[[int], str]) -> str:
        """Return the likeliest values and their probabilities."""
        likeliest = np.argsort(-self.probabilities, kind="stable")[:MOST_VALUES]
        chances = [f"{label(int(k))} {self.probabilities[k]:.2f}" for k in likeliest]
        return f"{', '.join(chances)}{', …' if len(self.probabilities) > MOST_VALUES else ''}"

    def picture(self) -> Picture:
        """Return the probabilities."""
        return "frequencies", (tuple(map(float, self.probabilities)),)

    def web_form(self) -> WebForm:
        """Return all log-probabilities."""
        return WebForm("table", self.log_p, (len(self.log_p),))

    def statistics(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weight of each value."""
        seen = ~np.isnan(x[:, 0])
        counts: FloatArray = np.zeros(len(self.probabilities))
        np.add.at(counts, x[seen, 0].astype(np.int64), weights[seen])
        return counts

    def from_statistics(self, statistics: FloatArray, smoothing: float | Smoothing = 0.0) -> Self:
        """Return (n_v + α) / (n + kα)."""
        counts = statistics + Smoothing.of(smoothing).mass
        if counts.sum() == 0:
            return self
        return type(self)(self._variables[0], counts / counts.sum())

    def sensitivity(self, x: FloatArray) -> FloatArray:
        """Return what the value says of each probability."""
        seen = x == np.arange(len(self.probabilities))
        return posterior.of_classes(np.where(np.isnan(x), self.probabilities, seen), self.probabilities)

    def posterior_draw(self, rows: float, rng: np.random.Generator) -> Leaf:
        """Draw the probabilities from a Dirichlet distribution."""
        if not self.n_parameters:
            return self
        return type(self)(self._variables[0], posterior.dirichlet(self.probabilities, rows, rng))

    def to_params(self) -> dict[str, Any]:
        """Return the probabilities."""
        return {"probabilities": self.probabilities.tolist()}

    @classmethod
    def from_params(cls, variables: tuple[int, ...], params: dict[str, Any]) -> Self:
        """Build the leaf."""
        return cls(cls._only(variables), params["probabilities"])

    @classmethod
    def pack(cls, leaves: Sequence[Self]) -> dict[str, AnyArray]:
        """Return all probabilities one after the other, and how many each leaf has."""
        sizes = np.array([len(leaf.probabilities) for leaf in leaves], dtype=np.int64)
        return {"sizes": sizes, "probabilities": np.concatenate([leaf.probabilities for leaf in leaves])}

    @classmethod
    def unpack(cls, variables: Sequence[tuple[int, ...]], arrays: Mapping[str, AnyArray]) -> list[Self]:
        """Build the leaves."""
        sizes, p = packed(arrays, "sizes", len(variables), np.int64), packed(arrays, "probabilities", None)
        bad = abs(sums_of_parts(p, sizes, "Categorical probabilities") - 1) > 1e-9
        parts, logs = pieces(p, sizes), pieces(frozen(safe_log(p)), sizes)
        refuse_first(bad, lambda i: cls(variables[i][0], parts[i]))
        return cls._in_bulk(variables, probabilities=parts, log_p=logs)

    @classmethod
    def example(cls, rng: np.random.Generator, first_variable: int = 0) -> Self:
        """Return a random distribution over two to four values, sometimes with an impossible one."""
        weights = rng.random(int(rng.integers(2, 5)))
        weights[0] *= rng.integers(0, 2)
        return cls(first_variable, weights / weights.sum())

    def __repr__(self) -> str:
        shown = ", ".join(f"{p:.4g}" for p in self.probabilities[:6])
        return f"Categorical({self._variables[0]}, [{shown}{', …' if len(self.probabilities) > 6 else ''}])"
