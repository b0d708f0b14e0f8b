"""Things added by one file each: found under their names, used, and refused by name where they cannot serve."""

import importlib
import subprocess
import sys
from pathlib import Path

import dask
import numpy as np
import pytest

from support.distributed import TINY, in_blocks
from support.learning import exchangeable_table, two_clusters
from xspn import XSPN, Circuit, Exchangeable, exchangeability_test, load, save
from xspn.core.errors import ParameterError, RegistryError, XSPNError
from xspn.learning.clustering import clusterings
from xspn.learning.config import LearnConfig, PublishedProgram
from xspn.learning.exchangeability import tests
from xspn.learning.leaf_learners import leaf_learners
from xspn.learning.policy import Operation
from xspn.learning.tables.clustering import table_clusterings
from xspn.statistics import Count, statistics

REGISTRIES = (clusterings, table_clusterings, leaf_learners, tests, statistics)
FOR_BITS = "is for tables of zeros and ones only; for columns of other types use one of '"


@pytest.fixture
def add(monkeypatch):
    """Import a toy's file, which registers it; after the test nothing is left of it."""
    for registry in REGISTRIES:
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
def test_a_toy_for_bits_is_refused_by_name_for_other_columns(add, mixed, file, setting, name):
    add(file)
    with pytest.raises(ParameterError, match=f"{setting}='{name}' {FOR_BITS}"):
        XSPN(random_state=0, **{setting: name}).fit(mixed)
    with pytest.raises(ParameterError, match=f"{setting}='{name}' {FOR_BITS}"):
        XSPN(random_state=0, n_estimators=2, **{setting: name}).fit(mixed)
    assert XSPN(random_state=0, **{setting: name}).fit(mixed[:, 2:]).circuit_.n_variables == 2


def test_the_message_lists_what_can_handle_the_table(add, mixed):
    add("clustering")
    with pytest.raises(ParameterError) as refused:
        XSPN(clustering="by_total").fit(mixed)
    listed = str(refused.value).partition("use one of ")[2].replace("'", "").split(", ")
    assert listed == list(table_clusterings)
    for name in ("auto", "bernoulli", "variable"):
        assert name in listed
        assert np.isfinite(XSPN(clustering=name, random_state=0).fit(mixed).score(mixed))


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
    add("clustering")
    rows, _ = two_clusters(rng, 600, 6)
    with dask.config.set(TINY), pytest.raises(ParameterError, match="clustering='by_total' gives no rule"):
        XSPN(clustering="by_total", random_state=0).fit(in_blocks(rows))


def test_a_toy_clustering_for_all_columns_serves_all(add, mixed):
    add("table_clustering")
    model = XSPN(clustering="by_first", random_state=0).fit(mixed)
    above = (mixed[:, 0] > mixed[:, 0].mean()).sum()
    assert model.trace_.entries[0].operation is Operation.CLUSTER
    assert [e.rows for e in model.trace_ if e.branch is not None and e.branch.parent == 0] == [200 - above, above]
    assert np.isfinite(XSPN(clustering="by_first", random_state=0).fit(mixed[:, 2:]).score(mixed[:, 2:]))


def test_a_toy_leaf_learner_makes_the_leaves(add, rng):
    add("leaf_learner")
    rows, _ = two_clusters(rng, 100, 6)
    model = XSPN(leaf_learner="fair_coins", min_instances=101, random_state=0).fit(rows)
    np.testing.assert_allclose(model.score_samples(rows), -6 * np.log(2))
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
