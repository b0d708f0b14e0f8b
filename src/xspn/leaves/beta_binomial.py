"""Exchangeable bits with two parameters: the probability of a one, and the dispersion (how strongly bits agree)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, Self

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import number_between, probability_vector
from xspn.core.errors import ParameterError
from xspn.core.logspace import safe_log
from xspn.data.domain import Domain
from xspn.graph.nodes import Node, Scope
from xspn.leaves import posterior
from xspn.leaves.base import Leaf, Smoothing, packed, refuse_first, register, sizes_of
from xspn.leaves.exchangeable import Exchangeable
from xspn.statistics import Count, Statistic

LARGEST_DISPERSION = 1e9
FEWEST_ZEROS = 1e-4  # a mean nearer to 1 has lost, by being rounded, more than four digits of the chance of a zero


@register
class BetaBinomial(Exchangeable):
    """An exchangeable leaf over the number of ones whose weights follow from two parameters.

    The bits are what is drawn from an urn when every ball that is drawn goes back with `dispersion` more of its color:
    independent at 0, and the larger, the more alike. Where rows are few, two numbers are learned more reliably than one
    for each count. Any subset of the bits is a leaf of the same kind. So is what is left when some are known, unless
    the mean would be so near to 1 that rounding it changes the chance of a zero: then it is an `Exchangeable` leaf.

    Args:
        variables: The variables of the leaf.
        mean: The probability that a variable is one.
        dispersion: 1 / (a + b) of the beta distribution that mixes independent bits.

    Examples:
        >>> leaf = BetaBinomial([0, 1, 2], mean=0.4, dispersion=1.0)
        >>> leaf.marginals(np.array([[1.0, 1.0, np.nan]]))[0, 2].round(3).tolist()  # two came: the third will
        [0.2, 0.8]
        >>> leaf.n_parameters
        2
    """

    __slots__ = ("dispersion", "mean")
    family = "beta_binomial"
    only_domain = Domain.binary()
    mean: float
    dispersion: float

    def __init__(self, variables: Iterable[int], mean: float, dispersion: float) -> None:
        own = tuple(variables)
        number_between("BetaBinomial mean", mean, 0.0, 1.0)
        number_between("BetaBinomial dispersion", dispersion, 0.0, LARGEST_DISPERSION)
        self.mean, self.dispersion = float(mean), float(dispersion)
        super().__init__(own, log_weights_of(len(own), self.mean, self.dispersion))

    @classmethod
    def from_class_probabilities(
        cls,
        variables: Iterable[int],
        probabilities: Sequence[float] | FloatArray,
        statistic: Statistic | None = None,
    ) -> Self:
        """Build the leaf that is nearest to P(T = t): of the smallest divergence."""
        chances = probability_vector(probabilities, "BetaBinomial class probabilities")
        return cls.from_class_counts(variables, chances, statistic=statistic)

    @classmethod
    def from_class_counts(
        cls,
        variables: Iterable[int],
        counts: FloatArray,
        smoothing: float | Smoothing = 0.0,
        statistic: Statistic | None = None,
    ) -> Self:
        """Fit the leaf to how often each count t was seen, pseudo-rows included, by maximum likelihood.

        Examples:
            >>> BetaBinomial.from_class_counts(range(4), np.array([5.0, 0, 0, 0, 5])).mean
            0.5
        """
        own, mass = tuple(variables), Smoothing.of(smoothing)
        _only_counts(statistic)
        if len(counts) != len(own) + 1:
            raise ParameterError(f"BetaBinomial: expected {len(own) + 1} counts, found {len(counts)}")
        if not counts.sum() + mass.mass > 0:
            raise ParameterError("BetaBinomial: no counts and no smoothing; nothing to fit to")
        means, dispersions = parameters_of_counts(counts[None], len(own), mass)
        return cls(own, float(means[0]), float(dispersions[0]))

    @classmethod
    def from_moments(cls, variables: Iterable[int], mean: float, variance: float) -> Self:
        """Build the leaf whose number of ones has this mean and this variance, at once and nearly as good as fitting.

        Counts that vary less than those of independent bits give independent bits.

        Examples:
            >>> BetaBinomial.from_moments(range(4), 2.0, 3.0)  # independent bits would have a variance of 1
            BetaBinomial over {0, 1, 2, 3}: mean 0.5, dispersion 2
        """
        own = tuple(variables)
        n = len(own)
        number_between("BetaBinomial mean number of ones", mean, 0.0, n)
        number_between("BetaBinomial variance", variance, 0.0, np.inf)
        p = mean / n
        independent = n * p * (1.0 - p)
        if variance <= independent or n == 1:
            return cls(own, p, 0.0)
        correlation = (variance / independent - 1.0) / (n - 1) if independent > 0 else 1.0
        dispersion = correlation / (1.0 - correlation) if correlation < 1.0 else LARGEST_DISPERSION
        return cls(own, p, min(dispersion, LARGEST_DISPERSION))

    @classmethod
    def uniform(cls, variables: Iterable[int], statistic: Statistic | None = None) -> Self:
        """Return the leaf under which all assignments are equally likely: a start for fitting."""
        _only_counts(statistic)
        return cls(variables, 0.5, 0.0)

    @property
    def n_parameters(self) -> int:
        """Two; one for a single variable."""
        return min(len(self._variables), 2)

    def marginalize(self, keep: Scope) -> Node | None:
        """Return the leaf of the kept variables: the same urn, from which less is drawn."""
        kept = [v for v in self._variables if v in keep]
        if len(kept) == len(self._variables):
            return self
        return BetaBinomial(kept, self.mean, self.dispersion) if kept else None

    def condition(self, x: FloatArray) -> tuple[Node | None, float]:
        """Return the leaf of the missing variables: the urn after what is known was drawn from it."""
        log_evidence = self._log_evidence(x)
        rest = [self._variables[i] for i in np.flatnonzero(np.isnan(x))]
        if not rest or np.isneginf(log_evidence):
            return None, log_evidence
        seen, ones = len(x) - len(rest), float(np.nansum(x))
        if self.dispersion == 0.0:  # independent bits: nothing is learned
            return BetaBinomial(rest, self.mean, 0.0), log_evidence
        grown = 1.0 + seen * self.dispersion
        if 0.0 < (1.0 - self.mean) + (seen - ones) * self.dispersion < FEWEST_ZEROS * grown:
            log_weights = log_weights_of(len(rest), self.mean, self.dispersion, ones, seen - ones)
            return Exchangeable(rest, log_weights), log_evidence
        mean = min((self.mean + ones * self.dispersion) / grown, 1.0)
        return BetaBinomial(rest, mean, self.dispersion / grown), log_evidence

    def sensitivity(self, x: FloatArray) -> FloatArray:
        """Return what the row says of the mean's log-odds and of the dispersion's logarithm."""
        if not 0 < self.mean < 1:
            return np.zeros((len(x), 1))  # all bits alike for certain: at the edge nothing has a derivative
        n, mean, dispersion = len(self._variables), self.mean, self.dispersion
        draws = np.arange(n, dtype=np.float64)
        ones, zeros, alone = mean + draws * dispersion, (1 - mean) + draws * dispersion, mean * (1 - mean)
        derivatives = [_of_draws(alone / ones) - _of_draws(alone / zeros)[::-1]]
        if n > 1 and dispersion > 0:
            grown = draws * dispersion
            derivatives.append(_of_draws(grown / ones) + _of_draws(grown / zeros)[::-1] - (grown / (1 + grown)).sum())
        return posterior.of_derivatives(
            self._posterior_of_t(x), self.class_probabilities, np.stack(derivatives, axis=1)
        )

    def posterior_draw(self, rows: float, rng: np.random.Generator) -> Leaf:
        """Fit the leaf again to rows drawn from it."""
        return Leaf.posterior_draw(self, rows, rng)

    @property
    def counted(self) -> tuple[float, float]:
        """Mean and dispersion, which all weights follow from."""
        return self.mean, self.dispersion

    @classmethod
    def of_counted(cls, variables: tuple[int, ...], log_weights: FloatArray, counted: Sequence[float]) -> Self:
        """Return the leaf with this mean and dispersion."""
        return cls(variables, *counted)

    @classmethod
    def fit_counts(cls, counts: FloatArray, n: int, smoothing: Smoothing) -> tuple[FloatArray, FloatArray]:
        """Return log-weights, and means and dispersions."""
        means, dispersions = parameters_of_counts(counts, n, smoothing)
        return log_weights_of(n, means, dispersions), np.column_stack([means, dispersions])

    def to_params(self) -> dict[str, Any]:
        """Return both parameters."""
        return {"mean": self.mean, "dispersion": self.dispersion}

    @classmethod
    def from_params(cls, variables: tuple[int, ...], params: dict[str, Any]) -> Self:
        """Build the leaf."""
        return cls(variables, params["mean"], params["dispersion"])

    @classmethod
    def pack(cls, leaves: Sequence[Self]) -> dict[str, AnyArray]:
        """Return all means and all dispersions."""
        return {name: np.array([getattr(leaf, name) for leaf in leaves]) for name in ("mean", "dispersion")}

    @classmethod
    def unpack(cls, variables: Sequence[tuple[int, ...]], arrays: Mapping[str, AnyArray]) -> list[Self]:
        """Build the leaves; the weights of those of one size are computed at once."""
        mean, dispersion = (packed(arrays, name, len(variables)) for name in ("mean", "dispersion"))
        good = (mean >= 0) & (mean <= 1) & (dispersion >= 0) & (dispersion <= LARGEST_DISPERSION)
        refuse_first(~good, lambda i: cls(variables[i], float(mean[i]), float(dispersion[i])))
        log_weights: list[Any] = [None] * len(variables)
        sizes = sizes_of(variables)
        for n in np.unique(sizes).tolist():
            alike = np.flatnonzero(sizes == n)
            rows = log_weights_of(n, mean[alike], dispersion[alike])
            rows.flags.writeable = False
            for place, row in zip(alike.tolist(), rows, strict=True):
                log_weights[place] = row
        numbers = {"mean": mean.tolist(), "dispersion": dispersion.tolist()}
        return cls._in_bulk(variables, statistic=repeat(Count()), log_weights=log_weights, **numbers)

    @classmethod
    def example(cls, rng: np.random.Generator, first_variable: int = 0) -> Self:
        """Return a leaf over one to five variables, independent ones now and then."""
        n = int(rng.integers(1, 6))
        dispersion = rng.gamma(1.0) * float(rng.random() < 0.8)
        return cls(range(first_variable, first_variable + n), rng.random(), dispersion)

    def __repr__(self) -> str:
        return f"BetaBinomial over {self.scope}: mean {self.mean:.4g}, dispersion {self.dispersion:.4g}"


def parameters_of_counts(counts: FloatArray, n: int, smoothing: Smoothing) -> tuple[FloatArray, FloatArray]:
    """Return means and dispersions for how often each count t was seen: (leaves, n + 1), with mass in each of them."""
    from xspn.leaves.beta_binomial_fit import most_likely_of_each  # takes numba along

    means, dispersions = most_likely_of_each(np.ascontiguousarray(counts + smoothing.of_counts(n), dtype=np.float64))
    return np.minimum(means, 1.0), dispersions


def log_weights_of(
    n: int, mean: FloatArray | float, dispersion: FloatArray | float, ones: float = 0.0, zeros: float = 0.0
) -> FloatArray:
    """Return the log-probability of each assignment with t ones, t = 0..n, for one leaf or many: (..., n + 1).

    `ones` and `zeros` were drawn from the urn before. Logarithms are added up in extended precision: twenty thousand of
    them would lose the ninth digit of the sum.
    """
    middle, growth = np.asarray(mean)[..., None], np.asarray(dispersion)[..., None]
    draws = np.arange(n)
    nothing = np.zeros((*np.broadcast_shapes(middle.shape, growth.shape)[:-1], 1), dtype=np.longdouble)

    def added_up(terms: FloatArray) -> AnyArray:
        return np.concatenate([nothing, np.cumsum(terms, axis=-1, dtype=np.longdouble)], axis=-1)

    of_ones = added_up(safe_log(middle + (ones + draws) * growth))
    of_zeros = added_up(safe_log((1.0 - middle) + (zeros + draws) * growth))
    of_all = added_up(np.log1p((ones + zeros + draws) * growth))
    return np.asarray(of_ones + of_zeros[..., ::-1] - of_all[..., -1:], dtype=np.float64)


def _of_draws(terms: AnyArray) -> FloatArray:
    """Return the sums of the first t terms, t = 0..n."""
    return np.asarray(np.concatenate([[0.0], np.cumsum(terms)]), dtype=np.float64)


def _only_counts(statistic: Statistic | None) -> None:
    if statistic is not None and not isinstance(statistic, Count):
        raise ParameterError(f"BetaBinomial: expected the number of ones, Count(), found {statistic!r}")
