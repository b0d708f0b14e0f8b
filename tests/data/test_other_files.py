"""Decimal commas, packed text and Excel sheets; and what is wrong with them."""

import gzip
from datetime import date, datetime

import pytest

from xspn.core.errors import DataError, MissingExtraError
from xspn.data import ReadOptions, read_table, read_table_file
from xspn.data.files import parse_csv


def read(text, **options):
    return parse_csv(text, "t.csv", ReadOptions(**options))


def test_decimal_commas_are_found():
    found = read("a;b;c\n1,5;1.234,5;x\n2;12,25;y\n-0,5;7;x\n")
    assert found.cells == (["1.5", "2", "-0.5"], ["1234.5", "12.25", "7"], ["x", "y", "x"])
    assert found.notes == ("t.csv: decimal commas in 2 columns",)
    assert read("1,5;2,5\n3,5;4,5\n").names == ("X0", "X1")  # no header of numbers
    assert read('a,b\n"1,5",2\n"2,5",3\n').cells[0] == ["1.5", "2.5"]


def test_one_column_tells_for_the_others():
    assert read("a;b\n1,25;1,234\n2,5;2,500\n").cells == (["1.25", "2.5"], ["1.234", "2.500"])
    assert read("a;b\n1,234,567;1,234\n2,500,000;2,500\n").cells[1] == ["1234", "2500"]


def test_a_comma_that_may_be_either_is_asked_for():
    text = "a;b\n1,234;x\n2,500;y\n"
    with pytest.raises(DataError, match=r"'1,234' at line 2, column 'a' may have a decimal comma") as caught:
        read(text)
    assert caught.value.remedy == "decimal"
    assert read(text, decimal=",").cells[0] == ["1.234", "2.500"]
    assert read(text, decimal=".").cells[0] == ["1234", "2500"]


def test_lists_in_cells_stay_text():
    assert read("a;b\n1,2,3;x\n2;y\n1,3;x\n").cells[0] == ["1,2,3", "2", "1,3"]
    assert read("a;b\n1,5;x\n1.5;y\n").cells[0] == ["1,5", "1.5"]  # two signs in one column: no decimal comma


def test_packed_text(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,x\n0,y\n"))
    assert read_table_file(str(path)).cells == (["1", "0"], ["x", "y"])
    path.write_bytes(gzip.compress(b"a,b\n1,x\n0,y\n")[:-6])
    with pytest.raises(DataError, match="a gzip file that is damaged or cut off"):
        read_table_file(str(path))


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("xspn.data.binary_files.MOST_BYTES", 100_000)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(bytes(10_000_000)))
    with pytest.raises(DataError, match=r"bytes in .* packed ones; unpack it"):
        read_table_file(str(path))


# -- Excel -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def book(tmp_path):
    """Write sheets of rows into a file."""
    openpyxl = pytest.importorskip("openpyxl")

    def write(**sheets):
        workbook = openpyxl.Workbook()
        workbook.remove(workbook.active)
        for name, rows in sheets.items():
            sheet = workbook.create_sheet(name)
            for row in rows:
                sheet.append(row)
        path = tmp_path / "book.xlsx"
        workbook.save(path)
        return path

    return write


def test_an_excel_sheet(book):
    rows = [
        ["name", "age", "happy", "since", "note"],
        ["ann", 4, True, date(2020, 1, 2), None],
        [None, None, None, None, None],
        ["bob", 4.5, False, datetime(2021, 3, 4, 5, 6), "NA"],
        ["cem", None, True, date(2020, 1, 2), "#DIV/0!"],
    ]
    path = book(People=rows, Other=[["x"], [1], [0]])
    found = read_table(path)
    assert found.names == ("name", "age", "happy", "since", "note")
    assert found.cells[1:] == (
        [4, 4.5, None],
        [True, False, True],
        ["2020-01-02", "2021-03-04 05:06:00", "2020-01-02"],
        [None, None, None],
    )
    assert found.lines == [2, 4, 5]
    assert [domain.kind for domain in found.read().schema.domains[1:3]] == ["real", "binary"]
    assert read_table(path, sheet="Other").names == ("x",)


def test_long_tables_and_baskets_in_excel(book):
    votes = [["voter", "ballot", "vote"], ["ann", 1, "yes"], ["ann", 2, "no"], ["bob", 1, "no"]]
    with pytest.warns(UserWarning, match="read as a long table"):
        assert read_table(book(A=votes)).cells == (["yes", "no"], ["no", None])
    baskets = [["milk", "bread"], ["beer"], ["bread", "milk", "eggs"], ["eggs", "beer"]]
    assert read_table(book(A=baskets), layout="baskets").names == ("milk", "bread", "beer", "eggs")


def test_what_is_wrong_with_excel_files(book, tmp_path, monkeypatch):
    path = book(A=[["a", "b"], [1, 0]], Empty=[])
    with pytest.raises(DataError, match="there is no sheet 'B'; it has 'A', 'Empty'"):
        read_table(path, sheet="B")
    with pytest.raises(DataError, match="the sheet 'Empty' is empty"):
        read_table(path, sheet="Empty")
    whole = path.read_bytes()
    for content in (b"no book at all", whole[:100], whole.replace(b"xl/workbook.xml", b"xl/workbuch.xml")):
        path.write_bytes(content)
        with pytest.raises(DataError, match="not an Excel file"):
            read_table(path)
    old = tmp_path / "old.xls"
    old.write_bytes(b"\xd0\xcf\x11\xe0")
    with pytest.raises(DataError, match=r"before 2007; save it as \.xlsx or CSV"):
        read_table(old)
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'xspn\[excel\]'"):
        read_table(path)
