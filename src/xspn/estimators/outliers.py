"""`XSPNOutlierDetector`: rows that are less probable than rows with the same cells observed usually are."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import OutlierMixin, clone

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.checks import is_real_number, number_between, weights_of_rows
from xspn.core.errors import ParameterError
from xspn.core.random import RandomState, generator
from xspn.data.frames import is_out_of_core
from xspn.data.table import Table
from xspn.estimators.base import DensityEstimator, all_or_nothing, answers_by_partition, in_memory
from xspn.estimators.wrapped import AroundDensity
from xspn.leaves.transformed import scales_of

REFERENCE_ROWS = 400  # drawn from the model: what is usual for the cells that are observed
CELLS_AT_ONCE = 1 << 22
USUAL = 0.01  # "auto": an outlier is less probable than all but so many of the rows that the model itself draws,
FENCE = 1.5  # and so many distances of the quartiles below the first one (Tukey, 1977)
READING = ("domains", "binarize")  # parameters that say how the training table is read


class XSPNOutlierDetector(OutlierMixin, AroundDensity):  # type: ignore[misc]
    """Find rows that are improbable, whichever of their cells are observed.

    A row is odd if its cells are, or if they do not go together. log P(row) knows both, but where dozens of numbers
    depend on each other, it is a matter of the directions in which they hardly vary, and a number far out is drowned in
    these. So the log-densities of real cells, each on its own, count as much again: log P(row) + Σ log P(cell). The
    score of a row is this sum, in deviations from what is usual for rows with the same cells observed: a row of which
    little is seen has a high likelihood, but not a high score. What is usual is found by rows that the model draws.
    Densities of real columns are taken on the columns' scales, so that units do not matter.

    Outliers that are alike would become a context of their own, and usual ones, if the model were fitted to all rows.
    So it is first one leaf, then fitted to the rows that are most usual, and at last to all rows that are no outliers
    to the model so far.

    Args:
        estimator: The density estimator, an `XSPN`, a `NormalMixture` or a `MEVM` with settings of its own; by default
            a `NormalMixture` where at least half of the columns are numbers, and an `XSPN` elsewhere.
        contamination: The fraction of outliers among the training rows, above 0 and up to 0.5: as many of them are
            predicted to be outliers. "auto" takes rows for outliers that are less probable than all but one percent of
            the rows that the model draws itself, and whose scores are outliers among those of the training rows: below
            the first quartile by more than one and a half times the distance of the quartiles.
        support_fraction: The fraction of the rows, from 0.5, that are taken for usual at first; 1 fits the model to all
            rows at once: for training tables without outliers.
        random_state: A seed, for the same circuit and scores every time.

    Attributes:
        estimator_: The fitted density estimator.
        circuit_: Its circuit.
        offset_: The score below which a row is predicted to be an outlier.
        reference_seed_: The seed of the rows that the model drew.
        n_features_in_: The number of columns.
        feature_names_in_: Their names, if the table was a DataFrame.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> X = np.repeat(rng.normal(size=(300, 1)), 3, axis=1) + 0.3 * rng.normal(size=(300, 3))
        >>> detector = XSPNOutlierDetector(random_state=0).fit(X)
        >>> detector.predict([[1.0, 1.1, 0.9], [1.0, -1.1, 0.9], [np.nan, -1.1, 0.9], [np.nan, -1.1, np.nan]]).tolist()
        [1, -1, -1, 1]
    """

    offset_: float
    reference_seed_: int

    def __init__(
        self,
        estimator: DensityEstimator | None = None,
        contamination: float | Literal["auto"] = "auto",
        support_fraction: float = 0.75,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.contamination = contamination
        self.support_fraction = support_fraction
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Learn the distribution of the rows, outliers among them, and where outliers begin.

        Args:
            X: A table, as `XSPN.fit` takes it.
            y: Ignored.
            sample_weight: How often each row counts.
        """
        fraction = self._fraction()
        number_between("support_fraction", self.support_fraction, 0.5, 1.0)
        seed = int(generator(self.random_state).integers(2**63 - 1))
        X = in_memory(X, "X") if self.support_fraction < 1 else X  # its rows are looked at again and again
        model: Any = self._unfitted(X)
        if self.support_fraction < 1:
            self._concentrate(model, X, sample_weight, seed)
        else:
            self._take(model.fit(X, sample_weight=sample_weight), seed)
        if is_out_of_core(X) and fraction is None:
            return self  # what the model draws itself will do
        scores = self.score_samples(in_memory(X, "X"))
        weights = _weights(sample_weight, len(scores))
        if fraction is None:
            low, high = (_quantile(scores, weights, own) for own in (0.25, 0.75))
            self.offset_ = min(self.offset_, low - FENCE * (high - low))
        else:
            self.offset_ = _quantile(scores, weights, fraction)
        return self

    def _concentrate(self, model: Any, X: Any, sample_weight: Any, seed: int) -> None:
        """Fit the model to rows that are usual: to one leaf for all rows, then twice to the model before."""
        self._take(_one_leaf(model).fit(X, sample_weight=sample_weight), seed)
        first = self.estimator_
        table = Table(first._codes(X), first.schema_, first._template)
        rows, weights = np.asarray(table.codes, dtype=np.float64), _weights(sample_weight, len(table))
        settings = {name: model.get_params()[name] for name in READING if name in model.get_params()}
        for is_last in (False, True):
            scores = self._scores(rows)
            least = _quantile(scores, weights, 1 - self.support_fraction)
            kept = scores >= (min(least, self.offset_) if is_last else least)
            known = clone(model).set_params(**dict.fromkeys(settings))  # how the table is read is settled
            known.fit(table.rows(kept), sample_weight=weights[kept])
            self._take(known.set_params(**settings), seed)

    def _take(self, fitted: DensityEstimator, seed: int) -> None:
        """Take a fitted model for one's own; outliers begin where it draws few rows itself."""
        self._adopt(fitted)
        self._draw_reference(seed)
        self.offset_ = float(np.quantile(self._scores(self._reference), USUAL))

    def _draw_reference(self, seed: int) -> None:
        """Draw the rows that tell what is usual; a file keeps their seed."""
        self.reference_seed_ = seed
        self._reference = self.circuit_.sample(REFERENCE_ROWS, random_state=seed)
        self._reference_cells = self._logs_of_cells(self._reference)

    def restore(self, offset: float, reference_seed: int) -> None:
        """Take up what an earlier `fit` has found beside the circuit, as a file keeps it."""
        self.offset_ = offset
        self._draw_reference(reference_seed)

    def _fraction(self) -> float | None:
        """Return the fraction of outliers; None where the model tells."""
        given = self.contamination
        if isinstance(given, str) and given == "auto":
            return None
        if not is_real_number(given) or not 0 < given <= 0.5:
            raise ParameterError(f"contamination: expected 'auto' or a fraction above 0 and up to 0.5, found {given!r}")
        return float(given)

    @answers_by_partition()
    def score_samples(self, X: Any) -> FloatArray:
        """Return how usual each row is: how probable it and its numbers are, in deviations from what is usual.

        An impossible row has −inf.

        0 is as usual as rows are on average. A row without any observed cell has 0.
        """
        return self._scores(np.asarray(self._query_rows(X), dtype=np.float64))

    @answers_by_partition()
    def decision_function(self, X: Any) -> FloatArray:
        """Return the score minus `offset_`: below 0 for outliers."""
        return np.asarray(self.score_samples(X) - self.offset_)

    @answers_by_partition(lambda model: {"dtype": np.int64})
    def predict(self, X: Any) -> IntArray:
        """Return −1 for outliers and 1 for all other rows."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _scores(self, rows: FloatArray) -> FloatArray:
        logs: FloatArray = self._logs(rows) + self._logs_of_cells(rows).sum(axis=1)
        if not len(rows):
            return logs
        patterns, which = np.unique(np.isnan(rows), axis=0, return_inverse=True)
        usual = self._usual(patterns)[which.reshape(-1)]  # (rows, 2)
        return np.asarray((logs - usual[:, 0]) / usual[:, 1])

    def _logs(self, rows: FloatArray) -> FloatArray:
        """Return log-likelihoods, of real columns on their scales.

        Densities depend on units: of a skewed column small numbers are dense, though they may be as far from the others
        as large ones are. On its scale the column is as normal as it can be made.
        """
        logs = self.circuit_.log_likelihood(rows)
        for variable, scale in scales_of(self.circuit_.graph.leaves).items():
            slope = scale.log_derivative(rows[:, variable])
            logs -= np.where(np.isneginf(slope), 0.0, slope)  # what is out of the range is impossible already
        return logs

    def _logs_of_cells(self, rows: FloatArray) -> FloatArray:
        """Return the log-density of each real cell on its own; 0 where it is missing, and in other columns.

        A single real column has no others to be drowned in.
        """
        found, domains = np.zeros(rows.shape), self.estimator_.schema_.domains
        real = [column for column, domain in enumerate(domains) if domain is not None and not domain.is_discrete]
        for column in real if len(real) > 1 else ():
            values, which = np.unique(rows[:, column], return_inverse=True)
            alone = np.full((len(values), rows.shape[1]), np.nan)
            alone[:, column] = values
            found[:, column] = self._logs(alone)[which.reshape(-1)]
        return found

    def _usual(self, patterns: AnyArray) -> FloatArray:
        """Return mean and deviation of the logarithms of rows with each pattern of missing cells: (patterns, 2)."""
        reference, found = self._reference, np.empty((len(patterns), 2))
        at_once = max(1, CELLS_AT_ONCE // reference.size)
        for start in range(0, len(patterns), at_once):
            own = patterns[start : start + at_once]
            masked = np.where(own[:, None, :], np.nan, reference)  # (patterns, reference rows, columns)
            logs = self._logs(masked.reshape(-1, reference.shape[1]))
            logs = logs.reshape(len(own), len(reference)) + ~own @ self._reference_cells.T
            found[start : start + at_once] = np.column_stack([logs.mean(axis=1), logs.std(axis=1)])
        # Where all rows are alike there is no deviation to measure by: differences in nats will do.
        found[:, 1] = np.where(found[:, 1] > 1e-9, found[:, 1], 1.0)
        return found


def _one_leaf(model: Any) -> Any:
    """Return an unfitted model that makes no contexts, as far as it can be told to: the simplest one."""
    simple = {
        "min_instances": 2**31,
        "exchangeability": "global",
        "quality": "fast",
        "n_estimators": 1,
        "n_components": 1,
    }
    known = model.get_params()
    return clone(model).set_params(**{name: value for name, value in simple.items() if name in known})


def _weights(sample_weight: Any, n_rows: int) -> FloatArray:
    return np.ones(n_rows) if sample_weight is None else weights_of_rows(sample_weight, n_rows)


def _quantile(scores: FloatArray, weights: FloatArray, fraction: float) -> float:
    """Return the least score that more than a fraction of the rows, by weight, do not exceed."""
    order = np.argsort(scores, kind="stable")
    below = np.cumsum(weights[order])
    place = int(np.searchsorted(below, fraction * below[-1] * (1 + 1e-12), side="right"))
    return float(scores[order[min(place, len(order) - 1)]])
