"""Every page's Python and commands, run as printed, give what is printed; the site builds without a warning."""

import html
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.documents import Exchange, clean_environment, dialogue, differences, rewrite, run_here, run_page
from support.notebooks import NOTEBOOKS, read, source_of, stored_text
from xspn.learning.clustering import clusterings

ROOT = Path(__file__).parents[2]
LONG_RUNS = "reproduce.md"  # commands of minutes and hours, without outputs
PAGES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if re.search("^```(python|console)", page.read_text(encoding="utf-8"), re.MULTILINE) and page.name != LONG_RUNS
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_what_a_page_prints_is_what_happens(page, tmp_path, monkeypatch):
    monkeypatch.setattr(clusterings, "_items", dict(clusterings._items))  # a page may add one, for itself
    faults = [fault for exchange in run_here(page, tmp_path) for fault in differences(exchange)]
    assert not faults, "\n".join(faults)


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="needs mkdocs: pip install 'xspn[docs]'")
def test_the_site_builds_without_a_warning(tmp_path):
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=ROOT,
        env={**clean_environment(), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    maths = (site / "maths.html").read_text(encoding="utf-8")
    assert "<math" in maths
    assert "arithmatex" not in maths
    shown = html_text(site / "examples.html")
    for script in sorted((ROOT / "examples").glob("*.py")):
        assert script.read_text(encoding="utf-8").strip() in shown, f"the page of examples does not show {script.name}"
    shown = html_text(site / "notebooks.html")
    for path in NOTEBOOKS:
        for cell in read(path)["cells"]:
            if cell["cell_type"] == "code":
                assert source_of(cell).strip() in shown, f"the page of notebooks does not show all of {path.name}"
                assert stored_text(cell).strip() in shown
    assert (site / "search" / "search_index.js").exists()  # what the search needs in pages from a folder
    assert 'src="../javascripts/iframe-worker.js"' in (site / "guides" / "tables.html").read_text(encoding="utf-8")
    assert faults_of_site(site) == []


def test_workers_answer_in_pages_from_a_folder(browser, tmp_path):
    shim = (ROOT / "docs" / "javascripts" / "iframe-worker.js").as_uri()
    (tmp_path / "worker.js").write_text("addEventListener('message', (own) => postMessage(own.data + 1));")
    asked = (
        "const it = new Worker('worker.js'); it.addEventListener('message', (own) => { document.title = own.data; });"
    )
    body = f"<body><script src='{shim}'></script><script>{asked} it.postMessage(41);</script></body>"
    (tmp_path / "page.html").write_text(f"<!doctype html><html><head><title>waits</title></head>{body}</html>")
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_function("() => document.title !== 'waits'", timeout=10_000)
    assert page.title() == "42"
    page.close()


def html_text(page):
    """The text of a page as a reader sees it."""
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


def faults_of_site(site):
    """Links and pictures that lead nowhere, and what would be fetched from elsewhere to show a page."""
    faults = []
    for page in site.rglob("*.html"):
        for kind, target in re.findall(r'\s(href|src)="([^"]+)"', page.read_text(encoding="utf-8")):
            if target.startswith(("http:", "https:")):
                faults += [f"{page.name} fetches {target}"] if kind == "src" else []
            elif not target.startswith(("#", "data:", "mailto:", "javascript:")) and page.name != "404.html":
                path = page.parent / target.split("#")[0].split("?")[0]
                faults += [] if path.exists() else [f"{page.name} links to {target}"]
    return faults


LIE = "```python\nprint(1)\n```\n\n```text\n2\n```\n\n```console\n$ echo hallo \\\n> welt\nhello\n\n$ echo x\n```\n"


def test_a_page_that_lies_is_found_and_can_be_mended(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(LIE)
    faults = [fault for done in run_page(page, tmp_path, clean_environment()) for fault in differences(done)]
    assert [fault.splitlines()[0] for fault in faults] == [
        "page.md:1",
        "page.md: $ echo hallo welt",
        "page.md: $ echo x",
    ]
    rewrite(page)
    assert page.read_text() == LIE.replace("\n2\n", "\n1\n").replace("hello", "hallo welt").replace("x\n", "x\nx\n")


def test_dialogues():
    text = "$ one \\\n> two\nout\n$ three\n"
    assert [(command, text[start:end]) for command, start, end in dialogue(text)] == [
        ("one two", "out\n"),
        ("three", ""),
    ]


@pytest.mark.parametrize(
    ("expected", "printed", "good"),
    [
        ("a … b\nc = 0.5", "a 17 b  \nc = 0.5\n", True),
        ("a … b\nc = 0.5", "a 17 b\nc = 0.9\n", False),
        ("a … b", "a 17 c", False),
        ("p = 0.12", "p = 0.13", True),
        ("p = 0.12", "p = 0.14", False),
        ("7 rows", "8 rows", False),
        ("−1.50", "-1.50", True),
    ],
)
def test_what_counts_as_the_same(expected, printed, good):
    assert (differences(Exchange("x", expected, printed, None)) == []) is good
