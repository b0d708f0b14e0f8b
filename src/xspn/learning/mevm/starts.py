"""Where EM starts from: rows shared out among components."""

import numpy as np
from numpy.typing import NDArray

from xspn.core.arrays import FloatArray
from xspn.learning.mevm.evidence import Partition


def features_of_blocks(cells: NDArray[np.float32], weights: FloatArray, blocks: Partition) -> FloatArray:
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
    centres = features[chosen]
    squares = (features**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)[None, :] - 2 * features @ centres.T
    nearest = np.argmin(squares + 1e-6 * rng.random(squares.shape), axis=1)  # ties are broken by chance
    return np.asarray(np.eye(n_components)[nearest])
