"""Many variables and many rows: lists of neighbors, samples of rows, and groups without tables of all pairs."""

import numpy as np
import pytest

import xspn.learning.blocks.contexts as contexts_module
from support.blocks import blocks_of, partition_of_labels
from support.learning import exchangeable_table, random_table
from xspn import XSPN, datasets
from xspn.core.errors import ParameterError
from xspn.learning.blocks.contexts import find_contexts, one_context
from xspn.learning.blocks.mixtures import counts_of_blocks, plan_of, words_of
from xspn.learning.independence import components, dependent_counts, dependent_pairs, groups_of_blocks
from xspn.learning.summary import BinarySummary
from xspn.paper.datasets.planted import planted


@pytest.mark.parametrize("n", [1, 7, 64, 65, 200])
def test_counts_of_packed_rows_are_those_of_bits(rng, n):
    bits, weights = random_table(rng, 50, n).astype(np.uint8), rng.random(50)
    label = np.unique(rng.integers(0, 9, size=n), return_inverse=True)[1]
    plan = plan_of(label[None, :])
    counts = counts_of_blocks(words_of(bits), weights, plan)
    for b in range(label.max() + 1):
        own = bits[:, label == b].sum(axis=1)
        expected = np.bincount(own, weights=weights, minlength=int((label == b).sum()) + 1)
        np.testing.assert_allclose(counts[plan.first[b] : plan.first[b + 1]], expected)


def test_blocks_among_more_variables_than_are_compared_pair_by_pair(rng):
    """Blocks of strongly associated variables are found among 900, whatever their means and places are."""
    table = (rng.random((400, 900)) < rng.uniform(0.02, 0.6, size=900)).astype(np.uint8)
    places = rng.permutation(900)[:30].reshape(3, 10)
    for place in places:
        table[:, place] = exchangeable_table(rng, 400, 10, 0.2)
    found = one_context(table, np.ones(400))
    blocks = partition_of_labels(found.label)
    for place in places:
        assert tuple(np.sort(place).tolist()) in blocks


def test_contexts_of_a_sample_of_rows_are_those_of_all(rng, monkeypatch):
    table = planted("contexts", 16, 2, random_state=3).sample(3000, random_state=3).astype(np.uint8)
    expected = find_contexts(table, np.ones(3000), seed=0)
    monkeypatch.setattr(contexts_module, "MOST_ROWS", 1000)
    monkeypatch.setattr(contexts_module, "MOST_TRIAL_ROWS", 500)
    found = find_contexts(table, np.ones(3000), seed=0)
    assert len(found.contexts) == len(expected.contexts) == 2
    assert found.evidence > expected.evidence - 20.0
    np.testing.assert_allclose(found.responsibilities.sum(axis=1), 1)
    assert sum(context.total for context in found.contexts) == pytest.approx(3000)
    order = rng.permutation(3000)
    moved = find_contexts(table[order], np.ones(3000), seed=0)
    np.testing.assert_allclose(moved.responsibilities, found.responsibilities[order], atol=1e-9)


def test_a_sample_has_rows_by_their_weights(rng):
    search = contexts_module._Search(random_table(rng, 100, 5).astype(np.uint8), np.repeat([1.0, 9.0], 50))
    sample = search.sample(40)
    assert sample.total == pytest.approx(40)
    heavy = sample.weights[np.isin(np.arange(len(sample.weights)), np.arange(4, len(sample.weights)))].sum()
    assert heavy == pytest.approx(36, abs=2)
    assert search.sample(100) is search


@pytest.mark.parametrize("wide", [False, True])
def test_groups_are_the_components_of_dependent_pairs_and_counts(rng, monkeypatch, wide):
    if wide:
        monkeypatch.setattr("xspn.learning.summary.WIDEST_AT_ONCE", 5)
    for _ in range(20):
        table = random_table(rng, 200, 12)
        summary = BinarySummary.of(table.astype(np.float32), rng.random(200) + 0.5)
        label = np.unique(rng.integers(0, 8, size=12), return_inverse=True)[1]
        threshold = 0.5 * np.log(summary.total) + np.log(12)
        whole = BinarySummary.of(table.astype(np.float32), summary.rows()[1])
        linked = dependent_pairs(whole, threshold, np.arange(12), np.arange(12))
        linked |= dependent_counts(whole, label, threshold)[np.ix_(label, label)] | (label[:, None] == label)
        expected = [group.tolist() for group in components(linked)]
        assert [group.tolist() for group in groups_of_blocks(summary, blocks_of(label))] == expected


def test_a_wide_table_of_few_rows_is_learned_by_evidence_with_few_parameters(rng):
    kind = rng.integers(0, 2, size=80)
    likely = rng.beta(0.5, 4.0, size=(2, 700))
    table, new = ((rng.random((80, 700)) < likely[kind]).astype(np.uint8) for _ in range(2))
    model = XSPN(random_state=0).fit(table)
    assert model.circuit_.summary().parameters < 80 * 700 / 4
    by_tests = XSPN(exchangeability="global", random_state=0).fit(table)
    assert model.score(new) > by_tests.score(new)


def test_no_more_columns_than_pairs_are_counted_of():
    with pytest.raises(ParameterError, match="at most 6000 columns, found 6001; 'global' takes more"):
        XSPN(exchangeability="evidence").fit(datasets.make("exact", n_train=30).train[:, :1].repeat(6001, axis=1))
