"""The page as a file: self-contained, strict, refused by name where it cannot be made; and models in notebooks."""

import re
from pathlib import Path

import numpy as np
import pytest

import xspn.web
from xspn import XSPN, Bernoulli, ChowLiu, Circuit, Exchangeable, Gaussian, Product, Sum
from xspn.cli import main
from xspn.core.errors import QueryError
from xspn.data.domain import Domain
from xspn.leaves.base import leaves as families
from xspn.statistics import Blocks, ValueCounts
from xspn.web import payload
from xspn.web.page import inlined

STATIC = Path(xspn.web.__file__).parent / "static"
DECLARED = re.compile(r"^(?:export )?(?:async )?(?:const|let|function|class) (\w+)", re.MULTILINE)


def small():
    leaf = Exchangeable([0, 1], log_weights=np.log([0.2, 0.25, 0.3]))
    return Circuit(Product([leaf, Bernoulli(2, p=0.4)]), names=["ann", "<b>", "rain"])


def test_nothing_is_loaded_and_only_its_own_scripts_run(tmp_path):
    text = small().explore(tmp_path / "page.html").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert re.findall(r"(?:src|href)=", text.split("<script")[0]) == []
    addresses = set(re.findall(r"https?://[\w./-]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a name, which nobody asks


@pytest.mark.parametrize("entry", ["page/app.js", "engine/worker.js"])
def test_modules_become_one_script(entry):
    script = inlined(entry)
    names = DECLARED.findall(script)
    assert len(names) == len(set(names))
    assert not re.search(r"^\s*(import|export) ", script, re.MULTILINE)
    assert "</script" not in script


def test_every_module_is_used():
    files = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.js")}
    used = inlined("page/app.js") + inlined("engine/worker.js")
    for name in files:
        assert DECLARED.search((STATIC / name).read_text(encoding="utf-8"))[1] in used, name


@pytest.mark.parametrize("family", sorted(families))
def test_every_family_has_a_form(family):
    for seed in range(5):
        leaf = families[family].example(np.random.default_rng(seed))
        form = leaf.web_form()
        assert np.asarray(form.reals).dtype == np.float64
        assert f'case "{form.kind}"' in inlined("engine/worker.js") or form.kind == "table"


def test_what_a_page_cannot_hold_is_refused_by_name(tmp_path, monkeypatch):
    with monkeypatch.context() as without:
        without.delattr(ChowLiu, "web_form")
        with pytest.raises(QueryError, match=r"ChowLiu over .* 8192 assignments.*web_form"):
            Circuit(ChowLiu.from_pair_counts(range(13), np.eye(13), 2.0, 1.0)).explore(tmp_path / "page.html")
    statistic = Blocks([range(12), range(12, 24)], [ValueCounts(4), ValueCounts(4)])
    leaf = Exchangeable.uniform(range(24), statistic)
    with pytest.raises(QueryError, match=r"Exchangeable over .*207025 classes"):
        Circuit(leaf).explore(tmp_path / "page.html")
    monkeypatch.setattr(payload, "MOST_EDGES", 1)
    with pytest.raises(QueryError, match=r"2 edges \(3 parameters\), more than the 1 edges .* max_parameters"):
        small().explore(tmp_path / "page.html")
    monkeypatch.setattr(payload, "MOST_EDGES", 10)
    monkeypatch.setattr(payload, "MOST_CELLS", 5)
    with pytest.raises(QueryError, match="6 cells, more than the 5"):
        small().explore(tmp_path / "page.html", data=np.zeros((2, 3)))
    assert list(tmp_path.iterdir()) == []


def test_only_as_many_contexts_are_told_as_a_person_would_open(tmp_path, monkeypatch):
    def mixture(variables, depth):
        if depth == 0 or len(variables) < 4:
            return Product([Bernoulli(v, p=0.5) for v in variables])
        half = len(variables) // 2
        parts = [[mixture(own, depth - 1) for own in (variables[:half], variables[half:])] for _ in range(3)]
        return Sum([0.5, 0.3, 0.2], [Product(own) for own in parts])

    circuit = Circuit(mixture(list(range(16)), 3))
    for room, expected in ((400, 3 + 3 * 2 * 3 + 3 * 2 * 3 * 2 * 3), (22, 3 + 3 * 2 * 3), (2, 0)):
        monkeypatch.setattr(payload, "MOST_CONTEXTS_IN_ALL", room)
        waiting, found = [payload.model_payload(circuit.graph, circuit.schema)["structure"]], 0
        while waiting:
            own = waiting.pop()
            assert own["total"] == 3
            found += len(own["contexts"])
            waiting += [below for context in own["contexts"] for below in context["mixtures"]]
        assert found == expected


def test_a_real_leaf_without_a_form_is_refused_by_name():
    class Own(Gaussian):
        only_domain = Domain.real()
        web_form = Gaussian.__mro__[2].web_form

    with pytest.raises(QueryError, match=r"Own over .* real variables"):
        Own(0, 0.0, 1.0).web_form()


def test_the_command_writes_the_page(tmp_path, capsys, monkeypatch):
    from xspn import save

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail("opened"))
    save(small(), tmp_path / "model.json")
    (tmp_path / "rows.csv").write_text("ann,<b>,rain\n1,0,1\n0,,1\n")
    assert main(["explore", "model.json", "--data", "rows.csv", "--no-open"]) == 0
    assert capsys.readouterr().out.startswith("wrote model.html, 0.")
    assert "&lt;" not in (tmp_path / "model.html").read_text().split("<style>")[0]
    assert main(["explore", "model.json", "-o", "model.json", "--no-open"]) == 2
    assert main(["explore", "model.json", "-o", "none/page.html", "--no-open"]) == 2
    assert main(["explore", "model.json", "-o", "-", "--no-open"]) == 2
    assert main(["explore", "model.json", "-o", "page.txt", "--no-open"]) == 2
    assert not (tmp_path / "page.txt").exists()


def test_the_command_opens_the_page_where_there_is_a_screen(tmp_path, monkeypatch):
    from xspn import save

    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    save(small(), tmp_path / "model.json")
    for screen in ("", ":0"):
        monkeypatch.setattr("sys.platform", "linux")
        monkeypatch.setenv("DISPLAY", screen)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        assert main(["explore", str(tmp_path / "model.json"), "-o", str(tmp_path / "page.html")]) == 0
    assert opened == [(tmp_path / "page.html").resolve().as_uri()]


def test_notebooks_show_names_as_text():
    html = small()._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>&" not in html
    assert "1 40%" in html
    model = XSPN()
    assert "Circuit" not in model._repr_mimebundle_()["text/html"].split("<style>")[0]
    model.fit(np.random.default_rng(0).integers(0, 2, (50, 3)))
    assert model.circuit_._repr_html_() in model._repr_mimebundle_()["text/html"]


def test_notebooks_show_what_questions_are_answered_with():
    circuit = Circuit(
        Product([small().root, Gaussian(3, 12.5, 2.0)]),
        names=["ann", "<b>", "rain", "warm"],
        labels={"ann": ["<i>no</i>", "yes"]},
    )
    answers = circuit.probability(["<b>=1", "rain=1"], given="ann=yes")
    html = answers._repr_html_()
    assert isinstance(answers, list)
    assert "&lt;b&gt;=1" in html
    assert "0.5455" in html  # P(b | ann)
    assert "given ann=yes" in html
    assert "0.4</td>" in circuit.probability("rain=1")._repr_html_()
    assert "given" not in circuit.probability("rain=1")._repr_html_()
    best = circuit.mpe({"rain": 1})._repr_html_()
    assert "12.5" in best
    assert "log-density" in best
    assert "mean 12.5" in circuit._repr_html_()
    assert "&lt;i&gt;no&lt;/i&gt;" in best or "yes" in best
    moments = circuit.moments()._repr_html_()
    assert "12.5</td>" in moments
    for own in (html, best, moments):
        assert "<b>=" not in own
        assert "<i>" not in own
        assert "nan" not in own
    many = Circuit(Product([Bernoulli(v, p=0.5) for v in range(30)]))
    assert "and 10 more answers" in many.probability()._repr_html_()
    assert "and 10 more variables and 2 more rows" in many.mpe(np.full((8, 30), np.nan))._repr_html_()
    assert "and 10 more variables" in many.moments()._repr_html_()
    part = many.marginalize([3])
    assert "X3" in part.mpe()._repr_html_()
    assert "X4" not in part.mpe()._repr_html_() + part.moments()._repr_html_()


def test_large_circuits_are_shown_without_asking_them():
    class Refusing(Circuit):
        def marginals(self, evidence=None):
            pytest.fail("asked")

    leaves = [Bernoulli(i, p=0.5) for i in range(60_000)]
    assert "60,000 variables" in Refusing(Sum([1.0], [Product(leaves)]))._repr_html_()


def test_names_of_files_that_are_no_text_are_shown_as_they_can_be(tmp_path):
    place = Circuit(Bernoulli(0, p=0.5)).explore(tmp_path / "page\udcff.html", source="model\udcff.json")
    text = place.read_text(encoding="utf-8")
    assert "<title>page\\udcff</title>" in text
    assert "model\\\\udcff.json" in text  # as JSON has it
