"""Learning by evidence from rows with missing cells: structural EM, with draws in place of expectations.

Evidence in closed form is for whole rows. So missing cells are drawn from their distribution given the observed ones
under the circuit at hand, a circuit is learned from the completed rows, its parameters are fitted to what was observed,
and cells are drawn again (Friedman, 1998; Tanner and Wong, 1987). The first circuit, a product of the columns, takes
missing cells as they are. What is drawn never enters the parameters that are returned: EM sums missing cells out.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.exact import best_of
from xspn.core.random import child_seed
from xspn.engine.backend import Automatic
from xspn.engine.program import compile_graph
from xspn.graph.graph import Graph, summarize
from xspn.graph.nodes import Node, Product, Sum
from xspn.inference.queries import sample
from xspn.learning.assembly import Learned
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.em.fit import EMOptions, fit_parameters
from xspn.learning.source import TrainingData
from xspn.learning.steps import Progress
from xspn.leaves.atom import Atom
from xspn.leaves.base import Smoothing
from xspn.leaves.exchangeable_gaussian import ExchangeableGaussian
from xspn.leaves.gaussian import Gaussian
from xspn.leaves.multivariate_gaussian import MultivariateGaussian

ROUNDS, ROUNDS_OF_TABLES = 8, 4  # of columns of other types than bits, which take far longer
PASSES = 5  # of EM; further ones gain nothing on new rows
# Leaves are shrunk towards their surroundings when they are made. EM knows of none, and smooths more instead: so many
# times as leaves, where columns are discrete.
SMOOTHING = 5.0
MANY = 2**62  # rows: there are never so many
UNIT = 0.1  # deviations of a column
MOST_DRAWS = 20  # for one row, however much it weighs

Learn = Callable[[TrainingData, LearnConfig, Progress | None], Learned]


def learn_completed(
    data: TrainingData, config: LearnConfig, seed: int, learn: Learn, progress: Progress | None = None
) -> Learned:
    """Learn a circuit from rows with missing cells.

    Args:
        data: The rows.
        config: The choices, for learning by evidence.
        seed: The seed of the draws.
        learn: Learns a circuit from whole rows by evidence, or from any as a product of the columns.
        progress: Told how much of the work is done.
    """
    alone = replace(config, exchangeability=None, clustering="auto", leaf_learner="factorized", min_instances=MANY)
    rounds = ROUNDS if isinstance(data, BinaryData) else ROUNDS_OF_TABLES
    found = fitted_by_em(learn(data, alone, _part(progress, 0, rounds)), data, config)
    several = []
    for round in range(1, rounds + 1):
        rng = np.random.default_rng(child_seed(seed, round))
        completed = data.with_rows(*_drawn(found.graph, data, rng))
        found = fitted_by_em(learn(completed, config, _part(progress, round, rounds)), data, config)
        several.append((found, _score(found.graph, data)))
    # What is learned from draws varies with them, and now and then much more is grown than the observed cells support.
    return best_of(several, lambda pair: pair[1])[0]


def _score(graph: Graph, data: TrainingData) -> float:
    """Return the log-likelihood of the observed cells, less a nat for each parameter (Akaike)."""
    of_rows = Automatic(compile_graph(graph)).log_likelihood(data.rows())
    return float(data.weights @ of_rows) - summarize(graph).parameters


def fitted_by_em(learned: Learned, data: TrainingData, config: LearnConfig) -> Learned:
    """Fit all parameters to the observed cells together; the nodes stay what they are.

    Each leaf was fitted to the rows of its own slice. Whole, the circuit assigns rows to contexts by all that it knows.
    Real columns are in units of a part of their deviation, because smoothing keeps deviations off zero by a unit.
    """
    options = EMOptions(n_iter=PASSES, smoothing=smoothing_of_em(data, config))
    if isinstance(data, BinaryData):
        root = fit_parameters(learned.graph, data.rows(), options, data.weights).root
        return replace(learned, graph=Graph(root, data.shape[1]))
    units = units_of(learned.graph, data.spreads)
    root = fit_parameters(in_units(learned.graph, 1 / units), data.rows() / units, options, data.weights).root
    return replace(learned, graph=in_units(Graph(root, data.shape[1]), units, data.floors))


def smoothing_of_em(data: TrainingData, config: LearnConfig) -> Smoothing:
    """Return how EM smooths."""
    return Smoothing(config.smoothing * (SMOOTHING if data.discrete else 1.0), "values")


def units_of(graph: Graph, spreads: FloatArray) -> FloatArray:
    """Return a unit for each column; columns that share an exchangeable leaf have one unit."""
    units = UNIT * spreads
    for leaf in graph.leaves:
        if isinstance(leaf, ExchangeableGaussian):
            own = list(leaf.variables)
            same = np.isin(units, units[own])
            units[same] = units[own].max()
    discrete = [v for leaf in graph.leaves for v, d in zip(leaf.variables, leaf.domains, strict=True) if d.is_discrete]
    units[discrete] = 1.0
    return units


def in_units(graph: Graph, factors: FloatArray, floors: FloatArray | None = None) -> Graph:
    """Return a circuit with every real variable multiplied by a factor, no deviation below that of rounding."""
    least = np.zeros(len(factors)) if floors is None else floors

    def visit(node: Node, children: Sequence[Node]) -> Node:
        if isinstance(node, Sum):
            return Sum(node.weights, children)
        if isinstance(node, Product):
            return Product(children)
        variables = list(getattr(node, "variables", ()))
        by, own = factors[variables], least[variables]
        if isinstance(node, Gaussian):
            return Gaussian(node.variables[0], mean=node.mean * by[0], std=max(node.std * by[0], own[0]))
        if isinstance(node, ExchangeableGaussian):
            std = max(node.std * by[0], own.max())
            return ExchangeableGaussian(node.variables, node.mean * by[0], std, node.correlation)
        if isinstance(node, MultivariateGaussian):
            covariance = node.covariance * np.outer(by, by)
            covariance += np.diag(np.maximum(own**2 - np.diag(covariance), 0.0))
            return MultivariateGaussian(node.variables, node.mean * by, covariance)
        if isinstance(node, Atom):
            return Atom(node.variables[0], node.value * by[0], node.width * by[0])
        return node

    root: Node = graph.rebuild(visit)
    return Graph(root, graph.n_variables)


def _drawn(graph: Graph, data: TrainingData, rng: np.random.Generator) -> tuple[AnyArray, FloatArray]:
    """Return the rows with their missing cells drawn, once for each row that a weight stands for."""
    rows = np.asarray(data.rows(), dtype=np.float64)
    copies = np.where(np.isnan(rows).any(axis=1), np.clip(np.ceil(data.weights), 1, MOST_DRAWS), 1).astype(np.int64)
    which = np.repeat(np.arange(len(rows)), copies)
    return sample(Automatic(compile_graph(graph)), rows[which], rng), (data.weights / copies)[which]


def _part(progress: Progress | None, round: int, rounds: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, of: progress(round * of + done, (rounds + 1) * of)
