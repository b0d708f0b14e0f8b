"""Compile all kernels ahead of time and keep the code: `python -m xspn.engine.kernels`.

Do this where an image is built, as the user that may write to the package's folder, or with `NUMBA_CACHE_DIR` set to a
folder that the image keeps (and set to the same one when it runs).
"""

import sys

import numpy as np

from xspn.core.compilation import not_kept
from xspn.core.random import row_keys
from xspn.engine import RowBlock, Semiring, compile_graph
from xspn.engine.numba_backend import NumbaBackend
from xspn.engine.scaled import ScaledBackend
from xspn.graph.graph import Graph
from xspn.graph.nodes import Product, Sum
from xspn.leaves import Bernoulli, Categorical, ChowLiu, Exchangeable
from xspn.leaves.beta_binomial_fit import most_likely_of_each


def compile_all() -> None:
    """Ask everything of two small circuits, in both precisions: all kernels are needed for that."""
    leaves = [
        Exchangeable.from_class_probabilities([0, 1, 2], [0.1, 0.4, 0.1, 0.4]),
        ChowLiu([3, 4], [-1, 0], [[0.5, 0.5], [0.1, 0.8]]),
    ]
    parts = [Product([*leaves, Bernoulli(5, p=p)]) for p in (0.2, 0.6)]
    binary = Sum([0.3, 0.7], parts)
    rows = np.array([[1, 0, 1, 0, 1, 1], [1, np.nan, 0, np.nan, 1, 0]])
    for root, table in (
        (binary, rows),
        (Product([binary, Categorical(6, [0.2, 0.3, 0.5])]), np.hstack([rows, [[2.0], [np.nan]]])),
    ):
        program = compile_graph(Graph(root))
        plain = [NumbaBackend(program, dtype) for dtype in (np.float64, np.float32)]
        below = ScaledBackend(
            program, threads=1, tape=plain[0].tape
        )  # for rows below the range of floating-point numbers
        for backend in (*plain, below):
            for own in (table, table[:1]):
                backend.log_likelihood(own)
                backend.marginals(own)
                backend.counts(own, np.ones(len(own)))
                backend.cell_log_likelihood(own)
                backend.best_completions(own)
                keys = row_keys(np.random.default_rng(0), len(own)).reshape(-1, 1)
                backend.random_completions(own, keys)
                backend.random_completions(np.full((1, own.shape[1]), np.nan), keys[:1])
                for semiring in Semiring:
                    backend.log_values(RowBlock(own), semiring)
    most_likely_of_each(np.ones((1, 3)))


if __name__ == "__main__":
    compile_all()
    sys.exit(1 if not_kept else 0)
