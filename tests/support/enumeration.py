"""Brute force over all assignments of a few discrete variables."""

from itertools import combinations, product

import numpy as np


def assignments(cardinalities):
    """Every whole row: (assignments, n) floats."""
    table = list(product(*(range(k) for k in cardinalities)))
    return np.array(table, dtype=float).reshape(-1, len(cardinalities))


def partial_rows(cardinalities):
    """Every partial row: each cell is a value or NaN."""
    options = [[*range(k), np.nan] for k in cardinalities]
    return np.array(list(product(*options)), dtype=float).reshape(-1, len(cardinalities))


def agreeing(all_assignments, row):
    """Which assignments agree with the observed part of a row."""
    seen = ~np.isnan(row)
    return (all_assignments[:, seen] == row[seen]).all(axis=1)


def subsets(items):
    """Every subset, the empty and the whole one included."""
    items = list(items)
    return [subset for size in range(len(items) + 1) for subset in combinations(items, size)]


def row_numbers(rows, all_assignments):
    """The place of each row in the table of assignments."""
    place = {tuple(assignment): number for number, assignment in enumerate(all_assignments.tolist())}
    return np.array([place[tuple(row)] for row in rows.tolist()], dtype=int)


def count_of(rows, all_assignments):
    """How often each assignment occurs among the rows."""
    return np.bincount(row_numbers(rows, all_assignments), minlength=len(all_assignments))


def log(values):
    """Logarithm without a warning for 0."""
    with np.errstate(divide="ignore"):
        return np.log(values)
