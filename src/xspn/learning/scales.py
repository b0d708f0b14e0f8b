"""What each real column of a table can be: its scale, its steps, and the values that many rows share.

A table is learned from on the scales of its columns, where they are as normal as they can be made, and what is learned
is put back into the columns' own units. A scale belongs to a column, or to all columns that are alike; the change of
units is then the same factor for every model of the rows, and no score needs to know of it.

Scales are compared by the BIC of mixtures of up to three normals, in the column's own units, ends that are estimated
paid for. Where numbers have one sign, so has what is drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum
from xspn.learning.leaf_learners.normal_mixtures import mixture_evidence
from xspn.learning.likeness import groups_of_columns
from xspn.learning.table_data import LEAST_SPREAD, VARIANCE_OF_ROUNDING, TableData
from xspn.leaves.atom import Atom
from xspn.leaves.exchangeable_gaussian import ExchangeableGaussian
from xspn.leaves.gaussian import Gaussian
from xspn.leaves.multivariate_gaussian import MultivariateGaussian
from xspn.leaves.scales import Scale
from xspn.leaves.transformed import NORMAL, Normal, Transformed

ATOM_FRACTION, ATOM_ROWS = 0.05, 10.0  # an atom has so many rows at least,
ATOM_FACTOR = 4.0  # and so many times as many as any value that is none
MOST_ATOMS = 10
MOST_DIGITS = 5  # that numbers which come in steps have beyond their spread
WHOLE = 1e-6  # how near to a whole number of steps a number must be, beside the step and beside itself
SOFT, ASINH = (0.1, 0.5), (1.0, 3.0)  # units of "soft" and "asinh" scales, in deviations
NEAR, ENDS_FRACTION, ENDS_ROWS = 0.1, 0.02, 5.0  # a bounded column has so many rows so near to each of its ends
WILD = 3.0  # deviations of the column that a model of it may have on a scale: tails of logarithms may be endless
WILDEST, HALVINGS = 30.0, 40  # deviations of the column that a single leaf may have, which is found by bisection
STRAIGHT = 1e-6  # spread of numbers on a scale, beside themselves, below which it does not bend
ROWS_TRIED = 800  # quantiles of a column stand for it
FEW_ROWS = 20.0  # of fewer nothing can be told but the sign


@dataclass(frozen=True)
class ColumnScale:
    """What a real column can be.

    Attributes:
        scale: The scale of all but its atoms.
        atoms: The values that many rows share.
        places: Where the atoms are on the scale.
        width: The numbers that an atom stands for: an interval of this length.
        spread: The column's deviation, in its own units.
    """

    scale: Scale
    atoms: tuple[float, ...] = ()
    places: tuple[float, ...] = ()
    width: float = 0.0
    spread: float = 1.0

    def forward(self, x: FloatArray) -> FloatArray:
        """Return numbers on the scale, atoms at their places."""
        y = self.scale.forward(x)
        for value, place in zip(self.atoms, self.places, strict=True):
            y = np.where(x == value, place, y)
        return np.asarray(y)

    def restored(self, atom: Atom) -> Atom:
        """Return an atom on the scale as one in the column's own units."""
        nearest = int(np.argmin(np.abs(np.array(self.places) - atom.value)))
        return Atom(atom.variables[0], self.atoms[nearest], self.width)


