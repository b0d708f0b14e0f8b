"""`Circuit`: a graph of nodes with names, and every exact query as a method."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.checks import weights_of_rows
from xspn.core.errors import ParameterError, QueryError
from xspn.core.files import path_of
from xspn.core.random import RandomState, generator
from xspn.data.attributes import attributes_of
from xspn.data.domain import Domain, Labels
from xspn.data.provenance import Provenance
from xspn.data.schema import Schema
from xspn.engine import Automatic, Backend, Program, chosen_backend, compile_graph
from xspn.graph import properties, transform
from xspn.graph.graph import Graph, Summary, from_records, summarize
from xspn.graph.nodes import Node, Scope
from xspn.inference import information, moments, queries, uncertainty
from xspn.inference.best_rows import BestRows, SearchLimits, best_rows
from xspn.inference.information import Information
from xspn.inference.moments import Moments
from xspn.inference.oracle import Oracle
from xspn.inference.segments import ContextChoice, Segments, segments_of
from xspn.inference.uncertainty import CredibleInterval, DeltaMethod, NodeCounts
from xspn.learning.distillation import distill
from xspn.learning.em import EMOptions, fit_parameters, learning_device
from xspn.leaves import Leaf, Smoothing
from xspn.questions import (
    Contributions,
    Posterior,
    contributions,
)
from xspn.questions.answers import Refine
from xspn.questions.contributions import PERMUTATIONS, ContextShift
from xspn.questions.events import CountOf
from xspn.questions.intervals import simulated, with_intervals
from xspn.questions.queries import Evaluator, Queries, Variable
from xspn.web import notebook_html, write_page

MOST_SHOWN_EDGES = 50_000  # of a circuit that a notebook shows probabilities of


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
        self._counts: NodeCounts | None = None
        self._graph = Graph(root, width)
        self._schema = Schema.of(self._graph.domains, names, labels)

    @classmethod
    def of_graph(cls, graph: Graph, names: Sequence[str] | None = None) -> "Circuit":
        """Return the circuit of nodes that are in order already."""
        return cls.of_schema(graph, Schema.of(graph.domains, names))

    @classmethod
    def of_schema(
        cls, graph: Graph, schema: Schema, provenance: Provenance | None = None, counts: NodeCounts | None = None
    ) -> "Circuit":
        """Return the circuit of nodes that are in order already, for tables of a known schema."""
        circuit = cls.__new__(cls)
        circuit._graph, circuit._provenance, circuit._counts = graph, provenance, counts
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
    def counts(self) -> NodeCounts | None:
        """How many rows stand behind the parameters of each node; None if nobody counted them."""
        return self._counts

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
        return Circuit.of_schema(self._graph, self._schema, provenance, self._counts)

    def with_counts(
        self, X: Any, sample_weight: Any = None, *, X_valid: Any = None, is_ensemble: bool = False
    ) -> "Circuit":
        """Return the same circuit with the number of rows behind each parameter, which credible intervals need.

        Learned circuits have it already. For others, X are the rows that the parameters come from.

        Args:
            X: The rows.
            sample_weight: The weight of each row.
            X_valid: Other rows, against which it is measured how far the model is off; by default those of X.
            is_ensemble: Whether the root's children are models of the same rows: then their spread counts, too.

        Examples:
            >>> from xspn import Bernoulli
            >>> Circuit(Bernoulli(0, p=0.5)).with_counts([[1], [0], [np.nan], [1]]).counts.rows.tolist()
            [3.0]
        """
        rows, others = self._schema.encode(X), None if X_valid is None else self._schema.encode(X_valid, "X_valid")
        weights = weights_of_rows(sample_weight, len(rows))
        found = uncertainty.count_rows(self._graph, self.program, rows, weights, others, None, is_ensemble, self.names)
        return Circuit.of_schema(self._graph, self._schema, self._provenance, found)

    @cached_property
    def _delta(self) -> DeltaMethod:
        return DeltaMethod(self._graph, self.program, self._known_counts())

    def delta_method(self) -> DeltaMethod:
        """Return what tells how sure answers are, from the rows behind the parameters."""
        return self._delta

    def _simulated_count(
        self, posterior: Posterior, count: CountOf, found: FloatArray, level: float
    ) -> CredibleInterval:
        def ask(own: Posterior) -> FloatArray:
            return own.count_distribution(count).reshape(found.shape)

        return CredibleInterval.of(found, simulated(self, posterior, found, ask), level, "simulation")

    def _refine(self, level: float) -> Refine:
        return partial(with_intervals, self, level=level)

    def _known_counts(self) -> NodeCounts:
        if self._counts is None:
            raise QueryError(
                "intervals: nobody counted how many rows stand behind this circuit's parameters; with_counts(X) does, "
                "where X are the rows that they come from"
            )
        return self._counts

    def posterior_draw(self, random_state: RandomState = None) -> "Circuit":
        """Return the circuit with all parameters drawn from their posterior, for simulating how sure any answer is.

        Examples:
            >>> from xspn import Bernoulli
            >>> coin = Circuit(Bernoulli(0, p=0.5)).with_counts([[1], [0]] * 50)
            >>> round(float(np.std([coin.posterior_draw(seed).root.p for seed in range(200)])), 2)
            0.05
        """
        root = uncertainty.drawn_root(self._graph, self._known_counts(), generator(random_state))
        return self._with_root(root)

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
        return Circuit.of_schema(self._graph, replace(self._schema, attributes=own), self._provenance, self._counts)

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

    def contributions(
        self, target: str, given: Any, permutations: int = PERMUTATIONS, random_state: RandomState = 0
    ) -> Contributions:
        """Return why a target is as probable as it is: what each item of the evidence adds to its log-odds.

        The contributions are Shapley values of the log-odds given sets of items, and add up to the change from no
        evidence to all of it. Up to 15 items they are exact; of more, orders are sampled and standard errors given.

        Args:
            target: An event in the language of questions, such as "overflow=yes".
            given: The items: a mapping, one row, or texts; the parts of "a=1 & b=2" are items of their own.
            permutations: How many orders of more than 15 items are sampled.
            random_state: The seed of the orders.
        """
        seed = generator(random_state).integers(2**63 - 1)
        return contributions(self.backend, self.schema, target, given, permutations, seed, self._context_shifts)

    def _context_shifts(self, row: FloatArray) -> list[ContextShift]:
        """Return the weights of the contexts without evidence and given a row; none if there is no choice."""
        if self._choice.n_contexts == 1:
            return []
        before, after = self.responsibilities(np.stack([np.full(len(row), np.nan), row]))
        return list(map(ContextShift, self.segments().names, before.tolist(), after.tolist()))

    # -- other circuits ----------------------------------------------------------------------------------------------

    def marginalize(self, keep: Iterable[Variable]) -> "Circuit":
        """Return the circuit over the variables to keep; all others are summed out."""
        kept = Scope.of(set(self._schema.indices(keep)))
        return self._with_root(queries.marginalize(self._graph, kept))

    def condition(self, evidence: Any) -> "Circuit":
        """Return the circuit of P(the other variables | evidence) for one row or mapping of evidence."""
        return self._with_root(queries.condition(self._graph, self._schema.row(evidence, "evidence"))[0])

    def marginal_map(
        self, query: Iterable[Variable], given: Any = None, *, max_nodes: int = 100_000, seconds: float | None = None
    ) -> BestRows:
        """Return the most probable values of some variables, all others that are not given being summed out.

        Unlike the most probable completion of the whole row it does not depend on what is not asked. Summing out and
        conditioning give a circuit over the query alone, whose best row is searched as by `k_best`: `.values` (one row,
        NaN for what is summed out), `.log_prob` of query and evidence together, `.exact`, and `.bound` if it is not.

        Args:
            query: The variables that are asked.
            given: What is known: one row or a mapping {variable: value}.
            max_nodes: Stop after so many partial rows.
            seconds: Stop after this time; by default there is no limit.

        Examples:
            >>> from xspn import Bernoulli, Product, Sum
            >>> one, two = (Product([Bernoulli(v, p=p) for v in range(3)]) for p in (0.1, 0.6))
            >>> best = Circuit(Sum([0.3, 0.7], [one, two])).marginal_map([0], given={2: 1})
            >>> best.values.tolist(), float(np.exp(best.log_prob[0]).round(6))
            ([[1.0, nan, 1.0]], 0.255)
        """
        row, asked = self._schema.row({} if given is None else given, "given"), self._schema.indices(query)
        limits = SearchLimits(max_nodes, seconds)
        if not asked:
            raise QueryError("marginal_map: expected at least one variable to ask, found none")
        for variable in asked:
            if self.domains[variable] is None:
                raise QueryError(f"marginal_map: variable {self._schema.name(variable)} is not in the circuit's scope")
        missing = [v for v in asked if np.isnan(row[v])]
        known = np.flatnonzero(~np.isnan(row)).tolist()
        if not missing:
            raise QueryError("marginal_map: the evidence has values for all variables that are asked")
        root, log_given = queries.condition(
            Graph(queries.marginalize(self._graph, Scope.of({*missing, *known})), len(row)), row
        )
        left = self._with_root(root)
        found = best_rows(left.backend, np.full(len(row), np.nan), 1, left.schema, "marginal_map", limits)
        values = np.where(np.isnan(row), found.values, row)
        return replace(
            found,
            values=values,
            log_prob=found.log_prob + log_given,
            bound=found.bound + log_given,
            schema=self._schema,
        )

    # -- information -------------------------------------------------------------------------------------------------

    def entropy(
        self,
        variables: Iterable[Variable] | None = None,
        given: Any = None,
        *,
        method: information.Method = "auto",
        n_samples: int = 10_000,
        random_state: RandomState = 0,
    ) -> Information:
        """Return the entropy of some variables, or of all, in nats: `.value`, `.method`, `.error`, `.lower`, `.upper`.

        It is exact for circuits of at most 65,536 assignments, and for selective ones; for others the mean of
        −log P over rows that are drawn, with its standard error and bounds. Real variables have a differential entropy.

        Args:
            variables: The variables; by default all.
            given: What is known: one row or a mapping {variable: value}.
            method: "auto", or "simulation" where an exact answer is not wanted.
            n_samples: How many rows are drawn, if any.
            random_state: The seed.

        Examples:
            >>> from xspn import Bernoulli, Product, Sum
            >>> fair = Circuit(Product([Bernoulli(0, p=0.5), Bernoulli(1, p=0.5)]))
            >>> round(fair.entropy().bits, 6)
            2.0
        """
        own = self._part(None if variables is None else self._schema.indices(variables), given, "entropy")
        draw = partial(own.sample, self._n_samples(n_samples, method), random_state=random_state)
        return information.entropy(own._graph, own.log_likelihood, draw, method)

    def mutual_information(
        self,
        a: Iterable[Variable],
        b: Iterable[Variable],
        given: Any = None,
        *,
        method: information.Method = "auto",
        n_samples: int = 10_000,
        random_state: RandomState = 0,
    ) -> Information:
        """Return how much two sets of variables tell of each other, I(A; B | given = e), in nats.

        It is exact where the entropies of both and of their union are (see `entropy`), else simulated.

        Examples:
            >>> from xspn import Exchangeable
            >>> alike = Circuit(Exchangeable([0, 1], np.log([0.4, 0.1, 0.4])))
            >>> print(alike.mutual_information([0], [1]))
            0.192745 nats (exact)
        """
        first, second = self._schema.indices(a), self._schema.indices(b)
        shared = sorted(set(first) & set(second))
        if shared:
            raise QueryError(f"mutual_information: variable {self._schema.name(shared[0])} is in both sets")
        both = self._part([*first, *second], given, "mutual_information")
        parts = [both.marginalize([v for v in own if v in both.scope]) for own in (first, second)]
        draw = partial(both.sample, self._n_samples(n_samples, method), random_state=random_state)
        return information.mutual_information(
            (parts[0]._graph, parts[1]._graph, both._graph),
            (parts[0].log_likelihood, parts[1].log_likelihood, both.log_likelihood),
            draw,
            method,
        )

    def kl_divergence(
        self,
        other: "Circuit",
        *,
        method: information.Method = "auto",
        n_samples: int = 10_000,
        random_state: RandomState = 0,
    ) -> Information:
        """Return KL(this ‖ other), in nats: what is lost per row if the other circuit stands for this one.

        It is exact by enumeration for at most 65,536 assignments, else simulated; inf if the other rules out a row that
        this one has.

        Examples:
            >>> from xspn import Bernoulli
            >>> Circuit(Bernoulli(0, p=0.5)).kl_divergence(Circuit(Bernoulli(0, p=0.25))).value.__round__(6)
            0.143841
        """
        self._refuse_other_columns(other, "kl_divergence")
        draw = partial(self.sample, self._n_samples(n_samples, method), random_state=random_state)
        return information.divergence(
            self._graph, other._graph, self.log_likelihood, other.log_likelihood, draw, method
        )

    def jensen_shannon(
        self,
        other: "Circuit",
        *,
        method: information.Method = "auto",
        n_samples: int = 10_000,
        random_state: RandomState = 0,
    ) -> Information:
        """Return the Jensen–Shannon divergence of two circuits, in nats: 0 if they are equal, log 2 if they are apart.

        It is exact by enumeration for at most 65,536 assignments, else simulated with rows of both.

        Examples:
            >>> from xspn import Bernoulli
            >>> Circuit(Bernoulli(0, p=1.0)).jensen_shannon(Circuit(Bernoulli(0, p=0.0))).bits
            1.0
        """
        self._refuse_other_columns(other, "jensen_shannon")
        n = self._n_samples(n_samples, method)
        draws = (
            partial(self.sample, n, random_state=random_state),
            partial(other.sample, n, random_state=random_state),
        )
        return information.jensen_shannon(
            self._graph, other._graph, self.log_likelihood, other.log_likelihood, draws, method
        )

    @staticmethod
    def _n_samples(n_samples: int, method: str) -> int:
        information.check_method(method)
        return information.check_rows(n_samples)

    def _part(self, variables: Sequence[int] | None, given: Any, what: str) -> "Circuit":
        """Return the circuit of some variables given what is known."""
        row = self._schema.row({} if given is None else given, "given")
        known = np.flatnonzero(~np.isnan(row)).tolist()
        asked = [v for v in (self.scope if variables is None else variables) if v not in known]
        if not asked:
            raise QueryError(f"{what}: expected at least one variable that is not known, found none")
        for variable in asked:
            if variable not in self.scope:
                raise QueryError(f"{what}: variable {self._schema.name(variable)} is not in the circuit's scope")
        own = self.marginalize([*asked, *known])
        return own.condition(row) if known else own

    def _refuse_other_columns(self, other: "Circuit", what: str) -> None:
        if not isinstance(other, Circuit):
            raise ParameterError(f"{what}: expected a circuit, found {type(other).__name__}")
        if [None if own is None else own.cardinality for own in self.domains] != [
            None if own is None else own.cardinality for own in other.domains
        ] or self.scope != other.scope:
            raise QueryError(f"{what}: expected two circuits over the same variables with the same values")

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
        device: str | None = None,
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
            device: A device of torch to compute on, such as "cuda"; None for the library's own kernels on the CPU. They
                do the work, with a warning, where torch or the device is missing.

        Examples:
            >>> from xspn import Bernoulli
            >>> Circuit(Bernoulli(0, p=0.5)).fit_parameters([[1], [0], [np.nan], [1], [1]]).root
            Bernoulli(0, p=0.75)
        """
        rows, valid = self._schema.encode(X), None if X_valid is None else self._schema.encode(X_valid, "X_valid")
        options = EMOptions(n_iter, Smoothing.of(smoothing), tol, batch_size=batch_size)
        fit = fit_parameters(
            self._graph, rows, options, sample_weight, valid, random_state, self.names, device=learning_device(device)
        )
        return self._with_root(fit.root)

    def distill(
        self,
        X: Any,
        max_parameters: int,
        *,
        X_valid: Any = None,
        sample_weight: Any = None,
        smoothing: float = 0.1,
        random_state: RandomState = None,
    ) -> "Circuit":
        """Return a circuit of at most `max_parameters` parameters that is close to this one.

        Similar leaves become one, edges that few rows take are cut, weak dependence in leaves is given up: whatever
        costs the least likelihood for each parameter. EM then fits the rest to the rows and to rows drawn from this
        circuit. A circuit that is small enough is returned as it is.

        Args:
            X: The training rows.
            max_parameters: The largest number of parameters; at least as many as independent columns have.
            X_valid: Rows that tell when EM should stop; without them rows drawn from this circuit do.
            sample_weight: The weight of each training row.
            smoothing: The mass of pseudo-rows at every leaf and every child of a sum.
            random_state: The seed of the rows that are drawn.

        Examples:
            >>> from xspn import Bernoulli, Product, Sum
            >>> parts = [Product([Bernoulli(v, p=p) for v in range(4)]) for p in (0.1, 0.11, 0.9)]
            >>> large = Circuit(Sum([0.3, 0.2, 0.5], parts))
            >>> small = large.distill(large.sample(500, random_state=0), max_parameters=9, random_state=0)
            >>> large.summary().parameters, small.summary().parameters
            (14, 9)
        """
        rows, valid = self._schema.encode(X), None if X_valid is None else self._schema.encode(X_valid, "X_valid")
        weights = weights_of_rows(sample_weight, len(rows))
        mass = Smoothing.of(smoothing).mass
        seed = int(generator(random_state).integers(2**63 - 1))
        validation = None if valid is None else (valid, np.ones(len(valid)))
        smaller = distill(self._graph, max_parameters, rows, weights, seed, mass, validation)
        return self if smaller is self._graph else self._with_root(smaller.root)

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
        place = path_of(path, "explore")
        write_page(place, self._graph, self._schema, title or place.stem, rows, scores, source)
        return place

    def _repr_html_(self) -> str:
        if self._graph.n_edges > MOST_SHOWN_EDGES:
            return notebook_html(self._graph, self._schema, None)
        return notebook_html(self._graph, self._schema, self.marginals()[0], self.means()[0])

    # -- copies ------------------------------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        # A flat list of records: pickling the nodes themselves would recurse as deep as the circuit.
        return _restore, (list(self._graph.records()), self._schema, self._provenance, self._counts)

    def __repr__(self) -> str:
        return f"Circuit({self.summary()})"


def _restore(
    records: list[Any], schema: Schema, provenance: Provenance | None = None, counts: NodeCounts | None = None
) -> Circuit:
    return Circuit.of_schema(Graph(from_records(records), len(schema)), schema, provenance, counts)
