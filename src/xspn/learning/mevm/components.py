"""The circuit of a mixture of products of blocks, and how it shares out the rows."""

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import FloatArray
from xspn.core.logspace import logsumexp_quiet
from xspn.engine import Program, upward
from xspn.engine.program import SumStep
from xspn.graph.nodes import Node, Product, Sum
from xspn.learning.mevm.evidence import Partition
from xspn.leaves import Bernoulli, Exchangeable, Smoothing


def mixture(
    cells: NDArray[np.float32],
    weights: FloatArray,
    shares: FloatArray,
    blocks: list[Partition],
    smoothing: Smoothing,
) -> Node:
    """Return the circuit with the frequencies of the shared-out rows."""
    components = [
        _component(cells, weights * own, partition, smoothing) for own, partition in zip(shares.T, blocks, strict=True)
    ]
    masses = weights @ shares + smoothing.mass
    return components[0] if len(components) == 1 else Sum(masses / masses.sum(), components)


def _component(cells: NDArray[np.float32], weights: FloatArray, blocks: Partition, smoothing: Smoothing) -> Node:
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


def responsibilities(program: Program, cells: NDArray[np.float32]) -> FloatArray:
    """Return how much of each row each component explains: (rows, components)."""
    top = program.steps[-1] if program.steps else None
    if not isinstance(top, SumStep):
        return np.ones((len(cells), 1))
    parts = []
    for _, _, rows in program.row_blocks(cells):
        joint = upward(program, rows)[top.children[:, 0]] + top.log_weights
        parts.append(np.exp(joint - logsumexp_quiet(joint, axis=0)).T)
    return np.concatenate(parts)
