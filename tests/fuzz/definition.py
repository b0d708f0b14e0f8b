"""What a circuit means, computed from its parameters by the textbook: slow, obvious, and without the engine.

Discrete variables are enumerated; real ones are integrated out leaf by leaf (`fuzz.reals`). Everything is in log space,
so nothing underflows. Densities of real variables, of which the logarithm may be -1e14, are set apart as exact
fractions, so that what is added to them, and differences between them, keep their digits; the rest is in long doubles
where the machine has them.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, wraps
from itertools import product

import numpy as np

from fuzz.reals import cumulative, interval_log, is_real, real_log, real_moments
from xspn import (
    Bernoulli,
    BetaBinomial,
    Categorical,
    ChowLiu,
    Exchangeable,
    Sum,
)
from xspn.leaves import Leaf
from xspn.statistics import Count, Total

MOST_COMPONENTS = 400


def log(values):
    with np.errstate(divide="ignore"):
        return np.log(values)


def log_sum(values):
    """log Σ exp, −inf for nothing."""
    values = np.asarray(values, dtype=np.longdouble)
    largest = values.max(initial=-np.inf)
    return -np.inf if np.isneginf(largest) else largest + np.log(np.exp(values - largest).sum())


# -- leaves ------------------------------------------------------------------------------------------------------------


def leaf_log(leaf, x):
    """The log-probability of rows that are whole but for real variables: (rows,)."""
    if is_real(leaf):
        return np.array([real_log(leaf, row) for row in x])
    x = np.asarray(x)
    codes = x.astype(int)
    if isinstance(leaf, Bernoulli):
        return np.where(codes[:, 0] == 1, log(leaf.p), log(1 - leaf.p))
    if isinstance(leaf, Categorical):
        return log(np.asarray(leaf.probabilities))[codes[:, 0]]
    if isinstance(leaf, ChowLiu):
        total = np.zeros(len(x))
        for i, parent in enumerate(leaf.parents):
            p = leaf.p[i][codes[:, parent]] if parent >= 0 else np.full(len(x), leaf.p[i][0])
            total += np.where(codes[:, i] == 1, log(p), log(1 - p))
        return total
    if isinstance(leaf, BetaBinomial):
        return np.array([urn_log(leaf.mean, leaf.dispersion, row) for row in codes])
    if isinstance(leaf, Exchangeable):
        counts = isinstance(leaf.statistic, Count | Total)
        return np.asarray(leaf.log_weights)[codes.sum(axis=1) if counts else leaf.statistic.of(x)]
    return leaf.log_prob(x)  # a family that is newer than this file


def urn_log(mean, dispersion, bits):
    """Draw the bits one after the other from an urn that every ball goes back to with more of its kind."""
    total, ones = 0.0, 0
    for drawn, bit in enumerate(bits):
        favoured = mean + dispersion * ones if bit else (1 - mean) + dispersion * (drawn - ones)
        total += log(favoured / (1 + dispersion * drawn))
        ones += int(bit)
    return total


def leaf_moments(leaf, row):
    """The mean and covariance of a leaf's variables given the observed part of one row."""
    if is_real(leaf):
        return real_moments(leaf, row)
    missing = np.isnan(row)
    sizes = [domain.cardinality for domain in leaf.domains]
    all_assignments = np.array(list(product(*(range(k) for k in sizes))), dtype=float)
    logs = np.where(((all_assignments == row) | missing).all(axis=1), leaf_log(leaf, all_assignments), -np.inf)
    chances = np.exp(logs - log_sum(logs))
    mean = chances @ all_assignments
    return mean, (chances[:, None] * (all_assignments - mean)).T @ (all_assignments - mean)


def once_a_row(answer):
    """Answers are asked for again by every back end: keep them."""

    @wraps(answer)
    def kept(self, row):
        key = (answer.__name__, row.tobytes())
        if key not in self.kept:
            self.kept[key] = answer(self, row)
        return self.kept[key]

    return kept


