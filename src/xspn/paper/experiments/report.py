"""The report: Markdown with pictures beside it, one HTML page with everything in it, and the numbers as JSON."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xspn.core.files import write_bytes, write_text
from xspn.paper.experiments.comparison import Chosen
from xspn.paper.experiments.figures import (
    accuracy_chart,
    figure1,
    figure2,
    likelihood_chart,
    runtime_chart,
    size_chart,
)
from xspn.paper.experiments.published import RECORDS
from xspn.paper.experiments.rendering import Drawing, ReportTable, html_page, markdown_table
from xspn.paper.experiments.results import UnitResult
from xspn.paper.experiments.tables import (
    ablation_table,
    pairwise_table,
    records_table,
    scores,
    settings_table,
    sizes_table,
    table1,
    table2,
)
from xspn.plotting.style import image


@dataclass
class Content:
    """What a report is made of, in order: tables and drawings by name, and the summary before them."""

    summary: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    parts: dict[str, ReportTable | Drawing] = field(default_factory=dict)


def content(
    targets: Sequence[str], results: Sequence[UnitResult], skipped: Sequence[str], pictures: bool = True
) -> Content:
    """Return everything that is known about these tables and figures.

    Args:
        targets: Some of table1, table2, ablation, pairwise, figure1, figure2.
        results: All results at hand.
        skipped: What was skipped and why.
        pictures: Whether charts and drawings are made, for which matplotlib is needed.
    """
    made = Content(skipped=list(skipped))
    density, labeled = Chosen(results, "density"), Chosen(results, "classification")
    timed = [result for result in results if result.unit.experiment == "pairwise"]
    made.summary = _coverage(results)
    if "table1" in targets and density:
        made.parts["table1"] = first = table1(density)
        made.summary += scores(first, density)
        _draw(made, pictures, "likelihoods", lambda: likelihood_chart(density))
        if any(row.dataset in RECORDS for row in density.rows):
            made.parts["records"] = records_table(density)
    if "ablation" in targets and density:
        made.parts["ablation"] = ablation_table(density)
        _draw(made, pictures, "sizes_chart", lambda: size_chart(density))
    if density and {"table1", "ablation"} & set(targets):
        made.parts["sizes"], made.parts["settings"] = sizes_table(density), settings_table(density)
    if "table2" in targets and labeled:
        made.parts["table2"] = table2(labeled)
        _draw(made, pictures, "accuracies", lambda: accuracy_chart(labeled))
    if "pairwise" in targets and timed:
        made.parts["pairwise"] = pairwise_table(timed)
        _draw(made, pictures, "runtime", lambda: runtime_chart(timed))
    for name, figure in (("figure1", figure1), ("figure2", figure2)):
        if name in targets:
            _draw(made, pictures, name, figure)
    return made


def write_report(folder: Path, made: Content, results: Sequence[UnitResult]) -> list[Path]:
    """Write report.md, report.html, results.json and the figures; return the files, the report first."""
    figures = folder / "figures"
    drawings = {name: part for name, part in made.parts.items() if isinstance(part, Drawing)}
    written = [folder / "report.md", folder / "report.html", folder / "results.json"]
    figures.mkdir(parents=True, exist_ok=True)
    vectors = {name: image(drawing.figure, "svg") for name, drawing in drawings.items()}
    for name, drawing in drawings.items():
        for kind, picture in (("png", image(drawing.figure)), ("svg", vectors[name])):
            written.append(figures / f"{name}.{kind}")
            write_bytes(written[-1], picture)
    write_text(written[0], markdown(made))
    write_text(written[1], html_page(made.summary, made.skipped, made.parts, vectors))
    numbers = [result.to_dict(rows=False) for result in sorted(results, key=lambda result: str(result.unit.path))]
    write_text(written[2], json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return written


def markdown(made: Content) -> str:
    """Return the report as Markdown; pictures are links to the files beside it."""
    blocks = ["# The paper's tables and figures, reproduced", "\n".join(f"- {line}" for line in made.summary)]
    if made.skipped:
        blocks.append("Skipped:\n\n" + "\n".join(f"- {line}" for line in made.skipped))
    for name, part in made.parts.items():
        if isinstance(part, ReportTable):
            blocks.append(markdown_table(part))
        else:
            blocks.append(f"![{name}](figures/{name}.png)\n\n*{part.caption}*")
    return "\n\n".join(blocks) + "\n"


def _draw(made: Content, pictures: bool, name: str, draw: Callable[[], Drawing]) -> None:
    if pictures:
        made.parts[name] = draw()


def _coverage(results: Sequence[UnitResult]) -> list[str]:
    """Say what the report is about: data sets, numbers of results, versions."""
    sets = sorted({result.unit.dataset for result in results})
    versions = sorted({", ".join(f"{name} {v}" for name, v in result.versions.items()) for result in results})
    lines = [f"{len(results)} results on {len(sets)} data sets, each with the settings and seed in results.json."]
    return lines + [f"Made with {text}." for text in versions] if results else []
