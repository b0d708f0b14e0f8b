"""EM over all weights and leaves of any circuit: passes over the data, which model to keep, when to stop.

And EM over the mixture weights of given models alone; and where EM computes: with the library's own kernels, or on a
device of torch.
"""

import itertools
import math
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.checks import MOST_PASSES, Names, is_real_number, weights_of_rows, whole_number
from xspn.core.errors import DataError, EvidenceError, ParameterError
from xspn.core.random import RandomState, generator
from xspn.engine import Automatic, Backend, Program, compile_graph
from xspn.engine.backend import torch_backend
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node
from xspn.learning.em.passes import Expected, expect, fitted_root, maximize, recentered
from xspn.learning.steps import step
from xspn.leaves.base import Smoothing

ROUNDING = 1e-9  # how much of itself a log-likelihood may lose to rounding

M = TypeVar("M")
STEP_DECAY = 0.7  # of stepwise EM: step k has size (k + 2)^−decay (Liang and Klein, 2009)
KNOWN_DEVICES = re.compile(r"cpu|cuda(:\d+)?")  # others lack double precision, or nobody has tried them


@dataclass
class Course(Generic[M]):
    """Follows the models of an iterative fit.

    Args:
        patience: Stop after so many models without a better validation log-likelihood.
        tolerance: Stop when the training log-likelihood changes by less.
        promises_ascent: Whether the algorithm promises never to lower the training log-likelihood; it is checked.
        keeps_best: Without validation data, keep the model of highest training log-likelihood; else the last one.

    Examples:
        >>> course = Course(patience=2, tolerance=0.01)
        >>> [course.ends_with(name, ll) for name, ll in (("a", -3.0), ("b", -2.0), ("c", -1.999))]
        [False, False, True]
        >>> course.chosen, course.best
        ('c', 2)
    """

    patience: int
    tolerance: float
    promises_ascent: bool = False
    keeps_best: bool = True
    log_likelihoods: list[float] = field(default_factory=list)
    valid_log_likelihoods: list[float] = field(default_factory=list)
    best: int = 0
    _chosen: list[M] = field(default_factory=list)

    @property
    def chosen(self) -> M:
        """The model to keep."""
        return self._chosen[0]

    def ends_with(self, model: M, log_likelihood: float, valid: float | None = None) -> bool:
        """Note the next model and its mean log-likelihoods; return whether it is time to stop."""
        step()
        index = len(self.log_likelihoods)
        before = self.log_likelihoods[-1] if index else -math.inf
        self.log_likelihoods.append(log_likelihood)
        if valid is not None:
            self.valid_log_likelihoods.append(valid)
        if index == 0 or self._is_better(index):
            self.best, self._chosen = index, [model]
        if self.promises_ascent and log_likelihood < before - ROUNDING * (1 + abs(before)):
            warnings.warn(
                f"EM lowered the log-likelihood from {before:.9g} to {log_likelihood:.9g} in pass {index}; the better "
                "model is kept, but some leaf's from_statistics is not its maximum-likelihood fit",
                RuntimeWarning,
                stacklevel=2,
            )
            return True
        if valid is not None and index - self.best >= self.patience:
            return True
        # Two impossible models in a row differ by NaN, which ends nothing: smoothing may make the next one possible.
        return index > 0 and abs(log_likelihood - before) < self.tolerance

    def _is_better(self, index: int) -> bool:
        if self.valid_log_likelihoods:
            return self.valid_log_likelihoods[index] > self.valid_log_likelihoods[self.best]
        return not self.keeps_best or self.log_likelihoods[index] >= self.log_likelihoods[self.best]


