"""A mixture of copies of one circuit that EM takes apart.

Structure learning finds what is exchangeable and what is independent *given the cluster*; a dependence that is too weak
for its tests is lost. Copies of the whole circuit, each refitted to rows weighted by chance, start EM off in different
places; what it then tells apart are components that share the structure. Leaves that hold counts are fitted to the
counts: clustering on the statistics that suffice, not on raw bits.
"""

import numpy as np

from xspn._core.arrays import AnyArray, FloatArray
from xspn.circuit.graph import Graph
from xspn.circuit.nodes import Sum
from xspn.learning.parameters import EMOptions, Fit, fit_parameters, refitted
from xspn.learning.quality.held_out import HeldOut
from xspn.leaves.smoothing import Smoothing

SHAPE = 0.5  # of the gamma distribution that rows are weighted by: the smaller, the more the copies differ


def taken_apart(
    graph: Graph,
    rows: AnyArray,
    weights: FloatArray,
    n_copies: int,
    options: EMOptions,
    seed: int,
    held_out: HeldOut | None = None,
) -> Fit:
    """Return the mixture after EM, stopped by rows kept apart if there are any."""
    rng = np.random.default_rng(seed)
    uneven = (weights * rng.gamma(SHAPE, 1.0 / SHAPE, size=len(weights)) for _ in range(n_copies))
    copies = list(refitted(graph, rows, uneven, options.smoothing))
    mixture = Graph(Sum(np.full(n_copies, 1.0 / n_copies), copies), graph.n_variables)
    if held_out is None:
        return fit_parameters(mixture, rows, options, weights)
    return fit_parameters(mixture, rows, options, weights, held_out.rows, valid_weight=held_out.weights)


def em_options(smoothing: float, passes: int, tolerance: float = 1e-5) -> EMOptions:
    """Return how copies are fitted: patiently, because EM creeps before it tells copies apart."""
    return EMOptions(n_iter=passes, smoothing=Smoothing(smoothing), tolerance=tolerance, patience=8)
