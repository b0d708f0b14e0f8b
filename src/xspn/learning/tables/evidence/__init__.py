"""Exchangeable blocks and contexts of best evidence, for tables with columns of any types."""
