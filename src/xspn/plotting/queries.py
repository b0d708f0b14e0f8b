"""What evidence changes: probabilities before and after."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from xspn.circuit import Circuit
from xspn.core.errors import QueryError
from xspn.plotting.models import Model, circuit_of, names_of, said_of_evidence, said_of_value
from xspn.plotting.names import cut
from xspn.plotting.style import BLUE, GREY, INK, chart_axes, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTERS = 28
VISIBLE = 0.005  # what changes less is shown only if it is asked for, or nothing changes more


@dataclass(frozen=True)
class _Bar:
    name: str
    before: float
    after: float


def posterior_bars(
    model: Model,
    given: Mapping[Any, Any],
    variables: Iterable[int | str] | None = None,
    *,
    most: int = 12,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw what some evidence says about other variables: P(variable | evidence) as bars, P(variable) as marks.

    Args:
        model: A circuit, or an estimator that has learned one.
        given: The evidence, {variable: value}.
        variables: What to show, in this order; by default those that the evidence changes most.
        most: How many bars there are at most.
        title: A title; the evidence by default.
        ax: Where to draw; a new figure by default.

    Examples:
        >>> from xspn import datasets
        >>> figure = posterior_bars(datasets.truth("conference"), {"hot_topic": 1})
    """
    circuit = circuit_of(model)
    tables = [circuit.marginals(evidence)[0] for evidence in (None, given)]
    known = set(circuit.schema.indices(given))
    chosen = circuit.schema.indices(variables) if variables is not None else _all_but(circuit.domains, known)
    bars = [bar for v in chosen for bar in _bars(circuit, v, tables[0][v], tables[1][v])]
    if not bars:
        raise QueryError("posterior_bars: expected discrete variables besides the evidence, found none")
    if variables is None:
        bars.sort(key=lambda bar: -abs(bar.after - bar.before))
        bars = [bar for bar in bars if abs(bar.after - bar.before) >= VISIBLE] or bars
    said = f"Given {said_of_evidence(circuit, given)}" if given else "Without evidence"
    return _draw(bars[:most], said if title is None else title, ax)


def _all_but(domains: Any, known: set[int]) -> list[int]:
    return [v for v, domain in enumerate(domains) if domain is not None and domain.is_discrete and v not in known]


def _bars(circuit: Circuit, variable: int, before: Any, after: Any) -> list[_Bar]:
    """Return one bar for a bit, one for each value of another variable."""
    domain = circuit.domains[variable]
    k = 0 if domain is None else domain.cardinality or 0
    if k == 2 and circuit.labels[variable] is None:
        return [_Bar(names_of(circuit)[variable], float(before[1]), float(after[1]))]
    shown = [1] if k == 2 else range(k)
    return [_Bar(said_of_value(circuit, variable, code), float(before[code]), float(after[code])) for code in shown]


def _draw(bars: list[_Bar], title: str, ax: "Axes | None") -> "Figure":
    with look():
        from matplotlib.transforms import ScaledTranslation

        axes = chart_axes(ax, 6.4, 1.15 + 0.27 * len(bars))
        places = np.arange(len(bars))
        axes.barh(places, [bar.after for bar in bars], height=0.62, color=BLUE, label="given the evidence", zorder=2)
        before = [bar.before for bar in bars]
        axes.plot(before, places, linestyle="", marker="|", markersize=13, markeredgewidth=2.2, color=INK, zorder=4,
                  label="without it")  # fmt: skip
        for place, bar in enumerate(bars):
            axes.text(1.02, place, f"{bar.after:.2f}", va="center", color=BLUE, fontweight="bold", fontsize=8.5)
            axes.text(1.12, place, f"{bar.after - bar.before:+.2f}".replace("-", "−"), va="center", color=GREY,
                      fontsize=8.5)  # fmt: skip
        axes.set_yticks(places, [cut(bar.name, LETTERS) for bar in bars])
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.set_xlim(0, 1)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("probability")
        axes.set_title(title, loc="left")
        below = axes.transAxes + ScaledTranslation(0, -0.46, axes.figure.dpi_scale_trans)  # under the axis' label
        where: Any = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below, "borderaxespad": 0}
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], labels[::-1], ncols=2, **where)
    return axes.figure  # type: ignore[return-value]
