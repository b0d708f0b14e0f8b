"""The settings of learning on the command line, and the types of columns that a user asks for."""

import argparse
from typing import TYPE_CHECKING, Any

from xspn.cli.inputs import matching
from xspn.core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from xspn.data import TableFile

WORDS = ("binary", "categorical", "ordinal", "real")
SETTINGS = (
    "min_instances",
    "independence_threshold",
    "significance",
    "smoothing",
    "exchangeability",
    "clustering",
    "leaf_learner",
    "quality",
    "n_estimators",
)


def add_column_options(parser: argparse.ArgumentParser) -> None:
    """Add which columns to take, and as what."""
    parser.add_argument(
        "--exclude", nargs="+", action="extend", default=[], metavar="NAME", help="leave columns out; * and ? allowed"
    )
    parser.add_argument(
        "--domains",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=TYPE",
        help="what a column holds, where that shall not be inferred: binary, categorical, ordinal, real, labels as in "
        "'size=small|large', ordered ones as in 'size=small<medium<large'; TYPE alone is for all columns",
    )


def add_learning_options(parser: argparse.ArgumentParser) -> None:
    """Add the learner's settings; without them its defaults hold."""
    group = parser.add_argument_group("learning", "the defaults are good for most tables")
    group.add_argument(
        "--quality",
        choices=("fast", "balanced", "best"),
        help="fast: one circuit (default); balanced, best: settings chosen on validation rows, and many circuits; "
        "seconds, or up to some minutes",
    )
    group.add_argument("--min-instances", type=int, metavar="ROWS", help="slices of fewer rows become a leaf")
    group.add_argument("--independence-threshold", type=float, metavar="RHO", help="larger finds more independence")
    group.add_argument("--significance", type=float, metavar="LEVEL", help="smaller finds more exchangeability")
    group.add_argument("--smoothing", type=float, metavar="ALPHA", help="the pseudo-count of each value")
    group.add_argument("--exchangeability", metavar="TEST", help="global, pairwise, full, or none: a conventional SPN")
    group.add_argument("--clustering", metavar="NAME", help="auto, bernoulli, variable, gmm or kmeans")
    group.add_argument(
        "--leaf-learner", metavar="NAME", help="auto, sparse, factorized, exchangeable, chow_liu or blocks"
    )
    group.add_argument("--n-estimators", type=int, metavar="N", help="mix so many circuits, each on a bootstrap sample")
    group.add_argument("--jobs", type=int, default=1, metavar="N", help="workers; -1 for all cores (default: 1)")
    group.add_argument("--seed", type=int, default=0, help="the random seed (default: 0)")


def settings_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given."""
    found = {name: getattr(args, name) for name in SETTINGS if getattr(args, name) is not None}
    if found.get("exchangeability") in ("none", "None"):
        found["exchangeability"] = None
    return found


def excluded(table: "TableFile", patterns: list[str]) -> "TableFile":
    """Return the table without the columns that were excluded."""
    dropped = {table.names[j] for pattern in patterns for j in matching(pattern, table.names, "--exclude")}
    return table.without(dropped) if dropped else table


def domains_of(table: "TableFile", texts: list[str]) -> Any:
    """Return what `--domains` asks for in the form that tables are read by."""
    specs: dict[str, Any] = {}
    for text in texts:
        name, equals, spec = text.rpartition("=")
        if not equals:
            if len(texts) > 1:
                raise ParameterError(f"--domains: {text!r} is for all columns and cannot stand beside others")
            if spec not in WORDS:
                raise ParameterError(f"--domains: expected NAME=TYPE or one of {', '.join(WORDS)}, found {text!r}")
            return spec
        columns = matching(name, table.names, "--domains")
        for column in columns:
            specs[table.names[column]] = _column_spec(spec, table, columns, name)
    return specs or None


def _column_spec(spec: str, table: "TableFile", columns: list[int], name: str) -> Any:
    """Return a word, labels, or labels in order; columns of one pattern share an ordinal scale."""
    if spec in WORDS:
        if spec == "ordinal" and len(columns) > 1:
            return _shared_scale(table, columns, name)
        return spec
    for separator in ("<", "|"):
        if separator in spec:
            labels = [label.strip() for label in spec.split(separator)]
            return _Labels(labels, ordered=separator == "<")
    raise ParameterError(f"--domains: expected {', '.join(WORDS)} or labels as in 'a|b' or 'a<b<c', found {spec!r}")


class _Labels(list[str]):
    """Labels, and whether their order means something."""

    def __init__(self, labels: list[str], ordered: bool) -> None:
        super().__init__(labels)
        self.categories = labels
        self.ordered = ordered


def _shared_scale(table: "TableFile", columns: list[int], name: str) -> Any:
    from xspn.data.domain import Domain

    values = [float(cell) for j in columns for cell in table.cells[j] if cell is not None and _is_whole(cell)]
    if len(values) != sum(cell is not None for j in columns for cell in table.cells[j]):
        raise DataError(f"--domains: expected whole numbers from 0 in {name!r}; list other labels in their order")
    return Domain.ordinal(int(max(values, default=1)) + 1)


def _is_whole(cell: Any) -> bool:
    return str(cell).isdigit() or (isinstance(cell, float) and cell >= 0 and cell.is_integer())
