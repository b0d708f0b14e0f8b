"""The paper's grid of hyper-parameters, and the small one of a quick run."""

import itertools

from xspn.core.errors import ParameterError
from xspn.paper.datasets.catalogue import info
from xspn.paper.experiments.unit import Setting

Settings = tuple[tuple[str, Setting], ...]

GRID: dict[str, tuple[Setting, ...]] = {
    "independence_threshold": (5.0, 15.0),
    "min_instances": (20, 200),
    "significance": (0.05, 0.1, 0.2, 0.4),
}
SMOOTHING = 0.1


def grid(names: tuple[str, ...], dataset: str, quick: bool = False) -> list[Settings]:
    """Return the settings to try: all combinations of the paper's values for these hyper-parameters.

    A quick run takes two of them: both values of ρ, with the smallest slices that the group of data sets can bear and
    the paper's first level. They are settings of the whole grid, so that a full run goes on from there.

    Examples:
        >>> len(grid(("independence_threshold", "min_instances", "significance"), "senate"))
        16
        >>> grid(("independence_threshold", "min_instances"), "nltcs", quick=True)[0]
        (('independence_threshold', 5.0), ('min_instances', 200))
        >>> grid((), "nltcs")
        [()]
    """
    unknown = [name for name in names if name not in GRID]
    if unknown:
        raise ParameterError(f"grid: expected some of {', '.join(GRID)}, found {unknown[0]!r}")
    values = dict(GRID)
    if quick:
        values["min_instances"] = (20,) if info(dataset).group == "real" else (200,)
        values["significance"] = (0.05,)
    chosen = [[(name, value) for value in values[name]] for name in GRID if name in names]
    return [tuple(combination) for combination in itertools.product(*chosen)]
