"""`xspn datasets`: list, info, fetch, make."""

import json

import numpy as np
import pytest

import xspn
from xspn import datasets
from xspn.cli import main
from xspn.paper.datasets import checksums
from xspn.paper.datasets.files import parse, render


@pytest.fixture(autouse=True)
def _own_places(monkeypatch, tmp_path):
    monkeypatch.delenv("XSPN_DATA", raising=False)
    monkeypatch.setenv("XSPN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XSPN_DOWNLOAD_BASE", (tmp_path / "mirror").as_uri())


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    """A mirror that holds three tiny files under the name of `exam`."""
    for file in datasets.info("exam").files:
        content = render(np.eye(3, dtype=np.uint8))
        target = tmp_path / "mirror" / file.relative_path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        monkeypatch.setitem(checksums.CHECKSUMS, file.name, checksums.git_blob_sha1(content))


def run(capsys, *arguments):
    status = main(["datasets", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_list_is_a_line_per_set(capsys):
    status, out, err = run(capsys, "list")
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert lines[0].split("\t") == ["name", "files", "group", "vars", "train", "valid", "test", "here"]
    assert len(lines) == 32
    assert "accidents\taccidents\tbenchmark\t111\t12758\t1700\t2551\tnot here" in lines


def test_list_as_json_and_by_group(capsys):
    status, out, _ = run(capsys, "list", "--group", "real", "--json")
    found = json.loads(out)
    assert status == 0
    assert [entry["name"] for entry in found] == ["exam", "senate", "house", "bundestag"]
    assert set(found[0]) == {
        "name", "file_name", "aliases", "group", "n_variables", "n_rows", "source", "license", "note", "files", "here",
    }  # fmt: skip
    assert found[1]["n_rows"] == {"train": 500, "valid": 100, "test": 120}


def test_info_in_words_and_as_json(capsys):
    status, out, _ = run(capsys, "info", "CR52")
    assert status == 0
    assert "reut.-52" in out
    assert "6532 + 1028 + 1540" in out
    assert "4f63c683574db34184e89e8a9b850454a835c5fc" in out
    status, out, _ = run(capsys, "info", "MEVM-l", "--json")
    found = json.loads(out)
    assert found["here"] == "not here"
    assert "byte for byte the same" in found["note"]
    assert found["addresses"]["test"].endswith("ex-data-large.test.data")


@pytest.mark.parametrize("action", [["info"], ["fetch"], ["make", "--out", "nowhere"]])
def test_an_unknown_name_is_one_line_and_status_2(capsys, action):
    status, out, err = run(capsys, *action, "senat")
    assert (status, out) == (2, "")
    assert err == "xspn: unknown data set 'senat'; did you mean 'senate'? `xspn datasets list` shows all\n"


@pytest.mark.usefixtures("mirror")
def test_fetch_downloads_verifies_and_keeps(capsys):
    status, out, err = run(capsys, "fetch", "exam")
    assert (status, err) == (0, "")
    assert out.count("verified, download") == 3
    status, out, _ = run(capsys, "fetch", "exam", "EXAMS", "--json")
    found = json.loads(out)
    assert len(found) == 1
    assert [file["origin"] for file in found[0]["files"]] == ["cache"] * 3
    assert json.loads(run(capsys, "info", "exam", "--json")[1])["here"] == "cache"


@pytest.mark.usefixtures("mirror")
def test_fetch_goes_on_after_a_failure_and_reports_it(capsys):
    status, out, err = run(capsys, "fetch", "senate", "exam")
    assert status == 1
    assert out.count("exam") >= 3
    assert err.count("\n") == 1
    assert "senate116.ts.data is not here" in err
    assert "XSPN_DATA" in err
    status, out, _ = run(capsys, "fetch", "all", "--json")
    results = json.loads(out)
    assert status == 1
    assert len(results) == 31
    assert [entry["name"] for entry in results if entry["ok"]] == ["exam"]


def test_a_wrong_address_is_the_users_fault(capsys):
    status, _, err = run(capsys, "fetch", "exam", "--base", "gopher://old")
    assert status == 2
    assert "https://" in err


def test_make_writes_tables_and_truth(capsys, tmp_path):
    out_folder = tmp_path / "new" / "folder"
    status, out, _ = run(capsys, "make", "conference", "--seed", "3", "--out", str(out_folder), "--n-train", "50",
                         "--n-valid", "20", "--n-test", "30", "--json")  # fmt: skip
    found = json.loads(out)
    assert status == 0
    assert sorted(p.name for p in out_folder.iterdir()) == [
        "conference.test.csv", "conference.train.csv", "conference.truth.json", "conference.valid.csv",
    ]  # fmt: skip
    header, _, body = (out_folder / "conference.test.csv").read_bytes().partition(b"\n")
    expected = datasets.make("conference", 50, 20, 30, random_state=3)
    assert header.decode().split(",") == list(expected.feature_names)
    assert np.array_equal(parse(body), expected.test)
    truth = xspn.load(found["truth"])
    assert truth.log_likelihood(expected.test).mean() == pytest.approx(found["true_test_log_likelihood"])
    assert found["n_rows"] == {"train": 50, "valid": 20, "test": 30}


def test_make_in_the_public_format_and_in_words(capsys, tmp_path):
    status, out, _ = run(capsys, "make", "MEVM-s", "--out", str(tmp_path), "--format", "data")
    assert status == 0
    assert "true log-likelihood of the test rows" in out
    assert parse((tmp_path / "mevm-s.train.data").read_bytes()).shape == (5000, 20)


def test_make_refuses_what_it_cannot_do(capsys, tmp_path):
    status, _, err = run(capsys, "make", "nltcs", "--out", str(tmp_path))
    assert status == 2
    assert "not a synthetic data set" in err
    assert run(capsys, "make", "parity", "--out", str(tmp_path), "--seed", "-1")[0] == 2
    assert run(capsys, "make", "parity", "--out", str(tmp_path), "--n-train", "-5")[0] == 2
    (tmp_path / "taken").write_text("a file")
    status, _, err = run(capsys, "make", "conference", "--n-train", "5", "--out", str(tmp_path / "taken"))
    assert status == 2
    assert err.startswith("xspn: --out: expected a folder, found a file at")
    with pytest.raises(SystemExit) as caught:
        main(["datasets", "make", "parity"])
    assert caught.value.code == 2
