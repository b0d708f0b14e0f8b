"""The learner's settings as an estimator's parameters, and the paper's own."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from xspn.core.errors import ParameterError
from xspn.core.options import known_names
from xspn.core.registry import Registry
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


def learn_config(estimator: Any) -> LearnConfig:
    """Return the configuration that an estimator's parameters describe."""
    settings = {name: getattr(estimator, name) for name in PLAIN}
    options = estimator.options or {}
    if not isinstance(options, Mapping):
        raise ParameterError(f"options: expected a mapping of settings, found {options!r}")
    known_names("options", options, {field.name for field in fields(LearnConfig)} - set(PLAIN))
    for name, value in options.items():
        settings[name] = tuple(sorted(value.items())) if isinstance(value, Mapping) else value
    return LearnConfig(**settings)


# What the paper's program does where the paper is silent: pairs with the first variable, on 3 degrees of freedom; one
# seed for every clustering; constant columns off as leaves of their own; two groups at a time; the mass α spread over
# assignments in leaves that the test allows, given to each count in the leaf learner's blocks. Unlike in that program,
# nothing is left unsmoothed.
_COMMON = {"smoothing": 0.1, "shrinkage": 0.0, "clustering": "gmm", "independence_threshold": 5.0, "significance": 0.05}
_STRUCTURE = {"components": "two", "constants": "apart", "cluster_seed": 17}
_TESTED = {
    **_STRUCTURE,
    "score_overrules": False,
    "test_options": {"pairs": "first", "dof": 3, "empty_cells": "reject"},
    "count_spread": "assignments",
    "fallback_count_spread": "values",
}

paper_models: Registry[dict[str, Any]] = Registry("model of the paper")
paper_models.add(
    "SPN",
    {**_COMMON, "exchangeability": None, "leaf_learner": "factorized", "options": {**_STRUCTURE, "rows_first": True}},
)
paper_models.add(
    "SPN-CLT",
    {**_COMMON, "exchangeability": None, "leaf_learner": "chow_liu", "options": {**_STRUCTURE, "rows_first": True}},
)
paper_models.add("XSPN-T", {**_COMMON, "exchangeability": "pairwise", "leaf_learner": "factorized", "options": _TESTED})
paper_models.add("XSPN-TF", {**_COMMON, "exchangeability": "pairwise", "leaf_learner": "blocks", "options": _TESTED})
