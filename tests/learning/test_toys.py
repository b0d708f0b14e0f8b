"""Things added by one file each: found under their names, used, and refused by name where they cannot serve."""

import importlib
import subprocess
import sys
from pathlib import Path

import dask
import numpy as np
import pytest

from support.distributed import TINY, in_blocks
from support.learning import exchangeable_table, summary, two_clusters
from support.tables import REAL, table_summary
from xspn import XSPN, Circuit, Exchangeable, exchangeability_test, load, save
from xspn.core.errors import ParameterError, RegistryError, XSPNError
from xspn.data.domain import Domain
from xspn.learning.clustering import Split, clusterings
from xspn.learning.config import LearnConfig, PublishedProgram
from xspn.learning.exchangeability import tests
from xspn.learning.leaf_learners import leaf_learners
from xspn.learning.methods import Can, Method
from xspn.learning.policy import Operation
from xspn.statistics import Count, statistics

REGISTRIES = {"clustering": clusterings, "leaf_learner": leaf_learners, "exchangeability": tests}


@pytest.fixture
def add(monkeypatch):
    """Import a toy's file, which registers it; after the test nothing is left of it."""
    for registry in (*REGISTRIES.values(), statistics):
        monkeypatch.setattr(registry, "_items", dict(registry._items))

    def imported(name):
        monkeypatch.delitem(sys.modules, f"support.toys.{name}", raising=False)
        return importlib.import_module(f"support.toys.{name}")

    return imported


@pytest.fixture
def mixed(rng):
    """A table of a number, a category and two bits, of two clusters that the number tells apart."""
    cluster = rng.integers(0, 2, 200)
    bits = rng.random((200, 2)) < np.where(cluster, 0.9, 0.1)[:, None]
    category = np.where(rng.random(200) < 0.8, cluster * 2, 1)
    return np.column_stack([rng.normal(size=200) + 8 * cluster, category, bits])


TOYS = [("clustering", "clustering", "by_total"), ("leaf_learner", "leaf_learner", "fair_coins")]
TOYS += [("exchangeability_test", "exchangeability", "range")]


@pytest.mark.parametrize(("file", "setting", "name"), TOYS)
def test_a_toy_is_known_once_its_file_is_imported_and_misspellings_are_told_of_it(add, file, setting, name):
    with pytest.raises(RegistryError, match=f"'{name}'"):
        LearnConfig(**{setting: name})
    add(file)
    LearnConfig(**{setting: name})
    with pytest.raises(RegistryError, match=f"did you mean '{name}'"):
        LearnConfig(**{setting: f"{name}s"})


@pytest.mark.parametrize(("file", "setting", "name"), TOYS)
def test_what_is_for_bits_only_is_refused_by_name_for_other_columns(add, mixed, file, setting, name):
    add(file)
    registry = REGISTRIES[setting]
    registry.add("bits_only", Method(bits=registry[name].bits, can=Can.ANY_ROWS))
    for settings in ({}, {"n_estimators": 2}):
        with pytest.raises(ParameterError) as refused:
            XSPN(random_state=0, **{setting: "bits_only"}, **settings).fit(mixed)
        said, listed = str(refused.value).split(" use one of ")
        assert said == f"{setting}='bits_only' is for tables of zeros and ones only; for columns of other types"
        assert listed.replace("'", "").split(", ") == sorted(own for own in registry if registry[own].tables)
    assert XSPN(random_state=0, **{setting: "bits_only"}).fit(mixed[:, 2:]).circuit_.n_variables == 2


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        (Can.CATEGORIES, "categories without an order"),
        (Can.REALS, "real numbers"),
        (Can.MISSING, "missing values"),
        (Can.WEIGHTS, "sample weights"),
    ],
)
@pytest.mark.parametrize(("file", "setting", "name"), TOYS)
def test_what_a_toy_cannot_handle_is_refused_by_name(add, rng, file, setting, name, lacking, said):
    add(file)
    registry, able = REGISTRIES[setting], Can.ANY_TYPE | Can.ANY_ROWS
    for own, can in (("lame", able & ~lacking), ("able", able)):
        registry.add(own, Method(registry[name].bits, registry[name].tables, can))
    real = lacking is Can.REALS
    cells = rng.normal(size=(60, 3)) if real else rng.integers(0, 3, size=(60, 3)).astype(float)
    cells[0, 0] = np.nan if lacking is Can.MISSING else cells[0, 0]
    weights = np.arange(1.0, 61.0) if lacking is Can.WEIGHTS else None
    own = table_summary(cells, REAL if real else Domain(3), weights)
    assert registry.for_tables("able", own) is registry[name].tables
    with pytest.raises(ParameterError, match=f"{setting}='lame' cannot take {said}; use one of 'able', "):
        registry.for_tables("lame", own)
    if lacking in Can.ANY_ROWS:
        with pytest.raises(ParameterError, match=f"{setting}='lame' cannot take {said}"):
            registry.for_bits("lame", summary(np.minimum(cells, 1), weights))


