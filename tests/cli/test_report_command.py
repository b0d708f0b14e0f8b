"""`xspn report` and `xspn segments`: from file to page, and what is wrong in one line."""

import json

import pytest

from xspn import Bernoulli, Circuit, save
from xspn.cli import main


def test_from_a_table_to_a_page(tmp_path, survey, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("fit", str(survey), "-o", "m.json", "--exclude", "name", "--valid", "0.2")[0] == 0
    known = json.loads((tmp_path / "m.json").read_text())["notes"]["provenance"]
    assert known["held_out"] == {"fraction": 0.2, "seed": 0, "rows": 60}
    assert known["rows"] == 240
    status, out, err = run("report", "m.json", "survey.csv", "-o", "r.html")
    assert (status, err) == (0, "")
    assert out.startswith("wrote r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "60 rows that were held out" in page
    assert "line " in page
    assert "Report: m" in page
    assert run("report", "m.json", "survey.csv", "-o", "r.md", "--title", "Mine")[0] == 0
    assert (tmp_path / "r.md").read_text(encoding="utf-8").startswith("# Mine\n")


def test_segments_as_lines_json_and_rows(model, survey, tmp_path, run):
    status, out, _ = run("segments", str(model))
    assert status == 0
    assert "segments" in out.splitlines()[0]
    status, out, _ = run("segments", str(model), str(survey), "--json")
    found = json.loads(out)["segments"]
    assert sum(own["rows"] for own in found) == pytest.approx(300)
    assert run("segments", str(model), str(survey), "-o", str(tmp_path / "rows.csv"))[0] == 0
    lines = (tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 301
    assert lines[0].count("=") + lines[0].count("*") >= 1


def test_contexts_have_names_where_groups_are_told(survey, tmp_path, run):
    status, out, _ = run("fit", str(survey), "-o", str(tmp_path / "m.json"), "--exclude", "name")
    assert status == 0
    assert "cluster " not in out
    out = run("show", str(tmp_path / "m.json"), "--json")[1]
    (mixture,) = json.loads(out)["structure"]["mixtures"]
    assert all(context["name"] for context in mixture["contexts"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "no.json", "survey.csv", "-o", "r.html"], "no.json: no such file"),
        (["report", "model.json", "no.csv", "-o", "r.html"], "no.csv: no such file"),
        (["report", "model.json", "other.csv", "-o", "r.html"], "lacks the column"),
        (["report", "model.json", "survey.csv", "-o", "r.pdf"], "expected a name ending in .html"),
        (["report", "model.json", "survey.csv", "-o", "-"], "-o: expected a file"),
        (["report", "model.json", "survey.csv", "-o", "model.json"], "expected a name ending in .html"),
        (["report", "model.json", "survey.csv", "-o", "no/r.html"], "no such folder"),
        (["report", "-", "-", "-o", "r.html"], "only one of model and table"),
        (["report", "survey.csv", "survey.csv", "-o", "r.html"], "not a complete JSON text"),
        (["report", "model.json", "header.csv", "-o", "r.html"], "nothing below it"),
        (["report", "model.json", "survey.csv", "--test", "other.csv", "-o", "r.html"], "lacks the column"),
        (["segments", "model.json", "-o", "rows.csv"], "-o: expected a table"),
        (
            ["segments", "model.json", "survey.csv", "-o", "-", "--json"],
            "-o - and --json: both are for standard output",
        ),
        (["segments", "model.json", "other.csv"], "lacks the column"),
        (["segments", "model.json", "survey.csv", "-o", "survey.csv"], "would replace what is read"),
        (["segments", "no.json"], "no.json: no such file"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(tmp_path, survey, model, run, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.csv").write_text("a,b\n1,0\n", encoding="utf-8")
    (tmp_path / "header.csv").write_text(survey.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert message in err
    assert not (tmp_path / "r.html").exists()


def test_a_model_without_sums_is_told_in_a_line(tmp_path, run):
    save(Circuit(Bernoulli(0, p=0.5), names=["rain"]), tmp_path / "m.json")
    status, out, _ = run("segments", str(tmp_path / "m.json"))
    assert status == 0
    assert out.splitlines()[0] == "1 segment: no column is modeled as depending on a context"
    (tmp_path / "t.csv").write_text("rain\n0\n1\n1\n", encoding="utf-8")
    assert main(["report", str(tmp_path / "m.json"), str(tmp_path / "t.csv"), "-o", str(tmp_path / "r.html")]) == 0
