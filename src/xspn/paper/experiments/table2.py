"""Table 2: test accuracies of classifiers, beside the published ones."""

from xspn.paper.experiments.classifiers import classifiers
from xspn.paper.experiments.published import ACCURACIES
from xspn.paper.experiments.selection import Chosen
from xspn.paper.experiments.table1 import better_than_all
from xspn.paper.experiments.tables import NOTHING, Cell, Table, cell, number

RIVALS = {"SPN": ("XSPN",), "XSPN": ("SPN",), "XSPN-default": ("SPN",)}
PUBLISHED = frozenset(name for accuracies in ACCURACIES.values() for name in accuracies)
NOTES = (
    "Test accuracies. Settings are chosen from the paper's grid by validation accuracy (equal ones by log-loss). Bold: "
    "SPN or XSPN significantly better than the other, XSPN-default significantly better than SPN (paired t-test on "
    "what each gets right, p < 0.05). XSPN-default is compared with the published XSPN. XGBoost boosts 2 rounds, as in "
    "the paper; XGBoost-untied as many as help the validation rows.",
    "The rows of the first four tasks are drawn uniformly and labelled by the rule; the paper's own rows were not "
    "published. It does not name the variable to predict for exam and the votes either: here it is the one whose share "
    "of ones is nearest to one half, hence the hardest to guess, so accuracies on these four compare only loosely.",
)


def table2(chosen: Chosen) -> Table:
    """Return table 2 for the tasks that have results."""
    columns = chosen.models(classifiers)
    header = ["task", "majority"]
    for name in columns:
        header += [name, f"paper's {name}"] if name in PUBLISHED else [name]
    rows = []
    for row in chosen.rows:
        paper = ACCURACIES[row.dataset]
        shares = [result.facts["majority"] for name in columns if (result := chosen.get(row, name)) is not None]
        cells = [Cell(str(row)), cell(shares[0] if shares else None)]
        for name in columns:
            published = paper.get("XSPN" if name == "XSPN-default" else name)
            result = chosen.get(row, name)
            rivals = [chosen.get(row, rival) for rival in RIVALS.get(name, ())]
            bold = result is not None and better_than_all(result, rivals)
            cells.append(NOTHING if result is None else cell(result.test_score, published, bold))
            if name in PUBLISHED:
                cells.append(Cell(number(published)))
        rows.append(tuple(cells))
    published_columns = frozenset(i for i, name in enumerate(header) if name.startswith("paper"))
    return Table("table2", "Table 2: test accuracies", tuple(header), tuple(rows), NOTES, published_columns)
