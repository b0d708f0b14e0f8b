"""XSPN and XSPNClassifier on Dask tables and Parquet paths: fitted where the rows are, asked lazily."""

from collections import Counter

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from support.distributed import TINY, in_blocks
from support.learning import two_clusters
from xspn import XSPN, XSPNClassifier
from xspn.core.errors import DataError, DataTypeError, ParameterError
from xspn.distributed import gathering, lazy
from xspn.io.json_format import to_json


@pytest.fixture
def table(rng):
    return two_clusters(rng, 600, 6)[0]


@pytest.fixture
def frame(table):
    return pd.DataFrame(table, columns=list("abcdef")).astype({"a": "bool", "b": "float64"})


@pytest.fixture
def partial(frame, rng):
    own = frame.astype("float64")
    return own.mask(rng.random(own.shape) < 0.3)


# -- learning ----------------------------------------------------------------------------------------------------------


def test_a_small_table_gives_the_local_circuit(table, frame, tmp_path):
    path = tmp_path / "table.parquet"
    frame.to_parquet(path)
    local = XSPN(random_state=4).fit(frame)
    for X in (dd.from_pandas(frame, npartitions=3), path):
        model = XSPN(random_state=4).fit(X)
        assert to_json(model.circuit_) == to_json(local.circuit_)
        assert not hasattr(model, "passes_")
    array = XSPN(random_state=4).fit(in_blocks(table))
    assert to_json(array.circuit_) == to_json(XSPN(random_state=4).fit(table).circuit_)


def test_validation_rows_may_be_out_of_core_too(table):
    here = XSPN(quality="balanced", random_state=0).fit(table, X_valid=table[:200])
    there = XSPN(quality="balanced", random_state=0).fit(in_blocks(table), X_valid=in_blocks(table[:200]))
    assert to_json(there.circuit_) == to_json(here.circuit_)
    assert float(there.valid_score_) == pytest.approx(here.valid_score_)
    with dask.config.set(TINY), pytest.raises(DataError, match="X_valid: too large to be gathered"):
        XSPN(quality="balanced", random_state=0).fit(table, X_valid=in_blocks(table))


def test_a_small_table_may_hold_anything():
    frame = pd.DataFrame({"colour": ["red", "blue"] * 30, "size": np.arange(60.0)})
    model = XSPN(random_state=0).fit(dd.from_pandas(frame, npartitions=2))
    assert model.circuit_.domains[1].kind == "real"


@pytest.mark.parametrize("kind", ["array", "frame", "path"])
def test_a_large_table_is_learned_where_it_is(table, frame, tmp_path, kind):
    path = tmp_path / "table.parquet"
    frame.to_parquet(path, row_group_size=150)
    X = {"array": in_blocks(table), "frame": dd.from_pandas(frame, npartitions=4), "path": str(path)}[kind]
    with dask.config.set(TINY):
        model = XSPN(random_state=0).fit(X, X_valid=X)
    local = XSPN(random_state=0).fit(table)
    assert model.passes_[0].measured == 1
    assert model.valid_score_ == pytest.approx(local.score(table), rel=0.02)
    assert model.n_features_in_ == 6
    if kind == "array":
        assert isinstance(model.sample(3, random_state=0), np.ndarray)
    else:
        assert model.feature_names_in_.tolist() == list("abcdef")
        assert model.sample(3, random_state=0).dtypes.to_dict() == frame.dtypes.to_dict()
    assert [entry.rows for entry in model.trace_ if entry.branch is None] == [len(table)]
    done = Counter(entry.operation.value for entry in model.trace_)
    decisions = next(line for line in model.explain(full=True).splitlines() if line.startswith("Decisions: "))
    told = decisions.removeprefix("Decisions: ").removesuffix(".").split("; ")
    assert sorted(told) == sorted(f"{count} × {operation}" for operation, count in done.items())
    again = model.fit(table)
    assert not hasattr(again, "passes_")


