"""What circuits are compared with: MADE as a density estimator, and classifiers."""

from xspn.paper.baselines.discriminative import XGBoost, svm
from xspn.paper.baselines.made import MADE
from xspn.paper.baselines.mevm_classifier import MEVMClassifier

__all__ = ["MADE", "MEVMClassifier", "XGBoost", "svm"]
