"""Two clusters by the value of one variable, as cutset networks split: the resulting sum is deterministic.

A bit is one or not; of other columns one value stands against the others, or what is below a threshold.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, xlogy

from xspn.core.arrays import FloatArray
from xspn.core.exact import first_of_largest
from xspn.core.logspace import logsumexp_quiet
from xspn.learning.clustering.base import (
    Condition,
    Rule,
    Split,
    bic_penalty,
    clusterings,
    factorized_log_likelihood,
    responsibilities_of,
)
from xspn.learning.clustering.products import TINY, Encoded
from xspn.learning.methods import Can, Method
from xspn.learning.steps import step
from xspn.learning.summary import BinarySummary
from xspn.learning.table_summary import Column, TableSummary, row_blocks

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
MOST_APART = 4  # categories that are tried
FARTHEST_MEAN, ERRORS = 0.4, 2.0  # deviations, and standard errors, that clusters may be off for a category
LEAST_SPREAD = 0.1  # of a category's deviation, in those of all rows
REPEATED_FRACTION = 0.05
FEWEST_REPEATED = 10.0


# -- bits --------------------------------------------------------------------------------------------------------------


def variable_split(summary: BinarySummary, seed: int) -> Split | None:
    """Return the split on the variable whose two clusters explain the others best; all variables are tried at once.

    Row i of G counts the ones among the rows where variable i is one, so the score of every split is n × n arithmetic.
    """
    gain = np.concatenate([_gains_of_bits(summary, tried) for tried in summary.blocks()])
    gain[summary.constant()] = -np.inf
    best = first_of_largest(gain)
    if np.isneginf(gain[best]):
        return None
    # Each cluster has its own n − 1 bits, plus the weight of the sum; unsplit there are n bits.
    score = float(gain[best]) - bic_penalty(summary.total, 2 * (summary.n - 1) + 1 - summary.n)
    rule = _rule(summary, best)
    second = rule.responsibilities(summary.rows()[0])
    labels = (second > 0.5).astype(np.int64)
    return Split(labels, None if summary.complete else second, variable=best, score=score, rule=rule)


def _gains_of_bits(summary: BinarySummary, tried: slice) -> FloatArray:
    """Return what a split on each of some variables gains in log-likelihood."""
    n11, n10, n01, n00 = summary.pair_table(tried)  # (split variable, variable)
    inside = np.array([n01, n11])  # (value, split variable, variable)
    seen, ones = summary.seen[tried], summary.ones[tried]
    sizes = np.array([seen - ones, ones])  # (value, split variable)
    rows = sizes if summary.complete else np.array([n01 + n00, n11 + n10])
    split = factorized_log_likelihood(inside, rows).sum(axis=0)
    step()
    split += (xlogy(sizes, sizes) - xlogy(sizes, np.maximum(seen, TINY))).sum(axis=0)
    return np.asarray(split - _unsplit(summary, tried))


def _unsplit(summary: BinarySummary, tried: slice) -> FloatArray:
    """Return the log-likelihood without a split, for each split variable over the rows that have it."""
    if summary.complete:
        return factorized_log_likelihood(summary.ones, summary.total)
    _, ones, both = summary.where_seen(tried)
    return factorized_log_likelihood(ones, both)


def _rule(summary: BinarySummary, best: int) -> Rule:
    """Return the rule of a split on one variable: its value; P(one | the row's other values) where it is missing."""
    nothing = np.zeros(summary.n)
    if summary.complete:
        return Rule(nothing, nothing, 0.0, best)
    n11, n10, n01, n00 = (cell[0] for cell in summary.pair_table(slice(best, best + 1)))
    rows = np.array([n01 + n00, n11 + n10])
    p = (np.array([n01, n11]) + 1) / (rows + 2)  # (value, variable)
    p[:, best] = 0.5  # nothing is seen of it where the others are asked
    sizes = np.array([summary.seen[best] - summary.ones[best], summary.ones[best]]) + 1
    return replace(Rule.of_bernoullis(p, np.log(sizes)), variable=best)


# -- columns of any types ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cut:
    """A way to split the rows by the value of one variable."""

    position: int
    conditions: tuple[Condition, Condition]

    def inside(self, summary: TableSummary) -> FloatArray:
        """Return 1 for each row in the second cluster, 0 in the first, NaN where the value is missing."""
        values, condition = summary.cells[:, self.position], self.conditions[1]
        found = values > condition.value if condition.relation == ">" else values == condition.value
        return np.where(summary.missing[:, self.position], np.nan, found)


def variable_splits(encoded: Encoded) -> list[Split]:
    """Return the cut whose two clusters explain the variables best, and the best one of those on categories.

    A variable without order is cut at each of its values against the others, an ordered or real one at thresholds; a
    real one also at numbers that many rows share. All cuts of all variables are tried at once. Only a cut on a category
    of few rows keeps them together, so the best of these is weighed against the other splits by itself.
    """
    summary = encoded.summary
    cuts = [cut for position in range(summary.n) for cut in _cuts(encoded, position)]
    best = _best_cut(encoded, cuts)
    if best is None:
        return []
    if best.variable is None or not _is_category(summary.columns[best.variable]):
        named = [cut for cut in cuts if _is_category(summary.columns[cut.position])]
        other = _best_cut(encoded, named)
        return [best] if other is None else [best, other]
    return [best]


def categories_apart(encoded: Encoded, split: Split) -> list[Split]:
    """Return cuts on the categories that clusters represent worst, as products of columns say, the worst first.

    In clusters of all rows a category of few is scattered, and none of them has enough of it left to show what is
    special about it: given the category, the model would say what it says of the clusters as a whole. So its rows under
    a product of their own are compared with the same rows under the clusters, given the category.
    """
    summary, weights = encoded.summary, encoded.summary.weights
    names = [v for v in range(summary.n) if _is_category(summary.columns[v])]
    cuts = [cut for position in names for cut in _cuts(encoded, position)]
    if not cuts:
        return []
    sums = encoded.sums(weights * np.array(responsibilities_of(split)))
    logs = encoded.log_densities(sums) + np.log(np.maximum(sums.mass, TINY) / summary.total)
    of_rows = weights * logsumexp_quiet(logs, axis=1)
    blocks = row_blocks(len(cuts), len(summary.cells))
    gains = np.concatenate([_gains_apart(encoded, cuts[block], of_rows) for block in blocks])
    worst = np.argsort(-gains, kind="stable")[:MOST_APART].tolist()
    found = [_split_by(encoded, cuts[k], float(gains[k])) for k in worst if np.isfinite(gains[k])]
    return [split for split in found if split is not None]


def misrepresented(summary: TableSummary, inside: FloatArray, clusters: Sequence[FloatArray]) -> bool:
    """Whether clusters get the mean of some number wrong for a category, by much and beyond chance.

    Args:
        summary: The rows.
        inside: The part of each row that is of the category.
        clusters: The responsibilities of each cluster for each row.
    """
    numbers = [i for i, column in enumerate(summary.columns) if column.is_real or column.domain.ordered]
    cells, seen = np.nan_to_num(summary.cells[:, numbers]), ~summary.missing[:, numbers]

    def moments(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        mass = np.maximum(weights @ seen, TINY)
        mean = weights @ (cells * seen) / mass
        return mean, np.sqrt(weights @ ((cells - mean) ** 2 * seen) / mass)

    own = summary.weights * inside
    mean, spread = moments(own)
    given = sum(float(own @ part) * moments(summary.weights * part)[0] for part in clusters) / max(own.sum(), TINY)
    apart = np.abs(mean - given) / np.maximum(spread, [LEAST_SPREAD * s for s in moments(summary.weights)[1]])
    return bool((apart > max(FARTHEST_MEAN, ERRORS / np.sqrt(max(own.sum(), 1.0)))).any())


def _gains_apart(encoded: Encoded, cuts: Sequence[_Cut], of_rows: FloatArray) -> FloatArray:
    """Return how much likelier the rows of each cut's category are under a product fitted to them alone."""
    summary, weights = encoded.summary, encoded.summary.weights
    inside = np.nan_to_num(np.array([cut.inside(summary) for cut in cuts]))
    most = inside @ weights > summary.total / 2
    either = np.array([cut.conditions[0].relation == "=" for cut in cuts])  # of two values, the rarer one
    inside = np.where((most & either)[:, None], 1 - inside, inside)
    own = encoded.sums(weights * inside)
    given = inside @ of_rows - xlogy(own.mass, own.mass / summary.total)
    gains = encoded.likelihood(own) - given - 0.5 * encoded.n_parameters * np.log(np.maximum(own.mass, 1.0))
    gains[most & ~either] = -np.inf
    return np.asarray(gains)


def _is_category(column: Column) -> bool:
    return not column.is_real and not column.domain.ordered


def _best_cut(encoded: Encoded, cuts: Sequence[_Cut]) -> Split | None:
    if not cuts:
        return None
    blocks = row_blocks(len(cuts), len(encoded.summary.cells))
    gains = np.concatenate([_gains(encoded, cuts[block]) for block in blocks])
    best = first_of_largest(gains)
    if np.isneginf(gains[best]):
        return None
    price = 0.5 * (encoded.n_parameters + 1) * float(np.log(max(encoded.summary.total, 1.0)))
    return _split_by(encoded, cuts[best], float(gains[best]) - price)


def _split_by(encoded: Encoded, cut: _Cut, score: float) -> Split | None:
    second = _responsibilities(encoded, cut)
    labels = (second > 0.5).astype(np.int64)
    if not 0 < labels.sum() < len(labels):
        return None
    whole = not encoded.summary.missing[:, cut.position].any()
    return Split(labels, None if whole else second, variable=cut.position, conditions=cut.conditions, score=score)


def _gains(encoded: Encoded, cuts: Sequence[_Cut]) -> FloatArray:
    """Return what each cut gains in log-likelihood; −∞ where it leaves a cluster empty."""
    weights = encoded.summary.weights
    inside = np.array([cut.inside(encoded.summary) for cut in cuts])
    known = ~np.isnan(inside)
    second = encoded.sums(weights * np.where(known, inside, 0.0))
    both = encoded.sums(weights * known)
    first = both.less(second)
    masses = np.array([first.mass, second.mass])
    gains = encoded.likelihood(first) + encoded.likelihood(second) - encoded.likelihood(both)
    gains = gains + xlogy(masses, masses / np.maximum(masses.sum(axis=0), 1e-300)).sum(axis=0)
    gains[(masses == 0).any(axis=0)] = -np.inf
    step()
    return np.asarray(gains)


def _cuts(encoded: Encoded, position: int) -> list[_Cut]:
    summary = encoded.summary
    column, values = summary.columns[position], summary.cells[:, position]
    missing = summary.missing[:, position]
    if column.is_real or column.domain.ordered:
        below = [_Cut(position, (Condition("≤", edge), Condition(">", edge))) for edge in _thresholds(values[~missing])]
        return below + [
            _Cut(position, (Condition("≉", v), Condition("≈", v)))
            for v in (_repeated(values[~missing], summary.weights[~missing]) if column.is_real else [])
        ]
    occurring = np.unique(values[~missing]).astype(np.int64).tolist()
    if column.n_values == 2:
        both = (Condition("=", 0), Condition("=", 1))
        return [_Cut(position, both)] if len(occurring) == 2 else []
    return [_Cut(position, (Condition("≠", v), Condition("=", v))) for v in occurring if len(occurring) > 1]


def _thresholds(values: FloatArray) -> list[float]:
    """Return points between values, near a few quantiles."""
    distinct = np.unique(values)
    if len(distinct) < 2:
        return []
    below = np.unique(np.searchsorted(distinct, np.quantile(values, QUANTILES), side="right") - 1)
    below = below[below < len(distinct) - 1]
    return [float(edge) for edge in (distinct[below] + distinct[below + 1]) / 2]


def _repeated(values: FloatArray, weights: FloatArray) -> list[float]:
    """Return the numbers that many rows share: no density explains them, and they may indicate a cluster."""
    distinct, which = np.unique(values, return_inverse=True)
    mass = np.bincount(which.reshape(-1), weights=weights)
    often = mass >= max(REPEATED_FRACTION * float(weights.sum()), FEWEST_REPEATED)
    return [float(v) for v in distinct[often]] if len(distinct) > 1 else []


def _responsibilities(encoded: Encoded, cut: _Cut) -> FloatArray:
    """Return the cluster of each row; P(second | the row's other values) where the value is missing."""
    inside = cut.inside(encoded.summary)
    unknown = np.isnan(inside)
    if not unknown.any():
        return inside
    weights = encoded.summary.weights
    clusters = np.where(unknown, 0.0, np.array([1 - inside, inside])) * weights
    sums = encoded.sums(clusters)
    logs = encoded.log_densities(sums) + np.log(sums.mass + 1)
    return np.where(unknown, expit(logs[:, 1] - logs[:, 0]), inside)


clusterings.add(
    "variable",
    Method(
        bits=variable_split,
        tables=lambda summary, seed: variable_splits(Encoded(summary))[:1],
        can=Can.ANY_TYPE | Can.ANY_ROWS | Can.OUT_OF_CORE,
    ),
)
