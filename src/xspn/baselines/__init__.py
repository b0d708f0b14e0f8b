"""What circuits are compared with: MADE as a density estimator, and classifiers."""

from xspn.baselines.discriminative import XGBoost, svm
from xspn.baselines.made import MADE
from xspn.baselines.mevm_classifier import MEVMClassifier

__all__ = ["MADE", "MEVMClassifier", "XGBoost", "svm"]