def test_weights_count_rows(table):
    weights = np.where(np.arange(len(table)) % 3 == 0, 2.0, 0.0)
    X, w = in_blocks(table), in_blocks(weights[:, None])[:, 0]
    small = XSPN(random_state=0).fit(X, sample_weight=w)
    assert to_json(small.circuit_) == to_json(XSPN(random_state=0).fit(table, sample_weight=weights).circuit_)
    with dask.config.set(TINY):
        model = XSPN(random_state=0).fit(X, sample_weight=w)
    local = XSPN(random_state=0).fit(table, sample_weight=weights)
    assert model.score(table) == pytest.approx(local.score(table), rel=0.03)


def test_ensembles_are_learned_on_samples_of_the_rows(table, tmp_path):
    with dask.config.set(TINY):
        model = XSPN(n_estimators=3, random_state=0).fit(in_blocks(table, 200), checkpoint=tmp_path / "ensemble.json")
    assert len(model.circuit_.root.children) == 3
    assert model.score(table) > XSPN(random_state=0).fit(table).score(table) - 0.2
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"ensemble.json.{k}" for k in range(3)]


def test_binarized_numbers_are_learned_where_they_are(rng):
    numbers = rng.normal(size=(400, 4))
    with dask.config.set(TINY):
        model = XSPN(binarize=0.0, random_state=0).fit(in_blocks(numbers))
    assert model.score(in_blocks(numbers)) == pytest.approx(model.score(numbers))


def test_large_tables_are_binary_for_tests(frame):
    model = XSPN(exchangeability="global", random_state=0)
    with dask.config.set(TINY):
        text = dd.from_pandas(frame.assign(a="x"), npartitions=2)
        with pytest.raises(DataTypeError, match=r"column 'a' is of type .*must be binary.* learned by evidence"):
            model.fit(text)
        with pytest.raises(DataError, match=r"domains: .*must be binary"):
            XSPN(exchangeability="global", domains="real").fit(dd.from_pandas(frame.astype("float64"), npartitions=2))
        numbers = dd.from_pandas(frame.assign(b=[5, *frame["b"][1:]]), npartitions=2)
        with pytest.raises(DataError, match=r"partition 0: .*expected 0 or 1, found 5"):
            model.fit(numbers)
        for test in ("auto", "global"):
            own = XSPN(domains="binary", exchangeability=test, random_state=0)
            assert own.fit(dd.from_pandas(frame, npartitions=2)).n_features_in_ == 6


def test_a_checkpoint_is_for_out_of_core_tables(table, tmp_path):
    with pytest.raises(ParameterError, match="checkpoint"):
        XSPN().fit(table, checkpoint=tmp_path / "fit.json")
    with dask.config.set(TINY):
        for test, passes in (("global", 0), ("auto", 1)):  # by evidence a table is read once to know it again
            model = XSPN(exchangeability=test, random_state=0)
            first = to_json(model.fit(in_blocks(table), checkpoint=tmp_path / f"{test}.json").circuit_)
            second = model.fit(in_blocks(table), checkpoint=tmp_path / f"{test}.json")
            assert to_json(second.circuit_) == first
            assert len(second.passes_) == passes


def test_other_estimators_take_what_can_be_gathered(table, frame):
    expected = XSPNClassifier(random_state=0).fit(frame, table[:, 0])
    found = XSPNClassifier(random_state=0).fit(dd.from_pandas(frame, npartitions=3), table[:, 0])
    assert to_json(found.circuit_) == to_json(expected.circuit_)
    assert found.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
    with dask.config.set(TINY), pytest.raises(DataError, match="too many to be gathered here"):
        XSPNClassifier().fit(in_blocks(table), table[:, 0])


# -- asking ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def model(frame):
    return XSPN(random_state=0).fit(frame)


def test_scores_are_lazy_arrays(model, frame, partial, tmp_path):
    path = tmp_path / "table.parquet"
    partial.to_parquet(path, row_group_size=100)
    expected = model.score_samples(partial)
    for X in (dd.from_pandas(partial, npartitions=4), str(path)):
        found = model.score_samples(X)
        assert isinstance(found, da.Array)
        np.testing.assert_allclose(found.compute(), expected)
        assert model.score(X) == pytest.approx(expected.mean())
    plain = XSPN(random_state=0).fit(frame.to_numpy(dtype=float))
    found = plain.score_samples(in_blocks(partial.to_numpy()))
    assert found.chunks == ((50,) * 12,)
    np.testing.assert_allclose(found.compute(), plain.score_samples(partial.to_numpy()))


