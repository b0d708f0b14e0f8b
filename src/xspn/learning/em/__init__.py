"""Expectation maximization over all weights and leaves of any circuit."""

from xspn.learning.em.fit import Course, EMFit, EMOptions, fit_parameters, refitted
from xspn.learning.em.weights import fit_mixture_weights, weights_of_likelihoods

__all__ = [
    "Course",
    "EMFit",
    "EMOptions",
    "fit_mixture_weights",
    "fit_parameters",
    "refitted",
    "weights_of_likelihoods",
]
