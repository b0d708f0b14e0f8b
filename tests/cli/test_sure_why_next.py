"""`xspn query --interval`, `--why` and `--next`: the numbers of the library, for people and programs."""

import json

import pytest

from xspn import Bernoulli, Circuit, Product, Sum, save


@pytest.fixture
def weather(tmp_path):
    """A model whose two contexts are wet and dry, with 50 rows behind it, and where it is stored."""
    parts = [Product([Bernoulli(v, p=p) for v, p in enumerate(own)]) for own in ((0.9, 0.6, 0.7), (0.1, 0.2, 0.3))]
    circuit = Circuit(Sum([0.4, 0.6], parts), names=["rain", "umbrella", "wind"])
    counted = circuit.with_counts(circuit.sample(50, random_state=0))
    save(counted, tmp_path / "weather.json")
    return counted, tmp_path / "weather.json"


def asked(run, *arguments):
    status, out, err = run("query", *arguments, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def test_intervals(run, weather):
    circuit, path = weather
    expected = circuit.probability("rain=1", given="wind=1", interval=0.8)
    found = asked(run, path, "--given", "wind=1", "--ask", "rain=1", "count(rain, umbrella)", "--interval", "0.8")
    event, count = found["answers"]
    assert event["low"] == pytest.approx(expected.low, rel=1e-4)
    assert event["high"] == pytest.approx(expected.high, rel=1e-4)
    ends = zip(count["low"], count["probabilities"], count["high"], strict=True)
    assert all(low < p < high for low, p, high in ends)
    _, out, _ = run("query", path, "--given", "wind=1", "--interval", "0.8")
    assert f"{expected.probability:.4f} [{event['low']:.4f}, {event['high']:.4f}]" in out
    status, _, err = run("query", path, "--interval", "80")
    assert status == 2
    assert "between 0 and 1" in err


def test_a_model_without_counts_says_what_to_do(run, weather, tmp_path):
    save(Circuit(weather[0].root), tmp_path / "bare.json")
    status, _, err = run("query", tmp_path / "bare.json", "--ask", "X0=1", "--interval", "0.9")
    assert status == 2
    assert "with_counts" in err


def test_why(run, weather):
    circuit, path = weather
    expected = circuit.contributions("rain=1", ["wind=1", "umbrella=0"])
    (found,) = asked(run, path, "--given", "wind=1", "umbrella=0", "--ask", "rain=1", "--why")["why"]
    assert [own["item"] for own in found["items"]] == [own.item for own in expected.items]
    assert sum(own["log_odds"] for own in found["items"]) == pytest.approx(found["posterior"] - found["prior"])
    assert [own["after"] for own in found["contexts"]] == pytest.approx([own.after for own in expected.contexts])
    status, out, _ = run("query", path, "--given", "wind=1", "umbrella=0", "--ask", "rain=1", "--why")
    assert status == 0
    assert out.splitlines() == str(expected).splitlines()
    status, _, err = run("query", path, "--ask", "rain=1", "--why")
    assert status == 2
    assert "--given" in err


def test_next(run, weather):
    circuit, path = weather
    expected = circuit.next_questions("rain", given="wind=1")
    (found,) = asked(run, path, "--given", "wind=1", "--ask", "rain", "--next")["next"]
    assert found["columns"] == [{"column": "umbrella", "gain": pytest.approx(expected[0].gain), "error": 0.0}]
    assert found["entropy"] == pytest.approx(expected.entropy)
    (everything,) = asked(run, path, "--next")["next"]
    assert len(everything["columns"]) == 3
    status, out, _ = run("query", path, "--next", "--top", "1")
    assert status == 0
    assert len(out.splitlines()) == 3
