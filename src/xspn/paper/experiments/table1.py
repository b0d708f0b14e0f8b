"""Table 1: test log-likelihoods of SPN, XSPN, MEVM and MADE, beside the published ones."""

from xspn.paper.experiments.compare import significantly_better
from xspn.paper.experiments.models import models
from xspn.paper.experiments.published import APPARENT_LIMITS, BEYOND_THE_TRUTH, LIKELIHOODS
from xspn.paper.experiments.result import Result
from xspn.paper.experiments.selection import Chosen, DataKey
from xspn.paper.experiments.tables import NOTHING, Cell, Table, cell, number, scoreboard

HEADER = (
    "data set", "limit", "SPN", "paper's SPN", "XSPN", "paper's XSPN", "XSPN-default",
    "MEVM", "paper's MEVM", "MADE", "paper's MADE",
)  # fmt: skip
PUBLISHED_COLUMNS = frozenset(i for i, name in enumerate(HEADER) if name.startswith("paper"))
SPN_COLUMN, XSPN_COLUMN, DEFAULT_COLUMN = HEADER.index("SPN"), HEADER.index("XSPN"), HEADER.index("XSPN-default")
NOTES = (
    "Mean test log-likelihoods, in nats per row. SPN is the better of SPN and SPN-CLT on the validation rows, XSPN the "
    "better of XSPN-T and XSPN-TF, all with the paper's settings; XSPN-default is this library's own learner. All "
    "settings are chosen from the paper's grid on the validation rows.",
    "▲ better than published, = equal (within 0.5 %), ▼ worse; XSPN-default is compared with the published XSPN. Bold: "
    "SPN or XSPN significantly better than the other one, XSPN-default significantly better than both (paired t-test, "
    "p < 0.05).",
    "The published SPN leaves its factorised fallback unsmoothed: its program never passes α on, so leaves of few rows "
    "hold probabilities 0 and 1. The SPN here is smoothed like all other models. On the real data most of the "
    "published gap between SPN and XSPN is that missing smoothing.",
    "* taken over in the paper from Niepert and Domingos (2014).",
    "† better than the distribution that the data was drawn from, on the same rows; it cannot be reproduced.",
    "The limit is the log-likelihood of the true distribution, where it is known (≈: as far as it can be seen).",
)


def family(name: str) -> list[str]:
    """Return the models that compete for a column of table 1."""
    return [spec for spec in models if models[spec].family == name]


def table1(chosen: Chosen) -> Table:
    """Return table 1 for the data sets that have results."""
    rows = tuple(_row(chosen, row) for row in chosen.rows)
    held_out = [str(row) for row in chosen.rows if _is_held_out(chosen, row)]
    notes = list(NOTES)
    if held_out:
        notes.append(
            f"{', '.join(held_out)}: the published validation file is the test file; settings are chosen on a fifth of "
            "the training rows instead, and the model is then learned on all of them."
        )
    return Table("table1", "Table 1: test log-likelihoods", HEADER, rows, tuple(notes), PUBLISHED_COLUMNS)


def scores(table: Table, chosen: Chosen) -> list[str]:
    """Say in how many data sets this run is better, equal and worse than the paper."""
    columns = {
        "XSPN (the paper's settings) against the published XSPN": XSPN_COLUMN,
        "XSPN-default against the published XSPN": DEFAULT_COLUMN,
        "SPN (smoothed) against the published SPN": SPN_COLUMN,
    }
    counted = {what: [row[place] for row in table.rows] for what, place in columns.items()}
    counted["XSPN-TF alone (what the paper's text calls XSPN) against the published XSPN"] = [
        _entry(chosen.get(row, "XSPN-TF"), LIKELIHOODS[row.dataset].xspn, []) for row in chosen.rows
    ]
    return [f"{what}: {scoreboard(cells)} data sets." for what, cells in counted.items()]


def _row(chosen: Chosen, row: DataKey) -> tuple[Cell, ...]:
    paper = LIKELIHOODS[row.dataset]
    spn, xspn = chosen.best_of(row, family("SPN")), chosen.best_of(row, family("XSPN"))
    own, mevm, made = (chosen.get(row, name) for name in ("XSPN-default", "MEVM", "MADE"))
    beyond = "†" if ("MADE", row.dataset) in BEYOND_THE_TRUTH else ""
    return (
        Cell(str(row)),
        _limit(row, [spn, xspn, own, mevm, made]),
        _entry(spn, paper.spn, [xspn]),
        Cell(number(paper.spn)),
        _entry(xspn, paper.xspn, [spn]),
        Cell(number(paper.xspn)),
        _entry(own, paper.xspn, [spn, xspn]),
        _entry(mevm, paper.mevm, []),
        Cell(number(paper.mevm) + ("*" if paper.mevm_taken_over else "")),
        _entry(made, paper.made, []),
        Cell(number(paper.made) + beyond),
    )


def _entry(result: Result | None, published: float | None, others: list[Result | None]) -> Cell:
    if result is None:
        return NOTHING
    return cell(result.test_score, published, bold=better_than_all(result, others))


def better_than_all(result: Result, others: list[Result | None]) -> bool:
    """Whether a model is significantly better than all others, of which there must be one at least."""
    present = [other for other in others if other is not None]
    return bool(present) and all(significantly_better(result.test_rows, other.test_rows) for other in present)


def _limit(row: DataKey, results: list[Result | None]) -> Cell:
    for result in results:
        if result is not None and "limit" in result.facts:
            return Cell(number(result.facts["limit"]))
    if row.dataset in APPARENT_LIMITS and not row.generated:
        return Cell(f"≈ {number(APPARENT_LIMITS[row.dataset])}")
    return Cell("")


def _is_held_out(chosen: Chosen, row: DataKey) -> bool:
    result = chosen.best_of(row, list(models))
    return result is not None and bool(result.facts.get("held_out"))
