"""A slice of the training data, and all that the learner asks of it, whatever kind of columns it has.

The policy, the queue and the assembly of a circuit are the same for every table. What differs is how dependence and
exchangeability are tested, how rows are clustered and which leaves there are. A slice answers these questions for its
own kind of columns: `BinarySlice` for zeros and ones, `TableSlice` (in `learning.tables`) for anything else.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from xspn.core.arrays import BoolArray, IntArray
from xspn.learning.clustering.base import Split
from xspn.learning.exchangeability.base import TestResult
from xspn.learning.fallback.base import Candidate

if TYPE_CHECKING:
    from xspn.learning.config import LearnConfig


class Slice(ABC):
    """Weighted rows over some of the variables.

    Attributes:
        n: The number of variables.
        total: The weight of all rows.
    """

    n: int
    total: float

    @abstractmethod
    def constant(self) -> BoolArray:
        """Mark the variables that have one value only."""

    @abstractmethod
    def test(self, config: "LearnConfig") -> TestResult | None:
        """Test whether the variables are exchangeable; None where that is no question (different domains)."""

    @abstractmethod
    def independent_groups(self, config: "LearnConfig") -> list[IntArray]:
        """Return the connected components of the dependence graph, in the order of their first variable."""

    def groups_exclude_each_other(self, groups: list[IntArray], config: "LearnConfig") -> bool:
        """Whether groups that no two variables connect are anything but independent: of many, a row has few."""
        return False

    @abstractmethod
    def exchangeable_predicts_better(self, config: "LearnConfig") -> bool:
        """Whether an exchangeable leaf predicts left-out rows better than independent variables do."""

    @abstractmethod
    def exchangeable_suffices(self, config: "LearnConfig") -> bool:
        """Whether one exchangeable leaf can hold what the test allows: not if its family is too narrow for the rows."""

    @abstractmethod
    def univariate(self, config: "LearnConfig") -> Candidate:
        """Return a leaf for each variable."""

    @abstractmethod
    def exchangeable(self, config: "LearnConfig") -> Candidate:
        """Return one exchangeable leaf for all variables."""

    @abstractmethod
    def score(self, leaf: Candidate) -> float:
        """Return the leave-one-out log-likelihood of the slice's rows under a leaf that was made of them."""

    @abstractmethod
    def fallback(self, config: "LearnConfig") -> Candidate:
        """Return what becomes of a slice that is not split any further."""

    @abstractmethod
    def split(self, config: "LearnConfig", seed: int) -> Split | None:
        """Split the rows into clusters; None if there is nothing to split, or nothing to be gained by it."""
