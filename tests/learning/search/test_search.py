"""Settings chosen on validation rows, bagged ensembles, EM-refined copies and HCLTs."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from xspn import XSPN, XSPNClassifier
from xspn.circuit import Circuit
from xspn.core.errors import DataError, ParameterError, QueryError
from xspn.estimators.explanation import explain
from xspn.graph.graph import Graph
from xspn.graph.nodes import Product, Sum
from xspn.learning.config import LearnConfig
from xspn.learning.data import MISSING, BinaryData
from xspn.learning.em import EMOptions
from xspn.learning.ensemble import learn_ensemble
from xspn.learning.hclt import BlockTree
from xspn.learning.search import BUDGETS, SearchBudget, SearchResult, ValidationRows, search
from xspn.learning.search.budget import SearchContext, validation_split
from xspn.learning.search.components import best_mixture_weights
from xspn.learning.search.continuous import best_continuous
from xspn.learning.search.ensembles import Ensembles, EnsembleTrial, add_finer_leaves, best_ensemble
from xspn.learning.search.hclts import best_hclts
from xspn.learning.search.refinement import em_options, refined_copies
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.exchangeable import Exchangeable

SMALL = SearchBudget(
    thresholds=(5.0, 15.0),
    min_instances=(20, 60),
    finalists=2,
    trial_circuits=2,
    circuits=3,
    smoothings=((1.0, 1.0), (5.0, 2.0)),
    copies=(2, 4),
    em_passes=30,
    hclt_states=(2, 4),
    hclts=2,
)
FACTORS = np.random.default_rng(0).normal(size=(4, 30))  # everything goes together: no tree is right
FEW = {
    "trial_circuits": 2,
    "circuits": 2,
    "copies": (2,),
    "em_passes": 5,
    "hclt_states": (2, 4),
    "hclts": 4,
    "most_hclts": 4,
    "continuous": 2,
    "continuous_passes": 1,
}  # quick


def blocks(n_rows: int, seed: int) -> np.ndarray:
    """Draw rows of two blocks of four bits whose counts go together in two of three components."""
    rng = np.random.default_rng(seed)
    chances = np.array([[0.1, 0.1], [0.9, 0.9], [0.2, 0.8]])[rng.integers(0, 3, n_rows)]
    return (rng.random((n_rows, 8)) < np.repeat(chances, 4, axis=1)).astype(np.uint8)


def factors(n_rows: int, seed: int) -> np.ndarray:
    """Draw rows of thirty bits that depend on four normal factors."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n_rows, 4)) @ FACTORS + rng.normal(size=(n_rows, 30)) > 0).astype(np.uint8)


def test_equal_validation_rows_are_one_of_their_number() -> None:
    rows = blocks(300, 1)
    folded = ValidationRows.of(rows)
    assert len(folded.rows) == len(np.unique(rows, axis=0)) < len(rows) == folded.weights.sum()
    graph = Graph(Product([Bernoulli(v, p=0.1 + 0.1 * v) for v in range(8)]))
    assert folded.score(graph) == pytest.approx(ValidationRows(rows, np.ones(300)).score(graph))


def test_settings_contain_the_one_that_was_asked_for_first() -> None:
    found = BUDGETS["best"].settings(LearnConfig(min_instances=33), BinaryData.of(blocks(50, 0)))
    assert found[0] == LearnConfig(min_instances=33, leaf_learner="sparse")
    assert len(found) == len(set(found)) == 15


def test_a_leaf_learner_that_was_asked_for_is_kept() -> None:
    for test in ("auto", "global"):
        config = LearnConfig(leaf_learner="blocks", exchangeability=test)
        found = BUDGETS["best"].settings(config, BinaryData.of(blocks(50, 0)))
        assert {setting.leaf_learner for setting in found} == {"blocks"}


