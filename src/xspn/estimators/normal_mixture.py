"""`NormalMixture`: contexts in which numbers are jointly normal, learned from rows with any cells missing."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from xspn.circuit import Circuit
from xspn.core.checks import MOST_MODELS, whole_number
from xspn.core.random import RandomState, generator
from xspn.data.table import Table
from xspn.estimators.base import DensityEstimator, all_or_nothing, in_memory
from xspn.learning.learner import LONGEST_SCALE
from xspn.learning.memory import refuse_if_too_large
from xspn.learning.normal_mixture import NormalMixtureOptions, fit_normal_mixture
from xspn.learning.scales import presentation_of
from xspn.learning.table_data import TableData


class NormalMixture(DensityEstimator):
    """A mixture of contexts in which numbers are jointly normal, and other columns independent: for tables of numbers.

    It is learned by EM, which sums missing cells out exactly. Numbers are on the scales of their columns (logarithms
    where these are skewed), and the covariance of a context is shrunk towards that of all contexts, so that dozens of
    columns may depend on each other though rows are few. Several mixtures from different starts are averaged.

    Args:
        n_components: The number of contexts of each mixture; None for the number that makes held-out rows most
            probable, by cross-validation.
        n_estimators: How many mixtures are averaged.
        domains: What the columns hold, where it shall not be inferred; as for `XSPN`. Numbers on a scale of more than
            ten steps, such as ages in years, are taken as real.
        handle_unknown: "error" or "missing", as for `XSPN`.
        match_columns: "exact" or "by_name", as for `XSPN`.
        random_state: A seed, for the same circuit every time.

    Attributes:
        circuit_: The mixture, for every exact query.
        n_components_: The number of contexts of each mixture.
        schema_: What is known of the columns: names, domains, labels and types.
        n_features_in_: The number of columns.
        feature_names_in_: Their names, if the table was a DataFrame.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> size = rng.normal(170, 10, size=300).round()
        >>> X = np.column_stack([size, (size - 100 + 5 * rng.normal(size=300)).round()])
        >>> model = NormalMixture(random_state=0).fit(X)
        >>> model.impute([[180, np.nan]]).tolist()
        [[180.0, 80.0]]
    """

    circuit_: Circuit
    binarize = None

    def __init__(
        self,
        n_components: int | None = None,
        n_estimators: int = 8,
        domains: Any = None,
        handle_unknown: str = "error",
        match_columns: str = "exact",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.n_estimators = n_estimators
        self.domains = domains
        self.handle_unknown = handle_unknown
        self.match_columns = match_columns
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Learn the mixture; missing values are summed out.

        Args:
            X: A table, as `XSPN.fit` takes it.
            y: Ignored.
            sample_weight: How often each row counts.
        """
        if self.n_components is not None:
            whole_number("n_components", self.n_components, 1, MOST_MODELS)
        whole_number("n_estimators", self.n_estimators, 1, MOST_MODELS)
        own = self._training_table(in_memory(X, "X"))
        weights = self._row_weights(sample_weight, len(own))
        refuse_if_too_large(len(own), own.domains)
        data = TableData.of(np.asarray(own.codes, dtype=np.float64), own.domains, weights)
        seed = int(generator(self.random_state).integers(2**63 - 1))
        options = NormalMixtureOptions(self.n_components, self.n_estimators)
        graph, self.n_components_ = fit_normal_mixture(data, options, seed)
        self.circuit_ = Circuit.of_schema(graph, self.schema_)
        self._presentation = presentation_of(data)
        return self

    def _training_table(self, X: Any) -> Table:
        """Read the training table; numbers on long scales are real unless the user says otherwise."""
        given = self.domains
        own = super()._training_table(X)
        long = long_scales(own)
        if isinstance(X, Table) or not long or not (given is None or isinstance(given, Mapping)):
            return own
        names = own.schema.shown_names
        known = set(given or {})
        real = {j: "real" for j in long if j not in known and names[j] not in known}
        try:
            self.domains = {**(given or {}), **real}
            return super()._training_table(X)
        finally:
            self.domains = given

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "circuit_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def long_scales(table: Table) -> list[int]:
    """Return the columns of numbers on a scale of many steps."""
    numbers = table.schema.numbers()
    return [j for j, own in enumerate(numbers) if own is not None and len(own) > LONGEST_SCALE]


def is_mostly_numbers(table: Table) -> bool:
    """Whether at least half of the columns, and two of them, are numbers: real, or on a scale of many steps."""
    domains = table.schema.domains
    found = len(long_scales(table)) + sum(domain is not None and not domain.is_discrete for domain in domains)
    return found >= 2 and 2 * found >= len(domains)
