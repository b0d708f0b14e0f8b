"""The scikit-learn face of the library."""

from xspn.estimators.classifier import XSPNClassifier
from xspn.estimators.mevm import MEVM
from xspn.estimators.xspn import XSPN

__all__ = ["MEVM", "XSPN", "XSPNClassifier"]
