"""Circuits of SPFlow as circuits of this library: the modules of version 1, and the nodes of version 0 (`spn`).

Nothing is imported from the other package: objects are known by the names of their classes and what they hold. A module
of SPFlow 1 stands for an array of nodes, (features, channels, repetitions); each becomes a node here.
"""

from collections.abc import Callable
from itertools import product as every_choice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray
from xspn.core.errors import FormatError
from xspn.graph.nodes import Node, Product, Sum
from xspn.io.from_deeprob import Names, bernoulli, categorical, checked_probabilities, from_node_graph
from xspn.io.json_format import UNUSABLE, shown_error
from xspn.leaves import Bernoulli, Categorical, ChowLiu, Gaussian, MultivariateGaussian

Nodes = NDArray[Any]  # (features, channels, repetitions) of nodes; None for a factor of 1
Build = Callable[[Any, list[Nodes]], Nodes]


def from_spflow(model: Any) -> Circuit:
    """Return a circuit of SPFlow as a circuit of this library.

    Of SPFlow 1: sums, products, element-wise and outer products, element-wise sums, splits, concatenations,
    factorizations and mixtures of repetitions, so RAT-SPNs too, with Bernoulli, categorical and normal leaves and
    binary Chow-Liu trees. Of SPFlow 0: sums and products with Bernoulli, categorical, Gaussian and multivariate
    Gaussian leaves. What has no counterpart is refused by name. Parameters in single precision are read as they are;
    weights are divided by their sums. The model must be one distribution: one feature, one channel and one repetition
    at its root.

    Args:
        model: The root module, or the root node.
    """
    if not hasattr(model, "out_shape"):
        return from_node_graph(model, SPFLOW_0)
    order = _inputs_first(model)
    built: dict[int, Nodes] = {}
    for module in order:
        try:
            built[id(module)] = MODULES[type(module).__name__](module, [built[id(own)] for own in _inputs(module)])
        except UNUSABLE as error:
            raise FormatError(f"SPFlow: {_shown(module)} is unusable ({shown_error(error)})") from error
    root = built[id(_root(model))]
    if root.size != 1 or root.item() is None:
        raise FormatError(f"SPFlow: expected one node at the root, found {_shown(model)}")
    return Circuit(root.item())


def _root(module: Any) -> Any:
    """Return what stands for a model: its root, if it is a module around one."""
    while type(module).__name__ not in MODULES and hasattr(module, "root_node"):
        module = module.root_node
    return module


def _inputs(module: Any) -> list[Any]:
    own = getattr(module, "inputs", None)
    if own is None:
        return []
    return [_root(module) for module in ([own] if hasattr(own, "out_shape") else own)]


def _inputs_first(model: Any) -> list[Any]:
    """Return every module once, inputs before what takes them, without recursion."""
    order: list[Any] = []
    done: dict[int, bool] = {}
    stack = [_root(model)]
    while stack:
        module = stack[-1]
        if type(module).__name__ not in MODULES:
            raise FormatError(f"SPFlow: {_shown(module)} has no counterpart; those that have are {', '.join(MODULES)}")
        if id(module) not in done:
            done[id(module)] = False
            stack += [own for own in _inputs(module) if id(own) not in done]
            continue
        stack.pop()
        if not done[id(module)]:
            done[id(module)] = True
            order.append(module)
    return order


def _shown(module: Any) -> str:
    """Return what a message calls a module."""
    shape = getattr(module, "out_shape", None)
    own = "" if shape is None else f" of {shape.features} × {shape.channels} × {shape.repetitions} nodes"
    return f"{type(module).__name__}{own}"


# -- sums and products -------------------------------------------------------------------------------------------------


def _numbers(tensor: Any) -> FloatArray:
    """Return a tensor as an array in double precision."""
    own = tensor.detach().cpu().double().numpy() if hasattr(tensor, "detach") else tensor
    return np.asarray(own, dtype=np.float64)


