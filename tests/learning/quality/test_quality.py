"""Settings chosen on rows kept apart, bags, and copies that EM takes apart."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from xspn import XSPN, XSPNClassifier
from xspn.circuit import Circuit
from xspn.core.errors import DataError, ParameterError
from xspn.estimators.explain import explain
from xspn.graph.graph import Graph
from xspn.graph.nodes import Product, Sum
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.ensemble import learn_bag
from xspn.learning.hidden_tree import Tree
from xspn.learning.parameters import EMOptions
from xspn.learning.quality import EFFORTS, Effort, HeldOut, learn_well
from xspn.learning.quality.bags import Bags, Tried, best_bag
from xspn.learning.quality.copies import em_options, taken_apart
from xspn.learning.quality.held_out import keep_apart
from xspn.learning.quality.mixing import best_shares
from xspn.learning.quality.trees import best_trees
from xspn.learning.quality.work import Work
from xspn.learning.trace import Trace
from xspn.leaves.bernoulli import Bernoulli
from xspn.leaves.exchangeable import Exchangeable

SMALL = Effort(
    thresholds=(5.0, 15.0),
    least_rows=(20, 60),
    finalists=2,
    pilots=2,
    circuits=3,
    smoothings=((1.0, 1.0), (5.0, 2.0)),
    copies=(2, 4),
    passes=30,
    tree_states=(2, 4),
    trees=2,
)
FACTORS = np.random.default_rng(0).normal(size=(4, 30))  # everything goes together: no tree is right
FEW = {"pilots": 2, "circuits": 2, "copies": (2,), "passes": 5, "tree_states": (2, 4), "trees": 4}  # quick


def blocks(n_rows: int, seed: int) -> np.ndarray:
    """Draw rows of two blocks of four bits whose counts go together in two of three components."""
    rng = np.random.default_rng(seed)
    chances = np.array([[0.1, 0.1], [0.9, 0.9], [0.2, 0.8]])[rng.integers(0, 3, n_rows)]
    return (rng.random((n_rows, 8)) < np.repeat(chances, 4, axis=1)).astype(np.uint8)


def test_settings_contain_the_one_that_was_asked_for_first() -> None:
    found = EFFORTS["best"].settings(LearnConfig(min_instances=33))
    assert found[0] == LearnConfig(min_instances=33, fallback="sparing")
    assert len(found) == len(set(found)) == 15


def test_a_fallback_that_was_asked_for_is_kept() -> None:
    found = EFFORTS["best"].settings(LearnConfig(fallback="blocks"))
    assert {setting.fallback for setting in found} == {"blocks"}


def test_rows_kept_apart_and_the_others_are_all_rows() -> None:
    data = BinaryData.of(blocks(400, 0), np.tile([1.0, 2.5], 200))
    rest, apart = keep_apart(data, 3)
    assert rest.weights.sum() + apart.weights.sum() == pytest.approx(data.weights.sum())
    assert 0.08 < apart.weights.sum() / data.weights.sum() < 0.25


@pytest.mark.parametrize("weight", [0.2, 1.0, 1.9])
def test_rows_of_a_weight_below_two_are_not_on_both_sides(weight: float) -> None:
    rows = np.unique(np.random.default_rng(0).integers(0, 2, size=(200, 12)), axis=0).astype(np.uint8)
    rest, apart = keep_apart(BinaryData.of(rows, np.full(len(rows), weight)), 0)
    assert len(rest.bits) + len(apart.rows) == len(rows)
    assert set(apart.weights) == {weight}


def test_weights_of_a_population_are_refused() -> None:
    with pytest.raises(DataError, match=r"sample_weight: adds up to 2\.1e\+09 rows.*give X_valid"):
        XSPN(quality="balanced").fit([[0, 1, 1], [1, 0, 0], [1, 1, 1]], sample_weight=[7e8, 7e8, 7e8])


def test_a_model_that_finds_more_rows_possible_is_preferred() -> None:
    sure, unsure = Graph(Bernoulli(0, p=0.0)), Graph(Bernoulli(0, p=0.5))
    held_out = HeldOut.of(np.array([[0], [0], [1]], dtype=np.uint8))
    assert held_out.clearly_prefers(unsure, sure)
    assert not held_out.clearly_prefers(sure, unsure)
    assert not held_out.clearly_prefers(sure, sure)


@pytest.mark.parametrize("n_rows", [2, 3, 5, 10])
@pytest.mark.parametrize("seed", range(4))
def test_of_two_rows_or_more_some_can_be_kept_apart(n_rows: int, seed: int) -> None:
    data = BinaryData.of(blocks(n_rows, seed), np.linspace(0.3, 1.7, n_rows))
    rest, apart = keep_apart(data, seed)
    assert rest.weights.sum() > 0
    assert apart.weights.sum() > 0


def test_one_row_is_too_few_to_keep_some_apart() -> None:
    with pytest.raises(DataError, match=r"too few rows with a value \(1\) to keep some apart"):
        XSPN(quality="balanced").fit([[0, 1, 1]])


def test_copies_taken_apart_find_what_the_structure_has_lost() -> None:
    X, new = blocks(2000, 1).astype(np.float64), blocks(2000, 2)
    leaf = (
        Exchangeable.from_class_counts([0, 1, 2, 3], np.ones(5)),
        Exchangeable.from_class_counts([4, 5, 6, 7], np.ones(5)),
    )
    start = Graph(Product(leaf))
    weights = np.ones(len(X))
    alone = taken_apart(start, X, weights, 1, em_options(0.1, 50), seed=0)
    several = taken_apart(start, X, weights, 4, em_options(0.1, 100), seed=0)
    gain = Circuit(several.root).log_likelihood(new).mean() - Circuit(alone.root).log_likelihood(new).mean()
    assert gain > 0.2
    assert isinstance(several.root, Sum)


def test_copies_stop_when_rows_kept_apart_say_so() -> None:
    X = blocks(60, 3).astype(np.float64)
    held_out = HeldOut.of(blocks(300, 4).astype(np.float64))
    start = XSPN(random_state=0).fit(X).circuit_.graph
    fit = taken_apart(start, X, np.ones(60), 8, EMOptions(n_iter=200, tolerance=0.0), 0, held_out)
    assert fit.best == int(np.argmax(fit.valid_log_likelihoods))
    assert len(fit.log_likelihoods) < 200


@pytest.mark.parametrize("with_valid", [False, True])
def test_more_effort_is_better_and_repeatable(with_valid: bool) -> None:
    data, new = BinaryData.of(blocks(600, 5)), blocks(2000, 6)
    held_out = HeldOut.of(blocks(300, 7)) if with_valid else None
    found = learn_well(data, LearnConfig(), SMALL, seed=1, held_out=held_out)
    again = learn_well(data, LearnConfig(), SMALL, seed=1, held_out=held_out, n_jobs=2)
    one = XSPN(random_state=0).fit(blocks(600, 5))
    scores = Circuit.of_graph(found.graph).log_likelihood(new)
    np.testing.assert_array_equal(scores, Circuit.of_graph(again.graph).log_likelihood(new))
    assert scores.mean() > one.score(new) - 0.01
    assert found.search.chosen in [tried.config for tried in found.search.tried]
    piloted = sum(np.isfinite(tried.bag) for tried in found.search.tried)
    assert SMALL.finalists + len(SMALL.smoothings) - 1 <= piloted <= SMALL.finalists + len(SMALL.smoothings)
    assert sum(np.isfinite(tried.single) for tried in found.search.tried) == 4


@pytest.mark.parametrize(("best_rows", "finer"), [(10, {40, 20, 10}), (40, {40, 20}), (80, {40})])
def test_leaves_of_a_bag_become_smaller_as_long_as_it_gains(
    best_rows: int, finer: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def pilot(self: object, tried: Tried) -> Tried:
        return replace(tried, bag=-abs(tried.config.min_instances - best_rows) + tried.config.smoothing)

    monkeypatch.setattr(Bags, "_pilot", pilot)
    monkeypatch.setattr(HeldOut, "score", lambda self, graph: 0.0)
    effort = replace(SMALL, least_rows=(10, 20, 40, 80), thresholds=(5.0,), finalists=1, copies=(), tree_states=())
    asked = LearnConfig(min_instances=80)
    search = learn_well(BinaryData.of(blocks(300, 8)), asked, effort, seed=0).search
    bags = [tried for tried in search.tried if np.isfinite(tried.bag)]
    assert search.chosen.min_instances == best_rows
    assert search.chosen.smoothing == 5 * asked.smoothing
    assert {tried.config.min_instances for tried in bags} == finer | {80}


def test_too_large_bags_are_not_tried() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(600, 4)) @ FACTORS + rng.normal(size=(600, 30)) > 0
    effort = replace(SMALL, finalists=4, copies=(), tree_states=())

    def least_rows_of_bags(effort: Effort) -> set[int]:
        tried = learn_well(BinaryData.of(rows.astype(np.uint8)), LearnConfig(), effort, seed=0).search.tried
        return {one.config.min_instances for one in tried if np.isfinite(one.bag)}

    assert least_rows_of_bags(effort) == {20, 60}
    assert len(least_rows_of_bags(replace(effort, bag_parameters=0.0))) == 1  # of the smallest circuit


@pytest.mark.parametrize("better", [True, False])
def test_a_bag_has_both_kinds_of_circuits_if_that_is_better(better: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def pilot(self: object, tried: Tried) -> Tried:
        return replace(tried, bag=float(tried.both_kinds == better))

    monkeypatch.setattr(Bags, "_pilot", pilot)
    effort = replace(SMALL, both_kinds=True, circuits=2, copies=(), tree_states=())
    found = learn_well(BinaryData.of(blocks(300, 8)), LearnConfig(), effort, seed=0)
    kinds = [any(isinstance(node, Exchangeable) for node in Graph(root).leaves) for root in found.graph.root.children]
    assert kinds == ([True, False] if better else [True, True])
    assert ("both kinds" in str(found.search.parts[0])) == better


def test_a_large_bag_begins_with_the_circuits_of_the_small_one() -> None:
    data, held_out = BinaryData.of(blocks(300, 8)), HeldOut.of(blocks(300, 9))
    effort = replace(SMALL, both_kinds=True, pilots=2, circuits=4)
    settings = effort.settings(LearnConfig())
    bags = Bags(Work(data, held_out, LearnConfig(), effort, None, lambda: None), 5)
    chosen = best_bag(bags.piloted([Tried(config) for config in settings]))
    others = [chosen.config.conventional] if chosen.both_kinds else []
    from_scratch = learn_bag(data, chosen.config, 5, 4, others=others)
    large = bags.large(chosen, data)
    leaves = [[leaf.fingerprint() for leaf in graph.leaves] for graph in (large.graph, from_scratch.graph)]
    assert leaves[0] == leaves[1]
    np.testing.assert_array_equal(held_out.row_scores(large.graph), held_out.row_scores(from_scratch.graph))


def test_small_bags_foresee_what_a_large_one_scores() -> None:
    rng = np.random.default_rng(2)
    rows = (rng.normal(size=(800, 4)) @ FACTORS + rng.normal(size=(800, 30)) > 0).astype(np.uint8)
    data, held_out = BinaryData.of(rows[:400]), HeldOut.of(rows[400:])
    effort = replace(SMALL, pilots=4, circuits=24, finalists=1, smoothings=((1.0, 1.0),))
    bags = Bags(Work(data, held_out, LearnConfig(), effort, None, lambda: None), 0)
    chosen = bags.piloted([Tried(LearnConfig())])[0]
    small = held_out.score(learn_bag(data, chosen.config, 0, 4).graph)
    large = held_out.score(bags.large(chosen, data).graph)
    assert small < chosen.bag
    assert abs(chosen.bag - large) < abs(small - large) / 2


def test_trees_score_rows_as_their_circuit_does() -> None:
    data, held_out = BinaryData.of(blocks(600, 8)), HeldOut.of(blocks(300, 9))
    effort = replace(SMALL, tree_states=(4,), trees=3)
    trees = best_trees(Work(data, held_out, LearnConfig(), effort, None, lambda: None), 0)
    assert trees is not None
    by_circuit = held_out.row_scores(trees.learned.graph)
    np.testing.assert_allclose(trees.row_scores, by_circuit, rtol=1e-6)  # messages are in single precision


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_no_setting_is_tried_twice_and_no_score_is_lost(smoothing: float) -> None:
    config = LearnConfig(smoothing=smoothing, shrinkage=0.0)
    tried = learn_well(BinaryData.of(blocks(300, 10)), config, replace(EFFORTS["best"], **FEW), seed=0).search.tried
    bags = [(one.config, one.both_kinds) for one in tried if np.isfinite(one.bag)]
    assert len(bags) == len(set(bags))
    assert sum(np.isfinite(one.single) for one in {one.config: one for one in tried}.values()) == 12


def setting_of_trees() -> str:
    rng = np.random.default_rng(1)
    rows = (rng.normal(size=(1500, 4)) @ FACTORS + rng.normal(size=(1500, 30)) > 0).astype(np.uint8)
    effort = replace(SMALL, copies=(), circuits=1, pilots=1, tree_states=(4,), trees=4)
    config = LearnConfig(exchangeability=None)
    found = learn_well(BinaryData.of(rows[:900]), config, effort, 0, held_out=HeldOut.of(rows[900:]))
    return next(part.setting for part in found.search.parts if part.kind == "trees")


def test_trees_have_different_edges_where_no_tree_is_right() -> None:
    assert setting_of_trees().endswith(", different edges")


def test_trees_have_the_same_edges_if_others_are_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = Tree.of([v - 1 for v in range(30)], range(30))
    monkeypatch.setattr("xspn.learning.quality.trees.sampled_tree", lambda rows, seed: chain)
    assert "edges" not in setting_of_trees()


def test_the_trace_belongs_to_the_whole() -> None:
    found = learn_well(BinaryData.of(blocks(600, 5)), LearnConfig(), SMALL, seed=1)
    scopes = [set(found.graph.nodes[entry.node].scope) for entry in found.trace]
    assert all(set(entry.variables) <= scope for entry, scope in zip(found.trace, scopes, strict=True))


@pytest.mark.parametrize("effort", [SMALL, replace(EFFORTS["best"], **FEW), replace(EFFORTS["balanced"], circuits=2)])
@pytest.mark.parametrize("with_valid", [False, True])
def test_progress_ends_with_all_steps(effort: Effort, with_valid: bool) -> None:
    told: list[tuple[int, int]] = []
    held_out = HeldOut.of(blocks(100, 7)) if with_valid else None
    data = BinaryData.of(blocks(300, 8))
    learn_well(data, LearnConfig(), effort, 0, held_out=held_out, step=lambda done, of: told.append((done, of)))
    assert told[-1][0] == told[-1][1]
    assert told == sorted(told)
    assert len(told) - 1 <= told[-1][1]  # not one step more than was said; the last call is none


def test_too_large_a_circuit_is_not_refined() -> None:
    effort = replace(SMALL, refined_cells=1.0)
    found = learn_well(BinaryData.of(blocks(300, 8)), LearnConfig(), effort, seed=0)
    assert all(part.kind != "copies" for part in found.search.parts)


def test_too_large_a_tree_is_not_fitted() -> None:
    effort = replace(SMALL, tree_cells=1.0)
    found = learn_well(BinaryData.of(blocks(300, 8)), LearnConfig(), effort, seed=0)
    assert all(part.kind != "trees" for part in found.search.parts)


@pytest.mark.parametrize("test", ["global", None])
def test_trees_may_hang_on_blocks_where_exchangeable_leaves_are_allowed(test: str | None) -> None:
    rng = np.random.default_rng(5)
    even = np.repeat(2 * (rng.integers(0, 2, (600, 1)) + rng.integers(0, 2, (600, 2))), 4, axis=1)  # kinds hardly tell
    rows = np.hstack([rng.random((600, 4)).argsort(axis=1) for _ in range(2)]) < even
    effort = replace(SMALL, copies=())
    found = learn_well(BinaryData.of(rows.astype(np.uint8)), LearnConfig(exchangeability=test), effort, seed=1)
    on_blocks = [part for part in found.search.parts if "2 blocks" in part.setting]
    assert bool(on_blocks) == (test is not None)
    told = [entry for entry in found.trace if entry.detail == "block of a hidden tree"]
    assert sorted(entry.variables for entry in told) == ([(0, 1, 2, 3), (4, 5, 6, 7)] if test else [])
    assert all(entry.test is not None and entry.rows == 600 for entry in told)
    assert sum(part.share for part in found.search.parts) == pytest.approx(1.0)


def test_equal_rows_count_as_rows_for_the_size_of_a_tree() -> None:
    chain = np.cumsum(np.random.default_rng(0).random((5000, 4)) < 0.1, axis=1) % 2  # 16 distinct rows at most
    found = learn_well(BinaryData.of(chain.astype(np.uint8)), LearnConfig(), replace(SMALL, tree_states=(8,)), seed=0)
    assert any("8 kinds" in part.setting for part in found.search.parts)


def test_without_smoothing_copies_are_smoothed_a_little() -> None:
    assert EFFORTS["best"].smoothings_of_em(LearnConfig(smoothing=0.0)) == [1e-3]


def test_more_parameters_must_be_clearly_better() -> None:
    plain, other = (Graph(Bernoulli(0, p=p)) for p in (0.5, 0.6))
    few = np.array([[1], [1], [0]])
    assert not HeldOut.of(few).clearly_prefers(other, plain)  # better, but on three rows
    assert not HeldOut.of(few[:1]).clearly_prefers(other, plain)
    assert HeldOut.of(np.tile(few, (100, 1))).clearly_prefers(other, plain)
    assert not HeldOut.of(few).clearly_prefers(plain, plain)


@pytest.mark.parametrize("fallback", ["auto", "sparing", "blocks", "exchangeable", "factorized", "chow_liu"])
def test_conventional_settings_have_no_exchangeable_leaves(fallback: str) -> None:
    bag = learn_bag(BinaryData.of(blocks(300, 1)), LearnConfig(fallback=fallback).conventional, 0, n_circuits=4)
    assert not any(isinstance(leaf, Exchangeable) for leaf in bag.graph.leaves)


def test_a_mixture_says_what_it_is_made_of() -> None:
    model = XSPN(quality="balanced", random_state=0).fit(blocks(300, 13))
    assert model.explain().startswith("Made of ")
    assert "trees (2; 8 kinds" in model.explain()


def test_a_circuit_without_decisions_says_so() -> None:
    circuit = XSPN(random_state=0).fit(blocks(50, 0)).circuit_
    assert "No decisions" in explain(circuit, Trace(()), 10)


def test_a_model_that_earns_next_to_nothing_gets_nothing_unless_it_alone_finds_a_row_possible() -> None:
    logs = np.array([[-1.0] * 200, [-9.0] * 200])
    assert best_shares(logs, np.ones(200)).tolist() == [1.0, 0.0]
    logs[0, 0] = -np.inf
    shares = best_shares(logs, np.ones(200))
    assert 0 < shares[1] < 0.02


def test_shares_are_even_where_no_model_finds_any_row_possible() -> None:
    assert best_shares(np.full((2, 3), -np.inf), np.ones(3)).tolist() == [0.5, 0.5]


def test_models_with_deep_trees_can_be_pickled() -> None:
    rng = np.random.default_rng(0)
    flips = rng.random((300, 250)) < 0.1
    X = (flips.cumsum(axis=1) % 2).astype(np.uint8)  # a chain, and so is the tree
    model = XSPN(quality="balanced", random_state=0).fit(X[:250], X_valid=X[250:])
    assert any(part.kind == "trees" for part in model.search_.parts)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))


def test_estimator_keeps_the_search_and_forgets_it() -> None:
    X = blocks(300, 9)
    model = XSPN(quality="balanced", random_state=0).fit(X, X_valid=blocks(100, 10))
    assert len(model.search_.tried) == 4
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
    with pytest.raises(ParameterError, match="quality: expected one of 'fast', 'balanced', 'best', found 'good'"):
        XSPN(quality="good").fit(blocks(50, 0))
