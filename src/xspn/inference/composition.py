"""What a circuit is made of, as people read it: contexts, and in each its blocks and the variables that stand alone.

A context is what a sum chooses from. In it, variables are in leaves of several variables (blocks), stand alone, or
have contexts of their own. Everything here is a reading of the circuit: the distribution itself is not changed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.graph.graph import Graph
from xspn.graph.nodes import Node, Product, Sum
from xspn.leaves.base import Leaf

TELLING = 0.02  # nats: what a variable must tell of a context to mark it
SURE = 0.99


@dataclass(frozen=True)
class Parts:
    """What is independent inside a context.

    Attributes:
        dependent: Leaves of several variables (blocks) and sums over several variables, which have contexts of their
            own (mixtures); those whose variables depend on each other most first.
        alone: Nodes of one variable each, in the order of their variables.
    """

    dependent: tuple[Leaf | Sum, ...]
    alone: tuple[Node, ...]

    @property
    def blocks(self) -> tuple[Leaf, ...]:
        """The leaves among the dependent parts."""
        return tuple(part for part in self.dependent if isinstance(part, Leaf))

    @property
    def mixtures(self) -> tuple[Sum, ...]:
        """The sums among the dependent parts."""
        return tuple(part for part in self.dependent if isinstance(part, Sum))


@dataclass(frozen=True)
class Marginal:
    """The distribution of one variable: probabilities of its values, or mean and variance of a real one."""

    probabilities: FloatArray | None
    mean: float
    variance: float


@dataclass(frozen=True)
class Mark:
    """A variable that tells a context from the others.

    Attributes:
        variable: The variable.
        value: The value that is more, or less, frequent; for bits always 1, None for real variables. Of several the
            one that there is most more of, unless there is twice as much less of another.
        here: Its probability in the context, or the mean of a real variable.
        overall: The same in all contexts together.
        information: How much the variable tells, in nats a row.
        shift: How far its mean is from that in all contexts, in deviations of these; codes count as numbers.
    """

    variable: int
    value: int | None
    here: float
    overall: float
    information: float
    shift: float = 0.0

    @property
    def is_high(self) -> bool:
        """Whether there is more of it here."""
        return self.here > self.overall


class Composition:
    """A circuit's contexts and their parts; everything is found when it is asked for.

    Examples:
        >>> from xspn import Bernoulli, Exchangeable
        >>> pair = Exchangeable.from_class_probabilities([0, 1], [0.5, 0, 0.5])
        >>> apart = Product([Bernoulli(0, p=0.1), Bernoulli(1, p=0.4)])
        >>> found = Composition(Graph(Sum([0.25, 0.75], [pair, apart])))
        >>> [(weight, len(found.parts(context).blocks)) for weight, context in found.contexts(found.graph.root)]
        [(0.75, 0), (0.25, 1)]
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._marginals: dict[int, dict[int, Marginal]] = {}
        self._of_leaves: dict[int, dict[int, Marginal]] = {}
        self._of_mixtures: dict[int, float] = {}

    def contexts(self, node: Node) -> list[tuple[float, Node]]:
        """Return what a sum chooses from, with weights, the heaviest first; sums below sums are one choice.

        A node that is no sum is one context of its own.
        """
        found = [(weight, own) for own, weight in self._reached(node, lambda own: isinstance(own, Sum))]
        return sorted(found, key=lambda pair: -pair[0])

    def _reached(self, node: Node, passes: Callable[[Node], bool]) -> Iterator[tuple[Node, float]]:
        """Yield the nodes where ways down from a node end, with the chance that a row comes there.

        Ways go on below nodes that `passes` is true of. Children have smaller ids than their parents: of those that
        wait, the node with the largest id has been reached by all of its ways.
        """
        reach = {self.graph.id_of(node): 1.0}
        waiting = [-place for place in reach]
        while waiting:
            place = -heappop(waiting)
            own = self.graph.nodes[place]
            if not passes(own):
                yield own, reach[place]
                continue
            weights = own.weights.tolist() if isinstance(own, Sum) else [1.0] * len(own.children)
            for child, weight in zip(self.graph.child_ids(own), weights, strict=True):
                if weight > 0:
                    if child not in reach:
                        heappush(waiting, -child)
                    reach[child] = reach.get(child, 0.0) + weight * reach[place]

    def parts(self, node: Node) -> Parts:
        """Return the independent parts of a context."""
        found = list(self._factors(node))
        dependent = [part for part in found if len(part.scope) > 1 and isinstance(part, Leaf | Sum)]
        dependent.sort(key=lambda part: (-self._dependence(part), part.scope.bits))
        alone = [part for part in found if len(part.scope) == 1]
        return Parts(tuple(dependent), tuple(sorted(alone, key=lambda part: part.scope.bits)))

    def _dependence(self, part: Leaf | Sum) -> float:
        """Return the total correlation of a block, and a lower bound of it for a mixture.

        With Z the context, it is Σ I(X_i; Z) − I(X; Z) and what is left inside of contexts; I(X; Z) is at most H(Z).
        """
        if isinstance(part, Leaf):
            return float(np.nan_to_num(part.dependence()))
        place = self.graph.id_of(part)
        if place not in self._of_mixtures:
            contexts = self.contexts(part)
            inside = [(weight, own) for weight, node in contexts for own in self._factors(node)]
            left = sum(
                weight * float(np.nan_to_num(own.dependence())) for weight, own in inside if isinstance(own, Leaf)
            )
            overall = self.marginals(part)
            for weight, node in contexts:
                told = sum(_mark(v, own, overall[v]).information for v, own in self.marginals(node).items())
                left += weight * (told + float(np.log(weight)))
            self._of_mixtures[place] = max(0.0, left)
        return self._of_mixtures[place]

    def _factors(self, node: Node) -> Iterator[Node]:
        """Yield what a product is made of; nested products and trivial sums are expanded."""
        waiting = [node]
        while waiting:
            own = waiting.pop()
            if isinstance(own, Product) and len(own.scope) > 1:
                waiting.extend(own.children)
            elif isinstance(own, Sum) and len(choices := self.contexts(own)) == 1 and len(own.scope) > 1:
                waiting.append(choices[0][1])
            else:
                yield own

    def marginals(self, node: Node) -> dict[int, Marginal]:
        """Return the distribution of each variable below a node."""
        place = self.graph.id_of(node)
        if place not in self._marginals:
            self._marginals[place] = self._mixed(node)
        return self._marginals[place]

    def _mixed(self, node: Node) -> dict[int, Marginal]:
        """Return what all leaves below a node say of their variables, times the chance that they are reached."""
        found: dict[int, list[tuple[float, Marginal]]] = {}
        for leaf, reach in self._reached(node, lambda own: not isinstance(own, Leaf)):
            assert isinstance(leaf, Leaf)
            for variable, own in self._of_leaf(leaf).items():
                found.setdefault(variable, []).append((reach, own))
        return {variable: _mixture(parts) for variable, parts in found.items()}

    def _of_leaf(self, leaf: Leaf) -> dict[int, Marginal]:
        place = self.graph.id_of(leaf)
        if place not in self._of_leaves:
            self._of_leaves[place] = _marginals_of(leaf)
        return self._of_leaves[place]

    def deciding(self, contexts: Sequence[Node]) -> dict[int, list[int]]:
        """Return the variables that are all but sure in each context, and not the same in all, with these values."""
        found: dict[int, list[int]] = {}
        for variable in contexts[0].scope:
            values = [_sure_value(self.marginals(context)[variable]) for context in contexts]
            sure = [value for value in values if value is not None]
            if len(sure) == len(values) and len(set(sure)) > 1:
                found[variable] = sure
        return found

    def marks(self, context: Node, among: Node | Sequence[tuple[float, Node]]) -> list[Mark]:
        """Return the variables that tell a context from others, the most telling first.

        Args:
            context: The context.
            among: The sum that it belongs to, or some of its contexts with their weights.
        """
        here = self.marginals(context)
        if isinstance(among, Node):
            overall = self.marginals(among)
        else:
            total = sum(weight for weight, _ in among)
            overall = {v: _mixture([(w / total, self.marginals(own)[v]) for w, own in among]) for v in here}
        found = [_mark(variable, own, overall[variable]) for variable, own in here.items()]
        telling = [mark for mark in found if mark.information >= TELLING]
        return sorted(telling, key=lambda mark: (-mark.information, mark.variable))


