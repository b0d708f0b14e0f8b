"""Settings are refused by name before any work is done."""

import numpy as np
import pytest

from support.learning import summary
from xspn.core.errors import ParameterError, RegistryError, XSPNError
from xspn.learning.config import LearnConfig, PublishedProgram
from xspn.learning.slice import BinarySlice

BAD = {
    "min_instances": [0, -1, 2.5, "20", None, True],
    "independence_threshold": [-1.0, np.nan, "5", None, True],
    "significance": [-0.1, 2, np.nan, "0.01", None],
    "smoothing": [-0.1, np.inf, np.nan, "0.1", None, True],
    "shrinkage": [-1, np.inf, "2"],
    "published": ["yes", True, {"rows_first": True}],
}
BAD_OF_THE_PROGRAM = {"rows_first": ["yes", 2], "score_overrules": ["no"], "cluster_seed": [-1, 1.5, "17", None]}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_bad_value_is_refused_by_the_settings_name(name, value):
    with pytest.raises(ParameterError, match=name):
        LearnConfig(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_OF_THE_PROGRAM.items() for value in values]
)
def test_a_bad_value_of_the_papers_program_is_refused_too(name, value):
    with pytest.raises(ParameterError, match=name):
        PublishedProgram(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("exchangeability", "globl", "unknown exchangeability test 'globl'; did you mean 'global'"),
        ("clustering", "bernouli", "unknown clustering 'bernouli'; did you mean 'bernoulli'"),
        ("leaf_learner", "chowliu", "unknown leaf learner 'chowliu'; did you mean 'chow_liu'"),
        ("clustering", None, "unknown clustering None"),
    ],
)
def test_an_unknown_method_is_refused_with_the_nearest_known(name, value, message):
    with pytest.raises(RegistryError, match=message):
        LearnConfig(**{name: value})


def test_options_that_the_test_does_not_have_are_refused():
    with pytest.raises(ParameterError, match=r"pairwise test: unknown setting 'pair'; did you mean 'pairs'\?"):
        LearnConfig(exchangeability="pairwise", published=PublishedProgram(test_options=(("pair", "first"),)))
    with pytest.raises(XSPNError, match="global test"):
        LearnConfig(published=PublishedProgram(test_options=(("dof", 3),)))


@pytest.mark.parametrize(
    "settings",
    [
        {"min_instances": np.int64(5)},
        {"significance": 0},
        {"significance": 1},
        {"independence_threshold": np.inf},
        {"smoothing": 0},
        {"shrinkage": np.float64(1.5)},
        {"exchangeability": None},
    ],
)
def test_the_ends_of_the_ranges_and_numpys_numbers_are_taken(settings):
    LearnConfig(**settings)


def test_smoothing_reaches_the_leaves_of_the_test_and_of_the_leaf_learner():
    alpha, counts = 0.7, np.array([5.0, 2.0, 0.0, 1.0])  # rows with 0, 1, 2 and 3 ones
    rows = [[0, 0, 0]] * 5 + [[0, 1, 0], [1, 0, 0]] + [[1, 1, 1]]
    config = LearnConfig(smoothing=alpha, leaf_learner="exchangeable", published=PublishedProgram())
    slice = BinarySlice(summary(rows))
    classes = np.array([1, 3, 3, 1])  # assignments with so many ones
    by_assignments = (counts + alpha * classes / 8) / (counts.sum() + alpha)
    by_values = (counts + alpha) / (counts.sum() + 4 * alpha)
    for leaf, expected in ((slice.exchangeable(config), by_assignments), (slice.leaf(config), by_values)):
        one_of_each = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=float)
        np.testing.assert_allclose(np.exp(leaf.node.log_prob(one_of_each)) * classes, expected)
