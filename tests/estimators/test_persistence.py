"""Fitted estimators as files: the same answers after a round trip, plain values only, damaged files refused."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import xspn
from xspn import MEVM, XSPN, Circuit, XSPNClassifier, XSPNImputer, XSPNOutlierDetector, load, save
from xspn.core.errors import FormatError, XSPNError
from xspn.data.domain import Domain
from xspn.io import load_with_notes

NAN = np.nan


def table(rows=80):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, rows)
    return {
        "color": np.where(kind, "red", "blue").tolist(),
        "size": (5.0 * kind + rng.normal(size=rows)).round(2).tolist(),
        "grade": (2 * kind + rng.integers(0, 2, rows)).tolist(),
    }


def holes():
    return {"color": ["red", None, "blue"], "size": [NAN, 4.2, 0.3], "grade": [3, 2, None]}


ASKED = ("score_samples", "predict", "predict_proba", "predict_marginals", "impute", "transform", "decision_function")
ANSWERS = np.where(np.arange(80) % 3 == 0, "no", "yes")
MODELS = {
    "density": lambda X: XSPN(domains={"grade": Domain.ordinal(5)}, random_state=0).fit(X),
    "settings": lambda X: XSPN(handle_unknown="missing", match_columns="by_name", random_state=1).fit(X),
    "classes": lambda X: XSPNClassifier(random_state=0).fit(X, ANSWERS),
    "numbered classes": lambda X: XSPNClassifier(random_state=0).fit(X, np.arange(80) % 3 + 7),
    "by tests": lambda X: XSPN(exchangeability="global", random_state=0).fit(X),
    "imputer": lambda X: XSPNImputer(XSPN(random_state=0), method="marginal").fit(X),
    "outliers": lambda X: XSPNOutlierDetector(contamination=0.1, random_state=0).fit(X),
}


def same(one, other):
    return one.equals(other) if hasattr(one, "equals") else np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("name", MODELS)
def test_a_round_trip_changes_no_answer(name, library, tmp_path):
    model = MODELS[name](library(table()))
    asked = library(holes())
    answers = {method: getattr(model, method)(asked) for method in ASKED if hasattr(model, method)}
    assert answers
    for ending in ("json", "xspn"):
        path = tmp_path / f"model.{ending}"
        save(model, path, notes={"who": "me"})
        again = load(path)
        assert type(again) is type(model)
        assert str(again.get_params()) == str(model.get_params())
        for method, answer in answers.items():
            assert same(answer, getattr(again, method)(asked)), method
        if hasattr(model, "classes_"):
            assert again.classes_.dtype == model.classes_.dtype
        if hasattr(model, "sample"):
            drawn = again.sample(3, random_state=0)
            assert isinstance(drawn, library)
            assert drawn.equals(model.sample(3, random_state=0))
            assert again.explain().splitlines()[0] == model.explain().splitlines()[0]
        circuit, notes = load_with_notes(path)
        assert notes["who"] == "me"
        assert isinstance(circuit, Circuit), "every command reads the circuit of such a file"


def test_arrays_and_mixtures_of_blocks(tmp_path):
    X = np.random.default_rng(0).integers(0, 2, size=(60, 4)).astype(float)
    for model, asked in ((MEVM(n_components=2, random_state=0), X), (XSPN(binarize=0.5, random_state=0), 0.9 * X)):
        save(model.fit(X), tmp_path / "model.json")
        again = load(tmp_path / "model.json")
        assert isinstance(again.sample(2, random_state=0), np.ndarray)
        np.testing.assert_array_equal(again.score_samples(asked), model.score_samples(asked))


def test_circuits_are_saved_as_ever(tmp_path):
    circuit = Circuit(xspn.Bernoulli(0, p=0.25))
    save(circuit, tmp_path / "c.json")
    assert str(load(tmp_path / "c.json").root) == str(circuit.root)


def test_a_generator_is_not_kept_and_a_loaded_model_can_be_fitted_again(tmp_path):
    X = np.random.default_rng(0).integers(0, 2, size=(60, 3))
    save(XSPN(random_state=np.random.default_rng(5)).fit(X), tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again.random_state is None
    assert again.fit(1 - X).circuit_.n_variables == 3


def test_there_is_no_pickle_in_a_file(tmp_path):
    save(XSPNClassifier(random_state=0).fit(pd.DataFrame(table()), ANSWERS), tmp_path / "m.json")
    entry = json.loads((tmp_path / "m.json").read_text())["notes"]["estimator"]
    assert entry["class"] == "XSPNClassifier"
    assert entry["classes"] == ["no", "yes"]
    (tmp_path / "evil.json").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(FormatError):
        load(tmp_path / "evil.json")


# -- wrong input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda: XSPN(), "this XSPN is not fitted yet; call fit first"),
        (lambda: XSPN, "found the class XSPN itself"),
        (lambda: {"a": 1}, "expected a Circuit or a fitted XSPN, .*, found dict"),
        (lambda: _with_option(), "the parameter 'options' holds a PublishedProgram, which a file cannot keep"),
    ],
)
def test_what_cannot_be_saved(what, message, tmp_path):
    with pytest.raises(XSPNError, match=message):
        save(what(), tmp_path / "m.json")
    assert not (tmp_path / "m.json").exists()


def _with_option():
    from xspn.learning.config import PublishedProgram

    X = np.random.default_rng(0).integers(0, 2, size=(60, 3))
    return XSPN(options={"published": PublishedProgram()}, random_state=0).fit(X)


def test_the_place_of_the_estimator_in_the_notes_is_taken(tmp_path):
    model = XSPN(random_state=0).fit(np.random.default_rng(0).integers(0, 2, size=(60, 3)))
    with pytest.raises(XSPNError, match="'estimator' is where the file keeps the estimator"):
        save(model, tmp_path / "m.json", notes={"estimator": "mine"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda own: own.update({"class": "Popen"}), "'Popen' is no estimator of this package"),
        (lambda own: own.update({"schema": 99}), "expected an estimator of schema 1, found '99'; upgrade xspn"),
        (lambda own: own["params"].update(smoothin=1), "smoothin"),
        (lambda own: own["params"].update(domains={"$code": "1"}), "'\\$code' is no value of a parameter"),
        (lambda own: own.update(params=[1]), "is no estimator of this package"),
        (lambda own: own.update(classes=["no"]), "the classes do not fit the circuit"),
        (lambda own: own.update(classes=[["no"], ["yes"]]), "the classes do not fit the circuit"),
        (lambda own: own.update(class_type="V8"), "'V8' is no type of labels"),
        (lambda own: own.update(library="../evil"), "is no library of tables"),
        (lambda own: own.pop("classes"), "cannot be restored"),
        (lambda own: own.update(library=7), "is no library of tables"),
    ],
)
def test_altered_estimators_are_refused(change, message, tmp_path):
    model = XSPNClassifier(random_state=0).fit(pd.DataFrame(table()), ANSWERS)
    save(model, tmp_path / "m.json")
    circuit, notes = load_with_notes(tmp_path / "m.json")
    change(notes["estimator"])
    xspn.io.save(circuit, tmp_path / "m.json", notes)
    with pytest.raises(FormatError, match=message):
        load(tmp_path / "m.json")