def on_scales(data: TableData) -> tuple[TableData, dict[int, ColumnScale]]:
    """Return a table on the scales of its real columns, and the scales."""
    found: dict[int, ColumnScale] = {}
    real = [v for v, domain in enumerate(data.domains) if not domain.is_discrete]
    values = {v: _Values.of(data, v) for v in real}
    alike = {v: (int(data.groups[v]), _step_of(values[v])) for v in real}
    for group in dict.fromkeys(alike.values()):
        members = [v for v in real if alike[v] == group]
        found |= zip(members, _scales_of([values[v] for v in members], group[1]), strict=True)
    found = {v: replace(own, spread=float(data.spreads[v])) for v, own in found.items()}
    cells, spreads, floors = data.cells.copy(), data.spreads.copy(), data.floors.copy()
    atoms: list[tuple[tuple[float, float], ...]] = [()] * len(data.domains)
    for v, own in found.items():
        x = data.cells[:, v]
        cells[:, v] = own.forward(x)
        rest = ~np.isnan(x) & ~np.isin(x, own.atoms)
        if len(np.unique(x[rest])) < 2:
            atoms[v] = tuple((place, own.width) for place in own.places)
            if own.atoms and not rest.any():  # how far other numbers would be, nobody knows: its size is a guess
                spreads[v] = max(float(spreads[v]), *(abs(value) for value in own.atoms))
            continue
        spreads[v], floors[v] = _spread_and_floor(own.scale, x[rest], cells[rest, v], data.weights[rest], floors[v])
        pairs = zip(own.atoms, own.places, strict=True)
        atoms[v] = tuple((place, _width_on_scale(own, value, float(floors[v]))) for value, place in pairs)
    number = {scale: k for k, scale in enumerate(dict.fromkeys(own.scale for own in found.values()), start=1)}
    of_column = np.array([number[found[v].scale] if v in found else 0 for v in range(len(data.domains))])
    alike_on_scales = groups_of_columns(cells, data.weights, data.domains)
    groups = np.unique(np.stack([alike_on_scales, of_column]), axis=1, return_inverse=True)[1].reshape(-1)
    on = replace(data, cells=cells, spreads=spreads, floors=floors, groups=groups)
    return replace(on, atoms=tuple(atoms), scales=tuple(of_column.tolist())), found


def presentation_of(data: TableData) -> dict[int, Scale]:
    """Return how the numbers of each real column are given: in which steps, and on which side of 0 if on one.

    Nothing is learned on these scales: what is drawn or filled in is rounded and reflected by them.
    """
    found: dict[int, Scale] = {}
    for v, domain in enumerate(data.domains):
        if not domain.is_discrete and len((values := _Values.of(data, v)).numbers) > 1:
            ends = 0.0 if values.numbers[0] >= 0 else None, 0.0 if values.numbers[-1] <= 0 else None
            found[v] = Scale(step=_step_of(values), least=ends[0], most=ends[1])
    return {v: scale for v, scale in found.items() if not scale.is_plain}


def in_own_units(graph: Graph, scales: dict[int, ColumnScale]) -> Graph:
    """Return a circuit that was learned on scales as one over the columns' own units."""

    def visit(node: Node, children: Sequence[Node]) -> Node:
        if isinstance(node, Sum):
            return Sum(node.weights, children)
        if isinstance(node, Product):
            return Product(children)
        if isinstance(node, Atom):
            return scales[node.variables[0]].restored(node)
        if isinstance(node, NORMAL) and not all(scales[v].scale.is_plain for v in node.variables):
            columns = [scales[v] for v in node.variables]
            return Transformed(_tamed(node, columns), [own.scale for own in columns])
        return node

    root: Node = graph.rebuild(visit)
    return Graph(root, graph.n_variables)


def _tamed(leaf: Normal, columns: Sequence[ColumnScale]) -> Normal:
    """Return a leaf narrowed on its scales where it would vary far more than its columns do.

    One row at 10¹² among others near 1 is a context of its own, with a deviation that is a matter of smoothing; on a
    scale of logarithms that is a matter of powers of ten.
    """
    mean, covariance = leaf.moments()
    pairs = zip(columns, mean.tolist(), np.diag(covariance).tolist(), strict=True)
    factors = np.array([_narrowing(own, middle, variance) for own, middle, variance in pairs])
    if (factors == 1).all():
        return leaf
    if isinstance(leaf, MultivariateGaussian):
        return MultivariateGaussian(leaf.variables, mean, covariance * np.outer(factors, factors))
    std = leaf.std * float(factors.min())
    if isinstance(leaf, Gaussian):
        return Gaussian(leaf.variables[0], leaf.mean, std)
    return ExchangeableGaussian(leaf.variables, leaf.mean, std, leaf.correlation)


