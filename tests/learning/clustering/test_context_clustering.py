"""The clustering "contexts", and the evidence of a tree as a product of predictions."""

import numpy as np
import pytest

from support.learning import exchangeable_table, random_table, summary
from xspn.learning.blocks.contexts import find_contexts
from xspn.learning.clustering import clusterings
from xspn.learning.clustering.contexts import contexts_split, evidence_of_tree
from xspn.leaves.chow_liu_tree import most_informative_tree


def predicted(table, parents):
    """Log of the product of P(cell | its parent, all rows before), each from an urn with half a ball of each color."""
    seen = {}
    found = 0.0
    for row in table.astype(int).tolist():
        for child, parent in enumerate(parents.tolist()):
            urn = seen.setdefault((child, None if parent < 0 else row[parent]), [0.5, 0.5])
            found += np.log(urn[row[child]] / sum(urn))
            urn[row[child]] += 1
    return found


def test_the_evidence_of_a_tree_is_a_product_of_predictions(rng):
    for n in (1, 2, 3, 6):
        for _ in range(5):
            table = random_table(rng, 40, n)
            own = summary(table)
            parents, _ = most_informative_tree(own.pairs, own.ones, own.total, 0.0)
            n_trees = {1: 1, 2: 1, 3: 3, 6: 6**4}[n]
            assert evidence_of_tree(own) == pytest.approx(predicted(table, parents) - np.log(n_trees), abs=1e-6)


def test_weights_repeat_rows(rng):
    table, weights = random_table(rng, 30, 5), rng.integers(1, 4, size=30)
    again = evidence_of_tree(summary(np.repeat(table, weights, axis=0)))
    assert evidence_of_tree(summary(table, weights)) == pytest.approx(again, abs=1e-6)


def test_a_chain_is_not_split_into_contexts(rng):
    """Where a tree has more evidence than contexts the rows are split as without them."""
    table = np.empty((600, 10), np.uint8)
    table[:, 0] = rng.random(600) < 0.5
    for j in range(1, 10):
        table[:, j] = table[:, j - 1] ^ (rng.random(600) < 0.15)
    own = summary(table)
    assert len(find_contexts(table, np.ones(600), 3).contexts) > 1
    found, expected = contexts_split(own, 3), clusterings.for_bits("auto")(own, 3)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert found.responsibilities is None


def test_contexts_are_clusters_of_rows(rng):
    kind = rng.integers(0, 2, size=500)
    table = np.where(kind[:, None], exchangeable_table(rng, 500, 12, 0.3), rng.random((500, 12)) < 0.15)
    own = summary(table)
    found = contexts_split(own, 0)
    mixture = find_contexts(table.astype(np.uint8), np.ones(500), 0)
    assert found.responsibilities.shape == mixture.responsibilities.shape
    assert len(mixture.contexts) > 1
    np.testing.assert_allclose(found.responsibilities.sum(axis=1), 1)
    np.testing.assert_allclose(found.responsibilities, mixture.responsibilities, atol=0.03)
    assert not ((found.responsibilities > 0) & (found.responsibilities < 0.01)).any()
    np.testing.assert_array_equal(found.labels, np.argmax(mixture.responsibilities, axis=1))
