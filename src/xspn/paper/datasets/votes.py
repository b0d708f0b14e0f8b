"""`from_votes`: a table of ballots × voters, by the paper's rules, from any long table of voter, ballot and vote."""

import csv
import io
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from xspn.core.arrays import IntArray
from xspn.core.errors import DataError, DatasetMissingError, ParameterError
from xspn.core.random import RandomState, generator
from xspn.paper.datasets.dataset import Dataset
from xspn.paper.datasets.download import download
from xspn.paper.datasets.files import SCHEMES, AnyPath

SplitSize = int | float
YEA, NAY, NOT_VOTING = 1, 2, 0
YEA_WORDS = ("1", "yea", "yes", "aye", "y", "for", "ja", "true")
NAY_WORDS = ("0", "nay", "no", "n", "against", "nein", "false")
OTHER_WORDS = ("", "na", "nan", "none", "abstain", "abstained", "abstention", "present", "absent", "not voting",
               "enthaltung", "ungültig", "nicht abgegeben")  # fmt: skip
_Vote = tuple[str, str, Any, str]  # voter, ballot, vote, party


def random_splits(
    n_rows: int, n_valid: SplitSize = 0.15, n_test: SplitSize = 0.15, random_state: RandomState = 0
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the rows of training, validation and test, each in their old order.

    Args:
        n_rows: The number of rows.
        n_valid: The number of validation rows, or their fraction if it is below 1.
        n_test: The number of test rows, or their fraction if it is below 1.
        random_state: The seed.

    Examples:
        >>> [len(part) for part in random_splits(720, n_valid=100, n_test=120)]
        [500, 100, 120]
        >>> [len(part) for part in random_splits(20)]
        [14, 3, 3]
    """
    valid, test = _count(n_valid, n_rows, "n_valid"), _count(n_test, n_rows, "n_test")
    if valid + test >= n_rows:
        raise ParameterError(
            f"n_valid, n_test: expected to leave some of the {n_rows} rows for training, found {valid} and {test}"
        )
    order = generator(random_state).permutation(n_rows)
    return np.sort(order[valid + test :]), np.sort(order[:valid]), np.sort(order[valid : valid + test])


def _count(size: SplitSize, n_rows: int, what: str) -> int:
    if isinstance(size, bool) or not isinstance(size, int | float | np.number) or not size >= 0:
        raise ParameterError(f"{what}: expected a number of rows or a fraction of them, found {size!r}")
    if size >= 1 and size != int(size):
        raise ParameterError(f"{what}: expected a whole number of rows or a fraction below 1, found {size!r}")
    return round(n_rows * size) if size < 1 else int(size)


def rows_of(source: AnyPath, required: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row's line number and its cells by column name, after checking that the columns are there.

    Args:
        source: A path, or an address that begins with https://, http:// or file://.
        required: The columns that must be there.
    """
    reader = csv.DictReader(io.StringIO(_content(source), newline=""))
    found = reader.fieldnames or []
    missing = [column for column in required if column not in found]
    if missing:
        raise DataError(
            f"{os.fspath(source)}: expected a header with the columns {', '.join(required)}; missing "
            f"{', '.join(missing)}, found {', '.join(found) or 'nothing'}"
        )
    for row in reader:
        short = next((column for column in required if row[column] is None), None)
        if short is not None:
            raise DataError(f"{os.fspath(source)}, line {reader.line_num}: the row ends before column {short!r}")
        yield reader.line_num, row


def _content(source: AnyPath) -> str:
    name = os.fspath(source)
    if name.startswith(SCHEMES):
        content = download(name)
    else:
        try:
            content = Path(name).read_bytes()
        except FileNotFoundError as error:
            raise DatasetMissingError(f"{name}: there is no such file") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: expected a CSV file in UTF-8, found other bytes at position {error.start}") from error


@dataclass(slots=True)
class Ballots:
    """Votes as they come in: who voted what on which ballot.

    Examples:
        >>> ballots = Ballots()
        >>> ballots.add("ann", "bill 1", YEA)
        >>> ballots.add("ann", "bill 1", NAY)
        Traceback (most recent call last):
        ...
        xspn.core.errors.DataError: voter 'ann' has two votes on ballot 'bill 1'; expected at most one
    """

    votes: dict[tuple[str, str], int] = field(default_factory=dict)
    voters: dict[str, int] = field(default_factory=dict)
    ballots: dict[str, int] = field(default_factory=dict)

    def add(self, voter: str, ballot: str, vote: int, place: str = "") -> None:
        """Take in one vote: YEA, NAY or NOT_VOTING."""
        if (voter, ballot) in self.votes:
            raise DataError(f"{place}voter {voter!r} has two votes on ballot {ballot!r}; expected at most one")
        self.votes[voter, ballot] = vote
        self.voters.setdefault(voter, len(self.voters))
        self.ballots.setdefault(ballot, len(self.ballots))

    def to_dataset(
        self,
        name: str,
        source: str,
        labels: Mapping[str, str] | None = None,
        participation: float = 0.5,
        n_valid: SplitSize = 0.15,
        n_test: SplitSize = 0.15,
        random_state: RandomState = 0,
    ) -> Dataset:
        """Return one row per ballot and one variable per voter: yea is 1, nay or abstention 0.

        Args:
            name: The data set's name.
            source: Where the votes come from.
            labels: The variables' names, by voter; the voter itself by default.
            participation: Voters are kept who cast a yea or a nay in *more* than this fraction of all ballots.
            n_valid: The number of validation rows, or their fraction.
            n_test: The number of test rows, or their fraction.
            random_state: The seed of the random assignment of rows to splits.
        """
        if not 0 <= participation < 1:
            raise ParameterError(f"participation: expected a fraction from 0 to below 1, found {participation!r}")
        if not self.votes:
            raise DataError(f"{name}: expected votes, found none in {source}")
        codes = np.zeros((len(self.ballots), len(self.voters)), dtype=np.int8)  # (ballots, voters)
        for (voter, ballot), vote in self.votes.items():
            codes[self.ballots[ballot], self.voters[voter]] = vote
        took_part = (codes != NOT_VOTING).sum(axis=0)
        kept = np.flatnonzero(took_part > participation * len(codes))
        if not len(kept):
            raise DataError(
                f"{name}: none of the {len(self.voters)} voters took part in more than {participation:.0%} of the "
                f"{len(codes)} ballots; lower `participation`"
            )
        voters = list(self.voters)
        names = [(labels or {}).get(voters[i], voters[i]) for i in kept]
        table = (codes[:, kept] == YEA).astype(np.uint8)
        train, valid, test = random_splits(len(table), n_valid, n_test, random_state)
        return Dataset(name, table[train], table[valid], table[test], tuple(names), source)


def distinct(labels: Mapping[str, str], details: Mapping[str, str]) -> dict[str, str]:
    """Return the labels, with a detail added where several voters share one, and the voter where that is not enough.

    Examples:
        >>> distinct({"1": "SMITH (D)", "2": "SMITH (D)", "3": "LEE (R)"}, {"1": "WA", "2": "NJ", "3": "UT"})
        {'1': 'SMITH (D), WA', '2': 'SMITH (D), NJ', '3': 'LEE (R)'}
    """
    result = dict(labels)
    for extra in (details, {voter: voter for voter in labels}):
        counts = Counter(result.values())
        result = {voter: f"{text}, {extra[voter]}" if counts[text] > 1 else text for voter, text in result.items()}
    return result


def from_votes(
    table: Any,
    *,
    columns: Sequence[str] = ("voter", "ballot", "vote"),
    party: str = "party",
    yea: Collection[Any] = YEA_WORDS,
    nay: Collection[Any] = NAY_WORDS,
    other: Collection[Any] = OTHER_WORDS,
    participation: float = 0.5,
    n_valid: SplitSize = 0.15,
    n_test: SplitSize = 0.15,
    name: str = "roll calls",
    random_state: RandomState = 0,
) -> Dataset:
    """Return a data set of ballots × voters from a long table with one row per vote.

    The paper's rules: yea is 1, nay and abstention are 0, voters are kept who cast a yea or a nay in more than half of
    all ballots. A voter without a row for a ballot did not vote on it. Voters and ballots keep their order.

    Args:
        table: A CSV file (path or address), a DataFrame, or rows (voter, ballot, vote[, party]).
        columns: What the columns are called in a file or a DataFrame.
        party: The column of parties, used if it is there: the variables are then called `voter (party)`.
        yea: What counts as yea; words in any case.
        nay: What counts as nay.
        other: What counts as taking no side. Anything else is refused, rather than taken for one of these.
        participation: The fraction of ballots that a voter must exceed.
        n_valid: The number of validation rows, or their fraction.
        n_test: The number of test rows, or their fraction.
        name: The data set's name.
        random_state: The seed of the random assignment of ballots to splits.

    Examples:
        >>> votes = [(v, b, x) for v, xs in {"ann": "11001", "bob": "01110"}.items() for b, x in enumerate(xs)]
        >>> votes += [("cem", 0, "yea"), ("cem", 1, "abstain")]
        >>> d = from_votes(votes, n_valid=1, n_test=1)
        >>> d, d.feature_names
        (Dataset('roll calls', 2 variables, 3 + 1 + 1 rows), ('ann', 'bob'))
    """
    meaning = _meanings(yea, nay, other)
    ballots, parties = Ballots(), dict[str, str]()
    for place, (voter, ballot, vote, own_party) in _records(table, columns, party):
        word = _word(vote)
        if word not in meaning:
            raise DataError(
                f"{place}: expected a vote, found {vote!r} (voter {voter!r}, ballot {ballot!r}); say what it means "
                "with the arguments yea, nay or other"
            )
        ballots.add(voter, ballot, meaning[word], f"{place}: ")
        if own_party and parties.setdefault(voter, own_party) != own_party:
            # Who changes sides is still one voter: both parties are named.
            known = parties[voter].split("/")
            parties[voter] = "/".join([*known, own_party] if own_party not in known else known)
    labels = {voter: f"{voter} ({own_party})" for voter, own_party in parties.items()}
    source = str(os.fspath(table)) if isinstance(table, str | os.PathLike) else "a table of votes"
    return ballots.to_dataset(name, source, labels, participation, n_valid, n_test, random_state)


def _meanings(yea: Collection[Any], nay: Collection[Any], other: Collection[Any]) -> Mapping[str, int]:
    """Return what each word means; a word named by the caller loses its default meaning."""
    given = ((other, OTHER_WORDS, NOT_VOTING), (nay, NAY_WORDS, NAY), (yea, YEA_WORDS, YEA))
    usual = [(word, code) for words, default, code in given if words is default for word in default]
    own = [(_word(word), code) for words, default, code in given if words is not default for word in words]
    clash = {word for word, code in own for again, twin in own if word == again and code != twin}
    if clash:
        raise DataError(f"yea, nay, other: expected each word in one of them, found {sorted(clash)} in several")
    return dict([*usual, *own])


def _word(vote: Any) -> str:
    """Return a vote as a word: numbers without a decimal point, text in lower case, nothing for missing values."""
    if vote is None or type(vote).__name__ == "NAType":
        return ""
    if isinstance(vote, bool | np.bool_):
        return str(int(vote))
    if isinstance(vote, float | np.floating):
        return "" if np.isnan(vote) else f"{vote:g}"
    return str(vote).strip().casefold()


def _records(table: Any, columns: Sequence[str], party: str) -> Iterator[tuple[str, _Vote]]:
    """Yield each vote with its place, whatever form the table has."""
    if len(columns) != 3:
        raise DataError(f"columns: expected three names (voter, ballot, vote), found {list(columns)}")
    if isinstance(table, str | os.PathLike):
        for line, row in rows_of(table, columns):
            voter, ballot, vote = (row[column] for column in columns)
            yield f"{os.fspath(table)}, line {line}", (voter.strip(), ballot.strip(), vote, row.get(party) or "")
    elif hasattr(table, "columns"):
        yield from _frame_records(table, columns, party)
    else:
        yield from _row_records(table)


def _frame_records(frame: Any, columns: Sequence[str], party: str) -> Iterator[tuple[str, _Vote]]:
    found = [str(column) for column in frame.columns]
    missing = [column for column in columns if column not in found]
    if missing:
        raise DataError(f"table: expected the columns {', '.join(columns)}; missing {', '.join(missing)}")
    wanted = [*columns, *([party] if party in found else [])]
    for number, values in enumerate(zip(*(frame[column].tolist() for column in wanted), strict=True)):
        own_party = _text(values[3]) if len(values) == 4 else ""
        yield f"row {number}", (_text(values[0]), _text(values[1]), values[2], own_party)


def _row_records(rows: Iterable[Sequence[Any]]) -> Iterator[tuple[str, _Vote]]:
    for number, row in enumerate(rows):
        if isinstance(row, str) or len(row) not in (3, 4):
            raise DataError(f"row {number}: expected voter, ballot, vote and, if known, party; found {row!r}")
        yield f"row {number}", (_text(row[0]), _text(row[1]), row[2], _text(row[3]) if len(row) == 4 else "")


def _text(value: Any) -> str:
    return "" if value is None or (isinstance(value, float) and np.isnan(value)) else str(value).strip()
