"""Learning from tables with columns of any types: categories, ordered steps and counts, real numbers."""

from xspn.learning.table_data import TableData

__all__ = ["TableData"]
