"""The map of exchangeability: which variables can be interchanged with which."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray, IntArray
from xspn.core.errors import DataError, default_name
from xspn.core.names import names_within, shortened
from xspn.inference.strength import are_bits, have_moments, strength_of_moments
from xspn.leaves import Leaf
from xspn.plotting.facts import NodeFacts
from xspn.plotting.style import GRAY, INK, ORANGE, SERIES, Model, circuit_of, look, new_figure, shown, variable_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ORDERED = 1000  # the best order of more takes too long: any order of the tree must do
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(19, 0, -1))
MOST_NAMED = 48  # variables with a name at their row
MOST_GROUPS = 10  # groups with a name beside the map
LETTERS = 20
WIDEST = 2000  # variables of which all covariances are computed
PALE_TO_DARK = ("#FFFFFF", "#D6E6F2", "#7FB3D5", "#0072B2", "#004468")


def shared_leaves(circuit: Circuit) -> FloatArray:
    """Return for each two variables the fraction of rows for which one exchangeable leaf holds both: (n, n).

    Variables of one leaf that its statistic does not treat alike do not count as shared. The diagonal says for which
    fraction of rows a variable can be interchanged with any other.

    Examples:
        >>> from xspn import Bernoulli, Exchangeable, Product, Sum
        >>> pair = Exchangeable.from_class_probabilities([0, 1], [0.2, 0.5, 0.3])
        >>> apart = Product([Bernoulli(0, p=0.1), Bernoulli(1, p=0.4)])
        >>> shared_leaves(Circuit(Sum([0.25, 0.75], [pair, apart]))).tolist()
        [[0.25, 0.25], [0.25, 0.25]]
    """
    fractions = np.zeros((circuit.n_variables, circuit.n_variables))
    reach = NodeFacts(circuit.graph).reach
    for leaf in circuit.graph.leaves:
        assert isinstance(leaf, Leaf)  # every family says which of its variables can be interchanged
        variables = np.array(leaf.variables)
        for group in leaf.interchangeable():
            if len(group) > 1:
                fractions[np.ix_(variables[group], variables[group])] += reach[circuit.graph.id_of(leaf)]
    return fractions


def grouped_order(fractions: FloatArray, threshold: float | None = None) -> tuple[IntArray, list[IntArray], float]:
    """Return an order in which similar variables are neighbors, and groups that share more than a threshold.

    Groups are clusters by average linkage of at least two variables; each is contiguous in the order.

    Args:
        fractions: The matrix.
        threshold: The least fraction; by default the one for which threshold × pairs inside groups is largest: a few
            pairs that are nearly always together weigh less than a large group that often is.

    Returns:
        The order, the groups, and the threshold.
    """
    from scipy.cluster.hierarchy import fcluster, leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    n = len(fractions)
    if n < 2:
        return np.arange(n), [], threshold or 0.5
    apart = 1 - np.clip((fractions + fractions.T) / 2, 0, 1)
    np.fill_diagonal(apart, 0)
    distances = squareform(apart, checks=False)
    tree = linkage(distances, "average")

    def pairs(limit: float) -> float:
        sizes = np.bincount(fcluster(tree, 1 - limit, "distance"))
        return float(limit * (sizes * (sizes - 1)).sum())

    limit = max(THRESHOLDS, key=pairs) if threshold is None else threshold
    if n <= MOST_ORDERED:
        tree = optimal_leaf_ordering(tree, distances)
    order = leaves_list(tree)
    cluster = fcluster(tree, 1 - limit, "distance")[order]
    groups = [order[cluster == c] for c in dict.fromkeys(cluster)]
    return order, [group for group in groups if len(group) > 1], limit


def exchangeability_map(
    source: Model | FloatArray,
    names: Sequence[str] | None = None,
    *,
    groups: Mapping[str, Any] | Sequence[Any] | None = None,
    threshold: float | None = None,
    title: str | None = None,
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw a map of variables × variables: how often two of them are in one exchangeable leaf.

    Variables that share leaves stand together; frames mark groups that share a leaf for most rows, with their names and
    whether they go together (lift, intraclass correlation) or are only alike: equally rare, say.

    Args:
        source: A circuit, an estimator that has learned one, or a matrix of numbers between 0 and 1 (such as p-values
            of pairs).
        names: The variables' names, if the source has none or others shall be shown.
        groups: What is known about each variable (a party, a department): one value each, or {name: value}; by default
            the model's own attribute of few values, if it has one. It is shown as colors at the edge, and has no
            influence on the order.
        threshold: Variables that are together for more than this fraction of rows, on average, form a group; found from
            the matrix by default.
        title: A title.
        label: What the colors mean.
        ax: Where to draw; a new figure by default.

    Examples:
        >>> from xspn import datasets
        >>> figure = exchangeability_map(datasets.truth("conference"))
        >>> figure = exchangeability_map(np.eye(4), names=["ann", "bob", "cem", "dana"])
    """
    fractions, own_names = _fractions(source)
    groups = _own_groups(source) if groups is None else groups
    shown_names = tuple(names) if names is not None else own_names
    if len(shown_names) != len(fractions):
        raise DataError(f"names: expected {len(fractions)}, one for each variable, found {len(shown_names)}")
    order, groups_found, limit = grouped_order(fractions, threshold)
    found = [group for group in groups_found if len(group) > 2 or len(fractions) <= MOST_NAMED]
    heading = title if title is not None else _heading(len(fractions), found)
    meaning = label or "fraction of rows for which two variables are in one exchangeable leaf"
    with look():
        if ax is None:
            figure = new_figure(7.2, 5.6)
            ax = figure.add_subplot()
        image = _matrix(ax, fractions[np.ix_(order, order)])
        _frames(ax, [shown(shown_names[v]) for v in order], order, found, _strengths(source, found))
        _axis(ax, [shown(shown_names[v]) for v in order])
        if groups is not None:
            _known_groups(ax, [_value_of(groups, v, shown_names) for v in order])
        ax.set_title(heading, loc="left", pad=20 if groups is not None else 6)
        # Measured by the map itself: it is square, whatever room the axes were given.
        place = ax.inset_axes((0.0, -0.06, 0.55, 0.022))
        bar = ax.figure.colorbar(image, cax=place, orientation="horizontal")
        bar.outline.set_visible(False)
        framed = f"\nframes: over {100 * limit:.0f} % on average" if found else ""
        bar.set_label(f"{meaning}{framed}", fontsize=8, loc="left")
        bar.ax.tick_params(labelsize=7.5)
    return ax.figure  # type: ignore[return-value]


