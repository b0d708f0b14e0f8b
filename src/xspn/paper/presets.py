"""The paper's own models: this library's estimators with the settings that the paper's program ran with."""

from typing import Any

from xspn.core.registry import Registry
from xspn.estimators import XSPN, XSPNClassifier
from xspn.learning.config import PublishedProgram

# Unlike in the paper's program, nothing is left unsmoothed. Its test is of pairs with the first variable only, on 3
# degrees of freedom, on which the paper is silent.
_COMMON = {"smoothing": 0.1, "shrinkage": 0.0, "clustering": "gmm", "independence_threshold": 5.0, "significance": 0.05}
_SPN = {"published": PublishedProgram(rows_first=True, score_overrules=True)}
_XSPN = {"published": PublishedProgram(test_options=(("pairs", "first"), ("dof", 3), ("empty_cells", "reject")))}

presets: Registry[dict[str, Any]] = Registry("model of the paper")
presets.add("SPN", {**_COMMON, "exchangeability": None, "leaf_learner": "factorized", "options": _SPN})
presets.add("SPN-CLT", {**_COMMON, "exchangeability": None, "leaf_learner": "chow_liu", "options": _SPN})
presets.add("XSPN-T", {**_COMMON, "exchangeability": "pairwise", "leaf_learner": "factorized", "options": _XSPN})
presets.add("XSPN-TF", {**_COMMON, "exchangeability": "pairwise", "leaf_learner": "blocks", "options": _XSPN})


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
