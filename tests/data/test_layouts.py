"""Baskets and long tables: what is certain is recognized, what may be either is refused, plain tables stay plain."""

import numpy as np
import pytest

from xspn.core.errors import DataError, ParameterError, TableWarning
from xspn.data import ReadOptions, Table, read_table
from xspn.data.column_types import identifier
from xspn.data.files import parse_csv
from xspn.data.layouts import LongColumns

BASKETS = "milk,bread\nbeer\nbread,milk,eggs\nbeer,chips\neggs,beer,milk\n"
LONG = "order_id,product,quantity\n7,milk,2\n7,bread,1\n8,beer,1\n9,milk,3\n9,beer,0\n"
VOTES = "voter,ballot,vote\nann,b1,yes\nann,b2,no\nbob,b1,no\ncem,b2,yes\n"


def read(text, **options):
    return parse_csv(text, "t.csv", ReadOptions(**options))


def rows(table):
    return [dict(zip(table.names, own, strict=True)) for own in zip(*table.cells, strict=True)]


# -- baskets -----------------------------------------------------------------------------------------------------------


def test_ragged_lines_are_baskets():
    found = read(BASKETS)
    assert found.names == ("milk", "bread", "beer", "eggs", "chips")
    assert found.cells[0] == [1, 0, 1, 0, 1]
    assert (found.is_listed, found.absent, found.lines) == (True, 0, [1, 2, 3, 4, 5])
    assert found.notes == ("t.csv: read as baskets, 5 lines: 5 rows of 5 items",)
    assert read(BASKETS, layout="baskets").notes == ()
    assert found.read().schema.are_binary


@pytest.mark.parametrize(
    "text",
    [
        BASKETS.replace(",", ";"),
        BASKETS.replace(",", "\t"),
        "items\n" + BASKETS,
        "item 1,item 2,item 3\n" + BASKETS,
    ],
    ids=["semicolons", "tabs", "a heading", "a heading of three"],
)
def test_baskets_of_other_forms(text):
    assert set(read(text).names) == {"milk", "bread", "beer", "eggs", "chips"}
    assert len(read(text).cells[0]) == 5


def test_baskets_padded_with_empty_cells():
    padded = "".join(line + "," * (3 - line.count(",")) + "\n" for line in BASKETS.splitlines())
    assert read(padded).cells == read(BASKETS).cells
    headed = "item 1,item 2,item 3,item 4\n" + padded
    assert read(headed).cells == read(BASKETS).cells


def test_the_number_of_items_before_them_is_no_item():
    lines = [f"{line.count(',') + 1},{line}" for line in BASKETS.splitlines()]
    counted = "Item(s),Item 1,Item 2,Item 3\n" + "".join(line + "," * (3 - line.count(",")) + "\n" for line in lines)
    assert read(counted).names == read(BASKETS).names
    assert read(counted).cells == read(BASKETS).cells


def test_no_basket_is_taken_for_a_heading():
    assert read("bread,butter\nbeer,caviar\n", layout="baskets").cells[0] == [1, 0]
    assert read("caviar\nmilk\nbread,milk\n", layout="baskets").names == ("caviar", "milk", "bread")
    assert read("items\nmilk\nbread,milk\n", layout="baskets").names == ("milk", "bread")
    assert read("items\nmilk\nbread,milk\n", layout="baskets", header=False).names[0] == "items"
    assert read("odd\nmilk\nbread,milk\n", layout="baskets", header=True).names == ("milk", "bread")


def test_numbers_with_spaces_between_them_are_baskets():
    found = read("1 2 3\n2\n3 1\n5 2 1\n")
    assert found.names == ("1", "2", "3", "5")
    assert found.cells[0] == [1, 0, 1, 1]


@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\n1,0,1\n1,0\n0,1,1\n1,1,1\n",  # a line that was cut off
        "yes,no,yes\nno,no\nyes,yes,no\nno,yes\n",  # answers: a cell twice in a line
        "ann,red,4\nbob,blue\ncem,red,5\ndan,green\neve,blue,4\n",  # values stay in their columns
        "1.5,2.5\n2.5\n1.5,2.5,3.5\n2.5,1.5\n",  # measured numbers
    ],
)
def test_damaged_tables_are_not_taken_for_baskets(text):
    with pytest.raises(DataError, match=r"expected . cells? as in line 1, found") as caught:
        read(text)
    assert caught.value.remedy == "ragged"


@pytest.mark.parametrize(
    "text",
    [
        "city,color,size\nBonn,red,\nRome,blue,S\nBonn,red,L\nRome,blue,\n",
        "q1,q2,q3\nyes,no,\nno,no,yes\nyes,yes,\nno,yes,no\n",
        "q1,q2,q3\n1,2,\n3,1,2\n2,,\n1,3,\n",
    ],
    ids=["labels", "answers", "numbers"],
)
def test_tables_with_empty_cells_at_the_end_stay_plain(text):
    found = read(text)
    assert not found.is_listed
    assert found.notes == ()


