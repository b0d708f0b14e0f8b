"""`Queries`: what can be asked of a back end and a schema, each as a method; `Evaluator`: a chosen back end."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, overload

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.checks import Names
from xspn.core.errors import DataError, ParameterError, QueryError
from xspn.core.random import RandomState, generator
from xspn.data.schema import Schema, is_table
from xspn.engine import Backend
from xspn.inference import queries
from xspn.inference.best_rows import BestRows, SearchLimits, best_rows, searched_completions
from xspn.inference.queries import Completion
from xspn.inference.uncertainty import CredibleInterval, DeltaMethod, check_level
from xspn.questions import (
    Answer,
    Answers,
    NextItem,
    NextQuestions,
    Posterior,
    next_questions,
    probabilities,
    recommendations,
)
from xspn.questions.answers import Refine
from xspn.questions.events import CountOf

Variable = int | str
ASK_THE_CIRCUIT = "intervals: ask the circuit itself, not a back end; only it knows the rows behind its parameters"


class Queries(ABC):
    """Probabilities, completions and samples; whoever offers them has a back end and a schema."""

    @property
    @abstractmethod
    def backend(self) -> Backend:
        """What runs the circuit."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """What is known of the columns: names, domains, labels and types."""

    @abstractmethod
    def max_product_is_exact(self) -> bool:
        """Whether a max-product pass finds most probable completions."""

    @property
    def names(self) -> Names | None:
        """The names of the columns, or None."""
        return self.schema.names

    def log_likelihood(self, X: Any) -> FloatArray:
        """Return log P of each row's observed part: (rows,); −inf where it is impossible."""
        return self.backend.log_likelihood(self.schema.encode(X), self.names)

    def conditional_log_likelihood(self, X: Any, given: Any) -> FloatArray:
        """Return log P(X | given) of each row. `given` has a row for each row of X, or one for all of them.

        Where a row of X contradicts what is given the answer is −inf; evidence of probability zero is an error.
        """
        rows = np.asarray(self.schema.encode(X), dtype=np.float64)
        known = np.asarray(self.schema.evidence(given, "given"), dtype=np.float64)
        if len(known) not in (1, len(rows)):
            raise DataError(f"given: expected 1 row or {len(rows)}, one for each row of X, found {len(known)}")
        known = np.broadcast_to(known, rows.shape)
        return queries.conditional_log_likelihood(self.backend, rows, known, self.names)

    def cell_log_likelihood(self, X: Any) -> FloatArray:
        """Return log P(x_i | the rest of the row) of every cell, by one pass up and one down: (rows, n).

        The rest is all other observed cells; a real column has a log-density. NaN stands for missing cells, for columns
        outside the circuit, and where the rest alone is impossible. The sum over a row is its log-pseudo-likelihood.

        Examples:
            >>> from xspn import Bernoulli, Circuit, Product, Sum
            >>> one, two = (Product([Bernoulli(v, p=p) for v in range(3)]) for p in (0.01, 0.99))
            >>> c = Circuit(Sum([0.5, 0.5], [one, two]))
            >>> np.exp(c.cell_log_likelihood([[1, 1, 0], [1, 1, np.nan]])).round(3).tolist()
            [[0.5, 0.5, 0.01], [0.98, 0.98, nan]]
        """
        return self.backend.cell_log_likelihood(self.schema.encode(X), self.names)[0]

    @overload
    def marginals(self, evidence: Any = None, as_frame: Literal[False] = False) -> FloatArray: ...

    @overload
    def marginals(self, evidence: Any = None, *, as_frame: Literal[True], interval: float | None = None) -> Any: ...

    @overload
    def marginals(
        self, evidence: Any = None, as_frame: Literal[False] = False, *, interval: float
    ) -> CredibleInterval: ...

    def marginals(self, evidence: Any = None, as_frame: bool = False, interval: float | None = None) -> Any:
        """Return P(X_i = v | evidence row) for every variable and value: (rows, variables, values), two values or more.

        Values beyond a variable's domain, real variables and columns outside the circuit give NaN. Without evidence
        there is one row.

        Args:
            evidence: What is known: a table, one row of it, or a mapping {variable: value}.
            as_frame: Return a DataFrame with labels instead, a line for each value of each discrete variable: `row`,
                `variable`, `value`, `probability`. It is of the library that the model was fitted to, pandas otherwise.
            interval: Return a `CredibleInterval` of this level, such as 0.9: `estimate`, `low` and `high`, each of the
                same shape; as a frame two more columns. The circuit must know how many rows are behind its
                parameters: learned ones do, others by `with_counts`.

        Examples:
            >>> from xspn import Bernoulli, Circuit
            >>> rain = Circuit(Bernoulli(0, p=0.4), names=["rain"], labels={"rain": ["dry", "wet"]})
            >>> print(rain.marginals(as_frame=True).to_string(index=False))
             row variable value  probability
               0     rain   dry          0.6
               0     rain   wet          0.4
            >>> rain.with_counts([["dry"], ["wet"], ["dry"]] * 33).marginals(interval=0.9).high.round(2).tolist()
            [[[0.68, 0.48]]]
        """
        rows = self.schema.evidence(evidence)
        found = self.backend.marginals(rows, self.names)
        if interval is None:
            return self.schema.labeled_probabilities(found) if as_frame else found
        level = check_level(interval)
        known = CredibleInterval.of(found, self.delta_method().marginals(rows, found), level)
        ends = {"low": known.low, "high": known.high}
        return self.schema.labeled_probabilities(found, ends) if as_frame else known

    def delta_method(self) -> DeltaMethod:
        """Return what tells how sure answers are."""
        raise QueryError(ASK_THE_CIRCUIT)

    def _refine(self, level: float) -> Refine:
        """Return what adds intervals to answers."""
        raise QueryError(ASK_THE_CIRCUIT)

    def means(self, evidence: Any = None) -> FloatArray:
        """Return E[X_i | evidence row] for every variable: (rows, n). Categories count as their codes.

        Columns outside the circuit give NaN. Without evidence there is one row.
        """
        return queries.means(self.backend, self.schema.evidence(evidence), self.names)

    def variances(self, evidence: Any = None) -> FloatArray:
        """Return Var[X_i | evidence row] for every variable: (rows, n). Categories count as their codes.

        What is observed has variance 0, and columns outside the circuit give NaN. Without evidence there is one row.

        Examples:
            >>> from xspn import Circuit, Gaussian, Sum
            >>> c = Circuit(Sum([0.5, 0.5], [Gaussian(0, mean=-1.0, std=1.0), Gaussian(0, mean=1.0, std=1.0)]))
            >>> c.variances().tolist()
            [[2.0]]
        """
        return queries.variances(self.backend, self.schema.evidence(evidence), self.names)

    def mpe(self, evidence: Any = None, exact: bool = False) -> Completion:
        """Return the most probable completion of each row: `.values`, `.log_prob`, `.exact`.

        The max-product pass is exact for selective circuits whose leaves know their modes, and says so. With
        `exact=True` a branch-and-bound search makes it exact for others too, or refuses with the reason when the
        circuit is too large for that or real values are missing.
        """
        rows = self.schema.evidence(evidence)
        is_exact = self.max_product_is_exact()
        if exact and not is_exact:
            return searched_completions(self.backend, np.asarray(rows, dtype=np.float64), self.schema)
        return replace(queries.max_product(self.backend, rows, is_exact, self.names), schema=self.schema)

    def k_best(
        self, k: int = 10, given: Any = None, *, max_nodes: int = 100_000, seconds: float | None = None
    ) -> BestRows:
        """Return the k most probable completions of one row, the best one first: `.values`, `.log_prob`, `.exact`.

        The search is exact by branch and bound, and says when it was stopped before that: then `.bound` is the largest
        log-probability that a row outside the list can still have. Rows of probability zero are not listed.

        Args:
            k: How many rows.
            given: What is known: one row or a mapping {variable: value}; everything else is completed.
            max_nodes: Stop after so many partial rows.
            seconds: Stop after this time; by default there is no limit.

        Examples:
            >>> from xspn import Bernoulli, Circuit, Product, Sum
            >>> one, two = (Product([Bernoulli(v, p=p) for v in range(3)]) for p in (0.1, 0.6))
            >>> best = Circuit(Sum([0.3, 0.7], [one, two])).k_best(2)
            >>> best.values.tolist(), np.exp(best.log_prob).round(6).tolist(), best.exact
            ([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], [0.2635, 0.1515], True)
        """
        row, limits = self.schema.row({} if given is None else given, "given"), SearchLimits(max_nodes, seconds)
        return best_rows(self.backend, row, k, self.schema, "k_best", limits)

    @overload
    def count_distribution(self, variables: Iterable[Variable], given: Any = None) -> FloatArray: ...

    @overload
    def count_distribution(
        self, variables: Iterable[Variable], given: Any = None, *, interval: float
    ) -> CredibleInterval: ...

    def count_distribution(
        self, variables: Iterable[Variable], given: Any = None, interval: float | None = None
    ) -> FloatArray | CredibleInterval:
        """Return P(number of ones among the variables = k | given) for k = 0..len(variables), for binary variables.

        Args:
            variables: The variables to count.
            given: A mapping, one row or a text such as "income > 50000 & city=Bonn": the answer is (k,). For a table
                of evidence it is (rows, k).
            interval: Return a `CredibleInterval` of this level instead, by simulation: 200 draws of all parameters.

        Examples:
            >>> from xspn import BetaBinomial, Circuit
            >>> c = Circuit(BetaBinomial(range(3), mean=0.5, dispersion=1.0))
            >>> c.count_distribution([1, 2], given=[[1, np.nan, np.nan], [0, np.nan, np.nan]]).round(3).tolist()
            [[0.125, 0.25, 0.625], [0.625, 0.25, 0.125]]
        """
        chosen = self.schema.indices(variables)
        self.schema.binary(chosen, "count_distribution")
        posterior = Posterior(self.backend, self.schema, given)
        count = CountOf(tuple((v, frozenset({1})) for v in chosen))
        found = posterior.count_distribution(count)
        found = found if is_table(given) else found[0]
        if interval is None:
            return found
        return self._simulated_count(posterior, count, found, check_level(interval))

    def _simulated_count(
        self, posterior: Posterior, count: CountOf, found: FloatArray, level: float
    ) -> CredibleInterval:
        """Return the distribution of a count with its intervals."""
        raise QueryError(ASK_THE_CIRCUIT)

    def probability(
        self,
        target: str | Sequence[str] | None = None,
        given: Any = None,
        top: int | None = None,
        interval: float | None = None,
    ) -> Answer | Answers:
        """Return how probable an event is, given evidence and without it, in the language of questions.

        Args:
            target: An event such as "count(*) >= 218" or "age in 30..40 & not city=Bonn", or several. By default each
                value of each discrete column that the evidence leaves open (of binary ones the second).
            given: What is known, in the same language, or a mapping {variable: value} or a row.
            top: Return so many answers: those that the evidence changes most, in order.
            interval: The level of credible intervals, such as 0.9: answers have ends `low` and `high` then. Events of
                more than 1,024 completions, or about real numbers, are simulated: 200 draws of all parameters.

        Returns:
            One `Answer` (`probability`, `prior`, `lift`, `odds`) for one event, a list for several.

        Examples:
            >>> from xspn import Bernoulli, Circuit, Exchangeable, Product
            >>> leaf = Exchangeable([0, 1], log_weights=np.log([0.2, 0.25, 0.3]))
            >>> c = Circuit(Product([leaf, Bernoulli(2, p=0.4)]), names=["ann", "bob", "rain"])
            >>> print(c.probability("count(*) >= 2", given="ann=1"))
            P(count(*) >= 2 | ann=1) = 0.7273, lift 1.455, odds 2.667 (without evidence 0.5)
            >>> [answer.text for answer in c.probability(given="ann=1 | bob=1", top=2)]
            ['ann=1', 'bob=1']
        """
        if interval is None:
            return probabilities(self.backend, self.schema, target, given, top)
        return probabilities(self.backend, self.schema, target, given, top, self._refine(check_level(interval)))

    def next_questions(self, target: Any = None, given: Any = None, random_state: RandomState = 0) -> NextQuestions:
        """Return what to ask next: how much each open column would tell on average, in bits, the most telling first.

        For a target it is the mutual information of column and target given the evidence: exact for discrete columns,
        in one evaluation for each value of the target. For real columns it is a mean over 2,000 values drawn from the
        model, with its standard error. Without a target it is what a discrete column tells of all others, added up.

        Args:
            target: A discrete column, or an event such as "count(*) >= 218"; by default everything.
            given: What is known: a mapping, one row, or a text in the language of questions.
            random_state: The seed of the values of real columns.

        Examples:
            >>> from xspn import Bernoulli, Circuit, Exchangeable, Product
            >>> pair = Exchangeable([0, 1], log_weights=np.log([0.5, 0.05, 0.4]))
            >>> c = Circuit(Product([pair, Bernoulli(2, p=0.5)]), names=["bread", "butter", "soap"])
            >>> for question in c.next_questions("butter"):
            ...     print(question)
            bread 0.5246 bits
            soap 0 bits
        """
        return next_questions(self.backend, self.schema, target, given, random_state)

    def recommend(
        self,
        basket: Any,
        k: int = 10,
        *,
        given: Any = None,
        items: str | Iterable[Variable] | None = None,
        exclude: Iterable[Variable] = (),
    ) -> list[NextItem] | list[list[NextItem]]:
        """Return the k likeliest next items: P(item is the one more | the basket and exactly one more item).

        Args:
            basket: A list of items, by name or column; or several: a list of such lists, or a table whose ones are in
                the basket. Items that are not in it are open.
            k: How many items.
            given: What is known of other columns: a mapping {variable: value}, or a text such as "day=Saturday".
            items: The columns that are items, by name, index or pattern; by default all that mean no and yes.
            exclude: Items that are not recommended.

        Returns:
            For one basket a list of `NextItem` (`item`, `probability`, `lift`), the likeliest first; for several a list
            of such lists.

        Examples:
            >>> from xspn import Bernoulli, Circuit, Exchangeable, Product
            >>> pair = Exchangeable([0, 1], log_weights=np.log([0.5, 0.05, 0.4]))
            >>> c = Circuit(Product([pair, Bernoulli(2, p=0.5)]), names=["bread", "butter", "soap"])
            >>> for item in c.recommend(["bread"]):
            ...     print(item)
            butter 0.8889 (lift 1.88)
            soap 0.1111 (lift 0.211)
        """
        return recommendations(self.backend, self.schema, basket, k, given, items, exclude)

    def sample(self, n: int | None = None, *, given: Any = None, random_state: RandomState = None) -> FloatArray:
        """Return n random rows; with `given`, random completions of its rows (n of each if n is given)."""
        if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0):
            raise ParameterError(f"sample: expected a number of rows of at least 0, found {n!r}")
        rows = self.schema.evidence(given, "given")
        return queries.sample(self.backend, rows, generator(random_state), self.names, 1 if n is None else int(n))


class Evaluator(Queries):
    """Answers a circuit's questions on one back end; made by `Circuit.to`. Any number of threads may use it.

    Answers do not depend on the number of threads, nor on how rows are cut into tables: bit for bit.
    """

    def __init__(self, backend: Backend, schema: Schema, max_is_exact: Callable[[], bool]) -> None:
        self._backend, self._schema, self._exact_max = backend, schema, max_is_exact

    @property
    def backend(self) -> Backend:
        """What runs the circuit."""
        return self._backend

    @property
    def schema(self) -> Schema:
        """What is known of the columns: names, domains, labels and types."""
        return self._schema

    @property
    def error_bound(self) -> float:
        """How far a log-likelihood can be from exact arithmetic on the same parameters, by rounding alone.

        Every value is a sum of products of positive numbers, so this follows from the circuit's shape: at most so many
        roundings in a row, each of half a unit in the last place.
        """
        return self._backend.error_bound

    def max_product_is_exact(self) -> bool:
        """Return what was known of the circuit."""
        return self._exact_max()

    def __reduce__(self) -> tuple[Any, ...]:
        return Evaluator, (self._backend, self._schema, partial(bool, self.max_product_is_exact()))

    def __repr__(self) -> str:
        return f"Evaluator({self._backend!r})"
