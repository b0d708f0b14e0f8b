"""Odd tables through what is built around densities: mixtures of normals, imputers, outlier detectors, checks.

They are refused with a reason, or what comes back is sensible: numbers, of the right shape, observed cells unchanged.
"""

import pickle

import numpy as np

from fuzz.tables import check_model, n_rows_of, table, weights
from xspn import (
    MEVM,
    XSPN,
    NormalMixture,
    XSPNError,
    XSPNImputer,
    XSPNOutlierDetector,
    check_table,
)

NOT = (0, -1, 0.6, 1000, 2.5, "x", None, True, float("nan"), 10**30)  # what settings hardly can be
METHODS = ("mean", "marginal", "mpe", "sample")


def one(rng, *options):
    """One of some options, now and then something odd."""
    options = NOT if rng.random() < 0.05 else options
    return options[int(rng.integers(len(options)))]


def density(rng):
    """What stands behind an imputer or a detector."""
    return one(
        rng,
        None,
        None,
        NormalMixture(n_components=2, n_estimators=1, random_state=0),
        XSPN(random_state=0),
        MEVM(n_components=2, n_init=1, max_iter=5, random_state=0),
    )


def mixture(rng, X, sample_weight):
    domains = one(rng, None, None, None, "real", "categorical", {"c0": "real"}, {"c0": "categorical"}, ["real"])
    model = NormalMixture(one(rng, None, 1, 2, 5), one(rng, 1, 1, 2), domains, random_state=0)
    check_model(rng, model.fit(X, sample_weight=sample_weight), X, sample_weight)


def imputer(rng, X, sample_weight):
    model = XSPNImputer(density(rng), one(rng, *METHODS), random_state=0).fit(X, sample_weight=sample_weight)
    filled, deviations = model.transform(X, return_std=True)
    assert np.shape(filled) == np.shape(deviations), "deviations of other cells than there are"
    assert not (np.asarray(deviations, dtype=float) < 0).any(), "a deviation below zero"
    for drawn in model.draw(X, 2, random_state=0):
        assert np.shape(drawn) == np.shape(filled), "a draw has another shape"
    again = pickle.loads(pickle.dumps(model)).transform(X)
    cells = [np.asarray(own, dtype=object).ravel().tolist() for own in (filled, again)]
    assert list(map(str, cells[0])) == list(map(str, cells[1])), "pickle"
    model.intervals(X, one(rng, 0.5, 0.9))


def detector(rng, X, sample_weight):
    options = {"contamination": one(rng, "auto", "auto", 0.1, 0.5), "support_fraction": one(rng, 0.75, 1, 0.5)}
    model = XSPNOutlierDetector(density(rng), **options, random_state=0).fit(X, sample_weight=sample_weight)
    assert not np.isnan(model.score_samples(X)).any(), "a score is no number"
    assert set(model.predict(X)) <= {-1, 1}, "a row is neither usual nor an outlier"
    assert (np.sign(model.decision_function(X)) * model.predict(X) >= 0).all(), "score and prediction differ"


def check(rng, X, sample_weight):
    found = check_table(X, folds=one(rng, 2, 3), fdr=one(rng, 0.1, 0.5), set_aside=one(rng, 0.0, 0.0, 0.05))
    assert all(0 <= cell.probability <= 1 and 0 <= cell.q <= 1 for cell in found.cells), "no probability"
    assert len(found.records()) == len(found.unlikely_cells), "cells are missing"
    assert isinstance(found.html() if rng.random() < 0.1 else str(found), str)


def case(rng, folder):
    """Give a table to one of them."""
    X = table(rng)
    used = [mixture, imputer, imputer, detector, check][int(rng.integers(5))]
    try:
        used(rng, X, weights(rng, n_rows_of(X)))
    except (XSPNError, FileNotFoundError):  # a text is the path of a file
        return "refused"
    return "done"


def prepare():
    """Import what is needed."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    XSPNImputer(NormalMixture(1, 1, random_state=0)).fit(X).transform(X)
    XSPNOutlierDetector(NormalMixture(1, 1, random_state=0)).fit(X).predict(X)


TARGETS = {"estimators": case}
