"""Gaussian mixtures, as in the paper, and k-means: thin wrappers of scikit-learn."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from xspn.core.errors import ParameterError
from xspn.learning.clustering.base import Rule, Split, clusterings, gain_of_labels
from xspn.learning.summary import BinarySummary


@contextmanager
def without_convergence_warnings() -> Iterator[None]:
    """Silence scikit-learn where a clustering does not converge: rough clusters will do.

    To be entered once, around all threads: warning filters belong to the whole process.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def gmm_split(summary: BinarySummary, seed: int) -> Split | None:
    """Return two clusters by a Gaussian mixture with full covariances, as the paper's program runs it."""
    from sklearn.mixture import GaussianMixture

    _refuse_missing(summary, "gmm")
    cells, weights = summary.rows()
    if not (weights == weights[0]).all():
        raise ParameterError("clustering='gmm' cannot take sample weights; use 'bernoulli', 'variable' or 'auto'")
    if len(cells) < 2:
        return None
    model = GaussianMixture(2, covariance_type="full", max_iter=100, n_init=2, random_state=seed % 2**32)
    labels = model.fit_predict(cells.astype(np.float64))
    return _split(summary, labels)


def kmeans_split(summary: BinarySummary, seed: int) -> Split | None:
    """Return two clusters by k-means."""
    from sklearn.cluster import KMeans

    _refuse_missing(summary, "kmeans")
    cells, weights = summary.rows()
    if len(cells) < 2:
        return None
    model = KMeans(2, n_init=3, random_state=seed % 2**32).fit(cells, sample_weight=weights)
    return _split(summary, model.labels_, Rule.of_centers(model.cluster_centers_.astype(np.float64)))


def _refuse_missing(summary: BinarySummary, name: str) -> None:
    if not summary.complete:
        raise ParameterError(f"clustering={name!r} cannot take missing values; use 'bernoulli', 'variable' or 'auto'")


def _split(summary: BinarySummary, labels: np.ndarray, rule: Rule | None = None) -> Split | None:
    own = np.asarray(labels, dtype=np.int64)
    return Split(own, score=gain_of_labels(summary, own), rule=rule) if 0 < own.sum() < len(own) else None


clusterings.add("gmm", gmm_split)
clusterings.add("kmeans", kmeans_split)
