"""Expectation maximization over all weights and leaves of any circuit."""

from xspn.learning.em.fit import (
    Course,
    EMFit,
    EMOptions,
    fit_mixture_weights,
    fit_parameters,
    known_device,
    learning_device,
    refitted,
    weights_of_likelihoods,
)

__all__ = [
    "Course",
    "EMFit",
    "EMOptions",
    "fit_mixture_weights",
    "fit_parameters",
    "known_device",
    "learning_device",
    "refitted",
    "weights_of_likelihoods",
]
