"""Every cell of every notebook runs, and prints and draws what is stored in it."""

import json

import pytest

from support.documents import Exchange, differences
from support.notebooks import NOTEBOOKS, read, run, stored_pictures, stored_text, write

MOST_BYTES = 300_000


def test_there_are_four():
    assert [path.stem for path in NOTEBOOKS] == ["baskets", "service", "survey", "votes"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_says_what_is_stored(path):
    assert faults(path) == []
    assert path.stat().st_size < MOST_BYTES


def faults(path):
    """Return where what cells print and draw differs from what is stored."""
    cells, found = read(path)["cells"], []
    for done in run(path):
        cell, where = cells[done.number], f"{path.name}, cell {done.number}"
        found += differences(Exchange(where, stored_text(cell), done.printed, None))
        stored = len(stored_pictures(cell))
        found += [] if stored == len(done.pictures) else [f"{where}: {stored} pictures, found {len(done.pictures)}"]
    return found


def notebook_of(*sources):
    code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    return json.dumps({"cells": [{**code, "source": [source]} for source in sources], "nbformat": 4})


def test_a_notebook_that_lies_is_found_and_can_be_mended(tmp_path):
    path = tmp_path / "lie.ipynb"
    draws = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    path.write_text(notebook_of("x = 7", "print(x)", draws))
    assert [fault.splitlines()[0] for fault in faults(path)] == [
        "lie.ipynb, cell 1",
        "lie.ipynb, cell 2: 0 pictures, found 1",
    ]
    write(path)
    assert faults(path) == []
    assert stored_text(read(path)["cells"][1]) == "7\n"


def test_a_cell_that_raises_is_not_passed_over(tmp_path):
    path = tmp_path / "raises.ipynb"
    path.write_text(notebook_of("x = 7", "x / 0"))
    with pytest.raises(ZeroDivisionError):
        faults(path)
