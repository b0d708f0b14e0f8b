"""How time grows: one line for each method, a faint one for each data set."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from xspn.plotting.style import SERIES, look, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Times = Mapping[str, Mapping[int, float]]


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
        for place, (method, sets) in enumerate(times.items()):
            colour = SERIES[place]
            for line in sets.values():
                own = sorted(line)
                axes.plot(own, [line[size] for size in own], color=colour, alpha=0.22, linewidth=0.9)
            middle = {size: [line[size] for line in sets.values() if size in line] for size in sizes}
            known = [size for size in sizes if middle[size]]
            medians = [float(np.median(middle[size])) for size in known]
            axes.plot(known, medians, color=colour, linewidth=2.2, marker="o", markersize=4.5)
            if known:
                axes.annotate(
                    method, (known[-1], medians[-1]), (8, 0), textcoords="offset points", va="center", color=colour,
                    fontweight="bold",
                )  # fmt: skip
        axes.set_yscale("log")
        axes.set_xticks(sizes)
        axes.margins(x=0.02)
        axes.set_xlim(right=max(sizes, default=1) * 1.14)
        axes.set_xlabel(x_label)
        axes.set_ylabel("seconds to learn")
        axes.set_title(title)
    return figure
