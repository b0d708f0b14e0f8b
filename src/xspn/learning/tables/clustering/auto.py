"""The clusterings for tables under their names: each returns the splits that it proposes."""

import numpy as np

from xspn.core.errors import ParameterError
from xspn.learning.clustering.base import Split
from xspn.learning.tables.clustering.gaussian import gaussian_split
from xspn.learning.tables.clustering.mixture import mixture_split
from xspn.learning.tables.clustering.product import Encoded
from xspn.learning.tables.clustering.variable import variable_splits
from xspn.learning.tables.summary import TableSummary


def proposed_splits(name: str, summary: TableSummary, seed: int) -> list[Split]:
    """Return the splits that a clustering proposes.

    "bernoulli" means a mixture of the columns' own families, as it does for bits; "variable" a cut on one variable;
    "auto" both, and a mixture of normal distributions for real columns; "gmm" and "kmeans" are scikit-learn's, for
    complete rows without names.
    """
    if name in ("gmm", "kmeans"):
        return _present(_numeric_split(name, summary, seed))
    encoded = Encoded(summary)
    match name:
        case "bernoulli":
            return _present(mixture_split(encoded, seed))
        case "variable":
            return variable_splits(encoded)[:1]
        case _:
            found = [*_present(mixture_split(encoded, seed)), *variable_splits(encoded)]
            return [*found, *_present(gaussian_split(encoded, found, seed))]


def _present(*splits: Split | None) -> list[Split]:
    return [split for split in splits if split is not None]


def _numeric_split(name: str, summary: TableSummary, seed: int) -> Split | None:
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
        return None
    spread = summary.cells.std(axis=0)
    cells = (summary.cells - summary.cells.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    if name == "gmm":
        model = GaussianMixture(2, covariance_type="full", max_iter=100, n_init=2, random_state=seed % 2**32)
        labels = model.fit_predict(cells)
    else:
        labels = KMeans(2, n_init=3, random_state=seed % 2**32).fit(cells, sample_weight=summary.weights).labels_
    own = np.asarray(labels, dtype=np.int64)
    return Split(own) if 0 < own.sum() < len(own) else None