def test_evidence_is_tried_where_nothing_else_is_asked_for_and_rows_are_whole_and_few() -> None:
    auto, bits = LearnConfig(exchangeability="auto"), blocks(50, 0)
    holes = np.where(np.eye(50, 8, dtype=bool), MISSING, bits).astype(np.uint8)
    budget = BUDGETS["balanced"]

    def of_evidence(config: LearnConfig, rows: np.ndarray, budget: SearchBudget = budget) -> list[LearnConfig]:
        return [own for own in budget.settings(config, BinaryData.of(rows, None, False)) if own.by_evidence]

    assert of_evidence(auto, bits) == [replace(auto, exchangeability="evidence")]
    assert len(budget.settings(auto, BinaryData.of(bits))) == 1 + 4
    assert of_evidence(auto, bits, replace(budget, evidence_cells=50 * 8)) != []
    assert of_evidence(auto, bits, replace(budget, evidence_cells=50 * 8 - 1)) == []
    assert of_evidence(auto, holes) == []
    assert of_evidence(LearnConfig(), bits) == of_evidence(replace(auto, significance=0.1), bits) == []
    asked = LearnConfig(exchangeability="evidence")
    assert budget.settings(asked, BinaryData.of(holes)) == [asked]


@pytest.mark.parametrize("trial_circuits", [1, 2])
def test_validation_rows_weigh_ensembles_by_tests_and_by_evidence(trial_circuits: int) -> None:
    rows, valid = BinaryData.of(blocks(600, 0)), ValidationRows.of(blocks(300, 1))
    budget = SearchBudget((15.0,), (400,), finalists=1, trial_circuits=trial_circuits, circuits=2)
    found = search(rows, LearnConfig(exchangeability="auto", min_instances=400), budget, seed=0, validation=valid)
    assert {trial.config.by_evidence for trial in found.report.trials} == {True, False}
    assert found.report.components[-1].kind == "evidence"
    assert "evidence" in found.report.components[-1].setting
    assert found.report.chosen.by_evidence
    with_tests = search(rows, LearnConfig(min_instances=400), budget, seed=0, validation=valid)
    assert [one.kind for one in with_tests.report.components] == ["ensemble"]
    assert valid.score(found.graph) > valid.score(with_tests.graph)


def test_validation_and_training_rows_are_all_rows() -> None:
    data = BinaryData.of(blocks(400, 0), np.tile([1.0, 2.5], 200))
    rest, validation = validation_split(data, 3)
    assert rest.weights.sum() + validation.weights.sum() == pytest.approx(data.weights.sum())
    assert 0.08 < validation.weights.sum() / data.weights.sum() < 0.25


@pytest.mark.parametrize("weight", [0.2, 1.0, 1.9])
def test_rows_of_a_weight_below_two_are_not_on_both_sides(weight: float) -> None:
    rows = np.unique(np.random.default_rng(0).integers(0, 2, size=(200, 12)), axis=0).astype(np.uint8)
    rest, validation = validation_split(BinaryData.of(rows, np.full(len(rows), weight)), 0)
    assert len(rest.bits) + len(validation.rows) == len(rows)
    assert set(validation.weights) == {weight}


def test_weights_of_a_population_are_refused() -> None:
    with pytest.raises(DataError, match=r"sample_weight: adds up to 2\.1e\+09 rows.*give X_valid"):
        XSPN(quality="balanced").fit([[0, 1, 1], [1, 0, 0], [1, 1, 1]], sample_weight=[7e8, 7e8, 7e8])


def test_a_model_that_finds_more_rows_possible_is_preferred() -> None:
    sure, unsure = Graph(Bernoulli(0, p=0.0)), Graph(Bernoulli(0, p=0.5))
    validation = ValidationRows.of(np.array([[0], [0], [1]], dtype=np.uint8))
    assert validation.clearly_prefers(unsure, sure)
    assert not validation.clearly_prefers(sure, unsure)
    assert not validation.clearly_prefers(sure, sure)


@pytest.mark.parametrize("n_rows", [2, 3, 5, 10])
@pytest.mark.parametrize("seed", range(4))
def test_two_rows_or_more_can_be_split(n_rows: int, seed: int) -> None:
    data = BinaryData.of(blocks(n_rows, seed), np.linspace(0.3, 1.7, n_rows))
    rest, validation = validation_split(data, seed)
    assert rest.weights.sum() > 0
    assert validation.weights.sum() > 0


def test_one_row_is_too_few_to_split_off_validation_rows() -> None:
    with pytest.raises(DataError, match=r"too few rows with a value \(1\) to split off validation rows"):
        XSPN(quality="balanced").fit([[0, 1, 1]])