def _own_groups(source: Any) -> list[str | None] | None:
    """Return the first attribute of a model's variables that has few enough values for colors."""
    if isinstance(source, np.ndarray):
        return None
    circuit = circuit_of(source)
    for _, values in circuit.schema.attributes:
        own = [values[v] for v in circuit.scope]
        if 1 < len({value for value in own if value is not None}) <= len(SERIES):
            return own
    return None


def _fractions(source: Any) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the matrix and the names of its variables."""
    if not isinstance(source, np.ndarray):
        circuit = circuit_of(source)
        inside = np.array(list(circuit.scope))
        names = circuit.names or variable_names(circuit)
        return shared_leaves(circuit)[np.ix_(inside, inside)], tuple(names[v] for v in inside)
    if source.ndim != 2 or source.shape[0] != source.shape[1] or np.isnan(source).any():
        raise DataError(f"exchangeability_map: expected a square matrix without NaN, found shape {source.shape}")
    return source, tuple(map(default_name, range(len(source))))


def _heading(n: int, found: list[IntArray]) -> str:
    if not found:
        return f"{n} variables, hardly any two interchangeable"
    groups = "one group" if len(found) == 1 else f"{len(found)} groups"
    return f"{sum(map(len, found))} of {n} variables in {groups}, interchangeable within"


def _matrix(axes: "Axes", fractions: FloatArray) -> Any:
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    colors = LinearSegmentedColormap.from_list("fractions", PALE_TO_DARK).with_extremes(bad="#E9ECEF")
    others = np.where(np.eye(len(fractions), dtype=bool), np.nan, fractions)
    largest = max(0.1, float(np.nanmax(others, initial=0.0)))
    # Steeper for small fractions: a large group is often together in part of the rows only.
    image = axes.imshow(others, cmap=colors, norm=PowerNorm(0.6, 0, largest), interpolation="nearest", aspect="equal")
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color("#D0D4D8")
    return image


def _strengths(source: Any, found: list[IntArray]) -> list[str]:
    """Say of each group how much its variables go together in all rows: those that share a leaf may just be alike."""
    if isinstance(source, np.ndarray) or not found:
        return [""] * len(found)
    circuit = circuit_of(source)
    if circuit.n_variables > WIDEST:
        return [""] * len(found)
    inside, own, domains = list(circuit.scope), circuit.moments(), circuit.domains
    texts = []
    for group in found:
        variables = [inside[place] for place in group]
        strength = None
        if have_moments(variables, domains):
            pairs = own.covariance[np.ix_(variables, variables)]
            strength = strength_of_moments(own.mean[variables], pairs, are_bits(variables, domains))
        texts.append("" if strength is None else f"{strength.words}: {strength}" if str(strength) else strength.words)
    return texts


def _frames(axes: "Axes", names: list[str], order: IntArray, found: list[IntArray], strengths: list[str]) -> None:
    """Frame the groups, and name the largest beside the map, far enough from each other to be read."""
    from matplotlib.patches import Rectangle

    n = len(order)
    place = {int(v): i for i, v in enumerate(order)}
    named = {id(group) for group in sorted(found, key=lambda group: -len(group))[:MOST_GROUPS]}
    lowest = -np.inf
    step = 0.1 if any(strengths) else 0.07  # of the map: three lines of text, or two
    for group, strength in zip(found, strengths, strict=True):
        start = min(place[int(v)] for v in group)
        corner = (start - 0.5, start - 0.5)
        axes.add_patch(Rectangle(corner, len(group), len(group), fill=False, edgecolor=ORANGE, linewidth=1.2, zorder=3))
        if id(group) not in named:
            continue
        end, middle = start - 0.5 + len(group), start - 0.5 + len(group) / 2
        lowest = max(middle, lowest + step * n)
        line: dict[str, Any] = {"color": ORANGE, "linewidth": 0.7, "alpha": 0.8, "zorder": 3, "clip_on": False}
        axes.plot([end, n - 0.5, 1.03 * n - 0.5], [middle, middle, lowest], **line)
        members = names_within([names[place[int(v)]] for v in sorted(group)], 26)
        words = "\n".join(text for text in (f"{len(group)} variables", members, strength) if text)
        axes.text(1.04 * n, lowest, words, fontsize=7.2, va="center", linespacing=1.25)
    axes.set_xlim(-0.5, n - 0.5)
    axes.set_ylim(n - 0.5, -0.5)


def _axis(axes: "Axes", names: list[str]) -> None:
    """Write the names if there is room for them."""
    n = len(names)
    axes.tick_params(length=0)
    axes.set_xticks([])
    if n <= MOST_NAMED:
        axes.set_yticks(range(n), [shortened(name, LETTERS) for name in names], fontsize=min(8.0, 280 / n))
    else:
        axes.set_yticks([])
        axes.set_ylabel(f"{n} variables, those that share leaves together", color=GRAY)


def _known_groups(axes: "Axes", values: list[Any]) -> None:
    """Draw a strip of colors above the map: what is known about each variable."""
    from matplotlib.patches import Patch, Rectangle

    n = len(values)
    kinds = sorted({value for value in values if value is not None}, key=str)
    color = {kind: SERIES[place % len(SERIES)] for place, kind in enumerate(kinds)}
    high = 0.025 * n
    for place, value in enumerate(values):
        if value is not None:
            corner = (place - 0.5, -0.5 - 1.3 * high)
            axes.add_patch(Rectangle(corner, 1, high, color=color[value], linewidth=0, clip_on=False))
    patches = [Patch(color=color[kind], label=shown(kind)) for kind in kinds]
    axes.legend(handles=patches, loc="upper left", bbox_to_anchor=(1.02, 1.06), fontsize=7.5, labelcolor=INK)


def _value_of(groups: Any, variable: int, names: Sequence[str]) -> Any:
    if isinstance(groups, Mapping):
        return groups.get(names[variable])
    return groups[variable]
