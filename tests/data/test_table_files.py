"""Tables from files: delimiters, headers, missing values, types, and where things are wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xspn.core.errors import DataError
from xspn.data import ReadOptions, TableFile, read_table_file, write_table_file
from xspn.data.domain import Domain
from xspn.data.files import parse_csv
from xspn.data.write import rendered


def table(text, **options):
    return parse_csv(text, "t.csv", ReadOptions(**options))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter):
    text = "\n".join(delimiter.join(row) for row in (["a", "b", "c"], ["1", "x y", "2.5"], ["0", "z", ""]))
    found = table(text + "\n")
    assert found.names == ("a", "b", "c")
    assert found.cells == (["1", "0"], ["x y", "z"], ["2.5", None])


def test_commas_inside_of_cells():
    found = table('a;b\n"1;5";2,5\n3;4,0\n')
    assert found.cells == (["1;5", "3"], ["2.5", "4.0"])
    assert table('a;b\n"1;5";2,5\n3;4,0\n', decimal=".").cells == (["1;5", "3"], ["2,5", "4,0"])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b\n1,0\n", ("a", "b")),
        ("1,0\n0,1\n", ("X0", "X1")),
        ("name,colour\nann,red\nbob,red\n", ("name", "colour")),
        ("ann,red\nbob,red\n", ("X0", "X1")),
        ("a\n1\n2\n", ("a",)),
        ("a,b\nyes,no\n", ("a", "b")),
    ],
)
def test_the_header_is_found(text, names):
    assert table(text).names == names


def test_the_header_can_be_said():
    assert table("ann,red\nbob,red\n", header=True).names == ("ann", "red")
    assert table("a,b\n1,0\n", header=False).cells == (["a", "1"], ["b", "0"])


def test_lines_are_counted_as_editors_do():
    found = table('a,b\n1,"two\nlines"\n\n3,4\n')
    assert found.lines == [2, 5]
    assert found.place(1, 0) == "line 5, column 'a'"


def test_the_types_of_columns():
    text = "bit,word,yes,step,real,name,hole\n" + "".join(
        f"{i % 2},{'abc'[i % 3]},{('no', 'Yes')[i % 2]},{i % 5},{i / 3:.3f},00{i % 3},\n" for i in range(30)
    )
    found = table(text.replace("Yes", "yes")).read()
    schema, codes = found.schema, found.codes
    assert [domain.kind for domain in schema.domains] == [
        "binary",
        "categorical",
        "binary",
        "ordinal",
        "real",
        "categorical",
        "binary",
    ]
    assert schema.labels[1] == ("a", "b", "c")
    assert schema.labels[2] == ("no", "yes")
    assert schema.labels[5] == ("000", "001", "002")
    assert schema.dtypes == ("int64", "str", "str", "int64", "float64", "str", "float64")
    assert np.isnan(codes[:, 6]).all()


def test_domains_that_are_asked_for():
    source = table("size,year,mood\nlarge,2001,1\nsmall,2003,3\nlarge,2002,2\n")
    found = source.read({"size": ["small", "large"], "year": "ordinal", "mood": "real"})
    schema, codes = found.schema, found.codes
    assert schema.domains == (Domain(2), Domain.ordinal(3), Domain.real())
    assert schema.labels == (("small", "large"), (2001, 2002, 2003), None)
    assert codes.tolist() == [[1, 0, 1], [0, 2, 3], [1, 1, 2]]


def test_codes_of_a_models_columns_go_by_name():
    schema = table("a,b\n1,x\n0,y\n").read().schema
    other = table("extra,b,a\n9,y,\n9,x,1\n")
    np.testing.assert_array_equal(other.encoded_by(schema), [[np.nan, 1], [1, 0]])
    with pytest.raises(DataError, match=r"t\.csv: the table lacks the column 'b' that the model knows"):
        table("a\n1\n0\n").encoded_by(schema)
    assert table("a\n1\n0\n").encoded_by(schema, absent_is_missing=["b"]).shape == (2, 2)


CELL = st.text(
    alphabet=st.characters(codec="utf-8", exclude_characters="\0\r\n", exclude_categories=("C", "Z")), min_size=1
)


@given(st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=8))
def test_what_is_written_is_read_again(rows):
    columns = [list(column) for column in zip(*rows, strict=True)]
    text = rendered(["first name", "second"], columns, "csv").decode()
    found = parse_csv(text, "t.csv", ReadOptions(delimiter=",", header=True, layout="wide", decimal="."), missing=())
    assert found.cells == tuple(columns)


def test_parquet_and_npz(tmp_path):
    pytest.importorskip("pyarrow")
    names, columns = ["a", "b", "c", "d"], [[1, None, 3], ["x", "y", None], [True, False, None], [0.5, None, 1.5]]
    write_table_file(str(tmp_path / "t.parquet"), names, columns)
    found = read_table_file(str(tmp_path / "t.parquet"))
    assert found == TableFile(str(tmp_path / "t.parquet"), tuple(names), tuple(columns))
    assert found.read().schema.dtypes == ("Int64", "str", "boolean", "float64")
    np.savez(tmp_path / "t.npz", X=np.array([[0, 1.5], [1, np.nan]]), names=np.array(["p", "q"]))
    found = read_table_file(str(tmp_path / "t.npz"))
    assert found.names == ("p", "q")
    assert found.cells == ([0.0, 1.0], [1.5, None])


def test_encodings_and_marks(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("\ufeffa,b\n1,caf\xe9\n".encode())
    assert read_table_file(str(path)).names == ("a", "b")
    path.write_bytes("a,b\r\n1,caf\xe9\r\n0,-\r\n".encode("latin-1"))
    found = read_table_file(str(path), ReadOptions(encoding="latin-1", missing=("-",)))
    assert found.cells == (["1", "0"], ["caf\xe9", None])
