"""A program's steps as operations on tensors: probabilities on the way up, derivatives on the way down."""

import numpy as np
import torch
from torch import Tensor

from xspn.engine.program import ProductStep, SumStep
from xspn.engine.torch_tables import Tables


class Sums:
    """Sums of one level and one number of children."""

    def __init__(self, step: SumStep, to: Tables) -> None:
        self._own = slice(step.start, step.stop)
        self._children = [to.indices(child) for child in step.children]
        self._weights = [to.numbers(np.exp(weight))[:, None] for weight in step.log_weights]

    def up(self, values: Tensor) -> None:
        """Fill the values of these slots."""
        out = values[self._own]
        torch.mul(values[self._children[0]], self._weights[0], out=out)
        for child, weight in zip(self._children[1:], self._weights[1:], strict=True):
            out.addcmul_(values[child], weight)

    def down(self, values: Tensor, slopes: Tensor) -> None:
        """Add to the derivatives by the children."""
        own = slopes[self._own]
        for child, weight in zip(self._children, self._weights, strict=True):
            slopes.index_add_(0, child, own * weight)


class Products:
    """Products of one level, those of the same number of children together."""

    def __init__(self, step: ProductStep, to: Tables) -> None:
        starts, arities = step.children.indptr[:-1], np.diff(step.children.indptr)
        self._groups: list[tuple[Tensor, list[Tensor]]] = []
        for arity in np.unique(arities):
            own = np.flatnonzero(arities == arity)
            children = [to.indices(step.children.indices[starts[own] + place]) for place in range(int(arity))]
            self._groups.append((to.indices(step.start + own), children))

    def up(self, values: Tensor) -> None:
        """Fill the values of these slots."""
        for own, children in self._groups:
            out = values[children[0]]
            for child in children[1:]:
                out *= values[child]
            values[own] = out

    def down(self, values: Tensor, slopes: Tensor) -> None:
        """Add to the derivatives by the children."""
        for own, children in self._groups:
            after = [torch.ones((), dtype=values.dtype, device=values.device)]
            for child in reversed(children[1:]):
                after.append(values[child] * after[-1])
            before = slopes[own]
            for child, rest in zip(children, reversed(after), strict=True):
                slopes.index_add_(0, child, before * rest)
                before = before * values[child]
