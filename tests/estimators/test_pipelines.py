"""Imputer and outlier detector, and tables that differ from the training table: in pipelines, by pandas and polars."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from xspn import MEVM, XSPN, XSPNClassifier, XSPNImputer, XSPNOutlierDetector
from xspn.core.errors import DataError, ParameterError, XSPNError

NAN = np.nan
FRAMES = pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
TOLERANT = {"handle_unknown": "missing", "match_columns": "by_name", "random_state": 0}


def people(rows=200, seed=0):
    """A city, a size in tenths that depends on it, a number of rooms, and whether there is a garden."""
    rng = np.random.default_rng(seed)
    south = rng.random(rows) < 0.5
    return {
        "city": np.where(south, "Ulm", "Kiel").tolist(),
        "size": (np.where(south, 60.0, 90.0) + 8 * rng.normal(size=rows)).round(1).tolist(),
        "rooms": (np.where(south, 1, 3) + rng.integers(0, 3, rows)).tolist(),
        "garden": (rng.random(rows) < np.where(south, 0.1, 0.9)).tolist(),
    }


@pytest.fixture(scope="module")
def tolerant():
    return XSPN(**TOLERANT).fit(pd.DataFrame(people()))


@pytest.fixture(scope="module")
def imputer():
    return XSPNImputer(random_state=0).fit(pd.DataFrame(people()))


@pytest.fixture(scope="module")
def detector():
    return XSPNOutlierDetector(random_state=0).fit(pd.DataFrame(people()))


def partial():
    return pd.DataFrame(
        {
            "city": ["Ulm", None, "Kiel", "Ulm"],
            "size": [NAN, 92.5, NAN, 61.0],
            "rooms": pd.array([1, 4, None, 2], dtype="Int64"),
            "garden": pd.array([False, True, None, None], dtype="boolean"),
        },
        index=[7, 7, 8, 9],
    )


# -- imputer -----------------------------------------------------------------------------------------------------------


@FRAMES
def test_a_frame_stays_one_of_its_library_with_its_types_and_what_was_seen(library):
    table = library(people())
    model = XSPNImputer(random_state=0).fit(table)
    holes = table.head(20).clone() if library is pl.DataFrame else table.head(20).copy()
    if library is pl.DataFrame:
        holes = holes.with_columns(pl.when(pl.col("size") > 80).then(None).otherwise(pl.col("size")).alias("size"))
    else:
        holes.loc[holes["size"] > 80, "size"] = NAN
    filled = model.transform(holes)
    assert type(filled) is library
    assert list(filled.columns) == list(holes.columns) == model.get_feature_names_out().tolist()
    assert list(filled.dtypes) == list(holes.dtypes)
    before, after = np.array(holes["size"], dtype=float), np.array(filled["size"], dtype=float)
    seen = ~np.isnan(before)
    assert not seen.all()
    np.testing.assert_array_equal(after[seen], before[seen])
    np.testing.assert_array_equal(after, after.round(1), err_msg="tenths, as in the table")
    assert (np.abs(after[~seen] - 90) < 8).all(), "those of Kiel"


def test_means_categories_and_deviations_are_those_of_the_circuit(imputer):
    table = partial()
    filled, std = imputer.transform(table, return_std=True)
    assert filled.index.tolist() == [7, 7, 8, 9]
    assert filled["city"].tolist() == ["Ulm", "Kiel", "Kiel", "Ulm"]
    rows = imputer.circuit_.schema.encode(table)
    means = imputer.circuit_.means(rows)
    assert filled["size"].to_numpy()[[0, 2]] == pytest.approx(means[[0, 2], 1], abs=0.051)
    table_of = imputer.circuit_.marginals(rows)[2, 2]
    values = imputer.estimator_.schema_.numbers()[2]
    expected = np.nansum(table_of[: len(values)] * values)
    assert abs(filled["rooms"].iloc[2] - expected) <= 0.5, "the number of rooms nearest to the mean"
    assert np.isnan(std[:, 0]).all(), "cities are no numbers"
    assert (std[:, 1] > 0).tolist() == [True, False, True, False]
    np.testing.assert_allclose(std[[0, 2], 1] ** 2, imputer.circuit_.variances(rows)[[0, 2], 1])
    chance = imputer.circuit_.marginals(rows)[3, 3, 1]
    assert std[3, 3] == pytest.approx(np.sqrt(chance * (1 - chance)))


def test_draws_differ_keep_what_is_seen_and_repeat_by_the_seed(imputer):
    table = partial()
    first, again = imputer.draw(table, 4, random_state=1), imputer.draw(table, 4, random_state=1)
    assert all(a.equals(b) for a, b in zip(first, again, strict=True))
    assert len({own["size"].iloc[0] for own in first}) > 1
    for own in first:
        assert own["size"].iloc[[1, 3]].tolist() == [92.5, 61.0]
        assert not own.isna().any().any()


def test_intervals_hold_what_is_missing_as_often_as_they_say(imputer):
    truth = pd.DataFrame(people(rows=400, seed=5))
    holes = truth.assign(size=NAN)
    low, high = imputer.intervals(holes, 0.8, random_state=0)
    inside = (low[:, 1] <= truth["size"]) & (truth["size"] <= high[:, 1])
    assert 0.74 < inside.mean() < 0.86
    assert np.isnan(low[:, 0]).all()
    np.testing.assert_array_equal(low[:, 2], truth["rooms"])


def test_it_is_a_step_of_a_pipeline_and_a_clone_has_learned_nothing():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(120, 1)), 3, axis=1) + 0.3 * rng.normal(size=(120, 3))
    y = X[:, 0] > 0
    holes = np.where(rng.random(X.shape) < 0.2, NAN, X)
    model = make_pipeline(XSPNImputer(random_state=0), LogisticRegression()).fit(holes, y)
    assert model.score(holes, y) > 0.85
    copy = clone(model[0])
    assert not hasattr(copy, "estimator_")
    assert copy.get_params() == model[0].get_params()


def test_a_mixture_of_blocks_fills_bits():
    X = np.repeat(np.random.default_rng(0).integers(0, 2, size=(100, 1)), 4, axis=1).astype(float)
    filled = XSPNImputer(MEVM(n_components=2, random_state=0)).fit(X).transform([[1, 1, NAN, NAN], [0, NAN, 0, 0]])
    assert filled.tolist() == [[1, 1, 1, 1], [0, 0, 0, 0]]


# -- outliers ----------------------------------------------------------------------------------------------------------


def test_scores_do_not_depend_on_how_many_cells_are_seen(detector):
    """Rows that the model draws score 0 on average, with deviation 1, whatever is missing."""
    rows = detector.estimator_.sample(600, random_state=9)
    means = []
    for hidden in ([], ["size"], ["size", "rooms"], ["city", "rooms", "garden"]):
        scores = detector.score_samples(rows.assign(**dict.fromkeys(hidden)))
        means.append(scores.mean())
        assert 0.8 < scores.std() < 1.25
    assert np.abs(means).max() < 0.2
    logs = detector.circuit_.log_likelihood(rows.assign(size=NAN)), detector.circuit_.log_likelihood(rows)
    assert logs[0].mean() - logs[1].mean() > 2, "log-likelihoods do"
    assert detector.score_samples(rows.head(1).assign(**dict.fromkeys(rows.columns))).tolist() == [0.0]


def test_outliers_are_found_in_the_whole_row_and_in_a_part_of_it(detector):
    odd = pd.DataFrame(people()).head(4).astype(object)
    odd.loc[0, "size"] = 300.0
    odd.loc[1, ["city", "size", "rooms", "garden"]] = ["Ulm", 95.0, 5, True]
    odd.loc[2, ["city", "size", "rooms", "garden"]] = [None, 300.0, None, None]
    assert detector.predict(odd).tolist()[:3] == [-1, -1, -1]
    scores = detector.score_samples(odd)
    np.testing.assert_array_equal(detector.decision_function(odd), scores - detector.offset_)
    np.testing.assert_array_equal(detector.predict(odd) == -1, scores < detector.offset_)


@pytest.mark.parametrize("contamination", [0.05, 0.2])
def test_as_many_outliers_as_are_said_to_be_there(contamination):
    X = np.random.default_rng(0).normal(size=(100, 2))
    found = XSPNOutlierDetector(contamination=contamination, random_state=0).fit_predict(X)
    assert (found == -1).sum() == round(100 * contamination)


def test_outliers_that_are_alike_do_not_become_usual():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(190, 3)), 6 + 0.1 * rng.normal(size=(10, 3))])
    robust, plain = (
        XSPNOutlierDetector(support_fraction=own, random_state=0).fit(X).score_samples(X) for own in (0.75, 1.0)
    )
    assert robust[190:].max() < robust[:190].min()
    assert plain[190:].min() > robust[190:].max(), "fitted to all rows, they are a context of their own"


def test_weights_count_as_repeated_rows():
    X = np.random.default_rng(0).normal(size=(60, 2)).round(1)
    weights = np.random.default_rng(1).integers(0, 3, size=60)
    one = XSPNOutlierDetector(contamination=0.1, random_state=0).fit(X, sample_weight=weights)
    other = XSPNOutlierDetector(contamination=0.1, random_state=0).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(one.score_samples(X), other.score_samples(X), atol=1e-9)
    assert one.offset_ == pytest.approx(other.offset_)


# -- tables that differ from the training table ------------------------------------------------------------------------


@FRAMES
def test_columns_go_by_name_in_any_order_and_absent_ones_are_missing(tolerant, library):
    whole = library(people(rows=5, seed=3))
    expected = tolerant.score_samples(whole)
    shuffled = whole[["garden", "rooms", "size", "city"]]
    np.testing.assert_allclose(tolerant.score_samples(shuffled), expected)
    rows = tolerant.circuit_.schema.encode(pd.DataFrame(people(rows=5, seed=3)))
    rows[:, [0, 2]] = NAN
    found = tolerant.score_samples(whole[["garden", "size"]])
    np.testing.assert_allclose(found, tolerant.circuit_.log_likelihood(rows))


@FRAMES
def test_imputing_by_name_keeps_the_tables_columns_and_a_transformer_gives_all(tolerant, library):
    table = library({"size": [None, 61.0], "note": ["a", "b"], "city": ["Kiel", None]})
    filled = tolerant.impute(table)
    assert type(filled) is library
    assert list(filled.columns) == ["size", "note", "city"]
    assert list(filled["note"]) == ["a", "b"]
    assert list(filled["city"]) == ["Kiel", "Ulm"]
    assert abs(filled["size"][0] - 90) < 10
    imputer = XSPNImputer(XSPN(**TOLERANT)).fit(library(people()))
    whole = imputer.transform(table)
    assert list(whole.columns) == ["city", "size", "rooms", "garden"]
    assert not np.any([value is None or value != value for name in whole.columns for value in whole[name]])


def test_files_may_lack_columns_too(tolerant, tmp_path):
    path = tmp_path / "some.csv"
    path.write_text("size,city\n61.0,Ulm\n90.0,Rom\n")
    rows = np.array([[tolerant.schema_.labels[0].index("Ulm"), 61.0, NAN, NAN], [NAN, 90.0, NAN, NAN]])
    np.testing.assert_allclose(tolerant.score_samples(path), tolerant.circuit_.log_likelihood(rows))


def test_a_value_that_training_lacked_is_missing_if_that_is_asked_for(tolerant):
    table = pd.DataFrame(people(rows=3, seed=4))
    odd = table.assign(city=["Rom", *table["city"][1:]], rooms=[*table["rooms"][:2], 40])
    cleared = table.assign(city=[None, *table["city"][1:]], rooms=[*table["rooms"][:2], None])
    np.testing.assert_allclose(tolerant.score_samples(odd), tolerant.score_samples(cleared))
    strict = XSPN(random_state=0).fit(pd.DataFrame(people()))
    with pytest.raises(DataError, match=r"unknown value 'Rom' at row 0, column 0 \('city'\); known: '"):
        strict.score_samples(odd)


def test_a_classifier_takes_unknown_values_as_missing():
    table = pd.DataFrame(people())
    y = table.pop("garden")
    model = XSPNClassifier(**TOLERANT).fit(table, y)
    asked = model.predict_proba(pd.DataFrame({"city": ["Rom"], "size": [90.0]}))
    np.testing.assert_allclose(asked, model.predict_proba(pd.DataFrame({"size": [90.0]})))


# -- samples given what is known ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{"city": "Kiel", "rooms": 4}, "city=Kiel & rooms=4", ["city=Kiel", "rooms=4"]])
def test_samples_agree_with_what_is_given(tolerant, given):
    drawn = tolerant.sample(200, random_state=0, given=given)
    assert set(drawn["city"]) == {"Kiel"}
    assert set(drawn["rooms"]) == {4}
    assert abs(drawn["size"].mean() - 90) < 4
    assert drawn["size"].equals(drawn["size"].round(1))


def test_each_row_of_a_table_is_completed_so_many_times(tolerant):
    table = pd.DataFrame({"city": ["Ulm", "Kiel"], "size": [NAN, 88.0]})
    drawn = tolerant.sample(3, random_state=0, given=table)
    assert drawn["city"].tolist() == ["Ulm"] * 3 + ["Kiel"] * 3
    assert drawn["size"].iloc[3:].tolist() == [88.0] * 3
    assert drawn["size"].iloc[:3].nunique() > 1


@pytest.mark.parametrize("settings", [{"exchangeability": "global"}, {"n_estimators": 2}, {}], ids=str)
def test_numbers_come_in_the_steps_and_of_the_sign_of_their_column(settings):
    rng = np.random.default_rng(0)
    paid = (rng.exponential(size=150) * 8).round(1)
    table = pd.DataFrame({"paid": paid, "age": (40 + 12 * rng.normal(size=150)).round(), "debt": -paid.round() - 1})
    model = XSPN(random_state=0, **settings).fit(table)
    for drawn in (model.sample(300, random_state=0), model.impute(table.mask(rng.random(table.shape) < 0.3), "sample")):
        assert drawn["paid"].equals(drawn["paid"].round(1))
        assert drawn["age"].equals(drawn["age"].round())
        assert (drawn["paid"] >= 0).all()
        assert (drawn["debt"] <= 0).all()
    given = model.sample(2, given={"paid": 0.123})
    assert given["paid"].tolist() == [0.123, 0.123], "what is known stays as it is"


# -- labeled answers ---------------------------------------------------------------------------------------------------


def test_marginals_with_labels(tolerant):
    found = tolerant.circuit_.marginals({"city": "Kiel"}, as_frame=True)
    assert list(found.columns) == ["row", "variable", "value", "probability"]
    assert set(found["variable"]) == {"city", "rooms", "garden"}, "real columns have no values to list"
    table = tolerant.circuit_.marginals({"city": "Kiel"})
    garden = found[(found["variable"] == "garden") & (found["value"] == True)]  # noqa: E712
    assert garden["probability"].item() == table[0, 3, 1]
    sums = found.groupby("variable")["probability"].sum()
    np.testing.assert_allclose(sums, 1.0)


def test_marginals_of_a_model_of_a_polars_table_are_a_polars_table():
    model = XSPN(random_state=0).fit(pl.DataFrame(people(rows=60)))
    found = model.circuit_.marginals(as_frame=True)
    assert isinstance(found, pl.DataFrame)
    assert found.filter(pl.col("variable") == "city")["value"].to_list() == list(model.schema_.labels[0])


# -- wrong input -------------------------------------------------------------------------------------------------------

TABLE = pd.DataFrame(people(rows=40))
WRONG = {
    "an estimator that is none": (
        lambda: XSPNImputer(LogisticRegression()).fit(TABLE),
        "an XSPN, a NormalMixture or a MEVM, found L",
    ),
    "a class for an estimator": (lambda: XSPNImputer(XSPN).fit(TABLE), "found XSPN; pass an instance, not the class"),
    "an unknown method": (lambda: XSPNImputer(method="median").fit(TABLE), "method: expected one of marginal, mean"),
    "no draws": (lambda: _imputer().draw(TABLE, 0), "n_draws: expected a whole number of at least 1, found 0"),
    "a level above one": (lambda: _imputer().intervals(TABLE, 90), "level: expected a number from 0 to 1, found 90"),
    "too many outliers": (
        lambda: XSPNOutlierDetector(contamination=0.7).fit(TABLE),
        "contamination: expected 'auto' or a fraction above 0 and up to 0.5, found 0.7",
    ),
    "a word for a fraction": (lambda: XSPNOutlierDetector(contamination="many").fit(TABLE), "found 'many'"),
    "too little support": (
        lambda: XSPNOutlierDetector(support_fraction=0.2).fit(TABLE),
        "support_fraction: expected a number from 0.5 to 1, found 0.2",
    ),
    "an unknown way with unknown values": (
        lambda: XSPN(handle_unknown="ignore").fit(TABLE),
        "handle_unknown: expected one of 'error', 'missing', found 'ignore'",
    ),
    "an unknown way with columns": (
        lambda: XSPN(match_columns="name").fit(TABLE),
        "match_columns: expected one of 'exact', 'by_name', found 'name'",
    ),
    "another order": (
        lambda: XSPN(random_state=0).fit(TABLE).score(TABLE[["size", "city", "rooms", "garden"]]),
        "match_columns='by_name' takes columns in any order",
    ),
    "no known column": (
        lambda: _tolerant().score(pd.DataFrame({"x": [1]})),
        "none of the columns that the model knows \\('city', 'size', 'rooms', 'garden'\\) is in the table",
    ),
    "text among numbers": (
        lambda: _tolerant().score(TABLE.assign(size="large")),
        "expected numbers, found 'large' at row 0, column 1 \\('size'\\)",
    ),
    "evidence and chunks": (lambda: _tolerant().sample(5, chunks=2, given={"city": "Ulm"}), "`given` or `chunks`"),
    "evidence that is an event": (
        lambda: _tolerant().sample(5, given="size > 80"),
        "given: expected NAME=VALUE alone, found 'size > 80'",
    ),
    "an unknown column in evidence": (lambda: _tolerant().sample(5, given={"town": "Ulm"}), "town"),
    "impossible evidence": (lambda: _tolerant().sample(5, given={"city": "Rom"}), "unknown value 'Rom'"),
}
_fitted: dict = {}


def _imputer():
    return _fitted.setdefault("imputer", XSPNImputer(XSPN(**TOLERANT)).fit(TABLE))


def _tolerant():
    return _imputer().estimator_


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_refused_with_a_reason(name):
    attempt, message = WRONG[name]
    with pytest.raises(XSPNError, match=message):
        attempt()


def test_a_failed_fit_changes_nothing(imputer):
    before = imputer.estimator_
    with pytest.raises(DataError):
        imputer.fit(np.array([[np.inf, 1.0]]))
    assert imputer.estimator_ is before
    with pytest.raises(ParameterError, match="method"):
        clone(imputer).set_params(method="none").fit(TABLE)
