"""The page as a person uses it: by mouse and by keyboard, with names and facts of any kind."""

import numpy as np
import pandas as pd
import pytest

from xspn import XSPN, Bernoulli, Categorical, Circuit, Exchangeable, Gaussian, Product, Sum
from xspn.leaves import Atom, Transformed
from xspn.leaves.scales import Scale

GUESTS = [f"guest {i}" for i in range(4)]
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'&",
    "<img src=x onerror=alert(2)>",
    "{{model}}",
    "~tilde",
    "a=b&c#d",
    "__proto__",
]


def party():
    """Guests who come together if the topic is hot; colors, and a temperature."""

    def context(p, mean, colors):
        guests = Exchangeable.from_class_probabilities([0, 1, 2, 3], p)
        return [guests, Categorical(5, colors), Gaussian(6, mean, 1.0)]

    hot = Product([Bernoulli(4, p=1.0), *context([0.0, 0.1, 0.2, 0.3, 0.4], 20.0, [0.7, 0.2, 0.1])])
    cold = Product([Bernoulli(4, p=0.0), *context([0.5, 0.3, 0.1, 0.1, 0.0], 10.0, [0.1, 0.2, 0.7])])
    names = [*GUESTS, "hot topic", "color", "degrees"]
    labels = {**dict.fromkeys([*GUESTS, "hot topic"], ("no", "yes")), "color": ["red", "green", "blue"]}
    return Circuit(Sum([0.4, 0.6], [hot, cold]), names=names, labels=labels)


@pytest.fixture
def shown(open_page, tmp_path):
    return open_page(party().explore(tmp_path / "party.html", title="A party"))


def test_a_click_sets_and_another_clears(shown):
    row = shown.row("hot topic")
    assert row.locator(".fraction").inner_text() == "40 %"
    row.get_by_role("button", name="yes").click()
    shown.settle()
    assert shown.facts() == ["hot topic = yes"]
    expected = party().marginals({"hot topic": "yes"})[0, 0, 1]
    assert shown.row("guest 0").locator(".fraction").inner_text() == f"{expected:.0%}".replace("%", " %")
    assert shown.page.locator(".chance").inner_text().startswith("Probability 40 %")
    row.get_by_role("button", name="yes").click()
    shown.settle()
    assert shown.facts() == []


def test_categories_and_numbers_are_set_by_bars_sliders_and_fields(shown):
    shown.row("color").locator(".line", has_text="blue").click()
    shown.settle()
    shown.row("degrees").locator("input[type=number]").fill("10.5")
    shown.row("degrees").locator("input[type=number]").press("Enter")
    shown.settle()
    assert sorted(shown.facts()) == ["color = blue", "degrees = 10.5"]
    shown.row("degrees").locator("input[type=range]").focus()
    shown.page.keyboard.press("ArrowRight")
    shown.settle()
    assert float(shown.row("degrees").locator("input[type=number]").input_value()) > 10.5
    shown.row("degrees").get_by_role("button", name="Clear").click()
    shown.settle()
    assert shown.facts() == ["color = blue"]


