"""A scatter chart with named points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xspn.plotting.style import GREY, SERIES, look, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OFFSETS = [(6, 0), (-6, 0), (0, 8), (0, -9), (6, 7), (-6, 7), (6, -8), (-6, -8), (0, 17), (0, -18), (14, 14), (14, -15)]


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
    centre: tuple[float, float] | None = None,
    log_x: bool = False,
    linear_within: float | None = None,
) -> "Figure":
    """Draw points with their names, coloured by group.

    Args:
        points: The points.
        title: The title.
        x_label: What the horizontal axis means.
        y_label: What the vertical axis means.
        centre: Where to draw two lines that cut the plane into four fields.
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
        if centre is not None:
            axes.axvline(centre[0], color=GREY, linewidth=0.9)
            axes.axhline(centre[1], color=GREY, linewidth=0.9)
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
