"""The classifiers of table 2: how each is made, and which settings it has."""

from typing import Any

from xspn.core.registry import Registry
from xspn.estimators import XSPNClassifier
from xspn.paper.baselines import MEVMClassifier, XGBoost, svm
from xspn.paper.experiments.models import STRUCTURE, WITH_TEST, Make, ModelSpec
from xspn.paper.presets import paper_classifier


def _paper(name: str) -> Make:
    return lambda **settings: paper_classifier(name, **settings)


def _default(**settings: Any) -> Any:
    return XSPNClassifier(**settings)


classifiers: Registry[ModelSpec] = Registry("classifier")

for _spec in (
    ModelSpec("SPN", "an SPN for each class (smoothed)", "SPN", STRUCTURE, _paper("SPN"), cost=4),
    ModelSpec("XSPN", "an XSPN-TF for each class", "XSPN", WITH_TEST, _paper("XSPN-TF"), cost=4),
    ModelSpec("XSPN-default", "this library's defaults", "XSPN-default", WITH_TEST, _default),
    ModelSpec("MEVM", "a product of exchangeable blocks for each class", "MEVM", (), MEVMClassifier),
    ModelSpec("SVM", "support vector machine, radial kernel", "SVM", (), svm, cost=20, merges_rows=True),
    ModelSpec("XGBoost", "gradient boosted trees, 2 rounds", "XGBoost", (), XGBoost, needs="xgboost", extra="xgboost"),
    ModelSpec(
        "XGBoost-untied",
        "gradient boosted trees, as many rounds as help the validation rows",
        "XGBoost",
        (),
        XGBoost.untied,
        needs="xgboost",
        extra="xgboost",
        cost=4,
        stops_early=True,
    ),
):
    classifiers.add(_spec.name, _spec)
