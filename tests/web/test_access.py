"""The page for those who do not see it, or not well: each control has a name, each text stands out, all is reached."""

import numpy as np
import pandas as pd
import pytest

from xspn import XSPN, Bernoulli, Categorical, Circuit, Exchangeable, Gaussian, Product, Sum

CONTROLS = {"button", "textbox", "searchbox", "spinbutton", "slider", "combobox", "tab", "checkbox", "link", "listbox"}
TABS = ("Contexts", "Ask", "Rows", "Compare")
LEAST_CONTRAST, OF_LARGE = 4.5, 3.0  # WCAG 2.1, level AA
FAINT = """() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgba = (color) => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = (top, below) => [0, 1, 2].map((i) => top[3] * top[i] + (1 - top[3]) * below[i]);
    const light = (rgb) => {
        const [r, g, b] = rgb.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (node) => {
        const layers = [];
        for (let own = node; own; own = own.parentElement) layers.push(rgba(getComputedStyle(own).backgroundColor));
        return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
    };
    const found = [];
    for (const node of document.querySelectorAll("#app *, dialog *")) {
        const texts = [...node.childNodes].filter((own) => own.nodeType === 3 && own.textContent.trim());
        const style = getComputedStyle(node);
        if (!texts.length || !node.checkVisibility({ visibilityProperty: true }) || node.matches(":disabled")) continue;
        if (node.tagName === "OPTION") continue;  // drawn by the system
        const behind = ground(node);
        const [a, b] = [light(over(rgba(style.color), behind)), light(behind)];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        found.push([texts[0].textContent.trim(), contrast, isLarge]);
    }
    return found;
}"""


def mixed():
    """Bits in a block, a category of many values and one of few, a bit with labels, a number; in two contexts."""

    def context(rng):
        block = Exchangeable.from_class_probabilities([0, 1, 2], rng.dirichlet(np.ones(4)))
        others = [Categorical(3, rng.dirichlet(np.ones(3))), Categorical(4, rng.dirichlet(np.ones(12)))]
        return Product([block, *others, Bernoulli(5, p=rng.random()), Gaussian(6, rng.normal(), 1.0)])

    rng = np.random.default_rng(0)
    names = ["ann", "bob", "cem", "color", "month", "sex", "weight"]
    labels = {"color": ["red", "green", "blue"], "sex": ["male", "female"]}
    return Circuit(Sum([0.4, 0.6], [context(rng), context(rng)]), names=names, labels=labels)


@pytest.fixture(params=["light", "dark"])
def shown(request, open_page, tmp_path):
    model = mixed()
    path = model.explore(tmp_path / "page.html", data=model.sample(20, random_state=0))
    return open_page(path, viewport={"width": 1280, "height": 900}, color_scheme=request.param)


def states(shown):
    """Go through what the page can show, and say what it is."""
    page = shown.page
    yield "nothing known"
    shown.row("ann").get_by_role("button", name="1").click()
    shown.row("weight").locator("input[type=number]").fill("0.5")
    shown.row("weight").locator("input[type=number]").press("Enter")
    shown.settle()
    page.get_by_role("button", name="Pin", exact=True).click()
    shown.row("color").locator(".line", has_text="blue").click()
    shown.settle()
    for tab in TABS:
        page.get_by_role("tab", name=tab).click()
        if tab == "Ask":
            page.get_by_label("About which variable?").select_option(label="color")
            page.locator(".told").first.wait_for()
        if tab == "Rows":
            page.locator(".rows-panel table").wait_for()
        yield tab
    for name in ("Share", "Help"):
        page.get_by_role("button", name=name).click()
        yield name
        page.keyboard.press("Escape")


def test_every_control_has_a_name(shown):
    session = shown.page.context.new_cdp_session(shown.page)
    for state in states(shown):
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
        found = [
            (own["role"]["value"], own.get("name", {}).get("value", "").strip())
            for own in nodes
            if not own["ignored"] and own["role"]["value"] in CONTROLS | {"tabpanel", "dialog", "main", "heading"}
        ]
        assert sum(role in CONTROLS for role, _ in found) > 0, state
        assert [role for role, name in found if not name and role != "main"] == [], state
        ids = shown.page.evaluate("[...document.querySelectorAll('[id]')].map((own) => own.id)")
        assert len(ids) == len(set(ids))


def test_every_text_stands_out(shown):
    for state in states(shown):
        shown.page.wait_for_timeout(250)  # bars and colors move to their place
        found = shown.page.evaluate(FAINT)
        assert len(found) > 30, state
        faint = [own for own in found if own[1] < (OF_LARGE if own[2] else LEAST_CONTRAST)]
        assert faint == [], state


def test_tab_reaches_one_row_and_then_the_panels(shown):
    page = shown.page
    page.locator("#search").focus()
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.closest('.row, [role=tablist], .panel')?.className ?? ''"))
    assert sum(name.startswith("row") for name in reached) in (2, 3)  # the row, and its two values
    assert any("tabs" in name for name in reached)


def test_a_learned_table_fits_on_a_phone(open_page, tmp_path):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 200)
    answers = ["strongly agree", "agree", "neither agree nor disagree", "disagree", "strongly disagree"]
    table = pd.DataFrame(
        {
            "a very long question that goes on and on, as those of surveys do (tick one box only)": np.array(answers)[
                np.clip(2 * group + rng.integers(0, 3, 200), 0, 4)
            ],
            "withalongnamewithoutanyplacetobreakthelineinto": np.array(["not at all", "very much so"])[group],
            "nonflavanoid_phenols_of_the_diluted_wine": rng.normal(group, 0.5),
        }
    )
    model = XSPN(random_state=0).fit(table)
    path = model.explore(tmp_path / "page.html", data=table)
    shown = open_page(path, viewport={"width": 390, "height": 844})
    shown.page.locator(".line").first.click()
    shown.settle()
    for tab in ("Contexts", "Ask", "Rows", "Compare", "Variables"):
        shown.page.get_by_role("tab", name=tab).click()
        if tab == "Ask":
            shown.page.get_by_label("About which variable?").select_option(index=1)
        wide = """() => [...document.querySelectorAll("#app .row *, #app .panel *, #app .tools *")]
            .filter((own) => own.checkVisibility() && !own.closest(".scroll, svg"))
            .filter((own) => own.getBoundingClientRect().right > innerWidth + 0.5).map((own) => own.className)"""
        assert shown.page.evaluate(wide) == []
    for fraction in shown.page.locator(".row .fraction").all():
        assert fraction.evaluate("own => own.scrollWidth <= own.clientWidth + 1")
