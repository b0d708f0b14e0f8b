"""Pages that are there only after somebody ran the experiments: the full results."""

from pathlib import Path


def on_config(config):
    """Add docs/results to the navigation if it exists."""
    folder = Path(config.docs_dir) / "results"
    pages = [page for name in ("index.md", "README.md", "report.md") if (page := folder / name).exists()]
    if pages:
        section = next(entry["Results"] for entry in config.nav if "Results" in entry)
        section.insert(1, {"All tables and figures": str(pages[0].relative_to(config.docs_dir))})
    return config
