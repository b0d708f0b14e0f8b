"""Independent bits."""

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.graph.nodes import Product
from xspn.learning.leaf_learners.base import BinaryLeafData, Candidate, LeafOptions, leaf_learners
from xspn.leaves.bernoulli import Bernoulli


def factorized_leaf(data: BinaryLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return a product of Bernoulli leaves (one leaf for a single variable)."""
    alpha = options.smoothing
    ones, total = data.pooled.ones, data.pooled.seen
    mass = total + 2 * alpha
    p = np.divide(ones + alpha, mass, out=np.full(len(ones), 0.5), where=mass > 0)  # nothing seen, nothing assumed
    leaves = [Bernoulli(v, p=q) for v, q in zip(variables.tolist(), p.tolist(), strict=True)]
    zero, one = leave_one_out_of_bits(data, options)
    cells, _ = data.own.rows()
    with np.errstate(invalid="ignore"):
        leave_one_out = np.where(np.isnan(cells), 0.0, np.where(cells > 0, one, zero)).sum(axis=1)
    return Candidate("factorized", leaves[0] if len(leaves) == 1 else Product(leaves), leave_one_out)


def leave_one_out_of_bits(data: BinaryLeafData, options: LeafOptions) -> tuple[FloatArray, FloatArray]:
    """Return the leave-one-out score of a zero and of a one of each variable."""
    alpha = options.smoothing
    ones, total = data.pooled.ones, data.pooled.seen
    zero = data.leave_one_out(total - ones, alpha, total + 2 * alpha)
    return zero, data.leave_one_out(ones, alpha, total + 2 * alpha)


leaf_learners.add("factorized", factorized_leaf)
