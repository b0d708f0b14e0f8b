"""The published files: the paper's table of properties, cell by cell, and the limits on the test files."""

import time

import numpy as np
import pytest

from xspn import datasets
from xspn.paper.datasets.checksums import git_blob_sha1

# Appendix, table "Properties of the new evaluation datasets": |V|, train, valid., test.
PAPER_TABLE = {
    "threshold": (100, 10000, 5000, 5000),
    "exact": (100, 10000, 5000, 5000),
    "parity": (100, 10000, 5000, 5000),
    "counting": (100, 10000, 5000, 5000),
    "MEVM-small": (20, 5000, 2500, 2500),
    "MEVM-large": (150, 10000, 5000, 5000),
    "conference": (12, 50000, 50000, 50000),
    "exam": (58, 350, 67, 70),
    "senate": (98, 500, 100, 120),
    "house": (418, 700, 100, 152),
    "bundestag": (542, 170, 41, 41),
}
# The benchmark sets that lie beside the project, as the field reports them.
BENCHMARK_TABLE = {
    "nltcs": (16, 16181, 2157, 3236),
    "plants": (69, 17412, 2321, 3482),
    "audio": (100, 15000, 2000, 3000),
    "jester": (100, 9000, 1000, 4116),
    "netflix": (100, 15000, 2000, 3000),
    "accidents": (111, 12758, 1700, 2551),
    "dna": (180, 1600, 400, 1186),
    "pumsb": (163, 12262, 1635, 2452),
    "bbc": (1058, 1670, 225, 330),
}
PRESENT = {**PAPER_TABLE, **BENCHMARK_TABLE}
COLUMNS = ("variables", "train", "valid", "test")


def cells(name, numbers):
    return {(name, column): number for column, number in zip(COLUMNS, numbers, strict=True)}


def test_the_catalog_repeats_the_papers_table():
    for name, numbers in PRESENT.items():
        entry = datasets.info(name)
        assert cells(name, (entry.n_variables, *entry.n_rows)) == cells(name, numbers)


@pytest.mark.parametrize("name", PRESENT)
def test_a_published_set_loads_verified_with_the_papers_properties(name, published):
    d = datasets.load(name, data_dir=published, download=False)
    found = (d.train.shape[1], len(d.train), len(d.valid), len(d.test))
    assert cells(name, found) == cells(name, PRESENT[name])
    assert d.valid.shape[1] == d.test.shape[1] == d.n_variables == len(d.feature_names)
    for table in (d.train, d.valid, d.test):
        assert table.dtype == np.uint8
        assert table.max() <= 1
    for file in datasets.info(name).files:
        content = (published / file.relative_path).read_bytes()
        assert git_blob_sha1(content) == file.sha1
        assert len(content) == file.expected_size


@pytest.mark.parametrize("name", ["senate", "nltcs", "MEVM-s"])
def test_values_are_those_of_the_file(name, published):
    d = datasets.load(name, data_dir=published)
    again = datasets.load(name, data_dir=published)  # from the parsed cache
    for file, table, cached in zip(
        datasets.info(name).files, (d.train, d.valid, d.test), (again.train, again.valid, again.test), strict=True
    ):
        plain = np.loadtxt(published / file.relative_path, delimiter=",", dtype=np.uint8)
        assert np.array_equal(table, plain)
        assert np.array_equal(cached, plain)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("threshold", -67.317),
        ("exact", -67.705),
        ("parity", -68.622),
        ("counting", -67.705),
        ("conference", -5.906),
    ],
)
def test_the_true_circuits_log_likelihood_on_the_authors_test_files(name, limit, published):
    d = datasets.load(name, data_dir=published)
    assert d.truth is not None
    assert d.truth.names == d.feature_names
    assert d.truth.log_likelihood(d.test).mean() == pytest.approx(limit, abs=0.002)
    assert datasets.truth(name).log_likelihood(d.test).mean() == pytest.approx(limit, abs=0.002)


def test_the_conference_model_fits_the_authors_other_files_too(published):
    d = datasets.load("conference", data_dir=published)
    assert d.truth.log_likelihood(d.train).mean() == pytest.approx(-5.9105, abs=0.0001)
    assert d.truth.log_likelihood(d.valid).mean() == pytest.approx(-5.9269, abs=0.0001)


@pytest.mark.parametrize("name", ["MEVM-s", "senate", "nltcs"])
def test_no_truth_is_claimed_where_none_is_known(name, published):
    assert datasets.load(name, data_dir=published).truth is None


def test_loading_accidents_the_second_time_is_quick(published):
    datasets.load("accidents", data_dir=published)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        d = datasets.load("accidents", data_dir=published)
        times.append(time.perf_counter() - start)
    assert d.train.shape == (12758, 111)
    assert min(times) < 0.05
