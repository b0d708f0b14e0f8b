"""`Circuit`: a graph of nodes with names, and every exact query as a method."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.checks import Names
from xspn.core.errors import DataError, ParameterError
from xspn.core.random import RandomState, generator
from xspn.data.attributes import attributes_of
from xspn.data.domain import Domain, Labels
from xspn.data.provenance import Provenance
from xspn.data.schema import Schema, is_table
from xspn.engine import Automatic, Backend, Program, chosen_backend, compile_graph
from xspn.graph import properties, transform
from xspn.graph.graph import Graph, Summary, from_records, summarize
from xspn.graph.nodes import Node, Scope
from xspn.inference import moments, mpe, queries
from xspn.inference.moments import Moments
from xspn.inference.mpe import Completion
from xspn.inference.oracle import Oracle
from xspn.inference.segments import ContextChoice, Segments, segments_of
from xspn.learning.em import EMOptions, fit_parameters
from xspn.leaves import Leaf, Smoothing
from xspn.questions import Answer, Answers, NextItem, Posterior, probabilities, recommendations
from xspn.questions.events import CountOf
from xspn.web import notebook_html, write_page

Variable = int | str
MOST_SHOWN_EDGES = 50_000  # of a circuit that a notebook shows probabilities of


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

    @overload
    def marginals(self, evidence: Any = None, as_frame: Literal[False] = False) -> FloatArray: ...

    @overload
    def marginals(self, evidence: Any = None, *, as_frame: Literal[True]) -> Any: ...

    def marginals(self, evidence: Any = None, as_frame: bool = False) -> Any:
        """Return P(X_i = v | evidence row) for every variable and value: (rows, variables, values), two values or more.

        Values beyond a variable's domain, real variables and columns outside the circuit give NaN. Without evidence
        there is one row.

        Args:
            evidence: What is known: a table, one row of it, or a mapping {variable: value}.
            as_frame: Return a DataFrame with labels instead, a line for each value of each discrete variable: `row`,
                `variable`, `value`, `probability`. It is of the library that the model was fitted to, pandas otherwise.

        Examples:
            >>> from xspn import Bernoulli
            >>> rain = Circuit(Bernoulli(0, p=0.4), names=["rain"], labels={"rain": ["dry", "wet"]})
            >>> print(rain.marginals(as_frame=True).to_string(index=False))
             row variable value  probability
               0     rain   dry          0.6
               0     rain   wet          0.4
        """
        found = self.backend.marginals(self.schema.evidence(evidence), self.names)
        return self.schema.labeled_probabilities(found) if as_frame else found

    def means(self, evidence: Any = None) -> FloatArray:
        """Return E[X_i | evidence row] for every variable: (rows, n). Categories count as their codes.

        Columns outside the circuit give NaN. Without evidence there is one row.
        """
        return queries.means(self.backend, self.schema.evidence(evidence), self.names)

    def variances(self, evidence: Any = None) -> FloatArray:
        """Return Var[X_i | evidence row] for every variable: (rows, n). Categories count as their codes.

        What is observed has variance 0, and columns outside the circuit give NaN. Without evidence there is one row.

        Examples:
            >>> from xspn import Gaussian, Sum
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
            return replace(mpe.branch_and_bound(self.backend, rows, self.names), schema=self.schema)
        return replace(mpe.max_product(self.backend, rows, is_exact, self.names), schema=self.schema)

    def count_distribution(self, variables: Iterable[Variable], given: Any = None) -> FloatArray:
        """Return P(number of ones among the variables = k | given) for k = 0..len(variables), for binary variables.

        Args:
            variables: The variables to count.
            given: A mapping, one row or a text such as "income > 50000 & city=Bonn": the answer is (k,). For a table
                of evidence it is (rows, k).

        Examples:
            >>> from xspn import BetaBinomial
            >>> c = Circuit(BetaBinomial(range(3), mean=0.5, dispersion=1.0))
            >>> c.count_distribution([1, 2], given=[[1, np.nan, np.nan], [0, np.nan, np.nan]]).round(3).tolist()
            [[0.125, 0.25, 0.625], [0.625, 0.25, 0.125]]
        """
        chosen = self.schema.indices(variables)
        self.schema.binary(chosen, "count_distribution")
        posterior = Posterior(self.backend, self.schema, given)
        found = posterior.count_distribution(CountOf(tuple((v, frozenset({1})) for v in chosen)))
        return found if is_table(given) else found[0]

    def probability(
        self, target: str | Sequence[str] | None = None, given: Any = None, top: int | None = None
    ) -> Answer | Answers:
        """Return how probable an event is, given evidence and without it, in the language of questions.

        Args:
            target: An event such as "count(*) >= 218" or "age in 30..40 & not city=Bonn", or several. By default each
                value of each discrete column that the evidence leaves open (of binary ones the second).
            given: What is known, in the same language, or a mapping {variable: value} or a row.
            top: Return so many answers: those that the evidence changes most, in order.

        Returns:
            One `Answer` (`probability`, `prior`, `lift`, `odds`) for one event, a list for several.

        Examples:
            >>> from xspn import Bernoulli, Exchangeable, Product
            >>> leaf = Exchangeable([0, 1], log_weights=np.log([0.2, 0.25, 0.3]))
            >>> c = Circuit(Product([leaf, Bernoulli(2, p=0.4)]), names=["ann", "bob", "rain"])
            >>> print(c.probability("count(*) >= 2", given="ann=1"))
            P(count(*) >= 2 | ann=1) = 0.7273, lift 1.455, odds 2.667 (without evidence 0.5)
            >>> [answer.text for answer in c.probability(given="ann=1 | bob=1", top=2)]
            ['ann=1', 'bob=1']
        """
        return probabilities(self.backend, self.schema, target, given, top)

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
            >>> from xspn import Bernoulli, Exchangeable, Product
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


