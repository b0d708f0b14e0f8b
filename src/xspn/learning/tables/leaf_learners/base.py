"""The registry of leaf learners for tables: (data, variables, options) → Candidate, named as those for bits."""

from collections.abc import Callable

from xspn.core.arrays import IntArray
from xspn.core.errors import ParameterError
from xspn.core.registry import Registry
from xspn.learning.leaf_learners.base import Candidate, LeafData, LeafOptions
from xspn.learning.table_summary import TableSummary

TableLeafData = LeafData[TableSummary]
TableLeafLearner = Callable[[TableLeafData, IntArray, LeafOptions], Candidate]
table_leaf_learners: Registry[TableLeafLearner] = Registry("leaf learner of tables")


def without_atoms(data: TableLeafData) -> TableLeafData:
    """Return the data with values that many rows share taken for missing cells."""
    own = data.own.without_atoms()
    return LeafData(own, own if data.pooled is data.own else data.pooled.without_atoms(), data.unit)


def table_leaf_learner(name: str) -> TableLeafLearner:
    """Return the leaf learner of a name; refuse one that only makes leaves of bits."""
    if name not in table_leaf_learners:
        raise ParameterError(
            f"leaf_learner={name!r} is for tables of zeros and ones only; for columns of other types use one of "
            f"{', '.join(map(repr, table_leaf_learners))}"
        )
    return table_leaf_learners[name]
