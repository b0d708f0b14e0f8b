"""From baskets, long tables and sheets to next items; and wrong inputs of it, each answered in one line."""

import csv
import gzip
import io
import json

import numpy as np
import pytest

from xspn import load

SHELVES = {"food": ["bread", "butter", "jam", "milk"], "party": ["beer", "chips", "salsa"], "house": ["soap", "bags"]}


def baskets(n=150):
    rng = np.random.default_rng(0)
    found = []
    for _ in range(n):
        own = SHELVES[rng.choice(list(SHELVES), p=[0.5, 0.3, 0.2])]
        found.append([str(item) for item in rng.permutation(own)[: rng.integers(1, len(own) + 1)]])
    return found


@pytest.fixture(scope="module")
def shop_text():
    return "".join(",".join(own) + "\n" for own in baskets())


@pytest.fixture(scope="module")
def shop_model(tmp_path_factory, shop_text):
    from xspn.cli import main

    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.csv").write_text(shop_text)
    shelves = "item,shelf\n" + "".join(f"{item},{shelf}\n" for shelf, own in SHELVES.items() for item in own)
    (folder / "shelves.csv").write_text(shelves)
    fit = ["fit", str(folder / "shop.csv"), "-o", str(folder / "m.json"), "--attributes", str(folder / "shelves.csv")]
    assert main(fit) == 0
    return (folder / "m.json").read_bytes()


@pytest.fixture
def shop(tmp_path, shop_text, shop_model, monkeypatch):
    """A folder with a shop's baskets in several forms, and a model of them."""
    monkeypatch.chdir(tmp_path)
    long = "order_id,product\n" + "".join(f"{i},{item}\n" for i, own in enumerate(baskets()) for item in own)
    (tmp_path / "shop.csv").write_text(shop_text)
    (tmp_path / "shop.csv.gz").write_bytes(gzip.compress(shop_text.encode()))
    (tmp_path / "long.csv").write_text(long)
    (tmp_path / "carts.csv").write_text("bread,butter\nbeer,caviar\n")
    (tmp_path / "m.json").write_bytes(shop_model)
    return tmp_path


def test_all_forms_give_one_model(shop, run):
    for name in ("shop.csv", "shop.csv.gz", "long.csv"):
        status, out, err = run("fit", name, "-o", f"{name}.json", "--json")
        assert status == 0
        assert json.loads(out)["variables"] == {"binary": 9}
        assert "(--layout wide reads it as it is)" in err
    models = [load(f"{name}.json") for name in ("shop.csv", "long.csv")]
    assert models[0].names == models[1].names
    np.testing.assert_array_equal(models[0].marginals(), models[1].marginals())
    status, _, err = run("fit", "shop.csv", "-o", "b.json", "--layout", "baskets")
    assert (status, err) == (0, "")


def test_next_items(shop, run):
    status, out, err = run("recommend", "m.json", "bread", "butter", "-k", "2")
    lines = [line.split("\t") for line in out.splitlines()]
    assert (status, err) == (0, "")
    assert lines[0] == ["item", "P", "lift"]
    assert {line[0] for line in lines[1:]} == {"jam", "milk"}
    expected = load("m.json").recommend(["bread", "butter"], k=2)
    status, out, _ = run("recommend", "m.json", "bread", "butter", "-k", "2", "--json")
    assert json.loads(out) == {
        "basket": ["bread", "butter"],
        "given": [],
        "items": [{"item": own.item, "probability": own.probability, "lift": own.lift} for own in expected],
    }


def test_next_items_of_a_table(shop, run):
    status, out, err = run("recommend", "m.json", "--baskets", "carts.csv", "-k", "1")
    rows = list(csv.reader(io.StringIO(out)))
    assert status == 0
    assert rows[0] == ["basket", "rank", "item", "probability", "lift"]
    assert [row[:2] for row in rows[1:]] == [["1", "1"], ["2", "1"]]
    assert {rows[1][2], rows[2][2]} <= {"jam", "milk", "chips", "salsa"}
    assert "carts.csv: passed over 1 item that the model does not know: caviar" in err
    status, out, _ = run("recommend", "m.json", "--baskets", "long.csv", "-k", "2", "--json")
    found = json.loads(out)["baskets"]
    assert [own["basket"] for own in found[:2]] == ["0", "1"]
    assert max(len(own["items"]) for own in found) == 2
    status, out, _ = run("recommend", "m.json", "--baskets", "shop.csv", "-k", "2", "-o", "next.csv")
    assert out == "next items of 150 baskets written to next.csv\n"
    assert len((shop / "next.csv").read_text().splitlines()) == sum(min(2, 9 - len(own)) for own in baskets()) + 1


