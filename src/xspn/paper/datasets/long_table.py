"""`from_votes`: a data set from any long table of voter, ballot and vote."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from xspn.core.errors import DataError
from xspn.core.random import RandomState
from xspn.paper.datasets.ballots import NAY, NOT_VOTING, YEA, Ballots
from xspn.paper.datasets.csv_tables import rows_of
from xspn.paper.datasets.dataset import Dataset
from xspn.paper.datasets.splits import Share

YEA_WORDS = ("1", "yea", "yes", "aye", "y", "for", "ja", "true")
NAY_WORDS = ("0", "nay", "no", "n", "against", "nein", "false")
OTHER_WORDS = ("", "na", "nan", "none", "abstain", "abstained", "abstention", "present", "absent", "not voting",
               "enthaltung", "ungültig", "nicht abgegeben")  # fmt: skip

_Vote = tuple[str, str, Any, str]  # voter, ballot, vote, party


def from_votes(
    table: Any,
    *,
    columns: Sequence[str] = ("voter", "ballot", "vote"),
    party: str = "party",
    yea: Collection[Any] = YEA_WORDS,
    nay: Collection[Any] = NAY_WORDS,
    other: Collection[Any] = OTHER_WORDS,
    participation: float = 0.5,
    n_valid: Share = 0.15,
    n_test: Share = 0.15,
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
        participation: The share of ballots that a voter must exceed.
        n_valid: The number of validation rows, or their share.
        n_test: The number of test rows, or their share.
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
    """Return what each word means; one named by the caller loses its usual meaning elsewhere."""
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