def test_refined_copies_find_what_the_structure_has_lost() -> None:
    X, new = blocks(2000, 1).astype(np.float64), blocks(2000, 2)
    leaf = (
        Exchangeable.from_class_counts([0, 1, 2, 3], np.ones(5)),
        Exchangeable.from_class_counts([4, 5, 6, 7], np.ones(5)),
    )
    start = Graph(Product(leaf))
    weights = np.ones(len(X))
    alone = refined_copies(start, X, weights, 1, em_options(0.1, 50), seed=0)
    several = refined_copies(start, X, weights, 4, em_options(0.1, 100), seed=0)
    gain = Circuit(several.root).log_likelihood(new).mean() - Circuit(alone.root).log_likelihood(new).mean()
    assert gain > 0.2
    assert isinstance(several.root, Sum)


def test_refinement_stops_early_by_validation_rows() -> None:
    X = blocks(60, 3).astype(np.float64)
    validation = ValidationRows.of(blocks(300, 4).astype(np.float64))
    start = XSPN(random_state=0).fit(X).circuit_.graph
    fit = refined_copies(start, X, np.ones(60), 8, EMOptions(n_iter=200, tolerance=0.0), 0, validation)
    assert fit.best == int(np.argmax(fit.valid_log_likelihoods))
    assert len(fit.log_likelihoods) < 200


@pytest.mark.parametrize("with_valid", [False, True])
def test_a_search_is_repeatable_with_any_number_of_workers(with_valid: bool) -> None:
    data, new = BinaryData.of(blocks(600, 5)), blocks(2000, 6)
    validation = ValidationRows.of(blocks(300, 7)) if with_valid else None
    found = search(data, LearnConfig(), SMALL, seed=1, validation=validation)
    again = search(data, LearnConfig(), SMALL, seed=1, validation=validation, n_jobs=2)
    scores = Circuit.of_graph(found.graph).log_likelihood(new)
    np.testing.assert_array_equal(scores, Circuit.of_graph(again.graph).log_likelihood(new))
    assert found.report.chosen in [trial.config for trial in found.report.trials]
    ensembles = sum(np.isfinite(trial.ensemble) for trial in found.report.trials)
    assert SMALL.finalists + len(SMALL.smoothings) - 1 <= ensembles <= SMALL.finalists + len(SMALL.smoothings)
    assert sum(np.isfinite(trial.single) for trial in found.report.trials) == 4


def test_a_search_finds_a_clearly_better_model_than_one_circuit() -> None:
    rows, new = factors(600, 5), factors(2000, 6)
    found = Circuit.of_graph(search(BinaryData.of(rows), LearnConfig(), SMALL, seed=1).graph)
    gains = found.log_likelihood(new) - XSPN(random_state=0).fit(rows).score_samples(new)
    assert gains.mean() > 0.25  # about a half, and the standard error is below a twentieth
    assert gains.std() / np.sqrt(len(gains)) < 0.05


@pytest.mark.parametrize(("best_rows", "tried"), [(10, [40, 20, 10]), (20, [40, 20, 10]), (40, [40, 20]), (80, [40])])
def test_leaves_of_an_ensemble_become_smaller_as_long_as_it_gains(best_rows: int, tried: list[int]) -> None:
    settings = [EnsembleTrial(LearnConfig(min_instances=rows)) for rows in (10, 20, 40, 80)]

    def trial(config: LearnConfig) -> EnsembleTrial:
        return EnsembleTrial(config, ensemble=-abs(config.min_instances - best_rows))

    found = [trial(LearnConfig(min_instances=80))]
    add_finer_leaves(found, settings, trial)
    assert [one.config.min_instances for one in found] == [80, *tried]
    assert best_ensemble(found).config.min_instances == best_rows


def test_too_large_ensembles_are_not_tried() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(600, 4)) @ FACTORS + rng.normal(size=(600, 30)) > 0
    budget = replace(SMALL, finalists=4, copies=(), hclt_states=())

    def least_rows_of_ensembles(budget: SearchBudget) -> set[int]:
        tried = search(BinaryData.of(rows.astype(np.uint8)), LearnConfig(), budget, seed=0).report.trials
        return {one.config.min_instances for one in tried if np.isfinite(one.ensemble)}

    assert least_rows_of_ensembles(budget) == {20, 60}
    assert len(least_rows_of_ensembles(replace(budget, ensemble_parameters=0.0))) == 1  # of the smallest circuit


