"""The commands on a small survey: what they print, what they write, and that it is what the library says."""

import csv
import io
import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import xspn.data
from cli.conftest import GUESTS, read_csv
from xspn import Categorical, Circuit, Gaussian, Product, Sum, load, save
from xspn.graph.nodes import Scope
from xspn.io import load_with_notes


@pytest.fixture
def circuit(model):
    return load(model)


def answer(run, *arguments):
    status, out, err = run(*arguments, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


# -- fit ---------------------------------------------------------------------------------------------------------------


def test_fit_says_how_good_the_model_is(run, survey, tmp_path):
    status, out, err = run("fit", survey, "-o", tmp_path / "m.json", "--exclude", "name", "--valid", "0.2")
    assert (status, err) == (0, "")
    lines = {line.split("  ")[0].strip(): line for line in out.splitlines()}
    assert "240 + 60 held out" in lines["rows"]
    assert "8 (8 binary)" in lines["variables"]
    ours, independent, tree = (
        lines[name].split()[-1] for name in ("this model", "independent variables", "chow liu tree")
    )
    as_number = {name: float(text.replace("−", "-")) for name, text in (("a", ours), ("b", independent), ("c", tree))}
    assert as_number["a"] > as_number["b"]
    assert "of columns that depend on each other, or can be interchanged" in out


def test_fit_with_more_effort(run, survey, tmp_path):
    common = ("fit", survey, "--exclude", "name")
    one = answer(run, *common, "-o", tmp_path / "one.json")
    more = answer(run, *common, "-o", tmp_path / "more.json", "--quality", "balanced")
    assert more["parameters"] > one["parameters"]
    assert sum(part["weight"] for part in more["parts"]) == pytest.approx(1.0)
    assert one["parts"] == []
    _, out, _ = run(*common, "-o", tmp_path / "more.json", "--quality", "balanced")
    assert f"made of     {more['parts'][0]['weight']:.0%} {more['parts'][0]['kind']}" in out


def test_fit_tells_the_blocks_that_show_tells(run, survey, tmp_path):
    path = tmp_path / "m.json"
    found = answer(run, "fit", survey, "-o", path, "--exclude", "name")["blocks"]
    graph = load(path).graph
    several = [leaf for leaf in graph.leaves if len(leaf.scope) > 1]
    assert {own["node"] for own in found} == {graph.id_of(leaf) for leaf in several}
    for own in found:
        assert len(own["variables"]) == len(graph.nodes[own["node"]].scope)
        assert 0 < own["rows"] <= 300
    structure, shown = [answer(run, "show", path)["structure"]], []
    while structure:
        part = structure.pop()
        shown += [block["node"] for block in part["blocks"]]
        structure += [context for mixture in part["mixtures"] for context in mixture.get("contexts", ())]
    assert {own["node"] for own in found} == set(shown)


def test_fit_of_few_parameters(run, survey, tmp_path):
    common = ("fit", survey, "--exclude", "name", "-o", tmp_path / "m.json", "--n-estimators", "3")
    whole = answer(run, *common)["parameters"]
    assert answer(run, *common, "--max-parameters", "12")["parameters"] <= 12 < whole
    code, _, err = run(*common, "--max-parameters", "3")
    assert code == 2
    assert "max_parameters: expected at least 8, which independent columns have, found 3" in err


def test_fit_on_a_device(run, survey, tmp_path):
    pytest.importorskip("torch")
    common = ("fit", survey, "--exclude", "name", "-o", tmp_path / "m.json", "--quality", "balanced")
    assert answer(run, *common, "--device", "cpu")["parts"]
    code, _, err = run(*common, "--device", "abacus")
    assert code != 0
    assert "device: expected None, 'cpu', 'cuda'" in err


def test_fit_for_programs(run, survey, tmp_path):
    found = answer(run, "fit", survey, "-o", tmp_path / "m.json", "--exclude", "name", "--valid", "0.25", "--seed", "3")
    assert set(found) == {
        "model",
        "rows",
        "held_out_rows",
        "variables",
        "missing_cells",
        "nodes",
        "parameters",
        "parts",
        "log_likelihood",
        "decisions",
        "blocks",
    }
    assert found["rows"] + found["held_out_rows"] == 300
    circuit = load(tmp_path / "m.json")
    assert found["parameters"] == circuit.summary().parameters
    assert set(found["log_likelihood"]) == {"this_model", "independent_variables", "chow_liu_tree"}
    again = answer(run, "fit", survey, "-o", tmp_path / "n.json", "--exclude", "name", "--valid", "0.25", "--seed", "3")
    assert {**again, "model": ""} == {**found, "model": ""}
    assert (tmp_path / "m.json").read_bytes() == (tmp_path / "n.json").read_bytes()


def test_the_model_knows_names_labels_and_why(circuit, model):
    assert circuit.names == ("hot_topic", *GUESTS, "overflow")
    assert circuit.labels[0] == ("no", "yes")
    assert circuit.labels[-1] == ("false", "true")
    _, notes = load_with_notes(model)
    assert {entry["node"] for entry in notes["trace"]} <= set(range(len(circuit.graph)))
    assert notes["learned"]["rows"] == 300


def test_fit_from_a_pipe_and_to_one(run, survey, model, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(survey.read_bytes())))
    status, out, _ = run("fit", "-", "-o", "-", "--exclude", "name")
    assert status == 0
    assert json.loads(out) == json.loads(model.read_text(encoding="utf-8"))


