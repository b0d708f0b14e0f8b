"""Trees of hidden states, their blocks, kinds and smoothing chosen on rows kept apart."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from xspn.core.arrays import FloatArray
from xspn.core.random import child_seed
from xspn.graph.graph import Graph
from xspn.graph.nodes import Sum
from xspn.learning.assembly import Learned
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.exchangeability.groups import Part as TestedBlock
from xspn.learning.exchangeability.groups import binary_partition
from xspn.learning.hidden_tree import (
    CountedRows,
    FittedTree,
    Tree,
    TreeOptions,
    circuit_of,
    every_variable_alone,
    fit_tree,
    row_scores,
    sampled_tree,
    tree_of,
)
from xspn.learning.mevm.evidence import Partition
from xspn.learning.policy import Operation
from xspn.learning.quality.effort import Effort
from xspn.learning.quality.held_out import HeldOut
from xspn.learning.quality.part import Part, Partner
from xspn.learning.quality.work import Work
from xspn.learning.source import TrainingData
from xspn.learning.summary import Summary
from xspn.learning.trace import Trace, TraceEntry


@dataclass(frozen=True, eq=False)
class _Ground:
    """What trees over the same blocks have in common."""

    groups: tuple[TestedBlock, ...]
    rows: CountedRows

    @classmethod
    def of(cls, data: BinaryData, groups: tuple[TestedBlock, ...]) -> "_Ground":
        return cls(groups, CountedRows.of(data.rows(), data.weights, _blocks(groups)))


@dataclass(frozen=True, eq=False)
class _Plan:
    """What a tree is to be fitted with; by the rows kept apart, or up to the pass that they have found best."""

    ground: _Ground
    tree: Tree
    options: TreeOptions
    seed: int
    apart: CountedRows | None
    last_pass: int | None = None

    def carried_out(self) -> tuple[FittedTree, FloatArray]:
        """Fit the tree, and return it with the log-likelihoods of the rows kept apart."""
        with threadpool_limits(1, user_api="blas"):  # messages are small, and sums come out the same everywhere
            tree = fit_tree(self.ground.rows, self.tree, self.options, self.seed, self.apart, self.last_pass)
            return tree, np.empty(0) if self.apart is None else row_scores(tree, self.apart)


@dataclass(frozen=True, eq=False)
class _Grown:
    """A tree, what it was fitted with, and the log-likelihoods of the rows kept apart, if there were any."""

    plan: _Plan
    tree: FittedTree
    row_scores: FloatArray


def number_of_fits(work: Work, again: bool) -> int:
    """Return how many trees are fitted at most; at the end all of them again, from all rows, if that is asked for."""
    effort = work.effort
    if not (effort.tree_states and isinstance(work.data, BinaryData)):
        return 0
    partitions = 1 if work.config.exchangeability is None else 2
    chosen = partitions * len(effort.tree_states) + len(effort.refined_smoothings) - 1
    others = effort.trees if effort.trees > 1 else 0  # the second one is fitted with two kinds of edges
    return chosen + others + (effort.trees if again else 0)


def best_trees(work: Work, seed: int) -> Partner | None:
    """Return a mixture of trees with the best of the settings that are tried; None if all would be too large.

    Hidden trees are made for bits: there are none for other data. Trees over blocks of variables that the global test
    finds exchangeable compete with trees over single variables.
    """
    data, held_out, effort = work.data, work.held_out, work.effort
    if not isinstance(data, BinaryData):
        return None

    def grown(plans: Sequence[_Plan]) -> list[_Grown]:
        found = []
        fitted = Parallel(n_jobs=work.n_jobs, return_as="generator")(delayed(plan.carried_out)() for plan in plans)
        for plan, (tree, scores) in zip(plans, fitted, strict=True):
            found.append(_Grown(plan, tree, scores))
            work.tick()
        return found

    def best_of(found: Iterable[_Grown]) -> _Grown:
        return max(found, key=lambda one: one.tree.score)

    alphas = effort.smoothings_of_em(work.config)
    plans = []
    for groups in _partitions(data, work.config) if effort.tree_states else ():
        states = [k for k in effort.tree_states if _is_small_enough(data, len(groups), k, effort)]
        if states:
            ground = _Ground.of(data, groups)
            tree = tree_of(ground.rows)
            apart = CountedRows.of(held_out.rows, held_out.weights, _blocks(groups))
            plans += [_Plan(ground, tree, TreeOptions(k, alphas[0]), child_seed(seed, 0), apart) for k in states]
    if not plans:
        return None
    best = best_of(grown(plans))
    plans = [replace(best.plan, options=replace(best.plan.options, smoothing=alpha)) for alpha in alphas[1:]]
    trees = _joined(best_of([best, *grown(plans)]), held_out, effort.trees, seed, grown)
    plan = trees[0].plan
    setting = f"{plan.options.states} kinds, {len(plan.ground.groups)} blocks, α {plan.options.smoothing:g}"
    if any(one.plan.tree != plan.tree for one in trees):
        setting += ", different edges"

    def learned_again(rows: TrainingData) -> Learned:
        """Fit trees of the same edges, for as many passes, to all rows."""
        assert isinstance(rows, BinaryData)
        ground = _Ground.of(rows, plan.ground.groups)
        again = [replace(one.plan, ground=ground, apart=None, last_pass=one.tree.best_pass) for one in trees]
        return _mixture(grown(again))

    return Partner(Part("trees", len(trees), setting), _mixture(trees), _mean_scores(trees), learned_again)


def _joined(
    best: _Grown, held_out: HeldOut, number: int, seed: int, grown: Callable[[Sequence[_Plan]], list[_Grown]]
) -> list[_Grown]:
    """Return a tree and others like it.

    The others start elsewhere. Whether they are also trees of other edges is decided with the first of them: such ones
    are worse alone, but err in more different ways. That several are better than one is not asked: the first was the
    best of many on the rows kept apart, so that these would favour it.
    """

    def score(trees: Sequence[_Grown]) -> float:
        return held_out.mean(_mean_scores(trees))

    def others(first: int, last: int, other_edges: bool) -> list[_Plan]:
        plans = [replace(best.plan, seed=child_seed(seed, index)) for index in range(first, last)]
        rows = best.plan.ground.rows
        return [replace(one, tree=sampled_tree(rows, one.seed)) for one in plans] if other_edges else plans

    if number == 1:
        return [best]
    same, other = ([best, one] for one in grown([*others(1, 2, False), *others(1, 2, True)]))
    other_edges = score(other) > score(same)
    return (other if other_edges else same) + grown(others(2, number, other_edges))


def _partitions(data: BinaryData, config: LearnConfig) -> list[tuple[TestedBlock, ...]]:
    n = data.shape[1]
    alone = tuple((block, None) for block in every_variable_alone(n))
    if config.exchangeability is None:
        return [alone]
    cells = data.slice(np.arange(len(data.bits)), np.arange(n))
    found = tuple(binary_partition(Summary.of(cells, data.weights), config.significance))
    return [alone] if len(found) == n else [alone, found]


def _blocks(groups: tuple[TestedBlock, ...]) -> Partition:
    return tuple(members for members, _ in groups)


def _is_small_enough(data: BinaryData, n_blocks: int, states: int, effort: Effort) -> bool:
    """Say whether each move from kind to kind has a row to be learned from, and the work is not too much."""
    moves = states**2
    if n_blocks == 1 or moves > data.weights.sum():
        return False
    return n_blocks * moves * data.shape[0] <= effort.tree_cells  # rows that are equal cost no more than one


def _mean_scores(trees: Sequence[_Grown]) -> FloatArray:
    """Return the log-likelihoods of the rows kept apart by a uniform mixture; its circuit would be slower at that."""
    scores: FloatArray = np.logaddexp.reduce([one.row_scores for one in trees], axis=0) - np.log(len(trees))
    return scores


def _mixture(trees: list[_Grown]) -> Learned:
    """Return trees as one circuit, with the tests of the blocks that all of them stand on."""
    ground = trees[0].plan.ground
    roots = [circuit_of(grown.tree, _blocks(ground.groups)) for grown in trees]
    root = roots[0] if len(roots) == 1 else Sum(np.full(len(roots), 1.0 / len(roots)), roots)
    graph, rows = Graph(root), float(ground.rows.weights.sum())
    node = graph.id_of(root)
    tested = ((tuple(own.tolist()), test) for own, test in ground.groups if test is not None)
    decisions = (
        TraceEntry(node, Operation.EXCHANGEABLE, "block of a hidden tree", rows, own, 0, test, 0.0, None)
        for own, test in tested
    )
    return Learned(graph, Trace(tuple(decisions)))
