"""Learning from tables with columns of any kinds: categories, ordered steps and counts, real numbers."""

from xspn.learning.tables.data import TableData

__all__ = ["TableData"]
