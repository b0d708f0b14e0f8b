"""What to do with a slice of the data, and why. Pure: a slice and a configuration in, a decision out."""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from xspn.core.arrays import BoolArray, IntArray
from xspn.learning.config import LearnConfig
from xspn.learning.exchangeability.base import TestResult
from xspn.learning.slice import Slice
from xspn.learning.task import Dependence

NEARLY_ALL = 0.75
AGAINST = " against variables on their own"


class Operation(Enum):
    """What can be done with a slice."""

    UNIVARIATE = "independent variables: a univariate leaf each"
    CONSTANTS = "constant variables: split off"
    CONSTANT = "all variables constant: a leaf"
    FEW_ROWS = "too few rows: a leaf"
    EXCHANGEABLE = "exchangeable: one leaf for all"
    INDEPENDENT = "independent groups: a product"
    CLUSTER = "neither: cluster the rows into a sum"
    SPLIT = "one context, of dependent blocks: split the rows in two"
    NO_SPLIT = "no split found: a leaf"
    PRUNED = "what was grown predicts no better: a leaf"


@dataclass(frozen=True, eq=False)
class Decision:
    """What to do, with the evidence.

    Attributes:
        operation: What to do.
        groups: The variables (by position) of each factor of a product.
        known: What is known of each group's variables.
        test: The exchangeability test, if there was one.
        note: What else speaks for the decision.
        blocks: The exchangeable block of each variable; no group takes one apart.
    """

    operation: Operation
    groups: list[IntArray] = field(default_factory=list)
    known: list[Dependence] = field(default_factory=list)
    test: TestResult | None = None
    note: str = ""
    blocks: IntArray | None = None


def decide(
    slice: Slice, config: LearnConfig, is_root: bool = False, known: Dependence = Dependence.UNKNOWN
) -> Decision:
    """Walk down the paper's Algorithm 1 until something applies.

    Args:
        slice: Rows and variables.
        config: The choices.
        is_root: Whether this is all of the data.
        known: What an independence test on these very rows has already told of the variables.
    """
    if slice.n == 1 or known is Dependence.INDEPENDENT:
        return Decision(Operation.UNIVARIATE)
    constant = slice.constant()
    if constant.any() and not constant.all() and not config.by_evidence:  # evidence weighs constants as all others
        groups = _constants_off(constant, apart=config.published is not None)
        still = Dependence.ONE_CONTEXT if known is Dependence.ONE_CONTEXT else Dependence.UNKNOWN
        return Decision(Operation.CONSTANTS, groups, [still] * len(groups))
    if constant.all():
        return Decision(Operation.CONSTANT)
    if slice.total < config.min_instances:
        return Decision(Operation.FEW_ROWS)
    if is_root and config.published is not None and config.published.rows_first:
        return Decision(Operation.CLUSTER)
    if config.by_evidence:
        return _by_evidence(slice, known)
    test = slice.test(config)
    if test is not None and not test.rejects(config.significance):
        if slice.exchangeable_suffices(config):
            return Decision(Operation.EXCHANGEABLE, test=test)
        return Decision(Operation.CLUSTER, test=test, note="exchangeable, but no single leaf fits the rows")
    if known is not Dependence.CONNECTED:
        groups = slice.independent_groups(config)
        if config.score_overrules and slice.groups_exclude_each_other(groups, config):
            return _of_exclusive(slice, test)
        odd = None if test is None or not config.score_overrules else test.odd_one_out(config.significance)
        if odd is not None and len(groups) > 1 and any(group.tolist() == [odd] for group in groups):
            # Among many other columns some seem dependent by chance; they are better looked at without this one.
            rest = np.delete(np.arange(slice.n), odd)
            of_groups = [Dependence.INDEPENDENT, Dependence.UNKNOWN]
            return Decision(Operation.INDEPENDENT, [np.array([odd]), rest], of_groups, test=test)
        undecided = len(groups) == slice.n and test is not None and config.score_overrules
        # With many rows a test rejects for deviations that do no harm, and no two variables need depend on each other
        # for all of them to do so (parity). Where the choice is between these two models, the score decides.
        if undecided and slice.exchangeable_predicts_better(config):
            return Decision(Operation.EXCHANGEABLE, test=test, note="counts predict better than independent variables")
        if len(groups) > 1:
            return Decision(Operation.INDEPENDENT, *_factors(groups, two=config.published is not None), test=test)
    return Decision(Operation.CLUSTER, test=test)


def _by_evidence(slice: Slice, known: Dependence) -> Decision:
    """Return what to do where blocks of best evidence take the place of tests."""
    if len(slice.exchangeable_blocks()) == 1:
        return Decision(Operation.EXCHANGEABLE, note=f"evidence {slice.gain_of_blocks():+,.1f} nats{AGAINST}")
    if known is not Dependence.CONNECTED:
        groups = slice.groups_of_blocks()
        if len(groups) > 1:
            factors, of_factors = _factors(groups, two=False)
            if known is Dependence.ONE_CONTEXT:  # what was found of all variables holds of nearly all of them
                of_factors = [
                    known if of is Dependence.CONNECTED and len(factor) > NEARLY_ALL * slice.n else of
                    for factor, of in zip(factors, of_factors, strict=True)
                ]
            return Decision(Operation.INDEPENDENT, factors, of_factors, blocks=slice.block_of_each())
    return Decision(Operation.SPLIT if known is Dependence.ONE_CONTEXT else Operation.CLUSTER)


def _of_exclusive(slice: Slice, test: TestResult | None) -> Decision:
    """Return what to do with variables that exclude each other: no product, and clusters only if they are worth it.

    Of a hundred categories, of which each row has one, no two seem to depend on each other. To tell them apart takes a
    cluster each; so what speaks against exchangeability must outweigh its parameters (by Hannan and Quinn's criterion).
    """
    if test is not None and test.statistic <= test.dof * 2 * np.log(np.log(max(slice.total, 3.0))):
        return Decision(Operation.EXCHANGEABLE, test=test, note="its differences are not worth their parameters")
    return Decision(Operation.CLUSTER, test=test)


def _factors(groups: list[IntArray], two: bool) -> tuple[list[IntArray], list[Dependence]]:
    """Return the factors: each component, and the single variables as one; or one component and the rest."""
    if two and len(groups) > 2:
        return [groups[0], np.sort(np.concatenate(groups[1:]))], [Dependence.CONNECTED, Dependence.UNKNOWN]
    large = [group for group in groups if len(group) > 1]
    single = [group for group in groups if len(group) == 1]
    known = [Dependence.CONNECTED] * len(large)
    if single:
        return [*large, np.concatenate(single)], [*known, Dependence.INDEPENDENT]
    return large, known


def _constants_off(constant: BoolArray, apart: bool) -> list[IntArray]:
    """Return the constant variables, together or each on its own, and all others."""
    rest, off = np.flatnonzero(~constant), np.flatnonzero(constant)
    return [*off[:, None], rest] if apart else [off, rest]