def test_a_table_of_its_own_to_score(run, survey, tmp_path):
    found = answer(run, "fit", survey, "-o", tmp_path / "m.json", "--exclude", "name", "--valid", survey)
    own = found["log_likelihood"]["this_model"]
    assert own["held_out"] == pytest.approx(own["train"])
    assert (found["rows"], found["held_out_rows"]) == (300, 300)


def test_settings_reach_the_learner(run, survey, tmp_path):
    settings = [
        "--exchangeability",
        "none",
        "--leaf-learner",
        "factorized",
        "--min-instances",
        "1000",
        "--smoothing",
        "0.5",
    ]
    found = answer(run, "fit", survey, "-o", tmp_path / "m.json", "--exclude", "name", *settings)
    own = found["log_likelihood"]
    assert own["this_model"] == own["independent_variables"]
    assert found["blocks"] == []


# -- questions ---------------------------------------------------------------------------------------------------------


def test_a_distribution(run, model, circuit):
    found = answer(run, "query", model, "--given", "hot_topic=yes", "--ask", "overflow")
    [own] = found["answers"]
    expected = circuit.marginals({"hot_topic": "yes"})[0, -1, 1]
    assert own["kind"] == "distribution"
    assert [value["value"] for value in own["values"]] == ["false", "true"]
    assert own["values"][1]["probability"] == pytest.approx(expected)
    assert found["given"] == {"hot_topic": "yes"}
    assert found["log_evidence"] == pytest.approx(circuit.log_likelihood([["yes", *[None] * 7]])[0])
    status, out, _ = run("query", model, "--given", "hot_topic=yes", "--ask", "overflow")
    assert status == 0
    assert f"{expected:.4f}" in out


def test_a_count_with_a_pattern(run, model, circuit):
    [own] = answer(run, "query", model, "--given", "hot_topic=YES", "--ask", "count(attends_*)")["answers"]
    np.testing.assert_allclose(own["probabilities"], circuit.count_distribution(GUESTS, {"hot_topic": "yes"}))
    assert own["variables"] == GUESTS
    [zeros] = answer(run, "query", model, "--given", "hot_topic=yes", "--ask", "count(attends_*=no)")["answers"]
    np.testing.assert_allclose(zeros["probabilities"], own["probabilities"][::-1])
    [both] = answer(run, "query", model, "--ask", "count(hot_topic, overflow)")["answers"]
    np.testing.assert_allclose(both["probabilities"], circuit.count_distribution(["hot_topic", "overflow"]))
    status, out, _ = run("query", model, "--ask", "count(attends_*)")
    assert status == 0
    assert len(out.splitlines()) == 2 + 7


