"""Sums and products of a program on a device of torch, each level at once: up, down, and on the way of rows."""

import numpy as np
import torch
from torch import Tensor

from xspn.engine.program import ProductStep, SumStep
from xspn.engine.torch_tables import DeviceArrays
from xspn.engine.torch_walks import Walkers


class SumTensors:
    """Sums of one level and one number of children."""

    def __init__(self, step: SumStep, to: DeviceArrays, origin: "SumTensors | None" = None) -> None:
        self._own = slice(step.start, step.stop)
        self._children: Tensor = to.indices(step.children) if origin is None else origin._children  # (arity, sums)
        self.weights = to.numbers(np.exp(step.log_weights))  # (arity, sums)

    def up(self, values: Tensor) -> None:
        """Fill the values of these slots."""
        out = values[self._own]
        torch.mul(values[self._children[0]], self.weights[0, :, None], out=out)
        for child, weight in zip(self._children[1:], self.weights[1:], strict=True):
            out.addcmul_(values[child], weight[:, None])

    def up_best(self, values: Tensor) -> None:
        """Fill the values of these slots with those of their best children."""
        out = values[self._own]
        torch.mul(values[self._children[0]], self.weights[0, :, None], out=out)
        for child, weight in zip(self._children[1:], self.weights[1:], strict=True):
            torch.maximum(out, values[child] * weight[:, None], out=out)

    def walk(self, active: Tensor, walkers: Walkers) -> None:
        """Go down to one child of each sum: by chance, or to the best one, the first of equals."""
        own, walker = active[self._own].nonzero(as_tuple=True)
        terms = self.weights[:, own]  # (arity, pairs of sum and walker)
        if walkers.values is not None:
            terms = terms * walkers.values[self._children[:, own], walkers.column[walker]]
        if walkers.keys is None:
            chosen = terms.argmax(dim=0)
        else:
            ends = terms.cumsum(dim=0)
            target = walkers.uniform(self._own.start + own, walker, 0) * ends[-1]
            chosen = (ends[:-1] <= target).sum(dim=0)
        active[self._children[chosen, own], walker] = True

    def down(self, values: Tensor, derivatives: Tensor) -> None:
        """Add to the derivatives by the children."""
        own = derivatives[self._own]
        for child, weight in zip(self._children, self.weights, strict=True):
            derivatives.index_add_(0, child, own * weight[:, None])

    def statistics(self, values: Tensor, derivatives: Tensor) -> Tensor:
        """Return the flow to each child: (arity, sums)."""
        own = derivatives[self._own]
        return torch.stack([(own * values[child]).sum(dim=1) for child in self._children]) * self.weights


class ProductTensors:
    """Products of one level, those of the same number of children together."""

    def __init__(self, step: ProductStep, to: DeviceArrays) -> None:
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

    def walk(self, active: Tensor, walkers: Walkers) -> None:
        """Go down to all children of each product."""
        for own, children in self._groups:
            product, walker = active[own].nonzero(as_tuple=True)
            for child in children:
                active[child[product], walker] = True

    def down(self, values: Tensor, derivatives: Tensor) -> None:
        """Add to the derivatives by the children."""
        for own, children in self._groups:
            after = [torch.ones((), dtype=values.dtype, device=values.device)]
            for child in reversed(children[1:]):
                after.append(values[child] * after[-1])
            before = derivatives[own]
            for child, rest in zip(children, reversed(after), strict=True):
                derivatives.index_add_(0, child, before * rest)
                before = before * values[child]
