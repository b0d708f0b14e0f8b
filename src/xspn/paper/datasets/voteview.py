"""`from_voteview`: roll calls of the US Congress, from the public CSV files of voteview.com."""

import os

from xspn.core.errors import DataError, ParameterError
from xspn.core.random import RandomState
from xspn.paper.datasets.dataset import Dataset
from xspn.paper.datasets.files import AnyPath
from xspn.paper.datasets.votes import NAY, NOT_VOTING, YEA, Ballots, SplitSize, distinct, rows_of

VOTEVIEW = "https://voteview.com/static/data/out"
VOTE_COLUMNS = ("congress", "chamber", "rollnumber", "icpsr", "cast_code")
MEMBER_COLUMNS = ("congress", "chamber", "icpsr", "state_abbrev", "party_code", "bioname")

# 0 not a member; 1 yea, 2 paired yea, 3 announced yea; 4 announced nay, 5 paired nay, 6 nay; 7, 8 present; 9 not voting
CAST_CODES = {0: NOT_VOTING, **dict.fromkeys((1, 2, 3), YEA), **dict.fromkeys((4, 5, 6), NAY),
              **dict.fromkeys((7, 8, 9), NOT_VOTING)}  # fmt: skip
PARTIES = {100: "D", 200: "R", 328: "I"}


def from_voteview(
    congress: int,
    chamber: str,
    *,
    votes: AnyPath | None = None,
    members: AnyPath | None = None,
    participation: float = 0.5,
    n_valid: SplitSize = 0.15,
    n_test: SplitSize = 0.15,
    random_state: RandomState = 0,
) -> Dataset:
    """Return the roll calls of one Congress and chamber: one row per roll call, one variable per member.

    The paper's rules: yea (also paired or announced) is 1; nay, present and not voting are 0; members are kept who took
    a side in more than half of all roll calls. Variables are called like `ALEXANDER, Lamar (R)`; where two members
    share that, the state is added. Rows are in the order of roll numbers within each split.

    Args:
        congress: The number of the Congress, e.g. 116.
        chamber: "senate" or "house".
        votes: The file of votes (`HS116_votes.csv` or one that holds more), as path or address; by default it is
            downloaded from voteview.com.
        members: The file of members (`HS116_members.csv` or one that holds more); by default it is downloaded.
        participation: The fraction of roll calls that a member must exceed.
        n_valid: The number of validation rows, or their fraction.
        n_test: The number of test rows, or their fraction.
        random_state: The seed of the random assignment of roll calls to splits.
    """
    own_chamber = str(chamber).strip().capitalize()
    if own_chamber not in ("Senate", "House"):
        raise ParameterError(f"chamber: expected 'senate' or 'house', found {chamber!r}")
    if isinstance(congress, bool) or not isinstance(congress, int) or congress < 1:
        raise ParameterError(f"congress: expected a number of at least 1, found {congress!r}")
    votes = votes if votes is not None else _address("votes", congress, own_chamber)
    members = members if members is not None else _address("members", congress, own_chamber)
    labels, outsiders = _members(members, congress, own_chamber)
    ballots = _votes(votes, congress, own_chamber, labels, outsiders)
    name = f"{own_chamber.lower()}{congress}"
    source = f"Voteview: {os.fspath(votes)}, {os.fspath(members)}"
    return ballots.to_dataset(name, source, labels, participation, n_valid, n_test, random_state)


def _address(kind: str, congress: int, chamber: str) -> str:
    """Return the address of the public file of one chamber.

    Examples:
        >>> _address("votes", 116, "Senate")
        'https://voteview.com/static/data/out/votes/S116_votes.csv'
    """
    return f"{VOTEVIEW}/{kind}/{chamber[0]}{congress:03d}_{kind}.csv"


def _members(source: AnyPath, congress: int, chamber: str) -> tuple[dict[str, str], set[str]]:
    """Return the labels of the chamber's members, and who is listed but not in it (the President takes positions)."""
    labels, states, outsiders = dict[str, str](), dict[str, str](), set[str]()
    for line, row in rows_of(source, MEMBER_COLUMNS):
        place = f"{os.fspath(source)}, line {line}"
        if _whole(row["congress"], "congress", place) != congress:
            continue
        member = str(_whole(row["icpsr"], "icpsr", place))
        if row["chamber"].strip().capitalize() != chamber:
            outsiders.add(member)
            continue
        code = _whole(row["party_code"], "party_code", place)
        labels[member] = f"{row['bioname'].strip()} ({PARTIES.get(code, f'party {code}')})"
        states[member] = row["state_abbrev"].strip()
    if not labels:
        raise DataError(f"{os.fspath(source)}: expected members of the {chamber} of Congress {congress}, found none")
    return distinct(labels, states), outsiders


def _votes(source: AnyPath, congress: int, chamber: str, labels: dict[str, str], outsiders: set[str]) -> Ballots:
    """Return the members' votes, roll calls in the order of their numbers and members in that of their list."""
    found: list[tuple[int, str, int, str]] = []
    for line, row in rows_of(source, VOTE_COLUMNS):
        place = f"{os.fspath(source)}, line {line}"
        if row["chamber"].strip().capitalize() != chamber or _whole(row["congress"], "congress", place) != congress:
            continue
        member = str(_whole(row["icpsr"], "icpsr", place))
        code = _whole(row["cast_code"], "cast_code", place)
        if code not in CAST_CODES:
            raise DataError(f"{place}: expected a cast_code from 0 to 9, found {code}")
        if member in labels:
            found.append((_whole(row["rollnumber"], "rollnumber", place), member, CAST_CODES[code], place))
        elif member not in outsiders:
            raise DataError(f"{place}: member {member} is not in the file of members; are both of the same Congress?")
    if not found:
        raise DataError(f"{os.fspath(source)}: expected votes of the {chamber} of Congress {congress}, found none")
    ballots = Ballots()
    ballots.voters.update({member: place for place, member in enumerate(labels)})
    for number, member, vote, place in sorted(found, key=lambda item: item[0]):
        ballots.add(member, str(number), vote, f"{place}: ")
    return ballots


def _whole(text: str, column: str, place: str) -> int:
    """Return a whole number; some files write it with a decimal point."""
    try:
        number = float(text)
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise DataError(f"{place}: expected a whole number in column {column!r}, found {text!r}")