def test_rare_items_are_left_out_on_demand():
    found = read(BASKETS, min_support=2)
    assert found.names == ("milk", "bread", "beer", "eggs")
    assert "1 item in fewer than 2 rows left out" in found.notes[0]
    with pytest.raises(DataError, match="none of 5 items is in 9 rows or more; the most frequent one is in 3"):
        read(BASKETS, min_support=9)


# -- long tables -------------------------------------------------------------------------------------------------------


def test_a_long_table_of_quantities():
    found = read(LONG)
    assert rows(found) == [
        {"milk": 1, "bread": 1, "beer": 0},
        {"milk": 0, "bread": 0, "beer": 1},
        {"milk": 1, "bread": 0, "beer": 0},  # a quantity of 0 is none
    ]
    assert found.row_names == ["7", "8", "9"]
    assert found.lines == [2, 4, 5]
    assert "quantities above 0 become 1" in found.notes[0]
    assert read(LONG, layout="long").notes  # that quantities are lost is told even so
    counts = read(LONG, absent="0")
    assert rows(counts)[0] == {"milk": "2", "bread": "1", "beer": 0}
    assert [domain.kind for domain in counts.read().schema.domains] == ["ordinal", "binary", "binary"]


def test_a_long_table_of_votes_has_missing_ones():
    found = read(VOTES)
    assert rows(found) == [{"b1": "yes", "b2": "no"}, {"b1": "no", "b2": None}, {"b1": None, "b2": "yes"}]
    assert found.absent is None
    codes = found.read().codes
    assert np.isnan(codes).tolist() == [[False, False], [False, True], [True, False]]


def test_a_long_table_of_listed_items():
    found = read("basket,item\n1,a\n1,b\n2,a\n2,a\n")
    assert found.cells == ([1, 1], [1, 0])  # listed twice is listed
    reordered = read("item,basket\na,1\nb,1\na,2\n")
    assert reordered.names == ("a", "b")


def test_columns_of_a_long_table_can_be_named():
    text = "member,date,shop,article\n" + "".join(f"{i % 3},{i % 2},x,{'abc'[i % 3]}{i % 2}\n" for i in range(12))
    found = read(text, long=LongColumns(("member", "date"), "article"))
    assert found.row_names[:2] == ["0 0", "1 1"]
    assert found.names == ("a0", "b1", "c0", "a1", "b0", "c1")
    with pytest.raises(ParameterError, match="of 4 columns say which they are"):
        read(text, layout="long")
    with pytest.raises(DataError, match="there is no column 'artikle'; did you mean 'article'"):
        read(text, long=LongColumns(("member",), "artikle"))
    with pytest.raises(ParameterError, match="needs to know which column names the item"):
        read(text, long=LongColumns(("member",)))


def test_votes_are_not_lost_where_only_row_and_item_are_named():
    found = read(VOTES, long=LongColumns(("ballot",), "voter"))  # 'vote' holds the values, by its name
    assert rows(found) == [{"ann": "yes", "bob": "no", "cem": None}, {"ann": "no", "bob": None, "cem": "yes"}]
    assert "a column for each voter, with the values of 'vote'" in found.notes[0]
    assert not read(VOTES, long=LongColumns(("ballot",), "voter", "vote")).notes  # as it was asked for
    several = read("who,what,vote,rating\na,x,yes,1\nb,x,no,2\n", long=LongColumns(("who",), "what"))
    assert several.cells == ([1, 1],)  # which of two it is nobody knows: what is listed counts


def test_two_votes_of_one_voter_must_agree():
    assert read(VOTES + "ann,b1,yes\n").cells[0] == ["yes", "no", None]
    with pytest.raises(DataError, match=r"'ann' has 'b1' twice, .* 'yes' and 'no' \(line 6, column 'vote'\)"):
        read(VOTES + "ann,b1,no\n")
    with pytest.raises(DataError, match="found none at line 6, column 'ballot'"):
        read(VOTES + "ann,,no\n")


def unnamed(n_rows=40, n_items=8):
    rng = np.random.default_rng(0)
    pairs = [(i, j) for i in range(n_rows) for j in range(n_items) if rng.random() < 0.5]
    return "u,v\n" + "".join(f"{i},item {j}\n" for i, j in pairs)


def test_what_looks_long_is_asked_for():
    with pytest.raises(DataError, match=r"looks like a long table, a line for each 'u' and 'v'") as caught:
        read(unnamed())
    assert caught.value.remedy == "layout"
    assert len(read(unnamed(), layout="long").names) == 8
    assert read(unnamed(), layout="wide").names == ("u", "v")