def test_a_value_and_several_questions(run, model, circuit):
    found = answer(run, "query", model, "--given", "attends_*=1", "--ask", "overflow=true", "hot_topic")
    row = np.array([[np.nan, *[1.0] * 6, np.nan]])
    expected = circuit.marginals(row)[0, :, 1]
    prior = circuit.marginals()[0, -1, 1]
    assert found["answers"][0] == {
        "ask": "overflow=true",
        "kind": "probability",
        "probability": pytest.approx(expected[-1]),
        "prior": pytest.approx(prior),
        "lift": pytest.approx(expected[-1] / prior),
        "odds": pytest.approx(expected[-1] / (1 - expected[-1])),
    }
    assert found["answers"][1]["values"][1]["probability"] == pytest.approx(expected[0])


def test_everything_is_asked_by_default(run, model):
    found = answer(run, "query", model, "--given", "hot_topic=yes")
    assert [own["ask"] for own in found["answers"]] == [*GUESTS, "overflow"]
    status, out, _ = run("query", model)
    assert status == 0
    assert len(out.splitlines()) == 1 + 8


def test_the_best_completion(run, model, circuit):
    best = answer(run, "query", model, "--given", "hot_topic=yes", "--best")["best"]
    expected = circuit.mpe({"hot_topic": "yes"})
    assert list(best["values"]) == list(circuit.names)
    assert best["values"]["hot_topic"] == "yes"
    assert best["log_probability"] == pytest.approx(expected.log_prob[0])
    assert run("query", model, "--best")[0] == 0


def test_real_and_categorical_variables(run, tmp_path):

    parts = [
        Product([Gaussian(0, mean=m, std=1.0), Categorical(1, p)]) for m, p in ((0.0, [0.5, 0.5, 0]), (4, [0, 0, 1]))
    ]
    circuit = Circuit(Sum([0.5, 0.5], parts), names=["height", "colour"], labels={"colour": ["red", "green", "blue"]})
    save(circuit, tmp_path / "m.json")
    found = answer(run, "query", tmp_path / "m.json", "--given", "colour=Blue", "--ask", "height", "height=4")[
        "answers"
    ]
    assert found[0] == {"ask": "height", "kind": "mean", "mean": pytest.approx(4), "deviation": pytest.approx(1)}
    assert found[1]["density"] == pytest.approx(1 / np.sqrt(2 * np.pi))
    [own] = answer(run, "query", tmp_path / "m.json", "--given", "height=-3", "--ask", "colour")["answers"]
    assert sum(value["probability"] for value in own["values"]) == pytest.approx(1)
    assert run("query", tmp_path / "m.json")[0] == 0
    status, out, _ = run("sample", tmp_path / "m.json", "-n", "5", "--given", "colour=blue")
    assert status == 0
    assert out.count(",blue\n") == 5


def test_a_column_of_one_word_can_be_asked_for(run, tmp_path):
    table = tmp_path / "same.csv"
    table.write_text("same,bit\n" + "".join(f"word,{k % 2}\n" for k in range(40)))
    assert run("fit", table, "-o", tmp_path / "same.json")[0] == 0
    [own] = answer(run, "query", tmp_path / "same.json", "--given", "bit=1", "--ask", "same")["answers"]
    assert own["values"] == [{"value": "word", "probability": 1.0, "prior": 1.0, "lift": 1.0, "odds": "inf"}]
    [own] = answer(run, "query", tmp_path / "same.json", "--ask", "same=word")["answers"]
    assert own["probability"] == 1.0


# -- score, sample, impute, classify -----------------------------------------------------------------------------------


