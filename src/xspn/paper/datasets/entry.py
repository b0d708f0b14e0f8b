"""What the catalogue knows of one data set and of its three files."""

from dataclasses import dataclass
from typing import Any, Literal

from xspn.paper.datasets.checksums import CHECKSUMS

Split = Literal["train", "valid", "test"]
Group = Literal["synthetic", "real", "benchmark"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")


@dataclass(frozen=True, slots=True)
class Repository:
    """A public repository that holds data files.

    Attributes:
        owner: The account.
        name: The repository; also the first folder of a data folder's layout.
        branch: The branch.
        licence: What is known of the terms.
    """

    owner: str
    name: str
    branch: str
    licence: str

    @property
    def address(self) -> str:
        """The repository's web page."""
        return f"https://github.com/{self.owner}/{self.name}"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file: where it is in its repository, and what its content must hash to.

    Attributes:
        split: "train", "valid" or "test".
        repository: The repository.
        path: The path in the repository.
        sha1: The git blob SHA-1 of the content.
        expected_size: The size in bytes that the table of properties implies.
    """

    split: Split
    repository: Repository
    path: str
    sha1: str
    expected_size: int

    @property
    def relative_path(self) -> str:
        """The path below a data folder or the cache folder: `DEBD/datasets/nltcs/nltcs.train.data`."""
        return f"{self.repository.name}/{self.path}"

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class Entry:
    """One data set of the catalogue.

    Attributes:
        name: The name in the paper.
        file_name: The name that its public files begin with.
        aliases: Further names that are understood.
        group: "synthetic", "real" or "benchmark".
        n_variables: The number of variables.
        n_train: The number of training rows.
        n_valid: The number of validation rows.
        n_test: The number of test rows.
        repository: Where the files come from.
        folder: The folder in the repository.
        train_suffix: How the training file is called there: "train" or "ts".
        note: What to know before using it.

    Examples:
        >>> from xspn import datasets
        >>> entry = datasets.info("pumsb")
        >>> entry.file_name, entry.n_variables, entry.n_rows
        ('pumsb_star', 163, (12262, 1635, 2452))
        >>> entry.files[0].relative_path
        'DEBD/datasets/pumsb_star/pumsb_star.train.data'
    """

    name: str
    file_name: str
    aliases: tuple[str, ...]
    group: Group
    n_variables: int
    n_train: int
    n_valid: int
    n_test: int
    repository: Repository
    folder: str
    train_suffix: str
    note: str = ""

    @property
    def n_rows(self) -> tuple[int, int, int]:
        """The numbers of rows of the three splits."""
        return self.n_train, self.n_valid, self.n_test

    @property
    def licence(self) -> str:
        """What is known of the terms under which the files are published."""
        return self.repository.licence

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """The training, validation and test files."""
        found = []
        for split, rows in zip(SPLITS, self.n_rows, strict=True):
            file_name = f"{self.file_name}.{self.train_suffix if split == 'train' else split}.data"
            size = 2 * self.n_variables * rows  # each value is followed by a comma or a line end
            path = f"{self.folder}/{file_name}"
            found.append(SourceFile(split, self.repository, path, CHECKSUMS[file_name], size))
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain values, for JSON."""
        return {
            "name": self.name,
            "file_name": self.file_name,
            "aliases": list(self.aliases),
            "group": self.group,
            "n_variables": self.n_variables,
            "n_rows": dict(zip(SPLITS, self.n_rows, strict=True)),
            "source": self.repository.address,
            "licence": self.licence,
            "note": self.note,
            "files": [{"split": f.split, "path": f.relative_path, "git_blob_sha1": f.sha1} for f in self.files],
        }
