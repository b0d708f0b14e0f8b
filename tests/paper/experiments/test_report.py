"""The report has everything in it, and depends on the results alone."""

import json
import re

import pytest

from xspn.paper.experiments.report import content, write_report

TARGETS = ("table1", "table2", "ablation", "pairwise", "figure1")


@pytest.fixture
def results(made):
    density = [
        made(name, model, score)
        for name, score in (("senate", -19.5), ("conference", -5.91))
        for model in ("SPN", "SPN-CLT", "XSPN-T", "XSPN-TF", "XSPN-default", "SPN-default", "MEVM", "MADE")
    ]
    labelled = [made("parity", model, 0.9, experiment="classification") for model in ("SPN", "XSPN", "SVM")]
    timed = [
        made("nltcs", method, -2.0, experiment="pairwise", settings=[("columns", n)])
        for n in (3, 5)
        for method in ("pairwise", "full", "global")
    ]
    return [*density, *labelled, *timed]


def test_everything_is_in_it(results, tmp_path):
    made_content = content(TARGETS, results, ["house: its files are not here; `xspn datasets fetch house` gets them"])
    written = write_report(tmp_path, made_content, results)
    text, page = written[0].read_text(), written[1].read_text()
    for part in ("Table 1", "Table 2", "Ablation", "Numbers of parameters", "Chosen settings", "Pairwise against full"):
        assert part in text
        assert part in page
    for said in ("house: its files are not here", "−19.663", "unsmoothed", "†", "better on"):
        assert said in text
        assert said in page
    assert "; `xspn datasets fetch house` gets" in text
    assert "; <code>xspn datasets fetch house</code> gets" in page
    assert "`" not in page
    links = re.findall(r"\]\((figures/[^)]*)\)", text)
    assert len(links) == 5
    assert all((tmp_path / link).read_bytes().startswith(b"\x89PNG") for link in links)


def test_the_page_is_self_contained(results, tmp_path):
    page = write_report(tmp_path, content(TARGETS, results, []), results)[1].read_text()
    assert page.count("data:image/svg+xml;base64,") == 5
    sources = re.findall(r'(?:src|href)="([^"]{1,60})', page)
    assert all(source.startswith(("data:", "#")) for source in sources)
    assert "<script" not in page


def test_the_numbers_are_beside_it_without_single_rows(results, tmp_path):
    numbers = json.loads(write_report(tmp_path, content(["table1"], results, []), results)[2].read_text())
    assert len(numbers) == len(results)
    assert all("test_rows" not in entry and entry["versions"] for entry in numbers)


def test_the_order_of_results_plays_no_part(results, tmp_path):
    files = []
    for order, name in ((results, "one"), (results[::-1], "other")):
        written = write_report(tmp_path / name, content(("table1", "ablation", "table2"), order, []), order)
        files.append([path.read_bytes() for path in written])
    assert files[0] == files[1]


def test_no_results_make_a_short_report(tmp_path):
    written = write_report(tmp_path, content(("table1", "pairwise"), [], ["senate: its files are not here"]), [])
    assert "senate: its files are not here" in written[0].read_text()


def test_without_pictures(results):
    parts = content(TARGETS, results, [], pictures=False).parts
    assert set(parts) == {"table1", "ablation", "sizes", "settings", "table2", "pairwise"}