def _narrowing(column: ColumnScale, mean: float, variance: float) -> float:
    """Return by which factor a deviation on a scale is reduced: 1, but for leaves far wider than their column."""
    if column.scale.kind not in ("log", "asinh"):
        return 1.0

    def is_wild(factor: float) -> bool:
        return bool(column.scale.moments(np.array(mean), np.array(factor**2 * variance))[1] > most)

    most = (WILDEST * column.spread) ** 2
    if not is_wild(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_wild(middle) else (middle, high)
    return low or high


@dataclass(frozen=True, eq=False)
class _Values:
    """The numbers of a column, without what is missing, in rising order, each once with its weight."""

    numbers: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, data: TableData, column: int) -> "_Values":
        x = data.cells[:, column]
        seen = ~np.isnan(x)
        numbers, which = np.unique(x[seen] + 0.0, return_inverse=True)
        return cls(numbers, _sums_of(which, data.weights[seen]))

    @property
    def total(self) -> float:
        return float(self.weights.sum())

    def without(self, numbers: Sequence[float]) -> "_Values":
        keep = ~np.isin(self.numbers, numbers)
        return _Values(self.numbers[keep], self.weights[keep])

    @property
    def spread(self) -> float:
        mean = self.weights @ self.numbers / self.total
        return float(np.sqrt(self.weights @ (self.numbers - mean) ** 2 / self.total))

    def quantiles(self, p: FloatArray) -> FloatArray:
        reached = (np.cumsum(self.weights) - self.weights / 2) / self.total
        return np.asarray(np.interp(p, reached, self.numbers))


def _sums_of(which: AnyArray, weights: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(which.reshape(-1), weights=weights), dtype=np.float64)


def _scales_of(columns: list[_Values], step: float) -> list[ColumnScale]:
    """Return the scales of columns that are alike, in steps or not: one scale for all, atoms of each."""
    numbers, which = np.unique(np.concatenate([c.numbers for c in columns]), return_inverse=True)
    both = _Values(numbers, _sums_of(which, np.concatenate([c.weights for c in columns])))
    if len(numbers) < 2:
        return [_of_one_number(column) for column in columns]
    atoms = [_atoms_of(column, step) for column in columns]
    rest = [column.without(own) for column, own in zip(columns, atoms, strict=True)]
    shared = both.without([value for own in atoms for value in own])
    if len(shared.numbers) < 2:
        scale = Scale(step=step)
    else:
        scale = _best_scale(shared, [own for own in rest if len(own.numbers) > 1], numbers, step)
    return [_with_atoms(scale, own, left, step) for own, left in zip(atoms, rest, strict=True)]


def _of_one_number(column: _Values) -> ColumnScale:
    """Return the scale of a column that has one number in all rows: an atom, if there are enough of them."""
    if not len(column.numbers) or column.total < ATOM_ROWS:
        return ColumnScale(Scale())
    value = float(column.numbers[0])
    return ColumnScale(Scale(), (value,), (value,), _last_digit(value))


def _last_digit(value: float) -> float:
    """Return what a number is rounded to as it is written: a power of ten up to 1, or a fraction of it."""
    for digits in range(MOST_DIGITS + 1):
        if round(value, digits) == value:
            return float(10.0**-digits)
    return LEAST_SPREAD * abs(value)


