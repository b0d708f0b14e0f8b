"""`query --best-rows`, `--best-of`, `--information`; `compare`; `convert`."""

import json

import numpy as np
import pytest

from support.enumeration import assignments
from xspn import Bernoulli, Circuit, Gaussian, Product, Sum, load, save
from xspn.cli.main import main


def mixture(weight=0.3, names=("a", "b", "c")):
    parts = [Product([Bernoulli(v, p=p + v / 20) for v in range(3)]) for p in (0.1, 0.6)]
    return Circuit(Sum([weight, 1 - weight], parts), names=list(names), labels={names[0]: ["no", "yes"]})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    save(mixture(), tmp_path / "m.json")
    save(mixture(0.8), tmp_path / "other.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys, *arguments):
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


ROWS = assignments([2, 2, 2])


def test_the_most_probable_rows(folder, capsys):
    found = printed(capsys, "query", "m.json", "--given", "a=yes", "--best-rows", "3")
    rows = ROWS[ROWS[:, 0] == 1]
    logs = mixture().log_likelihood(rows)
    order = np.argsort(-logs)[:3]
    assert found["given"] == {"a": "yes"}
    assert found["exact"] is True
    assert [row["log_probability"] for row in found["rows"]] == pytest.approx(logs[order].tolist(), abs=1e-12)
    assert [list(row["values"].values())[1:] for row in found["rows"]] == rows[order, 1:].astype(int).tolist()
    assert main(["query", "m.json", "--given", "a=yes", "--best-rows", "3"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split() == ["name", "1", "2", "3"]
    assert shown[1].split() == ["a", "yes", "yes", "yes"]
    assert shown[-1].startswith("log-probability")


def test_the_most_probable_values_of_some_columns(folder, capsys):
    found = printed(capsys, "query", "m.json", "--best-of", "b", "c")
    partial = np.column_stack([np.full(4, np.nan), assignments([2, 2])])
    logs = mixture().log_likelihood(partial)
    best = int(np.argmax(logs))
    assert found["rows"][0]["values"] == dict(zip("bc", partial[best, 1:].astype(int).tolist(), strict=True))
    assert found["rows"][0]["log_probability"] == pytest.approx(logs[best], abs=1e-12)


def test_information(folder, capsys):
    found = printed(capsys, "query", "m.json", "--information", "b", "c", "--given", "a=no")
    p = np.exp(mixture().log_likelihood(ROWS[ROWS[:, 0] == 0])).reshape(2, 2)
    p /= p.sum()

    def entropy(table):
        return -(table * np.log2(table)).sum()

    assert found["entropy"]["bits"] == pytest.approx(entropy(p), abs=1e-12)
    assert found["columns"][0]["bits"] == pytest.approx(entropy(p.sum(axis=1)), abs=1e-12)
    expected = entropy(p.sum(axis=0)) + entropy(p.sum(axis=1)) - entropy(p)
    assert found["pairs"] == [{**found["pairs"][0], "columns": ["b", "c"], "method": "exact"}]
    assert found["pairs"][0]["bits"] == pytest.approx(expected, abs=1e-12)
    assert main(["query", "m.json", "--information", "*"]) == 0
    assert "I(b; c)" in capsys.readouterr().out


def test_simulated_information_says_so(folder, capsys):
    save(Circuit(Sum([0.5, 0.5], [Gaussian(0, mean=m, std=1) for m in (0, 1)]), names=["x"]), "real.json")
    assert main(["query", "real.json", "--information", "x"]) == 0
    assert "drawn rows" in capsys.readouterr().out


def test_two_models_are_compared(folder, capsys):
    found = printed(capsys, "compare", "m.json", "other.json")
    p, q = (np.exp(own.log_likelihood(ROWS)) for own in (mixture(), mixture(0.8)))
    middle = (p + q) / 2
    for name, expected in {
        "kl_first_second": (p * np.log2(p / q)).sum(),
        "kl_second_first": (q * np.log2(q / p)).sum(),
        "jensen_shannon": ((p * np.log2(p / middle)).sum() + (q * np.log2(q / middle)).sum()) / 2,
    }.items():
        assert found[name]["bits"] == pytest.approx(expected, abs=1e-12)
        assert found[name]["method"] == "exact"
    assert main(["compare", "m.json", "m.json"]) == 0
    assert [line.split()[-2] for line in capsys.readouterr().out.splitlines()[1:]] == ["0.0000"] * 3


@pytest.mark.parametrize("ending", [".xspn", ".jpc", ".spn"])
def test_models_are_converted_and_back(ending, folder, capsys):
    assert main(["convert", "m.json", "-o", f"new{ending}"]) == 0
    assert main(["convert", f"new{ending}", "-o", "back.json"]) == 0
    assert f"written to new{ending}" in capsys.readouterr().out
    np.testing.assert_allclose(load("back.json").log_likelihood(ROWS), mixture().log_likelihood(ROWS), atol=1e-12)


def test_a_psdd_comes_with_its_vtree(folder, capsys):
    save(Circuit(Product([Bernoulli(0, p=0.5), Bernoulli(1, p=0.25)])), "free.json")
    assert main(["convert", "free.json", "-o", "free.psdd"]) == 0
    assert "free.psdd and free.vtree" in capsys.readouterr().out
    before = (folder / "free.vtree").read_bytes()
    for over in (["convert", "free.psdd", "-o", "free.vtree"], ["show", "free.psdd", "--png", "free.vtree"]):
        assert main(over) == 2
        assert "free.vtree" in capsys.readouterr().err
    assert main(["convert", "free.json", "-o", "free.vtree"]) == 0  # nothing of this name is read
    assert main(["convert", "free.json", "-o", "free.psdd"]) == 0  # and both files may be written again
    assert (folder / "free.vtree").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["query", "m.json", "--best-rows", "0"], "--best-rows: expected a number of rows of at least 1, found 0"),
        (
            ["query", "m.json", "--best-rows", "2", "--ask", "a"],
            "--best-rows: goes with --given alone; leave --ask out",
        ),
        (["query", "m.json", "--best-rows", "2", "--best-of", "a"], "--best-rows: goes with --given alone"),
        (["query", "m.json", "--information", "a", "--top", "1"], "--information: goes with --given alone"),
        (["query", "m.json", "--best-of", "q"], "--best-of: there is no column 'q'"),
        (["query", "m.json", "--best-of", "a", "--given", "a=yes"], "marginal_map: the evidence has values for all"),
        (["query", "m.json", "--best-of", "a", "--given", "count(*) > 1"], "--given: expected NAME=VALUE alone"),
        (["query", "m.json", "--information", "a", "--given", "a=yes"], "at least one variable that is not known"),
        (["compare", "m.json", "gone.json"], "gone.json: no such file"),
        (["compare", "-", "-"], "only one of the two models can come from standard input"),
        (["compare", "m.json", "m.json", "-n", "1"], "-n: expected a number of rows of at least 2"),
        (["compare", "m.json", "named.json"], "OTHER: expected the columns of MODEL in their order, found 'x' for 'a'"),
        (["compare", "m.json", "small.json"], "kl_divergence"),
        (["convert", "m.json", "-o", "m.psdd"], "psdd: node 8 is not deterministic"),
        (["convert", "m.json", "-o", "-"], "-o: expected the name of a file, whose ending says the format"),
        (["convert", "m.json", "-o", "m.json"], "the output would replace what is read"),
    ],
)
def test_wrong_input_is_one_line(arguments, message, folder, capsys):
    save(mixture(names=("x", "b", "c")), "named.json")
    save(Circuit(Bernoulli(0, p=0.5)), "small.json")
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
