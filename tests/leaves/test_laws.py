"""What leaves say of themselves is true: laws in words, and how much variables depend on each other."""

import itertools
from math import comb

import numpy as np
import pytest

from xspn.leaves import BetaBinomial, Exchangeable
from xspn.leaves.base import leaves
from xspn.leaves.laws import INDEPENDENT, RULE, bars, law_of_counts, percent
from xspn.statistics import Blocks, ValueCounts


def one_of(n, chances, noise=0.0):
    """P(count = t) with these chances, and noise spread over all counts."""
    law = np.full(n + 1, noise / (n + 1))
    for count, chance in chances.items():
        law[count] += (1 - noise) * chance
    return law


def every(n, step, start=0):
    law = np.array([comb(n, t) * (t % step == start) for t in range(n + 1)], dtype=float)
    return law / law.sum()


def beta_binomial(n, mean, dispersion):
    return BetaBinomial(range(n), mean, dispersion).class_probabilities


TWO_PEAKS = 0.5 * beta_binomial(12, 0.12, 0.02) + 0.5 * beta_binomial(12, 0.85, 0.02)

LAWS = {
    "all or none": (one_of(6, {0: 0.4, 6: 0.6}), "all or none (60 % all)"),
    "nearly all or none": (one_of(6, {0: 0.4, 6: 0.6}, 0.05), "all or none (96 %, 58 % all)"),
    "both or neither": (one_of(2, {0: 0.5, 2: 0.5}), "both or neither (50 % both)"),
    "exactly one": (one_of(5, {1: 1.0}), "exactly one"),
    "exactly one of two": (one_of(2, {1: 1.0}), "exactly one"),
    "nearly exactly one": (one_of(7, {1: 1.0}, 0.023), "exactly one (98 %)"),
    "exactly k": (one_of(9, {4: 1.0}), "exactly 4 of 9"),
    "hardly any": (one_of(9, {0: 0.97, 9: 0.03}), "none (97 %)"),
    "all": (one_of(4, {4: 0.95, 1: 0.05}), "all (95 %)"),
    "at most one": (one_of(8, {0: 0.6, 1: 0.4}), "at most one"),
    "at least one": (one_of(2, {1: 0.6, 2: 0.4}), "at least one"),
    "all but one": (one_of(8, {7: 0.3, 8: 0.7}), "all or all but one"),
    "neighbors": (one_of(8, {3: 0.3, 4: 0.7}), "3 or 4 of 8"),
    "two counts": (one_of(12, {2: 0.5, 9: 0.5}), "either exactly 2 of 12 or exactly 9 of 12"),
    "even": (every(6, 2), "an even number"),
    "even of three": (every(3, 2), "an even number"),
    "odd": (every(7, 2, 1), "an odd number"),
    "multiples": (every(100, 5), "a multiple of 5"),
    "independent": (beta_binomial(10, 0.6, 0.0), "about 60 %, each on its own"),
    "rare and independent": (beta_binomial(10, 0.004, 0.0), "about 0.4 %, each on its own"),
    "few or many": (TWO_PEAKS, "either few or many: at most 2 (41 %) or at least 9 (44 %) of 12"),
    "overdispersed, two ends": (
        beta_binomial(12, 0.5, 2.0),
        "either few or many: at most 2 (38 %) or at least 10 (38 %) of 12",
    ),
    "overdispersed": (beta_binomial(12, 0.5, 0.1), "mostly 3–9 of 12 (84 %); they go together"),
    "overdispersed and rare": (beta_binomial(8, 0.1, 0.5), "mostly at most 1 of 8 (81 %); they go together"),
    "anything": (np.full(9, 1 / 9), "anything from none to all; they go together"),
    "underdispersed": (one_of(10, {4: 0.35, 5: 0.3, 6: 0.35}), "mostly 4–6 of 10 (100 %); they exclude each other"),
    "three counts": (one_of(12, {1: 0.3, 6: 0.4, 9: 0.3}), "mostly 1, 6 or 9 of 12 (100 %); they go together"),
    "two that agree": (np.array([0.4, 0.25, 0.35]), "mostly alike (75 %); they go together"),
    "two that differ": (np.array([0.2, 0.65, 0.15]), "mostly different (65 %); they exclude each other"),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_of_counts(name):
    law, words = LAWS[name]
    assert law_of_counts(law) == words


@pytest.mark.parametrize("seed", range(60))
def test_words_are_true_of_the_law(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 14))
    law = rng.dirichlet(np.full(n + 1, rng.choice([0.05, 0.3, 1.0])))
    if seed % 3 == 0:
        law = beta_binomial(n, rng.uniform(0.05, 0.95), rng.choice([0.0, 0.05, 0.5, 5.0]))
    words = law_of_counts(law)
    counts = np.arange(n + 1)
    rules = {
        "an even number": law[::2].sum(),
        "an odd number": law[1::2].sum(),
        "exactly one": law[1],
        "all or none": law[0] + law[n],
        "at most one": law[:2].sum(),
        "none": law[0],
        "all (": law[n],
        "at least one": law[1:].sum(),
    }
    for start, held in rules.items():
        if words.startswith(start):
            assert held >= RULE
    leaf = Exchangeable.from_class_probabilities(range(n), law)
    assert ("each on its own" in words) == (leaf.dependence() < INDEPENDENT)
    mean = law @ counts / n
    covariance = (law @ counts**2 - n * mean) / (n * (n - 1)) - mean**2
    if "go together" in words or "few or many" in words:
        assert covariance > 0
    if "exclude each other" in words:
        assert covariance < 0


