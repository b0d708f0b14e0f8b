"""What a fitted model is compared with: each column of its table, and simple models.

After every fit each column's distribution under the model is compared with the table, with a warning if they differ.
Held-out likelihoods do not show it: a leaf that is a hundred times too wide costs only a few nats, but every mean,
sample and conditional of the column is wrong. So means, deviations and quantiles of every real column, and
the frequencies of the values of every other column, are compared with the table. What the model says of one column is
exact and cheap: the fraction of the rows that reaches each leaf, and the leaf's own distribution of that column. A
column is compared on its scale, where heavy tails have a mean; values that many rows share by their frequencies.

The tolerances are wide enough for smoothing, for families that are not quite right and for tables of few rows.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr, ndtri

from xspn.circuit import Circuit
from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.errors import AgreementWarning
from xspn.data.table import Table
from xspn.estimators.base import training_data
from xspn.graph.graph import Graph
from xspn.graph.nodes import Sum
from xspn.learning.config import LearnConfig
from xspn.learning.data import MISSING, BinaryData
from xspn.learning.source import TrainingData, source_of
from xspn.learning.summary import WIDEST_AT_ONCE
from xspn.learning.table_data import TableData
from xspn.learning.task import Rows, Task
from xspn.leaves import Atom, Bernoulli, ExchangeableGaussian, Gaussian, MultivariateGaussian, Transformed
from xspn.leaves.base import Leaf
from xspn.leaves.scales import PLAIN, Scale

FREQUENCY = 0.15  # how far off the frequency of a value may be: ordered values lend to their neighbors
MEAN = 0.15  # deviations of the table's column
RATIO = 1.3  # of the two deviations
BELOW = 0.2  # how far off the chance of a number below a quantile may be: few rows that are skewed have normal leaves
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
RARE = 0.02275  # of columns without fault, one in so many tables may be named: 2 standard errors of one column
MOST_NAMED = 5
ROWS_AT_ONCE = 1 << 16


def warn_of_disagreement(circuit: Circuit, data: TrainingData) -> None:
    """Warn if the model's distribution of some column by itself is not that of the table it was fitted to."""
    found = list(_of_bits(circuit, data) if isinstance(data, BinaryData) else _of_columns(circuit, data))
    if not found:
        return
    names = circuit.names
    shown = [f"{v if names is None else repr(names[v])} ({what})" for v, what in found[:MOST_NAMED]]
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    warnings.warn(
        f"the fitted model does not agree with the table in column {', '.join(shown)}{more}: answers about "
        f"{'this column' if len(found) == 1 else 'these columns'} are not to be trusted; try a smaller smoothing, "
        "exchangeability=None or a larger min_instances",
        AgreementWarning,
        stacklevel=4,
    )


def _of_bits(circuit: Circuit, data: BinaryData) -> Iterator[tuple[int, str]]:
    n = data.bits.shape[1]
    ones, rows = np.zeros(n), np.zeros(n)
    for start in range(0, len(data.bits), ROWS_AT_ONCE):
        own, weights = data.bits[start : start + ROWS_AT_ONCE], data.weights[start : start + ROWS_AT_ONCE]
        ones += weights @ (own == 1)
        rows += weights @ (own != MISSING)
    model, errors = _chances_of_one(circuit, n), _errors(n)
    for v in np.flatnonzero(rows > 0).tolist():
        if abs(model[v] - ones[v] / rows[v]) > FREQUENCY + _chance(0.5, rows[v], errors):
            yield v, f"P(1) = {model[v]:.3g}, in the table {ones[v] / rows[v]:.3g}"


def _chances_of_one(circuit: Circuit, n: int) -> FloatArray:
    """Return P(1) of each bit."""
    graph = circuit.graph
    if max(len(node.scope) for node in graph.nodes if isinstance(node, Leaf)) <= WIDEST_AT_ONCE:
        return np.asarray(circuit.marginals(np.full((1, n), np.nan))[0, :, 1])
    # Inference makes a table of all numbers of values and of ones that a leaf may see: too large, and not needed here.
    chances = np.zeros(n)
    for leaf, weight in _leaves(graph):
        nothing = np.full((1, len(leaf.variables)), np.nan)
        own = leaf.p if isinstance(leaf, Bernoulli) else leaf.marginals(nothing)[0, :, 1]
        chances[list(leaf.variables)] += weight * own
    return chances


