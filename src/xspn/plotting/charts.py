"""Charts of a model: how many ones, what evidence changes, how likely rows are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from xspn.circuit import Circuit
from xspn.core.arrays import FloatArray
from xspn.core.errors import DataError, QueryError
from xspn.core.names import listed, shortened
from xspn.plotting.style import (
    BLUE,
    GRAY,
    INK,
    ORANGE,
    SERIES,
    Model,
    chart_axes,
    circuit_of,
    evidence_text,
    look,
    shown_text,
    value_text,
    variable_names,
)
from xspn.questions import Posterior, Question, questions_of
from xspn.questions.events import CountOf, fixed_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from xspn.circuit import Circuit

MOST_BARS = 50
NEGLIGIBLE = 1e-4  # rarer counts at the ends are not drawn
LETTERS = 28
LINE, SHORT_LINE, LINE_HEIGHT = 68, 50, 0.18  # letters of a line of a title, also beside names; its height in inches
VISIBLE = 0.005  # what changes less is shown only if it is asked for, or nothing changes more
OUTLIERS = 0.005  # the fraction of rows below which the axis is cut off


def count_chart(
    model: Model,
    variables: Iterable[int | str] | str | None = None,
    *,
    given: Any = None,
    data: Any = None,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw P(number of ones = k): of the model; given evidence, if there is any; and how often it occurs in data.

    Args:
        model: A circuit, or an estimator that has learned one.
        variables: The variables to count, or what to count as text, "count(likes_*=often)"; all by default.
        given: Evidence, {variable: value} or text: its distribution is drawn over the one without it.
        data: A table to compare with: dots show its counts, over the rows that are whole in these variables.
        title: A title.
        ax: Where to draw; a new figure by default.

    Examples:
        >>> from xspn import datasets
        >>> d = datasets.make("conference", n_train=1000)
        >>> figure = count_chart(d.truth, range(10), given={"hot_topic": 1}, data=d.train)
    """
    circuit = circuit_of(model)
    count = _count_of(circuit, variables)
    columns = list(count.variables)
    asked = f"How many of {listed([variable_names(circuit)[v] for v in columns], LINE)}?"
    heading = wrapped(shown_text(variables) if isinstance(variables, str) else asked) if title is None else title
    legend = wrapped(f"given {evidence_text(circuit, given)}") if given else ""
    posterior = Posterior(circuit.backend, circuit.schema, given or None)
    prior = posterior.prior.count_distribution(count)[0]
    with look():
        axes = chart_axes(ax, 6.4, 3.3 + LINE_HEIGHT * (heading.count("\n") + legend.count("\n")))
        bins = _Bins(len(prior))
        drawn = [prior]
        if given:
            drawn.append(posterior.count_distribution(count)[0])
            axes.stairs(bins.add_up(prior), bins.edges, color=BLUE, linewidth=1.5, label="without evidence", zorder=3)
            bins.bars(axes, drawn[1], ORANGE, legend)
        else:
            bins.bars(axes, prior, BLUE, "model")
        if data is not None:
            drawn.append(_observed(circuit, data, count))
            axes.plot(bins.middles, bins.add_up(drawn[-1]), "o", color=INK, markersize=3.6, label="data", zorder=4)
        _frame(axes, drawn, bins, "count" if isinstance(variables, str) else "number of ones")
        axes.set_title(heading, loc="left")
        axes.legend()
    return axes.figure  # type: ignore[return-value]


def _count_of(circuit: Circuit, variables: Iterable[int | str] | str | None) -> CountOf:
    """Return what is counted: ones of some variables, or what a text says."""
    if isinstance(variables, str):
        question = questions_of(variables, circuit.schema, "count_chart")[0]
        if question.count is None:
            raise QueryError(f"count_chart: expected count(NAME, …), found {variables!r}")
        return question.count
    chosen = list(circuit.scope) if variables is None else circuit.schema.indices(list(variables))
    circuit.schema.binary(chosen, "count_chart")
    return CountOf(tuple((v, frozenset({1})) for v in chosen))


