"""Tables with columns of any types for the tests of learning."""

import numpy as np

from xspn.circuit import Circuit
from xspn.data.domain import Domain
from xspn.learning.config import LearnConfig
from xspn.learning.learner import learn
from xspn.learning.table_data import TableData
from xspn.learning.table_summary import Column, TableSummary

REAL = Domain.real()


def table_summary(cells, domains, weights=None):
    """The summary of a table; one domain stands for all columns."""
    cells = np.asarray(cells, dtype=np.float64)
    if isinstance(domains, Domain):
        domains = [domains] * cells.shape[1]
    data = TableData.of(cells, domains, weights, merge_equal_rows=False)
    columns = zip(data.domains, data.spreads.tolist(), data.floors.tolist(), strict=True)
    return TableSummary(data.cells, data.weights, tuple(Column(*column) for column in columns))


def exchangeable_categories(rng, rows, columns, k, spread=1.0):
    """Rows that differ in how likely each value is, the same for all columns."""
    chances = rng.dirichlet(np.full(k, spread), rows)
    return (rng.random((rows, columns, 1)) > np.cumsum(chances, axis=1)[:, None, :-1]).sum(axis=2).astype(float)


def exchangeable_numbers(rng, rows, columns, correlation=0.5):
    """Normal numbers of compound symmetry."""
    shared = rng.normal(size=(rows, 1)) * np.sqrt(correlation)
    return shared + np.sqrt(1 - correlation) * rng.normal(size=(rows, columns))


def with_missing(rng, cells, fraction=0.2):
    return np.where(rng.random(cells.shape) < fraction, np.nan, cells)


def learned_from(cells, domains, seed=0, weights=None, **settings):
    """A circuit learned from a table, with its trace."""
    if isinstance(domains, Domain):
        domains = [domains] * np.shape(cells)[1]
    data = TableData.of(np.asarray(cells, dtype=np.float64), domains, weights)
    found = learn(data, LearnConfig(**settings), seed)
    return Circuit.of_graph(found.graph), found.trace
