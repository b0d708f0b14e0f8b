"""EM for mixtures of joint normals, the number of components by held-out rows, and the mixture as a circuit."""

from dataclasses import dataclass, replace

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.random import child_seed
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum
from xspn.learning.normal_mixture.partial_rows import Mixture, PartialRows, Sums
from xspn.learning.scales import ColumnScale, in_own_units, on_scales
from xspn.learning.steps import Meter, Progress, step
from xspn.learning.table_data import TableData
from xspn.leaves.atom import Atom
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.categorical import Categorical
from xspn.leaves.gaussian import Gaussian
from xspn.leaves.multivariate_gaussian import MultivariateGaussian
from xspn.leaves.scales import Scale

NUMBERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # of components that are tried
FOLDS = 3
PATIENCE = 2  # numbers of components in a row that do not gain, before no more are tried
FEWEST_ROWS = 5.0  # to a component
ROWS_TRIED = 3000  # by which their number is chosen
ENOUGH_ROWS = 1000  # for one of the folds to tell
STRENGTHS = (20.0, 100.0, 500.0)  # rows that the covariance of all counts for in that of one, beside one a column
MEAN_ROWS = 0.05  # that the center of the table counts for in a mean
VALUE_ROWS = 1.0  # that the frequencies of all rows count for in those of a component
LEAST_VARIANCE = 1e-4  # of a column, relative to that in the whole table
ALONE_PASSES, PASSES, TOLERANCE = 10, 50, 1e-4  # of EM; the latter in nats per row
MOVES_OF_CENTERS = 10
EMPHASES = (1.0, 3.0)  # how far categories are apart among the features of a start, beside all numbers together


@dataclass(frozen=True)
class NormalMixtureOptions:
    """The choices.

    Attributes:
        n_components: The number of components of one mixture; None for the number that predicts held-out rows best.
        n_estimators: How many mixtures, from different starts, are mixed into one.
    """

    n_components: int | None = None
    n_estimators: int = 8


def fit_normal_mixture(
    data: TableData, options: NormalMixtureOptions, seed: int, progress: Progress | None = None
) -> tuple[Graph, int]:
    """Learn a mixture from rows of which any cells may be missing; return it and its number of components.

    Numbers are on the scales of their columns, where they are as normal as they can be made. Some mixtures from
    different starts are mixed: what is given a row is an average over them.
    """
    scaled, scales = _on_scales(data)
    units = _Units.of(scaled)
    rows = PartialRows.of(scaled, units.real, units.centers, units.spreads)
    meter = Meter(progress, 2 * options.n_estimators)
    with meter.part(options.n_estimators):
        start = _best_start(rows, options.n_components, seed)
    members = []
    for member in range(options.n_estimators):
        with meter.part(1):
            members.append(fitted(rows, start, child_seed(seed, member)))
    return in_own_units(units.circuit(members, scaled), scales), start.n_components


def _on_scales(data: TableData) -> tuple[TableData, dict[int, ColumnScale]]:
    """Return a table on the scales of its columns, but for those with values that many rows share.

    The scale of such a column is that of its other values; here all of them are normal together. A column of one
    number keeps its atom.
    """
    scaled, scales = on_scales(data)
    with_atoms = [v for v, own in scales.items() if own.atoms and _varies(data.cells[:, v])]
    cells, spreads, floors = scaled.cells.copy(), scaled.spreads.copy(), scaled.floors.copy()
    for own, before in ((cells.T, data.cells.T), (spreads, data.spreads), (floors, data.floors)):
        own[with_atoms] = before[with_atoms]
    for v in with_atoms:
        of_rest = scales[v].scale
        plain = Scale(step=of_rest.step, least=of_rest.least, most=of_rest.most)
        scales[v] = ColumnScale(plain, spread=scales[v].spread)
    atoms = tuple(() if v in with_atoms else own for v, own in enumerate(scaled.atoms))
    return replace(scaled, cells=cells, spreads=spreads, floors=floors, atoms=atoms), scales


