"""EM for mixtures of exchangeable variable models: rounds of finding blocks and fitting parameters."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import FloatArray
from xspn.core.checks import MOST_MODELS, MOST_PASSES, is_real_number, smoothing_mass, whole_number
from xspn.core.errors import ParameterError
from xspn.core.logspace import logsumexp_quiet
from xspn.engine import Program, compile_graph, upward
from xspn.engine.program import SumStep
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum
from xspn.learning.data import BinaryData
from xspn.learning.em import EMOptions, fit_parameters
from xspn.learning.mevm.partition import BlockPartition, Evidence, Structure, find_blocks
from xspn.leaves import Bernoulli, BetaBinomial, Exchangeable, Smoothing

if TYPE_CHECKING:
    from xspn.learning.blocks.contexts import Mixture

LEAST_RESPONSIBILITY = 1e-3  # a component's blocks do not depend on rows of a smaller responsibility
MOST_ROUNDS = 10


@dataclass(frozen=True)
class MEVMOptions:
    """How a mixture of exchangeable variable models is learned.

    Attributes:
        n_components: The number of components; None for as many as have most evidence.
        structure: How blocks are found.
        smoothing: The pseudo-mass at each value of a bit, and at all counts of a block together.
        n_init: The number of starts.
        max_iter: The largest number of EM passes of a start.
        tolerance: Stop when the mean log-likelihood gains less, in nats per row.
        level: The level of Welch's test.
        device: The device of torch that EM computes on; None for the library's own kernels.
    """

    n_components: int | None = 20
    structure: Structure = "evidence"
    smoothing: float = 1.0
    n_init: int = 4
    max_iter: int = 100
    tolerance: float = 1e-4
    level: float = 0.1
    device: str | None = None

    def __post_init__(self) -> None:
        if self.n_components is not None:
            whole_number("n_components", self.n_components, 1, MOST_MODELS)
        whole_number("n_init", self.n_init, 1, MOST_MODELS)
        whole_number("max_iter", self.max_iter, 1, MOST_PASSES)
        smoothing_mass(self.smoothing)
        if self.structure not in get_args(Structure):
            raise ParameterError(f"structure: expected one of {get_args(Structure)}, found {self.structure!r}")
        if not is_real_number(self.level) or not 0 < self.level < 1:
            raise ParameterError(f"level: expected a number between 0 and 1, found {self.level!r}")


@dataclass(frozen=True, eq=False)
class MEVMFit:
    """A fitted mixture.

    Attributes:
        root: The circuit.
        log_likelihoods: The mean training log-likelihood of the best start, pass by pass, for each round of blocks.
        score: The score of the best start, used to choose it.
    """

    root: Node
    log_likelihoods: tuple[tuple[float, ...], ...]
    score: float


def fit_mevm(
    data: BinaryData, options: MEVMOptions, rng: np.random.Generator, valid: BinaryData | None = None
) -> MEVMFit:
    """Learn a mixture of products of exchangeable blocks; the best of several starts.

    Starts alternate between two ways of assigning rows to components: by the counts of the blocks of the
    whole data, and by single bits. The best one has the highest log-likelihood of the validation data, if there is any,
    or else of the training data.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> bits = np.repeat(rng.integers(0, 2, size=(300, 1), dtype=np.uint8), 4, axis=1)  # all alike
        >>> fit = fit_mevm(BinaryData.of(bits), MEVMOptions(n_components=1), rng)
        >>> fit.root
        Exchangeable over {0, 1, 2, 3} by Count()
    """
    if options.n_components is None:
        return _by_evidence(data, options, rng, valid)
    cells = data.bits.astype(np.float32)
    whole = find_blocks(Evidence(cells, data.weights), options.structure, options.level)
    if options.n_components == 1:
        return _rounds(cells, data.weights, np.ones((len(cells), 1)), options, valid)
    found = []
    for start in range(options.n_init):
        features = features_of_blocks(cells, data.weights, whole) if start % 2 == 0 else cells.astype(np.float64)
        responsibilities = nearest_of_random_rows(features, data.weights, options.n_components, rng)
        found.append(_rounds(cells, data.weights, responsibilities, options, valid))
    return max(found, key=lambda fit: fit.score)


def _by_evidence(data: BinaryData, options: MEVMOptions, rng: np.random.Generator, valid: BinaryData | None) -> MEVMFit:
    """Return the contexts of best evidence, their parameters fitted by EM."""
    from xspn.learning.blocks.contexts import find_contexts  # takes numba along

    smoothing = Smoothing(options.smoothing, "values")
    found = find_contexts(data.bits, data.weights, int(rng.integers(2**31)))
    graph = Graph(mixture_of_contexts(found, smoothing), data.shape[1])
    return _em(graph, data.bits.astype(np.float32), data.weights, options.max_iter, options, valid)


def _em(
    graph: Graph,
    cells: NDArray[np.float32],
    weights: FloatArray,
    passes: int,
    options: MEVMOptions,
    valid: BinaryData | None,
) -> MEVMFit:
    """Fit the parameters of a mixture."""
    em = EMOptions(n_iter=passes, smoothing=Smoothing(options.smoothing, "values"), tolerance=options.tolerance)
    X_valid, valid_weight = (None, None) if valid is None else (valid.bits, valid.weights)
    fit = fit_parameters(graph, cells, em, weights, X_valid, valid_weight=valid_weight, device=options.device)
    score = (fit.valid_log_likelihoods or fit.log_likelihoods)[fit.best]
    return MEVMFit(fit.root, (fit.log_likelihoods,), score)


def _rounds(
    cells: NDArray[np.float32],
    weights: FloatArray,
    responsibilities: FloatArray,
    options: MEVMOptions,
    valid: BinaryData | None,
) -> MEVMFit:
    """Alternate between the components' blocks, found by their responsibilities, and EM, as long as the score gains."""
    smoothing = Smoothing(options.smoothing, "values")
    known: list[BlockPartition | None] = [None] * responsibilities.shape[1]
    passes_left = options.max_iter
    fits: list[MEVMFit] = []  # each better than the one before
    while passes_left > 0 and len(fits) < MOST_ROUNDS:
        alive = np.flatnonzero(weights @ responsibilities > 0)
        responsibilities = responsibilities[:, alive]
        blocks = [
            _component_blocks(cells, weights * responsibilities[:, place], options, known[k])
            for place, k in enumerate(alive)
        ]
        graph = Graph(mixture_of_blocks(cells, weights, responsibilities, blocks, smoothing), cells.shape[1])
        fit = _em(graph, cells, weights, passes_left, options, valid)
        if fits and fit.score < fits[-1].score + options.tolerance:
            break
        before = fits[-1].log_likelihoods if fits else ()
        fits.append(MEVMFit(fit.root, (*before, *fit.log_likelihoods), fit.score))
        passes_left -= len(fit.log_likelihoods[0]) - 1
        known = list(blocks)
        responsibilities = component_responsibilities(compile_graph(Graph(fit.root, cells.shape[1])), cells)
    return fits[-1]


