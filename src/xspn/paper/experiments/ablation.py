"""The ablation study: every variant of SPN and XSPN, beside the published numbers; sizes and chosen settings."""

from xspn.paper.experiments.models import models
from xspn.paper.experiments.published import LIKELIHOODS
from xspn.paper.experiments.result import Result
from xspn.paper.experiments.selection import Chosen, DataKey
from xspn.paper.experiments.table1 import better_than_all
from xspn.paper.experiments.tables import NOTHING, Cell, Table, cell, number

PAPERS = ("SPN", "SPN-CLT", "XSPN-T", "XSPN-TF")
OURS = ("SPN-default", "XSPN-default")
RIVALS = {
    "XSPN-T": ("SPN", "SPN-CLT"),
    "XSPN-TF": ("SPN", "SPN-CLT"),
    "XSPN-default": ("SPN-default",),
    "SPN-default": ("XSPN-default",),
}
NOTES = (
    "Bold: XSPN-T and XSPN-TF significantly better than both SPN and SPN-CLT; of the two defaults, the one that is "
    "significantly better than the other (paired t-test, p < 0.05). Marks as in table 1.",
    "The paper's SPN-CLT often failed in its program, and then fell back to factorised leaves; here it never does. Its "
    "XSPN-TF makes a product of exchangeable blocks in the fallback, not one leaf as its text says; so does this one.",
)


def ablation_table(chosen: Chosen) -> Table:
    """Return the ablation study for the data sets that have results."""
    header = ["data set"]
    for name in PAPERS:
        header += [name, f"paper's {name}"]
    header += OURS
    rows = []
    for row in chosen.rows:
        cells = [Cell(str(row))]
        for name in PAPERS:
            published = LIKELIHOODS[row.dataset].of(name)
            cells += [_entry(chosen, row, name, published), Cell(number(published))]
        cells += [_entry(chosen, row, name, None) for name in OURS]
        rows.append(tuple(cells))
    published_columns = frozenset(i for i, name in enumerate(header) if name.startswith("paper"))
    return Table(
        "ablation", "Ablation study: test log-likelihoods", tuple(header), tuple(rows), NOTES, published_columns
    )


def sizes_table(chosen: Chosen) -> Table:
    """Return the numbers of free parameters of the chosen models."""
    columns = chosen.models(models)
    rows = []
    for row in chosen.rows:
        sizes = [result.parameters if (result := chosen.get(row, name)) is not None else None for name in columns]
        rows.append((Cell(str(row)), *(Cell(f"{size:,}") if size is not None else NOTHING for size in sizes)))
    note = (
        "Free parameters of the models in the tables above: K − 1 for a sum of K children, 1 for a Bernoulli, n for an "
        "exchangeable leaf over n variables, 2n − 1 for a Chow-Liu tree; all weights of a MADE."
    )
    return Table("sizes", "Numbers of parameters", ("data set", *columns), tuple(rows), (note,))


def settings_table(chosen: Chosen) -> Table:
    """Return the chosen settings, and how many were tried."""
    columns = [name for name in chosen.models(models) if models[name].grid]
    rows = []
    for row in chosen.rows:
        texts = [_settings(chosen.get(row, name), chosen.tried(row, name)) for name in columns]
        rows.append((Cell(str(row)), *(Cell(text) for text in texts)))
    note = "ρ / m / p as chosen on the validation rows; in brackets, of how many settings."
    return Table("settings", "Chosen settings", ("data set", *columns), tuple(rows), (note,))


def _entry(chosen: Chosen, row: DataKey, name: str, published: float | None) -> Cell:
    result = chosen.get(row, name)
    if result is None:
        return NOTHING
    rivals = [chosen.get(row, rival) for rival in RIVALS.get(name, ())]
    return cell(result.test_score, published, bold=better_than_all(result, rivals))


def _settings(result: Result | None, tried: int) -> str:
    if result is None:
        return "–"
    values = [result.unit.setting(name) for name in models[result.unit.model].grid]
    return f"{' / '.join(f'{value:g}' for value in values if isinstance(value, int | float))} ({tried})"
