"""The classifiers of table 2: how each is made, and which settings it has."""

from typing import Any

from xspn._core.registry import Registry
from xspn.estimators import XSPNClassifier
from xspn.experiments.models import STRUCTURE, WITH_TEST, Make, ModelSpec


def _paper(name: str) -> Make:
    return lambda **settings: XSPNClassifier.paper(name, **settings)


def _default(**settings: Any) -> Any:
    return XSPNClassifier(**settings)


classifiers: Registry[ModelSpec] = Registry("classifier")

for _spec in (
    ModelSpec("SPN", "an SPN for each class (smoothed)", "SPN", STRUCTURE, _paper("SPN"), cost=4),
    ModelSpec("XSPN", "an XSPN-TF for each class", "XSPN", WITH_TEST, _paper("XSPN-TF"), cost=4),
    ModelSpec("XSPN-default", "this library's defaults", "XSPN-default", WITH_TEST, _default),
):
    classifiers.add(_spec.name, _spec)
