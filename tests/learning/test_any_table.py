"""Any small table with any options: learning works and gives a distribution that answers questions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.learning import all_assignments, total_probability
from xspn.circuit import Circuit
from xspn.learning.clustering import clusterings
from xspn.learning.config import LearnConfig, PublishedProgram
from xspn.learning.data import BinaryData
from xspn.learning.exchangeability import tests
from xspn.learning.leaf_learners import leaf_learners
from xspn.learning.learner import learn


@st.composite
def tables(draw):
    """Up to 40 rows and 7 columns; some columns constant, some copied, some the negation of another."""
    rows, columns = draw(st.integers(1, 40)), draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    table = (rng.random((rows, columns)) < draw(st.sampled_from([0.03, 0.3, 0.5, 0.9]))).astype(np.uint8)
    for column in range(columns):
        match draw(st.sampled_from(["as it is", "as it is", "zero", "one", "copy", "negation"])):
            case "zero":
                table[:, column] = 0
            case "one":
                table[:, column] = 1
            case "copy":
                table[:, column] = table[:, 0]
            case "negation":
                table[:, column] = 1 - table[:, 0]
    return table


@st.composite
def configs(draw):
    return LearnConfig(
        min_instances=draw(st.sampled_from([1, 2, 5, 20])),
        independence_threshold=draw(st.sampled_from([0.0, 0.5, 5.0, np.inf])),
        significance=draw(st.sampled_from([0.0, 0.01, 0.5, 1.0])),
        smoothing=draw(st.sampled_from([0.0, 0.1, 1.0])),
        shrinkage=draw(st.sampled_from([0.0, 2.0])),
        exchangeability=draw(st.sampled_from([None, *tests])),
        clustering=draw(st.sampled_from([name for name in clusterings if name not in ("gmm", "kmeans")])),
        leaf_learner=draw(st.sampled_from(list(leaf_learners))),
        published=draw(
            st.none() | st.builds(PublishedProgram, rows_first=st.booleans(), score_overrules=st.booleans())
        ),
    )


def check(table, weights, config):
    data = BinaryData.of(table, weights, merge_equal_rows=config.clustering != "gmm")
    learned = learn(data, config, seed=1)
    circuit = Circuit.of_graph(learned.graph)
    n = table.shape[1]
    assert sorted(circuit.scope) == list(range(n))
    assert total_probability(circuit) == pytest.approx(1, abs=1e-9)
    logs = circuit.log_likelihood(all_assignments(n))
    if config.smoothing > 0:
        assert np.isfinite(logs).all()
    else:
        assert np.isfinite(circuit.log_likelihood(data.bits)).all(), "what was seen is possible"
    marginals = circuit.marginals(np.full((1, n), np.nan))[0, :, 1]
    np.testing.assert_allclose(marginals, np.exp(logs) @ all_assignments(n), atol=1e-9)
    for entry in learned.trace:
        assert set(entry.variables) <= set(circuit.graph.nodes[entry.node].scope)


@settings(max_examples=400)
@given(tables(), configs())
def test_learning_gives_a_distribution(table, config):
    check(table, None, config)


@settings(max_examples=150)
@given(tables(), configs(), st.integers(0, 2**32 - 1))
def test_learning_with_fractional_weights_gives_a_distribution(table, config, seed):
    check(table, np.random.default_rng(seed).random(len(table)) * 3 + 1e-3, config)


@settings(max_examples=15)
@given(tables(), configs(), st.sampled_from(["gmm", "kmeans"]))
def test_clusterings_of_scikit_learn_give_a_distribution(table, config, clustering):
    check(table, None, LearnConfig(**{**vars(config), "clustering": clustering}))
