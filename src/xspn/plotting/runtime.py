"""How time grows: one line for each method, a faint one for each data set."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from xspn.plotting.style import SERIES, look, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Times = Mapping[str, Mapping[int, float]]
End = tuple[float, float, str, str]  # x, y, method, colour
LINE_POINTS = 11.0  # the least distance of two names


def runtime_lines(panels: Mapping[str, Mapping[str, Times]], x_label: str) -> "Figure":
    """Draw times against sizes, side by side for several things that were timed; times are on a logarithmic scale.

    Args:
        panels: For each title, for each method, for each data set, the seconds at every size.
        x_label: What the sizes are.
    """
    with look():
        figure = new_figure(7.2, 3.3)
        drawn = []
        for place, (title, times) in enumerate(panels.items()):
            axes = figure.add_subplot(1, len(panels), place + 1)
            drawn.append((axes, _panel(axes, times)))
            axes.set_title(title)
            axes.set_xlabel(x_label)
            if place == 0:
                axes.set_ylabel("seconds")
        figure.draw_without_rendering()  # names are placed in points, which needs the final scales
        for axes, ends in drawn:
            _name(axes, ends)
    return figure


def _panel(axes: "Axes", times: Mapping[str, Times]) -> list[End]:
    """Draw one panel; return where the lines end."""
    from matplotlib.ticker import LogFormatter

    sizes = sorted({size for sets in times.values() for line in sets.values() for size in line})
    axes.set_yscale("log")
    ends: list[End] = []
    for colour, (method, sets) in zip(SERIES, times.items(), strict=False):
        known, medians = _lines(axes, sets, sizes, colour)
        if known:
            ends.append((known[-1], medians[-1], method, colour))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(LogFormatter(labelOnlyBase=False))  # numbers, not formulas
    axes.set_xticks(sizes)
    axes.margins(y=0.09)
    axes.set_xlim(min(sizes, default=0) - 0.4, max(sizes, default=1) * 1.3)
    return ends


def _lines(axes: "Axes", sets: Times, sizes: list[int], colour: str) -> tuple[list[int], list[float]]:
    """Draw the lines of one method; return the sizes it has, and the medians there."""
    for line in sets.values():
        own = sorted(line)
        axes.plot(own, [line[size] for size in own], color=colour, alpha=0.25, linewidth=0.9)
    middle = {size: [line[size] for line in sets.values() if size in line] for size in sizes}
    known = [size for size in sizes if middle[size]]
    medians = [float(np.median(middle[size])) for size in known]
    axes.plot(known, medians, color=colour, linewidth=2.2, marker="o", markersize=4.5)
    return known, medians


def _name(axes: "Axes", ends: list[End]) -> None:
    """Write each method at the end of its line, far enough from the one below to be read."""
    points = axes.figure.dpi / 72
    ordered = sorted(ends, key=lambda end: end[1])
    own = np.array([axes.transData.transform((x, y))[1] / points for x, y, _, _ in ordered])
    places = own.copy()
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + LINE_POINTS)
    places -= (places - own).mean() if len(places) else 0.0  # down again by as much as they were pushed up
    for (x, y, method, colour), shift in zip(ordered, places - own, strict=True):
        where: dict[str, Any] = {"textcoords": "offset points", "va": "center", "color": colour, "fontweight": "bold"}
        axes.annotate(method, (x, y), (9, float(shift)), **where)
