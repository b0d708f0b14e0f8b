"""Charts of the tables: bars against the published numbers, size against accuracy, times of the tests."""

from math import isfinite
from typing import TYPE_CHECKING

from xspn.paper.datasets.catalogue import info
from xspn.paper.experiments.classifiers import classifiers
from xspn.paper.experiments.pairwise import METHODS
from xspn.paper.experiments.published import ACCURACIES, LIKELIHOODS
from xspn.paper.experiments.result import Result
from xspn.paper.experiments.selection import Chosen, DataKey
from xspn.paper.experiments.structures import Drawing
from xspn.paper.experiments.table1 import family
from xspn.plotting import Point, difference_bars, grouped_bars, named_scatter, runtime_lines

if TYPE_CHECKING:
    from xspn.plotting.bars import Values


def likelihood_chart(chosen: Chosen) -> Drawing:
    """Draw by how much XSPNs and the smoothed SPN are better than the published XSPN."""
    rows = chosen.rows
    columns = {
        "XSPN (paper's settings)": family("XSPN"),
        "XSPN-default": ["XSPN-default"],
        "SPN (paper's settings, smoothed)": family("SPN"),
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
        spn, xspn = chosen.best_of(row, family("SPN")), chosen.best_of(row, family("XSPN"))
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
        centre=(1.0, 0.0),
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


def runtime_chart(results: list[Result]) -> Drawing:
    """Draw the times of learning with pairwise, full and global tests against the number of columns."""
    panels = {"Learning an XSPN": _times(results, "fit"), "One test of all rows": _times(results, "test")}
    figure = runtime_lines(panels, "variables")
    caption = (
        "Times with the three tests of exchangeability, on the first variables of the benchmark sets: medians (thick) "
        "and single data sets (thin). The full test visits all 2ⁿ assignments. The paper's program could not go beyond "
        "8 variables with it; here the test is a few array operations, and clustering takes most of the time."
    )
    return Drawing(figure, caption)


def _times(results: list[Result], what: str) -> dict[str, dict[str, dict[int, float]]]:
    """Return the seconds of each test, for each data set and number of columns."""
    times: dict[str, dict[str, dict[int, float]]] = {method: {} for method in METHODS}
    for result in results:
        columns = int(result.unit.setting("columns") or 0)
        times[result.unit.model].setdefault(result.unit.dataset, {})[columns] = result.seconds[what]
    return times


def _gain(result: Result | None, row: DataKey) -> float | None:
    if result is None or not isfinite(result.test_score):
        return None
    published = LIKELIHOODS[row.dataset].xspn
    return 100 * (result.test_score - published) / abs(published)
