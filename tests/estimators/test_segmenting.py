"""`XSPN` as a transformer: responsibilities, names of columns, frames, pipelines."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from support.learning import two_clusters
from xspn import XSPN, XSPNError


@pytest.fixture(scope="module")
def clusters():
    rng = np.random.default_rng(1)
    X, kind = two_clusters(rng, rows=200)
    return pd.DataFrame(X, columns=[f"q_{i}" for i in range(X.shape[1])]), kind


@pytest.fixture(scope="module")
def model(clusters):
    return XSPN(random_state=0).fit(clusters[0])


def test_columns_are_the_segments_and_rows_sum_to_one(model, clusters):
    frame, kind = clusters
    found = model.transform(frame)
    assert found.shape == (200, len(model.segments()))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    agree = np.mean(found.argmax(axis=1) == kind)
    assert max(agree, 1 - agree) > 0.9
    assert model.get_feature_names_out().tolist() == list(model.segments().names)


def test_a_frame_is_asked_for_and_missing_cells_are_summed_out(model, clusters):
    frame = clusters[0].astype(float)
    frame.iloc[0, :] = np.nan
    asked = XSPN(random_state=0).fit(clusters[0]).set_output(transform="pandas").transform(frame)
    assert list(asked.columns) == list(model.segments().names)
    assert asked.index.equals(frame.index)
    np.testing.assert_allclose(asked.iloc[0], [segment.weight for segment in model.segments()])


def test_rows_are_counted(model, clusters):
    assert sum(segment.rows for segment in model.segments()) == pytest.approx(200)
    few = model.segments(clusters[0][:50])
    assert sum(segment.rows for segment in few) == pytest.approx(50)
    np.testing.assert_allclose([own.rows for own in few], model.transform(clusters[0][:50]).sum(axis=0))


def test_names_are_stable_from_fit_to_fit(model, clusters):
    assert XSPN(random_state=0).fit(clusters[0]).segments().names == model.segments().names
    turned = XSPN(random_state=0).fit(clusters[0][::-1])
    assert set(turned.segments().names) == set(model.segments().names)


def test_a_pipeline_can_begin_with_it(clusters):
    frame, kind = clusters
    both = make_pipeline(XSPN(random_state=0), LogisticRegression()).fit(frame, kind)
    assert both.score(frame, kind) > 0.9
    assert both[:-1].get_feature_names_out().tolist() == list(both[0].segments().names)


def test_what_is_wrong_is_refused(model, clusters):
    with pytest.raises(NotFittedError):
        XSPN().transform(clusters[0])
    with pytest.raises(NotFittedError):
        XSPN().segments()
    with pytest.raises(XSPNError, match="feature names"):
        model.transform(clusters[0].rename(columns={"q_0": "z"}))
    with pytest.raises(XSPNError, match="input_features"):
        model.get_feature_names_out(["a"])
