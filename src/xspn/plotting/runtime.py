"""How time grows: one line for each method, a faint one for each data set."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from xspn.plotting.style import SERIES, look, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Times = Mapping[str, Mapping[int, float]]
LINE_POINTS = 11.0  # the least distance of two names


def runtime_lines(times: Mapping[str, Times], title: str, x_label: str) -> "Figure":
    """Draw times against sizes, both on their natural scales: sizes linear, times logarithmic.

    Args:
        times: For each method, for each data set, the seconds at every size.
        title: The title.
        x_label: What the sizes are.
    """
    with look():
        figure = new_figure(7.2, 3.6)
        axes = figure.add_subplot()
        sizes = sorted({size for sets in times.values() for line in sets.values() for size in line})
        axes.set_yscale("log")
        ends: list[tuple[float, float, str, str]] = []
        for colour, (method, sets) in zip(SERIES, times.items(), strict=False):
            known, medians = _lines(axes, sets, sizes, colour)
            if known:
                ends.append((known[-1], medians[-1], method, colour))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xticks(sizes)
        axes.set_xlim(min(sizes, default=0) - 0.4, max(sizes, default=1) * 1.14)
        axes.set_xlabel(x_label)
        axes.set_ylabel("seconds to learn")
        axes.set_title(title)
        figure.draw_without_rendering()
        _name(axes, ends)
    return figure


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


def _name(axes: "Axes", ends: list[tuple[float, float, str, str]]) -> None:
    """Write each method at the end of its line, far enough from the one below to be read."""
    points = axes.figure.dpi / 72
    highest = -np.inf
    for x, y, method, colour in sorted(ends, key=lambda end: end[1]):
        own = axes.transData.transform((x, y))[1] / points
        highest = max(own, highest + LINE_POINTS)
        where: dict[str, Any] = {"textcoords": "offset points", "va": "center", "color": colour, "fontweight": "bold"}
        axes.annotate(method, (x, y), (9, highest - own), **where)
