"""The wheel holds what an installed package needs, and imports without heavy parts."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import xspn

ROOT = Path(__file__).parents[1]


def test_every_public_name_is_there():
    for name in xspn.__all__:
        assert getattr(xspn, name) is not None
    assert set(xspn.__all__) <= set(dir(xspn))
    with pytest.raises(AttributeError, match="no attribute 'XPSN'"):
        _ = xspn.XPSN


def test_importing_imports_nothing_heavy():
    code = "import sys, xspn; print(sorted({'numpy', 'scipy', 'sklearn', 'torch', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_wheel_is_complete(tmp_path):
    source = tmp_path / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet", "-w", str(tmp_path)]
    done = subprocess.run([*build, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("xspn-*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert "xspn/py.typed" in inside
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "xspn").rglob("*.py")}
    assert sources <= inside


def test_python_m_xspn_is_the_command():
    found = subprocess.run([sys.executable, "-m", "xspn", "--version"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout.strip()) == (0, f"xspn {xspn.__version__}")