def test_partitions_are_read_and_answered_in_pieces_that_fit(model, partial, tmp_path, monkeypatch):
    path = tmp_path / "table.parquet"
    partial.to_parquet(path, row_group_size=100)
    monkeypatch.setattr(gathering, "ROWS_PER_PIECE", 250)
    monkeypatch.setattr(lazy, "CELLS_AT_ONCE", 6 * 70)
    assert gathering.as_collection(path).npartitions == 3  # of 600 rows, 100 to a group, two groups to a partition
    np.testing.assert_allclose(model.score_samples(path).compute(), model.score_samples(partial))
    pd.testing.assert_frame_equal(model.impute(path).compute().reset_index(drop=True), model.impute(partial))
    drawn = model.impute(path, method="sample", random_state=1)
    pd.testing.assert_frame_equal(drawn.compute(), drawn.compute())


def test_marginals_and_completions_are_lazy_tables(model, partial):
    X = dd.from_pandas(partial, npartitions=4)
    np.testing.assert_allclose(model.predict_marginals(X).compute(), model.predict_marginals(partial))
    for method in ("marginal", "mpe"):
        found = model.impute(X, method=method)
        assert isinstance(found, dd.DataFrame)
        pd.testing.assert_frame_equal(found.compute(), model.impute(partial, method=method))
    plain = XSPN(random_state=0).fit(partial.to_numpy())
    array = in_blocks(partial.to_numpy())
    np.testing.assert_array_equal(plain.impute(array).compute(), plain.impute(partial.to_numpy()))


def test_random_completions_differ_between_partitions_and_not_between_runs(model):
    nothing = pd.DataFrame(np.full((400, 6), np.nan), columns=list("abcdef"))
    lazy = model.impute(dd.from_pandas(nothing, npartitions=4), method="sample", random_state=1)
    first, second = lazy.compute(), lazy.compute()
    pd.testing.assert_frame_equal(first, second)
    assert not first.iloc[:100].reset_index(drop=True).equals(first.iloc[100:200].reset_index(drop=True))


def test_samples_are_drawn_when_they_are_wanted(model, table):
    lazy = model.sample(250, random_state=0, chunks=100)
    assert isinstance(lazy, dd.DataFrame)
    found = lazy.compute()
    assert len(found) == 250
    assert found.dtypes.to_dict() == model.sample(1).dtypes.to_dict()
    array = XSPN(random_state=0).fit(table).sample(250, random_state=0, chunks=100)
    assert array.chunks == ((100, 100, 50), (6,))
    assert array.compute().shape == (250, 6)
    with pytest.raises(ParameterError, match="chunks"):
        model.sample(10, chunks=0)


def test_marginals_of_other_columns_are_lazy_frames():
    frame = pd.DataFrame({"colour": ["red", "blue", "green"] * 30, "tall": [0, 1] * 45})
    model = XSPN(random_state=0).fit(frame)
    found = model.predict_marginals(dd.from_pandas(frame, npartitions=3))
    pd.testing.assert_frame_equal(found.compute(), model.predict_marginals(frame))


def test_classes_are_predicted_lazily(table, partial):
    y = np.where(table[:, 0] == 1, "yes", "no")
    model = XSPNClassifier(random_state=0).fit(partial.to_numpy(), y)
    X = in_blocks(partial.to_numpy())
    for method in ("predict_proba", "predict_log_proba", "predict"):
        found = getattr(model, method)(X)
        assert isinstance(found, da.Array)
        np.testing.assert_array_equal(found.compute(), getattr(model, method)(partial.to_numpy()))


def test_questions_need_a_fitted_model_and_the_right_columns(model, partial):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        XSPN().score_samples(in_blocks(partial.to_numpy()))
    with pytest.raises(DataError, match="feature names"):
        model.score_samples(dd.from_pandas(partial.rename(columns={"a": "z"}), npartitions=2)).compute()
