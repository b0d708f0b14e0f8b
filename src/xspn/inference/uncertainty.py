"""How sure an answer is: credible intervals from the rows that stand behind each parameter.

A circuit keeps, for every sum and every leaf, how many rows its parameters come from (`NodeCounts`). Given these, the
weights of a sum have a Dirichlet posterior and the parameters of a leaf one of their own (`Leaf.sensitivity`), all of
them independent. The delta method takes their variances to an answer's log-odds: the derivative of log P(row) by the
logarithm of a weight is the flow along its edge, so a pass up and a pass down give all derivatives.

Rows that belong to several children in part tell less than whole ones (the missing information principle): a row of
which the fraction r comes to a leaf tells r² of what a whole row tells of it.

What the parameters' posterior does not know is whether the structure is right. `NodeCounts.inflation` is measured for
that: by how much the variance must be larger for the frequencies of events in a table to lie where the intervals say.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from statistics import NormalDist
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.sparse import block_diag, csr_array

from xspn.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from xspn.core.checks import Names, is_finite_number, is_real_number
from xspn.core.errors import FormatError, ParameterError
from xspn.engine import Program, RowBlock, flows, upward
from xspn.engine.program import SumStep
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum
from xspn.leaves.base import Leaf
from xspn.leaves.posterior import dirichlet

CELLS = 1 << 18  # slots × rows of a pass, of which there are a dozen tables
ROW_CELLS = 1 << 15  # columns × questions that are evaluated together
PART_CELLS = 1 << 20  # of rows, and of flows into leaves that are asked one by one, kept until they are
LEAF_CELLS = 1 << 17  # rows × parameters of a leaf that is asked
COUNTED_CELLS, TABLE_CELLS = 1 << 24, 1 << 24  # slots × rows, and cells, that are counted
FEWEST_COUNTED, MOST_COUNTED = 500, 20_000  # rows: of more a sample stands for all
QUESTIONS, FEWEST_QUESTIONS = 400, 20  # by which the inflation is measured
MOST_ITEMS = 4  # of evidence, in such a question
FEWEST_CASES = 3.0  # n p (1 − p): rarer events say next to nothing
LARGEST_INFLATION = 100.0
WIDEST = 2000  # variables of a leaf that is asked such questions
MEASURED_LEVEL = 0.9


@dataclass(frozen=True, eq=False)
class NodeCounts:
    """How many rows stand behind the parameters of each node.

    Attributes:
        rows: The effective number for each node of the graph; 0 at products.
        inflation: The factor on variances that the fit of the structure calls for, at least 1.
        is_ensemble: Whether the children of the root are models of the same rows, whose spread counts.
    """

    rows: FloatArray
    inflation: float = 1.0
    is_ensemble: bool = False

    def to_plain(self, graph: Graph) -> dict[str, Any]:
        """Return it in the values that JSON holds: a number for each sum and leaf, in six digits."""
        own = [float(f"{rows:.6g}") for rows, inner in zip(self.rows, _has_parameters(graph), strict=True) if inner]
        return {"rows": own, "inflation": float(f"{self.inflation:.6g}"), "ensemble": self.is_ensemble}

    @classmethod
    def from_plain(cls, stored: Any, graph: Graph, source: str) -> "NodeCounts":
        """Return what a file keeps of a circuit, or say that it cannot be read."""
        where = _has_parameters(graph)
        rows = stored.get("rows") if isinstance(stored, dict) else None
        good = isinstance(rows, list) and len(rows) == int(where.sum()) and all(is_finite_number(n, 0) for n in rows)
        if not good or not is_finite_number(stored.get("inflation"), 1) or type(stored.get("ensemble")) is not bool:
            raise FormatError(f"{source}: 'counts' are not a number for each sum and leaf; the file was altered")
        own = np.zeros(len(graph))
        own[where] = rows
        return cls(own, float(stored["inflation"]), stored["ensemble"])


def _has_parameters(graph: Graph) -> BoolArray:
    """Return which nodes are sums or leaves."""
    return np.array([not isinstance(node, Product) for node in graph.nodes], dtype=bool)


@dataclass(frozen=True, eq=False)
class CredibleInterval:
    """Probabilities, and where they lie as far as the rows that were learned from tell.

    Attributes:
        estimate: What the model says.
        low: The lower end.
        high: The upper end.
        level: The probability with which the truth lies between them.
        method: "delta", or "simulation" from the posterior of the parameters.

    Examples:
        >>> CredibleInterval.of(np.array([0.5, 0.1, 0.0]), np.array([0.2, 0.2, np.inf]), level=0.9)
        CredibleInterval(3 probabilities, level=0.9, method='delta')
        >>> CredibleInterval.of(np.array([0.5]), np.array([0.2]), level=0.9).high.round(3).tolist()
        [0.582]
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    method: str = "delta"

    @classmethod
    def of(cls, estimate: FloatArray, deviation: FloatArray, level: float, method: str = "delta") -> "CredibleInterval":
        """Return the interval that is symmetric in log-odds; what is impossible or certain stays so."""
        z = NormalDist().inv_cdf(0.5 + level / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            logit = np.log(estimate) - np.log1p(-estimate)
            low, high = (np.where(np.isinf(logit), estimate, _expit(logit + side * z * deviation)) for side in (-1, 1))
        return cls(estimate, low, high, level, method)

    def __repr__(self) -> str:
        return f"CredibleInterval({self.estimate.size} probabilities, level={self.level:g}, method={self.method!r})"


def _expit(x: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))


