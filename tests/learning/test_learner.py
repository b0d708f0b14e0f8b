"""Learned circuits are valid distributions over all variables, the same for any number of workers, at any depth."""

import sys

import numpy as np
import pytest

from support.learning import all_assignments, learned, random_table, total_probability, two_clusters
from xspn import XSPN, Bernoulli, ChowLiu, Exchangeable, Product, Sum
from xspn.circuit import Circuit
from xspn.data.table import Table
from xspn.io import to_json
from xspn.learning import learner as learner_module
from xspn.learning import steps as steps_module
from xspn.learning.clustering import Split, clusterings
from xspn.learning.config import LearnConfig, PublishedProgram
from xspn.learning.data import BinaryData
from xspn.learning.ensemble import learn_ensemble
from xspn.learning.learner import learn
from xspn.learning.methods import Can, Method
from xspn.learning.policy import Operation
from xspn.learning.table_data import TableData

VARIANTS = [
    {},
    {"exchangeability": None},
    {"exchangeability": "pairwise", "clustering": "bernoulli", "leaf_learner": "factorized"},
    {"exchangeability": "full", "clustering": "variable", "leaf_learner": "exchangeable"},
    {"clustering": "kmeans", "leaf_learner": "chow_liu", "published": PublishedProgram()},
    {"clustering": "variable", "leaf_learner": "blocks", "published": PublishedProgram(rows_first=True)},
    {"shrinkage": 0.0, "published": PublishedProgram(score_overrules=True)},
]


@pytest.fixture(params=VARIANTS, ids=lambda settings: "-".join(map(str, settings.values())) or "default")
def settings(request):
    return {"min_instances": 5, "independence_threshold": 1.0, **request.param}


def test_learned_circuits_are_valid_distributions_over_all_variables(rng, settings):
    for _ in range(4):
        table = random_table(rng, 120, 7)
        circuit, _ = learned(table, **settings)
        assert circuit.why_not_smooth() is None
        assert circuit.why_not_decomposable() is None
        assert circuit.why_not_normalized() is None
        assert sorted(circuit.scope) == list(range(7))
        assert total_probability(circuit) == pytest.approx(1, abs=1e-9)
        assert np.isfinite(circuit.log_likelihood(all_assignments(7))).all(), "smoothing leaves nothing impossible"


def test_nested_sums_and_products_are_merged(rng, settings):
    for _ in range(4):
        circuit, _ = learned(random_table(rng, 150, 7), **settings)
        for node in circuit.graph.nodes:
            for child in node.children:
                assert not (isinstance(node, Sum) and isinstance(child, Sum))
                assert not (isinstance(node, Product) and isinstance(child, Product))


def probabilities_of_records(records, index=0):
    """P(every assignment) by the definition of sums, products and cuts, from what became of each task."""
    record = records[index]
    table = all_assignments(7)
    if record.node is not None:
        rows = np.where(np.isin(np.arange(7), record.task.variables), table, np.nan)
        return np.exp(Circuit(record.node, n_variables=7).log_likelihood(rows))
    below = [probabilities_of_records(records, child) for child in record.children]
    if record.weights is None:
        return np.prod(below, axis=0)
    if record.cut is not None:
        below = [part * (table[:, record.cut] == value) for value, part in enumerate(below)]
    return sum(weight * part for weight, part in zip(record.weights, below, strict=True))


def test_merging_does_not_change_the_distribution(rng, settings, monkeypatch):
    kept = []

    def assemble(records, n_variables):
        kept.append(records)
        return original(records, n_variables)

    original = learner_module.assemble
    monkeypatch.setattr(learner_module, "assemble", assemble)
    for _ in range(4):
        circuit, _ = learned(random_table(rng, 150, 7), **settings)
        expected = probabilities_of_records(kept[-1])
        np.testing.assert_allclose(np.exp(circuit.log_likelihood(all_assignments(7))), expected, rtol=1e-9)


def test_the_result_does_not_depend_on_the_number_of_threads(rng, settings):
    table = random_table(rng, 300, 8)
    one, two, four = (to_json(learned(table, seed=5, n_jobs=n, **settings)[0]) for n in (1, 2, 4))
    assert one == two == four


@pytest.mark.parametrize("leaf_learner", ["factorized", "exchangeable", "blocks", "chow_liu"])
def test_merging_equal_rows_does_not_change_the_circuit(rng, leaf_learner):
    table = random_table(rng, 400, 6)
    choices = {"clustering": "variable", "leaf_learner": leaf_learner, "min_instances": 10}
    merged, apart = (learned(table, merge_equal_rows=m, shrinkage=0.0, **choices)[0] for m in (True, False))
    assert to_json(merged) == to_json(apart)
    merged, apart = (learned(table, merge_equal_rows=m, **choices)[0] for m in (True, False))
    np.testing.assert_allclose(
        merged.log_likelihood(all_assignments(6)), apart.log_likelihood(all_assignments(6)), rtol=1e-9
    )


