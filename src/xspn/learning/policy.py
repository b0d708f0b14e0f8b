"""What to do with a slice of the data, and why. Pure: summary statistics and configuration in, a decision out."""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from xspn._core.arrays import BoolArray, IntArray
from xspn.learning.config import Constants, LearnConfig
from xspn.learning.exchangeability.base import TestResult, tests
from xspn.learning.independence import independent_groups
from xspn.learning.summary import Summary


class Operation(Enum):
    """What can be done with a slice."""

    UNIVARIATE = "one variable: a univariate leaf"
    CONSTANTS = "constant variables: split off as leaves of their own"
    FEW_ROWS = "too few rows: a fallback leaf"
    EXCHANGEABLE = "exchangeable: one leaf for all"
    INDEPENDENT = "independent groups: a product"
    CLUSTER = "neither: cluster the rows into a sum"
    NO_SPLIT = "no split found: a fallback leaf"


@dataclass(frozen=True, eq=False)
class Decision:
    """What to do, with the evidence.

    Attributes:
        operation: What to do.
        groups: The variables (by position) of each factor of a product.
        connected: Whether each group is known to be one component of dependent variables.
        test: The exchangeability test, if there was one.
    """

    operation: Operation
    groups: list[IntArray] = field(default_factory=list)
    connected: list[bool] = field(default_factory=list)
    test: TestResult | None = None


def decide(summary: Summary, config: LearnConfig, is_root: bool = False, connected: bool = False) -> Decision:
    """Walk down the paper's Algorithm 1 until something applies.

    Args:
        summary: The slice.
        config: The choices.
        is_root: Whether this is all of the data.
        connected: Whether the variables were found to be one component on these very rows: testing them for
            independence again would change nothing.
    """
    if summary.n == 1:
        return Decision(Operation.UNIVARIATE)
    constant = summary.constant()
    if constant.any() and not constant.all():
        groups = _constants_off(constant, config.constants)
        return Decision(Operation.CONSTANTS, groups, [False] * len(groups))
    if summary.total < config.min_instances or constant.all():
        return Decision(Operation.FEW_ROWS)
    if config.rows_first and is_root:
        return Decision(Operation.CLUSTER)
    test = None
    if config.exchangeability is not None:
        test = tests[config.exchangeability](summary, **dict(config.test_options))
        if not test.rejects(config.significance):
            return Decision(Operation.EXCHANGEABLE, test=test)
    if not connected:
        groups = independent_groups(summary, config.independence_threshold)
        whole = [True] * len(groups)
        if config.components == "two" and len(groups) > 2:
            groups, whole = [groups[0], np.sort(np.concatenate(groups[1:]))], [True, False]
        if len(groups) > 1:
            return Decision(Operation.INDEPENDENT, groups, whole, test)
    return Decision(Operation.CLUSTER, test=test)


def _constants_off(constant: BoolArray, how: Constants) -> list[IntArray]:
    """Return the constant variables, together or each on its own, and all others."""
    rest, off = np.flatnonzero(~constant), np.flatnonzero(constant)
    return [*off[:, None], rest] if how == "apart" else [off, rest]
