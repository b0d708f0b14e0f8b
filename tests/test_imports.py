"""Imports point downward only, between rooms and everywhere in a file: at the top, in functions, for types."""

import ast
from pathlib import Path

import pytest

import xspn

# From the highest to the lowest. A room may import itself and the rooms below it.
ROOMS = [
    "cli",
    "service",
    "paper",
    "reports",
    "plotting",
    "estimators",
    "distributed",
    "io",
    "circuit",
    "questions",
    "web",
    "learning",
    "inference",
    "engine",
    "leaves",
    "statistics",
    "graph",
    "data",
    "core",
]
SOURCE = Path(xspn.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
ALLOWED_BY_ALL = {"_version"}  # a constant, not a room


def room_of(path):
    """The room of a file; None for the package's own `__init__.py` and `_version.py`."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0] if len(parts) > 1 or parts[0] in ROOMS else None


def imported_modules(tree, package):
    """Yield (line, dotted name) for every name that a file imports from anywhere, relative imports resolved."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def faults(path, text):
    """Return what is wrong with a file's imports, one line each."""
    room = room_of(path)
    package = ("xspn", *path.relative_to(SOURCE).parts[:-1])
    found = []
    for line, name in imported_modules(ast.parse(text), package):
        parts = name.split(".")
        if parts[0] != "xspn" or room is None:
            continue
        target = parts[1] if len(parts) > 1 else ""
        place = f"{path.relative_to(SOURCE)}:{line}"
        if target in ALLOWED_BY_ALL:
            continue
        if target not in ROOMS:
            if room != "cli":
                found.append(f"{place}: imports {name} from the package's face; import it from its room")
        elif room not in ROOMS:
            found.append(f"{place}: {room} is not a known room")
        elif ROOMS.index(target) < ROOMS.index(room):
            found.append(f"{place}: {room} imports {target}, which is above it")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_downward(path):
    assert faults(path, path.read_text(encoding="utf-8")) == []


def test_every_folder_is_a_known_room():
    folders = {room_of(path) for path in FILES} - {None}
    assert folders <= set(ROOMS), f"unknown rooms: {sorted(folders - set(ROOMS))}"
    loose = {path.name for path in SOURCE.glob("*.py")}
    assert loose == {"__init__.py", "__main__.py", "_version.py", "circuit.py"}


@pytest.mark.parametrize(
    ("room", "text", "fault"),
    [
        ("leaves", "from xspn.engine import Program", "leaves imports engine"),
        ("leaves", "from xspn.engine.program import RowChecker", "leaves imports engine"),
        ("leaves", "import xspn.engine.program", "leaves imports engine"),
        ("leaves", "from ..engine import program", "leaves imports engine"),
        ("leaves", "from .. import engine", "leaves imports engine"),
        ("leaves", "def f():\n    from xspn.circuit import Circuit", "leaves imports circuit"),
        ("leaves", "if TYPE_CHECKING:\n    from xspn.circuit import Circuit", "leaves imports circuit"),
        ("leaves", "from xspn import Circuit", "face"),
        ("leaves", "import xspn", "face"),
        ("leaves", "from xspn import engine", "leaves imports engine"),
        ("cellar", "from xspn.core import errors", "cellar is not a known room"),
        ("leaves", "from xspn.leaves.base import Leaf", None),
        ("leaves", "from .base import Leaf", None),
        ("leaves", "from xspn.graph import Scope", None),
        ("leaves", "from xspn._version import __version__", None),
        ("leaves", '"""\n>>> from xspn import Circuit\n"""', None),
        ("cli", "def run():\n    from xspn import Circuit", None),
        ("leaves", "import numpy.engine", None),
    ],
)
def test_the_test_sees_what_it_should(room, text, fault):
    found = faults(SOURCE / room / "file.py", text)
    if fault is None:
        assert found == []
    else:
        assert len(found) == 1
        assert fault in found[0]
