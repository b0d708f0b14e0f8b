"""`XSPNClassifier`: exact posteriors, labels of any type, missing values, and the whole as one circuit."""

import numpy as np
import pytest

from support.learning import all_assignments, random_table, two_clusters
from xspn import XSPN, XSPNClassifier, io
from xspn.core.errors import DataError
from xspn.estimators import classifier as classifier_module

SMALL = {"min_instances": 5, "random_state": 0}


@pytest.fixture
def data(rng):
    """Six columns, three classes of different sizes."""
    X = random_table(rng, 240, 6)
    y = rng.choice(3, size=240, p=[0.5, 0.3, 0.2])
    X[:, 3] |= y == 1
    X[:, 4] &= y != 2
    return X, y


@pytest.fixture
def model(data):
    return XSPNClassifier(**SMALL).fit(*data)


def test_the_posterior_is_bayes_theorem(model, data):
    X, y = data
    joint = []
    for index in range(3):
        own = model.circuit_.condition({6: index}).marginalize(range(6))
        joint.append(
            own.log_likelihood(np.column_stack([all_assignments(6), np.full(64, np.nan)])) + np.log((y == index).mean())
        )
    joint = np.exp(np.array(joint).T)
    np.testing.assert_allclose(
        model.predict_proba(all_assignments(6)), joint / joint.sum(axis=1, keepdims=True), atol=1e-9
    )
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), np.argmax(model.predict_proba(X), axis=1))


def test_each_class_has_the_circuit_of_its_own_rows(data):
    X, y = data
    choices = {"min_instances": 5, "clustering": "variable"}  # which takes no chances
    model = XSPNClassifier(random_state=0, **choices).fit(X, y)
    for index in range(3):
        alone = XSPN(random_state=0, **choices).fit(X[y == index]).circuit_
        given = np.column_stack([all_assignments(6), np.full(64, index)])
        expected = alone.log_likelihood(all_assignments(6)) + np.log((y == index).mean())
        np.testing.assert_allclose(model.circuit_.log_likelihood(given), expected, rtol=1e-9)


def test_the_whole_classifier_is_one_circuit(model, data):
    X, y = data
    circuit = model.circuit_
    assert circuit.n_variables == 7
    assert circuit.why_not_smooth() is circuit.why_not_decomposable() is circuit.why_not_normalized() is None
    rows = np.column_stack([X.astype(float), np.full(len(X), np.nan)])
    np.testing.assert_allclose(circuit.marginals(rows)[:, 6], model.predict_proba(X), atol=1e-9)
    mixture = sum(np.exp(circuit.log_likelihood(np.column_stack([X, np.full(len(X), index)]))) for index in range(3))
    np.testing.assert_allclose(np.exp(circuit.log_likelihood(rows)), mixture)
    kept = circuit.marginalize(range(6))
    np.testing.assert_allclose(np.exp(kept.log_likelihood(rows)), mixture)
    np.testing.assert_allclose(
        circuit.marginals(np.full((1, 7), np.nan))[0, 6], [(y == index).mean() for index in range(3)]
    )


def test_conditioning_on_the_features_gives_the_posterior(model, data):
    X, _ = data
    for row in X[:5]:
        given = model.circuit_.condition(dict(enumerate(row.tolist())))
        found = [np.exp(given.log_likelihood([[np.nan] * 6 + [index]])[0]) for index in range(3)]
        np.testing.assert_allclose(found, model.predict_proba(row[None, :])[0], atol=1e-9)


def test_missing_values_are_summed_out(model, data, rng):
    X = data[0][:30].astype(float)
    X[rng.random(X.shape) < 0.5] = np.nan
    X[0] = np.nan
    everything = all_assignments(6)
    given_class = [
        np.exp(model.circuit_.log_likelihood(np.column_stack([everything, np.full(64, c)]))) for c in range(3)
    ]
    for row, found in zip(X, model.predict_proba(X), strict=True):
        agree = ((everything == row) | np.isnan(row)).all(axis=1)
        joint = np.array([chances[agree].sum() for chances in given_class])
        np.testing.assert_allclose(found, joint / joint.sum(), atol=1e-9)


@pytest.mark.parametrize(
    "names",
    [["yes", "no"], [True, False], [-5, 7], [np.int8(1), np.int8(2)], [0.0, 1.0], ["ä" * 50, "b"]],
    ids=lambda names: type(names[0]).__name__,
)
def test_labels_of_any_type_come_back(rng, names):
    X, kind = two_clusters(rng, rows=100)
    y = np.array(names)[kind]
    model = XSPNClassifier(**SMALL).fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    found = model.predict(X)
    assert found.dtype == y.dtype
    assert (found == y).mean() > 0.95
    assert model.score(X, y) == pytest.approx((found == y).mean())


