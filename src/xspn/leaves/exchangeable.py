"""Partially exchangeable variables: one parameter for each value of a tractable statistic."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import comb, inf, log, prod
from typing import Any, Self

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.checks import probability_vector, real_numbers
from xspn.core.errors import EvidenceError, FormatError, ParameterError, QueryError
from xspn.core.logspace import log_binomials, logsumexp_quiet, safe_log
from xspn.core.random import Rng
from xspn.data.domain import Domain
from xspn.graph.nodes import Node, Scope, frozen
from xspn.leaves import posterior
from xspn.leaves.base import Leaf, Picture, Smoothing, WebForm, packed, pieces, register, sizes_of
from xspn.leaves.events import EXCLUDED, Mark, degree_of, distinct_rows, tally_of_ones
from xspn.leaves.expansion import in_sequence
from xspn.leaves.laws import law_of_counts, law_of_groups, law_of_values, total_correlation
from xspn.statistics import Count, Statistic, Total, statistic_from_params, statistics
from xspn.statistics.value_counts import compositions

MOST_COMBINATIONS = 100_000  # of counts in groups, in one leaf of the explorer's page


@register
class Exchangeable(Leaf):
    """Every assignment x with T(x) = t has probability w_t.

    Args:
        variables: The variables of the leaf.
        log_weights: log w_t for every value t of the statistic: the probability of EACH assignment, not of the class.
        statistic: T; the number of ones by default.

    Examples:
        >>> leaf = Exchangeable([0, 1], log_weights=np.log([0.2, 0.25, 0.3]))
        >>> np.exp(leaf.log_prob(np.array([[1.0, 0.0], [1.0, np.nan]]))).round(12).tolist()
        [0.25, 0.55]
        >>> Exchangeable.from_class_probabilities([0, 1], [0.2, 0.5, 0.3])  # P(T = t) instead
        Exchangeable over {0, 1} by Count()
    """

    __slots__ = ("log_weights", "statistic")
    family = "exchangeable"
    log_weights: FloatArray
    statistic: Statistic

    def __init__(
        self,
        variables: Iterable[int],
        log_weights: Sequence[float] | FloatArray,
        statistic: Statistic | None = None,
    ) -> None:
        self._set_variables(variables)
        self.statistic = _checked_statistic(statistic)
        n = len(self._variables)
        weights = real_numbers(log_weights, "Exchangeable log-weights")
        if weights.shape != (self.statistic.size(n),):
            raise ParameterError(
                f"Exchangeable: {n} variables with {self.statistic!r} need {self.statistic.size(n)} log-weights, "
                f"found shape {weights.shape}"
            )
        if np.isnan(weights).any() or (weights > 1e-9).any():
            at = int(np.argmax(np.isnan(weights) | (weights > 1e-9)))
            raise ParameterError(f"Exchangeable: expected log-weights of at most 0, found {weights[at]} for t = {at}")
        with np.errstate(over="ignore"):  # a mass of inf is refused below
            mass = float(np.exp(weights + self.statistic.log_class_size(n)).sum())
        if abs(mass - 1) > 1e-9:
            raise ParameterError(
                f"Exchangeable: the weights w_t times the class sizes |S_t| must sum to 1, found {mass:.12g}; "
                "w_t belongs to each single assignment (for those of whole classes: from_class_probabilities)"
            )
        self.log_weights = frozen(weights)
        self._seal()

    @classmethod
    def from_class_probabilities(
        cls,
        variables: Iterable[int],
        probabilities: Sequence[float] | FloatArray,
        statistic: Statistic | None = None,
    ) -> Self:
        """Build the leaf from P(T = t), the probabilities of whole classes."""
        own = tuple(variables)
        T = _checked_statistic(statistic)
        chances = probability_vector(probabilities, "Exchangeable class probabilities")
        size = T.size(len(own))
        if len(chances) != size:
            raise ParameterError(f"Exchangeable: expected {size} class probabilities, found {len(chances)}")
        return cls(own, safe_log(chances) - T.log_class_size(len(own)), T)

    @classmethod
    def from_class_counts(
        cls,
        variables: Iterable[int],
        counts: FloatArray,
        smoothing: float | Smoothing = 0.0,
        statistic: Statistic | None = None,
    ) -> Self:
        """Fit the leaf to how often each value t was seen: w_t = (c_t + pseudo-mass of class t) / (N + mass) / |S_t|.

        Examples:
            >>> Exchangeable.from_class_counts([0, 1], np.array([2.0, 5, 3])).class_probabilities.round(9).tolist()
            [0.2, 0.5, 0.3]
        """
        own, T, mass = tuple(variables), Count() if statistic is None else statistic, Smoothing.of(smoothing)
        if not counts.sum() + mass.mass > 0:
            raise ParameterError("Exchangeable: no counts and no smoothing; nothing to fit to")
        return cls(own, log_weights_of_counts(counts, len(own), mass, T), T)

    @classmethod
    def uniform(cls, variables: Iterable[int], statistic: Statistic | None = None) -> Self:
        """Return the leaf under which all assignments are equally likely: a start for fitting."""
        own = tuple(variables)
        T = _checked_statistic(statistic)
        return cls(own, np.full(T.size(len(own)), -len(own) * np.log(T.cardinality)), T)

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The statistic's cardinality, for each variable."""
        return (Domain.categorical(self.statistic.cardinality),) * len(self._variables)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: |T| − 1."""
        return len(self.log_weights) - 1

    @property
    def class_probabilities(self) -> FloatArray:
        """P(T = t) for every t."""
        return np.exp(self.log_weights + self.statistic.log_class_size(len(self._variables)))

    def _joint_with_t(self, x: FloatArray) -> tuple[FloatArray, Any]:
        """Return log P(e, T = t) for each distinct key among the rows, and which key each row has."""
        keys, which = self.statistic.distinct_keys(x)
        n = len(self._variables)
        rows = [self.statistic.completions_of_key(n, key) + self.log_weights for key in keys]
        return np.array(rows).reshape(len(keys), len(self.log_weights)), which

    def log_prob(self, x: FloatArray) -> FloatArray:
        """Return Σ_t w_t |S_{e,t}| in log space: one term for a whole row."""
        result = np.empty(len(x))
        partial = np.isnan(x).any(axis=1)
        result[~partial] = self.log_weights[self.statistic.of(x[~partial])]
        if partial.any():
            joint, which = self._joint_with_t(x[partial])
            result[partial] = logsumexp_quiet(joint, axis=1)[which]
        return result

    def mode(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Complete within the feasible class of largest weight: polynomial in |T| (Theorem 1)."""
        feasible = ~np.isneginf(self.statistic.log_completions(x))
        best = np.argmax(np.where(feasible, self.log_weights, -np.inf), axis=1)
        best = np.where(feasible[np.arange(len(x)), best], best, np.argmax(feasible, axis=1))
        return self.statistic.construct(x, best), self.log_weights[best]

    def sample(self, x: FloatArray, rng: Rng) -> FloatArray:
        """Draw t given the evidence, then a uniformly random member of S_{e,t}."""
        return self.statistic.construct(x, self.draw_classes(x, rng.random(len(x))), rng)

    def draw_classes(self, x: FloatArray, uniform: FloatArray) -> IntArray:
        """Return t of each row given what is observed of it, from uniformly distributed numbers."""
        joint, which = self._joint_with_t(x)
        total = logsumexp_quiet(joint, axis=1)
        if np.isneginf(total).any():
            raise EvidenceError(f"Exchangeable over {self.scope}: the evidence has probability zero")
        ends = np.cumsum(np.exp(joint - total[:, None]), axis=1)
        target = uniform * ends[which, -1]
        return np.asarray((ends[which] <= target[:, None]).sum(axis=1))

    def marginals(self, x: FloatArray) -> FloatArray:
        """Return P(X_i = v | e); variables that T treats alike share one evaluation."""
        k = self.statistic.cardinality
        table = np.zeros((len(x), len(self._variables), k))
        for group in self.statistic.symmetric_positions(len(self._variables)):
            missing = np.isnan(x[:, group])
            rows = np.flatnonzero(missing.any(axis=1))
            first = group[np.argmax(missing[rows], axis=1)]
            joint = np.empty((len(rows), k))
            filled = x[rows]
            for value in range(k):
                filled[np.arange(len(rows)), first] = value
                joint[:, value] = self.log_prob(filled)
            total = logsumexp_quiet(joint, axis=1)[:, None]
            shared = np.exp(joint - np.where(np.isneginf(total), 0.0, total))
            table[np.ix_(rows, group)] = np.where(missing[rows][:, :, None], shared[:, None, :], 0.0)
        observed = ~np.isnan(x)
        rows, columns = np.nonzero(observed & ~np.isneginf(self.log_prob(x))[:, None])
        table[rows, columns, x[rows, columns].astype(np.int64)] = 1.0
        return table

    def alternatives(self, x: FloatArray, best: bool = False) -> FloatArray:
        """Return log P with one value replaced; variables that T treats alike, with one value, share an evaluation."""
        n, k = len(self._variables), self.statistic.cardinality
        table = None if np.isnan(x).any() else self.statistic.replacements(n)
        if table is not None:  # of whole rows the class alone has a say, and all classes are known
            logs = np.append(self.log_weights, -np.inf)[table[self.statistic.of(x)]]
            return np.asarray(logs[np.arange(len(x))[:, None], x.astype(np.int64)])
        found = np.empty((len(x), n, k))
        values = np.where(np.isnan(x), k, x)
        for group in self.statistic.symmetric_positions(n):
            for here in range(k + 1):
                alike = values[:, group] == here
                rows = np.flatnonzero(alike.any(axis=1))
                filled, first = x[rows], group[np.argmax(alike[rows], axis=1)]
                joint = np.empty((len(rows), k))
                for value in range(k):
                    filled[np.arange(len(rows)), first] = value
                    joint[:, value] = self.mode(filled)[1] if best else self.log_prob(filled)
                row, place = np.nonzero(alike[rows])
                found[rows[row], group[place]] = joint[row]
        return found

    def marginalize(self, keep: Scope) -> Node | None:
        """Return the exchangeable leaf of the kept variables: a representative of each class has the class's weight."""
        kept = np.array([i for i, v in enumerate(self._variables) if v in keep], dtype=np.int64)
        if len(kept) == len(self._variables):
            return self
        if not len(kept):
            return None
        T = self.statistic.restrict(kept)
        rows = np.full((T.size(len(kept)), len(self._variables)), np.nan)
        rows[:, kept] = T.representatives(len(kept))
        return Exchangeable([self._variables[i] for i in kept], self.log_prob(rows), T)

    def _log_evidence(self, x: FloatArray) -> float:
        """Return the log-probability of the observed part of one row."""
        if type(self.statistic) is not Count:
            return float(self.log_prob(x[None, :])[0])
        missing, ones = int(np.isnan(x).sum()), int((x == 1).sum())
        terms = self.log_weights[ones : ones + missing + 1] + log_binomials(missing)
        return float(logsumexp_quiet(terms[None, :], axis=1)[0]) if missing else float(terms[0])

    def condition(self, x: FloatArray) -> tuple[Node | None, float]:
        """Return the exchangeable leaf of the missing variables: w_t for the completed representatives, rescaled.

        They are rescaled by their own sum, from the largest on, not by the evidence: of a logarithm of −1e9 too few
        digits are left for the weights to sum to 1.
        """
        log_evidence = self._log_evidence(x)
        rest = np.flatnonzero(np.isnan(x))
        if not len(rest) or np.isneginf(log_evidence):
            return None, log_evidence
        T = self.statistic.restrict(rest)
        if type(T) is Count:
            ones = int((x == 1).sum())
            weights = self.log_weights[ones : ones + len(rest) + 1]
        else:
            rows = np.tile(x, (T.size(len(rest)), 1))
            rows[:, rest] = T.representatives(len(rest))
            weights = self.log_prob(rows)
        weights = weights - weights.max()
        weights -= logsumexp_quiet((weights + T.log_class_size(len(rest)))[None, :], axis=1)
        return Exchangeable([self._variables[i] for i in rest], weights, T), log_evidence

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return E[x] and Cov(x), each computed once for variables that T treats alike."""
        n, k = len(self._variables), self.statistic.cardinality
        table = self.marginals(np.full((1, n), np.nan))[0]
        codes = np.arange(k, dtype=np.float64)
        mean = table @ codes
        covariance = np.diag(((codes - mean[:, None]) ** 2 * table).sum(axis=1))
        groups = self.statistic.symmetric_positions(n)
        u, v = (grid.ravel() for grid in np.meshgrid(codes, codes))
        for a, first in enumerate(groups):
            for b, other in enumerate(groups[: a + 1]):
                if a == b and len(first) == 1:
                    continue
                i, j = (first[0], first[1]) if a == b else (first[0], other[0])
                rows = np.full((k * k, n), np.nan)
                rows[:, i], rows[:, j] = u, v
                shared = float(np.exp(self.log_prob(rows)) @ ((u - mean[i]) * (v - mean[j])))
                off_diagonal = ~np.eye(n, dtype=bool)[np.ix_(first, other)]
                covariance[np.ix_(first, other)] = np.where(off_diagonal, shared, covariance[np.ix_(first, other)])
                covariance[np.ix_(other, first)] = covariance[np.ix_(first, other)].T
        return mean, covariance

    def expansion(self) -> Node:
        """Return a counting circuit: of a row's beginning only what the statistic makes of it matters."""
        return self if len(self._variables) == 1 else in_sequence(self, self.statistic.key)

    def supports(self) -> tuple[frozenset[int] | None, ...]:
        """Return the possible values, found once for variables that T treats alike."""
        n, k = len(self._variables), self.statistic.cardinality
        found: list[frozenset[int] | None] = [None] * n
        for group in self.statistic.symmetric_positions(n):
            rows = np.full((k, n), np.nan)
            rows[:, group[0]] = np.arange(k)
            possible = frozenset(np.flatnonzero(~np.isneginf(self.log_prob(rows))).tolist())
            for position in group:
                found[int(position)] = possible
        return tuple(found)

    def tally(self, x: FloatArray, marks: Sequence[Mark | None]) -> FloatArray:
        """Return the weights times how many completions have each value of T and each count."""
        n, T = len(self._variables), self.statistic
        if T.cardinality == 2 and len(self.log_weights) == n + 1 and len(T.symmetric_positions(n)) == 1:
            return tally_of_ones(self.log_weights[np.argsort(T.ones(n))], x, marks)
        return self._tally_by_keys(x, marks)

    def _tally_by_keys(self, x: FloatArray, marks: Sequence[Mark | None]) -> FloatArray:
        """Fill one marked variable after the other, and keep one row for each key: nothing else of it matters."""
        out = np.full((len(x), degree_of(marks) + 1), -np.inf)
        distinct, which = distinct_rows(x)
        for place, row in enumerate(distinct):
            rows, ways = row[None, :], np.zeros((1, 1))  # representatives, and log of ways by count: (keys, counts)
            for i, mark in enumerate(marks):
                if mark is None or not np.isnan(row[i]):
                    continue
                values = np.flatnonzero(np.asarray(mark) != EXCLUDED)
                filled = np.repeat(rows, len(values), axis=0)
                filled[:, i] = np.tile(values, len(rows))
                adds = np.asarray(mark)[values]
                more = np.full((len(rows), len(values), ways.shape[1] + int(adds.max(initial=0))), -np.inf)
                for k, add in enumerate(adds.tolist()):
                    more[:, k, add : add + ways.shape[1]] = ways
                _, first, key = np.unique(self.statistic.key(filled), axis=0, return_index=True, return_inverse=True)
                ways = np.full((len(first), more.shape[2]), -np.inf)
                np.logaddexp.at(ways, key.reshape(-1), more.reshape(len(filled), -1))
                rows = filled[first]
            if len(rows):
                total = logsumexp_quiet((self.statistic.log_completions(rows) + self.log_weights), axis=1)
                found = logsumexp_quiet(ways + total[:, None], axis=0)
                out[which == place, : len(found)] = found
        return out

    @property
    def title(self) -> str:
        """What text calls the leaf."""
        return "exchangeable"

    def term(self, names: str) -> str:
        """Return E(names)."""
        return f"E({names})"

    def law(self, names: Sequence[str], label: Callable[[int], str]) -> str:
        """Say how many are one, or how alike the values are."""
        groups = self.interchangeable()
        if len(groups) > 1:
            return law_of_groups(groups)
        if self.statistic.cardinality == 2:
            return law_of_counts(self.count_distribution())
        n = len(self._variables)
        marginal = self.marginals(np.full((1, n), np.nan))[0, 0]
        return law_of_values(self.log_prob, marginal, n, self.dependence(), label)

    def dependence(self) -> float:
        """Return the total correlation: all assignments of a class are equally likely."""
        marginals = self.marginals(np.full((1, len(self._variables)), np.nan))[0]
        return total_correlation(self.log_weights, self.class_probabilities, marginals)

    def interchangeable(self) -> list[IntArray]:
        """Return the positions that the statistic treats alike."""
        return self.statistic.symmetric_positions(len(self._variables))

    def picture(self) -> Picture:
        """Return P(number of ones), or how likely the values are for each group of variables that T treats alike."""
        n = len(self._variables)
        if self.statistic.cardinality == 2 and n > 1:
            return "bars", (tuple(map(float, self.count_distribution())),)
        marginals = self.marginals(np.full((1, n), np.nan))[0]
        return "frequencies", tuple(tuple(map(float, marginals[group[0]])) for group in self.interchangeable())

    def web_form(self) -> WebForm:
        """Return the weight for each combination of how often values occur in the groups that T treats alike.

        That is exact whatever the statistic is. A total of many variables has far fewer values than there are such
        combinations, and is evaluated as it is.
        """
        n, k = len(self._variables), self.statistic.cardinality
        groups = self.statistic.symmetric_positions(n)
        if type(self.statistic) is Count:
            return WebForm("count", self.log_weights)
        if type(self.statistic) is Total and k > 2:
            return WebForm("total", self.log_weights, (k,))
        size = prod(comb(len(group) + k - 1, k - 1) for group in groups)
        if size > MOST_COMBINATIONS:
            raise QueryError(
                f"explore: {type(self).__name__} over {self.scope} by {self.statistic!r} has {size} classes, more than "
                f"the {MOST_COMBINATIONS} that the page can hold; learn with a statistic of fewer, such as Total"
            )
        counted = [compositions(len(group), k) for group in groups]
        rows = np.empty((size, n))
        for places, group, own in zip(np.indices([len(c) for c in counted]), groups, counted, strict=True):
            ends = np.cumsum(own, axis=1)[places.ravel()]  # the first c₀ variables of the group are 0, and so on
            rows[:, group] = (np.arange(len(group))[None, :, None] >= ends[:, None, :]).sum(axis=2)
        weights = self.log_weights[self.statistic.of(rows)]
        if k == 2 and len(groups) == 1:
            return WebForm("count", weights[::-1])  # from all zeros on
        which = np.empty(n, dtype=np.int64)
        for place, group in enumerate(groups):
            which[group] = place
        return WebForm("classes", weights, (k, len(groups), *which.tolist()))

    def statistics(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the expected weight of each class."""
        size = len(self.log_weights)
        missing = np.isnan(x)
        whole = ~missing.any(axis=1)
        counts: FloatArray = np.zeros(size)
        np.add.at(counts, self.statistic.of(x[whole]), weights[whole])
        partial = ~whole & ~missing.all(axis=1)
        if partial.any():
            joint, which = self._joint_with_t(x[partial])
            total = logsumexp_quiet(joint, axis=1)[:, None]
            posterior = np.exp(joint - np.where(np.isneginf(total), 0.0, total))
            of_key = np.zeros(len(joint))
            np.add.at(of_key, which, weights[partial])
            counts += of_key @ posterior
        return counts

    def from_statistics(self, statistics: FloatArray, smoothing: float | Smoothing = 0.0) -> Self:
        """Return w_t = (c_t + pseudo-mass of class t) / (N + mass) / |S_t|."""
        if statistics.sum() + Smoothing.of(smoothing).mass == 0:
            return self
        return self.from_class_counts(self._variables, statistics, smoothing, self.statistic)

    def sensitivity(self, x: FloatArray) -> FloatArray:
        """Return what the row says of the probability of each class."""
        return posterior.of_classes(self._posterior_of_t(x), self.class_probabilities)

    def _posterior_of_t(self, x: FloatArray) -> FloatArray:
        """Return P(T = t | e) of each row: (rows, |T|)."""
        joint, which = self._joint_with_t(x)
        total = logsumexp_quiet(joint, axis=1)[:, None]
        return np.asarray(np.exp(joint - np.where(np.isneginf(total), 0.0, total))[which])

    def posterior_draw(self, rows: float, rng: np.random.Generator) -> Leaf:
        """Draw the probabilities of the classes from a Dirichlet distribution."""
        drawn = posterior.dirichlet(self.class_probabilities, rows, rng)
        return Exchangeable.from_class_probabilities(self._variables, drawn, self.statistic)

    # -- many leaves that count ones, as `xspn.leaves.count_block` lays them out --------------------------------------

    @property
    def counted(self) -> tuple[float, float]:
        """The two numbers that the weights follow from; NaN where each weight is a parameter of its own."""
        return np.nan, np.nan

    @classmethod
    def of_counted(cls, variables: tuple[int, ...], log_weights: FloatArray, counted: Sequence[float]) -> Self:
        """Return the leaf with these weights and numbers."""
        return cls(variables, log_weights)

    @classmethod
    def fit_counts(cls, counts: FloatArray, n: int, smoothing: Smoothing) -> tuple[FloatArray, FloatArray]:
        """Return log-weights and `counted` for how often each count of ones was seen: (leaves, n + 1), (leaves, 2)."""
        return log_weights_of_counts(counts, n, smoothing, Count()), np.full((len(counts), 2), np.nan)

    def to_params(self) -> dict[str, Any]:
        """Return the statistic and the log-weights."""
        return {"statistic": _statistic_params(self.statistic), "log_weights": self.log_weights.tolist()}

    @classmethod
    def from_params(cls, variables: tuple[int, ...], params: dict[str, Any]) -> Self:
        """Build the leaf."""
        return cls(variables, params["log_weights"], statistic_from_params(params["statistic"]))

    @classmethod
    def pack(cls, leaves: Sequence[Self]) -> dict[str, AnyArray]:
        """Return all log-weights one after the other, each statistic once, and which of them each leaf has."""
        texts = [json.dumps(_statistic_params(leaf.statistic), sort_keys=True) for leaf in leaves]
        place = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        return {
            "statistics": np.frombuffer(f"[{','.join(place)}]".encode(), dtype=np.uint8),
            "statistic": np.array([place[text] for text in texts], dtype=np.int64),
            "log_weights": np.concatenate([leaf.log_weights for leaf in leaves]),
        }

    @classmethod
    def unpack(cls, variables: Sequence[tuple[int, ...]], arrays: Mapping[str, AnyArray]) -> list[Self]:
        """Build the leaves; those of one statistic and one size are checked at once."""
        stored = json.loads(packed(arrays, "statistics", None, np.uint8).tobytes())
        which, n = packed(arrays, "statistic", len(variables), np.int64), sizes_of(variables)
        if not isinstance(stored, list) or not ((which >= 0) & (which < len(stored))).all():
            raise FormatError("'statistic': expected the places of statistics in a list")
        own = [statistic_from_params(params) for params in stored]
        groups, group = np.unique(np.stack([which, n], axis=1), axis=0, return_inverse=True)
        sizes = np.array([own[T].size(k) for T, k in groups.tolist()], dtype=np.int64)[group.ravel()]
        flat = packed(arrays, "log_weights", int(sizes.sum()))
        log_weights = pieces(flat, sizes)
        starts = np.cumsum(sizes) - sizes
        for place, (T, k) in enumerate(groups.tolist()):
            alike = np.flatnonzero(group.ravel() == place)
            rows = flat[starts[alike][:, None] + np.arange(own[T].size(k))]
            with np.errstate(over="ignore"):
                mass = np.exp(rows + own[T].log_class_size(k)).sum(axis=1)
            for i in alike[~((rows <= 1e-9).all(axis=1) & (abs(mass - 1) <= 1e-9))].tolist():
                cls(variables[i], log_weights[i], own[T])  # says what is wrong with it
        return cls._in_bulk(variables, statistic=map(own.__getitem__, which.tolist()), log_weights=log_weights)

    @classmethod
    def example(cls, rng: np.random.Generator, first_variable: int = 0) -> Self:
        """Return a leaf with any registered statistic and random weights, some of them zero."""
        T, n = statistics[str(rng.choice(list(statistics)))].example(rng)
        chances = rng.dirichlet(np.ones(T.size(n))) * (rng.random(T.size(n)) < 0.8)
        chances[int(rng.integers(T.size(n)))] += 0.1
        return cls.from_class_probabilities(range(first_variable, first_variable + n), chances / chances.sum(), T)

    def __repr__(self) -> str:
        return f"Exchangeable over {self.scope} by {self.statistic!r}"


def log_weights_of_counts(counts: FloatArray, n: int, smoothing: Smoothing, statistic: Statistic) -> FloatArray:
    """Return log w_t for how often each value t was seen, for one leaf over n variables or for many: (..., values)."""
    sizes = statistic.log_class_size(n)
    log_mass = log(smoothing.mass) if smoothing.mass > 0 else -inf
    if smoothing.spread == "assignments":
        pseudo: FloatArray | float = log_mass - n * log(statistic.cardinality)
    else:
        pseudo = log_mass - log(len(sizes)) - sizes
    total = counts.sum(axis=-1, keepdims=True) + smoothing.mass
    return np.asarray(np.logaddexp(safe_log(counts) - sizes, pseudo) - np.log(total))


def _statistic_params(statistic: Statistic) -> dict[str, Any]:
    return {"name": statistic.name, **statistic.to_params()}


def _checked_statistic(statistic: Any) -> Statistic:
    """Return the statistic, the number of ones if none is given."""
    if statistic is None:
        return Count()
    if not isinstance(statistic, Statistic):
        raise ParameterError(f"Exchangeable: expected a statistic such as Count(), found {statistic!r}")
    return statistic
