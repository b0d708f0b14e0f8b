"""Charts of the tables, and the paper's figures 1 and 2."""

from math import isfinite
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from xspn.circuit import Circuit
from xspn.graph.nodes import Product
from xspn.leaves import Bernoulli, Exchangeable
from xspn.paper.datasets.catalog import info
from xspn.paper.experiments.comparison import Chosen, DataKey
from xspn.paper.experiments.data import availability, dataset
from xspn.paper.experiments.evaluation import METHODS
from xspn.paper.experiments.models import classifiers
from xspn.paper.experiments.published import ACCURACIES, LIKELIHOODS, PARAMETERS
from xspn.paper.experiments.rendering import Drawing, format_number
from xspn.paper.experiments.results import UnitResult
from xspn.paper.experiments.tables import FAMILIES
from xspn.paper.presets import paper_model
from xspn.plotting import (
    Point,
    difference_bars,
    draw_circuit,
    draw_side_by_side,
    grouped_bars,
    named_scatter,
    runtime_lines,
)

if TYPE_CHECKING:
    from xspn.plotting.result_charts import Values

# P(number of ones) of figure 1's three exchangeable variables: odd numbers are likely, which no two of them tell.
FIGURE1_COUNTS = (0.1, 0.4, 0.1, 0.4)
FIGURE1_ROWS = 1000
FIGURE2_SETTINGS = {"independence_threshold": 15.0, "min_instances": 200}


def figure1(seed: int = 0) -> Drawing:
    """Learn an SPN and an XSPN from rows of p(X1, X2, X3) p(X4), the first factor exchangeable; draw both."""
    truth = Circuit(
        Product([Exchangeable.from_class_probabilities([0, 1, 2], FIGURE1_COUNTS), Bernoulli(3, p=0.3)]),
        names=["X1", "X2", "X3", "X4"],
    )
    rows = truth.sample(FIGURE1_ROWS, random_state=seed)
    spn, xspn = (_learned(name, rows, truth.names, seed, {}) for name in ("SPN", "XSPN-TF"))
    sizes = [circuit.summary() for circuit in (spn, xspn)]
    titles = [
        f"{name}: {size.nodes} nodes, {size.parameters} parameters"
        for name, size in zip(("SPN", "XSPN"), sizes, strict=True)
    ]
    caption = (
        f"Figure 1. SPN and XSPN learned from {FIGURE1_ROWS} rows of p(X1, X2, X3) · p(X4), where X1, X2, X3 are "
        "exchangeable but not independent in any context. The SPN can only enumerate what they may be; the XSPN holds "
        "the distribution of their number of ones in one leaf."
    )
    return Drawing(draw_side_by_side([(spn, titles[0], False), (xspn, titles[1], True)]), caption)


def figure2(seed: int = 0) -> Drawing:
    """Learn the conference data with the paper's settings, and draw the XSPN with names."""
    generated = not availability(("conference",)).files
    data = dataset("conference", generated)
    spn, xspn = (_learned(name, data.train, data.feature_names, seed, FIGURE2_SETTINGS) for name in ("SPN", "XSPN-TF"))
    own, other = xspn.summary().parameters, spn.summary().parameters
    score, limit = float(xspn.log_likelihood(data.test).mean()), None
    if data.truth is not None:
        limit = float(data.truth.log_likelihood(data.test).mean())
    published = PARAMETERS["conference"]
    caption = (
        f"Figure 2. The XSPN learned for the conference data{' (generated rows)' if generated else ''}, with the "
        f"paper's settings (ρ = 15, m = 200): {own} parameters, where the SPN with the same settings has {other} "
        f"(published: {published['XSPN']} and {published['SPN']}). hot_topic and overflow are "
        "the contexts; within each, who attends is exchangeable: only the number of people matters. Test "
        f"log-likelihood {format_number(score)}{'' if limit is None else f', truth {format_number(limit)}'}."
    )
    return Drawing(draw_circuit(xspn, f"XSPN of the conference data: {own} parameters"), caption)


def _learned(name: str, rows: object, names: tuple[str, ...] | None, seed: int, settings: dict[str, float]) -> Circuit:
    with threadpool_limits(1):  # many small problems: threads would wait for each other most of the time
        model = paper_model(name, random_state=seed, **settings).fit(rows)
    return Circuit.of_graph(model.circuit_.graph, names)


