"""The language: what is accepted, what it means, and where errors point."""

import pickle

import numpy as np
import pytest

from xspn import Bernoulli, Categorical, Circuit, Gaussian, Product, Sum
from xspn.core.errors import DataTypeError, EvidenceError, QueryError, QuestionError, XSPNError
from xspn.questions import questions_of, score_facts

NAMES = ["sugar", "butter", "city", "size", "hot topic", "income", "rock & roll", "likes_tea", "likes_milk", "age"]
LABELS = {
    "city": ["Bonn", "Köln", "Bad Honnef"],
    "size": ["small", "medium", "large"],
    "likes_tea": ["never", "often", "always"],
    "likes_milk": ["never", "often", "always"],
    "age": [20, 35, 50, 65],
}


def shop():
    """A table with columns of every type; all columns are independent, so that answers can be multiplied."""
    leaves = [
        Bernoulli(0, p=0.2),
        Bernoulli(1, p=0.5),
        Categorical(2, [0.5, 0.3, 0.2]),
        Categorical(3, [0.2, 0.3, 0.5]),
        Bernoulli(4, p=0.4),
        Gaussian(5, mean=50_000, std=10_000),
        Bernoulli(6, p=0.25),
        Categorical(7, [0.1, 0.6, 0.3]),
        Categorical(8, [0.5, 0.4, 0.1]),
        Categorical(9, [0.1, 0.2, 0.3, 0.4]),
    ]
    circuit = Circuit(Product(leaves), names=NAMES, labels=LABELS)
    domains = list(circuit.schema.domains)
    from dataclasses import replace

    from xspn.data.domain import Domain

    domains[3] = Domain.ordinal(3)
    return Circuit.of_schema(circuit.graph, replace(circuit.schema, domains=tuple(domains)))


SHOP = shop()

MEANING = {
    "sugar=1": 0.2,
    "sugar = yes": 0.2,
    "sugar == no": 0.8,
    "sugar != 1": 0.8,
    "not sugar=1": 0.8,
    "!sugar=1": 0.8,
    "sugar=1 & butter=1": 0.1,
    "sugar=1 and butter=1": 0.1,
    "sugar=1 && butter=1": 0.1,
    "sugar=1 | butter=1": 0.6,
    "sugar=1 or butter=1": 0.6,
    "sugar=1 or butter=1 and sugar=0": 0.6,
    "(sugar=1 or butter=1) and sugar=0": 0.4,
    "not (sugar=1 or butter=1)": 0.4,
    "sugar=1 or not sugar=1": 1.0,
    'city = "Bad Honnef"': 0.2,
    "city = Bad Honnef": 0.2,
    "city=bad honnef & sugar=1": 0.04,
    "city in {Bonn, Köln}": 0.8,
    "city not in {Bonn, 'Bad Honnef'}": 0.3,
    "city != Bonn": 0.5,
    "size >= medium": 0.8,
    "size < medium": 0.2,
    "size in small..medium": 0.5,
    "age in 30..50": 0.5,
    "age > 35": 0.7,
    "age in ..35": 0.3,
    "age in 35..": 0.9,
    "age = 35": 0.2,
    "age in 21..34 or age=20": None,
    "income > 50000": 0.5,
    "income <= 50000": 0.5,
    "income in 40000..60000": 0.6826894921370859,
    "income in 4e4..6e4 & sugar=1": 0.6826894921370859 * 0.2,
    "not income in 40000..60000": 1 - 0.6826894921370859,
    "income < 40000 | income > 60000": 1 - 0.6826894921370859,
    "hot topic=yes": 0.4,
    '"hot topic" = 1': 0.4,
    "hot topic = 1 & 'rock & roll' = 1": 0.1,
    "rock & roll=1": 0.25,
    "count(sugar, butter) >= 1": 0.6,
    "count(sugar, butter) = 2": 0.1,
    "count(sugar, butter=no) = 2": 0.4,
    "count(sugar=1, butter=0) = 2": 0.1,
    "count(likes_*=often) = 2": 0.24,
    "count(likes_* >= often) = 0": None,
    "count(likes_* in {often, always}) = 0": 0.05,
    "count(*) = 0": 0.8 * 0.5 * 0.6 * 0.75,
    "count(*) >= 218": 0.0,
    "count(*) in 0..4": 1.0,
    "count(sugar, butter) != 1": 0.5,
    "count(sugar, butter) in {0, 2} & city=Bonn": 0.25,
    "count(sugar, butter) = 1 & count(butter, 'hot topic') = 1": 0.2 * 0.5 * 0.4 + 0.8 * 0.5 * 0.6,
    "likes_*=never": None,
}


