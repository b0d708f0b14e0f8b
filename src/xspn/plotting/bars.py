"""Bar charts of results."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from xspn.plotting.style import GREY, INK, SERIES, look, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = Sequence[float | None]


def difference_bars(names: Sequence[str], series: Mapping[str, Values], title: str, label: str) -> "Figure":
    """Draw lying bars from zero: how much better (to the right) or worse each series is, for every name.

    Bars that would dwarf all others are cut off at the edge, with their value written on them.

    Args:
        names: What the bars belong to, from top to bottom.
        series: For each series one value for every name; None where there is none.
        title: The title.
        label: What the horizontal axis means.
    """
    found = np.array([abs(v) for values in series.values() for v in values if v is not None] or [1.0])
    edge = max(1.25 * float(np.quantile(found, 0.8)), 1e-9)
    edge = edge if found.max() > 2 * edge else 1.08 * max(float(found.max()), 1e-9)
    with look():
        figure = new_figure(7.2, 1.1 + (0.12 + 0.16 * len(series)) * len(names))
        axes = figure.add_subplot()
        step = 0.8 / len(series)
        for place, (name, values) in enumerate(series.items()):
            where = np.arange(len(names)) + step * (place - (len(series) - 1) / 2)
            lengths = [0.0 if v is None else float(np.clip(v, -edge, edge)) for v in values]
            axes.barh(where, lengths, height=step * 0.9, color=SERIES[place], label=name)
            for y, value in zip(where, values, strict=True):
                if value is not None and abs(value) > edge:
                    side = "right" if value > 0 else "left"
                    x = np.sign(value) * edge * 0.985
                    axes.text(x, y, f"{value:+.0f}", ha=side, va="center", color="white", fontsize=7, fontweight="bold")
        axes.axvline(0, color=INK, linewidth=0.9)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        low = min((v for values in series.values() for v in values if v is not None), default=0.0)
        axes.set_xlim(max(min(1.15 * low, -0.04 * edge), -edge), edge)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(label)
        axes.set_title(title)
        figure.legend(loc="outside lower center", ncols=len(series))
    return figure


def grouped_bars(
    names: Sequence[str],
    series: Mapping[str, Values],
    published: Mapping[str, Values],
    title: str,
    label: str,
    lowest: float = 0.0,
) -> "Figure":
    """Draw standing bars in groups, with the published value of each as a short line across it.

    Args:
        names: The groups, from left to right.
        series: For each series one value for every group; None where there is none.
        published: The published values of a series, where there are any.
        title: The title.
        label: What the vertical axis means.
        lowest: Where the vertical axis begins.
    """
    with look():
        figure = new_figure(7.2, 3.4)
        axes = figure.add_subplot()
        step = 0.84 / max(len(series), 1)
        for place, (name, values) in enumerate(series.items()):
            where = np.arange(len(names)) + step * (place - (len(series) - 1) / 2)
            heights = [np.nan if v is None else v for v in values]
            colour = SERIES[place % len(SERIES)]
            axes.bar(where, heights, width=step * 0.88, color=colour, label=name)
            printed = published.get(name, [])
            for x, value in zip(where, printed, strict=False):
                if value is not None:
                    axes.plot([x - step * 0.5, x + step * 0.5], [value, value], color=INK, linewidth=1.4)
        if published:
            axes.plot([], [], color=INK, linewidth=1.4, label="published")
        axes.set_xticks(range(len(names)), names)
        axes.set_ylim(lowest, 1.0 + 0.02 * (1 - lowest))
        axes.grid(axis="x", visible=False)
        axes.spines["bottom"].set_color(GREY)
        axes.tick_params(axis="x", length=0)
        axes.set_ylabel(label)
        axes.set_title(title)
        figure.legend(loc="outside lower center", ncols=min(len(series) + 1, 4))
    return figure
