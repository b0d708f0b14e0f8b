"""What is known of columns: read from tables and mappings, kept in every model file, told where columns are named."""

import numpy as np
import pytest

from xspn import XSPN, Bernoulli, Circuit, Exchangeable, Product, load, save
from xspn.core.errors import DataError, FormatError, ParameterError
from xspn.data import Table
from xspn.data.attributes import common_attributes
from xspn.plotting import exchangeability_map

NAMES = ["ann", "bob", "cem", "dan", "eve", "fay"]
PARTY = {"party": dict(zip(NAMES, ["left"] * 3 + ["right"] * 2, strict=False))}


def circuit():
    block = Exchangeable([0, 1, 2], log_weights=np.log([0.5, 0.05, 0.05, 0.2]))
    return Circuit(Product([block, *(Bernoulli(v, p=0.3) for v in (3, 4, 5))]), names=NAMES).with_attributes(PARTY)


@pytest.mark.parametrize("name", ["m.json", "m.xspn"])
def test_model_files_keep_them(tmp_path, name):
    save(circuit(), tmp_path / name)
    found = load(tmp_path / name).schema.attributes
    assert found == (("party", ("left", "left", "left", "right", "right", None)),)


def test_a_file_with_other_attributes_is_refused(tmp_path):
    save(circuit(), tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    for wrong in (text.replace('"left"', '"port"', 1), text.replace('"left"', "7", 1)):
        (tmp_path / "m.json").write_text(wrong)
        with pytest.raises(FormatError):
            load(tmp_path / "m.json")


def test_they_stay_with_their_columns():
    own = circuit().schema
    assert own.take([5, 0, 3]).attributes == (("party", (None, "left", "right")),)
    assert own.with_class(["no", "yes"], 2).attributes[0][1][-1] is None
    assert circuit().marginalize(["ann", "bob"]).schema.attributes == own.attributes


def test_a_table_is_matched_by_names_in_any_column(tmp_path):
    path = tmp_path / "members.csv"
    path.write_text("seat,member,party\n1,bob,left\n2,zoe,right\n3,ann,\n")
    table = Table.of(np.eye(6)).with_attributes({"group": {"X1": "a"}})
    assert table.schema.attributes == (("group", (None, "a", None, None, None, None)),)
    found = circuit().with_attributes(path).schema.attributes
    assert dict(found)["seat"][:3] == ("3", "1", None)
    assert dict(found)["party"] == (None, "left", None, None, None, None)


def test_what_columns_have_in_common():
    own = circuit().schema
    assert common_attributes(own, [0, 1, 2]) == [("party", "left", 1.0)]
    assert common_attributes(own, [0, 1]) == []  # too few
    assert common_attributes(own, [0, 3, 5]) == []
    assert common_attributes(own, range(6)) == []  # as in the whole table


def test_explanations_and_maps_use_them():
    rng = np.random.default_rng(0)
    yes = rng.random((300, 1)) < 0.5
    votes = (rng.random((300, 6)) < np.where(yes, 0.9, 0.1) * [1, 1, 1, 0.2, 0.2, 0.2]).astype(int)
    groups = {"party": {f"X{j}": "left" if j < 3 else "right" for j in range(6)}}
    model = XSPN(random_state=0).fit(Table.of(votes).with_attributes(groups))
    assert "party left 100 %" in model.explain()
    legend = exchangeability_map(model).axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["left", "right"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "member,party\nzoe,left\n",
            "no row is about a column of the table; expected names such as 'ann', 'bob'",
        ),
        ("member,party\nann,left\nann,right\n", r"'ann' occurs twice, again at line 3, column 'member'"),
        ("member\nann\nbob\n", "expected a column of names and one for each attribute, found names alone"),
    ],
)
def test_wrong_tables_are_refused(tmp_path, content, message):
    path = tmp_path / "members.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        circuit().with_attributes(path)


def test_wrong_mappings_are_refused():
    with pytest.raises(ParameterError, match="expected the path of a table, or a mapping"):
        circuit().with_attributes({"party": "left"})
    with pytest.raises(DataError, match="there is no column 'bop'; did you mean 'bob'"):
        circuit().with_attributes({"party": {"bop": "left"}})
