"""`load` and `fetch`: the paper's data sets by name."""

from dataclasses import dataclass
from pathlib import Path

from xspn.paper.datasets.catalog import Entry, SourceFile, info
from xspn.paper.datasets.dataset import BinaryTable, Dataset, default_names
from xspn.paper.datasets.download import DownloadLimits
from xspn.paper.datasets.files import AnyPath, Origin, Places, Stamp, obtain, parse, read_parsed, write_parsed
from xspn.paper.datasets.synthetic import known_truth


def load(
    name: str,
    *,
    data_dir: AnyPath | None = None,
    cache_dir: AnyPath | None = None,
    base_url: str | None = None,
    download: bool = True,
    limits: DownloadLimits | None = None,
) -> Dataset:
    """Return one of the paper's 31 data sets: the public files, verified by checksum.

    Files are looked for in the data folder, then in the cache, then at the public address. Where a data set was drawn
    from a model that is known, the model comes along as `truth`.

    Args:
        name: The paper's name or the files' name, in any case: "audio" or "baudio".
        data_dir: A folder of files (`DEBD/datasets/…`, `XSPNFlow/src/…`); the variable XSPN_DATA by default.
        cache_dir: The cache folder; the variable XSPN_CACHE or the platform's own place by default.
        base_url: Where to download from; the variable XSPN_DOWNLOAD_BASE or GitHub by default. `file://` is allowed.
        download: Whether to download what is missing.
        limits: How patient a download is.

    Raises:
        RegistryError: The name is unknown.
        DatasetMissingError: A file is nowhere to be had; the message says how to provide it.
        ChecksumError: A file is damaged.
    """
    entry = info(name)
    places = Places.find(data_dir, cache_dir, base_url, download)
    train, valid, test = (_table(file, places, limits) for file in entry.files)
    truth = known_truth(entry.name)
    names = truth.names if truth is not None else None
    return Dataset(
        name=entry.name,
        train=train,
        valid=valid,
        test=test,
        feature_names=names or default_names(train.shape[1]),
        source=f"{entry.repository.address}, {entry.file_name}",
        truth=truth,
    )


def _table(file: SourceFile, places: Places, limits: DownloadLimits | None) -> BinaryTable:
    """Return the parsed table if it can be trusted, otherwise verify and parse the file."""
    stored = places.parsed(file)
    # The stamp is taken before reading: a change in between makes it stale, and the file is verified again.
    stamp = Stamp.of(places.in_data(file) or places.in_cache(file))
    table = read_parsed(stored, stamp)
    if table is not None:
        return table
    verified = obtain(file, places, limits)
    table = parse(verified.content, file.name)
    if verified.origin == "download":
        stamp = Stamp.of(verified.path)
    write_parsed(stored, table, stamp)
    return table


@dataclass(frozen=True, slots=True)
class Fetched:
    """One verified file: its split, where it came from and where it is now (None if it could not be kept)."""

    file: SourceFile
    origin: Origin
    path: Path | None


def fetch(
    name: str,
    *,
    data_dir: AnyPath | None = None,
    cache_dir: AnyPath | None = None,
    base_url: str | None = None,
    limits: DownloadLimits | None = None,
) -> tuple[Fetched, ...]:
    """Verify a data set's three files, downloading what is missing; the arguments are those of `load`."""
    places = Places.find(data_dir, cache_dir, base_url)
    found = []
    for file in info(name).files:
        verified = obtain(file, places, limits)
        found.append(Fetched(file, verified.origin, verified.path))
    return tuple(found)


def whereabouts(entry: Entry, places: Places) -> str:
    """Return "data folder", "cache" or "not here", by looking at names only."""
    if all(places.in_data(file) for file in entry.files):
        return "data folder"
    if all(places.in_data(file) or places.in_cache(file).is_file() for file in entry.files):
        return "cache"
    return "not here"