def test_labels_can_be_objects_or_a_series(rng):
    pandas = pytest.importorskip("pandas")
    X, kind = two_clusters(rng, rows=100)
    y = np.array(["b", "a"], dtype=object)[kind]
    for labels in (y, pandas.Series(y), pandas.Series(y, dtype="category"), y.tolist()):
        assert XSPNClassifier(**SMALL).fit(X, labels).predict(X[:3]).tolist() == y[:3].tolist()


def test_one_class_only_is_predicted_with_certainty(rng):
    X = random_table(rng, 50, 4)
    model = XSPNClassifier(**SMALL).fit(X, np.full(50, "only"))
    assert set(model.predict(X)) == {"only"}
    np.testing.assert_allclose(model.predict_proba(X), 1.0)
    assert model.circuit_.n_variables == 5


def test_a_class_of_one_row_is_a_class(rng):
    X = random_table(rng, 50, 4)
    y = np.arange(50) == 7
    found = XSPNClassifier(**SMALL).fit(X, y).predict_proba(X)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_rows_that_are_impossible_in_every_class_get_the_classes_frequencies():
    X = np.array([[0, 0]] * 30 + [[1, 1]] * 10)
    y = np.array([0] * 30 + [1] * 10)
    model = XSPNClassifier(smoothing=0.0, shrinkage=0.0, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[0, 1], [0, 0], [1, 1]]), [[0.75, 0.25], [1, 0], [0, 1]])


def test_weights_count_rows_and_classes(data, rng):
    X, y = data
    weights = rng.integers(0, 4, size=len(y))
    once = XSPNClassifier(**SMALL).fit(X, y, sample_weight=weights)
    often = XSPNClassifier(**SMALL).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert io.to_json(once.circuit_) == io.to_json(often.circuit_)


def test_a_class_without_weight_is_absent(data):
    X, y = data
    model = XSPNClassifier(**SMALL).fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 2]


def test_names_of_a_frame_are_kept_and_the_class_gets_one_of_its_own(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    names = ["class", "a", "b", "c", "d", "class_"]
    model = XSPNClassifier(**SMALL).fit(pandas.DataFrame(X, columns=names), y)
    assert list(model.feature_names_in_) == names
    assert list(model.circuit_.names) == [*names, "class__"]


def test_the_same_seed_gives_the_same_circuit_for_any_number_of_workers(data):
    found = {io.to_json(XSPNClassifier(n_jobs=n, **SMALL).fit(*data).circuit_) for n in (None, 1, 2)}
    assert len(found) == 1


def test_an_interrupted_fit_leaves_the_classifier_as_it_was(data, model, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    X, y = data
    monkeypatch.setattr(classifier_module.XSPN, "fit", stop)
    before, expected = dict(vars(model)), model.predict(X)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], y)
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict(X), expected)
    fresh = XSPNClassifier()
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    with pytest.raises(ValueError, match="not fitted"):
        fresh.predict(X)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y"),
        ([0, 1], "expected 240 labels, one for each row of X, found 2"),
        (np.linspace(0, 1, 240), "Unknown label type"),
        (np.full(240, np.nan), "NaN"),
        (np.full(240, np.inf), "infinity"),
        (np.zeros((240, 2)), "1d array"),
        (np.array([0, "a", None] * 80, dtype=object), "y: "),
        ("labels", "y: "),
    ],
)
def test_bad_labels_are_refused(data, y, message):
    with pytest.raises(DataError, match=message):
        XSPNClassifier().fit(data[0], y)


def test_bad_weights_are_refused(data):
    with pytest.raises(DataError, match="expected 240 weights, one per row"):
        XSPNClassifier().fit(*data, sample_weight=[1.0])
    with pytest.raises(DataError, match="every weight is zero"):
        XSPNClassifier().fit(*data, sample_weight=np.zeros(240))


def test_a_class_of_one_row_is_named_where_rows_must_be_kept_apart(data):
    X, y = data
    y[0] = 7
    with pytest.raises(DataError, match=r"class 7: X: too few rows .* quality 'fast' needs none"):
        XSPNClassifier(quality="balanced", **SMALL).fit(X, y)
    assert XSPNClassifier(**SMALL).fit(X, y).classes_.tolist() == [0, 1, 2, 7]