def test_scores_are_those_of_the_library(run, model, circuit, survey, tmp_path):
    rows = [row[1:] for row in read_csv(survey)[1:]]
    cells = [[None if c == "NA" else float(c) if c in "01" else c for c in row] for row in rows]
    expected = circuit.log_likelihood(cells)
    found = answer(run, "score", model, survey)
    np.testing.assert_allclose(found["log_likelihoods"], expected)
    assert found["mean"] == pytest.approx(expected.mean())
    status, out, _ = run("score", model, survey, "-o", tmp_path / "scores.csv")
    assert status == 0
    assert "nats per row" in out
    written = read_csv(tmp_path / "scores.csv")
    np.testing.assert_allclose([float(row[0]) for row in written[1:]], expected)


def test_samples_can_be_read_again(run, model, tmp_path):
    pytest.importorskip("pyarrow")
    for name in ("a.csv", "a.tsv", "a.parquet"):
        assert run("sample", model, "-n", "40", "--seed", "5", "-o", tmp_path / name)[0] == 0
    scores = [answer(run, "score", model, tmp_path / name)["mean"] for name in ("a.csv", "a.tsv", "a.parquet")]
    assert scores[0] == pytest.approx(scores[1])
    assert scores[0] == pytest.approx(scores[2])
    status, out, _ = run("sample", model, "-n", "3", "--json")
    assert status == 0
    assert [set(row) for row in json.loads(out)] == [{"hot_topic", *GUESTS, "overflow"}] * 3
    assert run("sample", model, "-n", "40", "--seed", "5")[1] == (tmp_path / "a.csv").read_text(encoding="utf-8")


def test_imputation_fills_missing_values_and_nothing_else(run, model, survey, tmp_path):
    before = read_csv(survey)
    for method in ("marginal", "mpe", "sample"):
        status, out, _ = run("impute", model, survey, "-o", tmp_path / "filled.csv", "--method", method)
        assert status == 0
        after = read_csv(tmp_path / "filled.csv")
        assert after[0] == before[0]
        missing = 0
        for old, new in zip(before[1:], after[1:], strict=True):
            for name, a, b in zip(before[0], old, new, strict=True):
                missing += a == "NA"
                allowed = {"hot_topic": ("yes", "no"), "overflow": ("true", "false")}.get(name, ("0", "1"))
                assert b in allowed if a == "NA" else a == b
        assert f"{missing} cells filled" in out


def test_predictions_and_how_good_they_are(run, model, survey, circuit, tmp_path):
    status, out, _ = run("classify", model, survey, "--target", "overflow", "-o", tmp_path / "p.csv")
    assert status == 0
    assert "accuracy" in out
    written = read_csv(tmp_path / "p.csv")
    assert written[0] == ["overflow", "P(overflow=false)", "P(overflow=true)"]
    found = answer(run, "classify", model, survey, "--target", "overflow")
    assert found["accuracy"] > 0.9
    truth = [row[-1] for row in read_csv(survey)[1:]]
    agree = [a == b for a, b in zip(found["predicted"], truth, strict=True) if b != "NA"]
    assert np.mean(agree) == pytest.approx(found["accuracy"])
    row = read_csv(survey)[1][1:-1]
    known = [None if c == "NA" else float(c) if c in "01" else c for c in row]
    assert found["probabilities"][0]["true"] == pytest.approx(circuit.marginals([[*known, None]])[0, -1, 1])


def test_a_classifier_of_its_own(run, survey, tmp_path):
    assert run("fit", survey, "-o", tmp_path / "m.json", "--exclude", "name", "--target", "hot_topic")[0] == 0
    circuit = load(tmp_path / "m.json")
    assert circuit.names == (*GUESTS, "overflow", "hot_topic")
    assert circuit.labels[-1] == ("no", "yes")
    assert answer(run, "classify", tmp_path / "m.json", survey, "--target", "hot_topic")["accuracy"] > 0.8
    without = tmp_path / "without.csv"
    rows = read_csv(survey)
    without.write_text("".join(",".join([row[0], *row[2:]]) + "\n" for row in rows), encoding="utf-8")
    assert answer(run, "classify", tmp_path / "m.json", without, "--target", "hot_topic")["known"] == 0


# -- show and test -----------------------------------------------------------------------------------------------------