def check_level(level: Any) -> float:
    """Return the level of an interval, or say what was expected."""
    if not is_real_number(level) or not 0 < level < 1:
        raise ParameterError(f"interval: expected a level between 0 and 1, such as 0.9, found {level!r}")
    return float(level)


# -- derivatives -------------------------------------------------------------------------------------------------------


class _LeafFlows:
    """The flow into each leaf, however many slots it is part of; and how much of each leaf a row shows."""

    def __init__(self, graph: Graph, program: Program) -> None:
        leaves: dict[int, tuple[int, Leaf]] = {}
        places, slots = [], []
        for start, block in program.blocks:
            for slot, behind in enumerate(block.slot_leaves(), start):
                for leaf in behind:
                    places.append(leaves.setdefault(id(leaf), (len(leaves), leaf))[0])
                    slots.append(slot)
        self.leaves = [leaf for _, leaf in leaves.values()]
        self.nodes = np.array([graph.id_of(leaf) for leaf in self.leaves])
        self.of_slots = csr_array((np.ones(len(slots)), (places, slots)), shape=(len(self.leaves), program.n_slots))
        sizes = [len(leaf.variables) for leaf in self.leaves]
        columns = np.concatenate([leaf.variables for leaf in self.leaves])
        cells = (np.repeat(1 / np.array(sizes), sizes), (np.repeat(np.arange(len(sizes)), sizes), columns))
        self.of_columns = csr_array(cells, shape=(len(self.leaves), len(program.domains)))

    def __call__(self, flow: FloatArray) -> FloatArray:
        """Return the flow into each leaf: (leaves, rows)."""
        return np.asarray(self.of_slots @ flow)

    def seen(self, rows: RowBlock) -> FloatArray:
        """Return the fraction of each leaf's variables that is observed: (leaves, rows)."""
        return np.asarray(self.of_columns @ rows.observed)


class _Split:
    """What sums do with flow, up to a factor: Σ_k F_k² / w_k − (Σ_k F_k)² for each of them."""

    def __init__(self, coefficients: Any = None) -> None:
        self.coefficients, self.found = coefficients, dict[int, list[Any]]()

    def __call__(self, step: SumStep, place: int, flow: FloatArray) -> None:
        own = flow if self.coefficients is None else (self.coefficients @ flow.T).T
        weight = np.exp(step.log_weights[place])[:, None]
        squares = np.divide(own**2, weight, out=np.zeros_like(own), where=weight > 0)
        known = self.found.setdefault(id(step), [step, 0.0, 0.0])
        known[1], known[2] = known[1] + squares, known[2] + own

    def __iter__(self) -> Iterator[tuple[SumStep, FloatArray]]:
        """Yield each step of sums with its numbers: (sums, rows or questions)."""
        for step, squares, total in self.found.values():
            yield step, np.maximum(squares - total**2, 0.0)


