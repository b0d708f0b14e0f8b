"""Pairwise against full tests: likelihoods, circuits and times on the first columns of the benchmark sets."""

from xspn.paper.experiments.pairwise import METHODS
from xspn.paper.experiments.result import Result
from xspn.paper.experiments.tables import Cell, Table, cell

NOTES = (
    "LearnXSPN on the first columns of each data set, with the pairwise test (all pairs), the full χ² test over all 2ⁿ "
    "assignments, and this library's global test, all at 0.05. The paper stops at 8 columns, where its full test "
    "became infeasible, and found identical circuits.",
    "Same circuit: whether pairwise and full tests led to the very same circuit, parameters included.",
)

Runs = dict[tuple[str, int], dict[str, Result]]


def runs_by_columns(results: list[Result]) -> Runs:
    """Return the results of each data set and number of columns, by test."""
    found: Runs = {}
    for result in results:
        if result.unit.experiment == "pairwise":
            key = result.unit.dataset, int(result.unit.setting("columns") or 0)
            found.setdefault(key, {})[result.unit.model] = result
    return dict(sorted(found.items()))


def pairwise_table(results: list[Result]) -> Table:
    """Return the comparison."""
    header = ("data set", "columns", *(f"LL {m}" for m in METHODS), *(f"s {m}" for m in METHODS), "same circuit")
    rows = []
    for (dataset, columns), by_method in runs_by_columns(results).items():
        found = [by_method.get(method) for method in METHODS]
        scores = [cell(None if result is None else result.test_score, digits=4) for result in found]
        times = [cell(None if result is None else result.seconds["fit"]) for result in found]
        rows.append((Cell(dataset), Cell(str(columns)), *scores, *times, Cell(_same(by_method))))
    title = "Pairwise against full tests of exchangeability"
    return Table("pairwise", title, header, tuple(rows), (*NOTES, agreement(results)))


def agreement(results: list[Result]) -> str:
    """Say in how many cases the two tests led to the same circuit."""
    answers = [_same(by_method) for by_method in runs_by_columns(results).values()]
    return f"The circuits are the same in {answers.count('yes')} of {answers.count('yes') + answers.count('no')} cases."


def _same(by_method: dict[str, Result]) -> str:
    if "pairwise" not in by_method or "full" not in by_method:
        return "–"
    return "yes" if by_method["pairwise"].facts["circuit"] == by_method["full"].facts["circuit"] else "no"
