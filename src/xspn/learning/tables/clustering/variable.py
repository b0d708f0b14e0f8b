"""Two clusters by the value of one variable: one value against the others, or what is below a threshold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, xlogy

from xspn.core.arrays import FloatArray
from xspn.core.logspace import logsumexp_quiet
from xspn.learning.clustering.base import Condition, Split
from xspn.learning.steps import step
from xspn.learning.table_summary import Column, TableSummary, row_blocks
from xspn.learning.tables.clustering.product import TINY, Encoded

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
MOST_APART = 4  # categories that are tried
FARTHEST_MEAN, ERRORS = 0.4, 2.0  # deviations, and standard errors, that clusters may be off for a category
LEAST_SPREAD = 0.1  # of a category's deviation, in those of all rows
REPEATED_FRACTION = 0.05
FEWEST_REPEATED = 10.0
ROUNDING = 1e-9  # of a gain: ties between equivalent cuts are broken by column order


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


def responsibilities_of(split: Split) -> Sequence[FloatArray]:
    """Return the responsibilities of the clusters of a split for each row."""
    if split.responsibilities is not None and split.responsibilities.ndim == 2:
        return list(split.responsibilities.T)
    second = split.labels.astype(np.float64) if split.responsibilities is None else split.responsibilities
    return 1 - second, second


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
    most = float(gains.max())
    if np.isneginf(most):
        return None
    best = int(np.argmax(gains >= most - ROUNDING * (1 + abs(most))))
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
