"""Tables of zeros and ones for the tests of learning, and their summaries."""

import numpy as np

from support.enumeration import assignments
from xspn.circuit import Circuit
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.learner import learn
from xspn.learning.summary import BinarySummary


def summary(table, weights=None):
    """The summary of a table, each row once or as often as its weight says."""
    cells = np.asarray(table, dtype=np.float32)
    return BinarySummary.of(cells, np.ones(len(cells)) if weights is None else np.asarray(weights, dtype=np.float64))


def random_table(rng, rows, columns):
    """Bits of all kinds: dependent, constant and repeated columns among them."""
    table = rng.random((rows, columns)) < rng.random(columns)
    if columns > 1:
        table[:, 1] = np.where(rng.random(rows) < 0.7, table[:, 0], table[:, 1])
    kind = rng.integers(0, 6, size=columns)
    table[:, kind == 4] = rng.random() < 0.5
    table[:, kind == 5] = table[:, :1]
    return table.astype(np.uint8)


def exchangeable_table(rng, rows, columns, spread=1.0):
    """Rows that differ in how likely a one is, the same for all columns."""
    chance = rng.beta(spread, spread, size=(rows, 1))
    return (rng.random((rows, columns)) < chance).astype(np.uint8)


def two_clusters(rng, rows=200, columns=8):
    """Two kinds of rows that nobody could confuse, and which kind each row is."""
    kind = rng.integers(0, 2, size=rows)
    profile = np.tile([0.05, 0.95], columns)[:columns]
    chance = np.where(kind[:, None] == 1, profile, 1 - profile)
    return (rng.random((rows, columns)) < chance).astype(np.uint8), kind


def learned(table, seed=0, n_jobs=1, merge_equal_rows=True, **settings):
    """A circuit learned from a table, with its trace."""
    data = BinaryData.of(np.asarray(table, dtype=np.uint8), merge_equal_rows=merge_equal_rows)
    found = learn(data, LearnConfig(**settings), seed, n_jobs)
    return Circuit.of_graph(found.graph), found.trace


def all_assignments(n):
    """All rows of n bits."""
    return assignments([2] * n)


def total_probability(circuit):
    """What the probabilities of all assignments sum to."""
    return np.exp(circuit.log_likelihood(all_assignments(circuit.n_variables))).sum()
