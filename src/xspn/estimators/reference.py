"""Simple models that a learned one is compared with: what one leaf learner makes of the whole table, at once."""

from collections.abc import Callable

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import AnyArray, FloatArray
from xspn.data.table import Table
from xspn.estimators.base import training_data
from xspn.graph.graph import Graph
from xspn.learning.config import LearnConfig
from xspn.learning.source import source_of
from xspn.learning.task import Rows, Task

Score = Callable[[AnyArray], FloatArray]  # the log-likelihood of each row of codes


def reference_model(train: Table, leaf_learner: str, smoothing: float | None = None) -> Score:
    """Return how rows score under one leaf of the whole table; nothing is searched for.

    Args:
        train: The training table.
        leaf_learner: "factorized" for independent columns, "chow_liu" for a tree of binary ones, "auto" for a mixture
            of the leaves that there are.
        smoothing: The pseudo-count; the default one if it is None.

    Examples:
        >>> train = Table.of([[0, 1], [1, 1], [0, 1], [1, 0]])
        >>> np.exp(reference_model(train, "factorized", smoothing=0.0)(train.codes)).round(4).tolist()
        [0.375, 0.375, 0.375, 0.125]
    """
    data = training_data(train)
    n_rows, n_variables = data.shape
    whole = source_of(data).slice_of(Task(Rows(np.arange(n_rows), data.weights), np.arange(n_variables), 0))
    alpha = LearnConfig.smoothing if smoothing is None else smoothing
    leaf = whole.leaf(LearnConfig(leaf_learner=leaf_learner, exchangeability=None, smoothing=alpha))
    return Circuit.of_graph(Graph(leaf.node, n_variables)).log_likelihood
