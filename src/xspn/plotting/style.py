"""One look for all pictures, and the one place where matplotlib is asked for."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from xspn.core.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colors: told apart by everybody, and in print.
BLUE, ORANGE, GREEN, PURPLE, SKY, GRAY = "#0072B2", "#D55E00", "#009E73", "#AA4499", "#56B4E9", "#8A8A8A"
INK, FAINT, PAPER, PANEL = "#222222", "#C8C8C8", "#FFFFFF", "#F4F6F8"
YELLOW = "#E6A700"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, SKY, GRAY, YELLOW)

SETTINGS: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.edgecolor": GRAY,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "text.color": INK,
    "text.parse_math": False,  # names are what they are: "US$ (C:\\new)" is no formula
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "svg.hashsalt": "xspn",  # the same picture is the same file
}

Format = Literal["png", "svg", "pdf"]


def require_matplotlib() -> None:
    """Say which extra to install where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("pictures: need the package matplotlib; pip install 'xspn[plots]'") from error


@contextmanager
def look() -> Iterator[None]:
    """Apply the settings for a while; the caller's own are left alone."""
    require_matplotlib()
    import matplotlib

    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from")  # a box stands for it: nothing to be done
        yield


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of this size in inches, outside pyplot's list of open ones."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def chart_axes(ax: "Axes | None", width: float, height: float) -> "Axes":
    """Return the axes to draw a chart in: the caller's, with our frame, or those of a new figure of this size."""
    if ax is None:
        return new_figure(width, height).add_subplot()
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(visible=True, color=SETTINGS["grid.color"], linewidth=SETTINGS["grid.linewidth"])
    return ax


@contextmanager
def panel_in_inches(ax: "Axes | None", width: float, height: float) -> "Iterator[Axes]":
    """Give axes without a frame whose units are inches, y pointing down; in axes that are smaller all shrinks."""
    if ax is None:
        figure = new_figure(width, height)
        figure.set_layout_engine("none")
        axes = figure.add_axes((0, 0, 1, 1))
        scale = 1.0
    else:
        axes = ax
        box = axes.get_window_extent().transformed(axes.figure.dpi_scale_trans.inverted())
        scale = min(box.width / width, box.height / height)
        axes.set_aspect("equal", anchor="NW")
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    before = set(axes.get_children())
    yield axes
    _shrink([artist for artist in axes.get_children() if artist not in before], scale)


def _shrink(artists: list[Any], scale: float) -> None:
    """Make text and lines smaller: unlike places, they are not measured in the axes' units."""
    for artist in artists:
        if hasattr(artist, "set_fontsize"):
            artist.set_fontsize(artist.get_fontsize() * scale)
        elif hasattr(artist, "set_markersize"):
            artist.set_markersize(artist.get_markersize() * scale)
        if hasattr(artist, "set_linewidth") and hasattr(artist, "get_linewidth"):
            artist.set_linewidth(np.asarray(artist.get_linewidth()) * scale)


def image(figure: "Figure", kind: Format = "png", dpi: int = 160) -> bytes:
    """Return the picture as the bytes of a file, the same every time."""
    stream = io.BytesIO()
    with look():
        figure.savefig(stream, format=kind, dpi=dpi, metadata={"Date": None} if kind == "svg" else None)
    return stream.getvalue()
