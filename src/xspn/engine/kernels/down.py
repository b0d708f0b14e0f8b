"""The pass down the tape: the derivative of the root's probability by every value.

The derivative by a node times the node's value is the joint probability of the evidence and of the node being used. All
of it is sums and products of probabilities again: nothing is divided, so zeros do no harm. A derivative lives from the
visit of the first parent to that of the node: just as long, the other way round, as the value on the way up. So
derivatives use the same registers.
"""

from typing import Any

from numba import njit

Array = Any


@njit(nogil=True)
def _pass_on(derivatives: Array, out: int, fresh: bool, left: Array, i: int, right: Array, j: int) -> None:
    """Give left · right to a child: its first derivative, or one more."""
    if fresh:
        for r in range(derivatives.shape[1]):
            derivatives[out, r] = left[i, r] * right[j, r]
    else:
        for r in range(derivatives.shape[1]):
            derivatives[out, r] += left[i, r] * right[j, r]


@njit(nogil=True)
def sum_down(
    derivatives: Array, own: int, register: Array, fresh: Array, argument: Array, weight: Array, a: int, b: int
) -> None:
    """Pass the derivative by a sum on to its children, by their weights."""
    for e in range(a, b):
        out, w = register[argument[e]], weight[e]
        if fresh[e]:
            for r in range(derivatives.shape[1]):
                derivatives[out, r] = w * derivatives[own, r]
        else:
            for r in range(derivatives.shape[1]):
                derivatives[out, r] += w * derivatives[own, r]


@njit(nogil=True)
def product_down(
    values: Array,
    base: int,
    derivatives: Array,
    own: int,
    register: Array,
    fresh: Array,
    argument: Array,
    a: int,
    b: int,
    factors: Array,
) -> None:
    """Pass the derivative by a product on to its children, multiplied by the other factors.

    Those after child k are kept in factors[k + 1]; those before it, and the derivative, are gathered in factors[0].
    """
    if b - a == 2:
        first, second = argument[a], argument[a + 1]
        _pass_on(derivatives, register[first], fresh[a], derivatives, own, values, second - base)
        _pass_on(derivatives, register[second], fresh[a + 1], derivatives, own, values, first - base)
        return
    for r in range(derivatives.shape[1]):
        factors[0, r] = derivatives[own, r]
        factors[b - a, r] = 1
    for e in range(b - 1, a, -1):
        k, child = e - a, argument[e] - base
        for r in range(derivatives.shape[1]):
            factors[k, r] = factors[k + 1, r] * values[child, r]
    for e in range(a, b):
        child = argument[e] - base
        _pass_on(derivatives, register[argument[e]], fresh[e], factors, 0, factors, e - a + 1)
        for r in range(derivatives.shape[1]):
            factors[0, r] *= values[child, r]