def test_the_keyboard_is_enough(shown):
    page = shown.page
    page.keyboard.press("/")
    page.keyboard.type("guest")
    assert page.locator(".row:visible").count() == 4
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("y")
    shown.settle()
    assert shown.facts() == ["guest 1 = yes"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("0")
    shown.settle()
    assert sorted(shown.facts()) == ["guest 1 = yes", "guest 2 = no"]
    page.keyboard.press("Delete")
    shown.settle()
    assert shown.facts() == ["guest 1 = yes"]
    page.keyboard.press("u")
    page.wait_for_function("() => explorer.state.facts.size === 2")
    shown.settle()
    assert sorted(shown.facts()) == ["guest 1 = yes", "guest 2 = no"]
    page.keyboard.press("c")
    shown.settle()
    assert shown.facts() == []
    page.keyboard.press("Enter")  # the likelier value of the row that has the focus
    shown.settle()
    assert len(shown.facts()) == 1


def test_impossible_facts_are_said_and_can_be_undone(shown):
    for name, value in (("guest 0", "no"), ("guest 1", "no"), ("guest 2", "no"), ("guest 3", "no")):
        shown.row(name).get_by_role("button", name=value).click()
        shown.settle()
    shown.row("hot topic").get_by_role("button", name="yes").click()
    shown.settle()
    assert "cannot all be true" in shown.page.locator(".chance").inner_text()
    fixes = shown.page.locator(".fix").all_inner_texts()
    assert "hot topic = yes" in fixes
    shown.page.locator(".fix", has_text="hot topic").click()
    shown.settle()
    assert "cannot all be true" not in shown.page.locator(".chance").inner_text()
    assert len(shown.facts()) == 4


def test_the_address_holds_the_scenario(shown, open_page, tmp_path):
    shown.row("guest 2").get_by_role("button", name="no").click()
    shown.row("color").locator(".line", has_text="green").click()
    shown.settle()
    address = shown.page.evaluate("location.hash")
    again = open_page(tmp_path / "party.html", address)
    assert sorted(again.facts()) == ["color = green", "guest 2 = no"]
    other = open_page(tmp_path / "party.html", "#guest+0=yes&nobody=1&color=mauve")
    assert other.facts() == ["guest 0 = yes"]
    assert "nobody = 1" in other.page.locator(".notice").inner_text()


def test_blocks_show_how_many_and_are_set_together(shown):
    shown.page.get_by_role("tab", name="Contexts").click()
    block = shown.page.locator(".block:visible").first
    block.locator(".histogram").wait_for()
    counts = party().count_distribution(GUESTS)
    assert f"about {counts @ np.arange(5):.1f} of 4".replace(".0", "") in block.inner_text()
    block.get_by_role("button", name="Set all to yes").click()
    shown.settle()
    assert len(shown.facts()) == 4


def test_questions_rows_and_comparison(shown):
    page = shown.page
    shown.row("guest 0").get_by_role("button", name="yes").click()
    shown.settle()
    page.get_by_role("tab", name="Ask").click()
    page.get_by_label("About which variable?").select_option(label="hot topic")
    page.locator(".told").first.wait_for()
    assert "degrees" in page.locator(".told .link").all_inner_texts()[0]
    assert "guest 0 = yes" in page.locator(".told .link").all_inner_texts()
    page.get_by_role("tab", name="Rows").click()
    page.locator(".rows-panel table").wait_for()
    page.get_by_role("button", name="Pin", exact=True).click()
    shown.row("guest 1").get_by_role("button", name="no").click()
    shown.settle()
    page.get_by_role("tab", name="Compare").click()
    assert page.locator(".compare tbody tr").count() == 7
    page.get_by_role("button", name="Swap").click()
    shown.settle()
    assert shown.facts() == ["guest 0 = yes"]
    page.get_by_role("button", name="Unpin").click()


def test_the_same_question_elsewhere(shown, tmp_path):
    from contextlib import redirect_stdout
    from io import StringIO

    from xspn import save

    shown.row("guest 0").get_by_role("button", name="yes").click()
    shown.row("degrees").locator("input[type=number]").fill("12")
    shown.row("degrees").locator("input[type=number]").press("Enter")
    shown.settle()
    shown.page.get_by_role("button", name="Share").click()
    command = shown.page.get_by_label("Command line", exact=True).input_value()
    assert command == "xspn query model.json --given 'guest 0=yes' degrees=12"
    save(party(), tmp_path / "model.json")
    code = shown.page.get_by_label("Python", exact=True).input_value()
    said = StringIO()
    with redirect_stdout(said):
        exec(code.replace('"model.json"', repr(str(tmp_path / "model.json"))), {})
    assert said.getvalue().strip() == str(party().marginals({"guest 0": "yes", "degrees": 12}))
    with shown.page.expect_download() as saved:
        shown.page.get_by_role("button", name="Save CSV").click()
    assert "hot topic,yes," in saved.value.path().read_text()
    for kind in ("SVG", "PNG"):
        with shown.page.expect_download() as saved:
            shown.page.get_by_role("button", name=f"Save {kind}").click()
        assert saved.value.path().stat().st_size > 500


def test_rows_of_a_table_the_least_usual_first(open_page, tmp_path):
    model = party()
    rows = model.sample(60, random_state=0)
    rows[7] = [1, 1, 1, 1, 1, 2, 30.0]  # far too warm
    shown = open_page(model.explore(tmp_path / "page.html", data=rows))
    shown.page.get_by_role("tab", name="Rows").click()
    shown.page.locator(".where", has_text="Row 8:").wait_for()
    assert "degrees = 30" in shown.page.locator(".table-rows .told").first.inner_text()
    shown.page.get_by_role("button", name="Next").click()
    second = int(np.argsort(model.log_likelihood(rows), kind="stable")[1]) + 1
    shown.page.locator(".where", has_text=f"Row {second}:").wait_for()
    shown.page.get_by_role("button", name="Take this row as what is known").click()
    shown.settle()
    assert len(shown.facts()) == 7


def test_names_are_text_whatever_they_are(open_page, tmp_path):
    leaves = [
        Exchangeable.from_class_probabilities(range(len(HOSTILE)), np.full(len(HOSTILE) + 1, 1 / (len(HOSTILE) + 1)))
    ]
    labels = dict.fromkeys(range(len(HOSTILE)), ("</script><b>no</b>", "yes & 'so'"))
    model = Circuit(Product([*leaves, Bernoulli(len(HOSTILE), p=0.5)]), names=[*HOSTILE, "plain"], labels=labels)
    shown = open_page(model.explore(tmp_path / "page.html", title="<b>&lt;title</b>"))
    assert shown.page.locator(".row .name").all_inner_texts() == [*HOSTILE, "plain"]
    assert shown.page.title() == "<b>&lt;title</b>"
    for place in range(len(HOSTILE)):
        shown.page.locator(".row").nth(place).get_by_role("button", name="yes & 'so'").click()
        shown.settle()
    expected = {f"{name} = yes & 'so'" for name in HOSTILE}
    assert set(shown.facts()) == expected
    again = open_page(tmp_path / "page.html", shown.page.evaluate("location.hash"))
    assert set(again.facts()) == expected
    for own in (shown, again):
        assert own.page.locator("#app script, #app img, #app b:has-text('title')").count() == 0


def test_it_fits_on_a_phone_and_in_the_dark(open_page, tmp_path):
    path = party().explore(tmp_path / "page.html")
    shown = open_page(path, viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = shown.page
    for tab in ("Contexts", "Ask", "Rows", "Compare", "Variables"):
        page.get_by_role("tab", name=tab).click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown.row("guest 3").get_by_role("button", name="yes").click()
    shown.settle()
    assert shown.facts() == ["guest 3 = yes"]


def test_a_model_that_was_learned(open_page, tmp_path):
    rows = party().sample(300, random_state=1)[:, :5]
    model = XSPN(random_state=0).fit(rows)
    shown = open_page(model.explore(tmp_path / "page.html", data=rows))
    found = shown.ask("infer", [[0, 1]], [])
    np.testing.assert_allclose(found["p"], model.circuit_.marginals({0: 1})[0].ravel(), atol=1e-9)


def test_a_slider_finds_the_value_that_has_a_probability(open_page, tmp_path):
    others = Transformed(Gaussian(0, 1.0, 0.5), [Scale("log", step=0.01)])
    model = Circuit(Sum([0.7, 0.3], [Atom(0, 0.0, 0.01), others]), names=["spent"])
    shown = open_page(model.explore(tmp_path / "page.html"))
    assert "0 in 70 %, else about 2.72" in shown.row("spent").inner_text()
    shown.row("spent").locator("input[type=range]").focus()
    for key in ("End", "Home", "ArrowRight"):  # the last is nearer to 0 than anyone can tell on a slider
        shown.page.keyboard.press(key)
        shown.settle()
    assert shown.facts() == ["spent = 0"]
    assert "cannot" not in shown.page.locator(".chance").inner_text()


def test_a_table_of_mixed_columns_that_was_learned(open_page, tmp_path):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 400)
    columns = {
        "group": np.array(["a", "b"])[group],
        "income": np.round(np.exp(3 + group + 0.6 * rng.normal(size=400)), 1),
        "gift": np.where(rng.random(400) < 0.7 - 0.3 * group, 0.0, np.round(np.exp(rng.normal(size=400) + group), 2)),
        "share": np.round(rng.beta(0.6 + group, 0.6, 400), 3),
        "years": np.round(rng.normal(40 + 9 * group, 12, 400)).astype(int),
    }
    table = pd.DataFrame(columns)
    model = XSPN(random_state=0).fit(table)
    circuit = model.circuit_
    assert {"atom", "transformed"} <= {leaf.family for leaf in circuit.graph.leaves}
    shown = open_page(model.explore(tmp_path / "page.html", data=table))
    for facts in ({}, {1: 55.0}, {2: 0.0, 4: 61.0}, {1: 12.5, 3: 0.25}):
        row = np.full((1, 5), np.nan)
        row[0, list(facts)] = list(facts.values())
        found = shown.ask("infer", [list(fact) for fact in facts.items()], [])
        assert found["log"] == pytest.approx(float(circuit.log_likelihood(row)[0]), abs=1e-9)
        means = circuit.means(row)[0]
        for curve in found["curves"]:
            assert curve["mean"] == pytest.approx(means[curve["column"]], rel=1e-9)
    shown.row("gift").locator("input[type=number]").fill("0")
    shown.row("gift").locator("input[type=number]").press("Enter")
    shown.settle()
    assert shown.facts() == ["gift = 0"]
    shown.page.get_by_role("tab", name="Rows").click()
    shown.page.locator(".rows-panel table").wait_for()
