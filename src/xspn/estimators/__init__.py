"""The scikit-learn face of the library."""

from xspn.estimators.classifier import XSPNClassifier
from xspn.estimators.xspn import XSPN

__all__ = ["XSPN", "XSPNClassifier"]
