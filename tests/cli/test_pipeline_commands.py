"""What commands do for pipelines: how good predictions are, completion in shells, JSON whose numbers are numbers."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from xspn import XSPNClassifier, save
from xspn.cli.completion import SHELLS, commands
from xspn.cli.main import COMMANDS
from xspn.cli.quality import UNSEEN, quality_of


def test_fit_says_how_good_predictions_of_held_out_rows_are(run, survey, tmp_path):
    model = tmp_path / "m.json"
    arguments = ("fit", survey, "-o", model, "--exclude", "name", "--target", "hot_topic", "--valid", "0.3")
    status, out, _ = run(*arguments)
    assert status == 0
    for text in ("predictions of hot_topic on held-out rows", "accuracy", "log-loss", "calibration", "most frequent"):
        assert text in out
    found = json.loads(run(*arguments, "--json")[1])["classification"]
    assert found["target"] == "hot_topic"
    assert found["on"] == "held-out rows"
    assert found["accuracy"] > found["most_frequent"]
    assert 0 < found["log_loss"] < 0.7
    assert sum(row["rows"] for row in found["calibration"]) == found["known"] <= 90
    mean = sum(row["rows"] * row["right"] for row in found["calibration"]) / found["known"]
    assert mean == pytest.approx(found["accuracy"])


def test_without_held_out_rows_it_says_so(run, survey, tmp_path):
    arguments = ("fit", survey, "-o", tmp_path / "m.json", "--exclude", "name", "--target", "hot_topic")
    assert "predictions of hot_topic on training rows (--valid 0.2 holds rows out)" in run(*arguments)[1]


def test_classify_predicts_what_the_model_was_learned_for(run, survey, tmp_path):
    model = tmp_path / "m.json"
    assert run("fit", survey, "-o", model, "--exclude", "name", "--target", "hot_topic")[0] == 0
    assert run("classify", model, survey)[1] == run("classify", model, survey, "--target", "hot_topic")[1]
    assert run("fit", survey, "-o", model, "--exclude", "name")[0] == 0
    status, _, err = run("classify", model, survey)
    assert status == 2
    assert "--target: the model was not learned for one column" in err


def test_what_is_out_of_place_or_short_gets_a_hint(run, model, tmp_path):
    assert "--ask 'a=yes' asks" in run("query", model, "overflow=yes")[2]
    assert "found 'hot_topic' alone; did you mean hot_topic=yes?" in run("query", model, "--given", "hot_topic")[2]
    (tmp_path / "some.csv").write_text("hot_topic,attends_0\nyes,1\n", encoding="utf-8")
    (tmp_path / "none.csv").write_text("a,b\nyes,1\n", encoding="utf-8")
    assert "--layout" not in run("score", model, tmp_path / "some.csv")[2]
    assert "--layout" in run("score", model, tmp_path / "none.csv")[2]


def test_quality_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    chances = rng.dirichlet([1, 1, 1], size=500)
    answers = rng.integers(0, 3, 500).astype(float)
    answers[:7] = np.nan
    found, known = quality_of(chances, answers), ~np.isnan(answers)
    right = answers[known].astype(int)
    assert found["known"] == 493
    assert found["accuracy"] == pytest.approx((chances[known].argmax(axis=1) == right).mean())
    assert found["log_loss"] == pytest.approx(-np.log(chances[known, right]).mean())
    top = chances[known].max(axis=1)
    for row in found["calibration"]:
        own = (top >= row["from"]) & (top < row["to"])
        assert row["rows"] == own.sum()
        assert row["expected"] == pytest.approx(top[own].mean())
    drawn = np.array([rng.choice(3, p=own) for own in chances]).astype(float)
    assert quality_of(chances, drawn)["calibration_error"] < 0.06 < found["calibration_error"], (
        "as good as said, and not"
    )


def test_an_unseen_class_is_wrong_and_impossible():
    found = quality_of(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0.0, UNSEEN]))
    assert found["accuracy"] == 0.5
    assert found["log_loss"] == np.inf
    assert quality_of(np.ones((2, 1)), np.full(2, np.nan)) == {
        "known": 0, "accuracy": None, "log_loss": None, "calibration_error": None, "calibration": [],
    }  # fmt: skip


def test_numbers_of_columns_that_the_model_lacks_are_numbers(run, model, survey, tmp_path):
    header, *lines = survey.read_text().splitlines()[:4]
    cells = zip(["price", "1.5", "", "3"], ["zip", "01234", "56789", "00001"], strict=True)
    table = tmp_path / "more.csv"
    table.write_text("".join(f"{line},{','.join(own)}\n" for line, own in zip([header, *lines], cells, strict=True)))
    rows = json.loads(run("impute", model, table, "--json")[1])
    assert [row["price"] for row in rows] == [1.5, None, 3.0]
    assert [row["zip"] for row in rows] == ["01234", "56789", "00001"]
    assert all(isinstance(row["attends_0"], int) for row in rows)


@pytest.mark.parametrize("method", ["mean", "marginal"])
def test_means_of_steps_are_steps(run, tmp_path, method):
    rng = np.random.default_rng(0)
    hot = rng.integers(0, 2, 200)
    grades = np.where(hot, rng.choice([0, 9], 200, p=[0.4, 0.6]), rng.integers(0, 3, 200))
    table = tmp_path / "t.csv"
    table.write_text("hot,grade\n" + "".join(f"{h},{g}\n" for h, g in zip(hot, grades, strict=True)))
    assert run("fit", table, "-o", tmp_path / "m.json", "--domains", "grade=ordinal")[0] == 0
    (tmp_path / "q.csv").write_text("hot,grade\n1,\n1,9\n")
    filled = json.loads(run("impute", tmp_path / "m.json", tmp_path / "q.csv", "--json", "--method", method)[1])
    assert filled[0]["grade"] in ((5, 6) if method == "mean" else (9,))


def test_commands_read_files_of_estimators(run, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = (rng.random((100, 3)) < np.where(y, 0.9, 0.1)[:, None]).astype(float)
    save(XSPNClassifier(random_state=0).fit(X, np.array(["no", "yes"])[y]), tmp_path / "m.json")
    (tmp_path / "t.csv").write_text("X0,X1,X2\n1,1,1\n0,0,0\n")
    found = json.loads(run("classify", tmp_path / "m.json", tmp_path / "t.csv", "--target", "X3", "--json")[1])
    assert found["predicted"] == ["yes", "no"]


# -- completion --------------------------------------------------------------------------------------------------------


def test_every_command_and_option_is_in_every_script(run):
    known = list(commands())
    assert [own.name for own in known] == list(COMMANDS)
    for shell in SHELLS:
        script = run("completion", shell)[1]
        for own in known:
            assert own.name in script
            for option in own.options:
                long = [name for name in option.names if name.startswith("--")]
                assert all(name.removeprefix("--") in script for name in long)


def completed(script, *words):
    """What bash offers for the last of some words."""
    listed = " ".join(f"'{word}'" for word in words)
    text = f'source {script}; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _xspn; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "--norc", "-c", text], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_and_values(run, tmp_path):
    script = tmp_path / "xspn.bash"
    script.write_text(run("completion", "bash")[1])
    assert completed(script, "xspn", "imp") == ["impute"]
    assert set(completed(script, "xspn", "")) >= set(COMMANDS)
    assert completed(script, "xspn", "impute", "m.json", "--me") == ["--method"]
    assert completed(script, "xspn", "impute", "--method", "m") == ["marginal", "mean", "mpe"]
    assert completed(script, "xspn", "fit", "t.csv", "--quality", "b") == ["balanced", "best"]
    assert completed(script, "xspn", "completion", "") == list(SHELLS)
    assert completed(script, "xspn", "fit", "some") == [], "files, which bash lists itself"


@pytest.mark.parametrize(("shell", "check"), [("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])])
def test_other_shells_can_read_their_scripts(run, tmp_path, shell, check):
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    (tmp_path / "script").write_text(run("completion", shell)[1])
    subprocess.run([*check, str(tmp_path / "script")], check=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["completion"], "the following arguments are required: shell"),
        (["completion", "bsh"], "did you mean bash?"),
        (["impute", "m.json", "t.csv", "--method", "median"], "invalid choice: 'median'"),
        (["completion", "bash", "zsh"], "unrecognized arguments: zsh"),
    ],
)
def test_wrong_invocations(run, arguments, message):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
