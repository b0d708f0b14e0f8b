"""Fitting continuous mixtures (Correia et al., AAAI 2023), and fitted ones as circuits.

A row is drawn by drawing a point of a latent space, which a decoder turns into the parameters of a simple distribution.
With finitely many points this is a circuit: one sum. Every step of learning integrates over other points, so that the
decoder is right everywhere and not at some points only: this is what keeps it from learning rows by heart.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from xspn.core.arrays import FloatArray
from xspn.graph.nodes import Node, Product, Sum
from xspn.learning.continuous.decoder import Decoder
from xspn.learning.continuous.indicators import BlockIndicators, Components, Matrix, SeenRows
from xspn.learning.hclt.tree import CountedRows
from xspn.learning.mevm.partition import BlockPartition
from xspn.learning.steps import step
from xspn.leaves import Bernoulli, ChowLiu, Exchangeable

LARGEST_BATCH, ENOUGH_BATCHES = 256, 40  # rows of a step; a pass has so many steps where rows are few
ROWS_AT_ONCE = 500  # for likelihoods
LAST_STEP = 0.01  # of the first one; steps shrink along a cosine
SOFTENED = 1e-5  # of each distribution is spread evenly, so that nothing becomes impossible
EDGE = 1e-6  # of the unit interval, which points keep away from


@dataclass(frozen=True)
class ContinuousOptions:
    """How a continuous mixture is fitted.

    Attributes:
        components: The number of points of the fitted mixture.
        dimensions: Those of the latent space.
        points: Over how many points each step of learning integrates.
        hidden: The sizes of the decoder's hidden layers.
        passes: The number of passes over the data.
        step: The first step's length.
    """

    components: int
    dimensions: int = 16
    points: int = 2048
    hidden: tuple[int, ...] = (64, 128)
    passes: int = 20
    step: float = 0.005


@dataclass(frozen=True, eq=False)
class FittedContinuous:
    """Components with equal mixture weights.

    Attributes:
        components: The components.
        best_pass: The pass after which the decoder was taken.
        score: The mean log-likelihood of the validation rows at that time, or of the training rows on the way.
    """

    components: Components
    best_pass: int
    score: float


def fit_continuous(
    rows: CountedRows,
    layout: BlockIndicators,
    options: ContinuousOptions,
    seed: int,
    validation: CountedRows | None = None,
    last_pass: int | None = None,
) -> FittedContinuous:
    """Fit a continuous mixture.

    Args:
        rows: The rows; of each block all cells are there or none, and with a tree all cells are.
        layout: The blocks, and which variables depend on which.
        options: How it is fitted.
        seed: The seed of the decoder, of the batches and of the points.
        validation: Validation rows, which choose the pass after which the decoder is taken.
        last_pass: After which pass to stop, if not after all of them.
    """
    rng = np.random.default_rng(seed)
    seen = layout.of_rows(rows.in_even_pieces())
    held_out = None if validation is None else layout.of_rows(validation)
    sizes = (options.dimensions, *options.hidden, layout.n_parameters)
    decoder = Decoder(sizes, _overall_logits(layout, seen), rng)
    final = _Points(options.dimensions, options.components).drawn(rng)
    best, kept = (0, -np.inf), decoder.copy_of_parameters()
    for done, score in enumerate(_passes(decoder, layout, seen, options, rng), start=1):
        if held_out is not None:
            own = float(np.average(_logs(_decoded(decoder, layout, final), held_out), weights=held_out.weights))
            if own > best[1]:
                best, kept = (done, own), decoder.copy_of_parameters()
        else:
            best = done, score
        if done == last_pass:
            break
    if held_out is not None:
        decoder.restore(kept)
    return FittedContinuous(_decoded(decoder, layout, final), *best)


class _Points:
    """Points that fill a latent space with a standard normal distribution evenly: Sobol's, shifted at random."""

    def __init__(self, dimensions: int, number: int) -> None:
        # More than asked for, because Sobol's sequence is balanced at powers of two only.
        self._even = qmc.Sobol(dimensions, scramble=False).random_base2(int(np.ceil(np.log2(number))))[:number]

    def drawn(self, rng: np.random.Generator) -> Matrix:
        shifted = (self._even + rng.random(self._even.shape[1])) % 1.0
        return np.asarray(ndtri(np.clip(shifted, EDGE, 1.0 - EDGE)), dtype=np.float32)