@pytest.mark.parametrize("seed", range(5))
def test_two_plain_columns_do_not_look_long(seed):
    rng = np.random.default_rng(seed)
    for sizes in ((5, 3), (40, 40), (100, 2), (200, 1)):
        lines = ["age,city", *(f"{rng.integers(sizes[0])},c{rng.integers(sizes[1])}" for _ in range(200))]
        assert read("\n".join(lines)).names == ("age", "city")


def test_countries_and_capitals_are_plain():
    text = "customer,item\n" + "".join(f"c{i},i{i % 3}\n" for i in range(30))  # no customer occurs again
    assert read(text).names == ("customer", "item")


# -- asked by a model --------------------------------------------------------------------------------------------------


def test_items_that_no_basket_has_are_absent_and_votes_missing():
    schema = read(BASKETS).read().schema
    found = read("milk\nbeer,milk\n", layout="baskets").encoded_by(schema)
    assert found.tolist() == [[1, 0, 0, 0, 0], [1, 0, 1, 0, 0]]
    votes = read(VOTES).read().schema
    some = read("voter,ballot,vote\neve,b1,no\neve,b9,yes\n").encoded_by(votes)
    assert some[0, 0] == 0
    assert np.isnan(some[0, 1])
    with pytest.raises(DataError, match="the table lacks the column 'milk' that the model knows"):
        read("tea\ntea,cake\n", layout="baskets").encoded_by(schema)


def test_the_layout_is_an_option_in_python(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text(BASKETS)
    assert read_table(path, layout="baskets").names[0] == "milk"
    with pytest.warns(TableWarning, match="read as baskets"):
        assert Table.of(path).schema.are_binary
    with pytest.raises(ParameterError, match="layout: expected one of 'auto', 'wide', 'baskets', 'long', found 'tall'"):
        read_table(path, layout="tall")
    with pytest.raises(ParameterError, match="unexpected keyword argument 'seperator'"):
        read_table(path, seperator=";")
    with pytest.raises(ParameterError, match="named for a long table, not for 'wide'"):
        read_table(path, layout="wide", item="b")


# -- identifiers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cells", "is_identifier"),
    [
        ("name", [f"p{i}" for i in range(20)], True),
        ("name", [f"p{i}" for i in range(19)], False),  # too few to say
        ("row", [str(i) for i in range(1, 51)], True),
        ("whatever", [str(i) for i in range(50)], True),
        ("year", [str(i) for i in range(1950, 2020)], False),
        ("customer_id", [str(1000 + 7 * i) for i in range(50)], True),
        ("orderID", [1000 + 7 * i for i in range(50)], True),
        ("income", [str(1000 + 7 * i) for i in range(50)], False),
        ("grid", [str(1000 + 7 * i) for i in range(50)], False),
        ("size_id", [str(i % 5) for i in range(50)], False),
        ("weight", [f"{i / 7:.5f}" for i in range(50)], False),
        ("city", ["Bonn", "Rome"] * 25, False),
        ("marks", ["²" * i for i in range(1, 31)], True),  # digits that are no numbers
        ("long_id", [f"{'9' * 5000}{i}" for i in range(30)], True),  # numbers that int() refuses to read
        ("long", [f"{'9' * 5000}{i}" for i in range(30)], False),
        ("whole", [10**5000 + i for i in range(30)], False),
    ],
)
def test_what_looks_like_an_identifier(name, cells, is_identifier):
    assert (identifier(name, cells) is not None) == is_identifier


def test_identifiers_of_a_file_are_left_out_with_a_word(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("name,age\n" + "".join(f"p{i},{i % 4}\n" for i in range(30)))
    with pytest.warns(TableWarning, match=r"column 'name' is left out: .* \(30 different texts in 30 rows\)"):
        assert Table.of(path).schema.names == ("age",)
    assert Table.of(path, domains={"name": "categorical"}).schema.names == ("name", "age")
    alone = tmp_path / "names.csv"
    alone.write_text("name\n" + "".join(f"p{i}\n" for i in range(30)))
    assert Table.of(alone).schema.names == ("name",)  # nothing would be left


# -- what is in memory already -----------------------------------------------------------------------------------------


def test_lists_and_frames_are_read_too():
    pandas = pytest.importorskip("pandas")
    found = read_table([["milk", "bread"], [], {"milk"}], layout="baskets")
    assert found.cells == ([1, 0, 1], [1, 0, 0])
    frame = pandas.DataFrame({"voter": ["a", "a", "b"], "ballot": [1, 2, 1], "vote": ["yes", None, "no"]})
    with pytest.warns(TableWarning, match="table: read as a long table, a row for each voter and"):
        votes = read_table(frame)
    assert votes.cells == (["yes", "no"], [None, None])
    assert read_table(frame, layout="wide").names == ("voter", "ballot", "vote")
    with pytest.raises(ParameterError, match="lists are read as 'baskets', not as 'auto'"):
        read_table([["milk"]])
    with pytest.raises(DataError, match="expected a path, a DataFrame or lists of items, found int"):
        read_table(7)