def _observed(circuit: "Circuit", data: Any, count: CountOf) -> FloatArray:
    """Return how often each count occurs among the rows that are whole."""
    rows = np.asarray(circuit.schema.encode(data, "data"), dtype=np.float64)[:, list(count.variables)]
    whole = rows[~np.isnan(rows).any(axis=1)]
    if not len(whole):
        raise DataError("data: expected rows without missing values in the variables to count, found none")
    counts = sum(np.isin(whole[:, k], list(codes)) for k, (_, codes) in enumerate(count.counted))
    return np.bincount(np.asarray(counts, dtype=np.int64), minlength=len(count.counted) + 1) / len(whole)


class _Bins:
    """Neighboring counts that share a bar where there would be too many bars."""

    def __init__(self, size: int) -> None:
        self.step = -(-size // MOST_BARS)
        self.starts = np.arange(0, size, self.step)
        self.edges = np.append(self.starts, self.starts[-1] + self.step) - 0.5
        self.middles = (self.edges[1:] + self.edges[:-1]) / 2

    def add_up(self, chances: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(chances, self.starts))

    def bars(self, axes: "Axes", chances: FloatArray, color: str, label: str) -> None:
        axes.bar(self.middles, self.add_up(chances), width=0.8 * self.step, color=color, label=label, zorder=2)


def _frame(axes: "Axes", drawn: list[FloatArray], bins: _Bins, what: str) -> None:
    """Show the counts that occur; write whole numbers."""
    from matplotlib.ticker import MaxNLocator

    common = np.flatnonzero(bins.add_up(np.max(drawn, axis=0)) > NEGLIGIBLE)
    axes.set_xlim(bins.edges[common[0]] - 0.2 * bins.step, bins.edges[common[-1] + 1] + 0.2 * bins.step)
    axes.set_ylim(0, None)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="x", visible=False)
    axes.set_xlabel(what + (f" (in steps of {bins.step})" if bins.step > 1 else ""))
    axes.set_ylabel("probability")


def wrapped(text: str, letters: int = LINE) -> str:
    """Return a text in lines of a picture's width: nothing of it is left out."""
    return fill(text, letters)


@dataclass(frozen=True)
class _Bar:
    name: str
    before: float
    after: float


