"""How much work is put into a model."""

from dataclasses import dataclass, replace
from itertools import product

from xspn.learning.config import LearnConfig

LEAST_SMOOTHING = 1e-3


@dataclass(frozen=True)
class Effort:
    """What is tried, and how often.

    Attributes:
        thresholds: The values of ρ that are tried beside the one that was asked for.
        least_rows: The values of `min_instances` that are tried beside the one that was asked for.
        finalists: How many of these settings, the best ones for one circuit, are tried as a small bag.
        pilots: The number of circuits of such a bag, an even one (or 1 for none); a bag wants smaller leaves than one
            circuit, so that the best one is tried again with ever smaller ones.
        circuits: The number of circuits of the final bag.
        bag_parameters: The largest number of parameters of that bag, as far as one circuit tells: settings with larger
            ones are not tried as bags.
        smoothings: With which multiples of α and of the shrinkage the best of the small bags is tried again: a bag may
            want other ones than a circuit.
        leaves: What becomes of small slices, if nothing else was asked for: circuits that are mixed with many others
            need no mixtures in their leaves.
        both_kinds: Whether every other circuit of a bag may be learned without exchangeable leaves: the two kinds err
            in different ways, and a mixture is often better than either. Small bags tell.
        refined_smoothings: With which multiples of α EM fits copies and trees; what is best for rows kept apart is
            taken.
        bases: How many circuits, the best one and smaller ones, are copied for EM to take the copies apart.
        copies: How many copies: first so many of each, then more of the best, if that is clearly better.
        passes: The largest number of EM's passes over copies.
        refined_cells: The largest number of parameters times rows that EM is asked to work on.
        refined_parameters: The largest number of parameters, for tables of few rows.
        tree_states: How many kinds each block of a hidden tree may have.
        trees: How many trees are mixed, with the number of kinds that is best.
        tree_cells: The largest number of moves between kinds, times rows, of a tree.
    """

    thresholds: tuple[float, ...]
    least_rows: tuple[int, ...]
    finalists: int
    pilots: int
    circuits: int
    bag_parameters: float = 2e6
    smoothings: tuple[tuple[float, float], ...] = ((1.0, 1.0),)
    leaves: str = "auto"
    both_kinds: bool = False
    refined_smoothings: tuple[float, ...] = (1.0, 5.0)
    bases: int = 2
    copies: tuple[int, ...] = ()
    passes: int = 200
    refined_cells: float = 2e9
    refined_parameters: int = 200_000
    tree_states: tuple[int, ...] = ()
    trees: int = 1
    tree_cells: float = 1e10

    def settings(self, config: LearnConfig) -> list[LearnConfig]:
        """Return the settings to try: the one that was asked for, and all others of the grid."""
        if config.fallback == "auto":
            config = replace(config, fallback=self.leaves)
        thresholds = dict.fromkeys([config.independence_threshold, *self.thresholds])
        rows = dict.fromkeys([config.min_instances, *self.least_rows])
        return [replace(config, independence_threshold=t, min_instances=m) for t, m in product(thresholds, rows)]

    def smoothings_of_em(self, config: LearnConfig) -> list[float]:
        """Return the values of α that EM is tried with; some is always needed, or rows kept apart become impossible."""
        return list(dict.fromkeys(max(k * config.smoothing, LEAST_SMOOTHING) for k in self.refined_smoothings))


EFFORTS = {
    "balanced": Effort((5.0, 15.0), (20, 200), finalists=1, pilots=1, circuits=8, tree_states=(8, 32), trees=2),
    "best": Effort(
        (3.0, 5.0, 15.0),
        (20, 60, 200, 600),
        finalists=3,
        pilots=10,
        circuits=80,
        smoothings=((1.0, 1.0), (5.0, 1.0), (5.0, 5.0)),
        leaves="sparing",
        both_kinds=True,
        copies=(10, 40),
        tree_states=(8, 16, 32, 64),
        trees=8,
    ),
}