def _array(shape: tuple[int, ...], node: Callable[..., Node | None]) -> Nodes:
    """Return an array of nodes, from what makes one of its place."""
    found: Nodes = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        found[place] = node(*place)
    return found


def _product(factors: Any) -> Node | None:
    own = [node for node in factors if node is not None]
    return Product(own) if len(own) > 1 else own[0] if own else None


def _sum(weights: FloatArray, children: Any) -> Node | None:
    if all(node is None for node in children):
        return None
    return Sum(checked_probabilities(weights), children)


def _sums(module: Any, inputs: list[Nodes]) -> Nodes:
    w, (below,) = _numbers(module.weights), inputs  # (features, inputs, channels, repetitions)
    features, _, channels, repetitions = w.shape
    below = np.broadcast_to(below, (*below.shape[:2], repetitions))
    return _array((features, channels, repetitions), lambda f, c, r: _sum(w[f, :, c, r], below[f, :, r]))


def _elementwise_sums(module: Any, inputs: list[Nodes]) -> Nodes:
    w = _numbers(module.weights)  # (features, input channels, channels, inputs, repetitions)
    features, before, channels, _, repetitions = w.shape
    below = [np.broadcast_to(own, (features, before, repetitions)) for own in inputs]
    return _array(
        (features, before * channels, repetitions),
        lambda f, c, r: _sum(w[f, c // channels, c % channels, :, r], [own[f, c // channels, r] for own in below]),
    )


def _mixed_repetitions(module: Any, inputs: list[Nodes]) -> Nodes:
    w, (below,) = _numbers(module.weights), inputs  # (features, channels, repetitions)
    return _array((*w.shape[:2], 1), lambda f, c, _: _sum(w[f, c], below[f, c]))


def _products(module: Any, inputs: list[Nodes]) -> Nodes:
    (below,) = inputs
    return _array((1, *below.shape[1:]), lambda _, c, r: _product(below[:, c, r]))


def _elementwise_products(module: Any, inputs: list[Nodes]) -> Nodes:
    parts = np.broadcast_arrays(*_split(module, inputs))
    return _array(parts[0].shape, lambda f, c, r: _product(part[f, c, r] for part in parts))


def _outer_products(module: Any, inputs: list[Nodes]) -> Nodes:
    parts = _split(module, inputs)
    choices = list(every_choice(*(range(part.shape[1]) for part in parts)))
    features, _, repetitions = parts[0].shape
    return _array(
        (features, len(choices), repetitions),
        lambda f, c, r: _product(part[f, own, r] for part, own in zip(parts, choices[c], strict=True)),
    )


def _factorized(module: Any, inputs: list[Nodes]) -> Nodes:
    chosen, (below,) = _numbers(module.indices), inputs  # (inputs, features, repetitions)
    return _array((chosen.shape[1], *below.shape[1:]), lambda f, c, r: _product(below[chosen[:, f, r] > 0, c, r]))


def _split(module: Any, inputs: list[Nodes]) -> list[Nodes]:
    """Return the inputs of a product; a single one that is a split stands for its parts."""
    own = _inputs(module)
    if len(own) > 1 or type(own[0]).__name__ not in SPLITS:
        return inputs
    if int(own[0].dim) != 1:
        raise FormatError(f"a split along dimension {own[0].dim}, expected features")
    return [inputs[0][places] for places in SPLITS[type(own[0]).__name__](own[0], len(inputs[0]))]


def _concatenated(module: Any, inputs: list[Nodes]) -> Nodes:
    return np.concatenate(inputs, axis=int(module.dim) - 1)


SPLITS: dict[str, Callable[[Any, int], list[Any]]] = {
    "SplitConsecutive": lambda module, n: [
        list(range(start, min(start + n // module.num_splits, n))) for start in range(0, n, n // module.num_splits)
    ],
    "SplitInterleaved": lambda module, n: [
        list(range(start, n, module.num_splits)) for start in range(module.num_splits)
    ],
    "SplitByIndex": lambda module, n: [list(own) for own in module.indices],
}


# -- leaves ------------------------------------------------------------------------------------------------------------


def _variables(leaf: Any) -> list[int]:
    if getattr(leaf, "parameter_fn", None) is not None or tuple(getattr(leaf.scope, "evidence", ())):
        raise FormatError("a leaf whose parameters depend on other variables")
    return [int(variable) for variable in leaf.scope.query]


def _bernoulli_leaves(leaf: Any, _: list[Nodes]) -> Nodes:
    variables, p = _variables(leaf), _numbers(leaf.probs)
    return _array(p.shape, lambda f, c, r: Bernoulli(variables[f], p=float(p[f, c, r])))


def _categorical_leaves(leaf: Any, _: list[Nodes]) -> Nodes:
    variables, p = _variables(leaf), checked_probabilities(_numbers(leaf.probs))  # (…, values)
    return _array(p.shape[:3], lambda f, c, r: Categorical(variables[f], p[f, c, r]))


def _normal_leaves(leaf: Any, _: list[Nodes]) -> Nodes:
    variables, mean, std = _variables(leaf), _numbers(leaf.loc), _numbers(leaf.scale)
    return _array(
        mean.shape, lambda f, c, r: Gaussian(variables[f], mean=float(mean[f, c, r]), std=float(std[f, c, r]))
    )


def _chow_liu_leaves(leaf: Any, _: list[Nodes]) -> Nodes:
    """Return one tree for all features: it is the first one, the others are factors of 1."""
    variables, parents = _variables(leaf), [int(parent) for parent in leaf.parents]
    tables = np.exp(_numbers(leaf.log_cpt))  # (features, channels, repetitions, value, parent's value)
    if tables.shape[3] != 2:
        raise FormatError(f"a Chow-Liu tree of variables with {tables.shape[3]} values, expected bits")
    tables = checked_probabilities(np.swapaxes(tables, 3, 4))
    root = parents.index(-1)
    tables[root] = tables[root][:, :, :1]

    def tree(feature: int, c: int, r: int) -> Node | None:
        own = tables[:, c, r]
        return ChowLiu(variables, parents, own[:, :, 1], own[:, :, 0]) if feature == 0 else None

    return _array(tables.shape[:3], tree)


MODULES: dict[str, Build] = {
    "Sum": _sums,
    "ElementwiseSum": _elementwise_sums,
    "RepetitionMixingLayer": _mixed_repetitions,
    "Product": _products,
    "ElementwiseProduct": _elementwise_products,
    "OuterProduct": _outer_products,
    "Factorize": _factorized,
    "Cat": _concatenated,
    **{name: lambda module, inputs: inputs[0] for name in SPLITS},
    "Bernoulli": _bernoulli_leaves,
    "Categorical": _categorical_leaves,
    "Normal": _normal_leaves,
    "CLTree": _chow_liu_leaves,
}


# -- version 0 ---------------------------------------------------------------------------------------------------------

SPFLOW_0 = Names(
    "SPFlow",
    {
        "Bernoulli": lambda leaf, sizes: bernoulli(int(leaf.scope[0]), float(leaf.p), sizes),
        "Categorical": lambda leaf, sizes: categorical(int(leaf.scope[0]), range(len(leaf.p)), leaf.p, sizes),
        "Gaussian": lambda leaf, sizes: Gaussian(int(leaf.scope[0]), mean=float(leaf.mean), std=float(leaf.stdev)),
        "MultivariateGaussian": lambda leaf, sizes: MultivariateGaussian(
            [int(v) for v in leaf.scope], np.asarray(leaf.mean, float), np.asarray(leaf.sigma, float)
        ),
    },
    {"Categorical": lambda leaf: len(leaf.p) - 1},
)