@pytest.mark.parametrize("better", [True, False])
def test_an_ensemble_has_both_structures_if_that_scores_better(better: bool) -> None:
    rng = np.random.default_rng(8)
    exchangeable = rng.random((300, 10)) < rng.random((300, 1))  # without exchangeable leaves circuits can only lose
    rows = blocks(300, 8) if better else exchangeable.astype(np.uint8)
    budget = replace(SMALL, both_structures=True, trial_circuits=4, circuits=4, copies=(), hclt_states=())
    found = search(BinaryData.of(rows), LearnConfig(), budget, seed=0)
    of_both = max(trial.ensemble for trial in found.report.trials if trial.both_structures)
    of_one = next(one.ensemble for one in found.report.trials if np.isfinite(one.ensemble) and not one.both_structures)
    assert (of_both > of_one) == better
    has_blocks = [
        any(isinstance(leaf, Exchangeable) for leaf in Graph(one).leaves) for one in found.graph.root.children
    ]
    assert has_blocks == ([True, False] * 2 if better else [True] * 4)
    assert ("both structures" in str(found.report.components[0])) == better


def test_a_large_ensemble_begins_with_the_circuits_of_its_trial() -> None:
    data, validation = BinaryData.of(blocks(300, 8)), ValidationRows.of(blocks(300, 9))
    budget = replace(SMALL, both_structures=True, trial_circuits=2, circuits=4)
    settings = budget.settings(LearnConfig(), data)
    ensembles = Ensembles(SearchContext(data, validation, LearnConfig(), budget, None, lambda: None), 5)
    chosen = best_ensemble(ensembles.trials([EnsembleTrial(config) for config in settings]))
    others = [chosen.config.conventional] if chosen.both_structures else []
    from_scratch = learn_ensemble(data, chosen.config, 5, 4, others=others)
    large = ensembles.large(chosen, data)
    leaves = [[leaf.fingerprint() for leaf in graph.leaves] for graph in (large.graph, from_scratch.graph)]
    assert leaves[0] == leaves[1]
    np.testing.assert_array_equal(validation.row_scores(large.graph), validation.row_scores(from_scratch.graph))


def test_the_score_of_a_large_ensemble_is_extrapolated_from_a_small_one() -> None:
    rng = np.random.default_rng(2)
    rows = (rng.normal(size=(800, 4)) @ FACTORS + rng.normal(size=(800, 30)) > 0).astype(np.uint8)
    data, validation = BinaryData.of(rows[:400]), ValidationRows.of(rows[400:])
    budget = replace(SMALL, trial_circuits=4, circuits=24, finalists=1, smoothings=((1.0, 1.0),))
    ensembles = Ensembles(SearchContext(data, validation, LearnConfig(), budget, None, lambda: None), 0)
    chosen = ensembles.trials([EnsembleTrial(LearnConfig())])[0]
    small = validation.score(learn_ensemble(data, chosen.config, 0, 4).graph)
    large = validation.score(ensembles.large(chosen, data).graph)
    assert small < chosen.ensemble
    assert abs(chosen.ensemble - large) < abs(small - large) / 2


def test_hclts_score_rows_as_their_circuit_does() -> None:
    data, validation = BinaryData.of(blocks(600, 8)), ValidationRows.of(blocks(300, 9))
    budget = replace(SMALL, hclt_states=(4,), hclts=3)
    hclts = best_hclts(SearchContext(data, validation, LearnConfig(), budget, None, lambda: None), 0)
    assert hclts is not None
    by_circuit = validation.row_scores(hclts.learned.graph)
    np.testing.assert_allclose(hclts.row_scores, by_circuit, rtol=1e-6)  # messages are in single precision


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_no_setting_is_tried_twice_and_no_score_is_lost(smoothing: float) -> None:
    config = LearnConfig(smoothing=smoothing, shrinkage=0.0)
    tried = search(BinaryData.of(blocks(300, 10)), config, replace(BUDGETS["best"], **FEW), seed=0).report.trials
    ensembles = [(one.config, one.both_structures) for one in tried if np.isfinite(one.ensemble)]
    assert len(ensembles) == len(set(ensembles))
    assert sum(np.isfinite(one.single) for one in {one.config: one for one in tried}.values()) == 12