def _component_blocks(
    cells: NDArray[np.float32], weights: FloatArray, options: MEVMOptions, known: BlockPartition | None
) -> BlockPartition:
    own = weights > LEAST_RESPONSIBILITY * weights.max()
    return find_blocks(Evidence(cells[own], weights[own]), options.structure, options.level, known)


# -- components: the circuit, its responsibilities for rows, and where EM starts from ----------------------------------


def mixture_of_blocks(
    cells: NDArray[np.float32],
    weights: FloatArray,
    responsibilities: FloatArray,
    blocks: list[BlockPartition],
    smoothing: Smoothing,
) -> Node:
    """Return the circuit with the frequencies of rows weighted by responsibilities."""
    components = [
        _component(cells, weights * own, partition, smoothing)
        for own, partition in zip(responsibilities.T, blocks, strict=True)
    ]
    masses = weights @ responsibilities + smoothing.mass
    return components[0] if len(components) == 1 else Sum(masses / masses.sum(), components)


def _component(cells: NDArray[np.float32], weights: FloatArray, blocks: BlockPartition, smoothing: Smoothing) -> Node:
    """Return a product of exchangeable leaves, and Bernoulli leaves for single columns."""
    total, ones = float(weights.sum()), weights @ cells
    leaves: list[Node] = []
    for block in blocks:
        variables = [int(v) for v in np.sort(block)]
        if len(variables) == 1:
            counts = np.array([max(total - ones[variables[0]], 0.0), ones[variables[0]]])
            leaves.append(Bernoulli(variables[0], p=0.5).from_statistics(counts, smoothing))
        else:
            t = cells[:, variables].sum(axis=1).astype(np.int64)
            counts = np.asarray(np.bincount(t, weights=weights, minlength=len(variables) + 1), dtype=np.float64)
            leaves.append(Exchangeable.uniform(variables).from_statistics(counts, smoothing))
    return leaves[0] if len(leaves) == 1 else Product(leaves)


