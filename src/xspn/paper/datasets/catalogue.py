"""The catalogue of the paper's 31 data sets, and the names under which each is found."""

import difflib

from xspn.core.errors import ParameterError, RegistryError
from xspn.paper.datasets.entry import Entry, Group, Repository

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
    "the repository states no licence; free for research by custom, cite the papers that introduced the sets",
)

_SAME_FILE = (
    "The published validation and test files are byte for byte the same: choosing anything on that validation set is "
    "choosing on the test set. Hold out part of the training rows instead, and say so beside the result."
)
_CONFERENCE = (
    "Columns 0-9: who attends; 10: hot topic; 11: overflow. The file is a sample of another model than the formulas "
    "printed in the paper; see xspn.paper.datasets.models.conference."
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
    """Return what the catalogue knows of a data set: by the paper's name or the files', in any case.

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
