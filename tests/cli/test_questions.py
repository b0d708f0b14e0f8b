"""The language of questions on the command line: evidence and questions, lift and odds, the most changed, pictures."""

import json

import numpy as np
import pytest

from cli.conftest import GUESTS
from xspn import Atom, Categorical, Circuit, Gaussian, Product, Sum, Transformed, load, save
from xspn.leaves import Scale


def answers(run, *arguments):
    status, out, err = run(*arguments, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


@pytest.fixture
def circuit(model):
    return load(model)


def test_events_as_evidence_and_as_questions(run, model, circuit):
    given, asked = "count(attends_*) >= 3 & not hot_topic=yes", "overflow=true | count(attends_0, attends_1) = 2"
    found = answers(run, "query", model, "--given", given, "--ask", asked)
    expected = circuit.probability(asked, given=given)
    assert found["evidence"] == given
    assert found["given"] == {}
    assert found["answers"] == [
        {
            "ask": asked,
            "kind": "probability",
            "probability": pytest.approx(expected.probability),
            "prior": pytest.approx(expected.prior),
            "lift": pytest.approx(expected.lift),
            "odds": pytest.approx(expected.odds),
        }
    ]
    status, out, _ = run("query", model, "--given", given, "--ask", asked)
    assert status == 0
    assert f"P({asked}) = {expected.probability:.4f}, lift {expected.lift:.3g}, odds {expected.odds:.3g}" in out
    apart = answers(run, "query", model, "--given", "count(attends_*) >= 3", "not hot_topic=yes", "--ask", asked)
    assert apart["answers"] == found["answers"]


def test_every_column_given_an_event(run, model, circuit):
    found = answers(run, "query", model, "--given", "count(attends_*) >= 5")
    assert [own["ask"] for own in found["answers"]] == ["hot_topic", *GUESTS, "overflow"]
    for own in found["answers"]:
        second = own["values"][1]
        text = f"{own['ask']}={second['value']}"
        assert second["probability"] == pytest.approx(
            circuit.probability(text, given="count(attends_*) >= 5").probability
        )


def test_the_most_changed_come_first(run, model):
    every = answers(run, "query", model, "--given", "overflow=true")["answers"]
    changes = {own["ask"]: abs(own["values"][1]["probability"] - own["values"][1]["prior"]) for own in every}
    top = answers(run, "query", model, "--given", "overflow=true", "--top", "3")["answers"]
    found = [changes[own["ask"]] for own in top]
    assert found == pytest.approx(sorted(changes.values(), reverse=True)[:3])
    status, out, _ = run("query", model, "--given", "overflow=true", "--top", "2")
    assert status == 0
    assert len(out.splitlines()) == 1 + 2
    assert out.splitlines()[0].split() == ["name", "value", "P", "lift", "odds"]
    asked = answers(
        run, "query", model, "--given", "overflow=true", "--ask", "hot_topic=yes", "count(attends_*)", "--top", "1"
    )
    assert len(asked["answers"]) == 1


def test_counts_given_an_event(run, model, circuit):
    [own] = answers(run, "query", model, "--given", "overflow=true | hot_topic=yes", "--ask", "count(attends_*)")[
        "answers"
    ]
    expected = circuit.count_distribution(GUESTS, given="overflow=true | hot_topic=yes")
    np.testing.assert_allclose(own["probabilities"], expected)
    np.testing.assert_allclose(own["prior"], circuit.count_distribution(GUESTS))
    assert own["mean"] == pytest.approx(expected @ np.arange(7))


def test_real_columns(run, tmp_path):
    parts = [
        Product([Gaussian(0, mean=m, std=1.0), Categorical(1, p)]) for m, p in ((0.0, [0.9, 0.1]), (4, [0.2, 0.8]))
    ]
    save(Circuit(Sum([0.5, 0.5], parts), names=["height", "tall"]), tmp_path / "m.json")
    [own] = answers(run, "query", tmp_path / "m.json", "--given", "height in 1..2", "--ask", "tall=1")["answers"]
    from scipy.stats import norm

    masses = [norm(m).cdf(2) - norm(m).cdf(1) for m in (0, 4)]
    assert own["probability"] == pytest.approx((masses[0] * 0.1 + masses[1] * 0.8) / sum(masses))
    [own] = answers(run, "query", tmp_path / "m.json", "--given", "height > 3", "--ask", "height")["answers"]
    assert own["kind"] == "quartiles"
    low, middle, high = own["quartiles"]
    assert 3 < low < middle < high
    [half] = answers(run, "query", tmp_path / "m.json", "--given", "height > 3", "--ask", f"height <= {middle}")[
        "answers"
    ]
    assert half["probability"] == pytest.approx(0.5, abs=1e-6)
    assert run("query", tmp_path / "m.json", "--given", "height > 3")[0] == 0


def test_single_numbers_have_a_probability_or_a_density(run, tmp_path):
    amount = Sum([0.3, 0.7], [Atom(0, 0.0, 0.1), Transformed(Gaussian(0, mean=0.0, std=1.0), [Scale("log")])])
    save(Circuit(Product([amount, Gaussian(1, mean=0.0, std=1.0)]), names=["paid", "height"]), tmp_path / "m.json")
    own = answers(run, "query", tmp_path / "m.json", "--ask", "paid=0", "paid=1", "height=0")["answers"]
    assert [answer["kind"] for answer in own] == ["probability", "density", "density"]
    assert own[0]["probability"] == pytest.approx(0.3)
    assert own[1]["density"] == pytest.approx(0.7 / np.sqrt(2 * np.pi))
    assert own[2]["density"] == pytest.approx(1 / np.sqrt(2 * np.pi))


WRONG = {
    "an event alone in the evidence": (["--given", "count(attends_*)"], "expected count(…) >= NUMBER", 0),
    "a missing end": (["--given", "hot_topic=yes &"], "found the end", 15),
    "an unknown name far inside": (["--ask", "hot_topic=yes | overflw=true"], "did you mean 'overflow'?", 16),
    "a value that is not there": (["--ask", "hot_topic in {yes, perhaps}"], "unknown value 'perhaps'", 19),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_shown_where_they_are(run, model, name):
    arguments, message, place = WRONG[name]
    status, out, err = run("query", model, *arguments)
    assert (status, out) == (2, "")
    line, text, caret = err.splitlines()
    assert line.startswith(f"xspn: {arguments[0]}: ")
    assert message in line
    assert text == f"  {arguments[1]}"
    assert caret == f"  {' ' * place}^"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--given", "hot_topic=yes & count(hot_topic) = 0"], "has probability zero under this model"),
        (["--given", "hot_topic=yes", "hot_topic != yes"], "no value of 'hot_topic' is allowed by all that is given"),
        (["--given", "count(attends_*) >= 3", "--best"], "--best: expected evidence that fixes values"),
        (["--top", "0"], "--top: expected a number of answers of at least 1, found 0"),
    ],
)
def test_what_cannot_be_is_one_line(run, model, arguments, message):
    status, out, err = run("query", model, *arguments)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err


def test_pictures_of_events(run, model, tmp_path):
    given = ["--given", "count(attends_*) >= 3", "not hot_topic=yes"]
    assert run("query", model, *given, "--plot", tmp_path / "a.png")[0] == 0
    assert run("query", model, *given, "--ask", "count(attends_*=no)", "--plot", tmp_path / "b.png")[0] == 0
    assert (
        run(
            "query", model, *given, "--ask", "overflow=true | hot_topic=yes", "hot_topic", "--plot", tmp_path / "c.png"
        )[0]
        == 0
    )
    assert all((tmp_path / f"{name}.png").stat().st_size > 1000 for name in "abc")


def test_samples_take_values_only(run, model):
    assert run("sample", model, "--given", "hot_topic=yes & overflow=true")[0] == 0
    status, _, err = run("sample", model, "--given", "count(attends_*) >= 3")
    assert status == 2
    assert "--given: expected NAME=VALUE alone" in err


def test_help_shows_the_language(run):
    status, out, _ = run("query", "--help")
    assert status == 0
    for said in ("count(attends_*)", "age in 30..40", "--top", "lift", "Köln"):
        assert said in out