def _of_columns(circuit: Circuit, data: TableData) -> Iterator[tuple[int, str]]:
    marginals = circuit.marginals(np.full((1, len(data.domains)), np.nan))[0]
    parts, errors = _real_columns(circuit.graph), _errors(len(data.domains))
    for v, domain in enumerate(data.domains):
        seen = ~np.isnan(data.cells[:, v])
        values, weights = data.cells[seen, v], data.weights[seen]
        if not len(values) or domain.cardinality == 1:
            continue
        if domain.cardinality is None:
            what = _of_real(parts[v], values, weights, float(data.floors[v]), errors) if v in parts else None
        else:
            what = _of_names(circuit, v, marginals[v, : domain.cardinality], values, weights, errors)
        if what is not None:
            yield v, what


def _of_names(
    circuit: Circuit, v: int, model: FloatArray, values: FloatArray, weights: FloatArray, errors: float
) -> str | None:
    total = float(weights.sum())
    table = np.bincount(values.astype(np.int64), weights=weights, minlength=len(model)) / total
    worst = int(np.argmax(np.abs(model - table)))
    if abs(model[worst] - table[worst]) <= FREQUENCY + _chance(0.5, total, errors):
        return None
    return f"P({circuit.schema.label(v, worst)}) = {model[worst]:.3g}, in the table {table[worst]:.3g}"


@dataclass
class _RealColumn:
    """What a model says of a real column: normal parts on its scale (weight, mean, deviation), and atoms."""

    scales: set[Scale] = field(default_factory=set)
    normal: list[tuple[float, float, float]] = field(default_factory=list)
    atoms: dict[Atom, float] = field(default_factory=dict)


def _of_real(column: _RealColumn, values: FloatArray, weights: FloatArray, floor: float, errors: float) -> str | None:
    """Compare the frequencies of atoms, and the other numbers on their scale."""
    total = float(weights.sum())
    chances: dict[float, float] = {}
    for atom, weight in column.atoms.items():
        chances[atom.value] = chances.get(atom.value, 0.0) + weight
    for value, chance in chances.items():
        in_table = float(weights[values == value].sum()) / total
        if abs(chance - in_table) > FREQUENCY + _chance(0.5, total, errors):
            return f"P({value:g}) = {chance:.3g}, in the table {in_table:.3g}"
    if len(column.scales) != 1:
        return None
    scale, rest = next(iter(column.scales)), ~np.isin(values, list(chances))
    numbers, parts = scale.forward(values[rest]), np.array(column.normal)
    possible = ~np.isnan(numbers)
    if not possible.any() or (scale.kind != "plain" and np.ptp(numbers[possible]) == 0):
        return None  # one number, or several that the scale does not tell apart, has no deviation to compare with
    parts[:, 0] /= parts[:, 0].sum()
    least = floor if scale.kind == "plain" else 0.0
    what = _of_numbers(parts, numbers[possible], weights[rest][possible], least, errors)
    return what if what is None or scale.kind == "plain" else f"{what}, on the {scale.kind} scale"


def _of_numbers(parts: FloatArray, values: FloatArray, weights: FloatArray, floor: float, errors: float) -> str | None:
    """Compare a mixture of normal distributions, rows (weight, mean, deviation), with a column of numbers."""
    total = float(weights.sum())
    weight, means, deviations = parts.T
    mean = float(weight @ means)
    deviation = float(np.sqrt(weight @ (deviations**2 + (means - mean) ** 2)))
    in_table = float(np.average(values, weights=weights))
    # A column of one value, or of steps, has the deviation of a rounding error.
    away = (values - in_table) ** 2
    spread = max(float(np.sqrt(np.average(away, weights=weights))), floor)
    # The standard error of log σ, in which outliers count: a bootstrap sample without them has a smaller deviation.
    of_deviation = 0.5 * float(np.sqrt(np.average((away / spread**2 - 1) ** 2, weights=weights)))
    if abs(mean - in_table) > spread * (MEAN + _chance(1.0, total, errors)):
        return f"mean {mean:.4g}, in the table {in_table:.4g}"
    if abs(np.log(deviation / spread)) > np.log(RATIO) + _chance(of_deviation, total, errors):
        return f"deviation {deviation:.4g}, in the table {spread:.4g}"
    order = np.argsort(values, kind="stable")
    values, reached = values[order], np.cumsum(weights[order]) / total
    for p in QUANTILES:
        quantile = values[min(int(np.searchsorted(reached, p)), len(values) - 1)]
        below = float(reached[np.searchsorted(values, quantile, side="left") - 1]) if quantile > values[0] else 0.0
        up_to = float(reached[np.searchsorted(values, quantile, side="right") - 1])
        model = float(weight @ ndtr((quantile - means) / deviations))
        slack = BELOW + _chance(0.5, total, errors)
        if not below - slack <= model <= up_to + slack:
            return f"P(at most {quantile:.4g}) = {model:.3g}, in the table {up_to:.3g}"
    return None


