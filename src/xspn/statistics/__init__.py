"""Tractable statistics: what an exchangeable leaf needs to know of an assignment."""

from xspn.statistics.base import Statistic, statistic_from_params, statistics
from xspn.statistics.blocks import Blocks
from xspn.statistics.count import Count
from xspn.statistics.total import Total
from xspn.statistics.value_counts import ValueCounts

__all__ = ["Blocks", "Count", "Statistic", "Total", "ValueCounts", "statistic_from_params", "statistics"]