def likelihood_chart(chosen: Chosen) -> Drawing:
    """Draw by how much XSPNs and the smoothed SPN are better than the published XSPN."""
    rows = chosen.rows
    columns = {
        "XSPN (paper's settings)": FAMILIES["XSPN"],
        "XSPN-default": ["XSPN-default"],
        "SPN (paper's settings, smoothed)": FAMILIES["SPN"],
    }
    series = {name: [_gain(chosen.best_of(row, models), row) for row in rows] for name, models in columns.items()}
    label = "test log-likelihood, better (+) or worse (−) than the published XSPN, in %"
    figure = difference_bars([str(row) for row in rows], series, "Against the published XSPN", label)
    caption = (
        "Mean test log-likelihoods compared with those of the published XSPN, in per cent of the latter; bars to the "
        "right are better. Bars that are cut off carry their value."
    )
    return Drawing(figure, caption)


def size_chart(chosen: Chosen) -> Drawing:
    """Draw the XSPN's gain in likelihood over the SPN against its size relative to the SPN."""
    points = []
    for row in chosen.rows:
        spn, xspn = chosen.best_of(row, FAMILIES["SPN"]), chosen.best_of(row, FAMILIES["XSPN"])
        if spn is None or xspn is None or not spn.parameters or not xspn.parameters or not spn.test_score:
            continue
        gain = 100 * (xspn.test_score - spn.test_score) / abs(spn.test_score)
        if not isfinite(gain):  # some row is impossible: there is no place for that in a chart
            continue
        group = {"synthetic": "synthetic", "real": "votes and exams", "benchmark": "benchmark"}[info(row.dataset).group]
        points.append(Point(xspn.parameters / spn.parameters, gain, str(row), group))
    figure = named_scatter(
        points,
        "XSPN against SPN of the same run: size and likelihood",
        "parameters of the XSPN / parameters of the SPN",
        "gain in test log-likelihood, %",
        center=(1.0, 0.0),
        log_x=True,
        linear_within=0.1,
    )
    caption = (
        "Each data set once, with the paper's settings and both models smoothed. Left of the upright line the XSPN has "
        "fewer parameters than the SPN, above the level one it is more accurate."
    )
    return Drawing(figure, caption)


def accuracy_chart(chosen: Chosen) -> Drawing:
    """Draw the accuracies of table 2 with the published ones."""
    rows = chosen.rows
    series: dict[str, Values] = {}
    published: dict[str, Values] = {}
    for name in chosen.models(classifiers):
        found = [chosen.get(row, name) for row in rows]
        series[name] = [None if result is None else result.test_score for result in found]
        published[name] = [ACCURACIES[row.dataset].get("XSPN" if name == "XSPN-default" else name) for row in rows]
    figure = grouped_bars([str(row) for row in rows], series, published, "Classification", "test accuracy", lowest=0.4)
    caption = "Test accuracies; the short lines are the published values (the published XSPN for XSPN-default)."
    return Drawing(figure, caption)


def runtime_chart(results: list[UnitResult]) -> Drawing:
    """Draw the times of learning with pairwise, full and global tests against the number of columns."""
    panels = {"Learning an XSPN": _times(results, "fit"), "One test of all rows": _times(results, "test")}
    figure = runtime_lines(panels, "variables")
    caption = (
        "Times with the three tests of exchangeability, on the first variables of the benchmark sets: medians (thick) "
        "and single data sets (thin). The full test visits all 2ⁿ assignments. The paper's program could not go beyond "
        "8 variables with it; here the test is a few array operations, and clustering takes most of the time."
    )
    return Drawing(figure, caption)


def _times(results: list[UnitResult], what: str) -> dict[str, dict[str, dict[int, float]]]:
    """Return the seconds of each test, for each data set and number of columns."""
    times: dict[str, dict[str, dict[int, float]]] = {method: {} for method in METHODS}
    for result in results:
        columns = int(result.unit.setting("columns") or 0)
        times[result.unit.model].setdefault(result.unit.dataset, {})[columns] = result.seconds[what]
    return times


def _gain(result: UnitResult | None, row: DataKey) -> float | None:
    if result is None or not isfinite(result.test_score):
        return None
    published = LIKELIHOODS[row.dataset].xspn
    return 100 * (result.test_score - published) / abs(published)