def number_of_hclts(rows: np.ndarray, **limits: float) -> int:
    budget = replace(SMALL, hclt_states=(4,), hclts=2, most_hclts=8, **limits)
    data, validation = BinaryData.of(rows[:900]), ValidationRows.of(rows[900:])
    found = best_hclts(
        SearchContext(data, validation, LearnConfig(exchangeability=None), budget, None, lambda: None), 0
    )
    assert found is not None
    return found.summary.number


def test_twice_as_many_hclts_are_mixed_as_long_as_validation_rows_gain() -> None:
    rng = np.random.default_rng(1)
    no_tree = (rng.normal(size=(1500, 4)) @ FACTORS + rng.normal(size=(1500, 30)) > 0).astype(np.uint8)
    assert number_of_hclts(no_tree) == 8
    assert number_of_hclts(no_tree, hclts_cells=5 * 30 * 16 * 900) == 5  # that fit into the work that is allowed
    assert number_of_hclts((rng.random((1500, 30)) < 0.3).astype(np.uint8)) < 8  # independent: little to gain


def setting_of_hclts() -> str:
    rng = np.random.default_rng(1)
    rows = (rng.normal(size=(1500, 4)) @ FACTORS + rng.normal(size=(1500, 30)) > 0).astype(np.uint8)
    budget = replace(SMALL, copies=(), circuits=1, trial_circuits=1, hclt_states=(4,), hclts=4)
    config = LearnConfig(exchangeability=None)
    found = search(BinaryData.of(rows[:900]), config, budget, 0, validation=ValidationRows.of(rows[900:]))
    return next(one.setting for one in found.report.components if one.kind == "hclts")


def test_hclts_have_different_edges_where_no_tree_is_right() -> None:
    assert setting_of_hclts().endswith(", different edges")


def test_hclts_have_the_same_edges_if_others_are_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = BlockTree.of([v - 1 for v in range(30)], range(30))
    monkeypatch.setattr("xspn.learning.search.hclts.sampled_chow_liu_tree", lambda rows, seed: chain)
    assert "edges" not in setting_of_hclts()


def factor_search(**limits: float) -> SearchResult:
    rng = np.random.default_rng(1)
    rows = (rng.normal(size=(1500, 4)) @ FACTORS + rng.normal(size=(1500, 30)) > 0).astype(np.uint8)
    settings = {"copies": (), "hclt_states": (), "trial_circuits": 2, "circuits": 2, "continuous": 2, **limits}
    valid = ValidationRows.of(rows[900:])
    return search(BinaryData.of(rows[:900]), LearnConfig(), replace(SMALL, **settings), 0, validation=valid)


def test_continuous_mixtures_take_the_place_of_ensembles_where_factors_are_behind_columns() -> None:
    found = factor_search(continuous_passes=4, continuous_parameters=3e4)
    (only,) = (one for one in found.report.components if one.kind == "continuous")
    assert only.setting.endswith("1,000 points of 16 dimensions")
    assert only.weight > 0.5
    assert found.report.has_decoded_components
    without = factor_search(continuous=0)
    assert not without.report.has_decoded_components
    new = factors(2000, 6)
    gain = Circuit.of_graph(found.graph).log_likelihood(new) - Circuit.of_graph(without.graph).log_likelihood(new)
    assert gain.mean() > 0.2


def test_continuous_mixtures_score_rows_as_their_circuit_does() -> None:
    rows, valid = blocks(400, 8), blocks(200, 9).astype(float)
    valid[::3, 2] = np.nan
    budget = replace(SMALL, continuous=1, continuous_passes=1, continuous_parameters=4000)
    for own in (valid, valid[1::3]):  # with a missing cell, single variables are independent
        context = SearchContext(BinaryData.of(rows), ValidationRows.of(own), LearnConfig(), budget, 1, lambda: None)
        found = best_continuous(context, 0)
        assert found is not None
        by_circuit = context.validation.row_scores(found.learned.graph)
        np.testing.assert_allclose(found.row_scores, by_circuit, atol=1e-4)


