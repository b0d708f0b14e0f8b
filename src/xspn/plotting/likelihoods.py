"""How well rows are predicted: histograms of log-likelihoods."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.errors import DataError
from xspn.plotting.style import SERIES, chart_axes, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OUTLIERS = 0.005  # the share of rows below which the axis is cut off


def likelihood_histogram(
    scores: Mapping[str, Any],
    *,
    title: str = "How likely are the rows?",
    bins: int = 40,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw the distribution of the rows' log-likelihoods, with means: train against test, or two models.

    Args:
        scores: For each name the log-likelihood of each row, as `circuit.log_likelihood` gives it. Rows of probability
            zero (−inf) are counted in the legend.
        title: A title.
        bins: The number of steps.
        ax: Where to draw; a new figure by default.

    Examples:
        >>> from xspn import datasets
        >>> d = datasets.make("conference", n_train=1000, n_test=500)
        >>> rows = {"train": d.train, "test": d.test}
        >>> figure = likelihood_histogram({name: d.truth.log_likelihood(X) for name, X in rows.items()})
    """
    series = {name: _checked(name, values) for name, values in scores.items()}
    if not series:
        raise DataError("likelihood_histogram: expected at least one series of log-likelihoods, found none")
    finite = np.concatenate([values[np.isfinite(values)] for values in series.values()])
    if not len(finite):
        raise DataError("likelihood_histogram: every row has probability zero; there is nothing to draw")
    low, high = float(np.quantile(finite, OUTLIERS)), float(finite.max())
    edges = np.linspace(low, high if high > low else low + 1.0, bins + 1)
    with look():
        axes = chart_axes(ax, 6.4, 3.3)
        for place, (name, values) in enumerate(series.items()):
            _one(axes, name, values, edges, SERIES[place % len(SERIES)])
        axes.set_xlim(edges[0], edges[-1] + 0.02 * (edges[-1] - edges[0]))
        axes.set_ylim(0, 1.12 * axes.get_ylim()[1])
        axes.grid(axis="x", visible=False)
        axes.set_xlabel("log-likelihood of a row, in nats (to the right is better)")
        axes.set_ylabel("share of rows")
        axes.set_title(title, loc="left")
        axes.legend(loc="upper left")
    return axes.figure  # type: ignore[return-value]


def _checked(name: str, values: Any) -> FloatArray:
    array = np.asarray(values, dtype=np.float64).ravel()
    if not len(array) or np.isnan(array).any():
        raise DataError(f"likelihood_histogram: expected numbers for {name!r}, found {len(array)}, some NaN or none")
    return array


def _one(axes: "Axes", name: str, values: FloatArray, edges: FloatArray, colour: str) -> None:
    finite = values[np.isfinite(values)]
    impossible = len(values) - len(finite)
    # Rows beyond the left edge are drawn at it: every row is somewhere.
    shares = np.histogram(np.clip(finite, edges[0], None), edges)[0] / len(values)
    mean = float(finite.mean()) if len(finite) else float("nan")
    label = f"{name}: mean {mean:.2f}".replace("-", "−") + (f", {impossible} rows impossible" if impossible else "")
    axes.stairs(shares, edges, fill=True, color=colour, alpha=0.28, zorder=2)
    axes.stairs(shares, edges, color=colour, linewidth=1.6, label=label, zorder=3)
    axes.axvline(mean, color=colour, linewidth=1.4, linestyle=(0, (4, 2)), zorder=4)