def test_the_tree_numbers_its_nodes(run, model, circuit):
    status, out, _ = run("show", model, "--tree")
    assert status == 0
    assert f"[{len(circuit.graph) - 1}]" in out
    assert answer(run, "show", model)["nodes"] == len(circuit.graph)
    shallow = run("show", model, "--depth", "1", "--most", "1")[1]
    assert len(shallow.splitlines()) < len(out.splitlines())


def test_a_page_tells_contexts_blocks_and_evidence(run, model, circuit):
    status, page, _ = run("show", model)
    assert status == 0
    assert len(page.splitlines()) <= 40
    full = run("show", model, "--full")[1]
    for name in circuit.names:
        assert name in full
    assert "nats against variables on their own" in full
    assert "of rows (about " in page


def test_programs_get_the_structure(run, model, circuit):
    def names_in(part):
        own = [name for block in part["blocks"] for name in block["variables"]] + list(part["alone"])
        return sorted(own + [name for mixture in part["mixtures"] for name in mixture["variables"]])

    def check(part, names):
        assert names_in(part) == sorted(names)
        for block in part["blocks"]:
            assert block["law"]
            assert circuit.graph.nodes[block["node"]].scope == Scope.of(map(circuit.names.index, block["variables"]))
        for mixture in part["mixtures"]:
            contexts = mixture["contexts"]
            assert sum(context["weight"] for context in contexts) == pytest.approx(1, abs=1e-4)
            for context in contexts:
                check(context, mixture["variables"])

    check(answer(run, "show", model)["structure"], circuit.names)


@pytest.mark.parametrize("trace", [[1], [{"node": 0}], "no", [{"node": "x", "evidence": "", "p_value": "?"}]])
def test_what_is_told_of_decisions_may_be_altered(run, model, trace):
    circuit, notes = load_with_notes(model)
    save(circuit, model, {**notes, "trace": trace})
    status, _, err = run("show", model)
    assert status == 2
    assert err == (
        "xspn: what the model file tells of decisions was altered and cannot be read; "
        "--tree shows the model without it\n"
    )
    assert run("show", model, "--tree")[0] == 0


def test_why_gives_the_evidence(run, model):
    trace = load_with_notes(model)[1]["trace"]
    for entry in trace:
        status, out, _ = run("show", model, "--why", entry["node"])
        assert status == 0
        assert entry["what"] in out
    assert answer(run, "show", model, "--why", trace[0]["node"])["decisions"][0]["rows"] == 300


def test_pictures(run, model, survey, tmp_path):
    pytest.importorskip("matplotlib")
    assert run("show", model, "--png", tmp_path / "a.png", "--map", tmp_path / "b.svg")[0] == 0
    assert run("show", model, "--contexts", tmp_path / "contexts.png")[0] == 0
    assert (tmp_path / "contexts.png").read_bytes().startswith(b"\x89PNG")
    assert run("test", survey, "--exclude", "name", "--png", tmp_path / "c.png")[0] == 0
    assert run("query", model, "--given", "hot_topic=yes", "--plot", tmp_path / "d.pdf")[0] == 0
    assert (
        run("query", model, "--given", "hot_topic=yes", "--ask", "count(attends_*)", "--plot", tmp_path / "e.png")[0]
        == 0
    )
    starts = {"a.png": b"\x89PNG", "b.svg": b"<?xml", "c.png": b"\x89PNG", "d.pdf": b"%PDF", "e.png": b"\x89PNG"}
    for name, start in starts.items():
        assert (tmp_path / name).read_bytes().startswith(start)


def test_which_columns_can_be_interchanged(run, survey):
    found = answer(run, "test", survey, "--exclude", "name")
    assert found["rows"] == 300
    assert found["all_columns"]["p_value"] < 0.01
    assert GUESTS in [group["columns"] for group in found["groups"]]
    status, out, _ = run("test", survey, "--exclude", "name")
    assert status == 0
    assert "can be interchanged" in out