@pytest.mark.parametrize("text", [text for text, p in MEANING.items() if p is not None])
def test_what_texts_mean(text):
    found = SHOP.probability(text)
    assert found.probability == pytest.approx(MEANING[text], abs=1e-14)
    assert found.text == text
    assert found.prior == found.probability


WRONG = {
    "sugr=1": (0, "there is no column 'sugr'; did you mean 'sugar'?"),
    "butter=1 & sugr=1": (11, "there is no column 'sugr'; did you mean 'sugar'?"),
    "sugar=": (6, "expected a value, found the end"),
    "sugar=1 &": (9, "expected a name or count(NAME, …), found the end"),
    "sugar=1 butter=1": (14, "expected & or | or the end, found '='"),
    "& sugar=1": (0, "expected a name or count(NAME, …), found '&'"),
    "(sugar=1": (8, "expected ) for the ( at character 1, found the end"),
    "sugar=1)": (7, "expected & or | or the end, found ')'"),
    "sugar=2": (6, "expected one of 0, 1 for 'sugar', found '2'"),
    "sugar=maybe": (6, "unknown value 'maybe' at 'sugar'; known: 0, 1"),
    "city=Bon": (5, "unknown value 'Bon' at 'city'; known: 'Bonn', 'Köln', 'Bad Honnef'; did you mean 'Bonn'?"),
    "city > Bonn": (7, "the values of 'city' are names without an order; list them as in {Bonn, Köln, Bad Honnef}"),
    "city in {Bonn": (13, "expected a comma or }, found the end"),
    "city in {}": (9, "expected a value, found '}'"),
    "age > old": (6, "expected a number for 'age', found 'old'"),
    "age in 50..30": (4, "expected a range from low to high for 'age'"),
    "age in ..": (9, "expected the end of the range, found the end"),
    "income > much": (9, "expected a number for 'income', found 'much'"),
    "income > nan": (9, "expected a number for 'income', found 'nan'"),
    "income = inf": (9, "expected a finite number for 'income', found 'inf'"),
    "count()": (6, "expected count(NAME, …), found ')'"),
    "count(sugar": (11, "expected a comma or ), found the end"),
    "count(suger) > 1": (6, "there is no column 'suger'; did you mean 'sugar'?"),
    "count(city) > 1": (6, "'city' has 3 values; say which one counts, as in count(city=Bonn)"),
    "count(income) > 1": (6, "only discrete columns can be counted, 'income' is real"),
    "count(sugar, sugar=0) = 1 & count(sugar=1, sugar=0) = 1": (43, "'sugar' is counted twice, at different values"),
    "count(sugar) > many": (15, "expected a number for a count, found 'many'"),
    "count(sugar) in 3..1": (13, "expected a range from low to high"),
    "'sugar=1": (0, "expected a closing quotation mark"),
    "not": (3, "expected a name or count(NAME, …), found the end"),
    "sugar & butter=1": (
        0,
        "expected NAME=VALUE, or another comparison, found 'sugar' alone; did you mean sugar=1?",
    ),
    "": (0, "expected a name, NAME=VALUE or count(NAME, …), found nothing"),
    "(" * 200 + "sugar=1" + ")" * 200: (50, "expected at most 50 nested parts"),
}


@pytest.mark.parametrize("text", WRONG)
def test_errors_point_at_the_character(text):
    place, fault = WRONG[text]
    with pytest.raises(QuestionError) as caught:
        SHOP.probability(text)
    message, shown, caret = str(caught.value).split("\n")
    assert message == f"question: {fault}"
    assert shown == f"  {text}"
    assert caret == f"  {' ' * place}^"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_evidence_that_contradicts_itself_or_cannot_be():
    with pytest.raises(XSPNError, match="'sugar' is given twice, with different values"):
        SHOP.probability("butter=1", given="sugar=1 & sugar=0")
    with pytest.raises(EvidenceError, match="no value of 'age' is allowed by all that is given"):
        SHOP.probability("butter=1", given=["age > 40", "age < 30"])
    with pytest.raises(EvidenceError, match="contradicts itself"):
        SHOP.probability("butter=1", given="sugar=1 & count(sugar) = 0 & (count(sugar) = 1 | count(sugar) = 2)")
    with pytest.raises(EvidenceError, match="has probability zero under this model; nothing can be concluded"):
        SHOP.probability("butter=1", given="count(sugar, butter) = 2 & sugar=0")


