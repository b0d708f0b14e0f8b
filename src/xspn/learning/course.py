"""The course of an iterative fit: what was reached, which model to keep, when to stop."""

import math
import warnings
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from xspn.learning.steps import step

ROUNDING = 1e-9  # how much of itself a log-likelihood may lose to rounding

M = TypeVar("M")


@dataclass
class Course(Generic[M]):
    """Follows the models of an iterative fit.

    Args:
        patience: Stop after so many models without a better validation log-likelihood.
        tolerance: Stop when the training log-likelihood changes by less.
        promises_ascent: Whether the algorithm promises never to lower the training log-likelihood; it is checked.
        keeps_best: Without validation data, keep the model of highest training log-likelihood; else the last one.

    Examples:
        >>> course = Course(patience=2, tolerance=0.01)
        >>> [course.ends_with(name, ll) for name, ll in (("a", -3.0), ("b", -2.0), ("c", -1.999))]
        [False, False, True]
        >>> course.chosen, course.best
        ('c', 2)
    """

    patience: int
    tolerance: float
    promises_ascent: bool = False
    keeps_best: bool = True
    log_likelihoods: list[float] = field(default_factory=list)
    valid_log_likelihoods: list[float] = field(default_factory=list)
    best: int = 0
    _chosen: list[M] = field(default_factory=list)

    @property
    def chosen(self) -> M:
        """The model to keep."""
        return self._chosen[0]

    def ends_with(self, model: M, log_likelihood: float, valid: float | None = None) -> bool:
        """Note the next model and its mean log-likelihoods; return whether it is time to stop."""
        step()
        index = len(self.log_likelihoods)
        before = self.log_likelihoods[-1] if index else -math.inf
        self.log_likelihoods.append(log_likelihood)
        if valid is not None:
            self.valid_log_likelihoods.append(valid)
        if index == 0 or self._is_better(index):
            self.best, self._chosen = index, [model]
        if self.promises_ascent and log_likelihood < before - ROUNDING * (1 + abs(before)):
            warnings.warn(
                f"EM lowered the log-likelihood from {before:.9g} to {log_likelihood:.9g} in pass {index}; the better "
                "model is kept, but some leaf's from_statistics is not its maximum-likelihood fit",
                RuntimeWarning,
                stacklevel=2,
            )
            return True
        if valid is not None and index - self.best >= self.patience:
            return True
        # Two impossible models in a row differ by NaN, which ends nothing: smoothing may mend the next one.
        return index > 0 and abs(log_likelihood - before) < self.tolerance

    def _is_better(self, index: int) -> bool:
        if self.valid_log_likelihoods:
            return self.valid_log_likelihoods[index] > self.valid_log_likelihoods[self.best]
        return not self.keeps_best or self.log_likelihoods[index] >= self.log_likelihoods[self.best]
