"""The fallbacks for tables under their names; "auto" mixes them in the shares that predict left-out rows best."""

from collections.abc import Callable

from xspn.core.arrays import IntArray
from xspn.core.errors import ParameterError
from xspn.learning.fallback.auto import best_of, stack
from xspn.learning.fallback.base import Candidate
from xspn.learning.tables.fallback.base import TableLeafData
from xspn.learning.tables.fallback.blocks import blocks_leaf, several_blocks
from xspn.learning.tables.fallback.exchangeable import exchangeable_leaf
from xspn.learning.tables.fallback.gaussian import gaussian_leaf
from xspn.learning.tables.fallback.univariate import factorized_leaves

# Densities differ by much more than probabilities of bits, so a share that is not earned costs more.
PRIOR_ROWS = 0.5

Maker = Callable[[TableLeafData, IntArray, float], Candidate | None]


def make_fallback(
    name: str, data: TableLeafData, variables: IntArray, alpha: float, exchangeable: bool = True
) -> Candidate:
    """Return the fallback of a name.

    Args:
        name: "auto", "sparing", "factorized", "exchangeable" or "blocks".
        data: The slice.
        variables: Its variables.
        alpha: The pseudo-count.
        exchangeable: Whether "auto" may use exchangeable blocks; a conventional SPN does not.
    """
    match name:
        case "factorized":
            return factorized_leaves(data, variables, alpha)
        case "blocks":
            return blocks_leaf(data, variables, alpha)
        case "exchangeable":
            found = exchangeable_leaf(data, variables, alpha) if data.own.one_distribution else None
            return blocks_leaf(data, variables, alpha) if found is None else found
        case "auto" | "sparing":
            if len(variables) == 1:
                return factorized_leaves(data, variables, alpha)
            makers: list[Maker] = [factorized_leaves, gaussian_leaf]
            if exchangeable:
                makers.append(several_blocks)
            candidates = [made for make in makers if (made := make(data, variables, alpha)) is not None]
            return (stack if name == "auto" else best_of)(candidates, data.own.weights, PRIOR_ROWS)
        case _:
            raise ParameterError(
                f"fallback={name!r} is for tables of zeros and ones only; for columns of other kinds use 'auto', "
                "'sparing', 'factorized', 'exchangeable' or 'blocks'"
            )
