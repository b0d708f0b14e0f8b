"""The scikit-learn face of the library."""

from xspn.estimators.classifier import XSPNClassifier
from xspn.estimators.imputer import XSPNImputer
from xspn.estimators.mevm import MEVM
from xspn.estimators.outliers import XSPNOutlierDetector
from xspn.estimators.xspn import XSPN

__all__ = ["MEVM", "XSPN", "XSPNClassifier", "XSPNImputer", "XSPNOutlierDetector"]