def posterior_bars(
    model: Model,
    given: Any,
    variables: Iterable[int | str] | None = None,
    *,
    most: int = 12,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw what some evidence says about other variables: P(variable | evidence) as bars, P(variable) as marks.

    Args:
        model: A circuit, or an estimator that has learned one.
        given: The evidence: {variable: value}, or a text such as "income > 50000 & city=Bonn".
        variables: What to show, in this order: variables, or events as text; by default those that the evidence
            changes most.
        most: How many bars there are at most.
        title: A title; the evidence by default.
        ax: Where to draw; a new figure by default.

    Examples:
        >>> from xspn import datasets
        >>> figure = posterior_bars(datasets.truth("conference"), {"hot_topic": 1})
    """
    circuit = circuit_of(model)
    posterior = Posterior(circuit.backend, circuit.schema, given or None)
    if variables is None:
        questions = posterior.open_values()
    else:
        questions = [question for own in variables for question in _questions(circuit, own)]
    if not questions:
        raise QueryError("posterior_bars: expected discrete variables besides the evidence, found none")
    bars = [
        _Bar(_bar_name(circuit, question), answer.prior, answer.probability)
        for question, answer in zip(questions, posterior.answers(questions), strict=True)
    ]
    if variables is None:
        bars.sort(key=lambda bar: -abs(bar.after - bar.before))
        bars = [bar for bar in bars if abs(bar.after - bar.before) >= VISIBLE] or bars
    text = f"Given {evidence_text(circuit, given)}" if given else "Without evidence"
    return _draw(bars[:most], wrapped(text, SHORT_LINE) if title is None else title, ax)


def _questions(circuit: Circuit, own: int | str) -> list[Question]:
    """Return the questions for a variable, one for a bit and one for each value of others, or for an event."""
    names = circuit.names or ()
    if isinstance(own, str) and own not in names and any(sign in own for sign in "=<>( "):
        found = questions_of(own, circuit.schema, "posterior_bars")
        for question in found:
            question.refuse_distribution()
        return found
    column = circuit.schema.index(own)
    domain = circuit.domains[column]
    k = 0 if domain is None else domain.cardinality or 0
    return [Question.of_value(circuit.schema, column, code) for code in ([1] if k == 2 else range(k))]


def _bar_name(circuit: Circuit, question: Question) -> str:
    """Name a bar: a bit without labels by its variable, a value by both, any other event as it was asked."""
    [*cases] = question.event.cases
    keys = [key for case in cases for key in case]
    if len(cases) != 1 or len(keys) != 1 or not isinstance(keys[0], int):
        return shown_text(question.text)
    code = fixed_value(cases[0][keys[0]])
    if code is None:
        return shown_text(question.text)
    domain = circuit.domains[keys[0]]
    is_bit = domain is not None and domain.cardinality == 2 and circuit.labels[keys[0]] is None and code == 1
    return variable_names(circuit)[keys[0]] if is_bit else value_text(circuit, keys[0], int(code))


def _draw(bars: list[_Bar], title: str, ax: "Axes | None") -> "Figure":
    with look():
        from matplotlib.transforms import ScaledTranslation

        axes = chart_axes(ax, 6.4, 1.15 + 0.27 * len(bars) + LINE_HEIGHT * title.count("\n"))
        places = np.arange(len(bars))
        axes.barh(places, [bar.after for bar in bars], height=0.62, color=BLUE, label="given the evidence", zorder=2)
        before = [bar.before for bar in bars]
        axes.plot(before, places, linestyle="", marker="|", markersize=13, markeredgewidth=2.2, color=INK, zorder=4,
                  label="without it")  # fmt: skip
        for place, bar in enumerate(bars):
            axes.text(1.02, place, f"{bar.after:.2f}", va="center", color=BLUE, fontweight="bold", fontsize=8.5)
            axes.text(1.12, place, f"{bar.after - bar.before:+.2f}".replace("-", "−"), va="center", color=GRAY,
                      fontsize=8.5)  # fmt: skip
        axes.set_yticks(places, [shortened(bar.name, LETTERS) for bar in bars])
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.set_xlim(0, 1)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("probability")
        axes.set_title(title, loc="left")
        below = axes.transAxes + ScaledTranslation(0, -0.46, axes.figure.dpi_scale_trans)  # under the axis' label
        where: Any = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below, "borderaxespad": 0}
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], labels[::-1], ncols=2, **where)
    return axes.figure  # type: ignore[return-value]


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
        axes.set_ylabel("fraction of rows")
        axes.set_title(title, loc="left")
        axes.legend(loc="upper left")
    return axes.figure  # type: ignore[return-value]


def _checked(name: str, values: Any) -> FloatArray:
    array = np.asarray(values, dtype=np.float64).ravel()
    if not len(array) or np.isnan(array).any():
        raise DataError(f"likelihood_histogram: expected numbers for {name!r}, found {len(array)}, some NaN or none")
    return array


def _one(axes: "Axes", name: str, values: FloatArray, edges: FloatArray, color: str) -> None:
    finite = values[np.isfinite(values)]
    impossible = len(values) - len(finite)
    # Rows beyond the left edge are drawn at it: every row is somewhere.
    fractions = np.histogram(np.clip(finite, edges[0], None), edges)[0] / len(values)
    mean = float(finite.mean()) if len(finite) else float("nan")
    label = f"{name}: mean {mean:.2f}".replace("-", "−") + (f", {impossible} rows impossible" if impossible else "")
    axes.stairs(fractions, edges, fill=True, color=color, alpha=0.28, zorder=2)
    axes.stairs(fractions, edges, color=color, linewidth=1.6, label=label, zorder=3)
    axes.axvline(mean, color=color, linewidth=1.4, linestyle=(0, (4, 2)), zorder=4)