def _errors(n_columns: int) -> float:
    """Return how many standard errors of few rows are added to each tolerance: among many columns some are far off."""
    return -float(ndtri(RARE / n_columns))


def _chance(deviation: float, rows: float, errors: float) -> float:
    """Return what few rows may differ by."""
    return errors * deviation / float(np.sqrt(max(rows, 1.0)))


def _real_columns(graph: Graph) -> dict[int, _RealColumn]:
    """Return the mixture that each real variable has by itself."""
    found: dict[int, _RealColumn] = {}
    for node, weight in _leaves(graph):
        if isinstance(node, Atom):
            own = found.setdefault(node.variables[0], _RealColumn())
            own.atoms[node] = own.atoms.get(node, 0.0) + weight
        elif isinstance(node, Transformed | Gaussian | ExchangeableGaussian | MultivariateGaussian):
            normal = node.base if isinstance(node, Transformed) else node
            scales = node.scales if isinstance(node, Transformed) else (PLAIN,) * len(node.variables)
            means, covariance = normal.moments()
            numbers = means.tolist(), np.sqrt(np.diag(covariance)).tolist()
            for v, scale, mean, deviation in zip(node.variables, scales, *numbers, strict=True):
                own = found.setdefault(v, _RealColumn())
                own.scales.add(scale)
                own.normal.append((weight, mean, deviation))
    return found


def _leaves(graph: Graph) -> Iterator[tuple[Leaf, float]]:
    """Yield each leaf with the fraction of the rows that reaches it."""
    reached = np.zeros(len(graph))
    reached[-1] = 1.0
    for index in range(len(graph) - 1, -1, -1):  # parents come after children
        node, weight = graph.nodes[index], float(reached[index])
        if isinstance(node, Leaf):
            yield node, weight
        else:
            weights = node.weights if isinstance(node, Sum) else np.ones(len(node.children))
            np.add.at(reached, graph.child_ids(node), weight * weights)


# -- simple models -----------------------------------------------------------------------------------------------------

Score = Callable[[AnyArray], FloatArray]  # the log-likelihood of each row of codes


def reference_model(train: Table, leaf_learner: str, smoothing: float | None = None) -> Score:
    """Return how rows score under one leaf of the whole table; nothing is searched for.

    Args:
        train: The training table.
        leaf_learner: "factorized" for independent columns, "chow_liu" for a tree of binary ones, "auto" for a mixture
            of the leaves that there are.
        smoothing: The pseudo-count; the default one if it is None.

    Examples:
        >>> train = Table.of([[0, 1], [1, 1], [0, 1], [1, 0]])
        >>> np.exp(reference_model(train, "factorized", smoothing=0.0)(train.codes)).round(4).tolist()
        [0.375, 0.375, 0.375, 0.125]
    """
    data = training_data(train)
    n_rows, n_variables = data.shape
    whole = source_of(data).slice_of(Task(Rows(np.arange(n_rows), data.weights), np.arange(n_variables), 0))
    alpha = LearnConfig.smoothing if smoothing is None else smoothing
    leaf = whole.leaf(LearnConfig(leaf_learner=leaf_learner, exchangeability=None, smoothing=alpha))
    return Circuit.of_graph(Graph(leaf.node, n_variables)).log_likelihood