@dataclass(frozen=True)
class Start:
    """From how many clusters of rows EM starts, how much categories matter for these, and how alike components are."""

    n_components: int
    emphasis: float = EMPHASES[0]
    strength: float = STRENGTHS[0]


def fitted(rows: PartialRows, start: Start, seed: int) -> Mixture:
    """Fit a mixture by EM, from clusters of rows whose missing cells are where one normal distribution expects them."""
    alone = _one_component(rows)
    if start.n_components == 1 or rows.total == 0:  # rows of which nothing is known: clusters of nothing
        return alone
    filled, rng = rows.filled(alone), np.random.default_rng(seed)
    clusters = _clusters(_features(rows, filled, start.emphasis), rows.weights, start.n_components, rng)
    mixture = _maximized(_sums_of_clusters(rows, filled, clusters), rows, start.strength)
    before = -np.inf
    for _ in range(PASSES):
        sums = rows.sums(mixture)
        mixture = _maximized(sums, rows, start.strength)
        step()
        if sums.log_likelihood - before < TOLERANCE * rows.total:
            break
        before = sums.log_likelihood
    return mixture


def _one_component(rows: PartialRows) -> Mixture:
    n = rows.values.shape[1]
    tables = tuple(_frequencies(rows, column)[None, :] for column in range(len(rows.sizes)))
    mixture = Mixture(np.ones(1), np.zeros((1, n)), np.eye(n)[None], tables)
    for _ in range(ALONE_PASSES if rows.missing.any() else 1):
        mixture = _maximized(rows.sums(mixture), rows)
        step()
    return mixture


def _frequencies(rows: PartialRows, column: int) -> FloatArray:
    counts = rows.weights @ rows.marks(column) + 0.5
    return np.asarray(counts / counts.sum())


def _maximized(sums: Sums, rows: PartialRows, shared: float = STRENGTHS[0]) -> Mixture:
    """Return the mixture that expected sums give: a maximization step.

    Covariances are shrunk towards the one of all components together, which counts for so many rows, and that one
    towards independence.
    """
    n = sums.first.shape[1]
    means = sums.first / (sums.mass + MEAN_ROWS)[:, None]
    crossed = means[:, :, None] * sums.first[:, None, :]
    scatter = sums.second - crossed - crossed.transpose(0, 2, 1)
    scatter += sums.mass[:, None, None] * means[:, :, None] * means[:, None, :]
    total, strength = max(float(sums.mass.sum()), 1e-9), n / 2
    pooled = scatter.sum(axis=0)
    target = np.maximum(np.diag(pooled) / total, LEAST_VARIANCE)
    pooled = (pooled + strength * np.diag(target)) / (total + strength)
    strength = shared + n
    covariances = (scatter + strength * pooled) / (sums.mass + strength)[:, None, None]
    covariances = (covariances + covariances.transpose(0, 2, 1)) / 2
    lacking = np.maximum(LEAST_VARIANCE - np.diagonal(covariances, axis1=1, axis2=2), 0.0)
    covariances += lacking[:, :, None] * np.eye(n)
    tables = []
    for column, counts in enumerate(sums.counts):
        prior = VALUE_ROWS * _frequencies(rows, column)
        tables.append((counts + prior) / (counts.sum(axis=1, keepdims=True) + VALUE_ROWS))
    weights = (sums.mass + 1.0) / (sums.mass + 1.0).sum()
    return Mixture(weights, means, covariances, tuple(tables))


def _features(rows: PartialRows, filled: FloatArray, emphasis: float) -> FloatArray:
    """Return what clusters are found by: numbers in units of their deviations, and categories as far apart as they.

    A missing category is where the frequencies of all rows are.
    """
    found = [filled]
    for column in range(len(rows.sizes)):
        marks, heavy = rows.marks(column), emphasis * np.sqrt(max(filled.shape[1], 1) / len(rows.sizes))
        found.append(heavy * np.where(marks.any(axis=1, keepdims=True), marks, _frequencies(rows, column)))
    return np.hstack(found)


