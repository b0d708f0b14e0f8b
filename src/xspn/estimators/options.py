"""The learner's settings as an estimator's parameters."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from xspn.core.errors import ParameterError
from xspn.core.options import known_names
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
    return LearnConfig(**settings, **options)
