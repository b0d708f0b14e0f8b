"""Large circuits distilled into small ones: never larger than asked for, close to the large ones, and sound."""

import numpy as np
import pytest

from xspn import XSPN, Bernoulli, Categorical, ChowLiu, Circuit, Exchangeable, Gaussian, Product, Sum
from xspn.core.errors import ParameterError
from xspn.graph import properties
from xspn.graph.graph import Graph, summarize
from xspn.io import to_json
from xspn.learning.distillation import check_budget, distill
from xspn.learning.distillation.distiller import independent
from xspn.learning.distillation.flows import Flows
from xspn.learning.distillation.loosening import Loosenings, loosened
from xspn.learning.distillation.pooling import MOST_COMPARED, pools_of
from xspn.learning.distillation.pruning import Cuts, has_full_support
from xspn.leaves.expansion import indicator

BLOCKS = np.array([[0.1, 0.1], [0.9, 0.9], [0.2, 0.8]])


def rows_of_blocks(n_rows, seed):
    """Draw rows of two blocks of four bits whose chances go together in two of three components."""
    rng = np.random.default_rng(seed)
    chances = BLOCKS[rng.integers(0, 3, n_rows)]
    return (rng.random((n_rows, 8)) < np.repeat(chances, 4, axis=1)).astype(np.float64)


def wide_mixture(n_components, seed=0):
    """Return a mixture of many products around the three components of these rows."""
    rng = np.random.default_rng(seed)
    centers = np.repeat(BLOCKS, 4, axis=1)[rng.integers(0, 3, n_components)]
    p = np.clip(centers + rng.normal(scale=0.02, size=centers.shape), 0.01, 0.99)
    parts = [Product([Bernoulli(v, p=float(chance)) for v, chance in enumerate(own)]) for own in p]
    return Sum(rng.dirichlet(np.ones(n_components)), parts)


def distilled(root, most, seed=0, **settings):
    X = rows_of_blocks(400, 1)
    return distill(Graph(root), most, X, np.ones(len(X)), seed, **settings)


def mean_of(graph, X):
    return float(Circuit(graph.root).log_likelihood(X).mean())


# -- what is promised --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [8, 9, 15, 40, 100, 250])
def test_never_more_than_asked_for(most):
    small = distilled(wide_mixture(30), most)
    assert summarize(small).parameters <= most


