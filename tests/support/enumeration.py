"""Brute force over all assignments of a few discrete variables."""

from itertools import combinations, product

import numpy as np


def assignments(cardinalities):
    """Every whole row: (worlds, n) floats."""
    table = list(product(*(range(k) for k in cardinalities)))
    return np.array(table, dtype=float).reshape(-1, len(cardinalities))


def partial_rows(cardinalities):
    """Every partial row: each cell is a value or NaN."""
    options = [[*range(k), np.nan] for k in cardinalities]
    return np.array(list(product(*options)), dtype=float).reshape(-1, len(cardinalities))


def agreeing(worlds, row):
    """Which worlds agree with the observed part of a row."""
    seen = ~np.isnan(row)
    return (worlds[:, seen] == row[seen]).all(axis=1)


def subsets(items):
    """Every subset, the empty and the whole one included."""
    items = list(items)
    return [subset for size in range(len(items) + 1) for subset in combinations(items, size)]


def row_numbers(rows, worlds):
    """The place of each row in the table of worlds."""
    place = {tuple(world): number for number, world in enumerate(worlds.tolist())}
    return np.array([place[tuple(row)] for row in rows.tolist()], dtype=int)


def count_of(rows, worlds):
    """How often each world occurs among the rows."""
    return np.bincount(row_numbers(rows, worlds), minlength=len(worlds))


def log(values):
    """Logarithm without a warning for 0."""
    with np.errstate(divide="ignore"):
        return np.log(values)
