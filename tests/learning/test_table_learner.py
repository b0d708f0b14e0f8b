"""Learning from tables with columns of any types, from end to end."""

import numpy as np
import pytest

from support.tables import (
    REAL,
    exchangeable_categories,
    exchangeable_numbers,
    learned_from,
    with_missing,
)
from xspn import Exchangeable, ExchangeableGaussian, XSPNError
from xspn.data.domain import Domain
from xspn.learning.config import LearnConfig, PublishedProgram
from xspn.learning.data import BinaryData
from xspn.learning.ensemble import learn_ensemble
from xspn.learning.learner import learn
from xspn.learning.policy import Operation
from xspn.learning.table_data import TableData
from xspn.statistics import ValueCounts

MIXED = [Domain(2), Domain(3), Domain.ordinal(5), REAL, REAL]


def mixed_table(rng, rows=300):
    kind = rng.integers(0, 2, rows)
    return np.column_stack(
        [
            rng.random(rows) < np.where(kind, 0.8, 0.3),
            np.where(kind, rng.choice(3, rows, p=[0.7, 0.2, 0.1]), rng.choice(3, rows, p=[0.1, 0.3, 0.6])),
            rng.binomial(4, np.where(kind, 0.2, 0.7)),
            rng.normal(size=rows) + 3 * kind,
            rng.exponential(size=rows),
        ]
    ).astype(float)


@pytest.mark.parametrize("missing_rate", [0.0, 0.2])
def test_a_mixed_table(missing_rate, rng):
    X = with_missing(rng, mixed_table(rng), missing_rate)
    circuit, trace = learned_from(X, MIXED)
    fresh = mixed_table(rng, 200)
    assert np.isfinite(circuit.log_likelihood(fresh)).all()
    assert [d.cardinality for d in circuit.domains] == [2, 3, 5, None, None]
    assert len(trace) > 0
    drawn = circuit.sample(50, random_state=0)
    assert np.isfinite(circuit.log_likelihood(drawn)).all()


def test_two_kinds_of_rows_are_better_than_one(rng):
    X, fresh = mixed_table(rng, 500), mixed_table(rng, 500)
    circuit, _ = learned_from(X, MIXED)
    product, _ = learned_from(X, MIXED, min_instances=10_000, leaf_learner="factorized")
    assert circuit.log_likelihood(fresh).mean() > product.log_likelihood(fresh).mean() + 0.3


def test_probabilities_sum_to_one(rng):
    X = np.column_stack([rng.integers(0, 3, 200), rng.integers(0, 2, 200), rng.integers(0, 4, 200)]).astype(float)
    X[:, 2] = np.where(rng.random(200) < 0.6, X[:, 0], X[:, 2])
    circuit, _ = learned_from(X, [Domain(3), Domain(2), Domain.ordinal(4)])
    all_assignments = np.array(list(np.ndindex(3, 2, 4)), dtype=float)
    assert np.exp(circuit.log_likelihood(all_assignments)).sum() == pytest.approx(1.0)


def test_bits_are_learned_as_bits(rng):
    X = (rng.random((400, 6)) < np.where(rng.random((400, 1)) < 0.5, 0.8, 0.2)).astype(float)
    X[:, 0] = X[:, 1]
    data = TableData.of(X, [Domain.binary()] * 6)
    plain = BinaryData.of(X.astype(np.uint8), merge_equal_rows=False)
    one, other = (learn(d, LearnConfig(), 3).graph for d in (data, plain))
    assert list(map(repr, one.records())) == list(map(repr, other.records()))


def test_exchangeable_names_become_one_leaf(rng):
    X = exchangeable_categories(rng, 3000, 12, 3)
    circuit, trace = learned_from(X, Domain(3))
    assert isinstance(circuit.root, Exchangeable)
    assert circuit.root.statistic == ValueCounts(3)
    assert trace.entries[0].operation is Operation.EXCHANGEABLE


def test_exchangeable_numbers_become_one_leaf(rng):
    circuit, _ = learned_from(exchangeable_numbers(rng, 2000, 8), REAL)
    assert isinstance(circuit.root, ExchangeableGaussian)
    assert circuit.root.correlation == pytest.approx(0.5, abs=0.05)


def test_exchangeable_numbers_of_two_kinds_are_clustered(rng):
    """The order does not matter, but no single normal distribution fits."""
    kind = rng.random((2000, 1)) < 0.5
    X = exchangeable_numbers(rng, 2000, 5) + np.where(kind, 8.0, 0.0)
    circuit, trace = learned_from(X, REAL)
    assert trace.entries[0].operation is Operation.CLUSTER
    assert sum(isinstance(node, ExchangeableGaussian) for node in circuit.graph.nodes) >= 2


