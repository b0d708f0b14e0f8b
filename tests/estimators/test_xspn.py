"""`XSPN`: questions to a learned circuit, names, weights, seeds, progress, interruptions."""

import re

import numpy as np
import pytest

from support.learning import all_assignments, exchangeable_table, random_table, two_clusters
from xspn import XSPN, Circuit
from xspn.core.errors import DataError, ParameterError
from xspn.estimators import xspn as xspn_module
from xspn.io import to_json
from xspn.learning.config import PublishedProgram

SMALL = {"min_instances": 5, "random_state": 0}


@pytest.fixture
def table(rng):
    return random_table(rng, 150, 6)


@pytest.fixture
def partial(rng, table):
    """Some rows of the table with some values missing."""
    rows = table[:40].astype(float)
    rows[rng.random(rows.shape) < 0.4] = np.nan
    return rows


@pytest.fixture
def model(table):
    return XSPN(**SMALL).fit(table)


# -- questions -------------------------------------------------------------------------------------------------------


def test_the_score_is_the_mean_of_the_samples_scores(model, table):
    scores = model.score_samples(table)
    assert scores.shape == (150,)
    assert model.score(table) == pytest.approx(scores.mean())
    np.testing.assert_allclose(scores, model.circuit_.log_likelihood(table))


def test_missing_values_are_summed_out(model, partial):
    oracle = model.circuit_.oracle
    np.testing.assert_allclose(model.score_samples(partial), oracle.log_likelihood(partial), atol=1e-9)


def test_marginals_are_those_of_the_circuit_given_the_row(model, partial):
    found = model.predict_marginals(partial)
    assert found.shape == partial.shape
    seen = ~np.isnan(partial)
    np.testing.assert_allclose(found[seen], partial[seen])
    everything = all_assignments(6)
    chances = np.exp(model.circuit_.log_likelihood(everything))
    for row, answer in zip(partial, found, strict=True):
        agree = ((everything == row) | np.isnan(row)).all(axis=1)
        np.testing.assert_allclose(answer, chances[agree] @ everything[agree] / chances[agree].sum(), atol=1e-9)


def test_samples_are_rows_of_zeros_and_ones_that_the_seed_decides(model):
    rows = model.sample(50, random_state=4)
    assert rows.shape == (50, 6)
    assert set(np.unique(rows)) <= {0.0, 1.0}
    np.testing.assert_array_equal(rows, model.sample(50, random_state=4))
    assert model.sample().shape == (1, 6)


# -- imputation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["marginal", "mpe", "sample"])
def test_imputation_fills_what_is_missing_and_nothing_else(model, partial, method):
    before = partial.copy()
    filled = model.impute(partial, method=method, random_state=1)
    assert set(np.unique(filled)) <= {0.0, 1.0}
    seen = ~np.isnan(partial)
    np.testing.assert_array_equal(filled[seen], partial[seen])
    np.testing.assert_array_equal(partial, before)