def _clusters(features: FloatArray, weights: FloatArray, k: int, rng: np.random.Generator) -> IntArray:
    """Return the nearest of k centers for each row: k-means from random rows far from each other (k-means++)."""
    centers = [features[int(rng.choice(len(features), p=weights / weights.sum()))]]
    nearest = ((features - centers[0]) ** 2).sum(axis=1)
    while len(centers) < k:
        chance = weights * nearest
        if chance.sum() == 0:  # fewer different rows than clusters
            break
        centers.append(features[int(rng.choice(len(features), p=chance / chance.sum()))])
        nearest = np.minimum(nearest, ((features - centers[-1]) ** 2).sum(axis=1))
    found = np.array(centers)
    for _ in range(MOVES_OF_CENTERS):
        own = np.eye(len(found))[np.argmin((found**2).sum(axis=1) - 2 * features @ found.T, axis=1)]
        masses = (own * weights[:, None]).sum(axis=0)
        moved = (own * weights[:, None]).T @ features / np.maximum(masses, 1e-300)[:, None]
        found = np.where(masses[:, None] > 0, moved, found)
    return np.asarray(np.argmin((found**2).sum(axis=1) - 2 * features @ found.T, axis=1))


def _sums_of_clusters(rows: PartialRows, filled: FloatArray, clusters: IntArray) -> Sums:
    """Return the sums of completed rows, each in its cluster."""
    own = np.eye(int(clusters.max()) + 1)[clusters] * rows.weights[:, None]
    own = own[:, own.any(axis=0)]
    second = np.array([(filled * weights[:, None]).T @ filled for weights in own.T])
    counts = tuple(own.T @ rows.marks(column) for column in range(len(rows.sizes)))
    return Sums(own.sum(axis=0), own.T @ filled, second, counts, -np.inf)


def _best_start(rows: PartialRows, n_components: int | None, seed: int) -> Start:
    """Return the number of components, if it is not given, and the start that make held-out rows most probable.

    How alike components are is what makes held-out categories most probable, if there are any beside numbers.
    """
    emphases = EMPHASES if len(rows.sizes) else EMPHASES[:1]
    if n_components is not None and (n_components == 1 or len(emphases) == 1):
        return Start(n_components)
    order = np.random.default_rng(seed).permutation(len(rows))[:ROWS_TRIED]
    folds = range(FOLDS if len(order) < ENOUGH_ROWS else 1)
    parts = [(rows.some(np.delete(order, np.s_[f::FOLDS])), rows.some(order[f::FOLDS])) for f in folds]
    parts = [(train, test) for train, test in parts if len(train) and len(test)]
    best, score, failed = Start(n_components or 1), -np.inf, 0
    for number in NUMBERS if n_components is None else (n_components,):
        if number > 1 and number * FEWEST_ROWS > rows.total:
            break
        starts = [Start(number, emphasis) for emphasis in (emphases if number > 1 else emphases[:1])]
        scores = [_held_out_score(parts, start, seed) for start in starts]
        failed += 1
        if max(scores) > score:
            best, score, failed = starts[int(np.argmax(scores))], max(scores), 0
        if failed == PATIENCE:
            break
    if best.n_components == 1 or not len(rows.sizes) or not rows.values.shape[1]:
        return best
    # Numbers of few rows hardly tell how alike covariances are, but the categories that they go with do: as linear or
    # quadratic discriminants do.
    alike = [replace(best, strength=strength) for strength in STRENGTHS]
    return max(alike, key=lambda start: _held_out_score(parts, start, seed, of_categories=True))


