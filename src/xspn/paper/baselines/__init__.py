"""What circuits are compared with: MADE as a density estimator, and classifiers."""

from xspn.paper.baselines.classifiers import MEVMClassifier, XGBoost
from xspn.paper.baselines.made import MADE

__all__ = ["MADE", "MEVMClassifier", "XGBoost"]
