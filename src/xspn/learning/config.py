"""Everything that can be chosen about learning a circuit."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xspn.core.checks import number_between, one_of, smoothing_mass, whole_number
from xspn.core.errors import ParameterError, RegistryError, with_known_names
from xspn.learning.clustering import clusterings
from xspn.learning.exchangeability.base import check_test_options, tests
from xspn.learning.leaf_learners import LeafOptions, leaf_learners
from xspn.learning.methods import Can

AUTO, EVIDENCE, GLOBAL = "auto", "evidence", "global"
OF_TESTS = ("independence_threshold", "significance", "clustering", "leaf_learner", "published")


@dataclass(frozen=True)
class PublishedProgram:
    """What the program behind the paper does differently from this library; the presets of `xspn.paper` ask for it.

    It splits into two groups at a time, one component and the rest; makes a leaf of its own of every variable that is
    constant in a slice; seeds the clustering of every node alike; and spreads the mass α of exchangeable leaves that
    the test allows over all assignments, not over the values of the count.

    Attributes:
        rows_first: Cluster the rows of the root before anything else, as the SPN baseline does.
        score_overrules: Let leave-one-out scores overrule the tests, as this library does.
        test_options: Further arguments of the exchangeability test, as pairs of name and value.
        cluster_seed: The seed of every clustering.
    """

    rows_first: bool = False
    score_overrules: bool = False
    test_options: tuple[tuple[str, Any], ...] = ()
    cluster_seed: int = 17

    def __post_init__(self) -> None:
        one_of("rows_first", self.rows_first, (False, True))
        one_of("score_overrules", self.score_overrules, (False, True))
        whole_number("cluster_seed", self.cluster_seed, 0)


@dataclass(frozen=True)
class LearnConfig:
    """The choices of LearnXSPN; the defaults are this library's own.

    Attributes:
        min_instances: Slices of fewer rows become a leaf.
        independence_threshold: ρ of the G-test: a pair is independent if its statistic is below 2ρ + 0.001.
        significance: The level of the exchangeability test.
        smoothing: The Laplace pseudo-count α.
        exchangeability: The test: "global", "pairwise", "full"; "evidence" for blocks and contexts of best evidence in
            place of tests; "auto" for evidence where it serves (see `settled`) and "global" elsewhere; or None for a
            conventional SPN.
        clustering: How rows are split: "auto", "contexts", "bernoulli", "variable", "gmm", "kmeans".
        leaf_learner: What makes the leaves of slices that are not split any further: "auto" (a mixture of the others),
            "sparse" (of as few of them as predict best), "evidence" (the same with blocks of best evidence),
            "factorized", "exchangeable", "chow_liu", "blocks".
        shrinkage: How many rows the sum above a leaf counts for in its parameters: clusters of few rows borrow strength
            from the rows that they were cut from.
        published: What to do as the paper's program does; None for this library's own learner.
    """

    min_instances: int = 20
    independence_threshold: float = 5.0
    significance: float = 0.01
    smoothing: float = 0.1
    exchangeability: str | None = GLOBAL
    clustering: str = "auto"
    leaf_learner: str = "auto"
    shrinkage: float = 2.0
    published: PublishedProgram | None = None

    def __post_init__(self) -> None:
        whole_number("min_instances", self.min_instances, 1)
        number_between("independence_threshold", self.independence_threshold, 0.0, np.inf)
        number_between("significance", self.significance, 0.0, 1.0)
        smoothing_mass(self.smoothing)
        smoothing_mass(self.shrinkage, "shrinkage")
        if not isinstance(self.published, PublishedProgram | None):
            raise ParameterError(f"published: expected a PublishedProgram or None, found {self.published!r}")
        if self.exchangeability not in (None, AUTO, EVIDENCE):
            if self.exchangeability not in tests:
                known = with_known_names(self.exchangeability, [AUTO, EVIDENCE, *tests])
                raise RegistryError(f"unknown exchangeability test {known}")
            check_test_options(self.exchangeability, self.test_options)
        clusterings[self.clustering]
        leaf_learners[self.leaf_learner]

    @property
    def by_evidence(self) -> bool:
        """Whether blocks and contexts are found by evidence, not by tests."""
        return self.exchangeability == EVIDENCE

    def settled(self, evidence_serves: bool) -> "LearnConfig":
        """Return the same choices with "auto" settled: evidence if it serves the table and nothing speaks of tests.

        Levels, thresholds, clusterings and leaf learners that are not the default ones are those of tests.
        """
        if self.exchangeability != AUTO:
            return self
        usual = all(getattr(self, name) == getattr(LearnConfig, name) for name in OF_TESTS)
        return replace(self, exchangeability=EVIDENCE if evidence_serves and usual else GLOBAL)

    @property
    def split_by(self) -> str:
        """The name of the clustering that splits rows."""
        return "contexts" if self.by_evidence and self.clustering == "auto" else self.clustering

    @property
    def in_two(self) -> "LearnConfig":
        """The same choices, with rows split in two where evidence would look for contexts."""
        return replace(self, exchangeability=None)

    @property
    def merges_rows(self) -> bool:
        """Whether equal rows are merged into one of their weight: not for a method that takes no weights."""
        used = [clusterings[self.clustering].can, leaf_learners[self.leaf_learner].can]
        used += [tests[name].can for name in tests if name == self.exchangeability]
        return all(Can.WEIGHTS in can for can in used)

    @property
    def leaves_by(self) -> str:
        """The name of the leaf learner that makes leaves."""
        return "evidence" if self.by_evidence and self.leaf_learner == "auto" else self.leaf_learner

    @property
    def score_overrules(self) -> bool:
        """Whether leave-one-out scores may overrule the tests.

        Where the test rejects and all variables seem independent, the score chooses between an exchangeable leaf and
        independent variables; and variables that exclude each other are not taken for independent.
        """
        return self.published is None or self.published.score_overrules

    @property
    def test_options(self) -> dict[str, Any]:
        """Further arguments of the exchangeability test."""
        return {} if self.published is None else dict(self.published.test_options)

    @property
    def cluster_seed(self) -> int | None:
        """One seed for the clustering of every node; None for one each."""
        return None if self.published is None else self.published.cluster_seed

    @property
    def tested_leaves(self) -> LeafOptions:
        """How leaves that the test allows are smoothed."""
        return LeafOptions(self.smoothing, "values" if self.published is None else "assignments")

    @property
    def leaf_options(self) -> LeafOptions:
        """How the leaf learner's leaves are smoothed; a conventional SPN has no exchangeable blocks in mixed leaves."""
        return LeafOptions(self.smoothing, exchangeable=self.exchangeability is not None)

    @property
    def conventional(self) -> "LearnConfig":
        """The same choices without exchangeable leaves of any kind."""
        leaf_learner = "factorized" if self.leaf_learner in ("exchangeable", "blocks") else self.leaf_learner
        return replace(self, exchangeability=None, leaf_learner=leaf_learner)
