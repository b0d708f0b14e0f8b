"""Slices of tables with columns of any types."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import entr

from xspn.core.arrays import BoolArray, FloatArray, IntArray
from xspn.learning.assembly import PRICE, n_parameters_of
from xspn.learning.clustering.base import Split, clusterings, proposals, responsibilities_of
from xspn.learning.clustering.contexts import two_contexts
from xspn.learning.clustering.products import Encoded
from xspn.learning.clustering.variable import categories_apart, misrepresented
from xspn.learning.config import LearnConfig
from xspn.learning.exchangeability.base import TestResult, check_test_options, tests
from xspn.learning.independence import independent_groups
from xspn.learning.leaf_learners import (
    Candidate,
    LeafData,
    TableLeafData,
    leaf_learners,
    table_evidence_blocks_leaf,
    table_exchangeable_leaf,
    table_factorized_leaf,
)
from xspn.learning.slice import SliceInMemory
from xspn.learning.steps import step
from xspn.learning.table_summary import TableSummary
from xspn.learning.task import SMALLEST_RESPONSIBILITY


class TableSlice(SliceInMemory[TableSummary]):
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
        if config.exchangeability is None or config.by_evidence or not self.summary.one_distribution:
            return None
        options = dict(config.test_options)
        check_test_options(config.exchangeability, options, tables=True)
        return tests.for_tables(config.exchangeability, self.summary)(self.summary, **options)

    def independent_groups(self, config: LearnConfig) -> list[IntArray]:
        """Return the components of the graph of the G-test, unless a joint leaf predicts clearly better than a product.

        With few rows a test cannot see dependence that a leaf over several columns makes good use of.
        """
        groups = independent_groups(self.summary, config.independence_threshold)
        if len(groups) == 1 or not config.score_overrules:
            return groups
        make, data = self._leaf_learner(config), self._informed(config)
        apart = sum(make(data.part(group), self._variables[group]).score(self.summary.weights) for group in groups)
        joint = self.leaf(config).score(self.summary.weights)
        return groups if joint <= apart + self._price() else [np.arange(self.n)]

    def instead_of_product(self, config: LearnConfig, connected: Sequence[IntArray]) -> Candidate | None:
        """Return the slice's leaf where real columns are jointly normal: few rows hide dependence that it makes use of.

        No test sees it, and what a product loses by each weak correlation adds up.
        """
        return self.leaf(config) if self.summary.exchangeable_blocks.structure.joint else None

    def exchangeable_predicts_better(self, config: LearnConfig) -> bool:
        """Compare the two leaves by their leave-one-out scores."""
        data, everything = LeafData.alone(self.summary), np.arange(self.n)
        found = table_exchangeable_leaf(data, everything, config.leaf_options)
        if found is None:
            return False
        alone = table_factorized_leaf(data, everything, config.leaf_options)
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
            return table_exchangeable_leaf(data, variables, config.leaf_options)

        whole = make(self._informed(config), self._variables)
        splits = self._proposals("bernoulli", 0)
        return whole is not None and self._best_split(splits, config, make, whole) is None

    def univariate(self, config: LearnConfig) -> Candidate:
        """Return a leaf for each column."""
        return table_factorized_leaf(self._informed(config), self._variables, config.leaf_options)

    def exchangeable(self, config: LearnConfig) -> Candidate:
        """Return an exchangeable leaf; independent ones where there is none that could be stored."""
        if config.by_evidence:
            return table_evidence_blocks_leaf(self._informed(config), self._variables, config.leaf_options)
        found = table_exchangeable_leaf(self._informed(config), self._variables, config.leaf_options)
        return self.univariate(config) if found is None else found

    def leaf(self, config: LearnConfig) -> Candidate:
        """Return the leaf that the configuration's leaf learner makes of the slice; it is asked for more than once."""
        if self._made is None or self._made[0] != config:
            self._made = config, self._leaf_learner(config)(self._informed(config), self._variables)
        return self._made[1]

    def split(self, config: LearnConfig, seed: int) -> Split | None:
        """Return the proposed split of the best leave-one-out score, if it is better than that of one leaf.

        A cut on a category comes first if the clusters predict better without its rows than with them: once scattered
        over clusters, a category of few rows is not put together again. Where clusters get its means wrong, it is
        enough that they predict hardly worse.
        """
        make = self._leaf_learner(config)
        if config.split_by == "contexts":
            best = next(iter(self._proposals("contexts", seed)), None) or self.split_in_two(config, seed)
        else:
            best = self._best_split(self._proposals(config.clustering, seed), config, make, self.leaf(config))
        if best is None or best.on_category or config.clustering != "auto":
            return best
        clusters, found, gain = responsibilities_of(best), best, 0.0
        together = self._score(best, config, make)
        for cut in categories_apart(Encoded(self.summary), best):
            inside = min(responsibilities_of(cut), key=lambda own: float(self.summary.weights @ own))
            parts = [(inside, cut.variable), *((own * (1 - inside), None) for own in clusters)]
            price = -self._price() if misrepresented(self.summary, inside, clusters) else self._price()
            apart = self._score_of_parts(parts, config, make) - together - price
            if apart > gain:
                found, gain = cut, apart
        return found

    def split_in_two(self, config: LearnConfig, seed: int) -> Split | None:
        """Return the two contexts of best evidence if their leaves predict better than one, parameters paid for.

        Evidence of few rows is cautious, and prediction may gain where evidence does not.
        """
        found = two_contexts(self.summary, seed)
        if found is None:
            return None
        make, sizes, whole = self._leaf_learner(config), [], self.leaf(config)

        def measured(data: TableLeafData, variables: IntArray) -> Candidate:
            leaf = make(data, variables)
            sizes.append(n_parameters_of(leaf.node))
            return leaf

        gain = self._score(found, config, measured) - self.score(whole)
        price = self._price() + PRICE * (sum(sizes) + len(sizes) - 1 - n_parameters_of(whole.node))
        return found if gain > price else None

    def _proposals(self, clustering: str, seed: int) -> Sequence[Split]:
        return proposals(clusterings.for_tables(clustering, self.summary)(self.summary, seed))

    def _best_split(
        self, splits: Sequence[Split], config: LearnConfig, make: "Maker", whole: Candidate
    ) -> Split | None:
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

        It is bounded from below by the clusters' responsibilities for each row: Σ_k q_k (log π_k + log p_k − log q_k).
        """
        parts = responsibilities_of(split)
        fixed = [split.variable if condition.relation == "=" else None for condition in split.conditions]
        if split.variable is None:
            fixed = [None] * len(parts)
        return self._score_of_parts(list(zip(parts, fixed, strict=True)), config, make)

    def _score_of_parts(
        self, parts: Sequence[tuple[FloatArray, int | None]], config: LearnConfig, make: "Maker"
    ) -> float:
        """Return the same for clusters, each with its responsibilities and the variable that is constant in it."""
        weights = self.summary.weights
        score = float(weights @ sum(entr(own) for own, _ in parts))
        for own, fixed in parts:
            keep = own > SMALLEST_RESPONSIBILITY
            part = self.summary.cluster(keep, weights * own)
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
            found = make(_with_context(part, context, config.shrinkage), variables)
            step()
            if found is None:
                return -np.inf
            score += found.score(part.weights)
        return score

    def _leaf_learner(self, config: LearnConfig) -> Callable[[TableLeafData, IntArray], Candidate]:
        """Return the leaf learner of the configuration, with its options."""
        learner, options = leaf_learners.for_tables(config.leaves_by, self.summary), config.leaf_options

        def make(data: TableLeafData, variables: IntArray) -> Candidate:
            return learner(data, variables, options)

        return make

    def _informed(self, config: LearnConfig) -> TableLeafData:
        """Return the slice together with the rows of the sum above it, from which its leaves borrow strength."""
        return _with_context(self.summary, self._context, config.shrinkage)


def _with_context(summary: TableSummary, context: TableSummary | None, shrinkage: float) -> TableLeafData:
    if context is None or shrinkage == 0:
        return LeafData.alone(summary)
    return LeafData.in_context(summary, context.cells, context.weights, shrinkage)


Maker = Callable[[TableLeafData, IntArray], Candidate | None]
