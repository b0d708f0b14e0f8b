"""`xspn reproduce`: a quick run on generated data, errors, merging, reports without running."""

import json

import pytest

from xspn import datasets
from xspn.cli import main
from xspn.paper.experiments import data


@pytest.fixture(autouse=True)
def _small_and_without_files(monkeypatch, tmp_path):
    monkeypatch.delenv("XSPN_DATA", raising=False)
    monkeypatch.setenv("XSPN_CACHE", str(tmp_path / "cache"))
    original = datasets.make
    monkeypatch.setattr(data.datasets, "make", lambda name: original(name, 400, 100, 100))
    data.dataset.cache_clear()
    data.facts.cache_clear()
    yield
    data.dataset.cache_clear()
    data.facts.cache_clear()


def reproduce(capsys, *arguments):
    status = main(["reproduce", *map(str, arguments)])
    return status, *capsys.readouterr()


def test_a_quick_run_writes_a_report_and_goes_on(capsys, tmp_path):
    out = tmp_path / "out"
    quick = ("table1", "--quick", "--datasets", "mevm-small", "--models", "SPN", "XSPN-TF", "--out", out)
    status, said, progress = reproduce(capsys, *quick)
    assert status == 0
    assert "4 units done, 0 were done before" in progress
    assert "better on" in said
    report = (out / "report.md").read_text()
    assert "MEVM-s (generated)" in report
    assert reproduce(capsys, *quick)[2].count("0 units done, 4 were done before") == 1
    assert (out / "report.md").read_text() == report

    other = tmp_path / "other"
    status, _, progress = reproduce(capsys, "table1", "--report-only", "--merge", out, "--out", other)
    assert "4 results copied, 0 were here already" in progress
    assert "MEVM-s (generated)" in (other / "report.md").read_text()


def test_data_sets_without_files_are_left_out_and_told(capsys, tmp_path):
    status, _, told = reproduce(capsys, "table1", "--datasets", "senate", "--out", tmp_path / "out")
    assert status == 0
    assert "skipped: senate: its files are not here" in told
    assert "senate: its files are not here" in (tmp_path / "out" / "report.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table1", "--datasets", "senat"], "did you mean 'senate'"),
        (["table1", "--models", "SPNX"], "--models: expected some of SPN"),
        (["table1", "--jobs", "0", "--datasets", "exact"], "jobs: expected"),
        (["table1", "--seed", "-1"], "--seed: expected"),
        (["table1", "--merge", "no_such_folder"], "expected a folder of results"),
    ],
)
def test_the_users_faults_are_status_2(capsys, tmp_path, arguments, message):
    status, _, told = reproduce(capsys, *arguments, "--out", tmp_path / "out")
    assert status == 2
    assert message in told


def test_a_file_in_the_way_is_told(capsys, tmp_path):
    (tmp_path / "taken").write_text("a file")
    status, _, told = reproduce(capsys, "figure1", "--out", tmp_path / "taken")
    assert status == 2
    assert "--out: expected a folder" in told


def test_the_report_goes_on_without_malformed_results_and_says_so(capsys, tmp_path):
    out, other = tmp_path / "out", tmp_path / "other"
    quick = ("table1", "--quick", "--datasets", "mevm-small", "--models", "SPN", "XSPN-TF", "--out", out)
    assert reproduce(capsys, *quick)[0] == 0
    first, second, *_ = sorted((out / "units").rglob("*.json"))
    data = json.loads(first.read_text())
    data["unit"]["dataset"] = "../../../escaped"
    first.write_text(json.dumps(data))
    second.write_text("{")
    status, said, told = reproduce(capsys, "table1", "--report-only", "--out", out)
    assert status == 1
    assert "report: " in said
    for path in (first, second):
        assert f"skipped: {path}: " in told
        assert str(path) in (out / "report.md").read_text()
    status, _, told = reproduce(capsys, "table1", "--report-only", "--merge", out, "--out", other)
    assert status == 1
    assert "2 results copied" in told
    assert told.count("skipped: ") == 2 + told.count("its files are not here")
    assert not list(tmp_path.glob("escaped*"))
    assert reproduce(capsys, *quick)[0] == 0, "what was damaged is made anew"