def test_what_speaks_against_all_columns_is_named(run, tmp_path):
    rng = np.random.default_rng(0)
    bits = (rng.random((300, 60)) < 0.3).astype(int)
    bits[:, 7] = rng.random(300) < 0.7
    names = ",".join(f"item {i}" for i in range(60))
    rows = "\n".join(",".join(map(str, own)) for own in bits)
    (tmp_path / "items.csv").write_text(f"{names}\n{rows}\n", encoding="utf-8")
    _, out, _ = run("test", tmp_path / "items.csv")
    assert out.startswith("all 60 columns exchangeable: rejected by: mean of item 7, p = ")
    assert answer(run, "test", tmp_path / "items.csv")["all_columns"]["decided_by"] == "mean of item 7"
    _, out, _ = run("test", tmp_path / "items.csv", "--exclude", "item 7")
    assert out.startswith("all 59 columns exchangeable: not rejected, p = ")
    status, _, _ = run("fit", tmp_path / "items.csv", "-o", tmp_path / "model.json", "--exchangeability", "global")
    assert status == 0
    why = load_with_notes(tmp_path / "model.json")[1]["trace"]
    assert why[0]["evidence"].startswith("global test: mean of item 7, ")


def test_interchangeable_columns_of_any_kind(run, tmp_path):
    rng = np.random.default_rng(0)
    mood = rng.integers(0, 3, size=(400, 1))
    answers = np.where(rng.random((400, 4)) < 0.7, mood, rng.integers(0, 3, size=(400, 4)))
    words = np.array(["bad", "so-so", "good"])[answers]
    rows = [",".join([*own, f"{rng.normal():.3f}"]) for own in words]
    (tmp_path / "moods.csv").write_text("a,b,c,d,height\n" + "\n".join(rows) + "\n", encoding="utf-8")
    found = answer(run, "test", tmp_path / "moods.csv")
    assert [group["columns"] for group in found["groups"]] == [["a", "b", "c", "d"], ["height"]]
    assert found["all_columns"] is None
    alone = answer(run, "test", tmp_path / "moods.csv", "--exclude", "height")
    assert alone["all_columns"]["p_value"] == pytest.approx(alone["groups"][0]["p_value"])


# -- the program -------------------------------------------------------------------------------------------------------


def test_help_imports_nothing_heavy():
    script = (
        "import sys\nfrom xspn.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('numpy', 'scipy', 'sklearn', 'rich', 'matplotlib', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_as_a_pipeline(model, survey):
    """xspn sample | xspn score, as programs of their own."""
    script = "import sys; from xspn.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", script]
    rows = subprocess.run([*command, "sample", model, "-n", "50"], capture_output=True, timeout=120, check=True).stdout
    done = subprocess.run(
        [*command, "score", model, "-", "--json"], input=rows, capture_output=True, timeout=120, check=True
    )
    assert json.loads(done.stdout)["rows"] == 50


# -- nothing lost, nothing made up -------------------------------------------------------------------------------------