def test_small_tables_by_hand():
    table = [[0, 1], [1, 1], [1, 1]]
    circuit, trace = learned(table, smoothing=0.5, leaf_learner="factorized")
    # column 1 is constant, column 0 alone is a leaf
    assert [entry.operation for entry in trace] == [Operation.CONSTANTS, Operation.UNIVARIATE, Operation.UNIVARIATE]
    np.testing.assert_allclose(
        np.exp(circuit.log_likelihood(all_assignments(2))), np.outer([1.5, 2.5], [0.5, 3.5]).ravel() / 16
    )


# Both other columns follow column 0, so rows are cut on that; column 1 is constant where column 0 is 0.
FOLLOWERS = [[0, 0, 0]] * 32 + [[0, 0, 1]] * 8 + [[1, 1, 1]] * 64 + [[1, 0, 1], [1, 1, 0]] * 8
CUT_FIRST = {
    "exchangeability": None,
    "clustering": "variable",
    "leaf_learner": "factorized",
    "published": PublishedProgram(rows_first=True, score_overrules=True),
}


def test_a_cut_is_a_deterministic_sum_with_smoothed_weights():
    circuit, trace = learned(FOLLOWERS, smoothing=0.5, **CUT_FIRST)
    assert trace.entries[0].detail == "split on variable 0"
    np.testing.assert_allclose(circuit.root.weights, [40.5 / 121, 80.5 / 121])
    assert circuit.why_not_selective() is None


def test_a_mixture_has_the_clusters_shares_as_weights(rng):
    table, kind = two_clusters(rng, rows=400)
    circuit, trace = learned(
        table, clustering="bernoulli", exchangeability=None, published=PublishedProgram(rows_first=True)
    )
    assert trace.entries[0].detail == "2 clusters"
    assert sorted(circuit.root.weights) == pytest.approx(sorted([kind.mean(), 1 - kind.mean()]), abs=0.02)


def test_leaves_borrow_strength_from_the_sum_above():
    """A column that is constant in a cluster takes 2 rows' worth of probability from the rows it was cut from."""

    def chance(shrinkage):
        circuit, _ = learned(FOLLOWERS, shrinkage=shrinkage, smoothing=0.5, **CUT_FIRST)
        return circuit.marginals({0: 0})[0, 1, 1]

    mean = 72 / 120
    assert chance(0.0) == pytest.approx(0.5 / 41)
    assert chance(2.0) == pytest.approx((0.5 + 2 * mean) / 43)


def test_data_is_sliced_and_not_copied_down_the_tree(rng, monkeypatch):
    seen = []
    original = learner_module._Learner._carry_out

    def watch(self, task):
        record = original(self, task)
        seen.append((self.data, record))
        return record

    monkeypatch.setattr(learner_module._Learner, "_carry_out", watch)
    table = random_table(rng, 300, 6)
    data = BinaryData.of(table, merge_equal_rows=False)
    learn(data, LearnConfig(min_instances=5, exchangeability=None, independence_threshold=0.1))
    assert len(seen) > 5
    assert np.shares_memory(data.bits, table)
    for used, record in seen:
        assert used is data
        assert used.bits.dtype == np.uint8
        assert record.task.rows.index.dtype.kind == record.task.variables.dtype.kind == "i"


def test_progress_is_told_until_everything_is_settled(rng):
    told = []
    data = BinaryData.of(random_table(rng, 200, 6))
    learn(data, LearnConfig(min_instances=5), progress=lambda done, of: told.append((done, of)))
    done, of = zip(*told, strict=True)
    assert set(of) == {data.bits.size}
    assert list(done) == sorted(done)
    assert done[-1] == data.bits.size


def test_a_clustering_that_peels_off_one_row_at_a_time_meets_no_recursion_limit(monkeypatch):
    def peel(summary, seed):
        labels = np.zeros(len(summary.rows()[0]), dtype=np.int64)
        labels[0] = 1
        return Split(labels) if len(labels) > 1 else None

    depth = sys.getrecursionlimit() + 300
    monkeypatch.setitem(clusterings._items, "peel", Method(bits=peel, can=Can.WEIGHTS))
    table = (np.arange(depth)[:, None] >> np.arange(11)) & 1
    circuit, trace = learned(
        table,
        clustering="peel",
        exchangeability=None,
        independence_threshold=0.0,
        min_instances=2,
        leaf_learner="factorized",
    )
    deepest = max(trace, key=lambda entry: entry.depth)
    assert deepest.depth > sys.getrecursionlimit()
    assert len(trace.context(deepest)) > sys.getrecursionlimit()
    assert np.isfinite(circuit.log_likelihood(table)).all()


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_any_seed_gives_a_circuit_and_the_same_one_again(rng, seed):
    table = random_table(rng, 200, 6)
    first, second = (to_json(learned(table, seed=seed, clustering="bernoulli", min_instances=5)[0]) for _ in range(2))
    assert first == second


