"""The registry of clusterings for tables: functions (summary, seed) → proposed splits, named as those for bits."""

from collections.abc import Callable
from functools import partial

import numpy as np

from xspn.core.errors import ParameterError
from xspn.core.registry import Registry
from xspn.learning.clustering.base import Split
from xspn.learning.table_summary import TableSummary
from xspn.learning.tables.clustering.contexts import contexts_split
from xspn.learning.tables.clustering.mixture import gaussian_split, mixture_split
from xspn.learning.tables.clustering.product import Encoded
from xspn.learning.tables.clustering.variable import variable_splits

TableClustering = Callable[[TableSummary, int], list[Split]]
table_clusterings: Registry[TableClustering] = Registry("clustering of tables")


def table_clustering(name: str) -> TableClustering:
    """Return the clustering of a name; refuse one that only splits bits."""
    if name not in table_clusterings:
        raise ParameterError(
            f"clustering={name!r} is for tables of zeros and ones only; for columns of other types use one of "
            f"{', '.join(map(repr, table_clusterings))}"
        )
    return table_clusterings[name]


def auto_splits(summary: TableSummary, seed: int) -> list[Split]:
    """Propose all of the splits below, and a mixture of normal distributions for real columns."""
    encoded = Encoded(summary)
    found = [*_present(mixture_split(encoded, seed)), *variable_splits(encoded)]
    return [*found, *_present(gaussian_split(encoded, found, seed))]


def mixture_splits(summary: TableSummary, seed: int) -> list[Split]:
    """Propose a mixture of products of the columns' own families: "bernoulli", as it is for bits."""
    return _present(mixture_split(Encoded(summary), seed))


def best_variable_split(summary: TableSummary, seed: int) -> list[Split]:
    """Propose the best cut on one variable."""
    return variable_splits(Encoded(summary))[:1]


def _present(*splits: Split | None) -> list[Split]:
    return [split for split in splits if split is not None]


def _numeric_splits(name: str, summary: TableSummary, seed: int) -> list[Split]:
    from sklearn.cluster import KMeans
    from sklearn.mixture import GaussianMixture

    if not summary.complete:
        raise ParameterError(f"clustering={name!r} cannot take missing values; use 'auto', 'bernoulli' or 'variable'")
    for column in summary.columns:
        if not column.is_real and not column.domain.ordered and column.n_values > 2:
            raise ParameterError(
                f"clustering={name!r} needs numbers, and a column has {column.n_values} values without an order; "
                "use 'auto', 'bernoulli' or 'variable'"
            )
    if name == "gmm" and not (summary.weights == summary.weights[0]).all():
        raise ParameterError("clustering='gmm' cannot take sample weights; use 'auto', 'bernoulli' or 'variable'")
    if len(summary.cells) < 2:
        return []
    spread = summary.cells.std(axis=0)
    cells = (summary.cells - summary.cells.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    if name == "gmm":
        model = GaussianMixture(2, covariance_type="full", max_iter=100, n_init=2, random_state=seed % 2**32)
        labels = model.fit_predict(cells)
    else:
        labels = KMeans(2, n_init=3, random_state=seed % 2**32).fit(cells, sample_weight=summary.weights).labels_
    own = np.asarray(labels, dtype=np.int64)
    return [Split(own)] if 0 < own.sum() < len(own) else []


table_clusterings.add("auto", auto_splits)
table_clusterings.add("contexts", lambda summary, seed: _present(contexts_split(summary, seed)))
table_clusterings.add("bernoulli", mixture_splits)
table_clusterings.add("variable", best_variable_split)
table_clusterings.add("gmm", partial(_numeric_splits, "gmm"))
table_clusterings.add("kmeans", partial(_numeric_splits, "kmeans"))
