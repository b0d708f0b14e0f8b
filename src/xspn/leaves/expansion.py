"""Leaves over several discrete variables as circuits of leaves over one: what other programs can read.

`Leaf.expansion` gives them. A family says how by naming the states that a row passes through, variable by variable:
the values that follow must depend on those before through the state alone. Each state becomes a sum that looks at one
value. The number of ones is such a state, so an exchangeable leaf over n bits has O(n²) nodes; without any better one,
the state is the whole beginning of the row, which is exact for every family and exponential.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray, IntArray
from xspn.core.errors import QueryError
from xspn.core.logspace import logsumexp_quiet
from xspn.graph.nodes import Node, Product, Sum

if TYPE_CHECKING:
    from xspn.leaves.base import Leaf

MOST_BRANCHES = 1_000_000  # of the sums of one leaf

# From rows of which the first variables are set to what matters of them: (rows, any number of integers).
State = Callable[[FloatArray], AnyArray]


def in_sequence(leaf: "Leaf", state: State | None = None) -> Node:
    """Return a leaf as sums that look at one variable after the other, one sum for each state.

    Sums are selective, and their scopes are the last variables of the leaf, from some place on: the circuit is
    deterministic and structured.
    """
    sizes = [domain.cardinality for domain in leaf.domains]
    name = f"{type(leaf).__name__} over {leaf.scope}"
    if None in sizes:
        raise QueryError(f"{name} has real variables")
    rows = np.full((1, len(sizes)), np.nan)
    levels: list[tuple[FloatArray, IntArray]] = []  # log P(value | state) and the next state, (states, values)
    branches = 0
    for place, size in enumerate(sizes):
        size = int(size or 0)
        branches += len(rows) * size
        if branches > MOST_BRANCHES:
            raise QueryError(f"{name} takes more than {MOST_BRANCHES:,} branches as a circuit of single variables")
        filled = np.repeat(rows, size, axis=0)
        filled[:, place] = np.tile(np.arange(size, dtype=np.float64), len(rows))
        joint = leaf.log_prob(filled)
        possible = np.flatnonzero(~np.isneginf(joint))
        keys = filled[possible, : place + 1] if state is None else state(filled[possible])
        _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        following = np.full(len(filled), -1, dtype=np.int64)
        following[possible] = which.reshape(-1)
        table = joint.reshape(len(rows), size)
        levels.append((table - logsumexp_quiet(table, axis=1)[:, None], following.reshape(len(rows), size)))
        rows = filled[possible[first]]
    nodes: list[Node] = [univariate(leaf.variables[-1], log_p) for log_p in levels[-1][0]]
    for variable, (log_p, following) in zip(leaf.variables[-2::-1], levels[-2::-1], strict=True):
        nodes = _looking_at(variable, log_p, following, nodes)
    return nodes[0]


def _looking_at(variable: int, log_p: FloatArray, following: IntArray, below: Sequence[Node]) -> list[Node]:
    """Return one sum for each state, over the values of a variable and what they lead to."""
    size = log_p.shape[1]
    values = [indicator(variable, value, size) for value in range(size)]
    pairs: dict[tuple[int, int], Node] = {}
    nodes: list[Node] = []
    for own, to in zip(log_p, following.tolist(), strict=True):
        weights = np.exp(own)
        live = np.flatnonzero(weights > 0).tolist()
        for value in live:
            if (value, to[value]) not in pairs:
                pairs[value, to[value]] = Product([values[value], below[to[value]]])
        nodes.append(mixture_node(weights[live] / weights.sum(), [pairs[value, to[value]] for value in live]))
    return nodes


def mixture_node(weights: FloatArray, children: Sequence[Node]) -> Node:
    """Return a sum of the children whose weight is not 0, or the only one."""
    live = np.flatnonzero(weights > 0).tolist()
    return children[live[0]] if len(live) == 1 else Sum(weights[live], [children[k] for k in live])


def univariate(variable: int, log_p: Sequence[float] | FloatArray) -> "Leaf":
    """Return the leaf of one discrete variable with these log-probabilities, up to a common factor near 1."""
    from xspn.leaves.bernoulli import Bernoulli
    from xspn.leaves.categorical import Categorical

    p = np.exp(np.asarray(log_p, dtype=np.float64))
    p = p / p.sum()
    if len(p) == 2 and p[0] == 1 - p[1]:  # a Bernoulli leaf knows the second one alone
        return Bernoulli(variable, p=float(p[1]))
    return Categorical(variable, p)


def indicator(variable: int, value: int, size: int) -> "Leaf":
    """Return the leaf of a variable that has one value for certain."""
    return univariate(variable, np.where(np.arange(size) == value, 0.0, -np.inf))
