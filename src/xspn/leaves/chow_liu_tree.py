"""The tree behind a Chow-Liu leaf: learning it, walking it, checking it."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from xspn._core.arrays import FloatArray
from xspn._core.checks import real_numbers
from xspn._core.errors import ParameterError
from xspn._core.logspace import safe_log


def children_of(parents: Sequence[int]) -> list[list[int]]:
    """Return the children of each node."""
    children: list[list[int]] = [[] for _ in parents]
    for i, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(i)
    return children


def parents_first(parents: Sequence[int]) -> list[int]:
    """Return the nodes that hang on a root, parents before children; nodes of a cycle are left out."""
    children = children_of(parents)
    order = [i for i, parent in enumerate(parents) if parent < 0]
    for i in order:
        order.extend(children[i])
    return order


def mutual_information(pairs: FloatArray, total: float, mass: float) -> FloatArray:
    """Return the mutual information of every two binary variables, from G = XᵀX and the number of rows.

    Each of the four cells of a pair gets mass/2, so that each value of a variable gets `mass`.
    """
    ones = np.diag(pairs)
    whole = total + 2 * mass
    p1 = (ones + mass) / whole
    cells = {
        (1, 1): (pairs + mass / 2) / whole,
        (1, 0): (ones[:, None] - pairs + mass / 2) / whole,
        (0, 1): (ones[None, :] - pairs + mass / 2) / whole,
        (0, 0): (total - ones[:, None] - ones[None, :] + pairs + mass / 2) / whole,
    }
    information = np.zeros_like(pairs, dtype=np.float64)
    for (a, b), joint in cells.items():
        first = p1 if a else 1 - p1
        second = p1 if b else 1 - p1
        with np.errstate(invalid="ignore"):
            ratio = safe_log(joint) - safe_log(first)[:, None] - safe_log(second)[None, :]
            information += np.where(joint > 0, joint * ratio, 0.0)
    return information


def spanning_tree(pairs: FloatArray, total: float, mass: float) -> list[int]:
    """Return the parents of the tree of largest mutual information (Prim's algorithm, root at 0)."""
    information = mutual_information(pairs, total, mass)
    n = len(information)
    parents = np.zeros(n, dtype=np.int64)
    parents[0] = -1
    inside = np.zeros(n, dtype=bool)
    inside[0] = True
    nearest = information[0].copy()
    for _ in range(n - 1):
        nxt = int(np.argmax(np.where(inside, -np.inf, nearest)))
        inside[nxt] = True
        closer = ~inside & (information[nxt] > nearest)
        parents[closer] = nxt
        nearest[closer] = information[nxt, closer]
    return [int(parent) for parent in parents]


def checked_parents(parents: Any, n: int) -> tuple[int, ...]:
    """Return the parents' positions, or say that there are not n of them."""
    own = tuple(parents) if isinstance(parents, Iterable) else ()
    if len(own) != n or not all(isinstance(parent, int | np.integer) and -1 <= parent < n for parent in own):
        raise ParameterError(f"ChowLiu: expected {n} parents, each a position or −1, found {parents!r}")
    return tuple(int(parent) for parent in own)


def checked_tables(p: Any, n: int) -> FloatArray:
    """Return P(X_i = 1 | parent = u) as an (n, 2) array, or say what is wrong and where."""
    table = real_numbers(p, "ChowLiu: probabilities")
    if table.shape != (n, 2):
        raise ParameterError(f"ChowLiu: expected probabilities of shape ({n}, 2), found {table.shape}")
    bad = ~((table >= 0) & (table <= 1))
    if bad.any():
        i, u = (int(place) for place in np.argwhere(bad)[0])
        raise ParameterError(f"ChowLiu: expected probabilities from 0 to 1, found {table[i, u]} at position {i}, {u}")
    return table
