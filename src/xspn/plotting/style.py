"""How pictures look and what is written in them; the one place where matplotlib is asked for."""

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from xspn.circuit import Circuit
from xspn.core.errors import MissingExtraError, ParameterError, printable
from xspn.core.names import listed, shortened
from xspn.data.attributes import common_attributes
from xspn.estimators.base import DensityEstimator
from xspn.leaves.laws import percent
from xspn.questions.grammar import conjunction

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
Model = Circuit | DensityEstimator  # what a picture may be made of
LONGEST = 60  # letters of a name in a picture


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


# -- names of variables and values of a model, in little room ----------------------------------------------------------


def shown(name: object) -> str:
    """Return a name or a value as it can be drawn: in one line, and of a length that a picture can hold."""
    return shortened(printable(str(name)), LONGEST)


def circuit_of(model: Any) -> Circuit:
    """Return the circuit of a model."""
    circuit = getattr(model, "circuit_", model)
    if not isinstance(circuit, Circuit):
        raise ParameterError(f"picture: expected a circuit or a fitted estimator, found {type(model).__name__}")
    return circuit


def variable_names(circuit: Circuit) -> tuple[str, ...]:
    """Return the variables' names, in one line each: X0, X1, … where they have none."""
    return tuple(map(shown, circuit.schema.shown_names))


def common_words(circuit: Circuit, variables: Sequence[int]) -> str:
    """Return what the attributes of some variables have in common, to go on with after their number."""
    found = common_attributes(circuit.schema, variables)
    return "".join(f"; {shown(name)} {shown(value)} {percent(part)}" for name, value, part in found)


def value_text(circuit: Circuit, variable: int, code: int) -> str:
    """Write that a variable has a value, by the value's label if it has one."""
    return f"{variable_names(circuit)[variable]} = {shown(circuit.schema.label(variable, code))}"


def evidence_text(circuit: Circuit, given: Any) -> str:
    """Write evidence, all of it: as it was asked, or values with the names that have them."""
    if isinstance(given, str):
        return shown_text(given)
    if not isinstance(given, Mapping):
        return shown_text(conjunction(list(map(str, given))))
    names = variable_names(circuit)
    of_value: dict[str, list[str]] = {}
    for key, value in given.items():
        of_value.setdefault(shown(value), []).append(names[key] if isinstance(key, int) else shown(key))
    return ", ".join(f"{listed(own)} = {value}" for value, own in of_value.items())


def shown_text(text: str) -> str:
    """Return a text of any length as it can be drawn."""
    return printable(" ".join(text.split()))