def test_attributes_are_kept_and_told(shop, run):
    model = load("m.json")
    assert [name for name, _ in model.schema.attributes] == ["shelf"]
    assert dict(zip(model.names, model.schema.attributes[0][1], strict=True))["beer"] == "party"
    assert "; shelf food 100 %)" in run("show", "m.json")[1]
    for picture in ("--png", "--map", "--contexts"):
        assert run("show", "m.json", picture, "p.png")[0] == 0


def test_identifiers_are_left_out_with_a_word(survey, tmp_path, run):
    status, _, err = run("fit", survey, "-o", tmp_path / "m.json", "--json")
    assert status == 0
    assert "column 'name' is left out: it looks like a row identifier (300 different texts in 300 rows)" in err
    assert err.count("\n") == 1
    assert "name" not in load(tmp_path / "m.json").names
    assert run("score", tmp_path / "m.json", survey)[0] == 0  # the same table: the column is passed over
    status, _, err = run("fit", survey, "-o", tmp_path / "n.json", "--domains", "name=categorical", "--exclude", "att*")
    assert (status, err) == (0, "")
    assert "name" in load(tmp_path / "n.json").names


@pytest.mark.parametrize("command", ["segments", "impute", "classify", "score"])
def test_answers_about_the_rows_of_a_long_table_say_which_row(tmp_path, run, command):
    lines = ["voter,ballot,vote"]
    for i in range(40):
        lines += [f"v{i},b{j},{'yes' if (i + j) % 2 else 'no'}" for j in range(4) if (i, j) != (3, 1)]
    votes, model, written = (str(tmp_path / name) for name in ("votes.csv", "m.json", "rows.csv"))
    (tmp_path / "votes.csv").write_text("\n".join(lines))
    assert run("fit", votes, "-o", model)[0] == 0
    target = ["--target", "b0"] if command == "classify" else []
    assert run(command, model, votes, "-o", written, *target)[0] == 0
    found = (tmp_path / "rows.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in found] == ["voter", *(f"v{i}" for i in range(40))]


OUT = ["-o", "out.json"]
WRONG = {
    "an unknown item": (["recommend", "m.json", "bred"], "basket: there is no item 'bred'; did you mean 'bread'?"),
    "no number of items": (["recommend", "m.json", "bread", "-k", "0"], "-k: expected a number of items of at least 1"),
    "half a number": (["recommend", "m.json", "bread", "-k", "1.5"], "argument -k: invalid int value: '1.5'"),
    "items beside a table": (
        ["recommend", "m.json", "bread", "--baskets", "carts.csv"],
        "--baskets: a table of baskets stands instead of items, not beside them",
    ),
    "no such table": (["recommend", "m.json", "--baskets", "none.csv"], "none.csv: no such file"),
    "everything in the basket": (
        ["recommend", "m.json", *(item for own in SHELVES.values() for item in own)],
        "there is nothing left to recommend",
    ),
    "an unknown pattern": (["recommend", "m.json", "--items", "x*"], "items: there is no item 'x*'"),
    "excluding the unknown": (["recommend", "m.json", "--exclude", "beet"], "--exclude: there is no column 'beet'"),
    "an item as evidence": (
        ["recommend", "m.json", "--items", "b*", "--given", "beer=1"],
        "given: 'beer' is an item; put it into the basket",
    ),
    "baskets of another shop": (
        ["recommend", "m.json", "--baskets", "other.csv"],
        "other.csv: the model knows none of its items, such as 'nails'",
    ),
    "two inputs at once": (["recommend", "-", "--baskets", "-"], "only one of model and table can come from standard"),
    "the answer over the model": (
        ["recommend", "m.json", "bread", "-o", "m.csv"],
        "m.csv: the output would replace what is read",
    ),
    "an unknown ending": (["recommend", "m.json", "bread", "-o", "out.doc"], "out.doc: expected a name ending in"),
    "ragged lines": (
        ["fit", "cut.csv", *OUT],
        "cut.csv, line 3: expected 3 cells as in line 1, found 2 (the delimiter is ',') (if each line is a basket",
    ),
    "a table that may be long": (
        ["fit", "unnamed.csv", *OUT],
        "unnamed.csv: looks like a long table, a line for each 'u' and 'v' (no pair occurs twice); say whether its "
        "layout is 'long' or 'wide' (on the command line: --layout long, baskets or wide)",
    ),
    "an unknown layout": (["fit", "shop.csv", *OUT, "--layout", "tall"], "argument --layout: invalid choice: 'tall'"),
    "a long table of many columns": (
        ["fit", "wide.csv", *OUT, "--layout", "long"],
        "of 4 columns say which they are (on the command line: --row NAME --item NAME",
    ),
    "an unknown column": (
        ["fit", "long.csv", *OUT, "--row", "order", "--item", "product"],
        "long.csv: there is no column 'order'; did you mean 'order_id'?",
    ),
    "long names for baskets": (
        ["fit", "shop.csv", *OUT, "--layout", "baskets", "--item", "x"],
        "--row, --item, --value, --absent: for long tables, not for --layout baskets",
    ),
    "two votes": (["fit", "votes.csv", *OUT], "votes.csv: 'ann' has 'b1' twice, with the values 'yes' and 'no'"),
    "words where zeros are": (
        ["fit", "votes.csv", *OUT, "--absent", "0"],
        "votes.csv: expected numbers where 0 stands for items that are not listed, found 'yes' at line 2",
    ),
    "too much support": (["fit", "shop.csv", *OUT, "--min-support", "999"], "is in 999 rows or more"),
    "no support": (
        ["fit", "shop.csv", *OUT, "--min-support", "0"],
        "--min-support: expected a number of rows of at",
    ),
    "either comma": (
        ["fit", "comma.csv", *OUT],
        "comma.csv: '1,234' at line 2, column 'a' may have a decimal comma, or one between thousands; say which sign "
        "is decimal (on the command line: --decimal , or --decimal .)",
    ),
    "no decimal sign": (["fit", "comma.csv", *OUT, "--decimal", "x"], "--decimal: expected . or , found 'x'"),
    "half a packed file": (["fit", "half.csv.gz", *OUT], "half.csv.gz: a gzip file that is damaged or cut off"),
    "no Excel file": (["fit", "fake.xlsx", *OUT], "fake.xlsx: not an Excel file of sheets"),
    "an old Excel file": (["fit", "old.xls", *OUT], "old.xls: an Excel file of before 2007; save it as .xlsx or CSV"),
    "attributes of other columns": (
        ["fit", "wide.csv", *OUT, "--attributes", "shelf.csv"],
        "shelf.csv: no row is about a column of the table; expected names such as 'a', 'b', 'c' in some column",
    ),
    "attributes of rows": (
        ["fit", "parties.long.csv", *OUT, "--layout", "long", "--attributes", "parties.csv"],
        "parties.csv: is about rows of the table, such as 'ann', and attributes are of columns; let what tells rows "
        "apart be the item, so that each of them is a column (on the command line: --row NAME --item NAME",
    ),
    "attributes given twice": (["fit", "wide.csv", *OUT, "--attributes", "twice.csv"], "twice.csv: 'a' occurs twice"),
    "no attributes": (["fit", "wide.csv", *OUT, "--attributes", "none.csv"], "none.csv: no such file"),
}


@pytest.fixture
def wrong_files(shop):
    contents = {
        "other.csv": "nails,wood\nwood\nwood,nails,glue\n",
        "shelf.csv": "item,shelf\nnails,3\nwood,4\n",
        "cut.csv": "a,b,c\n1,0,1\n1,0\n" + "0,1,1\n" * 30,
        "unnamed.csv": "u,v\n" + "".join(f"{i},{j}\n" for i in range(30) for j in range(6) if (i + j) % 3),
        "wide.csv": "a,b,c,d\n" + "1,0,1,1\n0,1,0,1\n1,1,0,0\n" * 4,
        "votes.csv": "voter,ballot,vote\nann,b1,yes\nann,b2,no\nann,b1,no\nbob,b1,no\n",
        "comma.csv": "a;b\n1,234;x\n2,500;y\n",
        "fake.xlsx": "no book",
        "old.xls": "no book",
        "twice.csv": "column,group\na,x\nb,x\na,y\n",
        "parties.csv": "voter,party\nann,left\nbob,right\n",
        "parties.long.csv": "voter,ballot,vote\nann,b1,yes\nann,b2,no\nbob,b1,no\nbob,b2,no\n",
    }
    for name, content in contents.items():
        (shop / name).write_text(content)
    (shop / "half.csv.gz").write_bytes((shop / "shop.csv.gz").read_bytes()[:-20])
    (shop / "m.csv").symlink_to("m.json")
    return shop


@pytest.mark.parametrize("name", list(WRONG))
def test_wrong_inputs_are_answered_in_one_line(wrong_files, run, name):
    arguments, message = WRONG[name]
    before = sorted(wrong_files.iterdir())
    status, out, err = run(*arguments)
    assert status == 2
    assert out == ""
    assert message.lower() in err.lower()
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert sorted(wrong_files.iterdir()) == before, "nothing was written"
