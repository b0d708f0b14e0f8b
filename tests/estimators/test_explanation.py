"""What is said of a circuit: contexts, what marks them, blocks by name, on a page or in full."""

import re

import numpy as np
import pytest

from xspn import MEVM, Bernoulli, Categorical, ChowLiu, Circuit, Exchangeable, Gaussian, Product, Sum, datasets
from xspn.estimators.explanation import PAGE, Reason, explain
from xspn.inference.composition import Composition
from xspn.learning.policy import AGAINST

FAMILIES = ("blocks", "contexts", "laws", "nested", "chain", "observed", "mixed")


def page(circuit, reasons=None, most=8, full=False):
    return "\n".join(explain(circuit, reasons or {}, most, full))


def party(variables, yes):
    """A block that votes as one."""
    n = len(variables)
    return Exchangeable.from_class_probabilities(variables, [1 - yes, *[0] * (n - 1), yes])


def parliament():
    names = [*(f"red {i}" for i in range(4)), *(f"blue {i}" for i in range(5)), "maverick"]
    quarrel = Product([party(range(4), 0.9), party(range(4, 9), 0.1), Bernoulli(9, p=0.5)])
    accord = Product([party(range(9), 0.8), Bernoulli(9, p=0.5)])
    return Circuit(Sum([0.7, 0.3], [quarrel, accord]), names)


def test_contexts_blocks_and_what_stands_alone():
    assert page(parliament()).splitlines()[:-2] == [
        "2 contexts:",
        "1. 70 % of rows [3]: low: blue 0…4 10 % (31 %)",
        "   blue 0…4 (5): all or none (10 % all); mean 10 %; lift 10, ICC 1.00 █▁▁▁▁▂ [1]",
        "   red 0…3 (4): all or none (90 % all); mean 90 %; lift 1.1, ICC 1.00 ▂▁▁▁█ [0]",
        "   alone: maverick 50 %",
        "2. 30 % of rows [6]: high: blue 0…4 80 % (31 %)",
        "   red 0…3, blue 0…4 (9): all or none (80 % all); mean 80 %; lift 1.2, ICC 1.00 ▃▁▁▁▁▁▁▁▁█ [4]",
        "   alone: maverick 50 %",
    ]


def test_contexts_are_those_of_the_planted_circuit():
    circuit = datasets.planted("contexts", 24, random_state=1)
    text = page(circuit)
    order = np.argsort(-circuit.root.weights)
    for place, child in enumerate(order, start=1):
        assert f"{place}. {100 * circuit.root.weights[child]:.0f} % of rows [" in text
    for child in circuit.root.children:
        for block in child.children:
            assert f"[{circuit.graph.id_of(block)}]" in text


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [12, 60])
def test_a_page_is_a_page_and_full_is_everything(family, n):
    for seed in range(3):
        circuit = datasets.planted(family, n, random_state=seed)
        assert len(page(circuit).splitlines()) <= PAGE
        full = page(circuit, full=True)
        contexts = re.split(r"^\d+\. ", full, flags=re.MULTILINE)[1:] if isinstance(circuit.root, Sum) else [full]
        assert len(contexts) == (len(circuit.root.children) if isinstance(circuit.root, Sum) else 1)
        for context in contexts:
            assert set(circuit.names) <= set(re.findall(r"X\d+", context))


def test_many_contexts_are_cut_and_counted():
    rng = np.random.default_rng(0)
    parts = [Product([party(range(4), rng.random()), party(range(4, 9), rng.random())]) for _ in range(30)]
    circuit = Circuit(Sum(rng.dirichlet(np.full(30, 5.0)), parts))
    text = page(circuit)
    assert text.startswith("30 contexts; the 8 with the most rows:")
    assert len(text.splitlines()) <= PAGE
    assert len(page(circuit, most=25).splitlines()) <= PAGE
    assert page(circuit, full=True).count("of rows [") == 30
    assert page(circuit, most=0).splitlines()[0] == "30 contexts"


def test_long_lists_are_shortened_and_lines_left_out_are_counted():
    blocks = [party(range(5 * i, 5 * i + 5), 0.02 * i + 0.1) for i in range(20)]
    others = [party(range(5 * i, 5 * i + 5), 0.9 - 0.02 * i) for i in range(20)]
    circuit = Circuit(
        Sum([0.5, 0.5], [Product(blocks), Product(others)]), [f"Senator Smith of State {i}" for i in range(100)]
    )
    lines = page(circuit).splitlines()
    assert len(lines) <= PAGE
    assert max(map(len, lines)) <= 130
    left = [int(n) for n in re.findall(r"… \d+ more, over (\d+) variables", page(circuit))]
    told = sum(int(n) for n in re.findall(r"\((\d+)\): all or none", page(circuit)))
    assert sum(left) + told == 200


def test_what_decides_between_contexts_is_said_first():
    def branch(value, yes):
        return Product([Categorical(0, np.eye(3)[value]), party(range(1, 5), yes)])

    circuit = Circuit(
        Sum([0.5, 0.3, 0.2], [branch(0, 0.9), branch(2, 0.5), branch(1, 0.1)]),
        ["topic", *"abcd"],
        labels={"topic": ["tax", "war", "fish"]},
    )
    text = page(circuit)
    assert "1. 50 % of rows, where topic = tax [" in text
    assert "2. 30 % of rows, where topic = fish [" in text
    assert "alone" not in text


