"""The registry of clusterings for tables: functions (summary, seed) → proposed splits, named as those for bits."""

from collections.abc import Callable

from xspn.core.errors import ParameterError
from xspn.core.registry import Registry
from xspn.learning.clustering.base import Split
from xspn.learning.tables.summary import TableSummary

TableClustering = Callable[[TableSummary, int], list[Split]]
table_clusterings: Registry[TableClustering] = Registry("clustering of tables")


def table_clustering(name: str) -> TableClustering:
    """Return the clustering of a name; refuse one that only splits bits."""
    if name not in table_clusterings:
        raise ParameterError(
            f"clustering={name!r} is for tables of zeros and ones only; for columns of other kinds use one of "
            f"{', '.join(map(repr, table_clusterings))}"
        )
    return table_clusterings[name]