def _with_atoms(scale: Scale, atoms: tuple[float, ...], rest: _Values, step: float) -> ColumnScale:
    if not atoms:
        return ColumnScale(scale)
    places = scale.forward(np.array(atoms))
    y = scale.forward(rest.numbers) if len(rest.numbers) else np.zeros(1)
    y = y[np.isfinite(y)] if np.isfinite(y).any() else np.zeros(1)
    apart = float(y.max() - y.min()) / 4 or 1.0
    # Atoms out of the range keep their order, beyond the numbers inside.
    beyond = [y.min() - apart if scale.unit > 0 and value <= scale.low else y.max() + apart for value in atoms]
    places = np.where(np.isnan(places), beyond, places)
    spread = rest.spread if len(rest.numbers) > 1 else 1.0
    return ColumnScale(scale, atoms, tuple(places.tolist()), step or LEAST_SPREAD * spread)


def _step_of(column: _Values) -> float:
    """Return the power of ten that all numbers are multiples of, up to rounding; 0 if they have too many digits."""
    numbers = column.numbers
    if len(numbers) < 2:
        return 0.0
    first = int(np.floor(np.log10(column.spread)))
    for digits in range(MOST_DIGITS + 1):
        step = 10.0 ** (first - digits)
        steps = numbers / step
        off = np.abs(steps - np.round(steps))  # of a number far below the step as much as it is: it is not zero
        if np.abs(steps).max() < 1e9 and (off <= WHOLE * np.minimum(np.abs(np.round(steps)), 1.0)).all():
            return float(step)
    return 0.0


def _atoms_of(column: _Values, step: float) -> tuple[float, ...]:
    """Return the values that many rows share, far more than any other value."""
    if len(column.numbers) < 2:
        return ()
    often = column.weights >= max(ATOM_FRACTION * column.total, ATOM_ROWS)
    most = float(column.weights[~often].max(initial=0.0))
    found = column.numbers[often & (column.weights >= ATOM_FACTOR * most)]
    if len(found) > MOST_ATOMS:
        found = found[:0]
    one_sided = column.numbers[0] == 0 or column.numbers[-1] == 0
    if one_sided and step == 0 and 0.0 not in found and column.total >= FEW_ROWS:  # a logarithm has no place for it
        found = np.append(found, 0.0)
    return tuple(np.sort(found).tolist())


def _best_scale(shared: _Values, columns: list[_Values], numbers: FloatArray, step: float) -> Scale:
    """Return the scale of best BIC for columns that are alike; the usual one unless another is clearly better."""
    spread, total = shared.spread, sum(column.total for column in columns)
    candidates = _candidates(shared, numbers, step, spread)
    chosen = candidates[0][0]
    if total >= FEW_ROWS * len(columns):
        candidates = [pair for pair in candidates if pair[0].is_plain or _is_tame(pair[0], shared)]
        scores = [_score(scale, columns) - price * np.log(total) for scale, price in candidates]
        scores[0] += np.log(total)
        chosen = candidates[int(np.argmax(scores))][0]
    least, most = (0.0 if numbers[0] >= 0 else None), (0.0 if numbers[-1] <= 0 else None)
    return replace(chosen, step=step, least=least, most=most)


def _candidates(shared: _Values, numbers: FloatArray, step: float, spread: float) -> list[tuple[Scale, float]]:
    """Return the scales that a column may have, the usual one first, each with half the number of its parameters."""
    low, high = float(shared.numbers[0]), float(shared.numbers[-1])
    quarter, middle, last = shared.quantiles(np.array([0.25, 0.5, 0.75])).tolist()
    width = (last - quarter) / 1.349 or spread
    found = [(Scale(), 0.0), *((Scale("asinh", middle, factor * width), 1.0) for factor in ASINH)]
    sign = 1.0 if numbers[0] >= 0 else -1.0 if numbers[-1] <= 0 else 0.0
    if sign and (
        step or sign * (low if sign > 0 else high) > 0
    ):  # half a step beyond zero, so that zero is possible where numbers are rounded
        found += [(Scale("soft", -sign * step / 2, sign * factor * spread), 0.0) for factor in SOFT]
        found.append((Scale("log", -sign * step / 2, sign * spread), 0.0))
    ends = _natural_ends(low, high, step)
    if _reaches(shared, *ends):
        found.append((Scale("logit", ends[0], ends[1] - ends[0]), 1.0))
    return found


