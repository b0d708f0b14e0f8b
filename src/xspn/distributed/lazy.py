"""Queries on out-of-core tables: computed for each partition, lazily."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.core.checks import whole_number
from xspn.core.errors import DataError
from xspn.core.random import RandomState, child_seed, generator
from xspn.data.frames import dask_module, is_collection
from xspn.distributed.gathering import as_collection

CELLS_AT_ONCE = 1 << 22


def answers(
    model: Any,
    asked: str,
    X: Any,
    options: dict[str, Any] | None = None,
    *,
    width: int | None = None,
    dtype: Any = np.float64,
    template: Any = None,
    like_input: bool = False,
) -> Any:
    """Return what a method of a model answers, row by row, as a lazy Dask array or DataFrame.

    Args:
        model: The estimator, which is sent to each worker once.
        asked: The name of the method; it takes a table and returns an array or a DataFrame with as many rows.
        X: A Dask collection or a Parquet path.
        options: Further arguments of the method. If there is a `random_state`, each partition has a seed of its own.
        width: The number of columns of the answer; None if it is one number for each row.
        dtype: The type of the answer's cells.
        template: An empty DataFrame with the columns of the answer, if it is one.
        like_input: Whether the answer has the form of the table, whatever that is.
    """
    collection = as_collection(X)
    if like_input and hasattr(collection, "columns"):
        template = collection._meta
    elif like_input:
        width = int(collection.shape[1])
    parts, sizes = _parts(collection)
    delayed = _delayed(model, asked, parts, options or {})
    if template is not None:
        return dask_module("dask.dataframe").from_delayed(delayed, meta=template, verify_meta=False)
    array = dask_module("dask.array")
    rest = () if width is None else (width,)
    blocks = [
        array.from_delayed(own, (size, *rest), meta=np.empty((0,) * (1 + len(rest)), dtype=dtype))
        for own, size in zip(delayed, sizes, strict=True)
    ]
    return array.concatenate(blocks, allow_unknown_chunksizes=True)


def mean_and_count(values: Any) -> tuple[float, int]:
    """Return the mean of a lazy array of numbers, and how many there are; this computes it."""
    dask = dask_module("dask")
    sums = [dask.delayed(_sum_and_count)(part) for part in values.to_delayed().tolist()]
    found = dask.compute(*sums)
    total, count = sum(own for own, _ in found), sum(own for _, own in found)
    return float(total / count) if count else float("nan"), int(count)


def samples(model: Any, n_samples: int, chunks: int, random_state: RandomState, template: Any) -> Any:
    """Return random rows, so many to a partition, as a lazy DataFrame like the template, or array if there is none."""
    whole_number("chunks", chunks, 1)
    whole_number("n_samples", n_samples, 1)
    dask, array = dask_module("dask"), dask_module("dask.array")
    seed = int(generator(random_state).integers(2**63 - 1))
    sizes = [min(chunks, n_samples - first) for first in range(0, n_samples, chunks)]
    shared = dask.delayed(model, traverse=False)
    parts = [
        dask.delayed(_sample, pure=False)(shared, size, child_seed(seed, k), template) for k, size in enumerate(sizes)
    ]
    if template is not None:
        return dask_module("dask.dataframe").from_delayed(parts, meta=template, verify_meta=False)
    meta, width = np.empty((0, 0)), len(model.schema_)
    return array.concatenate(
        [array.from_delayed(own, (n, width), meta=meta) for own, n in zip(parts, sizes, strict=True)]
    )


def _parts(collection: Any) -> tuple[Sequence[Any], Sequence[float]]:
    """Return the partitions of a collection, and how many rows they have where that is known."""
    if not is_collection(collection) or collection.ndim != 2:
        raise DataError("X: expected a 2-D Dask array, a Dask DataFrame or a Parquet path")
    if hasattr(collection, "columns"):
        parts = list(collection.to_delayed())
        return parts, [np.nan] * len(parts)
    whole_rows = collection.rechunk({1: -1})
    return whole_rows.to_delayed()[:, 0].tolist(), whole_rows.chunks[0]


def _delayed(model: Any, method: str, parts: Sequence[Any], options: dict[str, Any]) -> list[Any]:
    """Return the delayed answer for each partition; each has a seed of its own where chance plays a part."""
    dask = dask_module("dask")
    shared = dask.delayed(model, traverse=False)
    seeds: list[int | None] = [None] * len(parts)
    if "random_state" in options:
        seed = int(generator(options.pop("random_state")).integers(2**63 - 1))
        seeds = [child_seed(seed, k) for k in range(len(parts))]
    return [
        dask.delayed(_answer, pure=False)(shared, method, part, options, own)
        for part, own in zip(parts, seeds, strict=True)
    ]


def _answer(model: Any, method: str, part: Any, options: dict[str, Any], seed: int | None) -> Any:
    """Answer for a partition, some rows after the others: as numbers a table of bits takes many times its room."""
    ask = getattr(model, method)
    n_rows, n_columns = part.shape
    step = max(1, CELLS_AT_ONCE // max(n_columns, 1))
    if n_rows <= step:
        chance = {} if seed is None else {"random_state": seed}
        return ask(part, **options, **chance)
    rows = part.iloc if hasattr(part, "iloc") else part
    found = []
    for first in range(0, n_rows, step):
        chance = {} if seed is None else {"random_state": child_seed(seed, first)}
        found.append(ask(rows[first : first + step], **options, **chance))
    return dask_module("pandas").concat(found) if hasattr(found[0], "iloc") else np.concatenate(found)


def _sample(model: Any, n_samples: int, seed: int, template: Any) -> Any:
    codes = model.circuit_.sample(n_samples, random_state=seed)
    return model.schema_.values(codes) if template is None else model.schema_.decode(codes, template)


def _sum_and_count(values: FloatArray) -> tuple[float, int]:
    return float(values.sum()), len(values)