def test_a_tenth_of_the_parameters_keeps_the_likelihood():
    large, X = Graph(wide_mixture(30)), rows_of_blocks(3000, 2)
    small = distilled(large.root, summarize(large).parameters // 10)
    assert mean_of(small, X) > mean_of(large, X) - 0.02
    assert mean_of(small, X) > mean_of(independent(large), X) + 0.5


def test_what_is_small_enough_stays_as_it_is():
    large = Graph(wide_mixture(5))
    X = rows_of_blocks(50, 0)
    assert distill(large, summarize(large).parameters, X, np.ones(50), 0) is large


def test_a_seed_gives_the_same_circuit():
    first, second = (distilled(wide_mixture(30), 30, seed=5) for _ in range(2))
    assert to_json(Circuit(first.root)) == to_json(Circuit(second.root))


def test_structure_is_smooth_and_decomposable_and_sums_to_one():
    small = Circuit(distilled(wide_mixture(30), 25).root)
    assert properties.why_not_smooth(small.graph) is None
    assert properties.why_not_decomposable(small.graph) is None
    every = np.array(np.meshgrid(*[[0.0, 1.0]] * 8)).reshape(8, -1).T
    assert np.exp(small.log_likelihood(every)).sum() == pytest.approx(1)


def test_nothing_that_was_possible_becomes_impossible():
    # A variable decides; one of its values is so rare that hardly any row takes that edge.
    other = wide_mixture(20)
    branches = [Product([indicator(8, value, 2), other if value else wide_mixture(20, 1)]) for value in (0, 1)]
    root = Sum([0.999, 0.001], branches)
    X = np.column_stack([rows_of_blocks(300, 3), np.zeros(300)])
    small = distill(Graph(root), 20, X, np.ones(300), 0)
    rare = np.column_stack([rows_of_blocks(20, 4), np.ones(20)])
    assert summarize(small).parameters <= 20
    assert np.isfinite(Circuit(small.root).log_likelihood(rare)).all()


def test_training_rows_may_lack_cells_and_have_weights():
    X = rows_of_blocks(300, 5)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    small = distill(Graph(wide_mixture(30)), 30, X, np.arange(300.0), 0, validation=(X[:50], np.ones(50)))
    assert summarize(small).parameters <= 30
    assert np.isfinite(mean_of(small, X))


def test_columns_of_any_type():
    rng = np.random.default_rng(0)
    parts = [
        Product(
            [Categorical(0, rng.dirichlet(np.ones(3))), Gaussian(1, rng.normal(), 1.0), Bernoulli(2, p=rng.random())]
        )
        for _ in range(12)
    ]
    large = Circuit(Sum(np.full(12, 1 / 12), parts))
    X = large.sample(500, random_state=0)
    for most in (5, 12, 30):
        small = large.distill(X, most, random_state=0)
        assert small.summary().parameters <= most
        assert np.isfinite(small.log_likelihood(X)).all()


@pytest.mark.parametrize("wrong", [0, -1, True, 2.5, "10", None])
def test_nonsense_is_refused(wrong):
    circuit = Circuit(wide_mixture(3))
    with pytest.raises(ParameterError, match="max_parameters: expected a whole number"):
        circuit.distill(rows_of_blocks(10, 0), wrong)


def test_too_few_parameters_are_refused_with_the_least_that_works():
    circuit = Circuit(wide_mixture(3))
    with pytest.raises(ParameterError, match="max_parameters: expected at least 8, which independent columns have"):
        circuit.distill(rows_of_blocks(10, 0), 7)
    check_budget(8, circuit.domains)


# -- the parts ---------------------------------------------------------------------------------------------------------


def test_flows_are_those_of_the_definition():
    leaves = [Bernoulli(0, p=p) for p in (0.2, 0.9)]
    shared = Bernoulli(1, p=0.5)
    graph = Graph(Sum([0.3, 0.7], [Product([leaf, shared]) for leaf in leaves]))
    flows = Flows.of(graph, np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, 1.0]))
    one = np.array([0.3 * 0.2, 0.7 * 0.9])
    zero = np.array([0.3 * 0.8, 0.7 * 0.1])
    expected = 2 * one / one.sum() + zero / zero.sum()
    assert flows.nodes[graph.id_of(leaves[0])] == pytest.approx(expected[0])
    assert flows.nodes[graph.id_of(leaves[1])] == pytest.approx(expected[1])
    assert flows.nodes[graph.id_of(shared)] == pytest.approx(3)
    assert flows.edges[-2:] == pytest.approx(expected)


def test_leaves_merge_by_the_entropy_that_they_gain():
    p = [0.1, 0.12, 0.5, 0.9]
    graph = Graph(Sum([0.25] * 4, [Bernoulli(0, p=chance) for chance in p]))
    mass = np.zeros(len(graph))
    mass[:4] = 10.0
    (pool,) = pools_of(graph, mass)

    def entropy(chance):
        return -chance * np.log(chance) - (1 - chance) * np.log(1 - chance)

    expected = 20 * entropy(0.11) - 10 * entropy(0.1) - 10 * entropy(0.12)
    assert pool.prices[0] == pytest.approx(expected)
    assert (np.diff(pool.prices) >= 0).all()
    together = pool.groups(pool.prices[0])
    assert together[0] == together[1]
    assert len(np.unique(together)) == 3
    assert pool.merged(np.array([0, 1]), graph.nodes[0]).p == pytest.approx(0.11)
    assert len(np.unique(pool.groups(np.inf))) == 1


def test_exchangeable_leaves_merge_and_others_do_not():
    rng = np.random.default_rng(0)
    counts = [Exchangeable.from_class_probabilities([0, 1], rng.dirichlet(np.ones(3))) for _ in range(2)]
    trees = [ChowLiu([0, 1], [-1, 0], [[a, a], [a, 0.5]]) for a in (0.2, 0.3)]
    graph = Graph(Sum([0.25] * 4, [*counts, *trees]))
    (pool,) = pools_of(graph, np.ones(len(graph)))
    assert {type(graph.nodes[place]) for place in pool.leaves.tolist()} == {Exchangeable}
    merged = pool.merged(np.array([0, 1]), counts[0])
    mean = np.mean([leaf.class_probabilities for leaf in counts], axis=0)
    assert merged.class_probabilities == pytest.approx(mean)


