"""Tables of very many columns: names and labels are compared a few times each, not each with each."""

from types import SimpleNamespace

import pytest

from xspn import Bernoulli, Circuit, Product
from xspn.core.checks import first_double, place_of, same_columns
from xspn.core.errors import DataError
from xspn.data.column_types import _hosts
from xspn.data.files import ReadOptions, parse_csv
from xspn.data.frames import names_of

MANY = 500
FEW_TIMES = 12


class Name(str):
    """A name that counts how often it is compared."""

    compared = 0
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


@pytest.fixture
def names() -> tuple[Name, ...]:
    Name.compared = 0
    return tuple(Name(f"column {j}") for j in range(MANY))


def again(names: tuple[Name, ...]) -> list[Name]:
    """Return equal names that are other objects."""
    return [Name(str(name)) for name in names]


def test_names_of_a_frame_are_checked_in_linear_time(names):
    assert names_of(SimpleNamespace(columns=again(names))) == names
    assert Name.compared < FEW_TIMES * MANY


def test_columns_are_compared_with_those_of_the_model_in_linear_time(names):
    same_columns(again(names), names, "X")
    with pytest.raises(DataError, match="another order"):
        same_columns(again(names)[::-1], names, "X")
    with pytest.raises(DataError, match="occurs twice"):
        same_columns([*again(names), Name("column 7")], names, "X")
    assert Name.compared < FEW_TIMES * MANY


def test_names_are_looked_up_in_linear_time(names):
    assert [place_of(name, names) for name in again(names)] == list(range(MANY))
    assert place_of("nowhere", names) is None
    assert Name.compared < FEW_TIMES * MANY


def test_a_name_is_found_among_the_names_that_are_asked_about():
    assert place_of("b", ("a", "b")) == 1
    assert place_of("b", ("b", "a")) == 0
    assert place_of("b", ("a", "c")) is None


def test_the_first_name_that_occurs_again_is_named():
    assert first_double(["a", "b", "c", "b", "a"]) == "a"
    assert first_double(["a", "b"]) is None
    with pytest.raises(DataError, match="'b' occurs twice"):
        parse_csv("a,b,b\n1,2,3\n", "t.csv", ReadOptions(header=True))


def test_all_variables_of_a_wide_circuit_are_found_by_name(names):
    circuit = Circuit(Product([Bernoulli(j, p=0.3) for j in range(MANY)]), names=[str(name) for name in names])
    assert circuit.schema.indices([str(name) for name in names]) == list(range(MANY))
    row = circuit.schema.evidence({str(name): 1 for name in names})
    assert row.tolist() == [[1.0] * MANY]


def test_labels_of_many_columns_find_their_hosts_without_comparing_all_with_all():
    sets = [(f"{k} yes", f"{k} no") for k in range(MANY)]
    larger = ("0 yes", "0 no", "0 perhaps")
    hosts = _hosts([*sets, larger])
    assert hosts[frozenset(sets[0])] == larger
    assert all(hosts[frozenset(own)] == own for own in sets[1:])
