"""What estimators have in common: tables read by scikit-learn's rules, scores, samples, marginals, imputation."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from inspect import signature
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, ParamSpec, TypeVar, cast, get_args

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from xspn.circuit import Circuit
from xspn.core.arrays import AnyArray, BoolArray, FloatArray
from xspn.core.checks import as_array, one_of, table, weights_of_rows, whole_number
from xspn.core.errors import DataError, MemoryLimitError, ParameterError
from xspn.core.random import RandomState
from xspn.data.frames import PANDAS, Frame, built, is_collection, is_out_of_core, is_path, need_pandas, pandas_column
from xspn.data.schema import STRICT, Schema, Tolerance, is_coded, is_table
from xspn.data.table import Bits, Table, binarized, refuse_unreadable
from xspn.estimators.explanation import Reason, explain
from xspn.learning.data import BinaryData
from xspn.learning.memory import OTHERWISE
from xspn.learning.source import TrainingData
from xspn.learning.table_data import TableData
from xspn.leaves.scales import Scale
from xspn.leaves.transformed import scales_of
from xspn.questions import Answer, Answers, Contributions, NextItem, NextQuestions, evidence_row
from xspn.questions.queries import Queries

Query = TypeVar("Query", bound=Callable[..., Any])
Form = Callable[[Any], dict[str, Any]]  # a fitted estimator → the form of a lazy answer: its width, type or template
Method = Literal["marginal", "mean", "mpe", "sample"]
P = ParamSpec("P")
T = TypeVar("T")


def answers_by_partition(form: Form | None = None) -> Callable[[Query], Query]:
    """Make a method that takes a table answer for Dask collections and Parquet paths too, lazily, by partition.

    Dask is imported here and not before. `form` gives the further arguments of `xspn.distributed.lazy.answers`.
    """

    def decorate(method: Query) -> Query:
        @wraps(method)
        def answer(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_out_of_core(X):
                return method(self, X, *args, **kwargs)
            check_is_fitted(self)
            from xspn.distributed import lazy

            bound = signature(method).bind(self, X, *args, **kwargs)
            bound.apply_defaults()
            options = dict(list(bound.arguments.items())[2:])
            return lazy.answers(self, method.__name__, X, options, **({} if form is None else form(self)))

        return cast(Query, answer)

    return decorate


def in_memory(X: Any, what: str) -> Any:
    """Return a table that is out of core and small enough to be gathered as one in memory, any other as it is."""
    if not is_out_of_core(X):
        return X
    from xspn.distributed.gathering import gathered, may_be_gathered

    if getattr(X, "ndim", 2) == 2 and not may_be_gathered(X):
        raise DataError(f"{what}: too large to be gathered; take fewer rows")
    return gathered(X)


def training_data(own: Table, weights: FloatArray | None = None, merge_equal_rows: bool = True) -> TrainingData:
    """Return a table as the learner takes it: bits where all columns are binary."""
    if own.schema.are_binary:
        return BinaryData.of(own.bits(allow_missing=True), weights, merge_equal_rows)
    return TableData.of(np.asarray(own.codes, dtype=np.float64), own.domains, weights, merge_equal_rows)


class TableInput(BaseEstimator):  # type: ignore[misc]
    """Reads tables by the schema that was seen in `fit`. Without a parameter `domains`, all columns are binary."""

    binarize: float | None
    schema_: Schema

    def _training_table(self, X: Any) -> Table:
        """Read the training table and remember its schema."""
        own = Table.of(X, getattr(self, "domains", "binary"), self.binarize).learnable()
        if knows_its_names(X):
            self.n_features_in_ = len(own.schema)
            if own.schema.names is not None:
                self.feature_names_in_ = np.array(own.schema.names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        else:
            self._check_names(X, reset=True)
        _ = self._tolerance  # refuses settings of tables to come before anything is learned
        self.schema_, self._template = own.schema, own.template
        return own

    def _training_bits(self, X: Any) -> Bits:
        """Read a training table that must be binary; missing values pass if the estimator's tags say so."""
        return self._training_table(X).bits(get_tags(self).input_tags.allow_nan)

    def _query_rows(self, X: Any) -> AnyArray:
        """Read a table that questions are asked about: codes, NaN where a value is missing."""
        check_is_fitted(self)
        return self._codes(X)

    @property
    def _tolerance(self) -> Tolerance:
        """What a table may differ in from the training table, by the parameters that say so."""
        unknown, columns = getattr(self, "handle_unknown", "error"), getattr(self, "match_columns", "exact")
        one_of("handle_unknown", unknown, ("error", "missing"))
        one_of("match_columns", columns, ("exact", "by_name"))
        return Tolerance(columns == "by_name", unknown == "missing")

    def _codes(self, X: Any) -> AnyArray:
        refuse_unreadable(X)
        tolerance = self._tolerance
        frame = None if knows_its_names(X) else Frame.of(X)
        if knows_its_names(X) or self.schema_.goes_by_name(frame, tolerance):
            return binarized(self.schema_.encode(X, tolerance=tolerance), self.binarize)
        rows: Any = X
        if frame is None:
            rows = as_array(X, "X")
            if rows.ndim != 2 or not any(self.schema_.labels):
                rows = table(rows, what="X")
        else:
            _ = frame.names  # refuses names that are no names
        self._check_names(X, reset=False)
        n_features = rows.shape[1] if frame is None else frame.shape[1]
        if n_features != self.n_features_in_:
            raise DataError(
                f"X has {n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        codes = self.schema_.encode(rows, numbers_are_codes=False, tolerance=tolerance)
        return binarized(codes, self.binarize)

    def _check_names(self, X: Any, reset: bool) -> None:
        """Let scikit-learn remember and compare names and numbers of columns; the cells are checked by the schema."""
        try:
            validate_data(self, X, reset=reset, skip_check_array=True)
        except (ValueError, TypeError) as error:
            can_match = hasattr(self, "match_columns") and "feature names should match" in str(error)
            hint = "match_columns='by_name' takes columns in any order, and absent ones as missing"
            raise DataError(f"{error}{hint if can_match else ''}") from error

    def _row_weights(self, sample_weight: Any, n_rows: int) -> FloatArray | None:
        """Check the weights of the training rows."""
        if sample_weight is None:
            return None
        weights = weights_of_rows(sample_weight, n_rows)
        if not weights.any():
            raise DataError("sample_weight: expected some weight above 0, found that every weight is zero")
        return weights

    def _given_back(self, codes: FloatArray) -> Any:
        """Return rows of codes as the training table was: a DataFrame with its labels and types, or an array."""
        if self.schema_.library is None:
            return self.schema_.values(codes)
        return self.schema_.decode(codes, self._template)


def knows_its_names(X: Any) -> bool:
    """Whether a table is not one whose names scikit-learn knows: a file, a `Table`, a Dask collection."""
    return is_coded(X) or is_path(X) or is_collection(X)


# -- missing cells filled in -------------------------------------------------------------------------------------------


def completed(circuit: Queries, rows: AnyArray, method: Method, random_state: RandomState = None) -> FloatArray:
    """Return rows of codes with their missing values filled in.

    Args:
        circuit: What is known of the rows.
        rows: Codes, NaN where a value is missing.
        method: "marginal" takes each cell's likeliest value given the row, and the mean for real variables; "mean" the
            mean of all numbers, also of steps of a scale; "mpe" the likeliest completion of the row as a whole;
            "sample" a random completion.
        random_state: The seed for "sample".
    """
    if method not in get_args(Method):
        raise ParameterError(f"impute: expected method 'marginal', 'mean', 'mpe' or 'sample', found {method!r}")
    if method == "mpe":
        return circuit.mpe(rows).values
    if method == "sample":
        return circuit.sample(given=rows, random_state=random_state)
    likeliest = _likeliest(circuit, rows, method == "mean")
    for variable, scale in scales_of(
        circuit.backend.program.column_leaves
    ).items():  # a mean of whole numbers need not be one
        likeliest[:, variable] = scale.presented(likeliest[:, variable])
    return np.where(np.isnan(rows), likeliest, rows)


def filled_in(
    X: Any, schema: Schema, missing: BoolArray, filled: FloatArray, tolerance: Tolerance = STRICT, whole: bool = False
) -> Any:
    """Return a table as it came, with the cells that are missing taken from completed rows of codes.

    All other cells are copied: through codes a whole number above 2⁵³, say, would not come back as it was.

    Args:
        X: The table.
        schema: That of the completed rows.
        missing: Which cells are filled in.
        filled: The completed rows, in codes.
        tolerance: How the table was read.
        whole: Whether to give back the columns of the schema, rather than those of the table, where these differ.
    """
    frame = Frame.of(X)
    if frame is not None and schema.goes_by_name(frame, tolerance) and frame.names != schema.names:
        return _filled_by_name(frame, schema, missing, filled, whole)
    if frame is None:
        values, out = schema.values(filled), np.array(as_array(X, "X"))
        if missing.any() and (out.dtype.kind in "US" or values.dtype == object):
            out = out.astype(object)  # a label may be longer than the texts that are there
        out[missing] = values[missing]
        return out
    columns = range(len(schema))
    if not frame.is_pandas:
        series = [frame.native[frame.name(j)] for j in columns]
        cells = [
            _filled_cells(own.to_list(), schema.plain_column(j, filled[:, j]), missing[:, j])
            for j, own in enumerate(series)
        ]
        return built(frame.library, [own.name for own in series], cells, [own.dtype for own in series])
    native = frame.native
    own = {j: _filled_column(native.iloc[:, j], j, schema, missing[:, j], filled[:, j]) for j in columns}
    answer = need_pandas().DataFrame(own, index=native.index)
    answer.columns = native.columns
    return answer


def _filled_by_name(frame: Frame, schema: Schema, missing: BoolArray, filled: FloatArray, whole: bool) -> Any:
    """Return a DataFrame whose columns are found by their names: as they came, or those of the schema."""
    import narwhals as nw

    known = schema.names or ()
    common = [name for name in frame.names or () if name in set(known)]
    order = [known.index(name) for name in common]
    native = nw.from_native(frame.native, eager_only=True) if frame.is_pandas else frame.native
    seen = filled_in(native.select(common).to_native(), schema.take(order), missing[:, order], filled[:, order])
    if whole:
        index = frame.native.index if frame.is_pandas else None
        added = replace(schema, library=frame.library).decode(filled, index=index)
        native = nw.from_native(added, eager_only=True)
    columns = nw.from_native(seen, eager_only=True)
    return native.with_columns(*[columns[name] for name in common]).to_native()


def _filled_cells(cells: list[Any], values: list[Any], missing: BoolArray) -> list[Any]:
    return [value if gone else cell for cell, value, gone in zip(cells, values, missing.tolist(), strict=True)]


def _filled_column(column: Any, variable: int, schema: Schema, missing: BoolArray, codes: FloatArray) -> Any:
    """Return a DataFrame's column with its missing cells filled in."""
    new = pandas_column(codes[missing], schema.domains[variable], schema.labels[variable], column.dtype)
    if hasattr(new.dtype, "categories") and new.dtype != column.dtype:
        column = column.astype(new.dtype)  # the column's own categories do not tell of all labels
    if not missing.any():
        return column
    if hasattr(column.dtype, "categories") and new.dtype == np.float64:
        column = column.astype(np.float64)  # categories that are real numbers to the model: few numbers are among them
    if new.dtype == object and column.dtype.kind in "biuf":
        column = column.astype(object)
    out = column.copy()
    try:
        out.iloc[np.flatnonzero(missing)] = new
    except (TypeError, ValueError):  # a column of text without any text: its cells are numbers to the model
        out = column.astype(object)
        out.iloc[np.flatnonzero(missing)] = new
    return out


def _likeliest(circuit: Queries, rows: AnyArray, nearest_to_mean: bool) -> FloatArray:
    """Return each cell's likeliest value given its row; the mean where it is real, NaN outside the circuit.

    Discrete numbers that have an order may be those nearest to their mean instead.
    """
    table = np.nan_to_num(circuit.marginals(rows), nan=-1.0)
    found = table.argmax(axis=2).astype(np.float64)
    for variable, numbers in enumerate(circuit.schema.numbers() if nearest_to_mean else ()):
        if numbers is not None and len(numbers) > 2:
            means = table[:, variable, : len(numbers)] @ numbers
            found[:, variable] = np.abs(means[:, None] - numbers).argmin(axis=1)
    found[:, [domain is None for domain in circuit.schema.domains]] = np.nan
    real = [domain is not None and not domain.is_discrete for domain in circuit.schema.domains]
    return np.where(real, circuit.means(rows), found) if any(real) else found


def _are_texts(given: Any) -> bool:
    """Whether evidence is a list of texts such as "city=Bonn"."""
    return isinstance(given, list | tuple) and bool(given) and all(isinstance(own, str) and "=" in own for own in given)


# -- estimators --------------------------------------------------------------------------------------------------------


def all_or_nothing(fit: Callable[P, T]) -> Callable[P, T]:
    """Make `fit` leave the estimator as it was if it is interrupted or fails, whatever it has set by then."""

    @wraps(fit)
    def undone_on_failure(*args: P.args, **kwargs: P.kwargs) -> T:
        attributes = vars(args[0])
        before = dict(attributes)
        try:
            return fit(*args, **kwargs)
        except BaseException as error:
            attributes.clear()
            attributes.update(before)
            if isinstance(error, MemoryError) and not isinstance(error, MemoryLimitError):
                raise MemoryLimitError(
                    f"X: the memory was not enough to learn from it ({error or 'no details'}); {OTHERWISE}"
                ) from error
            raise

    return undone_on_failure


class DensityEstimator(DensityMixin, TableInput):  # type: ignore[misc]
    """An estimator whose result is a circuit, `circuit_`."""

    circuit_: Circuit
    _presentation: Mapping[int, Scale] = MappingProxyType({})  # how the numbers of real columns are given

    def _presented(self, codes: FloatArray, seen: AnyArray | None = None) -> FloatArray:
        """Return rows that were drawn or filled in, in the precision and of the sign that the training table has.

        What was seen stays as it is. Circuits learned by evidence do this by themselves, others know of densities only.
        """
        for variable, scale in self._presentation.items():
            own = scale.presented(codes[:, variable])
            codes[:, variable] = own if seen is None else np.where(np.isnan(seen[:, variable]), own, codes[:, variable])
        return codes

    @answers_by_partition()
    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of each row; missing values (NaN) are summed out.

        For a Dask collection or a Parquet path the answer is a Dask array, and nothing is computed yet.
        """
        rows = self._query_rows(X)
        return self.circuit_.log_likelihood(rows)

    def probability(
        self,
        target: str | Sequence[str] | None = None,
        given: Any = None,
        top: int | None = None,
        interval: float | None = None,
    ) -> Answer | Answers:
        """Return how probable an event is given evidence, in the language of questions; see `Circuit.probability`.

        Args:
            target: An event such as "count(*) >= 218", or several; by default the values of all open columns.
            given: What is known, in the same language, or a mapping {column: value}.
            top: Return so many answers: those that the evidence changes most, in order.
            interval: The level of credible intervals, such as 0.9.
        """
        check_is_fitted(self)
        return self.circuit_.probability(target, given, top, interval)

    def contributions(self, target: str, given: Any) -> Contributions:
        """Return what each item of the evidence adds to the log-odds of an event; see `Circuit.contributions`.

        Args:
            target: The event, such as "overflow=yes".
            given: The items: a mapping {column: value}, or texts in the language of questions.
        """
        check_is_fitted(self)
        return self.circuit_.contributions(target, given)

    def next_questions(self, target: Any = None, given: Any = None) -> NextQuestions:
        """Return how much each open column would tell of a target, in bits; see `Circuit.next_questions`.

        Args:
            target: A discrete column or an event; by default everything.
            given: What is known: a mapping {column: value}, or a text in the language of questions.
        """
        check_is_fitted(self)
        return self.circuit_.next_questions(target, given)

    def recommend(
        self,
        basket: Any,
        k: int = 10,
        *,
        given: Any = None,
        items: str | Iterable[int | str] | None = None,
        exclude: Iterable[int | str] = (),
    ) -> list[NextItem] | list[list[NextItem]]:
        """Return the k likeliest next items of a basket, or of each of several; see `Circuit.recommend`.

        Args:
            basket: A list of items; or several: a list of such lists, or a table whose ones are in the basket.
            k: How many items.
            given: What is known of other columns.
            items: The columns that are items; by default all that mean no and yes.
            exclude: Items that are not recommended.

        Examples:
            >>> from xspn import XSPN
            >>> baskets = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 1]] * 20)
            >>> XSPN(random_state=0).fit(baskets).recommend([0], k=1)[0].item
            'X1'
        """
        check_is_fitted(self)
        rows = (
            basket if isinstance(basket, str | Mapping | list | tuple | set | frozenset) else self._query_rows(basket)
        )
        return self.circuit_.recommend(rows, k, given=given, items=items, exclude=exclude)

    def explain(self, most: int = 8, names: Sequence[str] | None = None, full: bool = False) -> str:
        """Say in words what was found: contexts, what marks them, their blocks and the laws of these.

        Args:
            most: The number of contexts to describe on a page.
            names: Names of the variables, if the table had none.
            full: Whether to describe everything; otherwise it is a page at most, of what matters most.
        """
        check_is_fitted(self)
        whole_number("most", most, 0)
        circuit = self.circuit_
        if names is not None:
            if len(names) != circuit.n_variables:
                raise DataError(f"names: expected {circuit.n_variables}, one for each column, found {len(names)}")
            circuit = Circuit.of_schema(circuit.graph, replace(circuit.schema, names=tuple(map(str, names))))
        return "\n".join(explain(circuit, self._reasons(circuit.schema), most, full))

    def _reasons(self, schema: Schema) -> Mapping[int, Reason]:
        """Return why nodes were made, as far as that is known."""
        return {}

    def explore(self, path: str | PathLike[str], *, data: Any = None, title: str | None = None) -> Path:
        """Write the model as one HTML page that answers questions by itself, exactly; return the page's path.

        Args:
            path: The file to write.
            data: A table that comes along: the page steps through its rows, the least usual first.
            title: What the page is called; the file's name by default.
        """
        check_is_fitted(self)
        return self.circuit_.explore(path, data=None if data is None else self._query_rows(data), title=title)

    def _html_repr(self) -> str:
        own = str(super()._html_repr())
        return f"{own}{self.circuit_._repr_html_()}" if hasattr(self, "circuit_") else own

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows."""
        scores = self.score_samples(X)
        if isinstance(scores, np.ndarray):
            mean, count = float(scores.mean()) if len(scores) else np.nan, len(scores)
        else:
            from xspn.distributed.lazy import mean_and_count

            mean, count = mean_and_count(scores)
        if not count:
            raise DataError("X: found 0 sample(s) while a minimum of 1 is required: the mean of nothing is undefined")
        return mean

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None, chunks: int | None = None, given: Any = None
    ) -> Any:
        """Return random rows: a DataFrame with the same labels and types if the model was fitted to one.

        Args:
            n_samples: How many rows.
            random_state: The seed.
            chunks: Return a lazy Dask array or DataFrame (of pandas, whatever the library) with so many rows in each
                partition.
            given: What is known: a mapping {column: value}, texts such as "city=Bonn", or a table with missing values,
                of which each row is completed `n_samples` times; the completions of a row follow one another.

        Examples:
            >>> rng = np.random.default_rng(0)
            >>> X = np.repeat(rng.integers(0, 2, size=(500, 1)), 3, axis=1)
            >>> from xspn import XSPN
            >>> XSPN(smoothing=0.0, random_state=0).fit(X).sample(2, random_state=0, given={0: 1}).tolist()
            [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
        """
        check_is_fitted(self)
        if given is not None and chunks is not None:
            raise ParameterError("sample: expected `given` or `chunks`, found both; what is given is completed at once")
        if chunks is None:
            rows = None if given is None else self._evidence(given)
            drawn = self.circuit_.sample(n_samples, given=rows, random_state=random_state)
            seen = None if rows is None else np.repeat(np.asarray(rows, dtype=np.float64), n_samples, axis=0)
            return self._given_back(self._presented(drawn, seen))
        from xspn.distributed.lazy import samples

        template = self._template
        if template is None and self.schema_.library is not None:
            template = replace(self.schema_, library=None).decode(np.empty((0, len(self.schema_))))
        return samples(self, n_samples, chunks, random_state, template)

    def _evidence(self, given: Any) -> AnyArray:
        """Return what is known as rows of codes: from a mapping, texts, one row or a table."""
        if is_table(given) and not _are_texts(given):
            return self._codes(given)
        if isinstance(given, str) or _are_texts(given):
            return evidence_row([given] if isinstance(given, str) else list(given), self.schema_)[None, :]
        if isinstance(given, Mapping) or hasattr(given, "to_dict"):
            return self.schema_.row(given, "given")[None, :]
        return self._codes([list(given)])

    def _form_of_marginals(self) -> dict[str, Any]:
        """Return the form of lazy marginals: a DataFrame where those in memory are one."""
        names = self.marginal_names()
        if self.schema_.are_binary or self.schema_.library is None:
            return {"width": len(names)}
        return {"template": need_pandas().DataFrame(columns=names, dtype=np.float64)}

    @answers_by_partition(_form_of_marginals)
    def predict_marginals(self, X: Any) -> Any:
        """Return what the observed values of each row say of every variable.

        For a table of binary columns: P(variable is 1 | row), an array (rows, variables). For other tables the columns
        of the answer are those of `marginal_names()`: a binary variable has one, P(1 | row); a categorical or ordinal
        one has P(value | row) for each value; a real one has its mean given the row. The answer is a DataFrame, of the
        table's own library, if the model was fitted to one. For a Dask collection or a Parquet path it is a lazy Dask
        array or DataFrame.
        """
        rows = self._query_rows(X)
        table = self.circuit_.marginals(rows)
        if self.schema_.are_binary:
            return table[:, :, 1]
        means = self.circuit_.means(rows)
        parts = []
        for variable, domain in enumerate(self.schema_.domains):
            size = None if domain is None else domain.cardinality
            first = 1 if size == 2 else 0
            parts.append(means[:, [variable]] if size is None else table[:, variable, first:size])
        answer = np.hstack(parts)
        frame, names = Frame.of(X), self.marginal_names()
        library = self.schema_.library if frame is None or self.schema_.library is None else frame.library
        if library is None:
            return answer
        if library != PANDAS:
            return built(library, names, answer.T.tolist(), [None] * len(names))
        return need_pandas().DataFrame(answer, index=getattr(X, "index", None), columns=names)

    def marginal_names(self) -> list[str]:
        """Return the names of the columns of `predict_marginals`, such as "color=red"; X0, X1, … without names."""
        check_is_fitted(self)
        schema, names = self.schema_, []
        for variable, (name, domain) in enumerate(zip(schema.shown_names, schema.domains, strict=True)):
            size = None if domain is None else domain.cardinality
            names += [name] if size in (None, 2) else [f"{name}={schema.label(variable, v)}" for v in range(size or 0)]
        return names

    @answers_by_partition(lambda model: {"like_input": True})
    def impute(self, X: Any, method: Method = "marginal", random_state: RandomState = None) -> Any:
        """Return the table with its missing values filled in and nothing else changed; a DataFrame stays a DataFrame.

        Args:
            X: The table.
            method: "marginal" takes each cell's likeliest value given the row, and the mean for real variables; "mean"
                the mean of all numbers, also of steps of a scale; "mpe" the likeliest completion of the row as a
                whole; "sample" a random completion.
            random_state: The seed for "sample".

        For a Dask collection or a Parquet path the answer is a lazy Dask array or DataFrame. A file, or a `Table`, is
        given back as a DataFrame or an array, as `sample` gives rows.
        """
        rows = self._query_rows(X)
        filled = self._presented(completed(self.circuit_, rows, method, random_state), rows)
        if knows_its_names(X):
            return self._given_back(filled)
        return filled_in(X, self.schema_, np.isnan(rows), filled, self._tolerance)
