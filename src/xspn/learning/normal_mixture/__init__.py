"""Contexts in which numbers are jointly normal, learned by EM from rows with missing cells."""

from xspn.learning.normal_mixture.fit import NormalMixtureOptions, fit_normal_mixture

__all__ = ["NormalMixtureOptions", "fit_normal_mixture"]
