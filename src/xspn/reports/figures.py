"""The pictures of a report."""

from typing import TYPE_CHECKING

import numpy as np

from xspn.circuit import Circuit
from xspn.leaves import Leaf
from xspn.plotting import draw_contexts, exchangeability_map
from xspn.plotting.style import BLUE, FAINT, GRAY, ORANGE, image, look, new_figure
from xspn.reports.calibration import Pair, Reliability
from xspn.reports.oddities import RowScores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from xspn.reports.check import TableCheck

DPI = 130
MOST_MAPPED = 600  # variables of a map
ENDS = (-5.0, 10.0)  # deviations that are drawn


def contexts_picture(circuit: Circuit) -> bytes:
    """Draw contexts and their blocks."""
    return image(draw_contexts(circuit), dpi=DPI)


def map_picture(circuit: Circuit) -> bytes | None:
    """Draw which columns can be interchanged; None where none can, or where there are too many."""
    if len(circuit.scope) > MOST_MAPPED or not any(
        len(group) > 1 for leaf in circuit.graph.leaves if isinstance(leaf, Leaf) for group in leaf.interchangeable()
    ):
        return None
    return image(exchangeability_map(circuit), dpi=DPI)


def calibration_picture(cells: Reliability, pairs: list[Pair]) -> bytes:
    """Draw both comparisons side by side: cells in bins, and pairs one by one."""
    with look():
        figure = new_figure(10.0, 4.6)
        left, right = figure.subplots(1, 2)
        _diagonal(left)
        error = 1.96 * np.sqrt(np.maximum(cells.predicted * (1 - cells.predicted), 1e-9) / np.maximum(cells.count, 1))
        left.errorbar(cells.predicted, cells.observed, yerr=error, color=BLUE, linewidth=1.2, elinewidth=0.8, zorder=3)
        sizes = 12 + 110 * cells.count / max(1, int(cells.count.max(initial=1)))
        left.scatter(cells.predicted, cells.observed, s=sizes, color=BLUE, zorder=4)
        left.set_title("Cells, given the rest of their rows")
        left.set_xlabel("predicted probability")
        left.set_ylabel("fraction that came true")
        _diagonal(right)
        model, table = (np.array([getattr(pair, of) for pair in pairs]) for of in ("model", "table"))
        far = np.array([pair.deviation > 3 for pair in pairs], dtype=bool)
        for chosen, color in ((~far, BLUE), (far, ORANGE)):
            if len(pairs) and chosen.any():
                right.scatter(model[chosen], table[chosen], s=9, color=color, alpha=0.45, linewidths=0, zorder=3)
        right.set_title("Pairs of columns: P(B | A)")
        right.set_xlabel("under the model")
        right.set_ylabel("in the table")
    return image(figure, dpi=DPI)


def _diagonal(axes: "Axes") -> None:
    axes.plot([0, 1], [0, 1], color=GRAY, linewidth=0.9, linestyle="--", zorder=1)
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.03)
    axes.set_aspect("equal")


def rows_picture(rows: RowScores) -> bytes:
    """Draw how odd rows are, beside a normal distribution."""
    known = rows.deviations[~np.isnan(rows.deviations)]
    inside = np.clip(known, *ENDS)
    with look():
        figure = new_figure(10.0, 2.9)
        axes = figure.add_subplot()
        edges = np.linspace(*ENDS, 61)
        axes.hist(inside, bins=edges.tolist(), color=BLUE, alpha=0.85, zorder=3)
        axes.axvline(0, color=FAINT, linewidth=1, zorder=2)
        axes.set_yscale("symlog", linthresh=10)  # single rows are seen beside thousands
        most = max(10, int(np.histogram(inside, edges)[0].max(initial=1)))
        ticks = [0, 5, *(10**k for k in range(1, 1 + int(np.log10(most))))]
        axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.set_ylim(0, 1.25 * most)
        axes.set_xlabel(
            "deviations below what the model expects of a row with the same cells (odd rows are on the right)"
        )
        axes.set_ylabel("rows")
    return image(figure, dpi=DPI)


def tails_picture(check: "TableCheck") -> bytes:
    """Draw how many cells are at most as likely as each probability, in the table and in rows that models draw."""
    tails = np.sort(check.tails[~np.isnan(check.tails)])
    least = max(min(float(tails[0]) if len(tails) else 1.0, 1e-3), 1e-12)
    at = np.logspace(np.log10(least), 0, 200)
    table = np.searchsorted(tails, at, side="right")
    by_chance = np.searchsorted(check.drawn, at, side="right") * check.weight
    with look():
        figure = new_figure(8.0, 3.4)
        axes = figure.add_subplot()
        axes.step(at, table, where="post", color=BLUE, linewidth=1.6, label="the table", zorder=3)
        axes.step(at, by_chance, where="post", color=GRAY, linewidth=1.2, linestyle="--", label="by chance", zorder=2)
        found = check.unlikely_cells
        if found:
            limit = max(cell.probability for cell in found)
            axes.axvspan(least, max(limit, least * 1.2), color=ORANGE, alpha=0.15, zorder=1, label="reported")
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(0, 1.5 * max(1, len(tails)))
        axes.set_xlim(least, 1)
        powers = range(int(np.ceil(np.log10(least))), 1, 2 if least < 1e-6 else 1)
        axes.set_xticks([10.0**k for k in powers], ["1" if k == 0 else f"1e{k}".replace("-", "−") for k in powers])
        ticks = [0, *(10**k for k in range(1 + int(np.log10(max(1, len(tails))))))]
        axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel("probability of a value at most as likely, given the rest of the row")
        axes.set_ylabel("cells")
        axes.legend(loc="upper left", frameon=False)
    return image(figure, dpi=DPI)
