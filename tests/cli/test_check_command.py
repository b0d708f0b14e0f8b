"""`xspn check`: from a table to findings, as lines, JSON, CSV and a page; what is wrong in one line."""

import csv
import json

import numpy as np
import pytest


@pytest.fixture
def table(tmp_path):
    """Eight answers that agree in every row, and a number that follows them; three cells are wrong."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 240)
    answers = np.repeat(kind[:, None], 8, axis=1)
    numbers = np.round(10.0 * kind + rng.normal(size=240), 2)
    answers[17, 2] = 1 - answers[17, 2]
    answers[90, 5] = 1 - answers[90, 5]
    numbers[120] = 10.0 - numbers[120]
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"q{k}" for k in range(8)), "amount"])
        writer.writerows(
            [*(["no", "yes"][v] for v in own), number] for own, number in zip(answers, numbers, strict=True)
        )
    return path


def test_json_and_csv(table, tmp_path, run):
    options = ("--fdr", "0.2", "--folds", "2", "--set-aside", "0.01")
    status, out, err = run("check", str(table), *options, "--json", "-o", str(tmp_path / "cells.csv"))
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert {"rows", "cells", "fdr", "scored_by", "unlikely_cells", "unlikely_rows"} == set(found)
    cells = {(own["row"], own["column"]): own for own in found["unlikely_cells"]}
    assert {(17, "q2"), (90, "q5"), (120, "amount")} <= set(cells)
    assert {cells[17, "q2"]["value"], cells[17, "q2"]["likelier"]} == {"no", "yes"}
    with (tmp_path / "cells.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(cells)
    assert list(lines[0]) == ["row", "column", "value", "likelier", "probability", "q"]


def test_with_a_model(table, tmp_path, run):
    assert run("fit", str(table), "-o", str(tmp_path / "m.json"))[0] == 0
    page = tmp_path / "page.html"
    status, out, _ = run("check", str(table), "--model", str(tmp_path / "m.json"), "-o", str(page))
    assert status == 0
    assert "the given model" in out
    assert f"wrote {page}" in out
    assert "What is unlikely in table.csv" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fdr", "2"], "--fdr: expected a fraction"),
        (["--folds", "1"], "--folds: expected"),
        (["--top", "-1"], "--top: expected"),
        (["-o", "cells.doc"], "expected a name ending in .csv"),
        (["--model", "no.json"], "no.json: no such file"),
        (["--model", "no.json", "--exclude", "q1"], "the model knows its columns"),
    ],
)
def test_wrong_invocations(table, run, arguments, message):
    status, _, err = run("check", str(table), *arguments)
    assert status == 2
    assert message in err