@dataclass(frozen=True)
class EMOptions:
    """How parameters are fitted.

    Attributes:
        n_iter: The largest number of passes over the data.
        smoothing: The mass of pseudo-rows at every leaf, and at every child of a sum.
        tolerance: Stop when a pass changes the mean log-likelihood by less, in nats per row.
        patience: Stop after so many passes without a better log-likelihood of the validation data.
        batch_size: Update the parameters after so many rows instead of once a pass.
    """

    n_iter: int = 50
    smoothing: Smoothing = field(default_factory=Smoothing)
    tolerance: float = 1e-4
    patience: int = 3
    batch_size: int | None = None

    def __post_init__(self) -> None:
        whole_number("n_iter", self.n_iter, 0, MOST_PASSES)
        whole_number("patience", self.patience, 1, MOST_PASSES)
        if self.batch_size is not None:
            whole_number("batch_size", self.batch_size, 1)
        if not is_real_number(self.tolerance) or not self.tolerance >= 0:
            raise ParameterError(f"tol: expected a number of at least 0, found {self.tolerance!r}")

    @property
    def promises_ascent(self) -> bool:
        """Whether no pass can lower the log-likelihood."""
        return self.batch_size is None and self.keeps_best

    @property
    def keeps_best(self) -> bool:
        """Whether a higher training log-likelihood is better: smoothing gives some of it up on purpose."""
        return self.smoothing.mass == 0


@dataclass(frozen=True, eq=False)
class EMFit:
    """What fitting gave.

    Attributes:
        root: The circuit with its new parameters.
        log_likelihoods: The mean log-likelihood of the training rows before the first pass and after each.
        valid_log_likelihoods: That of the validation rows, if there are any.
        best: Which of them the circuit belongs to.
    """

    root: Node
    log_likelihoods: tuple[float, ...]
    valid_log_likelihoods: tuple[float, ...]
    best: int


def fit_parameters(
    graph: Graph,
    X: AnyArray,
    options: EMOptions,
    sample_weight: Any = None,
    X_valid: AnyArray | None = None,
    random_state: RandomState = None,
    names: Names | None = None,
    valid_weight: Any = None,
    device: str | None = None,
) -> EMFit:
    """EMFit all parameters of a circuit by EM, from where they stand.

    Every pass gathers expected statistics: the flow of each row into each child of a sum and into each leaf. Missing
    values are summed out; a leaf of which nothing is observed learns nothing from the row. Whole-batch EM without
    smoothing never lowers the training log-likelihood. The circuit that is returned is the best one by the validation
    data if there is any, else the best one by the training data, or with smoothing, which trades likelihood for safety,
    the last one. What has no free parameter, such as an indicator (a Bernoulli leaf with p = 0 or 1), stays as it is.

    Args:
        graph: The circuit to start from.
        X: The training rows, NaN for what is missing.
        options: How to fit.
        sample_weight: The weight of each row; None means one each.
        X_valid: Rows that tell when to stop.
        random_state: The seed of the batches, if there are any.
        names: The names of the columns, for messages.
        valid_weight: The weight of each of the rows that tell when to stop.
        device: The device of torch to compute on; None for the library's own kernels.

    Examples:
        >>> from xspn import Bernoulli, Sum
        >>> graph = Graph(Sum([0.5, 0.5], [Bernoulli(0, p=0.2), Bernoulli(0, p=0.6)]))
        >>> X = np.array([[1.0], [1.0], [0.0], [1.0]])
        >>> fit = fit_parameters(graph, X, EMOptions())
        >>> [round(ll, 3) for ll in fit.log_likelihoods]
        [-0.815, -0.562, -0.562]
    """
    weights = weights_of_rows(sample_weight, len(X))
    total = float(weights.sum())
    if total == 0:
        raise DataError(f"X: expected at least one row of positive weight, found {len(X)} rows of weight 0")
    start = _backend(graph, device)
    data = _Data(X, weights, names)
    passes = _whole(start, data, options)
    if options.batch_size is not None:
        passes = _stepwise(start, data, options, options.batch_size, generator(random_state))
    valid = None if X_valid is None else _Data(X_valid, weights_of_rows(valid_weight, len(X_valid)), names, "X_valid")
    course: Course[Backend] = Course(options.patience, options.tolerance, options.promises_ascent, options.keeps_best)
    for backend, log_likelihood_of_rows in itertools.islice(passes, options.n_iter + 1):
        valid_ll = None if valid is None else valid.log_likelihood(backend) / float(valid.weights.sum())
        if course.ends_with(backend, log_likelihood_of_rows / total, valid_ll):
            break
    root = fitted_root(graph, start.program, course.chosen.program)
    return EMFit(root, tuple(course.log_likelihoods), tuple(course.valid_log_likelihoods), course.best)


