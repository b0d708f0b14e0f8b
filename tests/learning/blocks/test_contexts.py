"""Contexts: their evidence recomputed, EM, seeds and weights, and planted contexts found again."""

import numpy as np
import pytest
from scipy.special import gammaln, xlogy

import xspn.learning.blocks.contexts as contexts_module
from support.blocks import evidence_of_block, log_prior_of, partition_of_labels
from support.learning import all_assignments, exchangeable_table, random_table
from xspn import Circuit, Sum
from xspn.learning.blocks.contexts import _Search, find_contexts, fit_contexts, one_context
from xspn.paper.datasets.planted import planted


def two_kinds(rng, rows, columns=12):
    """Two kinds of rows: in one of them all variables are exchangeable, in the other one those of each half are."""
    kind = rng.integers(0, 2, size=rows)
    alike = exchangeable_table(rng, rows, columns, 0.5)
    apart = (rng.random((rows, columns)) < np.where(np.arange(columns) < columns // 2, 0.1, 0.6)).astype(np.uint8)
    return np.where(kind[:, None] == 1, apart, alike).astype(np.uint8), kind


def counts_of(table, weights, block):
    return np.bincount(table[:, list(block)].astype(int).sum(axis=1), weights=weights, minlength=len(block) + 1)


def evidence_of(table, weights, labels, responsibilities):
    """The evidence of rows completed by their responsibilities, and the entropy of these, term by term."""
    found, sizes = 0.0, []
    for label, own in zip(labels, responsibilities.T, strict=True):
        partition = partition_of_labels(label)
        found += log_prior_of(partition)
        found += sum(evidence_of_block(counts_of(table, weights * own, block)) for block in partition)
        sizes.append(float(weights @ own))
    k, total = len(sizes), sum(sizes)
    # Dirichlet(1, …, 1): all fractions are equally likely
    found += gammaln(k) - gammaln(total + k) + sum(gammaln(size + 1) for size in sizes)
    return found - float(weights @ xlogy(responsibilities, responsibilities).sum(axis=1))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_evidence_of_a_mixture_is_that_of_completed_rows(rng, weighted):
    for _ in range(5):
        table, _ = two_kinds(rng, 150)
        weights = rng.random(150) * 3 if weighted else np.ones(150)
        found = find_contexts(table, weights, seed=0)
        assert len(found.contexts) > 1
        labels = [context.label for context in found.contexts]
        assert found.evidence == pytest.approx(evidence_of(table, weights, labels, found.responsibilities), abs=1e-6)
        np.testing.assert_allclose(found.responsibilities.sum(axis=1), 1)
        for context, own in zip(found.contexts, found.responsibilities.T, strict=True):
            assert context.total == pytest.approx(weights @ own)


def test_several_contexts_have_more_evidence_than_one(rng):
    for _ in range(10):
        table = random_table(rng, int(rng.integers(10, 200)), int(rng.integers(2, 8)))
        weights = rng.random(len(table)) + 0.5
        found = find_contexts(table, weights, seed=0)
        alone = one_context(table, weights)
        if len(found.contexts) == 1:
            assert found.evidence == pytest.approx(alone.evidence, abs=1e-9)
        else:
            assert found.evidence > alone.evidence


def test_a_context_is_a_distribution(rng):
    for _ in range(5):
        table = np.hstack([exchangeable_table(rng, 60, 4), random_table(rng, 60, 3)])
        context = one_context(table, rng.random(60) + 0.1)
        logs = context.log_prob(all_assignments(7).astype(np.uint8))
        assert np.exp(logs).sum() == pytest.approx(1, abs=1e-10)
        assert sorted(np.concatenate(context.blocks).tolist()) == list(range(7))


def passes_of_em(rng, table, labels, passes=8):
    """The contexts after each pass of EM with given blocks, from random responsibilities."""
    search = _Search(table, np.ones(len(table)))
    responsibilities = rng.dirichlet(np.ones(len(labels)), size=len(table))
    contexts = [search.fitted(label, own) for label, own in zip(labels, responsibilities.T, strict=True)]
    yield contexts
    for _ in range(passes):
        contexts = list(search._em(contexts, 1).contexts)
        yield contexts


def log_likelihood(table, contexts):
    weights = np.array([context.total + 1 for context in contexts]) / (len(table) + len(contexts))
    logs = np.stack([context.log_prob(table) for context in contexts], axis=1) + np.log(weights)
    return float(np.logaddexp.reduce(logs, axis=1).sum()), weights


def test_em_of_single_variables_never_loses(rng):
    """With a histogram for each block EM maximizes the likelihood times the prior of one row, pass by pass."""
    for _ in range(10):
        table = random_table(rng, 100, 5)
        labels = [np.arange(5)] * int(rng.integers(2, 4))
        values = []
        for contexts in passes_of_em(rng, table, labels):
            value, weights = log_likelihood(table, contexts)
            of_bits = sum(0.5 * context.table.sum() for context in contexts)  # ½ log p + ½ log (1 − p) of each
            values.append(value + np.log(weights).sum() + of_bits)
        assert (np.diff(values) > -1e-8).all()
        assert values[-1] > values[0] + 1e-3


def test_em_of_blocks_gains(rng):
    """Moments do not maximize a likelihood, and laws may change; 0.004 nats a row were lost at most in a pass."""
    for k in range(20):
        table = random_table(rng, 200, 7) if k % 2 else exchangeable_table(rng, 200, 7)
        labels = [np.unique(rng.integers(0, 3, size=7), return_inverse=True)[1] for _ in range(2)]
        values = np.array([log_likelihood(table, contexts)[0] for contexts in passes_of_em(rng, table, labels)])
        assert (np.diff(values) > -0.01 * len(table)).all()
        assert values[-1] > values[0]


def test_the_same_seed_gives_the_same_contexts(rng):
    table, _ = two_kinds(rng, 300)
    first, second = (find_contexts(table, np.ones(300), seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.responsibilities, second.responsibilities)
    assert first.evidence == second.evidence


@pytest.mark.parametrize(("k", "least"), [(2, 11), (3, 9)])
def test_planted_contexts_are_found_nearly_always(k, least):
    """Measured: in all of 12 circuits with two contexts, in 10 with three."""
    right = []
    for seed in range(12):
        table = planted("contexts", 24, k, random_state=seed).sample(1000, random_state=seed).astype(np.uint8)
        right.append(len(find_contexts(table, np.ones(1000), seed=0).contexts) == k)
    assert sum(right) >= least


def test_what_merging_gains_is_the_difference_of_evidence(rng):
    table = planted("contexts", 12, 3, random_state=1).sample(300, random_state=1).astype(np.uint8)
    search = contexts_module._Search(table, rng.uniform(0.5, 2.0, size=300))
    own = rng.dirichlet(np.ones(3), size=300)
    found = search.fit(own, passes=2, rounds=1)
    for i, j in ((1, 0), (2, 0), (2, 1)):
        merged = found.responsibilities.copy()
        merged[:, j] += merged[:, i]
        merged = np.delete(merged, i, axis=1)
        others = [context for k, context in enumerate(found.contexts) if k not in (i, j)]
        unions = [search.fitted(found.contexts[k].label, search.weights * merged[:, j]) for k in (i, j)]
        best = max(search.mixture([*others[:j], union, *others[j:]], merged).evidence for union in unions)
        assert search._gain_of_merging(found, i, j) == pytest.approx(best - found.evidence, abs=1e-6)


def test_a_context_that_was_cut_is_put_together_again(rng):
    table = planted("contexts", 16, 2, random_state=3).sample(1000, random_state=3).astype(np.uint8)
    search = contexts_module._Search(table, np.ones(1000))
    two = search.merged(find_contexts(table, np.ones(1000), seed=0))
    half = rng.random(1000)[:, None]
    cut = np.hstack(
        [two.responsibilities[:, :1] * half, two.responsibilities[:, :1] * (1 - half), two.responsibilities[:, 1:]]
    )
    assert len(search.merged(search.fit(cut, passes=1, rounds=1)).contexts) == 2


def test_the_blocks_and_the_rows_of_planted_contexts_are_found(rng):
    kind = rng.integers(0, 2, size=1000)
    halves = np.hstack([exchangeable_table(rng, 1000, 6, 0.3), rng.random((1000, 6)) < 0.1])
    table = np.where(kind[:, None] == 1, halves, rng.random((1000, 12)) < 0.7).astype(np.uint8)
    found = find_contexts(table, np.ones(1000), seed=0)
    whole, two = (tuple(range(12)),), (tuple(range(6)), tuple(range(6, 12)))
    own = [partition_of_labels(context.label) for context in found.contexts]
    assert sorted(own, key=len) == [whole, two]
    second = found.responsibilities[:, own.index(two)]
    known = fit_contexts(table, np.ones(1000), np.eye(2)[kind])  # from the truth
    assert found.evidence > known.evidence - 0.01
    assert np.mean((second > 0.5) == (known.responsibilities[:, 1] > 0.5)) > 0.995
    assert np.mean((second > 0.5) == kind) > 0.95


@pytest.mark.parametrize("rows", [5, 100, 1000])
def test_exchangeable_rows_are_one_context(rng, rows):
    for spread in (0.3, 1.0, 5.0):
        for _ in range(3):
            found = find_contexts(exchangeable_table(rng, rows, 10, spread), np.ones(rows), seed=0)
            assert len(found.contexts) == 1
            np.testing.assert_array_equal(found.responsibilities, np.ones((rows, 1)))


def test_no_more_contexts_than_allowed(rng):
    table = np.repeat(np.eye(6, dtype=np.uint8), 60, axis=0)
    table = np.hstack([table, 1 - table, table[:, ::-1]])[rng.permutation(360)]
    assert len(find_contexts(table, np.ones(360), seed=0).contexts) > 2
    assert len(find_contexts(table, np.ones(360), seed=0, most=1).contexts) == 1


def test_a_row_of_weight_two_is_two_rows(rng):
    for _ in range(4):
        table, _ = two_kinds(rng, 200)
        weights = rng.integers(1, 3, size=200)
        found = find_contexts(table, weights.astype(float), seed=0)
        twice = find_contexts(np.repeat(table, weights, axis=0), np.ones(int(weights.sum())), seed=0)
        assert len(found.contexts) == len(twice.contexts) > 1
        assert found.evidence == pytest.approx(twice.evidence, abs=1e-4)
        np.testing.assert_allclose(
            np.repeat(found.responsibilities, weights, axis=0), twice.responsibilities, atol=1e-4
        )


def test_rows_that_occur_once_count_beside_one_that_occurs_often(rng):
    """A row's own weight does not make the others negligible: only their responsibilities may."""
    halves = rng.integers(0, 2, size=(400, 1), dtype=np.uint8) ^ np.repeat(np.uint8([0, 1]), 5)
    table = np.vstack([np.zeros((1, 10), np.uint8), halves])
    weights = np.append(3000.0, np.ones(400))
    expected = one_context(table, weights)
    assert partition_of_labels(expected.label) == ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9))
    assert find_contexts(table, weights, seed=0, most=1).evidence == pytest.approx(expected.evidence)


@pytest.mark.parametrize("seed", range(3))
def test_categories_that_exclude_each_other_are_told_apart_by_their_frequency(seed):
    """One of twenty variables is one in each row, half of them twice as often: no pair and no count shows it."""
    rng = np.random.default_rng(seed)
    bits = np.eye(20, dtype=np.uint8)[rng.choice(20, size=4000, p=np.repeat([2.0, 1.0], 10) / 30)]
    found = find_contexts(bits, np.ones(len(bits)), seed=0)
    constant = [sorted(np.flatnonzero(own @ bits == 0).tolist()) for own in found.responsibilities.round().T]
    assert sorted(constant) == [list(range(10)), list(range(10, 20))]


@pytest.mark.filterwarnings("error")
def test_rows_without_weight_change_nothing():
    """Zero of zero is no fraction: such rows made every part of the others empty, and no context was found."""
    rng = np.random.default_rng(0)
    many = rng.integers(0, 2, size=(400, 1))
    table = (rng.random((400, 8)) < np.where(many, 0.8, 0.2)).astype(np.uint8)
    table[:, 4:] = table[:, 3:4] * many
    expected = find_contexts(table, np.ones(400), seed=0)
    with_others = np.concatenate([table, rng.integers(0, 2, (50, 8)).astype(np.uint8)])
    found = find_contexts(with_others, np.append(np.ones(400), np.zeros(50)), seed=0)
    assert len(found.contexts) == len(expected.contexts) == 2
    assert found.evidence == pytest.approx(expected.evidence)


@pytest.mark.parametrize("seed", [0, 3, 5, 7, 9, 17])
def test_contexts_of_few_variables_are_found_where_no_split_of_all_rows_gains(seed):
    """Three contexts of a dozen variables look like one as long as two halves have the blocks of the whole."""
    truth = planted("contexts", 12, random_state=seed)
    bits, weights = truth.sample(1000, random_state=1000 + seed).astype(np.uint8), np.ones(1000)
    logs = np.log(truth.root.weights) + np.stack([Circuit(c).log_likelihood(bits) for c in truth.root.children], axis=1)
    known = fit_contexts(bits, weights, np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)))
    assert find_contexts(bits, weights, seed).evidence > known.evidence - 3


def evidence_beside_the_truth(seed):
    """Two contexts of six variables, in each of which two blocks of three: what was found, less what the truth has."""
    truth = planted("chain", 12, random_state=seed)
    mixture = next(node for node in truth.root.children if isinstance(node, Sum))
    own = list(mixture.scope)
    bits = truth.sample(10_000, random_state=1000 + seed)[:, own].astype(np.uint8)
    bits, weights = np.unique(bits, axis=0, return_counts=True)
    rows = np.full((len(bits), 12), np.nan)
    rows[:, own] = bits
    parts = [Circuit(child, n_variables=12).log_likelihood(rows) for child in mixture.children]
    logs = np.log(mixture.weights) + np.stack(parts, axis=1)
    responsibilities = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    known = fit_contexts(bits, weights.astype(float), responsibilities)
    return find_contexts(bits, weights.astype(float), seed).evidence - known.evidence


def test_too_many_contexts_that_merging_does_not_bring_together_are_drawn_anew():
    assert sum(evidence_beside_the_truth(seed) > -3 for seed in range(10)) >= 8
