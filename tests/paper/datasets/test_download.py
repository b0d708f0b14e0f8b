"""Downloads from a server on this machine that is slow, stalls, drops the connection, lies, or has nothing."""

import gzip
import time

import pytest

from xspn import datasets
from xspn.core.errors import ChecksumError, DatasetError, DatasetMissingError, ParameterError
from xspn.paper.datasets.download import DownloadLimits, download
from xspn.paper.datasets.files import Places

PATHS = 3


def same_as_stand_in(d):
    assert (d.train.shape, d.valid.shape, d.test.shape) == ((12, 7), (5, 7), (6, 7))


@pytest.mark.parametrize("manner", ["ok", "slow", "busy"])
def test_a_server_that_delivers_in_the_end(manner, server, patient, cached_files):
    d = datasets.load("exam", base_url=server.base(manner), limits=patient)
    same_as_stand_in(d)
    assert len(server.asked) == (3 * PATHS if manner == "busy" else PATHS)
    assert len(cached_files()) == 2 * PATHS  # the files and the parsed tables, nothing else
    asked = len(server.asked)
    same_as_stand_in(datasets.load("exam", base_url=server.base("gone")))
    assert len(server.asked) == asked, "the second time comes from the cache"


@pytest.mark.parametrize(
    ("manner", "reason"),
    [
        ("stalls", "timed out"),
        ("trickles", "not done after 0.5 seconds"),
        ("drops", "the connection ended after 84 of 168 bytes"),
        ("gone", "404"),
    ],
)
def test_a_server_that_fails_leaves_nothing_and_says_what_to_do(manner, reason, server, impatient, cached_files):
    start = time.monotonic()
    with pytest.raises(DatasetMissingError, match=reason) as caught:
        datasets.load("exam", base_url=server.base(manner), limits=impatient)
    assert time.monotonic() - start < 6
    assert cached_files() == []
    message = str(caught.value)
    file = datasets.info("exam").files[0]
    assert file.name in message
    assert f"{server.base(manner)}/{file.relative_path}" in message
    assert "XSPN_DATA" in message
    assert str(Places.find().in_cache(file)) in message
    assert "XSPN_DOWNLOAD_BASE" in message
    assert len(server.asked) == (2 if manner == "gone" else impatient.attempts)  # as it is, and packed


def test_a_wrong_byte_is_never_used_and_never_left_behind(server, impatient, cached_files):
    with pytest.raises(ChecksumError, match="damaged: expected git blob SHA-1") as caught:
        datasets.load("exam", base_url=server.base("wrong"), limits=impatient)
    assert "try again later" in str(caught.value)
    assert "XSPN_DATA" in str(caught.value)
    assert cached_files() == []
    assert len(server.asked) == impatient.attempts


def test_too_much_is_refused(server, stand_in):
    path = next(iter(stand_in.contents))
    with pytest.raises(DatasetError, match="at most 10 bytes, found more"):
        download(f"{server.base('ok')}/{path}", DownloadLimits(size=10))


def test_a_mirror_on_disk(stand_in, tmp_path, cached_files):
    stand_in.write(tmp_path / "mirror")
    same_as_stand_in(datasets.load("exam", base_url=(tmp_path / "mirror").as_uri()))
    assert len(cached_files()) == 2 * PATHS


def test_the_base_may_come_from_the_environment_and_be_a_template(stand_in, tmp_path, monkeypatch):
    stand_in.write(tmp_path / "mirror")
    monkeypatch.setenv("XSPN_DOWNLOAD_BASE", (tmp_path / "mirror").as_uri() + "/{repository}/{path}")
    same_as_stand_in(datasets.load("exam"))


def test_a_mirror_without_the_file(tmp_path, cached_files):
    with pytest.raises(FileNotFoundError, match=r"exam-participation.ts.data is not here .* cannot be read"):
        datasets.load("exam", base_url=tmp_path.as_uri())
    assert cached_files() == []


def test_no_connection_at_all(impatient):
    with pytest.raises(DatasetMissingError, match=r"could not be downloaded from http://127.0.0.1:1/.*3 attempts"):
        datasets.load("exam", base_url="http://127.0.0.1:1", limits=impatient)


def test_downloads_can_be_switched_off(server):
    with pytest.raises(DatasetMissingError, match="switched off"):
        datasets.load("exam", base_url=server.base("ok"), download=False)
    assert server.asked == []


def test_other_schemes_are_refused():
    with pytest.raises(ParameterError, match="expected one that begins with https://"):
        datasets.load("exam", base_url="ftp://example.org")


def test_the_public_address(monkeypatch):
    monkeypatch.delenv("XSPN_DOWNLOAD_BASE")
    places = Places.find()
    assert places.address(datasets.info("audio").files[1]) == (
        "https://raw.githubusercontent.com/arranger1044/DEBD/master/datasets/baudio/baudio.valid.data"
    )


def test_fetch_says_where_each_file_came_from(server, patient):
    first = datasets.fetch("exam", base_url=server.base("ok"), limits=patient)
    assert [(f.file.split, f.origin) for f in first] == [(s, "download") for s in ("train", "valid", "test")]
    assert all(f.path is not None and f.path.is_file() for f in first)
    second = datasets.fetch("exam", base_url=server.base("gone"), limits=patient)
    assert [f.origin for f in second] == ["cache"] * PATHS


@pytest.fixture
def packed_mirror(server):
    """The server, with every file packed and none as it is."""
    plain = dict(server.contents)
    server.contents.clear()
    server.contents.update({f"{path}.gz": gzip.compress(content) for path, content in plain.items()})
    return server


def test_a_mirror_may_hold_packed_files(packed_mirror, stand_in, patient, cached_files):
    same_as_stand_in(datasets.load("exam", base_url=packed_mirror.base("ok"), limits=patient))
    kept = [name for name in cached_files() if not name.startswith("parsed")]
    assert not any(name.endswith(".gz") for name in kept)  # the cache holds what was verified
    assert len(kept) == 3


def test_a_damaged_packed_file_of_a_mirror_is_named(packed_mirror, patient, cached_files):
    path = next(iter(packed_mirror.contents))
    packed_mirror.contents[path] = packed_mirror.contents[path][:-9]
    with pytest.raises(ChecksumError, match=r"\.data\.gz: the file is damaged"):
        datasets.load("exam", base_url=packed_mirror.base("ok"), limits=patient)
    assert packed_mirror.asked.count(path) == 3  # it may have been the way here that damaged it


def test_a_mirror_with_neither_names_the_plain_address(server, patient):
    with pytest.raises(DatasetMissingError) as caught:
        datasets.load("exam", base_url=server.base("gone"), limits=patient)
    assert ".gz" not in str(caught.value)