def _passes(
    decoder: Decoder, layout: BlockIndicators, rows: SeenRows, options: ContinuousOptions, rng: np.random.Generator
) -> Iterator[float]:
    """Yield after each pass the mean log-likelihood of the rows on the way."""
    points = _Points(options.dimensions, options.points)
    n_rows, total = len(rows.weights), float(rows.weights.sum())
    n_batches = max(min(n_rows, ENOUGH_BATCHES), -(-n_rows // LARGEST_BATCH))
    done = 0
    for _ in range(options.passes):
        log_likelihood = 0.0
        for batch in np.array_split(rng.permutation(n_rows), n_batches):
            falling = 0.5 * (1 + np.cos(np.pi * done / (n_batches * options.passes)))
            length = options.step * (LAST_STEP + (1 - LAST_STEP) * falling)
            log_likelihood += _step(decoder, layout, rows.take(batch), points.drawn(rng), length)
            done += 1
        step()
        yield log_likelihood / total


def _step(decoder: Decoder, layout: BlockIndicators, batch: SeenRows, points: Matrix, length: float) -> float:
    """Move the decoder towards what a batch of rows says; return their log-likelihood before."""
    layers = decoder.layers(points)
    components = layout.components(layers[-1])
    joint = components.log_probs(batch)
    top = joint.max(axis=1, keepdims=True)
    joint -= top
    np.exp(joint, out=joint)
    sums = joint.sum(axis=1, keepdims=True)
    own = (batch.weights / batch.weights.sum()).astype(np.float32)
    joint *= own[:, None] / sums
    decoder.ascend(layers, components.slopes(batch, joint), length)
    logs = (top + np.log(sums))[:, 0] - np.log(len(points)) - batch.log_arrangements
    return float(batch.weights @ logs)


def _overall_logits(layout: BlockIndicators, rows: SeenRows) -> Matrix:
    """Return the natural parameters of all rows together, blocks independent of each other."""
    ones = rows.weights @ rows.indicators[:, : layout.width]
    seen = rows.weights.sum() if rows.seen is None else (rows.weights @ rows.seen)[layout.blocks]
    zero = seen - np.add.reduceat(ones, layout.starts)[layout.blocks]
    own = np.log((ones + 0.5) / (zero + 0.5))
    return np.concatenate([own, np.zeros(len(layout.children))]).astype(np.float32)


def _decoded(decoder: Decoder, layout: BlockIndicators, points: Matrix) -> Components:
    """Return the components that belong to points, a little of each distribution spread evenly."""
    rough = layout.components(decoder.layers(points)[-1])
    sizes = np.array(layout.sizes)[layout.blocks][:, None]
    chances = (1 - SOFTENED) * rough.chances.astype(np.float64) + SOFTENED / (sizes + 1)
    zero = 1.0 - np.add.reduceat(chances, layout.starts, axis=0)
    logits = np.log(chances / np.maximum(zero, SOFTENED / (sizes.max() + 1) / 2)[layout.blocks])
    beside = (1 - SOFTENED) * rough.chances_beside.astype(np.float64) + SOFTENED / 2
    coupling = np.log(beside / (1 - beside)) - logits[layout.children]
    return layout.components(np.vstack([logits, coupling]).astype(np.float32))


def row_scores(fitted: FittedContinuous, rows: CountedRows) -> FloatArray:
    """Return the log-probability of each row, in single precision."""
    return _logs(fitted.components, fitted.components.layout.of_rows(rows))


def _logs(components: Components, rows: SeenRows) -> FloatArray:
    found = []
    for start in range(0, len(rows.weights), ROWS_AT_ONCE):
        part = rows.take(np.arange(start, min(start + ROWS_AT_ONCE, len(rows.weights))))
        joint = components.log_probs(part)
        top = joint.max(axis=1)
        sums = np.exp(joint - top[:, None]).sum(axis=1) / joint.shape[1]
        found.append(top + np.log(sums.astype(np.float64)) - part.log_arrangements)
    return np.concatenate(found)


def circuit_of(fitted: FittedContinuous, blocks: BlockPartition) -> Node:
    """Return the mixture as a sum; single variables of a component are one leaf, a forest."""
    components, layout = fitted.components, fitted.components.layout
    single = [b for b, size in enumerate(layout.sizes) if size == 1]
    place = {b: i for i, b in enumerate(single)}
    parents = [place.get(layout.parents[b], -1) for b in single]
    variables = [int(blocks[b][0]) for b in single]
    columns = layout.starts[single]
    given = np.full(layout.width, -1)
    given[layout.children] = np.arange(len(layout.children))
    nodes: list[Node] = []
    for own, beside in zip(
        components.chances.T.astype(np.float64), components.chances_beside.T.astype(np.float64), strict=True
    ):
        parts: list[Node] = []
        for b, (start, size) in enumerate(zip(layout.starts.tolist(), layout.sizes, strict=True)):
            if size > 1:
                chances = np.concatenate([[max(1.0 - own[start : start + size].sum(), 0.0)], own[start : start + size]])
                parts.append(Exchangeable.from_class_probabilities(blocks[b].tolist(), chances / chances.sum()))
        if len(single) == 1:
            parts.append(Bernoulli(variables[0], p=float(own[columns[0]])))
        elif single:
            p = np.repeat(own[columns][:, None], 2, axis=1)
            has_parent = given[columns] >= 0
            p[has_parent, 1] = beside[given[columns][has_parent]]
            parts.append(ChowLiu(variables, parents, p))
        nodes.append(parts[0] if len(parts) == 1 else Product(parts))
    return nodes[0] if len(nodes) == 1 else Sum(np.full(len(nodes), 1.0 / len(nodes)), nodes)