class Circuit(Queries):
    """A probabilistic circuit: a distribution over the columns of a table.

    Tables are arrays, DataFrames (pandas, polars, pyarrow) or files with `n_variables` columns; NaN (None, NA) is
    missing and always summed out exactly.
    A circuit that has been marginalized or conditioned keeps its columns: those outside its scope are ignored in
    questions and NaN in answers.

    Args:
        root: The root node.
        names: The names of the columns, if they have any.
        n_variables: The number of columns, if there are more than the largest variable tells.
        labels: What the values 0..k−1 of discrete columns stand for: a mapping {variable: labels}, or a list with
            labels or None for each column. Questions may then be asked in labels; in plain arrays numbers are codes.

    Examples:
        >>> from xspn import Bernoulli, Exchangeable, Product
        >>> leaf = Exchangeable([0, 1], log_weights=np.log([0.2, 0.25, 0.3]))
        >>> c = Circuit(Product([leaf, Bernoulli(2, p=0.4)]), names=["ann", "bob", "rain"])
        >>> np.exp(c.log_likelihood([[1, np.nan, 0]])).round(6).tolist()
        [0.33]
        >>> c.marginals({"ann": 1})[0, :, 1].round(6).tolist()  # P(variable = 1 | Ann comes)
        [1.0, 0.545455, 0.4]
        >>> c.count_distribution(["ann", "bob"]).round(6).tolist()
        [0.2, 0.5, 0.3]
        >>> rain = Circuit(Bernoulli(0, p=0.4), names=["rain"], labels={"rain": ["dry", "wet"]})
        >>> float(np.exp(rain.log_likelihood([["wet"]]))[0].round(6))
        0.4
    """

    def __init__(
        self,
        root: Node,
        names: Sequence[str] | None = None,
        n_variables: int | None = None,
        labels: Mapping[Variable, Sequence[Any]] | Sequence[Sequence[Any] | None] | None = None,
    ) -> None:
        width = len(names) if names is not None and n_variables is None else n_variables
        self._provenance: Provenance | None = None
        self._graph = Graph(root, width)
        self._schema = Schema.of(self._graph.domains, names, labels)

    @classmethod
    def of_graph(cls, graph: Graph, names: Sequence[str] | None = None) -> "Circuit":
        """Return the circuit of nodes that are in order already."""
        return cls.of_schema(graph, Schema.of(graph.domains, names))

    @classmethod
    def of_schema(cls, graph: Graph, schema: Schema, provenance: Provenance | None = None) -> "Circuit":
        """Return the circuit of nodes that are in order already, for tables of a known schema."""
        circuit = cls.__new__(cls)
        circuit._graph, circuit._provenance = graph, provenance
        circuit._schema = schema.over(graph.domains)
        return circuit

    # -- structure ---------------------------------------------------------------------------------------------------

    @property
    def root(self) -> Node:
        """The root node."""
        return self._graph.root

    @property
    def graph(self) -> Graph:
        """The nodes in order, children before parents."""
        return self._graph

    @property
    def schema(self) -> Schema:
        """What is known of the columns: names, domains, labels and types."""
        return self._schema

    @property
    def provenance(self) -> Provenance | None:
        """How the circuit was learned; None if nobody said, or if it was made from another circuit."""
        return self._provenance

    @property
    def labels(self) -> tuple[Labels | None, ...]:
        """What the values of each column stand for; None where they stand for themselves."""
        return self._schema.labels

    @property
    def n_variables(self) -> int:
        """The number of columns of a table for this circuit."""
        return self._graph.n_variables

    @property
    def scope(self) -> Scope:
        """The variables that the circuit is a distribution over."""
        return self.root.scope

    @property
    def domains(self) -> tuple[Domain | None, ...]:
        """What each column may hold; None for a column outside the scope."""
        return self._schema.domains

    @cached_property
    def program(self) -> Program:
        """The compiled circuit, made at the first question."""
        return compile_graph(self._graph)

    @cached_property
    def oracle(self) -> Oracle:
        """The same questions answered by enumerating all assignments: for tests and small circuits."""
        return Oracle(self._graph)

    def summary(self) -> Summary:
        """Return the numbers of nodes, edges, parameters and leaves."""
        return summarize(self._graph)

    def why_not_smooth(self) -> str | None:
        """Return why the circuit is not smooth (complete), or None."""
        return properties.why_not_smooth(self._graph)

    def why_not_decomposable(self) -> str | None:
        """Return why the circuit is not decomposable, or None."""
        return properties.why_not_decomposable(self._graph)

    def why_not_normalized(self) -> str | None:
        """Return why the weights are not normalized, or None."""
        return properties.why_not_normalized(self._graph)

    @cached_property
    def _selectivity(self) -> str | None:
        return properties.why_not_selective(self._graph)

    def why_not_selective(self) -> str | None:
        """Return why the circuit is not known to be selective (deterministic), or None."""
        return self._selectivity

    def with_provenance(self, provenance: Provenance) -> "Circuit":
        """Return the same circuit with a note of how it was learned."""
        return Circuit.of_schema(self._graph, self._schema, provenance)

    def simplify(self) -> "Circuit":
        """Return the same distribution without trivial nodes, nested sums and products, or repeated parts."""
        return self._with_root(transform.simplify(self.root))

    def _with_root(self, root: Node) -> "Circuit":
        return Circuit.of_schema(Graph(root, self.n_variables), self._schema)

    # -- back ends ---------------------------------------------------------------------------------------------------

    @cached_property
    def backend(self) -> Backend:
        """What answers questions: NumPy for little work, numba kernels for much."""
        return Automatic(self.program)

    def to(
        self, backend: str | None = None, *, device: str = "cpu", dtype: str = "float64", threads: int | None = None
    ) -> "Evaluator":
        """Return the same circuit on a back end of your choice, with the same questions.

        Args:
            backend: "numpy" (log space, level by level), "numba" (compiled kernels on the CPU) or "torch". By default
                torch for any device but the CPU, and numba there.
            device: "cpu", or a device that torch knows, such as "cuda".
            dtype: "float64", or "float32" for twice the speed and errors below `.error_bound` in log-probabilities.
            threads: The number of threads on the CPU; all cores by default. Answers do not depend on it.

        Examples:
            >>> from xspn import Bernoulli
            >>> fast = Circuit(Bernoulli(0, p=0.25)).to("numpy")
            >>> np.exp(fast.log_likelihood([[1], [0]])).round(6).tolist()
            [0.25, 0.75]
        """
        chosen = chosen_backend(self.program, backend, device, dtype, threads)
        return Evaluator(chosen, self._schema, self.max_product_is_exact)

    @cached_property
    def _exact_max(self) -> bool:
        return self.why_not_selective() is None and all(
            node.mode_is_exact for node in self._graph.nodes if isinstance(node, Leaf)
        )

    def max_product_is_exact(self) -> bool:
        """Return whether the circuit is known to be selective, with leaves that know their modes."""
        return self._exact_max

    # -- tables ------------------------------------------------------------------------------------------------------

    def decode(self, rows: Any) -> Any:
        """Return rows of codes, such as samples or completions, as a DataFrame with the columns' labels and types.

        It is of the library whose DataFrame the circuit was learned from; pandas for others.

        Examples:
            >>> from xspn import Bernoulli
            >>> rain = Circuit(Bernoulli(0, p=0.4), names=["rain"], labels={"rain": ["dry", "wet"]})
            >>> rain.decode(rain.mpe().values)["rain"].tolist()
            ['dry']
        """
        return self._schema.decode(self._schema.encode(rows, "rows"))

    def with_attributes(self, source: Any) -> "Circuit":
        """Return the circuit with what is known of its columns, such as the party of a member or the shelf of an item.

        Explanations and drawings say what columns of a block have in common, and model files keep it.

        Args:
            source: The path of a table with a row for each column, one of whose columns has the names; or a mapping
                {attribute: {column: value}}.

        Examples:
            >>> from xspn import Bernoulli
            >>> c = Circuit(Bernoulli(0, p=0.4), names=["ann"]).with_attributes({"party": {"ann": "left"}})
            >>> c.schema.attributes
            (('party', ('left',)),)
        """
        own = attributes_of(source, self._schema.shown_names)
        return Circuit.of_schema(self._graph, replace(self._schema, attributes=own), self._provenance)

    def moments(self) -> Moments:
        """Return means and covariances of all variables."""
        return replace(moments.moments(self._graph), schema=self._schema)

    @cached_property
    def _choice(self) -> ContextChoice:
        return ContextChoice(self._graph)

    def responsibilities(self, X: Any) -> FloatArray:
        """Return P(segment | row) of each row, the heaviest segment first: (rows, segments). Rows sum to one.

        It is the exact posterior of the topmost sum's choice, sums below it being one choice; missing values are summed
        out. `segments` says what the columns are. A circuit without a choice has one segment.

        Examples:
            >>> from xspn import Bernoulli, Product, Sum
            >>> wet, dry = (Product([Bernoulli(0, p=p), Bernoulli(1, p=q)]) for p, q in ((0.9, 0.6), (0.1, 0.2)))
            >>> c = Circuit(Sum([0.4, 0.6], [wet, dry]), names=["rain", "umbrella"])
            >>> c.responsibilities([[np.nan, np.nan], [np.nan, 1]]).round(4).tolist()
            [[0.6, 0.4], [0.3333, 0.6667]]
        """
        return self._choice.responsibilities(self._schema.encode(X), self.names)

    def segments(self, X: Any = None) -> Segments:
        """Return the contexts of the circuit: names, weights, what marks them, their groups of columns.

        Args:
            X: A table whose rows are counted, each by its responsibilities; by default the rows that the model was
                learned from, if it is known how many these were.
        """
        known = None if self.provenance is None else self.provenance.rows
        found = segments_of(self._graph, self._schema, known)
        return found if X is None else found.with_rows(self.responsibilities(X).sum(axis=0).tolist())

    # -- other circuits ----------------------------------------------------------------------------------------------

    def marginalize(self, keep: Iterable[Variable]) -> "Circuit":
        """Return the circuit over the variables to keep; all others are summed out."""
        kept = Scope.of(set(self._schema.indices(keep)))
        return self._with_root(queries.marginalize(self._graph, kept))

    def condition(self, evidence: Any) -> "Circuit":
        """Return the circuit of P(the other variables | evidence) for one row or mapping of evidence."""
        return self._with_root(queries.condition(self._graph, self._schema.row(evidence, "evidence"))[0])

    def fit_parameters(
        self,
        X: Any,
        n_iter: int = 50,
        smoothing: float | Smoothing = 0.0,
        X_valid: Any = None,
        sample_weight: Any = None,
        batch_size: int | None = None,
        tol: float = 1e-4,
        random_state: RandomState = None,
    ) -> "Circuit":
        """Return the circuit with all weights and leaves fitted to rows by EM, starting from those it has.

        Missing values are summed out exactly. Without smoothing the training log-likelihood is never lowered.

        Args:
            X: The training rows.
            n_iter: The largest number of passes.
            smoothing: The mass of pseudo-rows at every leaf and every child of a sum.
            X_valid: Rows that tell when to stop; the circuit that is best for them is returned.
            sample_weight: The weight of each training row.
            batch_size: Update after so many rows (stepwise EM) instead of once a pass: better for large tables.
            tol: Stop when a pass changes the mean log-likelihood by less, in nats per row.
            random_state: The seed of the batches.

        Examples:
            >>> from xspn import Bernoulli
            >>> Circuit(Bernoulli(0, p=0.5)).fit_parameters([[1], [0], [np.nan], [1], [1]]).root
            Bernoulli(0, p=0.75)
        """
        rows, valid = self._schema.encode(X), None if X_valid is None else self._schema.encode(X_valid, "X_valid")
        options = EMOptions(n_iter, Smoothing.of(smoothing), tol, batch_size=batch_size)
        fit = fit_parameters(self._graph, rows, options, sample_weight, valid, random_state, self.names)
        return self._with_root(fit.root)

    # -- pages -------------------------------------------------------------------------------------------------------

    def explore(
        self, path: str | PathLike[str], *, data: Any = None, title: str | None = None, source: str = "model.json"
    ) -> Path:
        """Write the circuit as one HTML page that answers questions by itself, exactly; return the page's path.

        Args:
            path: The file to write.
            data: A table that comes along: the page steps through its rows, the least usual first.
            title: What the page is called; the file's name by default.
            source: The model's file, as the page names it in commands.
        """
        rows = None if data is None else np.asarray(self._schema.encode(data, "data"), dtype=np.float64)
        scores = None if rows is None else self.backend.log_likelihood(rows, self.names, "data")
        place = Path(path)
        write_page(place, self._graph, self._schema, title or place.stem, rows, scores, source)
        return place

    def _repr_html_(self) -> str:
        if self._graph.n_edges > MOST_SHOWN_EDGES:
            return notebook_html(self._graph, self._schema, None)
        return notebook_html(self._graph, self._schema, self.marginals()[0], self.means()[0])

    # -- copies ------------------------------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        # A flat list of records: pickling the nodes themselves would recurse as deep as the circuit.
        return _restore, (list(self._graph.records()), self._schema, self._provenance)

    def __repr__(self) -> str:
        return f"Circuit({self.summary()})"


def _restore(records: list[Any], schema: Schema, provenance: Provenance | None = None) -> Circuit:
    return Circuit.of_schema(Graph(from_records(records), len(schema)), schema, provenance)


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