def test_a_toy_clustering_splits_the_rows(add, rng):
    add("clustering")
    few, many = exchangeable_table(rng, 300, 6), exchangeable_table(rng, 300, 6)
    rows = np.vstack([few & (rng.random(few.shape) < 0.2), many | (rng.random(many.shape) < 0.8)])
    model = XSPN(clustering="by_total", exchangeability=None, random_state=0).fit(rows)
    entries = model.trace_.entries
    split = next(k for k, entry in enumerate(entries) if entry.operation is Operation.CLUSTER)
    clusters = [entry.rows for entry in entries if entry.branch is not None and entry.branch.parent == split]
    ones = rows.sum(axis=1)
    distinct = np.unique(rows, axis=0).sum(axis=1)  # equal rows are one row of their weight
    above = (ones > distinct.mean()).sum()
    assert clusters == [len(rows) - above, above]


def test_a_toy_clustering_without_a_rule_is_refused_out_of_core(add, rng):
    toy = add("clustering")
    rows, _ = two_clusters(rng, 600, 6)
    said = "clustering='by_total' cannot take tables that are out of core; use one of 'auto', 'bernoulli', 'kmeans'"
    with dask.config.set(TINY), pytest.raises(ParameterError, match=said):
        XSPN(clustering="by_total", random_state=0).fit(in_blocks(rows))
    clusterings.add("rule_promised", Method(bits=toy.split_by_total, can=Can.OUT_OF_CORE | Can.ANY_ROWS))
    with dask.config.set(TINY), pytest.raises(ParameterError, match="clustering='rule_promised' gives no rule"):
        XSPN(clustering="rule_promised", random_state=0).fit(in_blocks(rows))


def test_a_toy_clustering_serves_columns_of_any_types(add, mixed):
    add("clustering")
    model = XSPN(clustering="by_total", random_state=0).fit(mixed)
    total = mixed.sum(axis=1)
    above = (total > total.mean()).sum()
    assert model.trace_.entries[0].operation is Operation.CLUSTER
    assert [e.rows for e in model.trace_ if e.branch is not None and e.branch.parent == 0] == [200 - above, above]


def test_a_clustering_of_any_columns_may_propose_several_splits(add, mixed):
    toy = add("clustering")
    good, poor = mixed[:, 0] > 4, np.arange(200) % 2

    def both(summary, seed):
        first = toy.split_by_total(summary, seed)
        return [Split(poor), Split(good.astype(np.int64))] if len(summary.cells) == 200 else first

    clusterings.add("several", Method(bits=toy.split_by_total, tables=both, can=Can.ANY_TYPE | Can.ANY_ROWS))
    model = XSPN(clustering="several", exchangeability=None, random_state=0).fit(mixed)
    assert [e.rows for e in model.trace_ if e.branch is not None and e.branch.parent == 0] == [
        200 - good.sum(),
        good.sum(),
    ]


def test_a_toy_leaf_learner_makes_the_leaves(add, rng):
    add("leaf_learner")
    rows, _ = two_clusters(rng, 100, 6)
    answers = rng.integers(0, 3, size=(100, 4))
    for table, domains, expected in ((rows, None, -6 * np.log(2)), (answers, "categorical", -4 * np.log(3))):
        model = XSPN(leaf_learner="fair_coins", min_instances=101, random_state=0, domains=domains).fit(table)
        np.testing.assert_allclose(model.score_samples(table), expected)
        assert [entry.detail for entry in model.trace_] == ["fair coins"]


