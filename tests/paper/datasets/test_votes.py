"""Roll calls: Voteview's files and long tables, by the paper's rules."""

import csv

import numpy as np
import pytest

from xspn import datasets
from xspn.core.errors import DataError, DatasetMissingError, ParameterError
from xspn.paper.datasets.votes import random_splits

VOTES_HEADER = ["congress", "chamber", "rollnumber", "icpsr", "cast_code", "prob"]
MEMBERS_HEADER = [
    "congress", "chamber", "icpsr", "state_icpsr", "district_code", "state_abbrev", "party_code", "occupancy",
    "last_means", "bioname", "bioguide_id", "born", "died", "nominate_dim1", "nominate_dim2",
    "nominate_log_likelihood", "nominate_geo_mean_probability", "nominate_number_of_votes",
    "nominate_number_of_errors", "conditional", "nokken_poole_dim1", "nokken_poole_dim2",
]  # fmt: skip
MEMBERS = [  # congress, chamber, icpsr, state, party, name
    (116, "President", 99912, "USA", 200, "TRUMP, Donald John"),
    (116, "Senate", 40304, "TN", 200, "ALEXANDER, Lamar"),
    (116, "Senate", 29147, "VT", 328, "SANDERS, Bernard"),
    (116, "Senate", 41300, "MA", 100, "WARREN, Elizabeth"),
    (116, "Senate", 49703, "NM", 100, "UDALL, Tom"),
    (116, "Senate", 49704, "CO", 100, "UDALL, Tom"),
    (116, "Senate", 49705, "MN", 537, "NÚÑEZ, José"),
    (116, "House", 21500, "MI", 200, "AMASH, Justin"),
    (115, "Senate", 40304, "TN", 200, "ALEXANDER, Lamar"),
]
# one string per member, one cast code per roll call 1..5
CASTS = {40304: "11169", 29147: "61239", 41300: "69451", 49703: "66611", 49704: "99911", 49705: "07816", 99912: "16161"}


def write_voteview(folder, casts=CASTS):
    votes, members = folder / "HS116_votes.csv", folder / "HS116_members.csv"
    with members.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(MEMBERS_HEADER)
        for congress, chamber, icpsr, state, party, name in MEMBERS:
            writer.writerow([congress, chamber, icpsr, 0, 0, state, party, "", "", name, "X000000", *[""] * 11])
    with votes.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(VOTES_HEADER)
        for roll in (3, 1, 2, 5, 4):  # not in order
            for icpsr, codes in casts.items():
                writer.writerow([116, "Senate", roll, icpsr, codes[roll - 1], 99.5])
        writer.writerow([116, "House", 1, 21500, 1, 100])
        writer.writerow([115, "Senate", 1, 40304, 6, 100])
    return votes, members


def all_rows(d):
    """Return the rows of all splits."""
    return np.vstack([d.train, d.valid, d.test])


def sorted_rows(table):
    return sorted(map(tuple, table.tolist()))


def test_voteview_by_the_papers_rules(tmp_path):
    votes, members = write_voteview(tmp_path)
    d = datasets.from_voteview(116, "senate", votes=votes, members=members, n_valid=1, n_test=1)
    # Kept: a side taken in more than half of 5 roll calls. UDALL of Colorado took 2, NÚÑEZ 2; the President is none.
    assert d.feature_names == ("ALEXANDER, Lamar (R)", "SANDERS, Bernard (I)", "WARREN, Elizabeth (D)",
                               "UDALL, Tom (D), NM")  # fmt: skip
    assert d.n_rows == (3, 1, 1)
    by_ballot = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]]
    assert sorted_rows(all_rows(d)) == sorted(map(tuple, by_ballot))
    assert d.name == "senate116"
    assert "Voteview" in d.source
    assert d.truth is None


def test_ballots_keep_their_order_within_a_split(tmp_path):
    votes, members = write_voteview(tmp_path)
    d = datasets.from_voteview(116, "Senate", votes=votes, members=members, n_valid=0, n_test=0)
    assert d.train[:, 0].tolist() == [1, 1, 1, 0, 0]
    assert d.valid.shape == (0, 4)