def test_each_method_keeps_its_promise(model, partial):
    missing = np.isnan(partial)
    likelier = model.predict_marginals(partial) > 0.5
    np.testing.assert_array_equal(model.impute(partial)[missing], likelier[missing])
    everything = all_assignments(6)
    logs = model.circuit_.log_likelihood(everything)
    best = model.impute(partial, method="mpe")
    for row, completion in zip(partial, best, strict=True):
        agree = ((everything == row) | np.isnan(row)).all(axis=1)
        found = model.circuit_.log_likelihood(completion[None, :])[0]
        if model.circuit_.mpe(row[None, :]).exact:
            assert found == pytest.approx(logs[agree].max())
    first, again = (model.impute(partial, method="sample", random_state=2) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_whole_tables_come_back_as_a_copy(model, table):
    for whole in (table, table.astype(bool), table.astype(float)):
        filled = model.impute(whole)
        np.testing.assert_array_equal(filled, table)
        assert not np.shares_memory(filled, whole)


def test_an_unknown_method_is_refused(model, partial):
    with pytest.raises(ParameterError, match="expected method 'marginal', 'mean', 'mpe' or 'sample', found 'median'"):
        model.impute(partial, method="median")


# -- frames and names ------------------------------------------------------------------------------------------------


def test_names_of_a_frame_are_kept(table, partial):
    pandas = pytest.importorskip("pandas")
    names = ["ann", "bob", "cy", "dan", "eve", "fay"]
    model = XSPN(**SMALL).fit(pandas.DataFrame(table, columns=names))
    assert list(model.feature_names_in_) == names
    assert list(model.circuit_.names) == names
    assert model.n_features_in_ == 6
    frame = pandas.DataFrame(partial, columns=names, index=[f"row {i}" for i in range(40)])
    for method in ("marginal", "mpe", "sample"):
        filled = model.impute(frame, method=method, random_state=0)
        assert isinstance(filled, pandas.DataFrame)
        assert list(filled.columns) == names
        assert list(filled.index) == list(frame.index)
        assert not filled.isna().any().any()
    assert model.circuit_.marginals({"bob": 1}).shape == (1, 6, 2)
    np.testing.assert_allclose(model.score_samples(frame), model.circuit_.log_likelihood(partial))


def test_the_kind_of_table_does_not_matter(table):
    pandas = pytest.importorskip("pandas")
    expected = to_json(XSPN(**SMALL).fit(table).circuit_)
    frame = pandas.DataFrame(table)
    for X in (
        table.astype(bool),
        table.astype(float),
        table.tolist(),
        frame,
        frame.astype(bool),
        np.asfortranarray(table),
    ):
        assert to_json(XSPN(**SMALL).fit(X).circuit_) == expected


def test_values_can_be_cut_at_a_number(rng, table):
    real = table * 2.0 - rng.random(table.shape)
    cut = XSPN(binarize=0.5, **SMALL).fit(np.where(table == 1, 0.6, -3.0))
    assert to_json(cut.circuit_) == to_json(XSPN(**SMALL).fit(table).circuit_)
    rows = np.array([[0.9, np.nan, -1, 0.5, 7, 0]])
    expected = cut.circuit_.log_likelihood([[1, np.nan, 0, 0, 1, 0]])
    np.testing.assert_allclose(cut.score_samples(rows), expected)
    assert cut.impute(rows)[0, [0, 2, 3, 4, 5]].tolist() == [0.9, -1, 0.5, 7, 0]  # what is seen is left alone
    assert cut.impute(rows)[0, 1] in (0, 1)
    with pytest.raises(ParameterError, match="binarize"):
        XSPN(binarize="half").fit(real)


# -- weights, seeds, workers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("clustering", ["auto", "bernoulli", "variable", "kmeans"])
def test_a_weight_of_two_is_a_row_twice(rng, table, clustering):
    weights = rng.integers(0, 4, size=150)
    once = XSPN(clustering=clustering, **SMALL).fit(table, sample_weight=weights)
    often = XSPN(clustering=clustering, **SMALL).fit(np.repeat(table, weights, axis=0))
    assert to_json(once.circuit_) == to_json(often.circuit_)


@pytest.mark.parametrize("n_estimators", [1, 3])
def test_the_same_seed_gives_the_same_file_for_any_number_of_workers(table, n_estimators):
    models = [XSPN(n_estimators=n_estimators, n_jobs=n, **SMALL).fit(table) for n in (None, 1, 2)]
    assert len({to_json(model.circuit_) for model in models}) == 1
    other = XSPN(n_estimators=n_estimators, min_instances=5, random_state=1).fit(table)
    assert n_estimators == 1 or to_json(other.circuit_) != to_json(models[0].circuit_)


@pytest.mark.parametrize("state", [np.random.default_rng(0), np.random.RandomState(0), None, np.int64(3)])
def test_any_kind_of_random_state_is_taken(table, state):
    assert isinstance(XSPN(random_state=state, n_estimators=2).fit(table).circuit_, Circuit)


def test_fitting_again_forgets_what_was_learned_before(table):
    model = XSPN(**SMALL).fit(table, X_valid=table)
    assert to_json(model.fit(table[:, :4]).circuit_) == to_json(XSPN(**SMALL).fit(table[:, :4]).circuit_)
    assert model.n_features_in_ == 4
    assert not hasattr(model, "valid_score_")


def test_validation_rows_are_scored_and_change_nothing(table):
    model = XSPN(**SMALL).fit(table[:100], X_valid=table[100:])
    assert model.valid_score_ == pytest.approx(model.score(table[100:]))
    assert to_json(model.circuit_) == to_json(XSPN(**SMALL).fit(table[:100]).circuit_)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda rows: rows[:0], "X_valid: found 0 rows"),
        (lambda rows: rows[:, :5], "X_valid: X has 5 features, but XSPN is expecting 6"),
        (lambda rows: rows + 1, "X_valid: expected one of 0, 1 or NaN, found 2 at row"),
    ],
)
@pytest.mark.parametrize(("quality", "learner"), [("fast", "learn_ensemble"), ("balanced", "search")])
def test_what_is_wrong_with_validation_rows_is_said_before_learning(table, spoil, said, quality, learner, monkeypatch):
    monkeypatch.setattr(xspn_module, learner, lambda *_: pytest.fail("learned too early"))
    with pytest.raises(DataError, match=said):
        XSPN(quality=quality, random_state=0).fit(table, X_valid=spoil(table))


# -- progress and interruption ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_estimators", [1, 2])
def test_progress_goes_to_stderr(table, capfd, monkeypatch, n_estimators):
    monkeypatch.setattr(xspn_module, "SECONDS_BETWEEN_LINES", 0.0)
    XSPN(verbose=1, n_estimators=n_estimators, **SMALL).fit(table)
    out, err = capfd.readouterr()
    assert out == ""
    assert "learning" in err
    assert err.rstrip().endswith("100% is done")