def mixture_of_contexts(found: "Mixture", smoothing: Smoothing) -> Node:
    """Return the circuit of contexts found by evidence, each block with the law that has most evidence."""
    from xspn.learning.blocks.laws import HISTOGRAM  # takes numba along

    components: list[Node] = []
    for context in found.contexts:
        leaves: list[Node] = []
        for b, block in enumerate(context.blocks):
            variables, counts = block.tolist(), context.counts[context.first[b] : context.first[b + 1]]
            if len(variables) == 1:
                leaves.append(Bernoulli(variables[0], p=0.5).from_statistics(counts, smoothing))
            else:
                family = Exchangeable if context.law[b] == HISTOGRAM else BetaBinomial
                leaves.append(family.from_class_counts(variables, counts, smoothing))
        components.append(leaves[0] if len(leaves) == 1 else Product(leaves))
    masses = np.array([context.total for context in found.contexts]) + smoothing.mass
    return components[0] if len(components) == 1 else Sum(masses / masses.sum(), components)


def component_responsibilities(program: Program, cells: NDArray[np.float32]) -> FloatArray:
    """Return the responsibility of each component for each row: (rows, components)."""
    top = program.steps[-1] if program.steps else None
    if not isinstance(top, SumStep):
        return np.ones((len(cells), 1))
    parts = []
    for _, _, rows in program.row_blocks(cells):
        joint = upward(program, rows)[top.children[:, 0]] + top.log_weights
        parts.append(np.exp(joint - logsumexp_quiet(joint, axis=0)).T)
    return np.concatenate(parts)


def features_of_blocks(cells: NDArray[np.float32], weights: FloatArray, blocks: BlockPartition) -> FloatArray:
    """Return the count of ones in each block, on the scale of its spread.

    Within an exchangeable block the counts are all there is to know, so that rows are better told apart by them than by
    single bits, which are mostly noise.
    """
    counts = np.stack([cells[:, block].sum(axis=1) for block in blocks], axis=1).astype(np.float64)
    mean = weights @ counts / weights.sum()
    spread = np.sqrt(weights @ (counts - mean) ** 2 / weights.sum())
    return np.asarray((counts - mean) / np.where(spread > 0, spread, 1.0))


def nearest_of_random_rows(
    features: FloatArray, weights: FloatArray, n_components: int, rng: np.random.Generator
) -> FloatArray:
    """Assign each row to the nearest of some random rows, drawn far from each other (k-means++): (rows, components).

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> nearest_of_random_rows(np.array([[0.0], [0.1], [9.0]]), np.ones(3), 2, rng).tolist()
        [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    first = int(rng.choice(len(features), p=weights / weights.sum()))
    chosen = [first]
    distance = ((features - features[first]) ** 2).sum(axis=1)
    for _ in range(n_components - 1):
        chance = weights * distance
        if chance.sum() == 0:  # fewer different rows than components
            break
        chosen.append(int(rng.choice(len(features), p=chance / chance.sum())))
        distance = np.minimum(distance, ((features - features[chosen[-1]]) ** 2).sum(axis=1))
    centers = features[chosen]
    squares = (features**2).sum(axis=1)[:, None] + (centers**2).sum(axis=1)[None, :] - 2 * features @ centers.T
    nearest = np.argmin(squares + 1e-6 * rng.random(squares.shape), axis=1)  # ties are broken by chance
    return np.asarray(np.eye(n_components)[nearest])
