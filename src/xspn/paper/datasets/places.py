"""Where files are looked for: the user's data folder, the cache folder, the public address.

Three environment variables move them: `XSPN_DATA` (a folder of files), `XSPN_CACHE` (where downloads and parsed tables
are kept) and `XSPN_DOWNLOAD_BASE` (the address to download from).
"""

import os
from dataclasses import dataclass
from pathlib import Path

from xspn.core.errors import DatasetError, ParameterError
from xspn.paper.datasets.entry import SourceFile

PUBLIC_BASE = "https://raw.githubusercontent.com/{owner}/{repository}/{branch}/{path}"
SCHEMES = ("https://", "http://", "file://")

AnyPath = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Places:
    """The folders and the address that one call uses.

    Attributes:
        data: The user's own folder of files, or None. It is never written to.
        cache: The cache folder; it need not exist, nor be writable.
        base: The address to download from: a template with {path} and, if wanted, {owner}, {repository} and {branch};
            or the beginning of an address, to which `repository/path` is added.
        download: Whether anything may be downloaded.
    """

    data: Path | None
    cache: Path
    base: str
    download: bool = True

    @classmethod
    def find(
        cls,
        data_dir: AnyPath | None = None,
        cache_dir: AnyPath | None = None,
        base_url: str | None = None,
        download: bool = True,
    ) -> "Places":
        """Return the places: arguments first, then environment variables, then defaults.

        Examples:
            >>> Places.find(cache_dir="kept", base_url="https://example.org/mirror").base
            'https://example.org/mirror'
        """
        data = data_dir if data_dir is not None else os.environ.get("XSPN_DATA") or None
        if data is not None and not Path(data).is_dir():
            raise DatasetError(
                f"data folder: expected a folder at {os.fspath(data)}, found none; correct the argument data_dir or "
                "the environment variable XSPN_DATA, or leave it out to use the cache and downloads"
            )
        base = base_url or os.environ.get("XSPN_DOWNLOAD_BASE") or PUBLIC_BASE
        if not base.startswith(SCHEMES):
            raise ParameterError(
                f"download address: expected one that begins with {', '.join(SCHEMES)}, found {base!r}; "
                "correct the argument base_url or the environment variable XSPN_DOWNLOAD_BASE"
            )
        cache = cache_dir if cache_dir is not None else default_cache_folder()
        return cls(None if data is None else Path(data), Path(cache), base, download)

    def in_data(self, file: SourceFile) -> Path | None:
        """Return where the file is in the user's folder, or None."""
        if self.data is None:
            return None
        path = self.data / file.relative_path
        return path if path.is_file() else None

    def in_cache(self, file: SourceFile) -> Path:
        """Return where the cache keeps the downloaded file: the layout is that of a data folder."""
        return self.cache / "files" / file.relative_path

    def parsed(self, file: SourceFile) -> Path:
        """Return where the cache keeps the parsed table of the file's content."""
        return self.cache / "parsed" / f"{file.name}.{file.sha1}.npz"

    def address(self, file: SourceFile) -> str:
        """Return where the file is downloaded from.

        Examples:
            >>> from xspn.paper.datasets.catalogue import info
            >>> file = info("nltcs").files[0]
            >>> Places.find(cache_dir="kept", base_url="file:///srv/data").address(file)
            'file:///srv/data/DEBD/datasets/nltcs/nltcs.train.data'
        """
        template = self.base if "{path}" in self.base else self.base.rstrip("/") + "/{repository}/{path}"
        repository = file.repository
        fields = {
            "{owner}": repository.owner,
            "{repository}": repository.name,
            "{branch}": repository.branch,
            "{path}": file.path,
        }
        for placeholder, value in fields.items():
            template = template.replace(placeholder, value)
        return template


def default_cache_folder() -> Path:
    """Return the folder that XSPN_CACHE names, or the platform's own place for caches."""
    chosen = os.environ.get("XSPN_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("xspn", appauthor=False)
