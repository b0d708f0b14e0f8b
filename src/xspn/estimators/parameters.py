"""The parameters that learning estimators share."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from xspn.core.errors import ParameterError
from xspn.core.options import known_names
from xspn.core.random import RandomState
from xspn.estimators.table_input import TableInput
from xspn.learning.config import LearnConfig

PLAIN = (
    "min_instances",
    "independence_threshold",
    "significance",
    "smoothing",
    "shrinkage",
    "exchangeability",
    "clustering",
    "leaf_learner",
)


class LearnerParameters(TableInput):
    """Everything that can be set about learning a circuit.

    Args:
        min_instances: Slices of fewer rows become a leaf.
        independence_threshold: ρ of the G-test of independence; larger values find more independence.
        significance: The level of the exchangeability test; smaller values find more exchangeability.
        smoothing: The Laplace pseudo-count α.
        shrinkage: How many rows the cluster's surroundings count for in a leaf's parameters.
        exchangeability: "global", "pairwise", "full", or None for a conventional SPN.
        clustering: "auto", "bernoulli", "variable", "gmm" (as in the paper) or "kmeans".
        leaf_learner: What makes the leaves of slices that are not split any further: "auto" (a mixture of the others),
            "sparse" (of as few of them as predict best), "factorized", "exchangeable", "chow_liu" or "blocks".
        quality: "fast" learns one circuit with the parameters as they are. "balanced" and "best" choose `min_instances`
            and `independence_threshold` on validation rows (`X_valid`, or a random fraction of the training rows),
            learn a bagged ensemble of 8 or 80 circuits, and mix it with hidden Chow-Liu trees over exchangeable blocks
            (binary columns); "best" also chooses smoothing and shrinkage, and mixes in an EM-refined mixture of
            perturbed copies of one circuit.
        n_estimators: The number of circuits, learned on bootstrap samples and mixed into one; with a quality other than
            "fast" there are at least 8 or 80.
        domains: What the columns hold, where it shall not be inferred: "binary", "categorical", "ordinal", "real" or a
            `Domain` for all of them; a mapping from names or indices to these or to lists of labels; or a list with one
            for each column. See `xspn.data.column_types` for the rules. "binary" refuses anything else.
        binarize: Values above this number count as 1, others as 0; None takes values as they are.
        options: Further settings of `xspn.learning.config.LearnConfig`, by name.
        n_jobs: Threads for one circuit, processes for several; −1 for all cores. The result does not depend on it.
        random_state: A seed, for the same circuit every time.
        verbose: 1 shows a progress bar: how much of the expected work is done, also inside long steps.
    """

    def __init__(
        self,
        min_instances: int = 20,
        independence_threshold: float = 5.0,
        significance: float = 0.01,
        smoothing: float = 0.1,
        shrinkage: float = 2.0,
        exchangeability: str | None = "global",
        clustering: str = "auto",
        leaf_learner: str = "auto",
        quality: str = "fast",
        n_estimators: int = 1,
        domains: Any = None,
        binarize: float | None = None,
        options: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.min_instances = min_instances
        self.independence_threshold = independence_threshold
        self.significance = significance
        self.smoothing = smoothing
        self.shrinkage = shrinkage
        self.exchangeability = exchangeability
        self.clustering = clustering
        self.leaf_learner = leaf_learner
        self.quality = quality
        self.n_estimators = n_estimators
        self.domains = domains
        self.binarize = binarize
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def learn_config(estimator: Any) -> LearnConfig:
    """Return the configuration that an estimator's parameters describe."""
    settings = {name: getattr(estimator, name) for name in PLAIN}
    options = estimator.options or {}
    if not isinstance(options, Mapping):
        raise ParameterError(f"options: expected a mapping of settings, found {options!r}")
    known_names("options", options, {field.name for field in fields(LearnConfig)} - set(PLAIN))
    return LearnConfig(**settings, **options)