def test_single_numbers_of_real_columns():
    with pytest.raises(QueryError, match="any single number with probability zero; ask for an interval"):
        SHOP.probability("income = 50000")
    assert SHOP.probability("sugar=1 | income = 50000").probability == pytest.approx(0.2)  # adds nothing
    assert SHOP.probability("sugar=1", given="income = 50000").probability == pytest.approx(0.2)
    assert SHOP.probability("income > 40000", given="income = 50000").probability == 1.0
    assert SHOP.probability("income > 50000", given="income = 50000").probability == 0.0
    assert SHOP.probability("income >= 50000", given={"income": 50_000}).probability == 1.0
    two = Circuit(Product([Gaussian(0, mean=0, std=1), Gaussian(1, mean=0, std=1), Bernoulli(2, p=0.5)]))
    with pytest.raises(QueryError, match="cannot be compared"):
        two.probability("X2=1", given="X0=1 | X1=1")


def test_too_many_cases_are_refused_by_name():
    bits = Circuit(Product([Bernoulli(i, p=0.5) for i in range(40)]))
    text = " | ".join(f"(X{2 * i}=1 & X{2 * i + 1}=1)" for i in range(20))
    with pytest.raises(QueryError, match="more than 4,096 cases"):
        bits.probability(text)
    few = " | ".join(f"(X{2 * i}=1 & X{2 * i + 1}=1)" for i in range(8))
    assert bits.probability(few).probability == pytest.approx(1 - 0.75**8)
    one_each = " | ".join(f"X{i}=1" for i in range(40))
    assert bits.probability(f"not ({one_each})").probability == pytest.approx(0.5**40, rel=1e-9)
    counts = " & ".join(f"count(X{i}, X{i + 1}, X{i + 2}, X{i + 3}, X{i + 4}) >= 1" for i in range(8))
    with pytest.raises(QueryError, match="several counts at once"):
        bits.probability(counts)


def test_questions_of_patterns_and_distributions():
    found = questions_of("likes_*=often", SHOP.schema)
    assert [(question.text, question.kind) for question in found] == [
        ("likes_tea=often", "event"),
        ("likes_milk=often", "event"),
    ]
    assert [
        question.kind
        for text in ("city", "count(likes_*=often)", "income = 3")
        for question in questions_of(text, SHOP.schema)
    ] == ["variable", "count", "density"]
    assert [question.text for question in questions_of("likes_*", SHOP.schema)] == ["likes_tea", "likes_milk"]
    answers = SHOP.probability("likes_* in {often, always}")
    assert [answer.text for answer in answers] == ["likes_tea in {often, always}", "likes_milk in {often, always}"]
    assert SHOP.probability("city=Bonn", given="likes_*=often").probability == pytest.approx(0.5)
    with pytest.raises(QueryError, match="expected an event such as"):
        SHOP.probability("city")


def test_several_answers_and_the_most_changed():
    chances = ((0.9, 0.6), (0.1, 0.4))
    parts = [Product([Bernoulli(0, p=p), Bernoulli(1, p=q), Bernoulli(2, p=0.5)]) for p, q in chances]
    circuit = Circuit(Sum([0.5, 0.5], parts), names=["a", "b", "c"])
    texts = ["c=1", "b=1", "b=0"]
    answers = circuit.probability(texts, given="a=1")
    assert [answer.text for answer in answers] == texts
    assert [answer.given for answer in answers] == ["a=1"] * 3
    assert answers[1].probability == pytest.approx(0.58)
    assert answers[1].lift == pytest.approx(0.58 / 0.5)
    assert answers[1].odds == pytest.approx(0.58 / 0.42)
    assert [answer.text for answer in circuit.probability(given="a=1", top=1)] == ["b=1"]
    assert [answer.text for answer in circuit.probability(texts, given="a=1", top=2)] == ["b=1", "b=0"]
    with pytest.raises(XSPNError, match="top: expected a number"):
        circuit.probability(texts, top=0)
    certain = circuit.probability("a=1", given="a=1")
    assert (certain.probability, certain.odds) == (1.0, np.inf)


def test_facts_about_scores_far_out_of_the_usual():
    """Numbers billions of deviations away have finite scores, whose squares are not."""
    usual, far = score_facts(np.array([-1.0, -3.0])), score_facts(np.array([-1.0, -3.0]) * 2.0**700)
    assert (far["mean"], far["standard_error"]) == (usual["mean"] * 2.0**700, usual["standard_error"] * 2.0**700)
    assert (usual["mean"], usual["standard_error"]) == (-2.0, pytest.approx(1.0))
    found = score_facts(np.array([-1.0, -np.inf, -1e308]))
    assert (found["mean"], found["impossible"]) == (-np.inf, 1)
    assert np.isnan(score_facts(np.array([-np.inf]))["standard_error"])


@pytest.mark.parametrize("question", [5, ["butter=1", 3], [None]])
def test_what_is_no_text_is_no_question(question):
    with pytest.raises(DataTypeError, match="expected a text such as NAME=VALUE"):
        SHOP.probability(question)
