"""Next items of baskets against enumeration: P(basket and j alone more) over P(basket and exactly one more)."""

from itertools import product

import numpy as np
import pytest

from support.circuits import random_circuit
from xspn import XSPN, Bernoulli, Categorical, Circuit, Exchangeable, Gaussian, Product, Sum
from xspn.core.errors import DataError, EvidenceError, ParameterError
from xspn.questions import NextItem

NAMES = ["bread", "butter", "jam", "soap", "bags"]


def circuit_of(seed):
    """A mixture over five items and a day, of blocks and of single items."""
    rng = np.random.default_rng(seed)

    def context():
        block = Exchangeable([0, 1, 2], log_weights=np.log(rng.dirichlet(np.ones(4)) / [1, 3, 3, 1]))
        singles = [Bernoulli(v, p=rng.uniform(0.1, 0.9)) for v in (3, 4)]
        return Product([block, *singles, Categorical(5, rng.dirichlet(np.ones(3)))])

    return Circuit(
        Sum([0.3, 0.7], [context(), context()]), names=[*NAMES, "day"], labels={"day": ["fri", "sat", "sun"]}
    )


def by_enumeration(circuit, basket, given=None, items=range(5)):
    """The chances of all items, by adding up complete rows."""
    chances = {}
    for j in items:
        if j in basket:
            continue
        days = range(3) if given is None else [given]
        rows = [[int(v in basket or v == j) for v in range(5)] + [day] for day in days]
        chances[circuit.names[j]] = np.exp(circuit.log_likelihood(np.array(rows, dtype=float))).sum()
    total = sum(chances.values())
    return {name: chance / total for name, chance in chances.items()}


@pytest.mark.parametrize("seed", range(4))
def test_chances_are_those_of_enumeration(seed):
    circuit = circuit_of(seed)
    for basket in ([], [0], [0, 3], [1, 2, 3, 4]):
        found = circuit.recommend([NAMES[v] for v in basket], k=9)
        expected = by_enumeration(circuit, basket)
        assert {own.item: own.probability for own in found} == pytest.approx(expected, rel=1e-12)
        assert [own.probability for own in found] == sorted((own.probability for own in found), reverse=True)
    given = circuit.recommend([0], k=9, given={"day": "sat"})
    assert {own.item: own.probability for own in given} == pytest.approx(by_enumeration(circuit, [0], 1), rel=1e-12)
    assert circuit.recommend([0], k=9, given="day=sat") == given


def test_it_is_the_answer_to_the_question_in_words():
    circuit = circuit_of(1)
    exactly = "bread=1 & count(bread, butter, jam, soap, bags) = 2"
    for own in circuit.recommend(["bread"]):
        assert own.probability == pytest.approx(circuit.probability(f"{own.item}=1", given=exactly).probability)


def test_baskets_are_answered_alike_in_a_table_a_list_or_alone():
    circuit = circuit_of(2)
    rows = np.array([[1, 0, 0, 1, 0, np.nan], [0, 0, 0, 0, 0, np.nan], [1, np.nan, 0, 1, np.nan, np.nan]])
    lists = [["bread", "soap"], [], ["soap", "bread"]]
    assert circuit.recommend(rows) == circuit.recommend(lists)
    assert circuit.recommend(lists) == [circuit.recommend(own) for own in lists]
    assert circuit.to("numpy").recommend(lists) == circuit.recommend(lists)


def test_many_baskets_are_cut_into_blocks(monkeypatch):
    circuit = circuit_of(3)
    rows = np.array([[*own, np.nan] for own in product((0.0, 1.0), repeat=5)])
    whole = circuit.recommend(rows)
    monkeypatch.setattr("xspn.questions.recommendation.CELLS_AT_ONCE", 60)
    assert circuit.recommend(rows) == whole
    assert whole[-1] == []  # nothing is left when everything is in the basket


def test_lift_is_against_the_part_of_all_open_items():
    circuit = circuit_of(0)
    usual = circuit.marginals()[0, :5, 1]
    for own in circuit.recommend(["jam"]):
        j = NAMES.index(own.item)
        assert own.lift == pytest.approx(own.probability / (usual[j] / (usual.sum() - usual[2])))


