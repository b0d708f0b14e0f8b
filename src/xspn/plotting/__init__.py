"""Pictures: structures of circuits, results of experiments. Needs matplotlib (`pip install 'xspn[plots]'`)."""

from xspn.plotting.bars import difference_bars, grouped_bars
from xspn.plotting.runtime import runtime_lines
from xspn.plotting.scatter import Point, named_scatter
from xspn.plotting.structure import draw_circuit, draw_side_by_side

__all__ = [
    "Point",
    "difference_bars",
    "draw_circuit",
    "draw_side_by_side",
    "grouped_bars",
    "named_scatter",
    "runtime_lines",
]