# -- circuits ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Definition:
    """A circuit by its definition; `all_assignments` are those of the discrete variables."""

    circuit: object
    kept: dict = field(default_factory=dict)

    @cached_property
    def scope(self):
        return list(self.circuit.scope)

    @cached_property
    def sizes(self):
        return {v: self.circuit.graph.domains[v].cardinality for v in self.scope}

    @cached_property
    def discrete(self):
        return [v for v in self.scope if self.sizes[v] is not None]

    @cached_property
    def real(self):
        return [v for v in self.scope if self.sizes[v] is None]

    @cached_property
    def all_assignments(self):
        table = list(product(*(range(self.sizes[v]) for v in self.discrete)))
        out = np.full((len(table), self.circuit.n_variables), np.nan)
        out[:, self.discrete] = np.array(table, dtype=float).reshape(len(table), len(self.discrete))
        return out

    @once_a_row
    def densities(self, row):
        """For each node the log-density of what the row knows of real variables, in its best possible component.

        As fractions; None where the row knows discrete variables to be what they cannot be.
        """
        graph, values = self.circuit.graph, []
        for node in graph.nodes:
            below = [values[child] for child in graph.child_ids(node)]
            if isinstance(node, Leaf):
                own = self._evidence(node, row[list(node.variables)])
                values.append(None if np.isneginf(own) else Fraction(own if is_real(node) else 0))
            elif isinstance(node, Sum):
                possible = [part for w, part in zip(node.weights, below, strict=True) if w > 0 and part is not None]
                values.append(max(possible, default=None))
            else:
                values.append(None if None in below else sum(below))
        return values

    def above_densities(self, rows, densities):
        """The log-probability of rows of which all discrete variables are known, less the densities of real ones."""
        graph, values = self.circuit.graph, []
        for node, density in zip(graph.nodes, densities, strict=True):
            children = graph.child_ids(node)
            if density is None:
                values.append(np.full(len(rows), -np.inf, dtype=np.longdouble))
            elif isinstance(node, Leaf):
                own = np.zeros(len(rows)) if is_real(node) else leaf_log(node, rows[:, list(node.variables)])
                values.append(own.astype(np.longdouble))
            elif isinstance(node, Sum):
                terms = [log(w) + (values[child] + float(densities[child] - density))
                         for w, child in zip(node.weights, children, strict=True)
                         if w > 0 and densities[child] is not None]  # fmt: skip
                values.append(np.logaddexp.reduce(terms))
            else:
                values.append(np.sum([values[child] for child in children], axis=0))
        return values[-1]

    @once_a_row
    def relative_joint(self, row):
        """log P(assignment, what the row says), less the root's density: (assignments,), −inf where they disagree."""
        known = [v for v in self.discrete if not np.isnan(row[v])]
        agrees = (self.all_assignments[:, known] == row[known]).all(axis=1)
        if np.isnan(row[self.real]).all():
            return np.where(agrees, self._of_assignments, -np.inf)
        out = np.full(len(self.all_assignments), -np.inf, dtype=np.longdouble)
        out[agrees] = self.above_densities(self.all_assignments[agrees], self.densities(row))
        return out

    @cached_property
    def _of_assignments(self):
        return self.above_densities(self.all_assignments, self.densities(np.full(self.circuit.n_variables, np.nan)))

    def joint(self, row):
        """log P(assignment, what the row says): (assignments,), −inf where they disagree."""
        density = self.densities(row)[-1]
        return self.relative_joint(row) + np.longdouble(0 if density is None else float(density))

    def log_likelihood(self, rows):
        return np.array([log_sum(self.joint(row)) for row in rows], dtype=float)

    @once_a_row
    def marginals(self, row):
        """P(variable = value | row): {variable: (values,)}."""
        joint = self.relative_joint(row)
        total = log_sum(joint)
        return {
            v: np.exp([log_sum(joint[self.all_assignments[:, v] == k]) - total for k in range(self.sizes[v])]).astype(
                float
            )
            for v in self.discrete
        }

    def count_distribution(self, variables, row):
        joint = self.relative_joint(row)
        ones = (self.all_assignments[:, variables] == 1).sum(axis=1)
        return np.exp([log_sum(joint[ones == k]) - log_sum(joint) for k in range(len(variables) + 1)]).astype(float)

    @cached_property
    def components(self):
        """The circuit as a mixture of products of leaves: [(log-weight, leaves)]; None where there are too many."""
        graph, found = self.circuit.graph, []
        for node in graph.nodes:
            below = [found[child] for child in graph.child_ids(node)]
            if any(own is None for own in below):
                return None
            if isinstance(node, Leaf):
                own = [(0.0, (node,))]
            elif isinstance(node, Sum):
                own = [(log(w) + lw, leaves) for w, part in zip(node.weights, below, strict=True) if w > 0
                       for lw, leaves in part]  # fmt: skip
            elif np.prod([float(len(part)) for part in below]) > MOST_COMPONENTS:
                own = None
            else:
                own = [
                    (sum(part[0] for part in parts), sum((part[1] for part in parts), ())) for parts in product(*below)
                ]
            found.append(own if own is not None and len(own) <= MOST_COMPONENTS else None)
        return found[-1]

    @once_a_row
    def moments(self, row):
        """E and Cov of all variables of the scope given a row, by the law of total covariance; None if too large."""
        if self.components is None:
            return None
        place = {v: i for i, v in enumerate(self.scope)}
        logs, means, spreads = [], [], []
        for weight, leaves in self.components:
            logs.append(weight + sum(self._evidence(leaf, row[list(leaf.variables)]) for leaf in leaves))
            if np.isneginf(logs[-1]):
                logs.pop()
                continue
            mean, spread = np.zeros(len(place)), np.zeros((len(place), len(place)))
            for leaf in leaves:
                at = [place[v] for v in leaf.variables]
                mean[at], spread[np.ix_(at, at)] = leaf_moments(leaf, row[list(leaf.variables)])
            means.append(mean)
            spreads.append(spread)
        weights = np.exp(np.array(logs) - log_sum(logs))
        counted = weights > 0  # the spread of another one may be infinite
        weights, means, spreads = weights[counted], np.array(means)[counted], np.array(spreads)[counted]
        center = means[np.argmax(weights)]  # so that the differences below keep their digits
        mean = center + weights @ (means - center)
        away = means - mean
        return mean, np.tensordot(weights, spreads, axes=1) + (weights[:, None] * away).T @ away

    def _evidence(self, leaf, row):
        """log P of the observed part of a leaf's row."""
        if is_real(leaf):
            return real_log(leaf, row)
        options = [range(d.cardinality) if np.isnan(x) else [x] for d, x in zip(leaf.domains, row, strict=True)]
        return log_sum(leaf_log(leaf, np.array(list(product(*options)), dtype=float)))

    def cumulative(self, variable, value):
        """P(a real variable ≤ value); None if there are too many components."""
        if self.components is None:
            return None
        chance = 0.0
        for weight, leaves in self.components:
            leaf = next(own for own in leaves if variable in own.variables)
            chance += np.exp(weight) * cumulative(leaf, leaf.variables.index(variable), value)
        return min(float(chance), 1.0)

    def event_log(self, row, intervals, allowed):
        """log P(what a row says, real variables written in their intervals, an assignment that is allowed).

        Args:
            row: What is known.
            intervals: {real variable: (low, high)}.
            allowed: Which of `all_assignments` come true: (assignments,) of bool.

        Returns:
            None if there are too many components, or intervals of three variables that depend on each other.
        """
        if self.components is None:
            return None
        terms = []
        for weight, leaves in self.components:
            logs = np.where(allowed, weight, -np.inf)
            for leaf in leaves:
                own = row[list(leaf.variables)]
                if is_real(leaf):
                    bounds = {i: intervals[v] for i, v in enumerate(leaf.variables) if v in intervals}
                    found = interval_log(leaf, own, bounds)
                    if found is None:
                        return None
                    logs = logs + found
                else:
                    codes = self.all_assignments[:, list(leaf.variables)]
                    agrees = ((codes == own) | np.isnan(own)).all(axis=1)
                    logs = np.where(agrees, logs + leaf_log(leaf, codes), -np.inf)
            terms.append(log_sum(logs))
        return float(log_sum(terms))
