"""What passes over all rows found, as plain values for a checkpoint: samples and expected statistics.

Learning by evidence asks the same of the same rows every time, in the same order. So a fit is resumed by answering the
passes that were finished from the file; what was learned in between is learned again, from the same sample.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray
from xspn.core.errors import FormatError
from xspn.distributed.plain import from_text, to_text
from xspn.engine.program import SumStep
from xspn.learning.em.passes import Expected
from xspn.learning.long_tables import Expectation
from xspn.learning.sampling import Draw, RowSample, SampledRows


def plain_result(result: Any) -> dict[str, Any]:
    """Return what a pass found as plain values."""
    if isinstance(result, RowSample):
        rows = {"drawn": result.drawn, "ends": result.ends, "different": result.different}
        plain = {name: None if own is None else _plain_rows(own) for name, own in rows.items()}
        return {"total": result.total, **plain}
    return {"sums": [_plain_array(own) for own in result.sums], "leaves": [_plain_array(own) for own in result.leaves]}


def result_of_plain(data: Any, measure: Any) -> Any:
    """Return what a pass found that measured this; refuse what it cannot have found."""
    if isinstance(measure, Draw):
        return _sample(data, measure)
    if isinstance(measure, Expectation):
        return _expected(data, measure)
    raise FormatError(f"passes: nothing is known of {type(measure).__name__}")


def _sample(data: Any, draw: Draw) -> RowSample:
    drawn, ends = _rows(data["drawn"], draw, draw.most + 1), _rows(data["ends"], draw, 2 * len(draw.domains))
    different = None if data["different"] is None else _rows(data["different"], draw, draw.most)
    total = data["total"]
    if not isinstance(total, float) or not 0 < total < np.inf:
        raise FormatError(f"total: expected a number above 0, found {total!r:.60}")
    if different is None and len(drawn.index) != draw.most + 1:
        raise FormatError(f"drawn: expected {draw.most + 1} rows, found {len(drawn.index)}")
    return RowSample(draw, total, drawn, ends, different)


def _expected(data: Any, measure: Expectation) -> Expected:
    program = measure.backend.program
    shapes = [step.log_weights.shape for step in program.steps if isinstance(step, SumStep)]
    leaves = [np.shape(block.expected_statistics(block.new_counts())) for _, block in program.blocks]
    return Expected(_arrays(data["sums"], shapes), _arrays(data["leaves"], leaves), 0.0)


def _plain_rows(rows: SampledRows) -> dict[str, Any]:
    return {"index": to_text(rows.index), "cells": to_text(rows.cells), "weights": to_text(rows.weights)}


def _rows(data: Any, draw: Draw, most: int) -> SampledRows:
    """Return saved rows: at most so many, in order, with cells that their columns may have."""
    n = len(draw.domains)
    bits = all(domain.cardinality == 2 for domain in draw.domains)
    index = from_text(data, "index", np.dtype(np.int64), most)
    weights = from_text(data, "weights", np.dtype(np.float64), most)
    cells = from_text(data, "cells", np.dtype(np.uint8 if bits else np.float64), most * n)
    in_order = bool((np.diff(index) > 0).all()) and (not len(index) or index[0] >= 0)
    if not in_order or len(weights) != len(index) or cells.size != n * len(index):
        raise FormatError("rows: expected as many weights and rows of cells as positions, in order")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise FormatError("rows: expected weights of at least 0")
    cells = cells.reshape(-1, n)
    if bits and cells.size and cells.max() > 2:
        raise FormatError("rows: expected bits")
    if not bits and any(domain.outside(cells[:, j]).any() for j, domain in enumerate(draw.domains)):
        raise FormatError("rows: a cell holds what its column cannot")
    return SampledRows(index, cells, weights)


def _plain_array(array: AnyArray) -> str:
    return to_text(np.asarray(array, dtype=np.float64))


def _arrays(data: Any, shapes: Sequence[tuple[int, ...]]) -> list[AnyArray]:
    if not isinstance(data, list) or len(data) != len(shapes):
        raise FormatError(f"passes: expected the statistics of {len(shapes)} parts of the circuit")
    found = []
    for own, shape in zip(data, shapes, strict=True):
        size = int(np.prod(shape))
        array = from_text({"statistics": own}, "statistics", np.dtype(np.float64), size)
        if array.size != size or not np.isfinite(array).all():
            raise FormatError(f"statistics: expected {size} numbers")
        found.append(array.reshape(shape))
    return found