def _backend(graph: Graph, device: str | None) -> Backend:
    program = compile_graph(graph)
    return Automatic(program) if device is None else torch_backend(program, device, "float64")


def refitted(
    graph: Graph,
    X: AnyArray,
    weightings: Iterable[FloatArray],
    smoothing: Smoothing,
    device: str | None = None,
) -> Iterator[Node]:
    """Yield the circuit after one pass over the rows, for each way to weight them."""
    start = _backend(graph, device)
    for weights in weightings:
        about, expected = recentered(start, expect(start, X, weights), X, weights)
        fitted = maximize(about, expected, smoothing)
        yield fitted_root(graph, start.program, fitted)


@dataclass(frozen=True, eq=False)
class _Data:
    X: AnyArray
    weights: FloatArray
    names: Names | None
    what: str = "X"

    def expect(self, backend: Backend, rows: IntArray | None = None) -> Expected:
        if rows is None:
            return expect(backend, self.X, self.weights, self.names)
        return expect(backend, self.X[rows], self.weights[rows], self.names)

    def recentered(self, backend: Backend, expected: Expected) -> tuple[Program, Expected]:
        return recentered(backend, expected, self.X, self.weights, self.names)

    def log_likelihood(self, backend: Backend) -> float:
        own = self.weights > 0  # a row that does not count may well be impossible
        return float(self.weights[own] @ backend.log_likelihood(self.X[own], self.names, self.what))


Passes = Iterator[tuple[Backend, float]]


def _whole(backend: Backend, data: _Data, options: EMOptions) -> Passes:
    """Yield the circuit before the first pass and after each, with the log-likelihood of the rows."""
    while True:
        expected = data.expect(backend)
        _refuse_impossible(expected, options)
        yield backend, expected.log_likelihood
        backend = backend.with_parameters(maximize(*data.recentered(backend, expected), options.smoothing))