def test_who_took_part_in_exactly_half_is_not_kept(tmp_path):
    casts = {40304: "1111", 29147: "1199", 41300: "1169", 49703: "1919"}
    votes, members = write_voteview(tmp_path, {k: v + "9" for k, v in casts.items()})
    lines = votes.read_text().splitlines(keepends=True)
    votes.write_text("".join(line for line in lines if ",Senate,5," not in line))  # four roll calls
    d = datasets.from_voteview(116, "SENATE", votes=votes, members=members, n_valid=0, n_test=0)
    assert d.feature_names == ("ALEXANDER, Lamar (R)", "WARREN, Elizabeth (D)")


def test_a_lower_bar_keeps_more_and_other_parties_have_their_code(tmp_path):
    votes, members = write_voteview(tmp_path)
    d = datasets.from_voteview(116, "senate", votes=votes, members=members, participation=0.3, n_valid=0, n_test=0)
    assert d.feature_names[-2:] == ("UDALL, Tom (D), CO", "NÚÑEZ, José (party 537)")


def test_voteview_files_can_be_addresses(tmp_path):
    votes, members = write_voteview(tmp_path)
    d = datasets.from_voteview(116, "house", votes=votes.as_uri(), members=members.as_uri(), n_valid=0, n_test=0)
    assert d.feature_names == ("AMASH, Justin (R)",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("icpsr,cast_code", "icpsr,code", "missing cast_code, found congress, chamber, rollnumber, icpsr, code"),
        ("116,Senate,3,40304,1,", "116,Senate,3,40304,12,", r"line 2: expected a cast_code from 0 to 9, found 12"),
        ("116,Senate,3,40304,1,", "116,Senate,3,40304,yea,", r"line 2: expected a whole number in column 'cast_code'"),
        ("116,Senate,3,40304,1,", "116,Senate,3,77777,1,", "member 77777 is not in the file of members"),
        ("116,Senate,3,29147,2,", "116,Senate,3,40304,2,", "voter '40304' has two votes on ballot '3'"),
        ("116,Senate,3,40304,1,99.5", "116,Senate,3", "line 2: the row ends before column 'icpsr'"),
    ],
)
def test_files_that_are_not_voteviews_are_refused_by_line(old, new, message, tmp_path):
    votes, members = write_voteview(tmp_path)
    text = votes.read_text()
    assert old in text
    votes.write_text(text.replace(old, new, 1))
    with pytest.raises(DataError, match=message):
        datasets.from_voteview(116, "senate", votes=votes, members=members)


def test_the_wrong_congress_chamber_or_file(tmp_path):
    votes, members = write_voteview(tmp_path)
    with pytest.raises(DataError, match="members of the Senate of Congress 90, found none"):
        datasets.from_voteview(90, "senate", votes=votes, members=members)
    with pytest.raises(ParameterError, match="expected 'senate' or 'house', found 'lords'"):
        datasets.from_voteview(116, "lords", votes=votes, members=members)
    with pytest.raises(ParameterError, match="congress"):
        datasets.from_voteview("116", "house", votes=votes, members=members)
    with pytest.raises(DatasetMissingError, match="no such file"):
        datasets.from_voteview(116, "senate", votes=tmp_path / "none.csv", members=members)
    (tmp_path / "latin.csv").write_bytes(members.read_text(encoding="utf-8").encode("latin-1"))
    with pytest.raises(DataError, match="expected a CSV file in UTF-8"):
        datasets.from_voteview(116, "senate", votes=votes, members=tmp_path / "latin.csv")


LONG = [
    ("ann", "b1", "yea", "left"),
    ("bob", "b1", "NAY", "right"),
    ("ann", "b2", "No", "left"),
    ("bob", "b2", "abstain", "right"),
    ("cem", "b2", "aye", "right"),
    ("ann", "b3", "1", "left"),
    ("bob", "b3", "yes", "right"),
]
LONG_TABLE = [[1, 0], [0, 0], [1, 1]]