def test_items_can_be_chosen_and_excluded():
    circuit = circuit_of(0)
    found = circuit.recommend([], items="b*", k=9)
    assert {own.item for own in found} == {"bread", "butter", "bags"}
    assert sum(own.probability for own in found) == pytest.approx(1)
    left = circuit.recommend([], exclude=["bread", "jam"], k=9)
    assert {own.item for own in left} == {"butter", "soap", "bags"}
    assert len(circuit.recommend([], k=2)) == 2


def test_columns_that_are_not_items_are_summed_out():
    sex = Bernoulli(1, p=0.3)
    circuit = Circuit(
        Product([Bernoulli(0, p=0.4), sex, Gaussian(2, mean=0, std=1)]),
        names=["soap", "sex", "age"],
        labels={"sex": ["female", "male"]},
    )
    assert circuit.recommend([]) == [NextItem("soap", 1.0, 1.0)]
    with pytest.raises(DataError, match="'sex' is a column of the model, but not an item"):
        circuit.recommend(["sex"])


def test_a_fitted_model_recommends_from_its_own_tables():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    breakfast = rng.random(200) < 0.5
    bits = np.where(breakfast[:, None], rng.random((200, 4)) < [0.8, 0.8, 0.1, 0.1], rng.random((200, 4)) < 0.3)
    frame = pandas.DataFrame(bits.astype(int), columns=["bread", "butter", "soap", "bags"])
    model = XSPN(random_state=0).fit(frame)
    assert model.recommend(["bread"], k=1)[0].item == "butter"
    assert model.recommend(frame[:3], k=2) == model.circuit_.recommend(frame[:3].to_numpy(), k=2)


@pytest.mark.parametrize("seed", range(3))
def test_random_circuits_of_bits(seed):
    circuit = random_circuit(np.random.default_rng(seed), [2] * 5, 3)
    found = {own.item: own.probability for own in circuit.recommend([2], k=9)}
    chances = {}
    for j in (0, 1, 3, 4):
        row = np.zeros(5)
        row[[2, j]] = 1
        chances[f"X{j}"] = float(np.exp(circuit.oracle.log_likelihood(row[None])[0]))
    total = sum(chances.values())
    assert found == pytest.approx({name: own / total for name, own in chances.items()}, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("milk",), {}, DataError, r"expected a list of items, found 'milk'; one item is \['milk'\]"),
        (({"bread": 1},), {}, DataError, "found a mapping; what is known besides goes into given"),
        ((["bred"],), {}, DataError, "there is no item 'bred'; did you mean 'bread'"),
        (([9],), {}, DataError, "expected a column from 0 to 5, found 9"),
        (([1.5],), {}, DataError, "expected the name of an item, found 1.5"),
        ((["day"],), {}, DataError, "'day' is a column of the model, but not an item"),
        ((["bread"], 0), {}, ParameterError, "k: expected a number of items of at least 1, found 0"),
        ((["bread"],), {"items": ["day"]}, Exception, "'day'"),
        ((["bread"],), {"items": ["x*"]}, DataError, r"items: there is no item 'x\*'"),
        ((["bread"],), {"exclude": "jam"}, DataError, r"exclude: expected a list of items"),
        ((["bread"],), {"given": {"jam": 1}, "items": ["jam", "bread"]}, ParameterError, "'jam' is an item"),
        ((["bread"],), {"given": "day > 3"}, Exception, "day"),
    ],
)
def test_wrong_questions_are_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        circuit_of(0).recommend(*arguments, **options)


def test_an_impossible_basket_is_refused():
    never = Circuit(Product([Bernoulli(0, p=0.0), Bernoulli(1, p=0.5)]), names=["unicorn", "soap"])
    with pytest.raises(EvidenceError, match="the basket with one more item has probability zero"):
        never.recommend(["unicorn"])
    with pytest.raises(ParameterError, match="has no column that says whether an item is there"):
        Circuit(Categorical(0, [0.2, 0.3, 0.5])).recommend([])
