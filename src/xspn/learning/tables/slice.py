"""Slices of tables with columns of any kinds."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import entr

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.learning.clustering.base import Split
from xspn.learning.config import LearnConfig
from xspn.learning.exchangeability.base import TestResult
from xspn.learning.fallback.base import Candidate
from xspn.learning.slice import Slice
from xspn.learning.steps import step
from xspn.learning.tables.clustering import category_apart, proposed_splits
from xspn.learning.tables.clustering.product import Encoded
from xspn.learning.tables.exchangeability.base import check_table_test_options, table_tests
from xspn.learning.tables.fallback import TableLeafData, exchangeable_leaf, factorized_leaves, make_fallback
from xspn.learning.tables.independence import independent_groups
from xspn.learning.tables.summary import TableSummary
from xspn.learning.task import SMALLEST_SHARE


class TableSlice(Slice):
    """A summary of the rows, and the rows of the sum above them."""

    def __init__(
        self, summary: TableSummary, variables: IntArray | None = None, context: TableSummary | None = None
    ) -> None:
        self.n, self.total = summary.n, summary.total
        self.summary = summary
        self._variables = np.arange(summary.n) if variables is None else variables
        self._context = context
        self._made: tuple[LearnConfig, Candidate] | None = None

    def constant(self) -> BoolArray:
        """Mark the columns that have one value only."""
        return self.summary.constant()

    def test(self, config: LearnConfig) -> TestResult | None:
        """Run the test that the configuration names, if all columns have one domain and are distributed alike."""
        if config.exchangeability is None or not self.summary.one_distribution:
            return None
        options = dict(config.test_options)
        check_table_test_options(config.exchangeability, options)
        return table_tests[config.exchangeability](self.summary, **options)

    def independent_groups(self, config: LearnConfig) -> list[IntArray]:
        """Return the components of the graph of the G-test, unless a joint leaf predicts clearly better than a product.

        With few rows a test cannot see dependence that a leaf over several columns makes good use of.
        """
        groups = independent_groups(self.summary, config.independence_threshold)
        if len(groups) == 1 or not config.score_overrules:
            return groups
        make, data = _fallback_of(config), self._informed(config)
        apart = sum(make(data.part(group), self._variables[group]).score(self.summary.weights) for group in groups)
        joint = self.fallback(config).score(self.summary.weights)
        return groups if joint <= apart + self._price() else [np.arange(self.n)]

    def exchangeable_predicts_better(self, config: LearnConfig) -> bool:
        """Compare the two leaves by their leave-one-out scores."""
        data, everything = TableLeafData.alone(self.summary), np.arange(self.n)
        found = exchangeable_leaf(data, everything, config.smoothing)
        if found is None:
            return False
        alone = factorized_leaves(data, everything, config.smoothing)
        return found.score(self.summary.weights) > alone.score(self.summary.weights)

    def exchangeable_suffices(self, config: LearnConfig) -> bool:
        """Whether an exchangeable leaf is better than independent columns, and than two such leaves.

        A leaf by value counts holds any exchangeable distribution, but one with very many classes may not be worth its
        parameters. A normal distribution does not hold any: rows of several kinds need a leaf for each kind.
        """
        if not self.exchangeable_predicts_better(config):
            return False
        if not self.summary.columns[0].is_real:
            return True

        def make(data: TableLeafData, variables: IntArray) -> Candidate | None:
            return exchangeable_leaf(data, variables, config.smoothing)

        whole = make(self._informed(config), self._variables)
        splits = proposed_splits("bernoulli", self.summary, 0)
        return whole is not None and self._best_split(splits, config, make, whole) is None

    def univariate(self, config: LearnConfig) -> Candidate:
        """Return a leaf for each column."""
        return factorized_leaves(self._informed(config), self._variables, config.smoothing)

    def exchangeable(self, config: LearnConfig) -> Candidate:
        """Return an exchangeable leaf; independent ones where there is none that could be stored."""
        found = exchangeable_leaf(self._informed(config), self._variables, config.smoothing)
        return self.univariate(config) if found is None else found

    def score(self, leaf: Candidate) -> float:
        """Return the leave-one-out log-likelihood of a leaf that was made of the slice."""
        return leaf.score(self.summary.weights)

    def fallback(self, config: LearnConfig) -> Candidate:
        """Return what the fallback of the configuration makes of the slice; it is asked for more than once."""
        if self._made is None or self._made[0] != config:
            self._made = config, _fallback_of(config)(self._informed(config), self._variables)
        return self._made[1]

    def split(self, config: LearnConfig, seed: int) -> Split | None:
        """Return the proposed split whose clusters predict left-out rows best, if they do so better than one leaf.

        A cut on a category comes first if the clusters predict better without its rows than with them: once scattered
        over clusters, a category of few rows is not put together again.
        """
        make = _fallback_of(config)
        splits = proposed_splits(config.clustering, self.summary, seed)
        best = self._best_split(splits, config, make, self.fallback(config))
        if best is None or best.on_category or config.clustering != "auto":
            return best
        cut = category_apart(Encoded(self.summary), best)
        if cut is None:
            return best
        clusters, category = _shares_of(best), _shares_of(cut)
        inside = min(category, key=lambda share: float(self.summary.weights @ share))
        parts = [(inside, cut.variable), *((share * (1 - inside), None) for share in clusters)]
        together = self._score(best, config, make)
        return cut if self._score_of_parts(parts, config, make) > together + self._price() else best

    def _best_split(self, splits: list[Split], config: LearnConfig, make: "Maker", whole: Candidate) -> Split | None:
        """Return the best of several splits, if its clusters predict better than the leaf of the whole slice."""
        best, best_score = None, whole.score(self.summary.weights) + self._price()
        for split in splits:
            score = self._score(split, config, make)
            if score > best_score:
                best, best_score = split, score
        return best

    def _price(self) -> float:
        """Return by how many nats a choice among many must be better: the logarithm of the number of rows."""
        return float(np.log(max(self.total, 1.0)))

    def _score(self, split: Split, config: LearnConfig, make: "Maker") -> float:
        """Return the leave-one-out log-likelihood of a mixture of the leaves that the clusters give.

        It is bounded from below by the clusters' shares of each row: Σ_k q_k (log π_k + log p_k − log q_k).
        """
        fixed = [split.variable if condition.relation == "=" else None for condition in split.conditions]
        return self._score_of_parts(list(zip(_shares_of(split), fixed, strict=True)), config, make)

    def _score_of_parts(
        self, parts: Sequence[tuple[FloatArray, int | None]], config: LearnConfig, make: "Maker"
    ) -> float:
        """Return the same for clusters, each with the shares of the rows and the variable that is constant in it."""
        weights = self.summary.weights
        score = float(weights @ sum(entr(share) for share, _ in parts))
        for share, fixed in parts:
            keep = share > SMALLEST_SHARE
            part = self.summary.cluster(keep, weights * share)
            if part.total == 0:
                continue
            variables = self._variables
            score += part.total * float(np.log(part.total / self.total))
            context = self.summary
            if fixed is not None:
                rest = np.delete(np.arange(self.n), fixed)
                part, context, variables = part.part(rest), context.part(rest), variables[rest]
            if part.n == 0:
                continue
            data = TableLeafData.in_context(part, context, config.shrinkage) if config.shrinkage else None
            found = make(TableLeafData.alone(part) if data is None else data, variables)
            step()
            if found is None:
                return -np.inf
            score += found.score(part.weights)
        return score

    def _informed(self, config: LearnConfig) -> TableLeafData:
        """Return the slice together with the rows of the sum above it, from which its leaves borrow strength."""
        if self._context is None or config.shrinkage == 0:
            return TableLeafData.alone(self.summary)
        return TableLeafData.in_context(self.summary, self._context, config.shrinkage)


def _shares_of(split: Split) -> tuple[FloatArray, FloatArray]:
    """Return the shares of each row in the two clusters of a split."""
    second = split.labels.astype(np.float64) if split.shares is None else split.shares
    return 1 - second, second


Maker = Callable[[TableLeafData, IntArray], Candidate | None]


def _fallback_of(config: LearnConfig) -> Callable[[TableLeafData, IntArray], Candidate]:
    """Return the fallback of the configuration; "auto" leaves exchangeable leaves out of a conventional SPN."""

    def make(data: TableLeafData, variables: IntArray) -> Candidate:
        return make_fallback(
            config.fallback, data, variables, config.smoothing, exchangeable=config.exchangeability is not None
        )

    return make
