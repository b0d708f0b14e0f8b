"""Charts of results: bars against a reference, named points, times that grow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from xspn.plotting.style import GRAY, INK, SERIES, look, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Values = Sequence[float | None]
OFFSETS = [(6, 0), (-6, 0), (0, 8), (0, -9), (6, 7), (-6, 7), (6, -8), (-6, -8), (0, 17), (0, -18), (14, 14), (14, -15)]
Times = Mapping[str, Mapping[int, float]]
End = tuple[float, float, str, str]  # x, y, method, color
LINE_POINTS = 11.0  # the least distance of two names


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
            color = SERIES[place % len(SERIES)]
            axes.bar(where, heights, width=step * 0.88, color=color, label=name)
            printed = published.get(name, [])
            for x, value in zip(where, printed, strict=False):
                if value is not None:
                    axes.plot([x - step * 0.5, x + step * 0.5], [value, value], color=INK, linewidth=1.4)
        if published:
            axes.plot([], [], color=INK, linewidth=1.4, label="published")
        axes.set_xticks(range(len(names)), names)
        axes.set_ylim(lowest, 1.0 + 0.02 * (1 - lowest))
        axes.grid(axis="x", visible=False)
        axes.spines["bottom"].set_color(GRAY)
        axes.tick_params(axis="x", length=0)
        axes.set_ylabel(label)
        axes.set_title(title)
        figure.legend(loc="outside lower center", ncols=min(len(series) + 1, 4))
    return figure


@dataclass(frozen=True)
class Point:
    """A named point of a group."""

    x: float
    y: float
    name: str
    group: str


def named_scatter(
    points: Sequence[Point],
    title: str,
    x_label: str,
    y_label: str,
    center: tuple[float, float] | None = None,
    log_x: bool = False,
    linear_within: float | None = None,
) -> "Figure":
    """Draw points with their names, colored by group.

    Args:
        points: The points.
        title: The title.
        x_label: What the horizontal axis means.
        y_label: What the vertical axis means.
        center: Where to draw two lines that cut the plane into four fields.
        log_x: Whether the horizontal axis is logarithmic.
        linear_within: Draw the vertical axis linearly up to here and logarithmically beyond, on both sides of zero.
    """
    with look():
        from matplotlib.ticker import LogFormatter

        figure = new_figure(7.2, 4.6)
        axes = figure.add_subplot()
        for place, group in enumerate(dict.fromkeys(point.group for point in points)):
            own = [point for point in points if point.group == group]
            axes.scatter([p.x for p in own], [p.y for p in own], s=34, color=SERIES[place], label=group, zorder=3)
        if log_x:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.xaxis.set_minor_formatter(LogFormatter(labelOnlyBase=False))  # numbers, not formulas
        if linear_within is not None:
            axes.set_yscale("symlog", linthresh=linear_within)
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:+g}".replace("-", "−") if value else "0")
        axes.margins(0.1)
        if center is not None:
            axes.axvline(center[0], color=GRAY, linewidth=0.9)
            axes.axhline(center[1], color=GRAY, linewidth=0.9)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.set_title(title)
        figure.legend(loc="outside lower center", ncols=3)
        figure.draw_without_rendering()
        _write_names(axes, points)
    return figure


def _write_names(axes: "Axes", points: Sequence[Point]) -> None:
    """Write each name where it covers the least of other names and points."""
    canvas: Any = axes.figure.canvas
    renderer = canvas.get_renderer()
    dots = [axes.transData.transform((point.x, point.y)) for point in points]
    taken: list[Any] = []
    frame = axes.get_window_extent(renderer)
    for point in points:
        best, least = None, float("inf")
        for rank, offset in enumerate(OFFSETS):
            side = "left" if offset[0] > 0 else "right" if offset[0] < 0 else "center"
            text = axes.annotate(
                point.name, (point.x, point.y), offset, textcoords="offset points", ha=side, va="center", fontsize=7.5
            )
            box = text.get_window_extent(renderer)
            covered = sum(_overlap(box, other) for other in taken)
            covered += sum(60.0 for x, y in dots if box.x0 - 3 <= x <= box.x1 + 3 and box.y0 - 3 <= y <= box.y1 + 3)
            covered += 1e4 * (box.x0 < frame.x0 or box.x1 > frame.x1) + rank * 0.5
            if covered < least:
                if best is not None:
                    best.remove()
                best, least, best_box = text, covered, box
            else:
                text.remove()
        taken.append(best_box)


def _overlap(first: Any, second: Any) -> float:
    width = min(first.x1, second.x1) - max(first.x0, second.x0)
    height = min(first.y1, second.y1) - max(first.y0, second.y0)
    return float(width * height) if width > 0 and height > 0 else 0.0


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
    for color, (method, sets) in zip(SERIES, times.items(), strict=False):
        known, medians = _lines(axes, sets, sizes, color)
        if known:
            ends.append((known[-1], medians[-1], method, color))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(LogFormatter(labelOnlyBase=False))  # numbers, not formulas
    axes.set_xticks(sizes)
    axes.margins(y=0.09)
    axes.set_xlim(min(sizes, default=0) - 0.4, max(sizes, default=1) * 1.3)
    return ends


def _lines(axes: "Axes", sets: Times, sizes: list[int], color: str) -> tuple[list[int], list[float]]:
    """Draw the lines of one method; return the sizes it has, and the medians there."""
    for line in sets.values():
        own = sorted(line)
        axes.plot(own, [line[size] for size in own], color=color, alpha=0.25, linewidth=0.9)
    middle = {size: [line[size] for line in sets.values() if size in line] for size in sizes}
    known = [size for size in sizes if middle[size]]
    medians = [float(np.median(middle[size])) for size in known]
    axes.plot(known, medians, color=color, linewidth=2.2, marker="o", markersize=4.5)
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
    for (x, y, method, color), shift in zip(ordered, places - own, strict=True):
        where: dict[str, Any] = {"textcoords": "offset points", "va": "center", "color": color, "fontweight": "bold"}
        axes.annotate(method, (x, y), (9, float(shift)), **where)
