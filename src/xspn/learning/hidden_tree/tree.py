"""Which block hangs under which."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from xspn._core.arrays import FloatArray

STRONGEST = 1 - 1e-6  # a correlation whose mutual information is still a number


@dataclass(frozen=True)
class Tree:
    """A rooted tree.

    Attributes:
        parents: The parent of each node; −1 for the root.
        order: The nodes, parents before children.
        children: Those of each node.
    """

    parents: tuple[int, ...]
    order: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]

    @property
    def root(self) -> int:
        """The node without a parent."""
        return self.order[0]


def tree_of(features: FloatArray, weights: FloatArray) -> Tree:
    """Return the tree of largest mutual information, as if features were normal; what is most connected is the root.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(500, 3)).cumsum(axis=1)  # a chain
        >>> tree_of(x, np.ones(500)).parents
        (1, -1, 1)
    """
    n = features.shape[1]
    centred = (features - np.average(features, axis=0, weights=weights)) * np.sqrt(weights)[:, None]
    norms = np.sqrt((centred**2).sum(axis=0))
    scaled = centred / np.where(norms > 0, norms, 1.0)
    correlations = np.minimum(abs(scaled.T @ scaled), STRONGEST)
    information = -0.5 * np.log1p(-(correlations**2))
    np.fill_diagonal(information, 0.0)
    root = int(information.sum(axis=0).argmax())
    distances = 1.0 + information.max() - information  # an edge of no length would be none
    np.fill_diagonal(distances, 0.0)
    edges = minimum_spanning_tree(distances)
    order, parents = breadth_first_order(edges, root, directed=False)
    children: list[list[int]] = [[] for _ in range(n)]
    for node in order[1:].tolist():
        children[int(parents[node])].append(node)
    above = tuple(int(parent) if parent >= 0 else -1 for parent in parents)
    return Tree(above, tuple(order.tolist()), tuple(map(tuple, children)))