def test_a_short_fit_says_one_line_and_a_silent_one_nothing(table, capfd):
    XSPN(verbose=1, **SMALL).fit(table)
    assert capfd.readouterr().err == "learning: 100% is done\n"
    XSPN(**SMALL).fit(table)
    assert capfd.readouterr() == ("", "")


def test_a_terminal_gets_a_bar(table, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any stream for a terminal
    XSPN(verbose=1, **SMALL).fit(table)
    out, err = capsys.readouterr()
    assert out == ""
    assert "learning" in err


def interrupt(monkeypatch, error=KeyboardInterrupt):
    def stop(*args, **kwargs):
        raise error

    monkeypatch.setattr(xspn_module, "learn_ensemble", stop)


@pytest.mark.parametrize("verbose", [0, 1])
def test_an_interrupted_fit_leaves_nothing_behind(table, monkeypatch, verbose):
    interrupt(monkeypatch)
    model = XSPN(verbose=verbose)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(table)
    assert vars(model) == before
    with pytest.raises(ValueError, match="not fitted"):
        model.score_samples(table)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_fit_leaves_what_was_learned_before(table, model, monkeypatch, error):
    interrupt(monkeypatch, error)
    before, scores = dict(vars(model)), model.score_samples(table)
    with pytest.raises(error):
        model.fit(table[:, :3])
    assert vars(model) == before
    np.testing.assert_array_equal(model.score_samples(table), scores)


def test_bad_validation_rows_leave_what_was_learned_before(table, model):
    before = dict(vars(model))
    with pytest.raises(ValueError, match="features"):
        model.fit(table[:, :4], X_valid=table)
    assert vars(model) == before


# -- explanation -----------------------------------------------------------------------------------------------------


def test_an_explanation_names_the_block_its_law_and_the_evidence(rng):
    pandas = pytest.importorskip("pandas")
    table = exchangeable_table(rng, 400, 8)
    names = [f"senator {i}" for i in range(8)]
    frame = pandas.DataFrame(table, columns=names)
    assert "] evidence +" in XSPN(random_state=0).fit(frame).explain()
    model = XSPN(exchangeability="global", random_state=0).fit(frame)
    text = model.explain()
    assert text.startswith("In all rows:\n   senator 0…7 (8): ")
    assert f"p = {model.trace_.entries[0].test.p_value:.2g}" in text
    full = " ".join(model.explain(full=True).split())
    assert "senator 0, senator 1, senator 2" in full
    assert "in 400 rows; global test: " in full
    assert "Decisions: 1 × exchangeable" in full


def test_an_explanation_says_what_decides_between_contexts(rng):
    block = exchangeable_table(rng, 1000, 6, spread=9.0)
    switch = np.arange(1000) % 2
    table = np.column_stack([switch, block ^ switch[:, None] * [1, 1, 1, 0, 0, 0]])
    table[:, 1:4] |= switch[:, None]  # where the switch is on, three of them always come
    model = XSPN(clustering="variable", random_state=0).fit(table)
    text = model.explain()
    assert "2 contexts for X0" in text
    assert re.search(r"^ *1\. 50 % of rows \(about 500\), where X0 = [01]", text, re.MULTILINE)
    assert re.search(r"^ *2\. 50 % of rows \(about 500\), where X0 = [01]", text, re.MULTILINE)
    assert "1. " not in model.explain(most=0)
    assert "where hot = 0" in model.explain(names=["hot", *"abcdef"])
    with pytest.raises(DataError, match="names: expected 7, one for each column, found 2"):
        model.explain(names=["a", "b"])
    with pytest.raises(ParameterError, match="most"):
        model.explain(most=-1)


def test_an_explanation_of_an_ensemble_says_that_it_is_one(table):
    assert XSPN(n_estimators=2, **SMALL).fit(table).explain().startswith("Made of 2 circuits")


def test_two_clusters_are_better_than_one(rng):
    X, _ = two_clusters(rng, rows=400)
    clustered = XSPN(random_state=0).fit(X[:200]).score(X[200:])
    assert clustered > XSPN(min_instances=1000, leaf_learner="factorized").fit(X[:200]).score(X[200:]) + 1


def test_options_are_refused_by_name(rng):
    X = rng.integers(0, 2, size=(20, 3))
    with pytest.raises(ParameterError, match=r"options: unknown setting 'publish'; did you mean 'published'\?"):
        XSPN(options={"publish": None}).fit(X)
    with pytest.raises(ParameterError, match="options: unknown setting 'smoothing'"):
        XSPN(options={"smoothing": 1.0}).fit(X)
    with pytest.raises(ParameterError, match="expected a mapping"):
        XSPN(options=["published"]).fit(X)
    with pytest.raises(ParameterError, match="published: expected a PublishedProgram or None, found 'yes'"):
        XSPN(options={"published": "yes"}).fit(X)
    with pytest.raises(ParameterError, match="global test: unknown setting 'pairs'"):
        XSPN(options={"published": PublishedProgram(test_options=(("pairs", "first"),))}).fit(X)
