"""`XSPN`: learn a circuit from a table, and explain it; and the parameters that learning estimators share."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from xspn._version import __version__
from xspn.circuit import Circuit
from xspn.core.arrays import AnyArray
from xspn.core.checks import MOST_MODELS, known_names, one_of, whole_number
from xspn.core.errors import DataError, ParameterError
from xspn.core.random import RandomState, generator
from xspn.data.frames import is_out_of_core
from xspn.data.provenance import Provenance
from xspn.data.schema import Schema
from xspn.engine.program import RowChecker, compile_graph
from xspn.estimators.agreement import warn_of_disagreement
from xspn.estimators.base import TableInput, all_or_nothing, in_memory, training_data
from xspn.estimators.explanation import Reason, decisions_in_words, reasons_of
from xspn.estimators.segmenting import SegmentTransformer
from xspn.graph.graph import Graph
from xspn.inference.uncertainty import NodeCounts, count_rows
from xspn.learning.assembly import Learned
from xspn.learning.config import LearnConfig
from xspn.learning.distillation import check_budget, distill
from xspn.learning.em import known_device, learning_device
from xspn.learning.ensemble import learn_ensemble
from xspn.learning.learner import WIDEST_BY_EVIDENCE, evidence_serves
from xspn.learning.long_tables import LongTable
from xspn.learning.memory import refuse_if_too_large
from xspn.learning.sampling import MOST_ROWS
from xspn.learning.scales import presentation_of
from xspn.learning.search import BUDGETS, SearchReport, SearchResult, ValidationRows, search
from xspn.learning.source import TrainingData
from xspn.learning.steps import Progress
from xspn.learning.table_data import TableData
from xspn.learning.trace import Trace

if TYPE_CHECKING:
    from xspn.distributed.growth import PassReport

PLAIN = (
    "min_instances",
    "independence_threshold",
    "significance",
    "smoothing",
    "shrinkage",
    "exchangeability",
    "clustering",
    "leaf_learner",
)
NOT_KEPT = ("random_state", "n_jobs", "device", "verbose", "domains")  # of no influence, or kept elsewhere
SECONDS_BETWEEN_LINES = 5.0


class LearnerParameters(TableInput):
    """Everything that can be set about learning a circuit.

    Args:
        min_instances: Slices of fewer rows become a leaf.
        independence_threshold: ρ of the G-test of independence; larger values find more independence.
        significance: The level of the exchangeability test; smaller values find more exchangeability.
        smoothing: The Laplace pseudo-count α.
        shrinkage: How many rows the cluster's surroundings count for in a leaf's parameters.
        exchangeability: "evidence" finds exchangeable blocks and contexts by Bayesian evidence; "global", "pairwise"
            and "full" are tests of exchangeability. "auto" takes evidence for one circuit of a table of up to 6,000
            whole binary columns, or 600 others, unless `independence_threshold`, `significance`, `clustering` or
            `leaf_learner` ask for something of their own; else the global test. None for a conventional SPN. By
            evidence, the structure of more than 50,000 different rows is learned from a sample of them, and the
            parameters from all.
        clustering: "auto", "contexts" (those of best evidence), "bernoulli", "variable", "gmm" (as in the paper) or
            "kmeans".
        leaf_learner: What makes the leaves of slices that are not split any further: "auto" (a mixture of the others),
            "sparse" (of as few of them as predict best), "evidence" (the same with blocks of best evidence),
            "factorized", "exchangeable", "chow_liu" or "blocks".
        quality: "fast" learns one circuit with the parameters as they are. The others choose by validation rows
            (`X_valid`, or a random fraction of the training rows). "mixed" mixes one circuit by evidence and one by
            tests with classes of rows in which columns are independent: for binary columns that depend on each other a
            little, such as the items of baskets. "balanced" and "best" choose between evidence and tests, and
            `min_instances` and `independence_threshold` of these, learn a bagged ensemble of 8 or 80 circuits, and mix
            it with hidden Chow-Liu trees over exchangeable blocks (binary columns); "best" also chooses smoothing and
            shrinkage, and mixes in an EM-refined mixture of perturbed copies of one circuit.
        n_estimators: The number of circuits, learned on bootstrap samples and mixed into one; with a quality other than
            "fast" there are at least 1, 8 or 80.
        max_parameters: The largest number of parameters: a larger model is distilled into one circuit of so many,
            whatever the quality. Its leaves and edges go that the rows miss least, and EM fits the rest. None for no
            limit. With `XSPNClassifier` it holds for the circuit of each class.
        domains: What the columns hold, where it shall not be inferred: "binary", "categorical", "ordinal", "real" or a
            `Domain` for all of them; a mapping from names or indices to these or to lists of labels; or a list with one
            for each column. See `xspn.data.column_types` for the rules. "binary" refuses anything else.
        binarize: Values above this number count as 1, others as 0; None takes values as they are.
        handle_unknown: What to do with a value of a discrete column that the training table lacked: "error" refuses it,
            "missing" takes the cell as missing.
        match_columns: How the columns of DataFrames and files asked about are found: "exact" wants those of the
            training table in their order, as scikit-learn does (files go by name); "by_name" takes them in any order,
            passes over others, and takes absent ones as missing.
        options: Further settings of `xspn.learning.config.LearnConfig`, by name.
        device: Where EM computes with a quality other than "fast": None for the library's own kernels on the CPU, or a
            device of torch, such as "cuda" (or "cpu", which takes torch's kernels). The model is as good, not the same
            to the last digit. Where torch or the device is missing, a warning says so and the CPU does the work.
        n_jobs: Threads for one circuit, processes for several; −1 for all cores. The result does not depend on it.
        random_state: A seed, for the same circuit every time.
        verbose: 1 shows a progress bar: how much of the expected work is done, also inside long steps.
    """

    def __init__(
        self,
        min_instances: int = 20,
        independence_threshold: float = 5.0,
        significance: float = 0.01,
        smoothing: float = 0.1,
        shrinkage: float = 2.0,
        exchangeability: str | None = "auto",
        clustering: str = "auto",
        leaf_learner: str = "auto",
        quality: str = "fast",
        n_estimators: int = 1,
        max_parameters: int | None = None,
        domains: Any = None,
        binarize: float | None = None,
        handle_unknown: str = "error",
        match_columns: str = "exact",
        options: Mapping[str, Any] | None = None,
        device: str | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.min_instances = min_instances
        self.independence_threshold = independence_threshold
        self.significance = significance
        self.smoothing = smoothing
        self.shrinkage = shrinkage
        self.exchangeability = exchangeability
        self.clustering = clustering
        self.leaf_learner = leaf_learner
        self.quality = quality
        self.n_estimators = n_estimators
        self.max_parameters = max_parameters
        self.domains = domains
        self.binarize = binarize
        self.handle_unknown = handle_unknown
        self.match_columns = match_columns
        self.options = options
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def learn_config(estimator: Any) -> LearnConfig:
    """Return the configuration that an estimator's parameters describe."""
    settings = {name: getattr(estimator, name) for name in PLAIN}
    options = estimator.options or {}
    if not isinstance(options, Mapping):
        raise ParameterError(f"options: expected a mapping of settings, found {options!r}")
    known_names("options", options, {field.name for field in fields(LearnConfig)} - set(PLAIN))
    return LearnConfig(**settings, **options)


class XSPN(SegmentTransformer, LearnerParameters):
    """An exchangeability-aware sum-product network, learned from data alone.

    The parameters are described at `LearnerParameters`.

    Attributes:
        circuit_: The learned circuit, for every exact query.
        trace_: Why each of its nodes is what it is.
        schema_: What is known of the columns: names, domains, labels and types.
        n_features_in_: The number of columns.
        feature_names_in_: Their names, if the table was a DataFrame.
        valid_score_: The mean log-likelihood of `X_valid`, if there was any.
        search_: With a quality other than "fast": which settings were tried, what they scored, and what the mixture is
            made of.
        provenance_: The version, settings and seed that it was learned by, and the digest of the rows; files keep it.
        passes_: What each pass over the data did, if the table was not in memory and too large to be gathered.

    Examples:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X = (rng.random((1000, 6)) < rng.beta(0.5, 0.4, size=(1000, 1))).astype(int)
        >>> model = XSPN(random_state=0).fit(X)
        >>> model.circuit_.root
        BetaBinomial over {0, 1, 2, 3, 4, 5}: mean 0.5527, dispersion 1.119
        >>> model.predict_marginals([[1, 1, 1, np.nan, np.nan, np.nan]]).round(1).tolist()
        [[1.0, 1.0, 1.0, 0.9, 0.9, 0.9]]
    """

    circuit_: Circuit
    trace_: Trace
    valid_score_: float
    search_: SearchReport
    provenance_: Provenance
    passes_: "tuple[PassReport, ...]"

    @all_or_nothing
    def fit(
        self, X: Any, y: Any = None, *, X_valid: Any = None, sample_weight: Any = None, checkpoint: Any = None
    ) -> Self:
        """Learn the circuit.

        Args:
            X: A table: an array, a DataFrame (pandas, polars, pyarrow), the path of a file (CSV and similar text,
                Excel, npz), what `read_table` returns, or a `Table`; NaN, None or NA where a value is missing. The
                type of each column is inferred by the rules of `xspn.data.column_types`, or given by the parameter
                `domains`. A Dask array or DataFrame, or the path of a Parquet file or folder, is learned from out of
                core: by tests such a table must be binary unless it is small enough to be gathered.
            y: Ignored.
            X_valid: Validation rows: used to choose settings, with a quality other than "fast", to score (their mean
                log-likelihood becomes `valid_score_`), and to measure how much wider credible intervals must be.
            sample_weight: How often each row counts. Tests treat weights as numbers of rows: survey weights that add
                up to a population should be scaled to add up to the number of rows.
            checkpoint: For tables out of core: a file to save to after each pass over the data, and to resume
                from if it exists. Nothing is saved for a table that is small enough to be gathered.
        """
        config = learn_config(self)
        one_of("quality", self.quality, ("fast", *BUDGETS))
        if self.max_parameters is not None:
            whole_number("max_parameters", self.max_parameters, 1)
        known_device(self.device)
        for attribute in ("valid_score_", "search_", "passes_"):  # those of an earlier fit
            if hasattr(self, attribute):
                delattr(self, attribute)
        data: TrainingData | None
        if is_out_of_core(X):
            learned, data = self._learned_out_of_core(X, X_valid, sample_weight, checkpoint, config)
        elif checkpoint is not None:
            raise ParameterError("checkpoint: only for Dask tables and Parquet paths; this table is in memory")
        else:
            learned, data = self._learned(X, X_valid, sample_weight, config)
        is_mixture = isinstance(learned, SearchResult) or self.n_estimators > 1
        # Points of a latent space share the parameters of one decoder: no rows stand behind a single point's.
        is_decoded = isinstance(learned, SearchResult) and learned.report.has_decoded_components
        if self.max_parameters is not None and data is not None:
            whole = learned
            learned = self._distilled(learned, data, X_valid, config)
            is_mixture, is_decoded = (was and learned is whole for was in (is_mixture, is_decoded))
        counts = None
        if data is not None and not is_decoded:
            counts = self._rows_behind(learned.graph, data, X_valid, is_mixture)
        self.circuit_ = Circuit.of_schema(learned.graph, self.schema_, self.provenance_, counts)
        self.trace_ = learned.trace
        self._presentation = presentation_of(data) if isinstance(data, TableData) else {}
        if data is not None:
            warn_of_disagreement(self.circuit_, data)
        if isinstance(learned, SearchResult):
            self.search_ = learned.report
        if X_valid is not None:
            self.valid_score_ = self.score(X_valid)
        return self

    def _learned(self, X: Any, X_valid: Any, sample_weight: Any, config: LearnConfig) -> tuple[Learned, TrainingData]:
        """Learn from a table in memory, with the effort that the quality stands for; return its rows too."""
        own = self._training_table(X)
        self.provenance_ = Provenance.of(
            type(self).__name__, self._settings(), self.random_state, own.codes, own.schema, sample_weight is not None
        )
        if self.max_parameters is not None:
            check_budget(self.max_parameters, own.domains)
        weights = self._row_weights(sample_weight, len(own))
        rows = LongTable(own.codes, tuple(own.domains), weights)
        one = self.quality == "fast" and self.n_estimators == 1
        data: TrainingData | LongTable = rows
        if one and rows.is_long and config.settled(evidence_serves(rows)).by_evidence:
            refuse_if_too_large(MOST_ROWS, own.domains)
        else:
            refuse_if_too_large(len(own), own.domains)
            data = training_data(own, weights, config.merges_rows)
        seed = int(generator(self.random_state).integers(2**63 - 1))
        whole_number("n_estimators", self.n_estimators, 1, MOST_MODELS)
        only_scored = X_valid is None or (self.quality == "fast" and is_out_of_core(X_valid))
        valid = None if only_scored else self._validation_rows(X_valid)
        if self.quality == "fast":
            with learning_progress(self.verbose, self.n_estimators) as progress:
                learned = learn_ensemble(data, config, seed, self.n_estimators, self.n_jobs, progress)
            return learned, data.some() if isinstance(data, LongTable) else data
        assert not isinstance(data, LongTable)
        budget = BUDGETS[self.quality]
        budget = replace(budget, circuits=max(budget.circuits, self.n_estimators))
        validation = None if valid is None else ValidationRows.of(valid)
        device = learning_device(self.device)
        with learning_progress(self.verbose, budget.circuits) as progress:
            return search(data, config, budget, seed, self.n_jobs, validation, progress, device), data

    def _distilled(self, learned: Learned, data: TrainingData, X_valid: Any, config: LearnConfig) -> Learned:
        """Return what was learned, in at most `max_parameters` parameters."""
        assert self.max_parameters is not None
        validation = None
        if X_valid is not None and not is_out_of_core(X_valid):
            valid = ValidationRows.of(self._validation_rows(X_valid))
            validation = valid.rows, valid.weights
        seed = int(generator(self.random_state).integers(2**63 - 1))
        smaller = distill(
            learned.graph, self.max_parameters, data.rows(), data.weights, seed, config.smoothing, validation
        )
        return learned if smaller is learned.graph else replace(learned, graph=smaller, trace=Trace(()))

    def _rows_behind(self, graph: Graph, data: TrainingData, X_valid: Any, is_mixture: bool) -> NodeCounts:
        """Return the number of rows behind each parameter; other rows say how far the circuit is off."""
        others = None if X_valid is None or is_out_of_core(X_valid) else self._codes(X_valid)
        rows, weights, of_others = data.rows(), data.weights, None
        total, known = float(weights.sum()), self.provenance_.rows
        if known is not None and not self.provenance_.weighted and known > 1.5 * total > 0:
            # A sample of a long table, whose rows are next to new for the model of all of them.
            others, of_others = (rows, weights) if others is None else (others, None)
            weights = weights * (known / total)
        return count_rows(graph, compile_graph(graph), rows, weights, others, of_others, is_mixture)

    def _validation_rows(self, X_valid: Any) -> AnyArray:
        """Read validation rows; what is wrong with them is reported before anything is learned."""
        try:
            rows = self._codes(in_memory(X_valid, "X"))
            if len(rows) == 0:
                raise DataError("found 0 rows while a minimum of 1 is required")
            RowChecker(self.schema_.domains, self.schema_.names).block(rows, 0, len(rows))
        except DataError as error:
            raise DataError(f"X_valid: {str(error).removeprefix('X: ')}") from error
        return rows

    def _learned_out_of_core(
        self, X: Any, X_valid: Any, sample_weight: Any, checkpoint: Any, config: LearnConfig
    ) -> tuple[Learned, TrainingData | None]:
        """Learn from a table that is not in memory; one that is small enough is gathered."""
        from xspn.distributed.gathering import binary_template, gathered, may_be_gathered
        from xspn.distributed.growth import OutOfCoreTable, learn_out_of_core

        if may_be_gathered(X):
            return self._learned(gathered(X), X_valid, in_memory(sample_weight, "sample_weight"), config)
        if self.quality != "fast":
            raise ParameterError(f'quality: tables that are not in memory are learned "fast", found {self.quality!r}')
        if self.max_parameters is not None:
            raise ParameterError(
                "max_parameters: models of tables that are not in memory are not distilled; learn from a sample of the "
                "rows, or give the learned `circuit_.distill` one"
            )
        seed = int(generator(self.random_state).integers(2**63 - 1))
        learned = self._learned_by_partitions(X, sample_weight, checkpoint, config, seed)
        if learned is not None:
            return learned, None
        own = self._training_table(binary_template(X))
        if not own.schema.are_binary or any(own.schema.labels):
            raise DataError("domains: tables that are not in memory must be binary; leave `domains` out")
        table = OutOfCoreTable(X, sample_weight, self.binarize)
        with learning_progress(self.verbose, self.n_estimators) as progress:
            grown = learn_out_of_core(table, config, seed, self.n_estimators, checkpoint, progress)
        self.passes_ = grown.passes
        self.provenance_ = self._provenance_without_rows(sample_weight is not None)
        return grown.learned, None

    def _provenance_without_rows(self, weighted: bool) -> Provenance:
        """Return what is known of a model whose rows nobody has seen together: neither their number nor a digest."""
        seed = self.random_state if isinstance(self.random_state, int) else None
        columns = len(self.schema_)
        return Provenance(__version__, type(self).__name__, self._settings(), seed, columns=columns, weighted=weighted)

    def _settings(self) -> dict[str, Any]:
        """Return the parameters that say how to learn and differ from the defaults."""
        usual = type(self)().get_params(deep=False)
        chosen = self.get_params(deep=False)
        return {name: value for name, value in chosen.items() if name not in NOT_KEPT and value != usual[name]}

    def _learned_by_partitions(
        self, X: Any, sample_weight: Any, checkpoint: Any, config: LearnConfig, seed: int
    ) -> Learned | None:
        """Learn by evidence from a table that is not in memory; None if it is to be learned from by tests."""
        from xspn.distributed.checkpoint import Checkpoint
        from xspn.distributed.gathering import n_columns
        from xspn.distributed.long_rows import OutOfCoreRows, identity_of_rows, read_columns

        if self.n_estimators > 1 or not config.settled(n_columns(X) <= WIDEST_BY_EVIDENCE).by_evidence:
            return None
        if checkpoint is not None:
            Checkpoint.at(checkpoint, {})  # refuses a path that cannot be written to, before anything is read
        columns = read_columns(X, sample_weight)
        self._training_table(columns.template)
        rows = OutOfCoreRows(columns, self.schema_, self.binarize)
        if not config.settled(evidence_serves(rows)).by_evidence:
            return None
        if checkpoint is not None:
            own = identity_of_rows(columns, self.schema_, config, seed, self.binarize)
            saved = Checkpoint.at(checkpoint, own)
            rows = OutOfCoreRows(columns, self.schema_, self.binarize, saved)
        with learning_progress(self.verbose, 1) as progress:
            learned = learn_ensemble(rows, config, seed, 1, self.n_jobs, progress)
        self.passes_ = tuple(rows.reports)
        self.provenance_ = self._provenance_without_rows(sample_weight is not None)
        return learned

    def explain(self, most: int = 8, names: Sequence[str] | None = None, full: bool = False) -> str:
        """Say in words what was found: contexts, what marks them, their blocks and the laws of these.

        A context is a group of rows, a block a group of variables that depend on each other. Of a context the page says
        which variables are more, or less, frequent in it than in all rows (in parentheses); of a block how many of its
        variables are one together, or how alike they are. `[17]` is the number of a node, and `trace_.why(17)` says why
        it was made.

        Args:
            most: The number of contexts to describe on a page.
            names: Names of the variables, if the table had none.
            full: Whether to describe everything; otherwise it is a page at most, of what matters most.
        """
        text = super().explain(most, names, full)
        if full and self.trace_.entries:
            text = f"{text}\n{decisions_in_words(self.trace_)}"
        made = "Made of" if self.max_parameters is None else "Distilled from"
        if hasattr(self, "search_"):
            return f"{made} {'; '.join(map(str, self.search_.components))}.\n{text}"
        if self.n_estimators > 1:
            return f"{made} {self.n_estimators} circuits, whose contexts may be alike.\n{text}"
        return text

    def _reasons(self, schema: Schema) -> Mapping[int, Reason]:
        return reasons_of(self.trace_, schema)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "circuit_")


@contextmanager
def learning_progress(verbose: int, n_circuits: int) -> Iterator[Progress | None]:
    """Provide a function that is told how much of the work is done, or None if nobody wants to know.

    It shows a bar on a terminal, plain lines elsewhere.
    """
    if not verbose:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(file=sys.stderr)
    what = "learning" if n_circuits == 1 else f"learning {n_circuits} circuits"
    if not console.is_terminal:
        yield _lines(what)
        return
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task(what, total=1.0)

        def show(done: float, of: float) -> None:
            bar.update(task, completed=done / max(of, 1))

        yield show


def _lines(what: str) -> Progress:
    last = monotonic()

    def show(done: float, of: float) -> None:
        nonlocal last
        if done >= of or monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = monotonic()
            sys.stderr.write(f"{what}: {done / max(of, 1):.0%} is done\n")

    return show
