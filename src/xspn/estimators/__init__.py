"""The scikit-learn face of the library."""

from xspn.estimators.classifier import XSPNClassifier
from xspn.estimators.imputer import XSPNImputer
from xspn.estimators.mevm import MEVM
from xspn.estimators.normal_mixture import NormalMixture
from xspn.estimators.outliers import XSPNOutlierDetector
from xspn.estimators.xspn import XSPN

__all__ = ["MEVM", "XSPN", "NormalMixture", "XSPNClassifier", "XSPNImputer", "XSPNOutlierDetector"]
