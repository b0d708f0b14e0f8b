"""The catalog: names, numbers, checksums."""

import re

import pytest

from xspn import datasets
from xspn.core.errors import ParameterError, RegistryError, XSPNError
from xspn.paper.datasets.catalog import ENTRIES
from xspn.paper.datasets.checksums import CHECKSUMS, git_blob_sha1

# The paper's names (table of results) and the public files' names.
PAPER_AND_FILE = {
    "threshold": "threshold",
    "exact": "exact",
    "parity": "parity",
    "counting": "counting",
    "MEVM-s": "ex-data-small",
    "MEVM-l": "ex-data-large",
    "conference": "conference-10-empty",
    "exam": "exam-participation",
    "senate": "senate116",
    "house": "house116",
    "bundestag": "bundestag17",
    "nltcs": "nltcs",
    "plants": "plants",
    "webkb": "cwebkb",
    "msnbc": "msnbc",
    "kdd": "kdd",
    "audio": "baudio",
    "jester": "jester",
    "netflix": "bnetflix",
    "msweb": "msweb",
    "book": "book",
    "accidents": "accidents",
    "dna": "dna",
    "kosarek": "kosarek",
    "pumsb": "pumsb_star",
    "retail": "tretail",
    "movie": "tmovie",
    "bbc": "bbc",
    "ad": "ad",
    "20ng": "c20ng",
    "reut.-52": "cr52",
}


def test_all_31_sets_are_listed_under_the_papers_names():
    assert sorted(datasets.names()) == sorted(PAPER_AND_FILE)
    assert [len(datasets.names(group)) for group in ("synthetic", "real", "benchmark")] == [7, 4, 20]


@pytest.mark.parametrize(("paper", "file"), PAPER_AND_FILE.items())
def test_both_names_are_understood_in_any_case(paper, file):
    entry = datasets.info(paper)
    assert (entry.name, entry.file_name) == (paper, file)
    for spelling in (file, paper.upper(), file.upper(), paper.title(), f" {paper} "):
        assert datasets.info(spelling) is entry


@pytest.mark.parametrize("alias", ["MEVM-small", "mevm_large", "exams", "Reuters-52", "pumsb-star"])
def test_further_spellings(alias):
    assert datasets.info(alias) in ENTRIES


def test_an_unknown_name_is_refused_with_the_nearest_one():
    with pytest.raises(RegistryError, match="unknown data set 'netflicks'; did you mean 'netflix'"):
        datasets.info("netflicks")
    with pytest.raises(ValueError, match="xspn datasets list"):
        datasets.load("zzzzzz")
    with pytest.raises(ParameterError, match="expected one of synthetic, real, benchmark, found 'fake'"):
        datasets.names("fake")


def test_every_file_has_a_checksum_and_no_checksum_is_idle():
    files = [file for entry in ENTRIES for file in entry.files]
    assert len(files) == 93
    assert {file.name for file in files} == set(CHECKSUMS)
    assert all(re.fullmatch("[0-9a-f]{40}", file.sha1) for file in files)


def test_checksums_and_paths_are_those_of_the_manifest(published):
    lines = (published / "MANIFEST.tsv").read_text().splitlines()
    manifest = {}
    for line in lines:
        if not line.startswith("#"):
            repository, path, sha1, _ = line.split("\t")
            manifest[repository, path] = sha1
    ours = {
        (f"{file.repository.owner}/{file.repository.name}@{file.repository.branch}", file.path): file.sha1
        for entry in ENTRIES
        for file in entry.files
    }
    assert ours == manifest


def test_the_checksum_is_gits():
    assert git_blob_sha1(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def test_entries_say_where_they_come_from():
    for entry in ENTRIES:
        assert entry.repository.address.startswith("https://github.com/")
        assert entry.license
        assert entry.to_dict()["n_rows"]["train"] == entry.n_train


def test_the_shared_file_of_mevm_l_is_pointed_out():
    entry = datasets.info("MEVM-l")
    assert entry.files[1].sha1 == entry.files[2].sha1
    assert "same" in entry.note


def test_registry_errors_are_of_the_family():
    assert issubclass(RegistryError, XSPNError)
