"""The notebooks of the examples as part of a page: text, code, what it printed and drew, as they are stored."""

import json
import re
from base64 import b64decode
from pathlib import Path

from mkdocs.structure.files import File

PLACE = re.compile(r"^<!-- notebook: (\w+) -->$", re.MULTILINE)
HEADING = re.compile("^#", re.MULTILINE)


def on_files(files, config):
    """Add the notebooks and their pictures to the site."""
    for path in sorted(_folder(config).glob("*.ipynb")):
        content = path.read_text(encoding="utf-8")
        files.append(File.generated(config, f"notebooks/{path.name}", content=content))
        for number, png in enumerate(_pictures(json.loads(content))):
            files.append(File.generated(config, f"pictures/{path.stem}-{number}.png", content=b64decode(png)))
    return files


def on_page_markdown(markdown, config, **_):
    """Put notebooks where a page wants them."""
    return PLACE.sub(lambda found: _markdown(_folder(config) / f"{found.group(1)}.ipynb"), markdown)


def _folder(config):
    return Path(config.docs_dir).parent / "examples" / "notebooks"


def _pictures(notebook):
    outputs = [own for cell in notebook["cells"] for own in cell.get("outputs", ())]
    return [own["data"]["image/png"] for own in outputs if "data" in own]


def _markdown(path):
    """Return a notebook as Markdown, its headings one level below those of the page."""
    parts, drawn = [], 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(HEADING.sub("##", source))
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            if "text" in output:
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
            else:
                parts.append(f"![Picture {drawn + 1} of {path.name}](pictures/{path.stem}-{drawn}.png)")
                drawn += 1
    return "\n\n".join([*parts, f"[{path.name}](notebooks/{path.name}) to download."])