def test_blocks_of_different_domains_are_found_apart(rng):
    X = np.column_stack(
        [
            exchangeable_categories(rng, 2000, 6, 3),
            exchangeable_numbers(rng, 2000, 5),
            rng.normal(size=2000),
            rng.integers(0, 2, 2000),
            rng.integers(0, 4, 2000),
        ]
    )
    circuit, _ = learned_from(X, [Domain(3)] * 6 + [REAL] * 6 + [Domain(2), Domain(4)])
    scopes = {
        tuple(node.scope) for node in circuit.graph.nodes if isinstance(node, Exchangeable | ExchangeableGaussian)
    }
    assert scopes == {tuple(range(6)), tuple(range(6, 11))}


def test_a_name_may_tell_rows_apart(rng):
    """Numbers that depend on one of three names: the circuit has an indicator of some name."""
    group = rng.integers(0, 3, 900)
    X = np.column_stack([group, rng.normal(size=(900, 2)) + 10 * (group == 2)[:, None]])
    circuit, trace = learned_from(X, [Domain(3), REAL, REAL], clustering="variable")
    first = trace.entries[0]
    assert first.operation is Operation.CLUSTER
    conditions = {str(entry.branch.condition) for entry in trace if entry.branch and entry.branch.condition}
    assert {"= 2", "≠ 2"} <= conditions
    assert circuit.log_likelihood(np.array([[2, 10, 10], [0, 10, 10]])) @ [1, -1] > 5


def test_constant_and_repeated_numbers_have_a_density(rng):
    X = np.column_stack([np.full(100, 7.0), np.repeat([1.0, 2.0], 50), rng.normal(size=100), np.full(100, np.nan)])
    circuit, _ = learned_from(X, REAL)
    found = circuit.log_likelihood(X)
    assert np.isfinite(found).all()
    assert found.max() < 50


def test_nothing_depends_on_the_unit_of_measurement(rng):
    X = np.column_stack([rng.normal(size=300), rng.exponential(size=300)])
    X[:, 1] += X[:, 0]
    plain, _ = learned_from(X, REAL)
    scaled, _ = learned_from(1024 * X, REAL)
    found = scaled.log_likelihood(1024 * X) + 2 * np.log(1024)
    np.testing.assert_allclose(found, plain.log_likelihood(X), atol=1e-6)


def test_weights_are_repetitions(rng):
    X = mixed_table(rng, 120)
    weights = rng.integers(1, 3, 120)
    settings = {"clustering": "variable", "leaf_learner": "factorized"}
    one, _ = learned_from(X, MIXED, weights=weights.astype(float), **settings)
    other, _ = learned_from(np.repeat(X, weights, axis=0), MIXED, **settings)
    assert one.summary().nodes == pytest.approx(other.summary().nodes, abs=30)


def test_bags_and_seeds(rng):
    data = TableData.of(mixed_table(rng, 150), MIXED)
    ensembles = [learn_ensemble(data, LearnConfig(), 5, n_circuits=2) for _ in range(2)]
    assert list(map(repr, ensembles[0].graph.records())) == list(map(repr, ensembles[1].graph.records()))
    threads = [list(map(repr, learn(data, LearnConfig(), 5, jobs).graph.records())) for jobs in (1, 2)]
    assert threads[0] == threads[1]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"clustering": "gmm"}, "without an order"),
        ({"leaf_learner": "chow_liu"}, "zeros and ones only"),
        (
            {"published": PublishedProgram(test_options=(("dof", 3),)), "exchangeability": "pairwise"},
            "unknown setting 'dof'",
        ),
    ],
)
def test_what_is_for_bits_only_is_refused(settings, said, rng):
    X = mixed_table(rng)[:, [1, 1, 3]]
    domains = [Domain(3), Domain(3), REAL]
    if "published" in settings:
        X, domains = X[:, :2], domains[:2]
    with pytest.raises(XSPNError, match=said):
        learned_from(X, domains, independence_threshold=0.0, **settings)


@pytest.mark.parametrize("clustering", ["auto", "bernoulli", "variable"])
@pytest.mark.parametrize("leaf_learner", ["auto", "factorized", "exchangeable", "blocks"])
@pytest.mark.parametrize("exchangeability", ["global", "pairwise", None])
def test_every_setting_learns_something(clustering, leaf_learner, exchangeability, rng):
    X = with_missing(rng, mixed_table(rng, 90), 0.1)
    circuit, _ = learned_from(
        X, MIXED, clustering=clustering, leaf_learner=leaf_learner, exchangeability=exchangeability
    )
    assert np.isfinite(circuit.log_likelihood(X)).all()


def test_cells_outside_their_domain_are_refused():
    with pytest.raises(XSPNError, match="row 1, column 0"):
        TableData.of(np.array([[0.0], [5.0]]), [Domain(3)])
