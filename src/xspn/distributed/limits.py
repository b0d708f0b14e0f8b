"""How much may be in one place at a time."""

from dataclasses import dataclass, fields

from xspn.core.options import whole_number
from xspn.data.out_of_core import GATHER_CELLS, dask_module


@dataclass(frozen=True)
class Limits:
    """Bounds that decide what is gathered and what is summarised where it is.

    They are read from Dask's configuration, where they can be changed: `dask.config.set({"xspn.gather_cells": 10**8})`.

    Attributes:
        gather_cells: A slice of at most so many cells (rows × variables) is gathered and learned in one place; a table
            of at most so many cells is learned like one in memory.
        gather_bytes: So many bytes of rows are gathered for each worker in one pass; further slices wait for the next.
        sample_rows: So many rows of a slice are drawn, for what no sum can tell: mixtures and fallback leaves.
        context_rows: So many rows stand for the surroundings of a cluster, which count as two rows in its leaves.
        statistics_bytes: What the summaries of all slices of one pass may take.
    """

    gather_cells: int = GATHER_CELLS
    gather_bytes: int = 400_000_000
    sample_rows: int = 50_000
    context_rows: int = 4_096
    statistics_bytes: int = 64_000_000

    def __post_init__(self) -> None:
        for field in fields(self):
            whole_number(f"xspn.{field.name}", getattr(self, field.name), 1)

    @classmethod
    def configured(cls) -> "Limits":
        """Return the limits of Dask's configuration."""
        config = dask_module("dask").config
        return cls(**{field.name: config.get(f"xspn.{field.name}", field.default) for field in fields(cls)})
