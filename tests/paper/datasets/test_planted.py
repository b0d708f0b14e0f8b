"""Random circuits with contexts and blocks: distributions of the promised shape, the same for the same seed."""

import numpy as np
import pytest

from support.enumeration import assignments
from xspn.core.errors import ParameterError, RegistryError
from xspn.graph.nodes import Product, Sum
from xspn.leaves.chow_liu import ChowLiu
from xspn.leaves.exchangeable import Exchangeable
from xspn.leaves.exchangeable_gaussian import ExchangeableGaussian
from xspn.paper.datasets.planted import FAMILIES, parliament, partition_of, planted, random_law

OF_BITS = sorted(set(FAMILIES) - {"mixed"})
SEEDS = range(4)


def blocks_of(product):
    """The variables of each exchangeable factor."""
    factors = product.children if isinstance(product, Product) else [product]
    return {tuple(sorted(f.scope)) for f in factors if isinstance(f, Exchangeable)}


@pytest.mark.parametrize("family", OF_BITS)
@pytest.mark.parametrize("seed", SEEDS)
def test_probabilities_of_all_assignments_sum_to_one(family, seed):
    circuit = planted(family, n_variables=12, random_state=seed)
    assert sorted(circuit.root.scope) == list(range(12))
    logs = circuit.log_likelihood(assignments([2] * 12))
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-10)
    assert np.exp(logs).max() < 0.9  # it is no constant


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_of_the_mixed_family_sum_to_one(seed):
    """With the real numbers missing: six answers on a scale of three are left."""
    circuit = planted("mixed", n_variables=12, random_state=seed)
    contexts = circuit.root.children
    answers = sorted(set().union(*(v for v in map(set, blocks_of(contexts[0])))))
    reals = {v for f in contexts[0].children if isinstance(f, ExchangeableGaussian) for v in f.scope}
    assert len(answers) == len(reals) == 6
    assert blocks_of(contexts[1])
    rows = np.full((3**6, 12), np.nan)
    rows[:, answers] = assignments([3] * 6)
    assert np.exp(circuit.log_likelihood(rows)).sum() == pytest.approx(1, abs=1e-10)
    sample = circuit.sample(50, random_state=seed)
    assert set(np.unique(sample[:, answers])) <= {0, 1, 2}
    assert len(np.unique(sample[:, sorted(reals)])) == 300


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("n", [12, 13, 24, 41])
def test_there_are_as_many_variables_as_asked_for(family, n):
    circuit = planted(family, n_variables=n, random_state=n)
    assert circuit.n_variables == n
    assert sorted(circuit.root.scope) == list(range(n))
    assert len(set(circuit.names)) == n
    assert circuit.sample(3, random_state=0).shape == (3, n)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_seed_gives_the_same_circuit_and_another_gives_another(family):
    first, again, other = (planted(family, random_state=seed) for seed in (5, 5, 6))
    rows, same, others = (circuit.sample(20, random_state=0) for circuit in (first, again, other))
    np.testing.assert_array_equal(rows, same)
    np.testing.assert_array_equal(first.log_likelihood(rows), again.log_likelihood(rows))
    assert not np.allclose(first.log_likelihood(rows), other.log_likelihood(others))


@pytest.mark.parametrize("k", [1, 2, 3, 4, 6])
def test_contexts_are_as_many_as_asked_for_and_each_has_blocks_of_its_own(k):
    root = planted("contexts", n_contexts=k, random_state=k).root
    assert isinstance(root, Sum)
    assert len(root.children) == k
    assert root.weights.sum() == pytest.approx(1)
    assert root.weights.min() >= 1 / (2 * k)
    assert len({frozenset(blocks_of(child)) for child in root.children}) == k


def test_two_to_four_contexts_by_chance():
    sizes = {len(planted("contexts", n_variables=12, random_state=seed).root.children) for seed in range(40)}
    assert sizes == {2, 3, 4}


