"""More than one machine: learning and scoring on Dask.

Nothing here imports Dask before it is needed: a table that is in memory never needs it.
"""

from xspn.distributed.recognition import is_out_of_core

__all__ = ["is_out_of_core"]