def test_the_trace_belongs_to_the_whole() -> None:
    found = search(BinaryData.of(blocks(600, 5)), LearnConfig(), SMALL, seed=1)
    scopes = [set(found.graph.nodes[entry.node].scope) for entry in found.trace]
    assert all(set(entry.variables) <= scope for entry, scope in zip(found.trace, scopes, strict=True))


@pytest.mark.parametrize("budget", [SMALL, replace(BUDGETS["best"], **FEW), replace(BUDGETS["balanced"], circuits=2)])
@pytest.mark.parametrize("with_valid", [False, True])
def test_progress_ends_with_all_steps(budget: SearchBudget, with_valid: bool) -> None:
    told: list[tuple[int, int]] = []
    validation = ValidationRows.of(blocks(100, 7)) if with_valid else None
    data = BinaryData.of(blocks(300, 8))
    search(data, LearnConfig(), budget, 0, validation=validation, progress=lambda done, of: told.append((done, of)))
    assert told[-1][0] == told[-1][1]
    assert told == sorted(told)
    whole = [done for done, _ in told if float(done).is_integer()]  # parts of steps are told where a step takes long
    assert len(whole) - 1 <= told[-1][1]  # not one step more than was said; the last call is none


def test_too_large_a_circuit_is_not_refined() -> None:
    budget = replace(SMALL, em_cells=1.0)
    found = search(BinaryData.of(blocks(300, 8)), LearnConfig(), budget, seed=0)
    assert all(one.kind != "copies" for one in found.report.components)


def test_too_large_an_hclt_is_not_fitted() -> None:
    budget = replace(SMALL, hclt_cells=1.0)
    found = search(BinaryData.of(blocks(300, 8)), LearnConfig(), budget, seed=0)
    assert all(one.kind != "hclts" for one in found.report.components)


@pytest.mark.parametrize("test", ["global", None])
def test_hclts_may_hang_on_blocks_where_exchangeable_leaves_are_allowed(test: str | None) -> None:
    rng = np.random.default_rng(5)
    even = np.repeat(
        2 * (rng.integers(0, 2, (600, 1)) + rng.integers(0, 2, (600, 2))), 4, axis=1
    )  # clusters hardly tell
    rows = np.hstack([rng.random((600, 4)).argsort(axis=1) for _ in range(2)]) < even
    budget = replace(SMALL, copies=())
    found = search(BinaryData.of(rows.astype(np.uint8)), LearnConfig(exchangeability=test), budget, seed=1)
    on_blocks = [one for one in found.report.components if "2 blocks" in one.setting]
    assert bool(on_blocks) == (test is not None)
    told = [entry for entry in found.trace if entry.detail == "block of an HCLT"]
    assert sorted(entry.variables for entry in told) == ([(0, 1, 2, 3), (4, 5, 6, 7)] if test else [])
    assert all(entry.test is not None and entry.rows == 600 for entry in told)
    assert sum(one.weight for one in found.report.components) == pytest.approx(1.0)


def test_equal_rows_count_as_rows_for_the_size_of_an_hclt() -> None:
    chain = np.cumsum(np.random.default_rng(0).random((5000, 4)) < 0.1, axis=1) % 2  # 16 distinct rows at most
    found = search(BinaryData.of(chain.astype(np.uint8)), LearnConfig(), replace(SMALL, hclt_states=(8,)), seed=0)
    assert any("8 latent states" in one.setting for one in found.report.components)


def test_without_smoothing_copies_are_smoothed_a_little() -> None:
    assert BUDGETS["best"].smoothings_of_em(LearnConfig(smoothing=0.0)) == [1e-3]


def test_more_parameters_must_be_clearly_better() -> None:
    plain, other = (Graph(Bernoulli(0, p=p)) for p in (0.5, 0.6))
    few = np.array([[1], [1], [0]])
    assert not ValidationRows.of(few).clearly_prefers(other, plain)  # better, but on three rows
    assert not ValidationRows.of(few[:1]).clearly_prefers(other, plain)
    assert ValidationRows.of(np.tile(few, (100, 1))).clearly_prefers(other, plain)
    assert not ValidationRows.of(few).clearly_prefers(plain, plain)


