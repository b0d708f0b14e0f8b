"""How many: the distribution of the number of ones among some variables."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.errors import DataError
from xspn.plotting.models import Model, circuit_of, names_of, said_of_evidence
from xspn.plotting.names import names_within
from xspn.plotting.style import BLUE, INK, ORANGE, chart_axes, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from xspn.circuit import Circuit

MOST_BARS = 50
NEGLIGIBLE = 1e-4  # counts at the ends that are rarer are left out


def count_chart(
    model: Model,
    variables: Iterable[int | str] | None = None,
    *,
    given: Mapping[Any, Any] | None = None,
    data: Any = None,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw P(number of ones = k): of the model; given evidence, if there is any; and how often it occurs in data.

    Args:
        model: A circuit, or an estimator that has learned one.
        variables: The variables to count; all by default.
        given: Evidence, {variable: value}: its distribution is drawn over the one without it.
        data: A table to compare with: dots show its counts, over the rows that are whole in these variables.
        title: A title.
        ax: Where to draw; a new figure by default.

    Examples:
        >>> from xspn import datasets
        >>> d = datasets.make("conference", n_train=1000)
        >>> figure = count_chart(d.truth, range(10), given={"hot_topic": 1}, data=d.train)
    """
    circuit = circuit_of(model)
    names = names_of(circuit)
    chosen = list(circuit.scope) if variables is None else list(variables)
    columns = circuit.schema.indices(chosen)
    prior = circuit.count_distribution(chosen)
    said = names_within([names[v] for v in columns], 30)
    heading = f"How many of {said}?" if title is None else title
    with look():
        axes = chart_axes(ax, 6.4, 3.3)
        bins = _Bins(len(prior))
        drawn = [prior]
        if given:
            drawn.append(circuit.count_distribution(chosen, given=given))
            axes.stairs(bins.add_up(prior), bins.edges, color=BLUE, linewidth=1.5, label="without evidence", zorder=3)
            bins.bars(axes, drawn[1], ORANGE, f"given {said_of_evidence(circuit, given, 36)}")
        else:
            bins.bars(axes, prior, BLUE, "model")
        if data is not None:
            drawn.append(_observed(circuit, data, columns))
            axes.plot(bins.middles, bins.add_up(drawn[-1]), "o", color=INK, markersize=3.6, label="data", zorder=4)
        _frame(axes, drawn, bins)
        axes.set_title(heading, loc="left")
        axes.legend()
    return axes.figure  # type: ignore[return-value]


def _observed(circuit: "Circuit", data: Any, columns: list[int]) -> FloatArray:
    """Return how often each count occurs among the rows that are whole."""
    rows = np.asarray(circuit.schema.encode(data, "data"), dtype=np.float64)[:, columns]
    whole = rows[~np.isnan(rows).any(axis=1)]
    if not len(whole):
        raise DataError("data: expected rows without missing values in the variables to count, found none")
    return np.bincount(whole.sum(axis=1).astype(np.int64), minlength=len(columns) + 1) / len(whole)


class _Bins:
    """Neighbouring counts that share a bar where there would be too many bars."""

    def __init__(self, size: int) -> None:
        self.step = -(-size // MOST_BARS)
        self.starts = np.arange(0, size, self.step)
        self.edges = np.append(self.starts, self.starts[-1] + self.step) - 0.5
        self.middles = (self.edges[1:] + self.edges[:-1]) / 2

    def add_up(self, chances: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(chances, self.starts))

    def bars(self, axes: "Axes", chances: FloatArray, colour: str, label: str) -> None:
        axes.bar(self.middles, self.add_up(chances), width=0.8 * self.step, color=colour, label=label, zorder=2)


def _frame(axes: "Axes", drawn: list[FloatArray], bins: _Bins) -> None:
    """Show the counts that occur; write whole numbers."""
    from matplotlib.ticker import MaxNLocator

    common = np.flatnonzero(bins.add_up(np.max(drawn, axis=0)) > NEGLIGIBLE)
    axes.set_xlim(bins.edges[common[0]] - 0.2 * bins.step, bins.edges[common[-1] + 1] + 0.2 * bins.step)
    axes.set_ylim(0, None)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("number of ones" + (f" (in steps of {bins.step})" if bins.step > 1 else ""))
    axes.set_ylabel("probability")
