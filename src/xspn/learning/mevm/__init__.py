"""Mixtures of exchangeable variable models (Niepert and Domingos, 2014), learned by EM."""

from xspn.learning.mevm.fit import MEVMFit, MEVMOptions, fit_mevm
from xspn.learning.mevm.partition import Structure

__all__ = ["MEVMFit", "MEVMOptions", "Structure", "fit_mevm"]
