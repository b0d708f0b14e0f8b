"""Random circuits with rows to ask them about, for the back ends that must agree on them."""

import numpy as np

from support.circuits import any_rows, random_circuit, random_rows
from xspn import Bernoulli, ChowLiu, Exchangeable
from xspn.statistics import Count


def any_case(seed, binary=None):
    """A random circuit of up to twelve variables, and rows of positive and of any probability."""
    rng = np.random.default_rng(seed)
    binary = seed % 2 == 0 if binary is None else binary
    sizes, all_assignments = [], 1
    for k in [2] * 10 if binary else rng.choice([2, 2, 3, 4], size=int(rng.integers(1, 9))):
        if all_assignments * k <= 1024:
            sizes.append(int(k))
            all_assignments *= k
    circuit = random_circuit(rng, sizes, depth=int(rng.integers(0, 6)), spare_columns=seed % 3, components=1 + seed % 3)
    return circuit, random_rows(rng, circuit, 40), any_rows(rng, circuit, 40), rng


def counting_case(seed):
    """A random circuit of Bernoulli, Chow-Liu and counting leaves, with rows of positive and of any probability."""
    rng = np.random.default_rng(seed)
    for _ in range(50):
        circuit = random_circuit(rng, [2] * 9, depth=int(rng.integers(0, 6)), spare_columns=seed % 3)
        leaves = circuit.graph.leaves
        if all(isinstance(leaf, Bernoulli | ChowLiu) or is_counting(leaf) for leaf in leaves):
            return circuit, random_rows(rng, circuit, 40), any_rows(rng, circuit, 40)
    raise AssertionError("no such circuit was drawn")


def is_counting(leaf):
    return isinstance(leaf, Exchangeable) and isinstance(leaf.statistic, Count)
