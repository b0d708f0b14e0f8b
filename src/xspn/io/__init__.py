"""Circuits as files and as text: versioned JSON, a binary form, other programs' formats; graphviz, equations."""

from xspn.io.files import load, load_with_notes, save
from xspn.io.from_deeprob import from_deeprob
from xspn.io.from_spflow import from_spflow
from xspn.io.json_format import from_json, to_json
from xspn.io.programs import open_program, save_program
from xspn.io.text import to_dot, to_equation

__all__ = [
    "from_deeprob",
    "from_json",
    "from_spflow",
    "load",
    "load_with_notes",
    "open_program",
    "save",
    "save_program",
    "to_dot",
    "to_equation",
    "to_json",
]
