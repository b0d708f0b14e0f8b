"""Exchangeable blocks and contexts by evidence."""
