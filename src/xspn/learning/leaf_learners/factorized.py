"""Independent variables: a leaf for each; counts of ordered values may be spread to their neighbors."""

from functools import lru_cache

import numpy as np

from xspn.core.arrays import FloatArray, IntArray
from xspn.core.logspace import safe_log
from xspn.graph.nodes import Node, Product
from xspn.learning.em import weights_of_likelihoods
from xspn.learning.leaf_learners.base import BinaryLeafData, Candidate, LeafOptions, TableLeafData, leaf_learners
from xspn.learning.leaf_learners.normal_mixtures import normal_mixtures
from xspn.learning.methods import Can, Method
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.categorical import Categorical

PRIOR_ROWS = 0.5
EM_STEPS = 30
WEIGHT_TOLERANCE = 1e-3
BANDWIDTHS = (0.7, 1.5, 3.0, 6.0, 12.0)
TINY = 1e-300


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


def table_factorized_leaf(data: TableLeafData, variables: IntArray, options: LeafOptions) -> Candidate:
    """Return a product of univariate leaves, one for each column (one leaf for a single column)."""
    alpha, nodes = options.smoothing, dict[int, Node]()
    leave_one_out = np.zeros(len(data.own.cells))
    for position in data.own.discrete.tolist():
        nodes[position], scores = _discrete_leaf(data, position, int(variables[position]), alpha)
        codes = np.where(data.own.missing[:, position], 0, data.own.cells[:, position]).astype(np.int64)
        leave_one_out += np.where(data.own.missing[:, position], 0.0, scores[codes])
    if len(data.own.real):
        found, scores = normal_mixtures(data.part(data.own.real), variables[data.own.real], alpha)
        nodes |= dict(zip(data.own.real.tolist(), found, strict=True))
        leave_one_out += scores
    ordered = [nodes[position] for position in range(data.own.n)]
    return Candidate("factorized", ordered[0] if len(ordered) == 1 else Product(ordered), leave_one_out)


def _discrete_leaf(data: TableLeafData, position: int, variable: int, alpha: float) -> tuple[Node, FloatArray]:
    """Return the leaf, and the leave-one-out log-probability of each value."""
    counts, own = data.pooled.value_weights(position), data.own.value_weights(position)
    k = len(counts)
    if k > 2 and data.own.columns[position].domain.ordered and counts.sum() > 0:
        p, without = ordered_probabilities(counts, own, alpha, data.unit)
        return Categorical(variable, p), safe_log(without)
    total = counts.sum() + k * alpha
    p = (counts + alpha) / total if total > 0 else np.full(k, 1.0 / k)
    kept = np.maximum(counts - data.unit, 0.0) + alpha
    scores = safe_log(kept / max(float(total) - data.unit, TINY))
    return (Bernoulli(variable, p=float(p[1])) if k == 2 else Categorical(variable, p / p.sum())), scores


def ordered_probabilities(
    counts: FloatArray, own: FloatArray, alpha: float, unit: float
) -> tuple[FloatArray, FloatArray]:
    """Return the probability of each value, and its leave-one-out probability.

    Frequencies with the pseudo-count α are mixed with the same frequencies spread to their neighbors, near and far, in
    the mixture weights of the best leave-one-out score. Spikes stay spikes where the data have them.

    Args:
        counts: How often each value occurs, the context's rows included.
        own: The same for the slice's own rows.
        alpha: The pseudo-count of each value.
        unit: The weight of one own row in `counts`.

    Examples:
        >>> p, _ = ordered_probabilities(np.array([5.0, 9, 0, 8, 4]), np.array([5.0, 9, 0, 8, 4]), 0.1, 1.0)
        >>> bool(p[2] > 0.05)
        True
    """
    k, total = len(counts), float(counts.sum())
    plain = (counts + alpha) / (total + k * alpha)
    plain_without = np.maximum(counts - unit, 0.0) + alpha
    plain_without = plain_without / max(total - unit + k * alpha, TINY)
    experts, leave_one_out = [plain], [plain_without]
    for width in BANDWIDTHS:
        if width >= k or total <= unit:
            break
        kernel = _kernel(k, width)
        spread = kernel @ counts
        experts.append(spread / total)
        leave_one_out.append(np.maximum(spread - unit * np.diag(kernel), 0.0) / (total - unit))
    weights = expert_weights(np.array(leave_one_out), own)
    mixed = weights @ np.array(experts)
    return mixed / mixed.sum(), np.asarray(weights @ np.array(leave_one_out))


def expert_weights(leave_one_out: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mixture weights of several estimates of one distribution, by their leave-one-out probabilities.

    Each has a prior of a few rows, so that with little data the weights stay even.

    Args:
        leave_one_out: The leave-one-out probability of each value by each estimate: (estimates, values).
        weights: How often each value occurs.
    """
    possible = (leave_one_out.max(axis=0) > 0) & (weights > 0)
    return weights_of_likelihoods(leave_one_out[:, possible], weights[possible], EM_STEPS, PRIOR_ROWS, WEIGHT_TOLERANCE)


@lru_cache(maxsize=256)
def _kernel(k: int, width: float) -> FloatArray:
    """Return how each of k ordered values is spread: columns sum to 1, so that nothing leaves at the ends."""
    places = np.arange(k)
    kernel = np.exp(-0.5 * ((places[:, None] - places[None, :]) / width) ** 2)
    kernel = kernel / kernel.sum(axis=0)
    kernel.flags.writeable = False  # it is shared by all who ask
    return np.asarray(kernel)


leaf_learners.add(
    "factorized",
    Method(bits=factorized_leaf, tables=table_factorized_leaf, can=Can.ANY_TYPE | Can.ANY_ROWS | Can.OUT_OF_CORE),
)
