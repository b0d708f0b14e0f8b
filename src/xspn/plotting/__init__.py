"""Pictures: structures of circuits, answers, results of experiments. Needs matplotlib (`pip install 'xspn[plots]'`).

Of a model: `draw_circuit`, `draw_contexts`, `exchangeability_map`, `count_chart`, `posterior_bars`,
`likelihood_histogram`. Each returns a matplotlib Figure (`figure.savefig("picture.png")`), and draws into axes of your
own with `ax=`.
"""

from xspn.plotting.charts import count_chart, likelihood_histogram, posterior_bars
from xspn.plotting.context_chart import draw_contexts
from xspn.plotting.exchangeability_map import exchangeability_map
from xspn.plotting.result_charts import Point, difference_bars, grouped_bars, named_scatter, runtime_lines
from xspn.plotting.structure import draw_circuit, draw_side_by_side

__all__ = [
    "Point",
    "count_chart",
    "difference_bars",
    "draw_circuit",
    "draw_contexts",
    "draw_side_by_side",
    "exchangeability_map",
    "grouped_bars",
    "likelihood_histogram",
    "named_scatter",
    "posterior_bars",
    "runtime_lines",
]
