"""Pictures, explorer pages and reports are made when the site is built, by the examples and by what the pages show."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

MADE = re.compile(r"savefig\(|\.explore\(|[^.\w]report\(")


def on_files(files, config):
    """Run the examples, and every page that saves pictures or explorer pages; add what they save to the site."""
    docs = Path(config.docs_dir)
    root = docs.parent
    pages = [page for page in sorted(docs.rglob("*.md")) if MADE.search(page.read_text(encoding="utf-8"))]
    runner = [str(root / "tests" / "support" / "documents.py"), "run"]
    with tempfile.TemporaryDirectory() as folder:
        for example in sorted((root / "examples").glob("*.py")):
            _run([str(example), folder])
        _run([*runner, folder, *map(str, pages)])
        for picture in sorted([*Path(folder).glob("*.png"), *Path(folder).glob("*.html")]):
            files.append(File.generated(config, f"pictures/{picture.name}", content=picture.read_bytes()))
    return files


def _run(command):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise PluginError(f"{Path(command[0]).name}: {done.stderr}")
