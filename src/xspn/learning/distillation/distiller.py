"""From a large circuit to one of at most so many parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray, FloatArray
from xspn.core.checks import whole_number
from xspn.core.errors import ParameterError
from xspn.core.logspace import safe_log
from xspn.data.domain import Domain
from xspn.engine import Automatic, compile_graph
from xspn.graph.graph import Graph, summarize
from xspn.graph.nodes import Node, Product
from xspn.graph.transform import simplify
from xspn.inference import queries
from xspn.learning.data import different_rows
from xspn.learning.distillation.flows import Flows
from xspn.learning.distillation.loosening import Loosenings, loosened
from xspn.learning.distillation.pruning import Cuts
from xspn.learning.em import EMOptions, fit_parameters
from xspn.learning.steps import step
from xspn.leaves import Gaussian
from xspn.leaves.base import Smoothing
from xspn.leaves.expansion import univariate

FIRST = 4  # times the wanted size is left by a first cut
MOST_SAMPLED, FEWEST_ROWS = 20_000, 500
CELLS = 5e8  # parameters × rows of a pass
CUTS, CLOSE = 6, 0.9  # so many attempts at a size, unless one of them is this close below
PASSES, FEW_PASSES, PATIENCE = 8, 2, 2
SMOOTHING = 0.01  # where there are sampled rows: they are many, and nothing is impossible among them


def check_budget(most: Any, domains: Sequence[Domain | None], name: str = "max_parameters") -> None:
    """Refuse a number of parameters that is none, or too small for a leaf for each column.

    Examples:
        >>> check_budget(1, [Domain.binary(), Domain.binary()])
        Traceback (most recent call last):
        ...
        xspn.core.errors.ParameterError: max_parameters: expected at least 2, which independent columns have, found 1
    """
    whole_number(name, most, 1)
    least = sum(2 if one.cardinality is None else one.cardinality - 1 for one in domains if one is not None)
    if most < least:
        raise ParameterError(f"{name}: expected at least {least:,}, which independent columns have, found {most:,}")


def distill(
    graph: Graph,
    most: int,
    rows: AnyArray,
    weights: FloatArray,
    seed: int,
    smoothing: float = 0.1,
    validation: tuple[AnyArray, FloatArray] | None = None,
) -> Graph:
    """Return a circuit of at most `most` parameters that stands for a larger one; one that is small enough as it is.

    Args:
        graph: The large circuit.
        most: The largest number of parameters.
        rows: The training rows, NaN for what is missing.
        weights: The weight of each.
        seed: The seed of the rows that are drawn from the large circuit.
        smoothing: The mass of pseudo-rows with which EM fits training rows.
        validation: Rows that nothing was learned from, and their weights; without them, rows drawn from the large
            circuit tell what is close to it.
    """
    check_budget(most, graph.domains)
    if summarize(graph).parameters <= most:
        return graph
    start = Graph(simplify(graph.root), graph.n_variables)
    known = None if validation is None else different_rows(*validation)
    return _Distiller(start, *different_rows(rows, weights), seed, smoothing, known).smaller(most)


def independent(graph: Graph) -> Graph:
    """Return the product of one leaf for each column that is closest to a circuit."""
    backend = Automatic(compile_graph(graph))
    nothing = np.full((1, graph.n_variables), np.nan)
    table = backend.marginals(nothing)[0]
    mean, variance = queries.means(backend, nothing)[0], queries.variances(backend, nothing)[0]
    leaves: list[Node] = []
    for v in graph.root.scope:
        domain = graph.domains[v]
        if domain is not None and domain.cardinality is not None:
            leaves.append(univariate(v, safe_log(table[v, : domain.cardinality])))
        else:
            leaves.append(Gaussian(v, mean=float(mean[v]), std=float(np.sqrt(variance[v]))))
    return Graph(leaves[0] if len(leaves) == 1 else Product(leaves), graph.n_variables)


@dataclass(frozen=True, eq=False)
class _Distiller:
    """A large circuit, and the rows that tell what must stay of it."""

    large: Graph
    rows: AnyArray
    weights: FloatArray
    seed: int
    smoothing: float
    known: tuple[AnyArray, FloatArray] | None

    def smaller(self, most: int) -> Graph:
        """Return the smaller circuit that does best on validation rows."""
        current = self.large
        if summarize(current).parameters > FIRST * most:  # what is left of a first cut is fitted before the second one
            first = self._cut(current, FIRST * most)
            current = (
                current if first is None else max((first, self._fitted_to_both(first, FEW_PASSES)), key=self._score)
            )
        found = [independent(self.large)]
        small = current if summarize(current).parameters <= most else self._cut(current, most)
        if small is not None:
            found += [small, self._fitted_to_both(small, PASSES), self._fitted_to_rows(small)]
        return max(found, key=self._score)

    @cached_property
    def validation(self) -> tuple[AnyArray, FloatArray]:
        """The validation rows: given, or drawn from the large circuit."""
        if self.known is not None:
            return self.known
        drawn = self._drawn(1, self._affordable(self.large, MOST_SAMPLED // 4))
        return drawn, np.ones(len(drawn))

    @cached_property
    def both(self) -> tuple[AnyArray, FloatArray]:
        """Training rows and rows drawn from the large circuit, in random order."""
        drawn = self._drawn(0, MOST_SAMPLED)
        rows = np.concatenate([np.asarray(self.rows, dtype=np.float64), drawn])
        weights = np.concatenate([self.weights, np.ones(len(drawn))])
        order = np.random.default_rng(self.seed).permutation(len(rows))
        return rows[order], weights[order]

    def _drawn(self, number: int, n: int) -> FloatArray:
        rng = np.random.default_rng([self.seed, number])
        nothing = np.full((1, self.large.n_variables), np.nan)
        return queries.sample(Automatic(compile_graph(self.large)), nothing, rng, None, n)

    def _affordable(self, graph: Graph, most: int) -> int:
        """Return of how many rows a pass over a circuit does not take too long."""
        return int(np.clip(CELLS / max(summarize(graph).parameters, 1), min(FEWEST_ROWS, most), most))

    def _some(self, graph: Graph) -> tuple[AnyArray, FloatArray]:
        rows, weights = self.both
        n = self._affordable(graph, len(rows))
        return rows[:n], weights[:n]

    def _score(self, graph: Graph) -> float:
        rows, weights = self.validation
        return float(np.average(Automatic(compile_graph(graph)).log_likelihood(rows), weights=weights))

    def _cut(self, graph: Graph, most: int) -> Graph | None:
        """Return the circuit without what matters least; None if it cannot be made so small."""
        flows = Flows.of(graph, *self._some(graph))
        own = Loosenings.of(flows)
        price = Cuts(flows, own).price_of(most)
        for wanted in (price, 4 * price, np.inf):  # leaves may hold more dependence than there is room for
            found = _largest(Cuts(loosened(flows, own, wanted)), most)
            if found is not None:
                return found
        return None

    def _fitted_to_both(self, graph: Graph, passes: int) -> Graph:
        """Return the circuit fitted by EM to training rows and drawn ones."""
        return self._fitted(graph, *self._some(graph), SMOOTHING, passes)

    def _fitted_to_rows(self, graph: Graph) -> Graph:
        """Return the circuit fitted by EM to the training rows alone."""
        n = self._affordable(graph, len(self.rows))
        alone = np.random.default_rng(self.seed).permutation(len(self.rows))[:n]
        return self._fitted(graph, self.rows[alone], self.weights[alone], self.smoothing, PASSES)

    def _fitted(self, graph: Graph, rows: AnyArray, weights: FloatArray, smoothing: float, passes: int) -> Graph:
        options = EMOptions(passes, Smoothing(smoothing, "values"), patience=PATIENCE)
        of_valid, valid_weight = self.validation
        fit = fit_parameters(graph, rows, options, weights, of_valid, valid_weight=valid_weight)
        return Graph(fit.root, graph.n_variables)


def _largest(cuts: Cuts, most: int) -> Graph | None:
    """Return a circuit that is as large as allowed, or not much smaller; None if all are too large.

    When leaves become one, so do products of the same leaves. How much smaller that makes the circuit shows only then.
    """
    best: Graph | None = None
    best_size, low, target, too_large = 0, 0.0, float(most), np.inf
    for _ in range(CUTS):
        found = cuts.cut(cuts.price_of(int(target)))
        size = summarize(found).parameters
        step()
        if size > most:
            if best is None:
                return None
            too_large = target
        else:
            low = target
            if best is None or size > best_size:
                best, best_size = found, size
        if best_size >= CLOSE * most or best_size == 0:
            break
        target = min(low * most / best_size, (low + too_large) / 2)
    return best
