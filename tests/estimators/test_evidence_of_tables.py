"""`XSPN(exchangeability="evidence")` for tables with categories, ordered steps and real numbers."""

import numpy as np
import pytest

from xspn import XSPN
from xspn.core.errors import ParameterError
from xspn.io import to_json
from xspn.learning.policy import Operation
from xspn.leaves.exchangeable_gaussian import ExchangeableGaussian
from xspn.paper.datasets.planted import planted


def fitted(table, sample_weight=None, **settings):
    return XSPN(exchangeability="evidence", random_state=0, **settings).fit(table, sample_weight=sample_weight)


def mixed(seed, rows, n=12):
    truth = planted("mixed", n, random_state=seed)
    return truth, truth.sample(rows, random_state=seed)


def test_planted_blocks_are_found_with_the_parameters_of_the_truth():
    """The mean of four circuits with two contexts; the default loses about three times as much."""
    lost, size = [], []
    for seed in range(4):
        truth, table = mixed(seed, 1000, 24)
        new = truth.sample(2000, random_state=seed + 100)
        model = fitted(table)
        lost.append(truth.log_likelihood(new).mean() - model.score(new))
        size.append(model.circuit_.summary().parameters / truth.summary().parameters)
    assert np.mean(lost) < 0.08
    assert np.mean(size) < 1.3


def test_one_block_is_one_leaf(rng):
    reals = fitted(rng.normal(size=(300, 1)) + rng.normal(size=(300, 6)))
    assert isinstance(reals.circuit_.root, ExchangeableGaussian)
    p = rng.dirichlet(np.ones(3), size=400)
    names = fitted(np.array([[rng.choice(3, p=own) for _ in range(5)] for own in p]))
    for model in (reals, names):
        assert [entry.operation for entry in model.trace_.entries] == [Operation.EXCHANGEABLE]


def test_columns_of_different_scales_share_no_block_however_few_the_rows(rng):
    for rows in (6, 15, 30, 80):
        for _ in range(4):
            table = rng.normal(size=(rows, 1)) + rng.normal(size=(rows, 6))
            model = fitted(table * [1, 1, 100, 100, 1, 1] + [0, 0, 0, 0, 7, 7])
            scale = [0, 0, 1, 1, 2, 2]
            for leaf in model.circuit_.graph.nodes:
                if isinstance(leaf, ExchangeableGaussian):
                    assert len({scale[v] for v in leaf.scope}) == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_any_number_of_workers_learns_the_same_circuit(n_jobs):
    _, table = mixed(1, 400)
    assert to_json(fitted(table, n_jobs=n_jobs).circuit_) == to_json(fitted(table).circuit_)


def test_weights_repeat_rows(rng):
    for seed in range(2):
        _, table = mixed(seed, 250)
        weights = rng.integers(0, 4, size=250)
        weighted, repeated = fitted(table, sample_weight=weights), fitted(np.repeat(table, weights, axis=0))
        np.testing.assert_allclose(weighted.score_samples(table), repeated.score_samples(table), atol=1e-7)


def test_neither_order_nor_scale_matters(rng):
    """All real columns a thousand times as large: every density is a thousandth for each of them."""
    truth, table = mixed(0, 500)
    real = np.array([domain.cardinality is None for domain in truth.domains])
    scores = fitted(table).score_samples(table)
    rows, columns = rng.permutation(500), rng.permutation(12)
    moved = fitted(table[rows][:, columns])
    np.testing.assert_allclose(moved.score_samples(table[:, columns]), scores, atol=1e-6)
    scale = np.where(real, 1000.0, 1.0)
    larger = fitted(table * scale)
    np.testing.assert_allclose(larger.score_samples(table * scale) + real.sum() * np.log(1000), scores, atol=1e-6)


def odd_tables():
    rng = np.random.default_rng(3)
    reals, names = rng.normal(size=(60, 3)), rng.integers(0, 3, size=(60, 3)).astype(float)
    return {
        "constant columns": np.column_stack([np.full(60, 2.5), reals, np.zeros(60)]),
        "only constant columns": np.tile([1.5, 0.0, 2.0], (30, 1)),
        "duplicated columns": np.repeat(reals, 3, axis=1),
        "opposite columns": np.hstack([reals, -reals]),
        "duplicated names": np.repeat(names, 2, axis=1),
        "one column": reals[:, :1],
        "one row": np.array([[1.5, 0.0, 2.0]]),
        "two rows": np.array([[1.5, 0.0, 2.0], [0.5, 1.0, 1.0]]),
        "all rows equal but one": np.vstack([np.tile([0.5, 1.0], (40, 1)), [[7.25, 0.0]]]),
        "huge and tiny": reals * [1e9, 1e-9, 1.0],
        "far from zero": reals + 1e7,
        "many zeros": np.where(rng.random((60, 3)) < 0.6, 0.0, reals**2),
        "an outlier": np.vstack([reals, [[90.0, 0.0, 0.0]]]),
        "names and reals": np.hstack([names, reals]),
        "names that decide": np.column_stack([names[:, 0], reals + 5 * names[:, :1]]),
        "whole numbers": np.round(reals * 20),
    }


@pytest.mark.parametrize("name", odd_tables())
def test_odd_tables_are_learned(name):
    table = odd_tables()[name]
    model = fitted(table)
    assert np.isfinite(model.score_samples(table)).all()
    assert to_json(fitted(table).circuit_) == to_json(model.circuit_)


def test_missing_cells_hide_little_of_what_is_there():
    for seed in range(2):
        truth, table = mixed(seed, 1000)
        model = fitted(np.where(np.random.default_rng(0).random(table.shape) < 0.1, np.nan, table))
        new = truth.sample(2000, random_state=100)
        assert model.score(new) > truth.log_likelihood(new).mean() - 0.1
        assert model.circuit_.summary().parameters <= 1.3 * truth.summary().parameters


def test_parts_of_the_learner_by_evidence_are_for_complete_rows(rng):
    _, table = mixed(0, 200)
    table[3, 1] = np.nan
    for settings in ({"leaf_learner": "evidence", "min_instances": 1000}, {"clustering": "contexts"}):
        with pytest.raises(ParameterError, match="cannot take missing values; use one of 'auto', '"):
            XSPN(**settings).fit(table)


def test_contexts_can_be_had_beside_tests(rng):
    _, table = mixed(2, 300)
    model = XSPN(clustering="contexts", random_state=0).fit(table)
    assert np.isfinite(model.score_samples(table)).all()
