"""The paper's own models: this library's estimators with the settings that the paper's program ran with."""

from typing import Any

from xspn.core.registry import Registry
from xspn.estimators import XSPN, XSPNClassifier

# What the paper's program does where the paper is silent: pairs with the first variable, on 3 degrees of freedom; one
# seed for every clustering; constant columns off as leaves of their own; two groups at a time; the mass α spread over
# assignments in leaves that the test allows, given to each count in the fallback's blocks. Unlike in that program,
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

presets: Registry[dict[str, Any]] = Registry("model of the paper")
presets.add(
    "SPN",
    {**_COMMON, "exchangeability": None, "fallback": "factorized", "options": {**_STRUCTURE, "rows_first": True}},
)
presets.add(
    "SPN-CLT",
    {**_COMMON, "exchangeability": None, "fallback": "chow_liu", "options": {**_STRUCTURE, "rows_first": True}},
)
presets.add("XSPN-T", {**_COMMON, "exchangeability": "pairwise", "fallback": "factorized", "options": _TESTED})
presets.add("XSPN-TF", {**_COMMON, "exchangeability": "pairwise", "fallback": "blocks", "options": _TESTED})


def paper_model(name: str, **changes: Any) -> XSPN:
    """Return one of the paper's models, unfitted: "SPN", "SPN-CLT", "XSPN-T" or "XSPN-TF".

    Args:
        name: The name.
        changes: Parameters that shall differ, such as `min_instances` or `random_state`.

    Examples:
        >>> paper_model("XSPN-TF", min_instances=200, random_state=0).clustering
        'gmm'
    """
    return XSPN(**{**presets[name], **changes})


def paper_classifier(name: str, **changes: Any) -> XSPNClassifier:
    """Return a classifier with one of the paper's models for each class; the arguments are those of `paper_model`."""
    return XSPNClassifier(**{**presets[name], **changes})
