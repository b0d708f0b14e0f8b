"""From single votes to a table of ballots × voters, by the paper's rules."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from xspn.core.errors import DataError, ParameterError
from xspn.core.random import RandomState
from xspn.paper.datasets.dataset import Dataset
from xspn.paper.datasets.splits import Share, random_splits

YEA, NAY, NOT_VOTING = 1, 2, 0


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
        n_valid: Share = 0.15,
        n_test: Share = 0.15,
        random_state: RandomState = 0,
    ) -> Dataset:
        """Return one row per ballot and one variable per voter: yea is 1, nay or abstention 0.

        Args:
            name: The data set's name.
            source: Where the votes come from.
            labels: The variables' names, by voter; the voter itself by default.
            participation: Voters are kept who cast a yea or a nay in *more* than this share of all ballots.
            n_valid: The number of validation rows, or their share.
            n_test: The number of test rows, or their share.
            random_state: The seed of the random assignment of rows to splits.
        """
        if not 0 <= participation < 1:
            raise ParameterError(f"participation: expected a share from 0 to below 1, found {participation!r}")
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