def _held_out_score(
    parts: list[tuple[PartialRows, PartialRows]], start: Start, seed: int, of_categories: bool = False
) -> float:
    """Return the log-likelihood of held-out rows, or of their categories given their numbers, from the other rows."""
    score = 0.0
    for fold, (train, test) in enumerate(parts):
        mixture = fitted(train, start, child_seed(seed, fold))
        score += float(test.weights @ test.log_likelihood(mixture))
        if of_categories:
            score -= float(test.weights @ test.without_categories().log_likelihood(mixture))
    return score


@dataclass(frozen=True, eq=False)
class _Units:
    """The real columns of a table that vary, with their centers and deviations."""

    real: IntArray
    centers: FloatArray
    spreads: FloatArray

    @classmethod
    def of(cls, data: TableData) -> "_Units":
        real, centers, spreads = [], [], []
        for v, domain in enumerate(data.domains):
            seen = ~np.isnan(data.cells[:, v])
            if domain.is_discrete or not seen.any():
                continue
            values, weights = data.cells[seen, v], data.weights[seen]
            center = float(np.average(values, weights=weights))
            spread = float(np.sqrt(np.average((values - center) ** 2, weights=weights)))
            if _varies(values):
                real.append(v)
                centers.append(center)
                spreads.append(spread)
        return cls(np.array(real, dtype=np.int64), np.array(centers), np.array(spreads))

    def circuit(self, members: list[Mixture], data: TableData) -> Graph:
        """Return the uniform mixture of some mixtures as a circuit, in the units of the table."""
        discrete = [v for v, domain in enumerate(data.domains) if domain.is_discrete]
        constant = [v for v in range(len(data.domains)) if v not in discrete and v not in self.real]
        shared = [_constant(data, v) for v in constant]
        weights, nodes = [], []
        for mixture in members:
            for c, weight in enumerate(mixture.weights.tolist()):
                leaves: list[Node] = list(shared)
                if len(self.real):
                    leaves.append(self._normal(mixture.means[c], mixture.covariances[c], data.floors[self.real]))
                leaves += [_discrete(v, table[c]) for v, table in zip(discrete, mixture.tables, strict=True)]
                weights.append(weight / len(members))
                nodes.append(leaves[0] if len(leaves) == 1 else Product(leaves))
        return Graph(nodes[0] if len(nodes) == 1 else Sum(weights, nodes), len(data.domains))

    def _normal(self, mean: FloatArray, covariance: FloatArray, floors: FloatArray) -> Node:
        mean, covariance = self.centers + self.spreads * mean, covariance * np.outer(self.spreads, self.spreads)
        covariance = covariance + np.diag(np.maximum(floors**2 - np.diag(covariance), 0.0))
        if len(self.real) == 1:
            return Gaussian(int(self.real[0]), float(mean[0]), float(np.sqrt(covariance[0, 0])))
        return MultivariateGaussian(self.real.tolist(), mean, covariance)


def _discrete(variable: int, table: FloatArray) -> Node:
    if len(table) == 2:
        return Bernoulli(variable, p=float(table[1] / table.sum()))
    return Categorical(variable, table / table.sum())


def _varies(values: FloatArray) -> bool:
    """Whether a column has more than one number."""
    seen = values[~np.isnan(values)]
    return bool(len(seen) and seen.min() < seen.max())


def _constant(data: TableData, variable: int) -> Node:
    """Return the leaf of a column that has one value, or of which nothing was seen.

    Beside n rows of one value one more is supposed that may have any other: nothing is impossible.
    """
    values, weights = data.cells[:, variable], data.weights
    seen = values[~np.isnan(values)]
    rest = Gaussian(variable, mean=float(seen[0]) if len(seen) else 0.0, std=float(data.spreads[variable]))
    if not data.atoms[variable]:
        return rest
    n_rows = float(weights[~np.isnan(values)].sum())
    [(value, width)] = data.atoms[variable]
    return Sum([1 / (n_rows + 1), n_rows / (n_rows + 1)], [rest, Atom(variable, value, width)])