class _Part(NamedTuple):
    """Some of many questions, on the way to their variances."""

    rows: FloatArray
    asked: Any  # coefficients: (questions, rows), sparse
    found: FloatArray  # so far, without the inflation
    alone: list[int]  # leaves that are evaluated one by one
    reached: FloatArray  # the flow into them: (leaves, rows)


class DeltaMethod:
    """Variances of log-probabilities under the posterior of a circuit's parameters.

    Args:
        graph: The circuit.
        program: The same, compiled.
        counts: The rows behind its nodes.
        leaf_flows: What leads to its leaves, where that is known already.
    """

    def __init__(
        self, graph: Graph, program: Program, counts: NodeCounts, leaf_flows: _LeafFlows | None = None
    ) -> None:
        self.program, self.counts = program, counts
        self.leaf_flows = _LeafFlows(graph, program) if leaf_flows is None else leaf_flows

    @cached_property
    def _together(self) -> list[tuple[list[int], Any]]:
        """Leaves that are evaluated at once, by their places, and the function; None for leaves on their own."""
        families: dict[type[Leaf], list[int]] = {}
        for place, leaf in enumerate(self.leaf_flows.leaves):
            if leaf.n_parameters:
                families.setdefault(type(leaf), []).append(place)
        return [
            (places, family.sensitivity_together([self.leaf_flows.leaves[place] for place in places]))
            for family, places in families.items()
        ]

    def variances(self, rows: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Return the variance of Σ coefficient · log P(row) for each question.

        Args:
            rows: Rows of codes, NaN where a value is summed out: (rows, variables).
            coefficients: (questions, rows); a row of probability zero must have none.
        """
        return self.total([self.by_sums(rows, upward(self.program, RowBlock(rows)), coefficients)])

    def by_sums(self, rows: FloatArray, values: FloatArray, coefficients: FloatArray) -> "_Part":
        """Return what sums, and leaves that are evaluated at once, add to the variances; `values` are of a pass up."""
        asked = csr_array(coefficients)  # a question is about a few of the rows
        split = _Split(asked)
        reached = self.leaf_flows(flows(self.program, values, see=split))
        found, behind = np.zeros(len(coefficients)), self.counts.rows + 1
        for step, own in split:
            found += (own / behind[step.nodes][:, None]).sum(axis=0)
        alone: list[int] = []
        for places, function in self._together:
            if function is None:
                alone += places
                continue
            own = asked @ (reached[places] * function(rows)).T
            found += (own**2 / behind[self.leaf_flows.nodes[places]]).sum(axis=1)
        if self.counts.is_ensemble:
            found += self._spread(values, coefficients)
        return _Part(rows, asked, found, alone, reached[alone])

    def total(self, parts: "Sequence[_Part]") -> FloatArray:
        """Return variances, with what all other leaves add: each is asked once, about the rows of all parts."""
        rows, asked = np.concatenate([own.rows for own in parts]), block_diag([own.asked for own in parts], "csc")
        found, behind = np.concatenate([own.found for own in parts]), self.counts.rows + 1
        reached = np.concatenate([own.reached for own in parts], axis=1)
        unseen = np.isnan(rows)
        for place, flow in zip(parts[0].alone, reached, strict=True):
            leaf = self.leaf_flows.leaves[place]
            columns = list(leaf.variables)
            told = np.flatnonzero((flow > 0) & ~unseen[:, columns].all(axis=1))
            own: Any = 0.0
            at_once = max(1, LEAF_CELLS // leaf.n_parameters)
            for some in np.split(told, range(at_once, len(told), at_once)):
                derivatives = leaf.sensitivity(rows[some[:, None], columns]) if len(some) else np.zeros((0, 1))
                own = own + asked[:, some] @ (flow[some, None] * derivatives)
            found += (own**2).sum(axis=1) / behind[self.leaf_flows.nodes[place]]
        return np.asarray(found * self.counts.inflation)

    def _spread(self, values: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Return the variance of the mean of an ensemble's members, each by its weight given the rows of a question."""
        slots, weights = _members(self.program)
        members = values[slots]
        possible = np.isfinite(members).all(axis=0)
        terms = np.where(possible, members, 0.0) + weights[:, None]
        fraction = np.exp(terms - np.logaddexp.reduce(terms, axis=0)) @ np.abs(coefficients).T
        fraction = fraction / np.maximum(fraction.sum(axis=0), np.finfo(float).tiny)  # (members, questions)
        own = np.where(possible, members, 0.0) @ coefficients.T
        apart = (fraction * (own - (fraction * own).sum(axis=0)) ** 2).sum(axis=0)
        return np.asarray(apart * (fraction**2).sum(axis=0))

    # -- marginals ---------------------------------------------------------------------------------------------------

    def marginals(self, evidence: AnyArray, table: FloatArray, columns: Sequence[int] | None = None) -> FloatArray:
        """Return the deviation of the log-odds of every value of every variable: (rows, variables, values).

        What is observed, impossible or certain has deviation 0; real and absent variables have NaN.

        Args:
            evidence: Rows of codes, NaN where a value is open.
            table: The marginals given each row.
            columns: The variables that are asked about; all by default.
        """
        out = np.where(np.isnan(table), np.nan, 0.0)
        asked = np.arange(table.shape[1]) if columns is None else np.asarray(columns)
        for row, known in enumerate(np.asarray(evidence, dtype=np.float64)):
            chosen = [int(v) for v in asked if np.isnan(known[v]) and self.program.cardinalities[v]]
            for part, rows, coefficients in self._completions(known, table[row], chosen):
                found = np.sqrt(self.variances(rows, coefficients))
                out[row, [v for v, _ in part], [value for _, value in part]] = found
        return out

    def _completions(
        self, known: FloatArray, table: FloatArray, columns: Sequence[int]
    ) -> Iterator[tuple[list[tuple[int, int]], FloatArray, FloatArray]]:
        """Yield (variable, value) pairs, the rows in which each is filled in, and coefficients of log-odds."""
        most = max(2, CELLS // self.program.n_slots)
        part: list[int] = []
        for place, column in enumerate(columns):
            part.append(column)
            size = sum(self.program.cardinalities[v] for v in part)
            if size >= most or place == len(columns) - 1:
                pairs = [(v, value) for v in part for value in range(self.program.cardinalities[v])]
                rows = np.tile(known, (len(pairs), 1))
                rows[np.arange(len(pairs)), [v for v, _ in pairs]] = [value for _, value in pairs]
                coefficients, start = np.zeros((len(pairs), len(pairs))), 0
                for v in part:
                    stop = start + self.program.cardinalities[v]
                    coefficients[start:stop, start:stop] = odds_of_values(table[v, : stop - start])
                    start = stop
                yield pairs, rows, coefficients
                part = []


def odds_of_values(probabilities: FloatArray) -> FloatArray:
    """Return the derivatives of the log-odds of each value by the log-probabilities of all of them.

    Examples:
        >>> odds_of_values(np.array([0.5, 0.125, 0.375])).round(3).tolist()
        [[1.0, -0.25, -0.75], [-0.571, 1.0, -0.429], [-0.8, -0.2, 1.0]]
    """
    others = 1 - probabilities[:, None]
    found = -np.divide(probabilities[None, :], others, out=np.zeros((len(others), len(others))), where=others > 0)
    np.fill_diagonal(found, 1.0)
    fixed = (probabilities <= 0) | (probabilities >= 1)
    found[fixed] = 0.0
    return found


def _members(program: Program) -> tuple[IntArray, FloatArray]:
    """Return the slots of the root's children, and the logarithms of their weights; the root itself if it is no sum."""
    for step in program.steps:
        if isinstance(step, SumStep) and step.start <= program.root < step.stop:
            place = program.root - step.start
            return step.children[:, place], step.log_weights[:, place]
    return np.array([program.root]), np.zeros(1)


# -- counts ------------------------------------------------------------------------------------------------------------


def count_rows(
    graph: Graph,
    program: Program,
    X: AnyArray,
    weights: FloatArray,
    X_new: AnyArray | None = None,
    new_weights: FloatArray | None = None,
    is_ensemble: bool = False,
    names: Names | None = None,
) -> NodeCounts:
    """Return how many rows stand behind each node of a circuit that was fitted to them.

    Every member of an ensemble of M comes from all rows, but not from rows of its own: each counts with 1 / M of them,
    so that the mean of all members is as sure as one of them.

    Args:
        graph: The circuit.
        program: The same, compiled.
        X: The rows that its parameters come from.
        weights: The weight of each row.
        X_new: Other rows, by which the inflation is measured; those of X by default, which flatter the model a little.
        new_weights: The weights of these; one each by default.
        is_ensemble: Whether the children of the root are models of the same rows.
        names: The names of the columns, for messages.
    """
    counted = np.flatnonzero(weights > 0)
    most = min(COUNTED_CELLS // program.n_slots, TABLE_CELLS // max(1, X.shape[1]))
    most = int(np.clip(most, FEWEST_COUNTED, MOST_COUNTED))
    rng = np.random.default_rng(0)
    scale = 1.0
    if len(counted) > most:
        total = float(weights.sum())
        counted = np.sort(rng.choice(counted, most, replace=False))
        scale = total / float(weights[counted].sum())
    rows = np.zeros(len(graph))
    reach, starts = _LeafFlows(graph, program), _members(program)[0] if is_ensemble else None
    for start, stop, block in program.row_blocks(X[counted], names, cells=CELLS):
        own = weights[counted[start:stop]]
        values, split = upward(program, block), _Split()
        own = own * ~np.isneginf(values[program.root])  # a row of probability zero tells nothing
        flow = flows(program, values, see=split, starts=starts)
        for step, told in split:
            rows[step.nodes] += told @ own / max(1, len(step.children) - 1)
        rows[reach.nodes] += (np.minimum(reach(flow), 1.0) ** 2 * reach.seen(block)) @ own  # members may share leaves
    if starts is not None and len(starts) > 1:
        rows /= len(starts)
        rows[-1] = float(weights[counted].sum())  # weights of members are not fitted to rows
    plain = NodeCounts(rows * scale, 1.0, is_ensemble)
    delta = DeltaMethod(graph, program, plain, reach)
    if X_new is None:
        factor = _inflation(delta, np.asarray(X[counted], dtype=np.float64), weights[counted] * scale, False, rng)
    else:
        own_weights = np.ones(len(X_new)) if new_weights is None else new_weights
        factor = _inflation(delta, np.asarray(X_new, dtype=np.float64), own_weights, True, rng)
    return NodeCounts(plain.rows, factor, is_ensemble)


def _inflation(delta: DeltaMethod, X: FloatArray, weights: FloatArray, new: bool, rng: np.random.Generator) -> float:
    """Return the least factor by which intervals cover as many frequencies of a table as they should.

    Questions are P(value | up to four values of a row). The frequency in the table has a binomial variance; if the
    model was fitted to these rows its own variance comes off, because then it is part of both.
    """
    program = delta.program
    if not len(X) or any(len(leaf.variables) > WIDEST for leaf in delta.leaf_flows.leaves):
        return 1.0
    asked = _questions_of_rows(program, X, weights, rng)
    found: list[FloatArray] = []
    of_model: list[FloatArray] = []
    parts: list[_Part] = []
    at_once = max(1, min(CELLS // (2 * program.n_slots), ROW_CELLS // max(1, X.shape[1])))
    while part := list(islice(asked, at_once)):
        rows = np.concatenate([own.rows for own in part])
        ends = np.cumsum([len(own.rows) for own in part])
        values = upward(program, RowBlock(rows))
        logs = values[program.root]
        coefficients, p = np.zeros((len(part), len(rows))), np.zeros(len(part))
        for place, (own, stop) in enumerate(zip(part, ends.tolist(), strict=True)):
            logs_of_values = logs[stop - len(own.rows) : stop]
            chances = np.exp(logs_of_values - np.logaddexp.reduce(logs_of_values))
            p[place] = chances[own.value]
            coefficients[place, stop - len(own.rows) : stop] = odds_of_values(chances)[own.value]
        n, hits = np.array([(own.n, own.hits) for own in part]).T
        cases = n * p * (1 - p)
        kept = cases > FEWEST_CASES
        if kept.any():
            parts.append(delta.by_sums(rows, values, coefficients[kept]))
            found.append(np.stack([(hits[kept] - n[kept] * p[kept]) / cases[kept], 1 / cases[kept]]))
        if sum(own.rows.size + own.reached.size for own in parts) > PART_CELLS:
            of_model.append(delta.total(parts))
            parts.clear()
    if parts:
        of_model.append(delta.total(parts))
    if sum(own.shape[1] for own in found) < FEWEST_QUESTIONS:
        return 1.0
    (away, of_table), variances = np.concatenate(found, axis=1), np.concatenate(of_model)
    expected = of_table + variances if new else np.maximum(of_table - variances, 0.0)
    z = NormalDist().inv_cdf(0.5 + MEASURED_LEVEL / 2)
    needed = 1 + np.maximum((away / z) ** 2 - expected, 0.0) / np.maximum(variances, np.finfo(float).tiny)
    return float(np.clip(np.quantile(needed, MEASURED_LEVEL), 1.0, LARGEST_INFLATION))


class _QuestionOfRows(NamedTuple):
    """How probable a value is given evidence, and how often that is so in a table."""

    rows: FloatArray  # the evidence with each value of the target
    value: int
    n: float
    hits: float


def _questions_of_rows(
    program: Program, X: FloatArray, weights: FloatArray, rng: np.random.Generator
) -> Iterator[_QuestionOfRows]:
    """Yield questions whose evidence are some values of a random row."""
    sizes = np.array(program.cardinalities)
    columns = np.flatnonzero(sizes > 1)
    if len(columns) < 2:
        return
    n_questions = int(np.clip(COUNTED_CELLS // (2 * program.n_slots), 2 * FEWEST_QUESTIONS, QUESTIONS))
    pairs = rng.choice(len(X), (n_questions, 2), p=weights / weights.sum())
    for first, other in pairs.tolist():
        order, n_items = rng.permutation(columns), int(rng.integers(MOST_ITEMS + 1))
        target, seen = int(order[0]), order[1:][~np.isnan(X[first, order[1:]])]
        items = seen[:n_items].tolist()
        value = X[other, target]
        if np.isnan(value):
            continue
        same = ~np.isnan(X[:, target])
        for v in items:
            same &= X[:, v] == X[first, v]
        rows = np.full((int(sizes[target]), X.shape[1]), np.nan)
        rows[:, items], rows[:, target] = X[first, items], np.arange(sizes[target])
        hits = float(weights[same & (X[:, target] == value)].sum())
        yield _QuestionOfRows(rows, int(value), float(weights[same].sum()), hits)


# -- simulation --------------------------------------------------------------------------------------------------------


def drawn_root(graph: Graph, counts: NodeCounts, rng: np.random.Generator) -> Node:
    """Return the circuit with all parameters drawn from their posterior."""

    def visit(node: Node, children: Sequence[Node]) -> Node:
        rows = float(counts.rows[graph.id_of(node)])
        if isinstance(node, Sum):
            return Sum(dirichlet(node.weights, rows, rng), children)
        return Product(children) if isinstance(node, Product) else cast(Leaf, node).posterior_draw(rows, rng)

    root: Node = graph.rebuild(visit)
    return root


def deviation_of_draws(estimate: FloatArray, draws: Sequence[FloatArray], inflation: float) -> FloatArray:
    """Return the deviation of log-odds over draws, about those of the estimate; 0 for what is impossible or certain."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logits = np.array([np.log(own) - np.log1p(-own) for own in draws])
        middle = np.log(estimate) - np.log1p(-estimate)
        away = np.where(np.isfinite(logits) & np.isfinite(middle), logits - middle, 0.0)
    return np.asarray(np.sqrt(inflation * (away**2).mean(axis=0)))
