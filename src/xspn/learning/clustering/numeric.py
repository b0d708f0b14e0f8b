"""Gaussian mixtures, as in the paper, and k-means: thin wrappers of scikit-learn for rows of numbers."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.learning.clustering.base import Rule, Split, clusterings, gain_of_labels
from xspn.learning.methods import Can, Method
from xspn.learning.summary import BinarySummary
from xspn.learning.table_summary import TableSummary


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
    cells, _ = summary.rows()
    return _split_of_bits(summary, _gmm_labels(cells.astype(np.float64), seed)) if len(cells) > 1 else None


def kmeans_split(summary: BinarySummary, seed: int) -> Split | None:
    """Return two clusters by k-means."""
    cells, weights = summary.rows()
    if len(cells) < 2:
        return None
    labels, centers = _kmeans(cells, weights, seed)
    return _split_of_bits(summary, labels, Rule.of_centers(centers.astype(np.float64)))


def _split_of_bits(summary: BinarySummary, labels: IntArray, rule: Rule | None = None) -> Split | None:
    return Split(labels, score=gain_of_labels(summary, labels), rule=rule) if _are_two(labels) else None


def gmm_split_of_numbers(summary: TableSummary, seed: int) -> Split | None:
    """Return two clusters by a Gaussian mixture of standardized columns."""
    labels = _gmm_labels(_standardized(summary), seed) if len(summary.cells) > 1 else np.zeros(0, dtype=np.int64)
    return Split(labels) if _are_two(labels) else None


def kmeans_split_of_numbers(summary: TableSummary, seed: int) -> Split | None:
    """Return two clusters by k-means of standardized columns."""
    if len(summary.cells) < 2:
        return None
    labels, _ = _kmeans(_standardized(summary), summary.weights, seed)
    return Split(labels) if _are_two(labels) else None


def _standardized(summary: TableSummary) -> FloatArray:
    spread = summary.cells.std(axis=0)
    return np.asarray((summary.cells - summary.cells.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _gmm_labels(cells: FloatArray, seed: int) -> IntArray:
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(2, covariance_type="full", max_iter=100, n_init=2, random_state=seed % 2**32)
    return np.asarray(model.fit_predict(cells), dtype=np.int64)


def _kmeans(cells: AnyArray, weights: FloatArray, seed: int) -> tuple[IntArray, AnyArray]:
    """Return the labels and the two centers."""
    from sklearn.cluster import KMeans

    model = KMeans(2, n_init=3, random_state=seed % 2**32).fit(cells, sample_weight=weights)
    return np.asarray(model.labels_, dtype=np.int64), model.cluster_centers_


def _are_two(labels: IntArray) -> bool:
    return bool(0 < labels.sum() < len(labels))


clusterings.add("gmm", Method(bits=gmm_split, tables=gmm_split_of_numbers, can=Can.REALS))
clusterings.add(
    "kmeans",
    Method(bits=kmeans_split, tables=kmeans_split_of_numbers, can=Can.REALS | Can.WEIGHTS | Can.OUT_OF_CORE),
)
