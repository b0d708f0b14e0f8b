"""Loops compiled by numba; nothing here is imported before it is needed.

All of them work on a block of rows at a time, with rows along the last axis, and do the same arithmetic for every row
wherever it stands: no answer depends on how rows are cut into blocks, or on threads. Nothing is reordered for speed,
but for totals over the rows of a block. `python -m xspn.engine.kernels` compiles all of them ahead of time.
"""
