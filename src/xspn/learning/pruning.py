"""Sub-trees that have not paid: a leaf in their place would predict rows that it was made without better."""

from dataclasses import replace

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.learning.assembly import Record
from xspn.learning.policy import Operation


def pruned(records: list[Record]) -> list[Record]:
    """Return the records with sub-trees replaced by a leaf where that scores higher, parents still before children.

    A sub-tree scores what its leaves score on left-out rows, less what it costs to name the cluster of each row. The
    mixture is worth more than that where clusters overlap; what is grown has to earn its place.
    """
    scores = np.zeros(len(records))
    kept = list(records)
    for k in range(len(records) - 1, -1, -1):
        record = records[k]
        scores[k] = record.score if record.node is not None else _score_of(record, records, scores)
        if record.leaf is not None and record.score_of_leaf >= scores[k]:
            scores[k] = record.score_of_leaf
            kept[k] = _as_leaf(record)
    return _reachable(kept)


def _score_of(record: Record, records: list[Record], scores: FloatArray) -> float:
    below = float(scores[record.children].sum())
    if record.weights is None:
        return below
    totals = np.array([records[child].total for child in record.children])
    return below + float(totals @ np.log(record.weights))


def _as_leaf(record: Record) -> Record:
    assert record.leaf is not None  # asked for by the caller
    return replace(
        record,
        operation=Operation.PRUNED,
        detail=record.leaf.name,
        node=record.leaf.node,
        weights=None,
        cut=None,
        conditions=(),
        rule=None,
        extra=[],
        below=[],
        children=[],
    )


def _reachable(records: list[Record]) -> list[Record]:
    """Return the records that hang on the first one, with their new places."""
    wanted = {0}
    for k, record in enumerate(records):
        if k in wanted:
            wanted.update(record.children)
    place = {old: new for new, old in enumerate(sorted(wanted))}
    return [replace(records[old], children=[place[child] for child in records[old].children]) for old in place]