def _stepwise(backend: Backend, data: _Data, options: EMOptions, batch_size: int, rng: np.random.Generator) -> Passes:
    """The same with an update after each batch, from a running average of the batches' statistics.

    The first pass is a whole one: every value that occurs is in the average then, so that no small batch can
    make a row impossible.
    """
    running = data.expect(backend)
    _refuse_impossible(running, options)
    yield backend, running.log_likelihood
    backend, running = _updated(backend, *data.recentered(backend, running), options)
    yield backend, data.log_likelihood(backend)
    total = float(data.weights.sum())
    step = -(-len(data.X) // batch_size)  # as if the first pass had been one of batches
    while True:
        order = rng.permutation(len(data.X))
        for batch in np.split(order, range(batch_size, len(order), batch_size)):
            mass = float(data.weights[batch].sum())
            if mass == 0:
                continue
            size = (step + 2) ** -STEP_DECAY
            seen = data.expect(backend, batch).scaled(size * total / mass)
            backend, running = _updated(backend, backend.program, running.scaled(1 - size).plus(seen), options)
            step += 1
        yield backend, data.log_likelihood(backend)


def _updated(backend: Backend, about: Program, expected: Expected, options: EMOptions) -> tuple[Backend, Expected]:
    """Return the back end of the parameters that statistics taken by the leaves of `about` give, and restate them."""
    fitted = maximize(about, expected, options.smoothing)
    return backend.with_parameters(fitted), expected.restated(about, fitted)


def _refuse_impossible(expected: Expected, options: EMOptions) -> None:
    """Raise for a row of probability zero: without smoothing nothing can be learned from it, now or later."""
    if expected.impossible >= 0 and options.smoothing.mass == 0:
        raise EvidenceError(
            f"X: row {expected.impossible} has probability zero under the circuit, so EM cannot learn from it; "
            "use a smoothing above 0, start from other parameters, or leave the row out"
        )


# -- the mixture weights of given models -------------------------------------------------------------------------------


def fit_mixture_weights(
    row_scores: FloatArray, weights: FloatArray, steps: int, prior_rows: float = 0.0, tolerance: float = 0.0
) -> FloatArray:
    """Return the mixture weights that make rows most likely; rows that are impossible under all models are ignored.

    Args:
        row_scores: The log-likelihood of each row by each model: (models, rows).
        weights: The weight of each row.
        steps: The largest number of EM's steps.
        prior_rows: How many rows each model is given beforehand: with little data the weights stay even.
        tolerance: Stop when no weight changes by more.

    Examples:
        >>> fit_mixture_weights(np.log([[0.5, 0.5, 0.1], [0.1, 0.1, 0.9]]), np.ones(3), steps=50).round(2).tolist()
        [0.67, 0.33]
    """
    top = row_scores.max(axis=0)
    possible = np.isfinite(top)
    if not possible.any():
        return np.full(len(row_scores), 1.0 / len(row_scores))
    likelihoods = np.exp(row_scores[:, possible] - top[possible])
    return weights_of_likelihoods(likelihoods, weights[possible], steps, prior_rows, tolerance)


def weights_of_likelihoods(
    likelihoods: FloatArray, weights: FloatArray, steps: int, prior_rows: float = 0.0, tolerance: float = 0.0
) -> FloatArray:
    """Return the same for likelihoods, up to a factor for each row: (models, rows), each row possible under some model.

    Examples:
        >>> weights_of_likelihoods(np.array([[0.5, 0.1], [0.1, 0.9]]), np.array([2.0, 1.0]), steps=50).round(2).tolist()
        [0.67, 0.33]
    """
    found = np.full(len(likelihoods), 1.0 / len(likelihoods))
    for _ in range(steps):
        previous = found
        found = found * (likelihoods @ (weights / (found @ likelihoods))) + prior_rows
        found = found / found.sum()
        if abs(found - previous).max() < tolerance:
            break
    return found


# -- devices -----------------------------------------------------------------------------------------------------------


def known_device(device: str | None) -> None:
    """Raise unless a device is None or has a name of one that is supported, there or not.

    Examples:
        >>> known_device("gpu")
        Traceback (most recent call last):
        xspn.core.errors.ParameterError: device: expected None, 'cpu', 'cuda', or 'cuda:1' and so on, found 'gpu'
    """
    if device is not None and not (isinstance(device, str) and KNOWN_DEVICES.fullmatch(device)):
        raise ParameterError(f"device: expected None, 'cpu', 'cuda', or 'cuda:1' and so on, found {device!r}")


def learning_device(device: str | None) -> str | None:
    """Return the device of torch to learn on; None for the library's own kernels on the CPU.

    Where torch or the device is missing, a warning says so and learning goes on without it.

    Examples:
        >>> learning_device(None) is None
        True
    """
    known_device(device)
    if device is None:
        return None
    missing = _missing(device)
    if missing is None:
        return device
    warnings.warn(
        f"device={device!r}: {missing}; learning goes on with the library's own kernels on the CPU, which is slower",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


def _missing(device: str) -> str | None:
    """Return what is missing to use a device, in words; None if it can be used."""
    if find_spec("torch") is None:
        return "the package torch is not installed (pip install 'xspn[torch]')"
    import torch

    if device == "cpu":
        return None
    if not torch.cuda.is_available():
        return f"torch {torch.__version__} sees no CUDA device"
    number, index = torch.cuda.device_count(), int(device.partition(":")[2] or 0)
    return None if index < number else f"torch sees only {number} CUDA device{'s' if number > 1 else ''}"