def entropy(chances):
    own = chances[chances > 0]
    return -(own @ np.log(own))


@pytest.mark.parametrize("family", list(leaves))
@pytest.mark.parametrize("seed", range(3))
def test_dependence_is_total_correlation(family, seed):
    leaf = leaves[family].example(np.random.default_rng(seed))
    names = [f"v{v}" for v in leaf.variables]
    if len(names) > 1:
        assert leaf.law(names, str)
    found = leaf.dependence()
    if np.isnan(found):
        return
    if all(domain.is_discrete for domain in leaf.domains):
        rows = np.array(list(itertools.product(*(range(domain.cardinality) for domain in leaf.domains))), dtype=float)
        joint = np.exp(leaf.log_prob(rows))
        alone = sum(entropy(own) for own in leaf.marginals(np.full((1, len(names)), np.nan))[0])
        assert found == pytest.approx(alone - entropy(joint), abs=1e-9)
    else:
        covariance = leaf.moments()[1]
        scale = np.sqrt(np.diag(covariance))
        correlation = covariance / np.outer(scale, scale)
        assert found == pytest.approx(-0.5 * np.linalg.slogdet(correlation)[1], abs=1e-9)


def test_laws_of_values():
    statistic = ValueCounts(3)
    classes = statistic.values(4)
    same = np.where(classes.max(axis=1) == 4, 1 / 3, 0.0)
    leaf = Exchangeable.from_class_probabilities(range(4), same, statistic)
    assert leaf.law(list("abcd"), ["no", "maybe", "yes"].__getitem__) == "all the same: no 33 %, maybe 33 %, yes 33 %"
    alone = np.exp(statistic.log_class_size(4)) * np.prod(np.array([0.5, 0.3, 0.2]) ** classes, axis=1)
    leaf = Exchangeable.from_class_probabilities(range(4), alone, statistic)
    assert leaf.law(list("abcd"), str) == "0 50 %, 1 30 %, 2 20 %, each on its own"
    leaf = Exchangeable.from_class_probabilities(range(4), 0.6 * same + 0.4 * alone, statistic)
    assert leaf.law(list("abcd"), str).endswith("; they go together")
    spread = np.where(classes.max(axis=1) == 2, 1.0, 0.0)
    leaf = Exchangeable.from_class_probabilities(range(4), spread / spread.sum(), statistic)
    assert leaf.law(list("abcd"), str).endswith("; they differ from each other")


def test_groups_of_one_leaf_are_told_apart():
    statistic = Blocks([[0, 1, 2], [3, 4]])
    leaf = Exchangeable.from_class_probabilities(range(5), np.full(12, 1 / 12), statistic)
    assert leaf.law(list("abcde"), str) == "groups of 3 and 2, alike within, that depend on each other"


def test_small_pictures_of_distributions():
    assert bars([0.5, 0.5]) == "██"
    assert len(bars(np.full(1000, 0.001))) <= 17
    assert [percent(p) for p in (0.5, 1e-9, 1 - 1e-9)] == ["50 %", "<0.1 %", ">99.9 %"]