@pytest.mark.parametrize("seed", SEEDS)
def test_families_have_the_shape_that_they_promise(seed):
    assert len(blocks_of(planted("blocks", random_state=seed).root)) in {2, 3, 4}
    laws = planted("laws", random_state=seed).root
    assert len(laws.children) == 3
    assert len({frozenset(blocks_of(child)) for child in laws.children}) == 1
    nested = planted("nested", random_state=seed).root
    assert [sum(isinstance(f, Sum) for f in child.children) for child in nested.children] == [1, 1]
    chain = planted("chain", random_state=seed).root
    assert [len(f.scope) for f in chain.children if isinstance(f, ChowLiu)] == [8]
    assert [len(f.children) for f in chain.children if isinstance(f, Sum)] == [2]
    assert [len(f.scope) for f in chain.children] == [8, 1, 1, 1, 13]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_observed_variable_decides_the_context(seed):
    circuit = planted("observed", n_variables=12, random_state=seed)
    sample = circuit.sample(200, random_state=seed)
    (decides,) = {v for f in circuit.root.children[0].children if not isinstance(f, Exchangeable) for v in f.scope}
    logs = np.stack([child_logs(child, sample) for child in circuit.root.children], axis=1)
    np.testing.assert_array_equal(np.isfinite(logs), np.eye(2, dtype=bool)[sample[:, decides].astype(int)])


def child_logs(child, sample):
    return sum(f.log_prob(sample[:, sorted(f.scope)]) for f in child.children)


def test_partitions_have_two_to_four_blocks_of_at_least_three(rng):
    seen = set()
    for _ in range(60):
        columns = rng.permutation(100)[: int(rng.integers(6, 25))]
        found = partition_of(columns, rng)
        assert sorted(np.concatenate(found).tolist()) == sorted(columns.tolist())
        assert min(map(len, found)) >= 3
        seen.add(len(found))
    assert seen == {2, 3, 4}
    assert [block.tolist() for block in partition_of(np.array([4, 2, 7]), rng)] == [[2, 4, 7]]


@pytest.mark.parametrize("n", [2, 3, 12, 40])
def test_laws_of_counts_are_distributions(rng, n):
    for _ in range(30):
        law = random_law(n, rng)
        assert law.shape == (n + 1,)
        assert law.min() >= 0
        assert law.sum() == pytest.approx(1, abs=1e-9)


def test_wrong_families_and_sizes_are_refused():
    with pytest.raises(RegistryError, match=r"expected one of blocks, contexts, .*found 'block'"):
        planted("block")
    with pytest.raises(ParameterError, match="n_variables: expected a whole number of at least 12, found 11"):
        planted("blocks", n_variables=11)
    with pytest.raises(ParameterError, match="'nested' has its own number of contexts, found n_contexts=2"):
        planted("nested", n_contexts=2)
    with pytest.raises(ParameterError, match="n_contexts"):
        planted("contexts", n_contexts=0)
    with pytest.raises(ParameterError, match="n_contexts"):
        planted("contexts", n_contexts=-1)
    with pytest.raises(ParameterError, match="n_variables"):
        planted("contexts", n_variables=20.5)


def test_members_of_a_parliament_vote_with_the_party_that_they_follow():
    house = parliament(400, random_state=3)
    assert house.votes.shape == (400, 325)
    assert np.isnan(house.votes).mean() == pytest.approx(0.3, abs=0.01)
    own = np.array([name.split("_")[0] for name in house.names])
    follows = np.array(house.voting_with)
    assert tuple(np.array(house.names)[own != follows]) == house.defectors
    for party in dict.fromkeys(own):
        line = np.nanmean(house.votes[:, follows == party], axis=1) > 0.5
        loyal = (house.votes == line[:, None]).sum(axis=0) / (~np.isnan(house.votes)).sum(axis=0)
        assert loyal[follows == party].min() > 0.75
        assert loyal[follows == party].mean() > loyal[follows != party].max()


def test_a_parliament_has_five_parties():
    with pytest.raises(ParameterError, match="expected 5 parties, found 1"):
        parliament(parties={"Red": 3})