def test_a_toy_test_decides_what_is_exchangeable(add, rng):
    add("exchangeability_test")
    rows = exchangeable_table(rng, 400, 5)
    found = exchangeability_test(rows, method="range")
    assert (found.method, found.p_value) == ("range", 1.0)
    assert exchangeability_test(rows, method="range", largest=0.0).p_value == 0.0
    loose = XSPN(exchangeability="range", random_state=0).fit(rows)
    assert loose.trace_.entries[0].operation is Operation.EXCHANGEABLE
    assert loose.trace_.entries[0].test == found
    published = PublishedProgram(score_overrules=True, test_options=(("largest", 0.0),))
    strict = XSPN(exchangeability="range", options={"published": published}, random_state=0).fit(rows)
    assert strict.trace_.entries[0].test.p_value == 0.0
    with pytest.raises(ParameterError, match="range test: unknown setting 'smallest'"):
        exchangeability_test(rows, method="range", smallest=1)


def test_a_toy_test_serves_columns_of_any_types(add, rng):
    add("exchangeability_test")
    answers = np.where(rng.random((400, 4)) < 0.7, rng.integers(0, 3, size=(400, 1)), rng.integers(0, 3, size=(400, 4)))
    found = exchangeability_test(answers, method="range", domains="categorical")
    assert (found.method, found.p_value) == ("range", 1.0)
    assert exchangeability_test(answers, method="range", domains="categorical", largest=0.0).p_value == 0.0
    model = XSPN(exchangeability="range", random_state=0, domains="categorical").fit(answers)
    assert model.trace_.entries[0].operation is Operation.EXCHANGEABLE
    assert model.trace_.entries[0].test.p_value == 1.0


def test_a_toy_statistic_serves_a_leaf_and_a_file(add, tmp_path, monkeypatch):
    toy = add("statistic")
    p = np.array([0.1, 0.2, 0.3, 0.4])  # of 0, 1, 2 and 3 zeros
    leaf = Exchangeable.from_class_probabilities([0, 1, 2], p, toy.Zeros())
    circuit = Circuit(leaf)
    rows = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 1], [0, 0, 0], [np.nan, 0, 0]])
    expected = [0.1, 0.2 / 3, 0.3 / 3, 0.4, 0.3 / 3 + 0.4]
    np.testing.assert_allclose(np.exp(circuit.log_likelihood(rows)), expected)
    path = tmp_path / "model.json"
    save(circuit, path)
    np.testing.assert_array_equal(load(path).log_likelihood(rows), circuit.log_likelihood(rows))
    monkeypatch.delitem(statistics._items, "zeros")
    with pytest.raises(XSPNError, match="unknown statistic 'zeros'"):
        load(path)


def test_a_statistic_that_derives_from_another_has_its_own_meaning():
    class EvenThenOdd(Count):
        """The same classes in another order."""

        def of(self, x):
            return super().of(x) ^ 1

        def completions_of_key(self, n, key):
            return super().completions_of_key(n, key)[np.arange(n + 1) ^ 1]

        def log_class_size(self, n):
            return super().log_class_size(n)[np.arange(n + 1) ^ 1]

    p = np.array([0.1, 0.2, 0.3, 0.4])  # of 1, 0, 3 and 2 ones
    circuit = Circuit(Exchangeable.from_class_probabilities([0, 1, 2], p, EvenThenOdd()))
    rows = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1], [np.nan, 1, 1]])
    for name in ("numpy", "numba", "torch"):
        found = np.exp(circuit.to(name).log_likelihood(rows))
        np.testing.assert_allclose(found, [0.2, 0.1 / 3, 0.4 / 3, 0.3, 0.4 / 3 + 0.3], err_msg=name)


def test_a_toy_statistic_is_enrolled_in_the_contract():
    folder = Path(__file__).parents[1]
    contract = folder / "contracts" / "test_statistic_contract.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "support.toys.statistic", "-k", "zeros", str(contract)]
    done = subprocess.run(command, cwd=folder.parent, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
