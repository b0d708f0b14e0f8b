"""Everything that can be chosen about learning a circuit."""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from xspn.core.checks import smoothing_mass
from xspn.core.options import number_between, one_of, whole_number
from xspn.learning.clustering import clusterings
from xspn.learning.exchangeability.base import check_test_options
from xspn.learning.leaf_learners import LeafOptions, leaf_learners
from xspn.learning.leaf_learners.base import CountSpread

Components = Literal["all", "two"]
Constants = Literal["together", "apart"]


@dataclass(frozen=True)
class LearnConfig:
    """The choices of LearnXSPN; the defaults are this library's own.

    Attributes:
        min_instances: Slices of fewer rows become a leaf.
        independence_threshold: ρ of the G-test: a pair is independent if its statistic is below 2ρ + 0.001.
        significance: The level of the exchangeability test.
        smoothing: The Laplace pseudo-count α.
        exchangeability: The test: "global", "pairwise", "full", or None for a conventional SPN.
        test_options: Further arguments of the test.
        clustering: How rows are split: "auto", "bernoulli", "variable", "gmm", "kmeans".
        leaf_learner: What makes the leaves of slices that are not split any further: "auto" (a mixture of the others),
            "sparse" (of as few of them as predict best), "factorized", "exchangeable", "chow_liu", "blocks".
        count_spread: How exchangeable leaves found by the test are smoothed.
        fallback_count_spread: How exchangeable leaves made by the leaf learner are smoothed.
        shrinkage: How many rows the sum above a leaf counts for in its parameters: clusters of few rows borrow strength
            from the rows that they were cut from.
        components: Split into all independent groups at once, or into "two": one of them and the rest.
        constants: Variables that are constant in a slice become a leaf "together" (deviations tend to come
            together), or leaves of their own, each "apart", as in the paper's program.
        score_overrules: Where the test rejects and all variables seem independent, let the leave-one-out score choose
            between an exchangeable leaf and independent variables; and do not take variables for independent that
            exclude each other.
        rows_first: Cluster the rows of the root before anything else, as the paper's SPN baseline does.
        cluster_seed: One seed for the clustering of every node, as in the paper's program; None for one each.
    """

    min_instances: int = 20
    independence_threshold: float = 5.0
    significance: float = 0.01
    smoothing: float = 0.1
    exchangeability: str | None = "global"
    test_options: tuple[tuple[str, Any], ...] = ()
    clustering: str = "auto"
    leaf_learner: str = "auto"
    count_spread: CountSpread = "values"
    fallback_count_spread: CountSpread = "values"
    shrinkage: float = 2.0
    components: Components = "all"
    constants: Constants = "together"
    score_overrules: bool = True
    rows_first: bool = False
    cluster_seed: int | None = None

    def __post_init__(self) -> None:
        whole_number("min_instances", self.min_instances, 1)
        number_between("independence_threshold", self.independence_threshold, 0.0, np.inf)
        number_between("significance", self.significance, 0.0, 1.0)
        smoothing_mass(self.smoothing)
        smoothing_mass(self.shrinkage, "shrinkage")
        if self.exchangeability is not None:
            check_test_options(self.exchangeability, dict(self.test_options))
        clusterings[self.clustering]
        leaf_learners[self.leaf_learner]
        one_of("components", self.components, get_args(Components))
        one_of("constants", self.constants, get_args(Constants))
        one_of("count_spread", self.count_spread, get_args(CountSpread))
        one_of("fallback_count_spread", self.fallback_count_spread, get_args(CountSpread))
        one_of("rows_first", self.rows_first, (False, True))
        one_of("score_overrules", self.score_overrules, (False, True))
        if self.cluster_seed is not None:
            whole_number("cluster_seed", self.cluster_seed, 0)

    @property
    def tested_leaves(self) -> LeafOptions:
        """How leaves that the test allows are smoothed."""
        return LeafOptions(self.smoothing, self.count_spread)

    @property
    def leaf_options(self) -> LeafOptions:
        """How the leaf learner's leaves are smoothed; a conventional SPN has no exchangeable blocks in mixed leaves."""
        exchangeable = self.exchangeability is not None
        return LeafOptions(self.smoothing, self.fallback_count_spread, exchangeable=exchangeable)

    @property
    def conventional(self) -> "LearnConfig":
        """The same choices without exchangeable leaves of any kind."""
        leaf_learner = "factorized" if self.leaf_learner in ("exchangeable", "blocks") else self.leaf_learner
        return replace(self, exchangeability=None, leaf_learner=leaf_learner)
