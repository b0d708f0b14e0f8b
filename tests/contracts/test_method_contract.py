"""Every registered clustering, test and leaf learner handles what it says that it can handle."""

import numpy as np
import pytest

from support.learning import summary, two_clusters
from support.tables import REAL, table_summary, with_missing
from xspn.data.domain import Domain
from xspn.learning.clustering import clusterings
from xspn.learning.clustering.base import proposals
from xspn.learning.clustering.numeric import without_convergence_warnings
from xspn.learning.exchangeability import tests
from xspn.learning.leaf_learners import LeafData, LeafOptions, leaf_learners
from xspn.learning.methods import Can

ROWS = 120
REGISTRIES = (clusterings, leaf_learners, tests)
METHODS = [pytest.param(registry, name, id=f"{name}-{k}") for k, registry in enumerate(REGISTRIES) for name in registry]
COLUMNS = {"ordinal": Domain.ordinal(3), "categories": Domain(3), "reals": REAL}
NEEDED = {"ordinal": Can.COLUMNS, "categories": Can.COLUMNS | Can.CATEGORIES, "reals": Can.COLUMNS | Can.REALS}
OF_TABLES = [
    pytest.param(registry, name, columns, id=f"{name}-{k}-{columns}")
    for k, registry in enumerate(REGISTRIES)
    for name in registry
    for columns, needed in NEEDED.items()
    if registry[name].handles(needed)
]


def check(registry, name, found):
    """What comes back is of the right kind, and speaks of each row."""
    if registry is clusterings:
        for split in proposals(found):
            assert split.labels.shape == (ROWS,)
            assert set(split.labels) == set(range(max(split.labels) + 1))
            assert len(set(split.labels)) > 1
    elif registry is leaf_learners:
        assert found.leave_one_out.shape == (ROWS,)
        assert np.isfinite(found.leave_one_out).all()
    else:
        assert found.method == name
        assert 0.0 <= found.p_value <= 1.0


def run(registry, function, own):
    with without_convergence_warnings():
        if registry is clusterings:
            return function(own, 0)
        if registry is leaf_learners:
            return function(LeafData.alone(own), np.arange(own.n), LeafOptions())
        return function(own)


def rows_of(rng, can):
    """Cells of two kinds of rows, and weights if they can be handled."""
    cells = two_clusters(rng, ROWS, 4)[0].astype(float)
    weights = rng.integers(1, 4, ROWS) if Can.WEIGHTS in can else None
    return cells, weights


@pytest.mark.parametrize(("registry", "name"), METHODS)
def test_rows_of_bits(registry, name, rng):
    can = registry[name].can
    cells, weights = rows_of(rng, can)
    own = summary(with_missing(rng, cells) if Can.MISSING in can else cells, weights)
    found = run(registry, registry.for_bits(name, own), own)
    check(registry, name, found)
    if registry is clusterings and Can.OUT_OF_CORE in can:
        assert found.rule.responsibilities(own.rows()[0]).shape == (ROWS,)


@pytest.mark.parametrize(("registry", "name", "columns"), OF_TABLES)
def test_rows_of_other_columns(registry, name, columns, rng):
    can = registry[name].can
    cells, weights = rows_of(rng, can)
    cells = 3 * cells + rng.normal(size=cells.shape) if columns == "reals" else 2 * cells
    own = table_summary(with_missing(rng, cells) if Can.MISSING in can else cells, COLUMNS[columns], weights)
    check(registry, name, run(registry, registry.for_tables(name, own), own))
