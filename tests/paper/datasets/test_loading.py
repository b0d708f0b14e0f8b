"""Where `load` looks, what it trusts, and what it does with damaged files."""

import gzip
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from xspn import datasets
from xspn.core.errors import ChecksumError, DatasetError, DatasetMissingError, XSPNError
from xspn.paper.datasets import files
from xspn.paper.datasets.checksums import CHECKSUMS, git_blob_sha1
from xspn.paper.datasets.files import Places, default_cache_folder, parse, render


@pytest.fixture
def folder(stand_in, tmp_path, monkeypatch):
    """A data folder with the stand-in, named by XSPN_DATA."""
    stand_in.write(tmp_path / "data")
    monkeypatch.setenv("XSPN_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def train_path(folder):
    return folder / datasets.info("exam").files[0].relative_path


def expected_train(stand_in):
    return parse(stand_in.contents[stand_in.entry.files[0].relative_path])


def test_the_data_folder_comes_first(folder, stand_in, cached_files):
    d = datasets.load("EXAM-participation")
    assert d.name == "exam"
    assert np.array_equal(d.train, expected_train(stand_in))
    assert d.feature_names == tuple(f"X{i}" for i in range(7))
    assert "github.com" in d.source
    assert [name.split(os.sep)[0] for name in cached_files()] == ["parsed"] * 3


def test_the_cache_comes_second(stand_in):
    stand_in.write(Places.find().cache / "files")
    assert np.array_equal(datasets.load("exam", download=False).train, expected_train(stand_in))


def test_a_damaged_file_in_the_data_folder_is_refused_and_left_to_the_user(folder):
    path = train_path(folder)
    damaged = b"1" + path.read_bytes()[1:] if path.read_bytes()[:1] == b"0" else b"0" + path.read_bytes()[1:]
    path.write_bytes(damaged)
    with pytest.raises(ChecksumError, match=r"damaged.*replace it with an undamaged copy, or delete it"):
        datasets.load("exam")
    assert path.read_bytes() == damaged


def test_files_of_the_data_folder_may_be_packed(folder, stand_in):
    path = train_path(folder)
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert np.array_equal(datasets.load("exam", download=False).train, expected_train(stand_in))


DAMAGED = {
    "empty": b"",
    "no archive": b"no archive",
    "cut": gzip.compress(b"0,1" * 9)[:-3],
    "too large": gzip.compress(b"0" * 10**7),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_packed_file_is_refused(folder, content):
    path = train_path(folder)
    path.with_name(path.name + ".gz").write_bytes(content)
    path.unlink()
    with pytest.raises(ChecksumError, match=r"damaged.*replace it with an undamaged copy, or delete it"):
        datasets.load("exam")


def test_a_packed_file_is_never_in_memory_twice(stand_in, tmp_path, monkeypatch):
    file = stand_in.entry.files[0]
    content = render(np.random.default_rng(0).integers(0, 2, size=(200_000, 7)))
    monkeypatch.setitem(CHECKSUMS, file.name, git_blob_sha1(content))
    path = tmp_path / "data" / (file.relative_path + ".gz")
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(content, compresslevel=0))  # what is packed is as large as what comes out of it
    places = Places.find(tmp_path / "data", download=False)
    monkeypatch.setattr(files, "_PART", 1 << 16)
    monkeypatch.setattr(files, "_most_bytes", lambda _: 2 * len(content))
    tracemalloc.start()
    try:
        assert files.obtain(stand_in.entry.files[0], places).content == content
        assert tracemalloc.get_traced_memory()[1] < 1.3 * len(content)
    finally:
        tracemalloc.stop()


def test_a_file_that_is_damaged_later_is_noticed_though_its_table_is_cached(folder):
    datasets.load("exam")
    path = train_path(folder)
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(ChecksumError):
        datasets.load("exam")


def test_a_touched_file_is_verified_again_and_then_trusted(folder, stand_in):
    datasets.load("exam")
    os.utime(train_path(folder), (1, 1))
    assert np.array_equal(datasets.load("exam").train, expected_train(stand_in))
    assert np.array_equal(datasets.load("exam").train, expected_train(stand_in))


def test_a_damaged_file_in_the_cache_is_deleted_and_fetched_anew(server, stand_in):
    places = Places.find()
    stand_in.write(places.cache / "files")
    damaged = places.in_cache(stand_in.entry.files[0])
    damaged.write_bytes(b"0,1\n")
    d = datasets.load("exam", base_url=server.base("ok"))
    assert np.array_equal(d.train, expected_train(stand_in))
    assert damaged.read_bytes() == stand_in.contents[stand_in.entry.files[0].relative_path]
    assert len(server.asked) == 1


def test_a_damaged_file_in_the_cache_is_not_left_behind_when_offline(stand_in):
    places = Places.find()
    stand_in.write(places.cache / "files")
    damaged = places.in_cache(stand_in.entry.files[0])
    damaged.write_bytes(b"0,1\n")
    with pytest.raises(DatasetMissingError):
        datasets.load("exam", download=False)
    assert not damaged.exists()


@pytest.mark.parametrize("damage", ["flipped", "truncated", "empty", "other"])
def test_a_damaged_parsed_table_is_never_used(damage, folder, stand_in):
    datasets.load("exam")
    stored = Places.find().parsed(stand_in.entry.files[0])
    content = bytearray(stored.read_bytes())
    if damage == "flipped":
        bits = np.packbits(expected_train(stand_in), axis=1).tobytes()
        content[content.index(bits)] ^= 0x80  # one value of the table itself
    stored.write_bytes(
        {"flipped": bytes(content), "truncated": bytes(content[:-9]), "empty": b"", "other": b"x" * 99}[damage]
    )
    assert np.array_equal(datasets.load("exam").train, expected_train(stand_in))
    assert len(stored.read_bytes()) == len(content), "it was written anew"


def test_parsed_tables_alone_are_enough(folder, stand_in, monkeypatch):
    datasets.load("exam")
    monkeypatch.delenv("XSPN_DATA")
    assert np.array_equal(datasets.load("exam", download=False).train, expected_train(stand_in))


def test_a_cache_that_cannot_be_written_to_is_no_obstacle(folder, server, stand_in, tmp_path, monkeypatch):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the cache folder should be")
    assert np.array_equal(datasets.load("exam", cache_dir=blocked).train, expected_train(stand_in))
    monkeypatch.delenv("XSPN_DATA")
    d = datasets.load("exam", cache_dir=blocked, base_url=server.base("ok"))
    assert np.array_equal(d.train, expected_train(stand_in))
    assert [f.path for f in datasets.fetch("exam", cache_dir=blocked, base_url=server.base("ok"))] == [None] * 3


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the administrator may write anywhere")
def test_a_read_only_cache_folder(folder, stand_in, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert np.array_equal(datasets.load("exam", cache_dir=locked).train, expected_train(stand_in))


def test_a_data_folder_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("XSPN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetError, match=r"expected a folder at .*nowhere, found none; correct .*XSPN_DATA"):
        datasets.load("exam")


def test_errors_are_of_the_family_and_builtin():
    assert issubclass(ChecksumError, OSError)
    assert issubclass(DatasetMissingError, FileNotFoundError)
    assert issubclass(DatasetError, XSPNError)


def test_the_cache_folder_is_the_platforms_by_default(monkeypatch):
    monkeypatch.delenv("XSPN_CACHE")
    assert default_cache_folder().name == "xspn"


SCRIPT = """
import sys, json
from xspn import datasets
from xspn.paper.datasets import checksums
checksums.CHECKSUMS.update(json.loads(sys.argv[1]))
sys.stdin.readline()  # start together
for _ in range(20):
    d = datasets.load("exam", base_url=sys.argv[2])
    print(d.train.sum(), d.valid.sum(), d.test.sum())
"""


def test_processes_that_load_at_once_do_no_harm(server, stand_in, tmp_path, cached_files):
    places = Places.find()
    stand_in.write(places.cache / "files")
    places.in_cache(stand_in.entry.files[1]).write_bytes(b"damaged")  # both find it, delete it, fetch it
    arguments = [sys.executable, "-W", "error", "-c", SCRIPT, json.dumps(stand_in.checksums), server.base("slow")]
    environment = {**os.environ, "XSPN_CACHE": str(tmp_path / "cache")}
    processes = [
        subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert len(set("".join(outputs).splitlines())) == 1
    assert outputs[0].count("\n") == outputs[1].count("\n") == 20
    assert len(cached_files()) == 6, "no temporary file is left"
    assert {Path(name).suffix for name in cached_files()} == {".data", ".npz"}
    assert set(CHECKSUMS) >= set(stand_in.checksums)
