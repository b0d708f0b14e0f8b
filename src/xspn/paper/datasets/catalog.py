"""The catalog of the paper's 31 data sets: what is known of each, its files, and the names under which it is found."""

import difflib
from dataclasses import dataclass
from typing import Any, Literal

from xspn.core.errors import ParameterError, RegistryError
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
        license: What is known of the terms.
    """

    owner: str
    name: str
    branch: str
    license: str

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
    """One data set of the catalog.

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
    def license(self) -> str:
        """What is known of the terms under which the files are published."""
        return self.repository.license

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
            "license": self.license,
            "note": self.note,
            "files": [{"split": f.split, "path": f.relative_path, "git_blob_sha1": f.sha1} for f in self.files],
        }


XSPN_FLOW = Repository(
    "stefanluedtke",
    "XSPNFlow",
    "master",
    "repository under Apache-2.0; published with the paper. Votes: Voteview (US Congress), BTVote (Bundestag)",
)
DEBD = Repository(
    "arranger1044",
    "DEBD",
    "master",
    "the repository states no license; free for research by custom, cite the papers that introduced the sets",
)

_SAME_FILE = (
    "The published validation and test files are byte for byte the same: choosing anything on that validation set is "
    "choosing on the test set. Hold out part of the training rows instead, and say so beside the result."
)
_CONFERENCE = (
    "Columns 0-9: who attends; 10: hot topic; 11: overflow. The file is a sample of another model than the formulas "
    "printed in the paper; see xspn.paper.datasets.synthetic.conference."
)
_FEW_DISTINCT = "Few distinct rows: many test rows occur in training too. That is the data's nature, not leakage."

# name, file name, aliases, variables, rows of training, validation and test, note
_Row = tuple[str, str, tuple[str, ...], int, int, int, int, str]

_SYNTHETIC: tuple[_Row, ...] = (
    ("threshold", "threshold", (), 100, 10000, 5000, 5000, ""),
    ("exact", "exact", (), 100, 10000, 5000, 5000, ""),
    ("parity", "parity", (), 100, 10000, 5000, 5000, ""),
    ("counting", "counting", (), 100, 10000, 5000, 5000, ""),
    ("MEVM-s", "ex-data-small", ("MEVM-small",), 20, 5000, 2500, 2500, _FEW_DISTINCT),
    ("MEVM-l", "ex-data-large", ("MEVM-large",), 150, 10000, 5000, 5000, _SAME_FILE),
    ("conference", "conference-10-empty", (), 12, 50000, 50000, 50000, _CONFERENCE),
)
_REAL: tuple[_Row, ...] = (
    ("exam", "exam-participation", ("exams",), 58, 350, 67, 70, _FEW_DISTINCT),
    ("senate", "senate116", (), 98, 500, 100, 120, ""),
    ("house", "house116", (), 418, 700, 100, 152, ""),
    ("bundestag", "bundestag17", (), 542, 170, 41, 41, ""),
)
_BENCHMARK: tuple[_Row, ...] = (
    ("nltcs", "nltcs", (), 16, 16181, 2157, 3236, ""),
    ("plants", "plants", (), 69, 17412, 2321, 3482, ""),
    ("webkb", "cwebkb", (), 839, 2803, 558, 838, ""),
    ("msnbc", "msnbc", (), 17, 291326, 38843, 58265, ""),
    ("kdd", "kdd", ("KDDCup2k",), 64, 180092, 19907, 34955, ""),
    ("audio", "baudio", (), 100, 15000, 2000, 3000, ""),
    ("jester", "jester", (), 100, 9000, 1000, 4116, ""),
    ("netflix", "bnetflix", (), 100, 15000, 2000, 3000, ""),
    ("msweb", "msweb", (), 294, 29441, 3270, 5000, ""),
    ("book", "book", (), 500, 8700, 1159, 1739, ""),
    ("accidents", "accidents", (), 111, 12758, 1700, 2551, ""),
    ("dna", "dna", (), 180, 1600, 400, 1186, ""),
    ("kosarek", "kosarek", (), 190, 33375, 4450, 6675, ""),
    ("pumsb", "pumsb_star", (), 163, 12262, 1635, 2452, ""),
    ("retail", "tretail", (), 135, 22041, 2938, 4408, ""),
    ("movie", "tmovie", ("EachMovie",), 500, 4524, 1002, 591, ""),
    ("bbc", "bbc", (), 1058, 1670, 225, 330, ""),
    ("ad", "ad", (), 1556, 2461, 327, 491, ""),
    ("20ng", "c20ng", ("20 NewsGroups",), 910, 11293, 3764, 3764, ""),
    ("reut.-52", "cr52", ("Reuters-52",), 889, 6532, 1028, 1540, ""),
)


def _entries(
    rows: tuple[_Row, ...], group: Group, repository: Repository, folder: str, train_suffix: str
) -> tuple[Entry, ...]:
    """Return the entries of one group; `{file}` in the folder is the data set's file name."""
    return tuple(
        Entry(
            name,
            file,
            aliases,
            group,
            variables,
            train,
            valid,
            test,
            repository,
            folder.format(file=file),
            train_suffix,
            note,
        )
        for name, file, aliases, variables, train, valid, test, note in rows
    )


ENTRIES: tuple[Entry, ...] = (
    *_entries(_SYNTHETIC, "synthetic", XSPN_FLOW, "src/spn/data/relational_synthetic", "ts"),
    *_entries(_REAL, "real", XSPN_FLOW, "src/spn/data/relational_real", "ts"),
    *_entries(_BENCHMARK, "benchmark", DEBD, "datasets/{file}", "train"),
)


def _key(name: str) -> str:
    """Return what is compared: letters and digits, in lower case."""
    return "".join(c for c in name.casefold() if c.isalnum())


def _spellings(entry: Entry) -> tuple[str, ...]:
    return entry.name, entry.file_name, *entry.aliases


_BY_KEY: dict[str, Entry] = {_key(spelling): entry for entry in ENTRIES for spelling in _spellings(entry)}


def names(group: Group | None = None) -> tuple[str, ...]:
    """Return the data sets' names in the paper's order, of one group or of all.

    Examples:
        >>> names("real")
        ('exam', 'senate', 'house', 'bundestag')
        >>> len(names())
        31
    """
    groups = ("synthetic", "real", "benchmark")
    if group is not None and group not in groups:
        raise ParameterError(f"group: expected one of {', '.join(groups)}, found {group!r}")
    return tuple(entry.name for entry in ENTRIES if group in (None, entry.group))


def info(name: str) -> Entry:
    """Return what the catalog knows of a data set: by the paper's name or the files', in any case.

    Examples:
        >>> info("Reut.-52").file_name, info("BAUDIO").name, info("mevm_small").name
        ('cr52', 'audio', 'MEVM-s')
        >>> info("senat")
        Traceback (most recent call last):
        ...
        xspn.core.errors.RegistryError: unknown data set 'senat'; did you mean 'senate'? `xspn datasets list` shows all
    """
    entry = _BY_KEY.get(_key(str(name)))
    if entry is not None:
        return entry
    near = difflib.get_close_matches(_key(str(name)), _BY_KEY, n=1)
    hint = f"; did you mean {_nearest_spelling(near[0])!r}?" if near else "."
    raise RegistryError(f"unknown data set {str(name)!r}{hint} `xspn datasets list` shows all")


def _nearest_spelling(key: str) -> str:
    return next(spelling for spelling in _spellings(_BY_KEY[key]) if _key(spelling) == key)