@pytest.mark.parametrize("size", [2, 3])
def test_many_leaves_merge_without_comparing_all_of_them(size):
    rng = np.random.default_rng(0)
    tables = rng.dirichlet(np.ones(size), 3 * MOST_COMPARED)
    leaves = [Categorical(0, table) for table in tables]
    graph = Graph(Sum(np.full(len(leaves), 1 / len(leaves)), leaves))
    (pool,) = pools_of(graph, np.ones(len(graph)))
    assert len(pool.pairs) == len(leaves) - 1
    assert (np.diff(pool.prices) >= 0).all()
    assert len(np.unique(pool.groups(np.inf))) == 1


def test_dependence_in_leaves_goes_by_its_information():
    strong, weak = [[0.5, 0.5], [0.05, 0.95]], [0.5, 0.52]
    tree = ChowLiu([0, 1, 2], [-1, 0, 1], [*strong, weak])
    graph = Graph(Sum([0.5, 0.5], [tree, Product([Bernoulli(v, p=0.3) for v in range(3)])]))
    flows = Flows.of_sums(graph, np.where(np.arange(graph.n_edges) >= graph.n_edges - 2, 10.0, 0.0), 20.0)
    own = Loosenings.of(flows)
    information = tree.edge_information()
    assert sorted(own.prices) == pytest.approx(sorted(10 * information[1:] / 2))
    small = loosened(flows, own, float(own.prices.min()))
    parts = next(node for node in small.graph.root.children if any(isinstance(c, ChowLiu) for c in node.children))
    assert sorted(len(child.variables) for child in parts.children) == [1, 2]
    assert small.nodes[-1] == flows.nodes[-1]
    table = [child.marginals(np.full((1, 1), np.nan))[0, 0, 1] for child in parts.children if len(child.variables) == 1]
    assert table == pytest.approx(tree.marginals(np.full((1, 3), np.nan))[0, 2, 1:])
    assert loosened(flows, own, -1.0) is flows


def test_size_is_what_is_left():
    graph = Graph(wide_mixture(20))
    X = rows_of_blocks(200, 6)
    cuts = Cuts(Flows.of(graph, X, np.ones(200)))
    assert cuts.size(-1.0) == summarize(graph).parameters
    for most in (20, 60, 120):
        price = cuts.price_of(most)
        found = cuts.cut(price)
        assert summarize(found).parameters <= cuts.size(price) <= most


def test_support_of_sums_that_tell_values_apart():
    leaf = Bernoulli(1, p=0.4)
    zero, one = (Product([indicator(0, value, 2), leaf]) for value in (0, 1))
    for root, expected in (
        (Sum([0.5, 0.5], [zero, one]), True),
        (Sum([0.5, 0.5], [zero, zero]), False),
        (Sum([0.5, 0.5], [zero, Product([Bernoulli(0, p=0.5), leaf])]), True),
    ):
        assert bool(has_full_support(Graph(root))[-1]) is expected


# -- estimators --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quality", ["fast", "balanced"])
def test_estimators_keep_to_the_limit(quality):
    X = rows_of_blocks(300, 7)
    whole = XSPN(quality=quality, n_estimators=3, random_state=0).fit(X)
    small = XSPN(quality=quality, n_estimators=3, max_parameters=30, random_state=0).fit(X)
    assert whole.circuit_.summary().parameters > 30 >= small.circuit_.summary().parameters
    test = rows_of_blocks(1000, 8)
    assert small.score(test) > whole.score(test) - 0.1
    assert "max_parameters" in str(small.provenance_.settings)
    again = XSPN(quality=quality, n_estimators=3, max_parameters=30, random_state=0).fit(X)
    assert to_json(again.circuit_) == to_json(small.circuit_)


def test_estimators_refuse_a_limit_before_they_learn():
    X = rows_of_blocks(30, 0)
    for wrong in (0, True, "many", 3.0):
        with pytest.raises(ParameterError, match="max_parameters: expected a whole number"):
            XSPN(max_parameters=wrong).fit(X)
    with pytest.raises(ParameterError, match="max_parameters: expected at least 8, which independent columns have"):
        XSPN(max_parameters=7).fit(X)


def test_tables_out_of_core_are_refused(monkeypatch):
    dask = pytest.importorskip("dask.array")
    monkeypatch.setattr("xspn.distributed.gathering.may_be_gathered", lambda X: False)
    with pytest.raises(ParameterError, match=r"max_parameters: models of tables that are not in memory .* sample"):
        XSPN(max_parameters=20).fit(dask.from_array(rows_of_blocks(100, 0), chunks=(50, 8)))