def _is_tame(scale: Scale, shared: _Values) -> bool:
    """Whether numbers that are normal on a scale vary about as much as those of the column, tails included.

    And whether the scale is more than a straight line that costs digits, as logarithms of 2⁵³, 2⁵³ + 2, … are.
    """
    y, chances = scale.forward(shared.numbers), shared.weights / shared.total
    if np.ptp(y) < STRAIGHT * np.abs(y).max():
        return False
    mean = chances @ y
    with np.errstate(over="ignore"):
        variance = float(scale.moments(mean, chances @ (y - mean) ** 2)[1])
    return bool(np.sqrt(variance) < WILD * shared.spread)


def _reaches(shared: _Values, low: float, high: float) -> bool:
    """Whether rows come near both ends of a range; otherwise the next row may be beyond."""
    near = NEAR * (high - low)
    least = max(ENDS_FRACTION * shared.total, ENDS_ROWS)
    below, above = shared.numbers <= low + near, shared.numbers >= high - near
    return bool(min(shared.weights @ below, shared.weights @ above) >= least)


def _natural_ends(low: float, high: float, step: float) -> tuple[float, float]:
    """Return ends that a column may have by its nature: 0 and 1, −1 and 1, 0 and 100; half a step beyond rows.

    Other ends are never taken from a table: the next row may be beyond, and would be impossible.
    """
    most = 10.0 ** np.ceil(np.log10(max(abs(low), abs(high))) - 1e-12)
    ends = 0.0 if low >= 0 else -most, 0.0 if high <= 0 else most
    half = step / 2 or LEAST_SPREAD * (high - low)
    return float(ends[0] - half * (ends[0] >= low)), float(ends[1] + half * (ends[1] <= high))


def _score(scale: Scale, columns: list[_Values]) -> float:
    """Return the evidence of mixtures of normals on a scale, in the columns' own units."""
    p = (np.arange(ROWS_TRIED) + 0.5) / ROWS_TRIED
    found = 0.0
    for column in columns:
        few = len(column.numbers) <= ROWS_TRIED
        x = column.numbers if few else column.quantiles(p)
        weights = column.weights if few else np.full(ROWS_TRIED, column.total / ROWS_TRIED)
        y = scale.forward(x)
        floor = _spread_and_floor(scale, x, y, weights, scale.step * VARIANCE_OF_ROUNDING**0.5)[1]
        found += mixture_evidence(y, weights, floor) + float(weights @ scale.log_derivative(x))
    return found


def _spread_and_floor(
    scale: Scale, x: FloatArray, y: FloatArray, weights: FloatArray, floor: float
) -> tuple[float, float]:
    """Return the deviation on the scale, and the least that a leaf may have: that of rounding at a usual number."""
    total = weights.sum()
    spread = float(np.sqrt(weights @ (y - weights @ y / total) ** 2 / total))
    if not spread > 0:
        return 1.0, 1.0
    if scale.kind == "plain":
        return spread, max(floor, LEAST_SPREAD * spread)
    order = np.argsort(x, kind="stable")
    usual = x[order[min(int(np.searchsorted(np.cumsum(weights[order]), total / 2)), len(order) - 1)]]
    rounding = scale.step * VARIANCE_OF_ROUNDING**0.5 * float(np.exp(scale.log_derivative(np.array([usual]))[0]))
    return spread, max(rounding, LEAST_SPREAD * spread)


def _width_on_scale(own: ColumnScale, value: float, floor: float) -> float:
    """Return the interval that an atom stands for on the scale; that of the least deviation if it is out of range."""
    slope = float(own.scale.log_derivative(np.array([value]))[0])
    return own.width * float(np.exp(slope)) if np.isfinite(slope) else floor / VARIANCE_OF_ROUNDING**0.5