def test_a_product_above_contexts():
    circuit = datasets.planted("chain", 24, random_state=1)
    text = page(circuit)
    assert text.startswith("In all rows:\n")
    assert page(circuit, most=1).startswith("In all rows, whatever the others are (24 variables in all):\n")
    assert "depend on each other along a tree: X21–X7, X22–X15, X1–X21 and 4 more" in text
    assert re.search(r"^   2 contexts for X0, X3.* \(13\) \[\d+\]:$", text, re.MULTILINE)
    single = page(Circuit(ChowLiu([0, 1], [-1, 0], [[0.5, 0.5], [0.1, 0.8]])))
    assert single.startswith("In all rows:\n   X0, X1: depend on each other along a tree: X0–X1; mean 48 %")


def test_contexts_inside_contexts():
    circuit = datasets.planted("nested", 24, random_state=0)
    assert page(circuit).count("2 contexts for ") == 2
    assert page(circuit, most=1).count("2 contexts of their own (") == 1
    full = page(circuit, full=True)
    assert full.count("2 contexts for ") == 2
    assert "2 contexts of their own" not in full


def test_marks_are_by_how_much_they_tell():
    rare = Product([Bernoulli(0, p=0.10), Bernoulli(1, p=0.55), Gaussian(2, 0.0, 1.0)])
    other = Product([Bernoulli(0, p=0.001), Bernoulli(1, p=0.45), Gaussian(2, 3.0, 1.0)])
    circuit = Circuit(Sum([0.5, 0.5], [rare, other]), ["ill", "coin", "income"])
    found = Composition(circuit.graph).marks(rare, circuit.root)
    assert [circuit.names[mark.variable] for mark in found] == ["income", "ill"]
    assert "ill 10 % (5 %)" in page(circuit)
    assert "income 0 (1.5)" in page(circuit)
    same = Circuit(Sum([0.5, 0.5], [party([0, 1], 0.5), Product([Bernoulli(0, p=0.5), Bernoulli(1, p=0.5)])]))
    assert "no variable by itself tells it from the others" in page(same)


def test_sums_below_sums_are_one_choice_and_shared_parts_are_told_once():
    shared = Sum([0.5, 0.5], [party([1, 2, 3], 0.2), party([1, 2, 3], 0.7)])
    contexts = [Product([Bernoulli(0, p=p), shared]) for p in (0.1, 0.5, 0.9)]
    circuit = Circuit(Sum([0.5, 0.5], [Sum([0.5, 0.5], contexts[:2]), Sum([0.5, 0.5], contexts[1:])]))
    weights = [weight for weight, _ in Composition(circuit.graph).contexts(circuit.root)]
    assert weights == [0.5, 0.25, 0.25]
    full = page(circuit, full=True)
    assert full.count("as told before") == 2
    assert full.count("all or none") == 2


def test_a_graph_with_more_ways_than_can_be_walked():
    node = Bernoulli(0, p=0.5)
    for level in range(1, 200):
        node = Sum([0.5, 0.5], [Product([node, Bernoulli(level, p=p)]) for p in (0.2, 0.8)])
    circuit = Circuit(node)
    assert len(page(circuit).splitlines()) <= PAGE
    assert len(page(circuit, full=True).splitlines()) < 3000


def test_evidence_is_that_of_the_node():
    circuit = parliament()
    reasons = {
        0: Reason(700, "global test: means, p = 0.25", 0.25),
        1: Reason(700, detail=f"evidence +3.0 nats{AGAINST}"),
    }
    text = page(circuit, {**reasons, 6: Reason(1000)})
    assert "1. 70 % of rows (about 700)" in text
    assert "▂▁▁▁█ [0] test: p = 0.25" in text
    assert "[1] evidence +3.0 nats\n" in text
    assert f"Evidence of blocks is{AGAINST}." in text
    assert "[0] in 700 rows; global test: means, p = 0.25" in " ".join(page(circuit, reasons, full=True).split())


ODD = ["\x1b[31mred", "two\nlines", "turned\u202e", "", " ", "%s{}", "9" * 300]


@pytest.mark.parametrize("full", [False, True])
def test_odd_names_and_labels(full):
    circuit = Circuit(
        Sum([0.5, 0.5], [Product([party(range(6), p), Categorical(6, [1 - p, p])]) for p in (0.1, 0.8)]),
        ODD,
        labels={6: ["no\x07", "yes\x1b[2J"]},
    )
    lines = explain(circuit, {}, 8, full)
    assert all(line.isprintable() for line in lines)
    assert r"\x1b[31mred" in lines[2]


def test_a_mixture_of_blocks_explains_itself():
    rows = parliament().sample(800, random_state=0)
    text = MEVM(n_components=2, random_state=0).fit(rows).explain(names=parliament().names)
    assert text.startswith("2 contexts:")
    assert "all or none" in text