def test_a_long_table_in_three_forms(tmp_path):
    pd = pytest.importorskip("pandas")
    path = tmp_path / "votes.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("who", "what", "how", "party"), *LONG])
    frame = pd.DataFrame(LONG, columns=["who", "what", "how", "party"])
    columns = ("who", "what", "how")
    for table, names in ((path, columns), (str(path), columns), (frame, columns), (LONG, ("voter", "ballot", "vote"))):
        d = datasets.from_votes(table, columns=names, n_valid=0, n_test=0)
        assert d.feature_names == ("ann (left)", "bob (right)")
        assert d.train.tolist() == LONG_TABLE
    without = datasets.from_votes([row[:3] for row in LONG], n_valid=0, n_test=0, participation=0.0)
    assert without.feature_names == ("ann", "bob", "cem")
    assert without.train[:, 2].tolist() == [0, 1, 0], "no row means no vote"


def test_numbers_booleans_and_missing_values_are_votes(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"voter": [7, 7, 7, 7], "ballot": [1, 2, 3, 4], "vote": [1.0, 0.0, np.nan, 1.0]})
    d = datasets.from_votes(frame, n_valid=0, n_test=0)
    assert d.feature_names == ("7",)
    assert d.train[:, 0].tolist() == [1, 0, 0, 1]
    d = datasets.from_votes([("a", 1, True), ("a", 2, False), ("a", 3, None)], n_valid=0, n_test=0)
    assert d.train[:, 0].tolist() == [1, 0, 0]


def test_codes_of_ones_own():
    rows = [("a", 1, 1), ("a", 2, 2), ("a", 3, 3), ("a", 4, 1)]
    d = datasets.from_votes(rows, yea=[1], nay=[2], other=[3], n_valid=0, n_test=0)
    assert d.train[:, 0].tolist() == [1, 0, 0, 1]
    swapped = datasets.from_votes(rows, yea=[2], nay=[1], other=[3], n_valid=0, n_test=0)
    assert swapped.train[:, 0].tolist() == [0, 1, 0, 0]
    with pytest.raises(DataError, match="in one of them"):
        datasets.from_votes(rows, yea=[1], nay=[1])


def test_who_changes_sides_is_one_voter():
    rows = [("a", i, "yea", party) for i, party in enumerate(["D", "D", "R", "D"])]
    assert datasets.from_votes(rows, n_valid=0, n_test=0).feature_names == ("a (D/R)",)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "expected votes, found none"),
        ([("a", 1, "perhaps")], r"row 0: expected a vote, found 'perhaps' \(voter 'a', ballot '1'\)"),
        ([("a", 1, "yes"), ("a", 1, "yes")], "row 1: voter 'a' has two votes on ballot '1'"),
        ([("a", 1)], "row 0: expected voter, ballot, vote"),
        (["abc"], "row 0: expected voter, ballot, vote"),
        ([("a", 1, ""), ("b", 1, "abstain")], r"none of the 2 voters took part in more than 50%"),
    ],
)
def test_tables_that_are_refused(rows, message):
    with pytest.raises(DataError, match=message):
        datasets.from_votes(rows, n_valid=0, n_test=0)


def test_missing_columns_are_named(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("voter,ballot\na,1\n")
    with pytest.raises(DataError, match="missing vote, found voter, ballot"):
        datasets.from_votes(path)
    pd = pytest.importorskip("pandas")
    with pytest.raises(DataError, match="missing vote"):
        datasets.from_votes(pd.DataFrame({"voter": ["a"], "ballot": [1]}))
    with pytest.raises(DataError, match="three names"):
        datasets.from_votes(path, columns=("voter",))
    with pytest.raises(ParameterError, match="participation"):
        datasets.from_votes([("a", 1, 1)], participation=50)


def test_rows_are_assigned_at_random_by_seed():
    first, second = random_splits(50, 0.2, 10, 1), random_splits(50, 0.2, 10, 1)
    assert [p.tolist() for p in first] == [p.tolist() for p in second]
    assert [len(p) for p in first] == [30, 10, 10]
    assert sorted(np.concatenate(first).tolist()) == list(range(50))
    assert first[1].tolist() != random_splits(50, 0.2, 10, 2)[1].tolist()
    for bad in (-1, 1.5, True, "3"):
        with pytest.raises(ParameterError, match="n_valid"):
            random_splits(50, bad)
    with pytest.raises(ParameterError, match="leave some of the 5 rows for training"):
        random_splits(5, 3, 2)
