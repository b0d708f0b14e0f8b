"""What the documents print is what the code does: the README's Python runs, and the examples run."""

import re
import runpy
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib import image as mpimage

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", text.replace("−", "-"))]


def test_the_readme_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    space = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), space)
    promised = [
        line.split("#")[1] for line in blocks[0].splitlines() if line.startswith("print(") and "explain" not in line
    ]
    printed = capsys.readouterr().out.splitlines()
    assert len(promised) == 4
    for promise, line in zip(promised, printed, strict=False):
        assert numbers(line) == pytest.approx(numbers(promise), abs=0.006)


@pytest.mark.parametrize(
    "document", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.name
)
def test_no_document_has_a_gap_or_a_dead_link(document):
    text = document.read_text(encoding="utf-8")
    assert not re.search(r"@[A-Z]+@", text)
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        made_with_the_site = Path(target).parent.name == "pictures"  # the site's own test looks for these
        assert made_with_the_site or (document.parent / target).exists(), target


def test_files_are_shown_by_lines_that_the_site_and_the_formatter_understand():
    """A formatter takes what stands between fences of `py` for code, and `--8<--` for an expression."""
    shown = 0
    for page in sorted((ROOT / "docs").rglob("*.md")):
        lines = page.read_text(encoding="utf-8").splitlines()
        for before, line in pairwise(lines):
            if re.search(r"-8 ?<", line):
                found = re.fullmatch(r'--8<-- "(\S+)"', line)
                assert found, f"{page}: {line}"
                assert before == "``` { .py }"
                assert (ROOT / found[1]).is_file()
                shown += 1
    assert shown > 6


def test_the_survey_is_what_its_example_writes(tmp_path):
    example = runpy.run_path(str(ROOT / "examples" / "questionnaire.py"))
    example["main"](tmp_path)
    assert (tmp_path / "survey.csv").read_bytes() == (ROOT / "examples" / "survey.csv").read_bytes()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_end_in_a_picture(example, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    if done.stdout.startswith("skipped"):
        pytest.skip(done.stdout.strip())
    picture = tmp_path / f"{example.stem}.png"
    height, width, _ = mpimage.imread(picture).shape
    assert min(height, width) > 300
