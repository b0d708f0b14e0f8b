"""The tests as functions of a table, for people who want the answer and not a model.

They take whatever `XSPN.fit` takes.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from xspn.core.checks import number_between
from xspn.core.errors import DataError
from xspn.data.table import Table
from xspn.learning.data import BinaryData
from xspn.learning.exchangeability.base import TestResult, check_test_options, tests
from xspn.learning.exchangeability.groups import Group, as_groups, binary_partition, table_groups, table_test
from xspn.learning.summary import BinarySummary


def exchangeability_test(X: Any, method: str = "global", domains: Any = None, **options: Any) -> TestResult:
    """Test whether the columns of a table are exchangeable: can they be permuted without changing the distribution?

    All columns must be of one type: the same domain, and labels that mean the same.

    Args:
        X: A table, as `XSPN.fit` takes it: an array, a DataFrame (pandas, polars, pyarrow), the path of a file.
        method: "global" (calibrated, sees means and pairs), "pairwise" (the paper's), "full" (all assignments).
        domains: What the columns hold, where it shall not be inferred, as in `XSPN`.
        options: Those of the method: see `global_test` and `pairwise_test`. For "global" the p-value comes from χ², or
            from shuffling within rows where χ² is doubtful; `p_value="shuffle"` asks for that in any case.

    Returns:
        The statistic that decided, its degrees of freedom, the p-value, and for "global" in `parts` what the means, the
        associations and the pairs say each by themselves.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((500, 8)) < rng.random((500, 1))  # the rows differ, the columns do not
        >>> exchangeability_test(X).p_value > 0.01
        True
        >>> X[:, 0] |= rng.random(500) < 0.3  # now the first column has more ones
        >>> exchangeability_test(np.where(X, "yes", "no"), domains="binary").p_value > 0.01
        False
    """
    own = Table.of(X, domains).learnable()
    check_test_options(method, options, tables=not own.schema.are_binary)
    found = column_types(own)
    if len(set(found)) > 1:
        schema, other = own.schema, next(j for j, own_type in enumerate(found) if own_type != found[0])
        raise DataError(
            f"X: columns {schema.name(0)} and {schema.name(other)} hold different things "
            f"({own.domains[0].kind} and {own.domains[other].kind}, or other labels) and cannot be exchangeable"
        )
    if own.schema.are_binary:
        of_method = {"p_value": "auto", **options} if method == "global" else options
        bits = _bits_of(own)
        return tests.for_bits(method, bits, "method")(bits, **of_method)
    return table_test(np.asarray(own.codes, dtype=np.float64), own.domains[0], method, **options)


def exchangeable_groups(X: Any, level: float = 0.01, domains: Any = None) -> list[Group]:
    """Partition the columns of a table into groups whose members can be interchanged; largest first.

    Two variables are near each other if they have their values equally often, and equally often together with every
    third one. The tree of nearest groups (average linkage) is walked from the top: a group whose exchangeability is not
    rejected at `level` is kept whole, another one is opened. Columns of different types, or with labels that mean
    different things, are never in one group.

    Args:
        X: A table, as `XSPN.fit` takes it: an array, a DataFrame (pandas, polars, pyarrow), the path of a file.
        level: The level of the tests.
        domains: What the columns hold, where it shall not be inferred, as in `XSPN`.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> def block(p):  # two kinds of days: on some everybody is likely to come
        ...     return rng.random((2000, 4)) < np.where(rng.random((2000, 1)) < 0.5, p, 0.1)
        >>> groups = exchangeable_groups(np.hstack([block(0.9), block(0.5)]))
        >>> [group.variables for group in groups]
        [(0, 1, 2, 3), (4, 5, 6, 7)]
    """
    number_between("level", level, 0.0, 1.0)
    own = Table.of(X, domains).learnable()
    names = own.schema.names
    if own.schema.are_binary and len(set(own.schema.meanings)) == 1:
        return as_groups(binary_partition(_bits_of(own), level), names)
    codes = np.asarray(own.codes, dtype=np.float64)
    found = table_groups(codes, own.domains, level, own.schema.meanings)
    return found if names is None else [replace(g, names=tuple(names[v] for v in g.variables)) for g in found]


def column_types(own: Table) -> list[Any]:
    """Return what columns must have in common to be exchangeable: the domain, and what its values mean."""
    return list(zip(own.domains, own.schema.meanings, strict=True))


def _bits_of(own: Table) -> BinarySummary:
    data = BinaryData.of(own.bits(allow_missing=True))
    return BinarySummary.of(data.slice(np.arange(len(data.bits)), np.arange(data.bits.shape[1])), data.weights)
