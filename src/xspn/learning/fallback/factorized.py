"""Independent bits."""

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.graph.nodes import Product
from xspn.learning.fallback.base import Candidate, LeafData, LeafOptions, fallbacks
from xspn.leaves.bernoulli import Bernoulli


def factorized_leaf(data: LeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return a product of Bernoulli leaves (one leaf for a single variable)."""
    alpha = options.smoothing
    ones, total = data.pooled.ones, data.pooled.seen
    mass = total + 2 * alpha
    p = np.divide(ones + alpha, mass, out=np.full(len(ones), 0.5), where=mass > 0)  # nothing seen, nothing assumed
    leaves = [Bernoulli(v, p=q) for v, q in zip(variables.tolist(), p.tolist(), strict=True)]
    zero, one = left_out_of_bits(data, options)
    cells, _ = data.own.rows()
    with np.errstate(invalid="ignore"):
        left_out = np.where(np.isnan(cells), 0.0, np.where(cells > 0, one, zero)).sum(axis=1)
    return Candidate("factorized", leaves[0] if len(leaves) == 1 else Product(leaves), left_out)


def left_out_of_bits(data: LeafData, options: LeafOptions) -> tuple[FloatArray, FloatArray]:
    """Return what a zero and what a one of each variable scores when its row is left out."""
    alpha = options.smoothing
    ones, total = data.pooled.ones, data.pooled.seen
    zero = data.left_out(total - ones, alpha, total + 2 * alpha)
    return zero, data.left_out(ones, alpha, total + 2 * alpha)


fallbacks.add("factorized", factorized_leaf)