def write_csv(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


def strict(text):
    """JSON as the standard has it: neither NaN nor Infinity."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_a_model_is_saved_before_anything_else_can_fail(run, survey, tmp_path, monkeypatch):
    def fail(*args):
        raise MemoryError

    monkeypatch.setattr("xspn.cli.learned.reference_model", fail)
    status, out, err = run("fit", survey, "-o", tmp_path / "new.json", "--exclude", "name")
    assert (status, out, err) == (1, "", "xspn: out of memory\n")
    assert load(tmp_path / "new.json").names == ("hot_topic", *GUESTS, "overflow")


def test_one_fit_reads_learns_and_builds_once(run, survey, tmp_path, monkeypatch):
    counts = Counter()

    def counted(owner, name):
        original = getattr(owner, name)

        def call(*args, **kwargs):
            counts[name] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, call)

    counted(xspn.data, "read_table_file")
    counted(xspn.data.files.TableFile, "read")
    counted(xspn.XSPN, "fit")
    counted(xspn.Circuit, "of_schema")
    assert run("fit", survey, "-o", tmp_path / "m.json", "--exclude", "name")[0] == 0
    # Three circuits: the model, and the two simple ones that it is compared with.
    assert counts == {"read_table_file": 1, "read": 1, "fit": 1, "of_schema": 3}


def test_validation_rows_choose_settings(run, survey, tmp_path):
    """`--valid` is what `X_valid` is in `XSPN.fit`."""
    found = answer(
        run, "fit", survey, "-o", tmp_path / "m.json", "--exclude", "name", "--valid", survey, "--quality", "balanced"
    )
    frame = pd.read_csv(survey).drop(columns="name")
    model = xspn.XSPN(quality="balanced", random_state=0, n_jobs=1).fit(frame, X_valid=frame)
    assert found["log_likelihood"]["this_model"]["held_out"] == pytest.approx(model.valid_score_, abs=1e-12)
    assert found["parameters"] == model.circuit_.summary().parameters


def test_a_class_that_only_held_out_rows_have(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [[int(bit), "rare" if i == 7 else "ab"[i % 2]] for i, bit in enumerate(rng.random(40) < 0.5)]
    table = write_csv(tmp_path / "t.csv", ["x", "class"], rows)
    for seed in range(20):
        held_out = np.sort(np.random.default_rng(seed).permutation(40)[:20])
        if 7 in held_out:
            break
    arguments = ("fit", table, "-o", tmp_path / "m.json", "--target", "class", "--valid", "0.5", "--seed", seed)
    status, out, _ = run(*arguments)
    assert status == 0
    assert "−inf" in out
    assert "held-out rows of classes that no training row has: rare" in out
    status, out, _ = run(*arguments, "--json")
    found = strict(out)
    assert found["log_likelihood"]["this_model"]["held_out"] == "-inf"
    assert found["new_classes"] == ["rare"]
    assert strict((tmp_path / "m.json").read_text(encoding="utf-8"))["notes"]["learned"]["new_classes"] == ["rare"]


def test_impossible_rows_are_written_as_json(run, tmp_path):
    save(Circuit(Categorical(0, [1.0, 0.0]), names=["a"]), tmp_path / "m.json")
    table = write_csv(tmp_path / "t.csv", ["a"], [[0], [1]])
    assert run("score", tmp_path / "m.json", table, "-o", tmp_path / "s.json")[0] == 0
    assert strict((tmp_path / "s.json").read_text()) == [{"log_likelihood": 0.0}, {"log_likelihood": "-inf"}]
    assert strict(run("score", tmp_path / "m.json", table, "--json")[1])["log_likelihoods"] == [0.0, "-inf"]


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["score", "m.json", "t.csv"], "log_likelihoods"),
        (["classify", "m.json", "t.csv", "--target", "a"], "predicted"),
        (["impute", "m.json", "t.csv"], None),
        (["sample", "m.json", "-n", "2"], None),
    ],
)
def test_json_stands_alone_on_standard_output(run, tmp_path, monkeypatch, arguments, key):
    """One JSON value, whether the rows go there by default, by name, or to a file."""
    monkeypatch.chdir(tmp_path)
    save(Circuit(Categorical(0, [0.25, 0.75]), names=["a"]), tmp_path / "m.json")
    write_csv(tmp_path / "t.csv", ["a"], [[0], ["NA"]])
    status, by_default, _ = run(*arguments, "--json")
    assert status == 0
    status, by_name, _ = run(*arguments, "-o", "-", "--json")
    assert (status, strict(by_name)) == (0, strict(by_default))
    assert key is None or len(strict(by_name)[key]) == 2
    status, to_file, _ = run(*arguments, "-o", "out.csv", "--json")
    assert status == 0
    assert not to_file or isinstance(strict(to_file), dict)
    assert (tmp_path / "out.csv").read_text().count("\n") == 3


def test_imputed_json_has_the_types_of_the_data(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        [2**60 + i, f"{rng.normal():.2f}", "xy"[i % 2], i % 3, f"00{i % 2}", "" if i % 5 == 0 else i % 2]
        for i in range(40)
    ]
    header = ["big", "real", "word", "step", "code", "bit"]
    table = write_csv(tmp_path / "t.csv", header, rows)
    assert run("fit", table, "-o", tmp_path / "m.json")[0] == 0
    found = strict(run("impute", tmp_path / "m.json", table, "--json")[1])
    assert [type(found[1][name]) for name in header] == [int, float, str, int, str, int]
    assert [row["big"] for row in found] == [row[0] for row in rows]
    assert [row["real"] for row in found] == [float(row[1]) for row in rows]
    assert {row["bit"] for row in found} == {0, 1}
    pytest.importorskip("pyarrow")
    assert run("impute", tmp_path / "m.json", table, "-o", tmp_path / "i.parquet")[0] == 0


# -- names of others ---------------------------------------------------------------------------------------------------

ODD_NAMES = ["\x1b[31mred", "bell\x07", "turned\u202e", "[bold]markup[/]", "c1\x9b", r"US$ (C:\new)"]


def test_names_do_not_steer_the_terminal(run, tmp_path):
    rng = np.random.default_rng(0)
    hot = rng.random((200, 1)) < 0.5
    bits = (rng.random((200, len(ODD_NAMES))) < np.where(hot, 0.8, 0.2)).astype(int)
    words = np.where(bits[:, :1] == 1, "yes\x1b[2J", "no")
    header = [*ODD_NAMES, "word"]
    table = write_csv(tmp_path / "t.csv", header, np.hstack([bits, words]).tolist())
    model = tmp_path / "m.json"
    printed = [
        run("fit", table, "-o", model),
        run("show", model),
        run("show", model, "--full"),
        run("show", model, "--tree"),
        run("show", model, "--why", load(model).summary().nodes - 1),
        run("query", model),
        run("query", model, "--ask", ODD_NAMES[0], "word", f"count({ODD_NAMES[0]})"),
        run("query", model, "--best"),
        run("test", table),
    ]
    for status, out, err in printed:
        assert status == 0
        assert not set(out + err) & set("\x1b\x07\x9b\u202e")
    everything = "".join(out for _, out, _ in printed)
    for said in (r"\x1b[31mred", r"bell\x07", r"turned\u202e", "[bold]markup[/]", r"yes\x1b[2J"):
        assert said in everything
    assert set(answer(run, "query", model)["answers"][0]) >= {"ask"}
    assert [own["ask"] for own in answer(run, "query", model)["answers"]] == header, "programs get the names"


def test_formulas_are_data_unless_said_otherwise(run, tmp_path):
    table = write_csv(tmp_path / "t.csv", ["=name", "n"], [["=cmd()", "-1.5"], ["@x", "2"], ["plain", "+3"]] * 9)
    assert run("fit", table, "-o", tmp_path / "m.json")[0] == 0
    assert run("impute", tmp_path / "m.json", table)[1].splitlines()[:2] == ["=name,n", "=cmd(),-1.5"]
    escaped = run("impute", tmp_path / "m.json", table, "--escape-formulas")[1].splitlines()
    assert escaped[:4] == ["'=name,n", "'=cmd(),-1.5", "'@x,2", "plain,+3"]


def test_whole_numbers_beyond_floats_are_labels_of_their_own(run, tmp_path):
    table = write_csv(tmp_path / "t.csv", ["id", "b"], [[2**62 + i % 3, i % 2] for i in range(60)])
    model = tmp_path / "m.json"
    assert run("fit", table, "--domains", "id=categorical", "-o", model)[0] == 0
    (found,) = answer(run, "query", model, "--ask", "id")["answers"]
    assert [own["value"] for own in found["values"]] == [2**62, 2**62 + 1, 2**62 + 2]
    assert run("score", model, table)[0] == 0
    assert run("query", model, "--given", f"id={2**62 + 1}", "--ask", "b")[0] == 0
    assert "unknown value" in run("query", model, "--given", f"id={2**62 + 7}", "--ask", "b")[2]