def _marginals_of(leaf: Leaf) -> dict[int, Marginal]:
    if all(domain.is_discrete for domain in leaf.domains):
        table = leaf.marginals(np.full((1, len(leaf.variables)), np.nan))[0]
        sizes = [domain.cardinality or 0 for domain in leaf.domains]
        return {v: _of_probabilities(own[:k]) for v, own, k in zip(leaf.variables, table, sizes, strict=True)}
    mean, covariance = leaf.moments()
    return {
        v: Marginal(None, float(m), float(variance))
        for v, m, variance in zip(leaf.variables, mean, np.diag(covariance), strict=True)
    }


def _of_probabilities(own: FloatArray) -> Marginal:
    if len(own) == 2:
        one = float(own[1])
        return Marginal(own, one, one * (1.0 - one))
    codes = np.arange(len(own))
    mean = float(codes @ own)
    return Marginal(own, mean, float((codes - mean) ** 2 @ own))


def _sure_value(own: Marginal) -> int | None:
    if own.probabilities is None or own.probabilities.max() < SURE:
        return None
    return int(np.argmax(own.probabilities))


def _mixture(parts: list[tuple[float, Marginal]]) -> Marginal:
    if len(parts) == 1:
        return parts[0][1]
    tables = [own.probabilities for _, own in parts]
    if all(table is not None for table in tables):
        width = max(len(table) for table in tables if table is not None)
        total = np.zeros(width)
        for (weight, _), table in zip(parts, tables, strict=True):
            if table is not None:
                total[: len(table)] += weight * table
        return _of_probabilities(total)
    mean = sum(weight * own.mean for weight, own in parts)
    return Marginal(None, mean, sum(weight * (own.variance + (own.mean - mean) ** 2) for weight, own in parts))


def _mark(variable: int, here: Marginal, overall: Marginal) -> Mark:
    """Return how a variable differs: by Kullback-Leibler divergence, for real ones that of two means."""
    shift = (here.mean - overall.mean) / max(overall.variance, 1e-300) ** 0.5
    if here.probabilities is None or overall.probabilities is None:
        return Mark(variable, None, here.mean, overall.mean, 0.5 * shift**2, shift)
    own, all_of_them = here.probabilities, overall.probabilities[: len(here.probabilities)]
    seen = (own > 0) & (all_of_them > 0)
    terms = own[seen] * np.log(own[seen] / all_of_them[seen])
    value = 1 if len(own) == 2 else _telling_value(own - all_of_them)
    return Mark(variable, value, float(own[value]), float(all_of_them[value]), max(0.0, float(terms.sum())), shift)


def _telling_value(more: FloatArray) -> int:
    """Return the value that there is most more of; that of which there is less only if this is twice as much."""
    high, low = int(np.argmax(more)), int(np.argmin(more))
    return high if 2 * more[high] >= -more[low] else low
