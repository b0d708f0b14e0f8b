"""Tables that do not fit in memory: learning and scoring on Dask.

Nothing here imports Dask before it is needed: a table that is in memory never needs it.
"""