@pytest.mark.parametrize("leaf_learner", ["auto", "sparse", "blocks", "exchangeable", "factorized", "chow_liu"])
def test_conventional_settings_have_no_exchangeable_leaves(leaf_learner: str) -> None:
    ensemble = learn_ensemble(
        BinaryData.of(blocks(300, 1)), LearnConfig(leaf_learner=leaf_learner).conventional, 0, n_circuits=4
    )
    assert not any(isinstance(leaf, Exchangeable) for leaf in ensemble.graph.leaves)


def test_a_mixture_says_what_it_is_made_of() -> None:
    model = XSPN(quality="balanced", random_state=0).fit(blocks(300, 13))
    assert model.explain().startswith("Made of ")
    assert "hclts (2; 8 latent states" in model.explain()


def test_a_circuit_without_decisions_is_explained_too() -> None:
    circuit = XSPN(random_state=0).fit(blocks(50, 0)).circuit_
    assert str(circuit.summary()) in " ".join(" ".join(explain(circuit, {}, 10)).split())


def test_a_model_that_earns_next_to_nothing_gets_nothing_unless_it_alone_finds_a_row_possible() -> None:
    logs = np.array([[-1.0] * 200, [-9.0] * 200])
    assert best_mixture_weights(logs, np.ones(200)).tolist() == [1.0, 0.0]
    logs[0, 0] = -np.inf
    weights = best_mixture_weights(logs, np.ones(200))
    assert 0 < weights[1] < 0.02


def test_mixture_weights_are_even_where_no_model_finds_any_row_possible() -> None:
    assert best_mixture_weights(np.full((2, 3), -np.inf), np.ones(3)).tolist() == [0.5, 0.5]


def test_models_with_deep_hclts_can_be_pickled() -> None:
    rng = np.random.default_rng(0)
    flips = rng.random((300, 250)) < 0.1
    X = (flips.cumsum(axis=1) % 2).astype(np.uint8)  # a chain, and so is the tree
    model = XSPN(quality="balanced", random_state=0).fit(X[:250], X_valid=X[250:])
    assert any(one.kind == "hclts" for one in model.search_.components)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))


def test_estimator_keeps_the_search_and_forgets_it() -> None:
    X = blocks(300, 9)
    model = XSPN(quality="balanced", random_state=0).fit(X, X_valid=blocks(100, 10))
    assert len(model.search_.trials) == 1 + 4  # evidence, and tests with each of four settings
    model.set_params(quality="fast").fit(X)
    assert not hasattr(model, "search_")


def test_mixed_columns_and_missing_cells() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([blocks(300, 11), rng.normal(size=300), rng.integers(0, 4, 300)]).astype(np.float64)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = XSPN(quality="balanced", random_state=0).fit(X)
    assert np.isfinite(model.score(X))


def test_classifiers_have_the_switch_too() -> None:
    X = blocks(200, 12)
    model = XSPNClassifier(quality="balanced", random_state=0).fit(X[:, 1:], X[:, 0])
    assert model.score(X[:, 1:], X[:, 0]) > 0.7


def test_an_unknown_quality_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"quality: expected one of 'fast', 'mixed', .*, found 'good'"):
        XSPN(quality="good").fit(blocks(50, 0))


def test_points_of_a_latent_space_have_no_rows_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(SMALL, copies=(), hclt_states=(), continuous=1, continuous_passes=3, continuous_parameters=8000)
    monkeypatch.setitem(BUDGETS, "best", small)
    rows, valid = factors(900, 3), factors(300, 4)
    model = XSPN(quality="best", exchangeability="global", random_state=0).fit(rows, X_valid=valid)
    assert "continuous" in model.explain()
    assert model.circuit_.counts is None
    with pytest.raises(QueryError, match=r"nobody counted how many rows"):
        model.circuit_.posterior_draw(0)
    smaller = XSPN(quality="best", exchangeability="global", max_parameters=500, random_state=0)
    assert smaller.fit(rows, X_valid=valid).circuit_.counts is not None
