"""The circuit of a mixture of products of blocks, its responsibilities for rows, and where EM starts from."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import FloatArray
from xspn.core.logspace import logsumexp_quiet
from xspn.engine import Program, upward
from xspn.engine.program import SumStep
from xspn.graph.nodes import Node, Product, Sum
from xspn.learning.mevm.partition import BlockPartition
from xspn.leaves import Bernoulli, BetaBinomial, Exchangeable, Smoothing

if TYPE_CHECKING:
    from xspn.learning.blocks.contexts import Mixture


def mixture_of_blocks(
    cells: NDArray[np.float32],
    weights: FloatArray,
    responsibilities: FloatArray,
    blocks: list[BlockPartition],
    smoothing: Smoothing,
) -> Node:
    """Return the circuit with the frequencies of rows weighted by responsibilities."""
    components = [
        _component(cells, weights * own, partition, smoothing)
        for own, partition in zip(responsibilities.T, blocks, strict=True)
    ]
    masses = weights @ responsibilities + smoothing.mass
    return components[0] if len(components) == 1 else Sum(masses / masses.sum(), components)


def _component(cells: NDArray[np.float32], weights: FloatArray, blocks: BlockPartition, smoothing: Smoothing) -> Node:
    """Return a product of exchangeable leaves, and Bernoulli leaves for single columns."""
    total, ones = float(weights.sum()), weights @ cells
    leaves: list[Node] = []
    for block in blocks:
        variables = [int(v) for v in np.sort(block)]
        if len(variables) == 1:
            counts = np.array([max(total - ones[variables[0]], 0.0), ones[variables[0]]])
            leaves.append(Bernoulli(variables[0], p=0.5).from_statistics(counts, smoothing))
        else:
            t = cells[:, variables].sum(axis=1).astype(np.int64)
            counts = np.asarray(np.bincount(t, weights=weights, minlength=len(variables) + 1), dtype=np.float64)
            leaves.append(Exchangeable.uniform(variables).from_statistics(counts, smoothing))
    return leaves[0] if len(leaves) == 1 else Product(leaves)


def mixture_of_contexts(found: "Mixture", smoothing: Smoothing) -> Node:
    """Return the circuit of contexts found by evidence, each block with the law that has most evidence."""
    from xspn.learning.blocks.laws import HISTOGRAM  # takes numba along

    components: list[Node] = []
    for context in found.contexts:
        leaves: list[Node] = []
        for b, block in enumerate(context.blocks):
            variables, counts = block.tolist(), context.counts[context.first[b] : context.first[b + 1]]
            if len(variables) == 1:
                leaves.append(Bernoulli(variables[0], p=0.5).from_statistics(counts, smoothing))
            else:
                family = Exchangeable if context.law[b] == HISTOGRAM else BetaBinomial
                leaves.append(family.from_class_counts(variables, counts, smoothing))
        components.append(leaves[0] if len(leaves) == 1 else Product(leaves))
    masses = np.array([context.total for context in found.contexts]) + smoothing.mass
    return components[0] if len(components) == 1 else Sum(masses / masses.sum(), components)


def component_responsibilities(program: Program, cells: NDArray[np.float32]) -> FloatArray:
    """Return the responsibility of each component for each row: (rows, components)."""
    top = program.steps[-1] if program.steps else None
    if not isinstance(top, SumStep):
        return np.ones((len(cells), 1))
    parts = []
    for _, _, rows in program.row_blocks(cells):
        joint = upward(program, rows)[top.children[:, 0]] + top.log_weights
        parts.append(np.exp(joint - logsumexp_quiet(joint, axis=0)).T)
    return np.concatenate(parts)


def features_of_blocks(cells: NDArray[np.float32], weights: FloatArray, blocks: BlockPartition) -> FloatArray:
    """Return the count of ones in each block, on the scale of its spread.

    Within an exchangeable block the counts are all there is to know, so that rows are better told apart by them than by
    single bits, which are mostly noise.
    """
    counts = np.stack([cells[:, block].sum(axis=1) for block in blocks], axis=1).astype(np.float64)
    mean = weights @ counts / weights.sum()
    spread = np.sqrt(weights @ (counts - mean) ** 2 / weights.sum())
    return np.asarray((counts - mean) / np.where(spread > 0, spread, 1.0))


def nearest_of_random_rows(
    features: FloatArray, weights: FloatArray, n_components: int, rng: np.random.Generator
) -> FloatArray:
    """Assign each row to the nearest of some random rows, drawn far from each other (k-means++): (rows, components).

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> nearest_of_random_rows(np.array([[0.0], [0.1], [9.0]]), np.ones(3), 2, rng).tolist()
        [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    first = int(rng.choice(len(features), p=weights / weights.sum()))
    chosen = [first]
    distance = ((features - features[first]) ** 2).sum(axis=1)
    for _ in range(n_components - 1):
        chance = weights * distance
        if chance.sum() == 0:  # fewer different rows than components
            break
        chosen.append(int(rng.choice(len(features), p=chance / chance.sum())))
        distance = np.minimum(distance, ((features - features[chosen[-1]]) ** 2).sum(axis=1))
    centers = features[chosen]
    squares = (features**2).sum(axis=1)[:, None] + (centers**2).sum(axis=1)[None, :] - 2 * features @ centers.T
    nearest = np.argmin(squares + 1e-6 * rng.random(squares.shape), axis=1)  # ties are broken by chance
    return np.asarray(np.eye(n_components)[nearest])
