"""Circuits of deeprob-kit, whose nodes are objects with children, as circuits of this library.

Nothing is imported from the other package: objects are known by the names of their classes and what they hold. SPFlow's
first versions (`spn`) have nodes of the same kind; `from_node_graph` reads both.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray
from xspn.core.errors import FormatError
from xspn.graph.nodes import Node, Product, Sum
from xspn.io.json_format import UNUSABLE, shown_error
from xspn.leaves import Bernoulli, Categorical, ChowLiu, Gaussian

TOLERANCE = 1e-4  # by which probabilities in single precision may miss a sum of 1
MOST_VALUES = 1_000_000  # of a categorical variable

# From a leaf of the other package, and the number of values that its variables have, to a leaf.
FromLeaf = Callable[[Any, Mapping[int, int]], Node]


class Names(NamedTuple):
    """What a package calls things.

    Attributes:
        package: The package itself.
        leaves: What makes a leaf of one of its leaves, by the name of the class.
        values: The largest value of a leaf with values, by the name of the class.
    """

    package: str
    leaves: Mapping[str, FromLeaf]
    values: Mapping[str, Callable[[Any], int]]


def from_deeprob(model: Any) -> Circuit:
    """Return a circuit of deeprob-kit as a circuit of this library: sums, products and leaves as they are.

    Bernoulli, categorical and Gaussian leaves and binary Chow-Liu trees have counterparts. Categories are the codes of
    the values, whole numbers from 0. Other leaves (Uniform, Isotonic) are refused by name. Weights and probabilities in
    single precision are divided by their sums.

    Args:
        model: The root of the circuit, as `learn_spn` returns it.
    """
    return from_node_graph(model, DEEPROB)


def from_node_graph(root: Any, names: Names) -> Circuit:
    """Return the circuit of nodes that have `children`, and sums `weights`; shared nodes stay shared."""
    order = _children_first(root, names)
    sizes: dict[int, int] = {}
    for node in order:
        if type(node).__name__ in names.values:
            variable, most = int(node.scope[0]), names.values[type(node).__name__](node)
            if not 0 <= most < MOST_VALUES:
                raise FormatError(f"{names.package}: {_shown(node)} has the value {most}; expected codes from 0")
            sizes[variable] = max(sizes.get(variable, 2), most + 1)
    built: dict[int, Node] = {}
    for node in order:
        try:
            built[id(node)] = _node(node, built, sizes, names)
        except UNUSABLE as error:
            raise FormatError(f"{names.package}: {_shown(node)} is unusable ({shown_error(error)})") from error
    return Circuit(built[id(root)])


def _children_first(root: Any, names: Names) -> list[Any]:
    """Return every node once, children before parents, without recursion; refuse what is none, and circles."""
    order: list[Any] = []
    state: dict[int, bool] = {}  # False while the children of a node are looked at
    stack = [root]
    while stack:
        node = stack[-1]
        kind = type(node).__name__
        if kind not in ("Sum", "Product") and kind not in names.leaves:
            known = ", ".join(["Sum", "Product", *names.leaves])
            raise FormatError(f"{names.package}: {_shown(node)} has no counterpart; those that have are {known}")
        children = [] if kind in names.leaves else list(node.children)
        if id(node) not in state:
            state[id(node)] = False
            waiting = [child for child in children if not state.get(id(child), False)]
            if any(id(child) in state for child in waiting):
                raise FormatError(f"{names.package}: {_shown(node)} is below one of its own children")
            stack += waiting
            continue
        stack.pop()
        if not state[id(node)]:
            state[id(node)] = True
            order.append(node)
    return order


def _shown(node: Any) -> str:
    """Return what a message calls a node of another package."""
    number, scope = getattr(node, "id", None), getattr(node, "scope", None)
    where = f" over {list(scope)[:8]}" if isinstance(scope, list | tuple) else ""
    return f"{type(node).__name__}{'' if number is None else f' {number}'}{where}"


def _node(node: Any, built: Mapping[int, Node], sizes: Mapping[int, int], names: Names) -> Node:
    kind = type(node).__name__
    if kind in names.leaves:
        return names.leaves[kind](node, sizes)
    children = [built[id(child)] for child in node.children]
    if kind == "Product":
        return Product(children)
    return Sum(checked_probabilities(node.weights), children)


def checked_probabilities(probabilities: Any) -> FloatArray:
    """Return probabilities in double precision, divided by their sums along the last axis."""
    own = np.asarray(probabilities, dtype=np.float64)
    total = own.sum(axis=-1, keepdims=True)
    if not (abs(total - 1) <= TOLERANCE).all():
        raise FormatError(f"expected probabilities that sum to 1, found {total.ravel()[:3].tolist()}")
    return np.asarray(own / total)


# -- leaves ------------------------------------------------------------------------------------------------------------


def bernoulli(variable: int, p: float, sizes: Mapping[int, int]) -> Node:
    """Return a bit, or a variable of more values that takes two of them."""
    size = sizes.get(variable, 2)
    return Bernoulli(variable, p=p) if size == 2 else Categorical(variable, [1 - p, p, *[0.0] * (size - 2)])


def categorical(variable: int, values: Any, probabilities: Any, sizes: Mapping[int, int]) -> Node:
    """Return a categorical variable; values that a leaf does not have are impossible."""
    table = np.zeros(max(sizes.get(variable, 2), 2))
    table[np.asarray(values, dtype=np.int64)] = checked_probabilities(probabilities)
    return Categorical(variable, table)


def _chow_liu(leaf: Any, sizes: Mapping[int, int]) -> Node:
    """Return a tree from its log-probabilities, (variables, parent's value, own value)."""
    table = checked_probabilities(np.exp(np.asarray(leaf.params, dtype=np.float64)))
    table[leaf.root] = table[leaf.root, 0]
    return ChowLiu([int(v) for v in leaf.scope], np.asarray(leaf.tree).tolist(), table[:, :, 1], table[:, :, 0])


DEEPROB = Names(
    "deeprob-kit",
    {
        "Bernoulli": lambda leaf, sizes: bernoulli(int(leaf.scope[0]), float(leaf.p), sizes),
        "Categorical": lambda leaf, sizes: categorical(int(leaf.scope[0]), leaf.categories, leaf.probabilities, sizes),
        "Gaussian": lambda leaf, sizes: Gaussian(int(leaf.scope[0]), mean=float(leaf.mean), std=float(leaf.stddev)),
        "BinaryCLT": _chow_liu,
    },
    {"Categorical": lambda leaf: int(np.max(leaf.categories)) if np.min(leaf.categories) >= 0 else -1},
)