def test_exchangeable_data_is_one_leaf(rng):
    table = rng.random((400, 7)) < rng.random((400, 1))
    circuit, trace = learned(table)
    assert isinstance(circuit.root, Exchangeable)
    assert [entry.operation for entry in trace] == [Operation.EXCHANGEABLE]


def test_independent_columns_are_a_product_of_bernoullis(rng):
    table = rng.random((500, 5)) < [0.1, 0.3, 0.5, 0.7, 0.9]
    circuit, _ = learned(table)
    assert isinstance(circuit.root, Product)
    assert all(isinstance(child, Bernoulli) for child in circuit.root.children)


def mixed_table(rng, n_rows):
    hidden = rng.normal(size=(n_rows, 1))
    table = hidden * rng.normal(size=10) + rng.normal(size=(n_rows, 10))
    table[:, ::3] = np.clip(np.round(table[:, ::3] + 3), 0, 6)
    table[:, 1::3] = table[:, 1::3] > 0
    found = Table.of(table)
    schema, cells = found.schema, found.codes
    return TableData.of(cells, schema.domains)


def test_progress_moves_while_the_first_task_is_under_way(rng, monkeypatch):
    monkeypatch.setattr(steps_module, "SECONDS_BETWEEN_STEPS", 0.0)
    done, first = [], []
    original = learner_module._Learner._carry_out

    def watch(self, task):
        record = original(self, task)
        first.append(len(done))
        return record

    monkeypatch.setattr(learner_module._Learner, "_carry_out", watch)
    data = mixed_table(rng, 600)
    learn(data, LearnConfig(min_instances=50), progress=lambda told, of: done.append(told / of))
    assert first[0] > 30  # not one word for the first task, but many
    assert done[first[0] - 1] > 0.05
    assert done == sorted(done)
    assert done[-1] == 1.0
    assert max(np.diff(done)) < 0.5


def test_progress_of_a_bag_moves_while_a_circuit_is_learned(rng, monkeypatch):
    monkeypatch.setattr(steps_module, "SECONDS_BETWEEN_STEPS", 0.0)
    told = []
    learn_ensemble(mixed_table(rng, 150), LearnConfig(min_instances=75), 0, 2, progress=lambda *own: told.append(own))
    done = [own for own, _ in told]
    assert sum(own < 1 for own in done) > 10
    assert done == sorted(done)
    assert told[-1] == (2, 2)


def test_steps_are_told_as_often_as_somebody_can_read_them(rng):
    told = []
    learn(mixed_table(rng, 150), LearnConfig(min_instances=150), progress=lambda *own: told.append(own))
    assert len(told) < 60  # ends of parts, and single steps no more than five times a second


@pytest.mark.parametrize(("rows", "columns"), [(500, 200), (300, 100)])
def test_one_column_of_another_mean_among_many_is_not_pooled(rows, columns):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        table = rng.random((rows, columns)) < 0.3
        table[:, 0] = rng.random(rows) < 0.7
        circuit, _ = learned(table)
        assert circuit.marginals()[0, 0, 1] == pytest.approx(table[:, 0].mean(), abs=0.02)
        assert circuit.marginals()[0, 1:, 1] == pytest.approx(np.full(columns - 1, 0.3), abs=0.1)


def test_categories_of_unequal_frequency_are_learned_from_one_hot_rows():
    """No two of the columns seem to depend on each other, and no pair of ones ever occurs."""
    rng = np.random.default_rng(0)
    chances = np.repeat([2.0, 1.0], 50) / 150
    train, test = (np.eye(100, dtype=np.uint8)[rng.choice(100, size=size, p=chances)] for size in (20_000, 5000))
    truth = np.log(test @ chances).mean()
    circuit, trace = learned(train, min_instances=200)
    assert trace.entries[0].test.p_value < 1e-9
    assert circuit.log_likelihood(test).mean() > truth - 0.02  # with one leaf for all it is 0.06 below


@pytest.mark.parametrize("seed", range(4))
def test_a_chain_is_no_exchangeable_block_even_where_no_smaller_blocks_have_more_evidence(seed):
    links = np.array([[0.48, 0.48], [0.14, 0.68], [0.12, 0.63], [0.36, 0.86]])
    truth = Circuit(ChowLiu(range(4), [-1, 0, 1, 2], links))
    model = XSPN(random_state=seed).fit(truth.sample(5000, random_state=seed))
    assert [type(node) for node in model.circuit_.graph.nodes] == [ChowLiu]
    fresh = truth.sample(5000, random_state=100 + seed)
    assert model.score(fresh) > truth.log_likelihood(fresh).mean() - 0.005
