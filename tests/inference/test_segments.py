"""Segments: responsibilities against enumeration, names that are stable and true, strengths by their definition."""

import itertools

import numpy as np
import pytest

from support.cases import any_case
from xspn import (
    Bernoulli,
    BetaBinomial,
    Categorical,
    Circuit,
    Exchangeable,
    Gaussian,
    Product,
    Sum,
    XSPNError,
    datasets,
    load,
    save,
)
from xspn.graph.graph import Graph
from xspn.inference.composition import Composition
from xspn.inference.segments import ALL_ROWS, topmost_sum
from xspn.inference.strength import strength_of
from xspn.statistics import ValueCounts


def by_enumeration(circuit, rows):
    """P(context | row) from the oracle of each context alone."""
    composition = Composition(circuit.graph)
    mixture = topmost_sum(composition)
    if mixture is None:
        return np.ones((len(rows), 1))
    joint = []
    for weight, node in composition.contexts(mixture):
        own = Circuit.of_graph(Graph(node, circuit.n_variables))
        joint.append(weight * np.exp(own.oracle.log_likelihood(rows)))
    return np.transpose(joint) / np.sum(joint, axis=0)[:, None]


@pytest.mark.parametrize("seed", range(12))
def test_responsibilities_are_those_of_enumeration(seed):
    circuit, rows, _, _ = any_case(seed)
    found = circuit.responsibilities(rows)
    np.testing.assert_allclose(found, by_enumeration(circuit, rows), atol=1e-10)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert found.shape[1] == len(circuit.segments())


def test_some_of_these_circuits_have_several_contexts():
    assert max(len(any_case(seed)[0].segments()) for seed in range(12)) > 2


def weather():
    wet = Product([Bernoulli(0, p=0.995), Bernoulli(1, p=0.7), Gaussian(2, 8.0, 2.0)])
    dry = Product([Bernoulli(0, p=0.001), Bernoulli(1, p=0.05), Gaussian(2, 20.0, 2.0)])
    return Circuit(Sum([0.3, 0.7], [wet, dry]), ["rain", "umbrella", "warmth"])


def test_an_empty_row_has_the_weights_and_a_shared_context_counts_once():
    leaf = Bernoulli(0, p=0.2)
    shared = Product([leaf, Bernoulli(1, p=0.4)])
    inner = Sum([0.5, 0.5], [shared, Product([Bernoulli(0, p=0.9), Bernoulli(1, p=0.8)])])
    circuit = Circuit(Sum([0.6, 0.4], [inner, shared]))
    assert circuit.responsibilities([[np.nan, np.nan]])[0].tolist() == pytest.approx([0.7, 0.3])


def test_a_product_above_gives_the_choice_over_most_variables():
    small = Sum([0.5, 0.5], [Product([Bernoulli(v, p=p) for v in (0, 1)]) for p in (0.1, 0.9)])
    large = Sum([0.25, 0.75], [Product([Bernoulli(v, p=p) for v in (2, 3, 4)]) for p in (0.1, 0.9)])
    found = Circuit(Product([small, large]), list("abcde")).segments()
    assert found.columns == ("c", "d", "e")
    assert [round(own.weight, 6) for own in found] == [0.75, 0.25]
    assert found.names == ("many c/d/e", "few c/d/e")
    assert [group.columns for group in found.common] == [("a", "b")]


def test_a_pattern_names_numbered_columns_only_where_it_is_true_of_most_of_them():
    def parties(chances):
        rows = [Product([Bernoulli(v, p=p if v < 4 else q) for v in range(8)]) for p, q in chances]
        return Circuit(Sum([0.6, 0.4], rows), [f"bill_{v}" for v in range(8)]).segments()

    assert parties([(0.9, 0.9), (0.1, 0.1)]).names == ("many bill_*", "few bill_*")
    opposed = parties([(0.9, 0.1), (0.1, 0.9)])  # they differ in which bills, not in how many
    first, last = "bill_0/bill_1/bill_2/…", "bill_4/bill_5/bill_6/…"
    assert opposed.names == (f"many {first}, few {last}", f"many {last}, few {first}")
    rows = [Product([Bernoulli(v, p=p if v < 3 else 0.5) for v in range(8)]) for p in (0.9, 0.1)]
    some = Circuit(Sum([0.6, 0.4], rows), [f"bill_{v}" for v in range(8)]).segments()
    assert not any("*" in name for name in some.names)  # of 3 of 8


def test_a_circuit_without_a_choice_has_one_segment():
    circuit = Circuit(BetaBinomial(range(4), mean=0.3, dispersion=1.0))
    found = circuit.segments()
    assert found.names == (ALL_ROWS,)
    assert circuit.responsibilities([[0, 1, np.nan, 1]]).tolist() == [[1.0]]
    assert "1 segment" in str(found)


def test_impossible_rows_and_wrong_widths_are_refused():
    circuit = Circuit(
        Sum([0.5, 0.5], [Product([Bernoulli(0, p=1.0), Bernoulli(1, p=q)]) for q in (0.2, 0.7)]), ["a", "b"]
    )
    with pytest.raises(XSPNError, match="probability zero"):
        circuit.responsibilities([[0, 1]])
    with pytest.raises(XSPNError, match="2 columns"):
        circuit.responsibilities([[0, 1, 1]])


# -- names -----------------------------------------------------------------------------------------------------------


def test_names_are_made_of_what_marks_a_context():
    assert weather().segments().names == ("no rain, high warmth", "rain, umbrella")


@pytest.mark.parametrize("suffix", [".json", ".xspn"])
def test_names_are_the_same_after_a_file_and_for_any_order_of_children(tmp_path, suffix):
    circuit = datasets.planted("contexts", 20, random_state=3)
    save(circuit, tmp_path / f"c{suffix}")
    assert load(tmp_path / f"c{suffix}").segments().names == circuit.segments().names
    root = circuit.root
    turned = Circuit(Sum(root.weights[::-1], root.children[::-1]))
    assert turned.segments().names == circuit.segments().names


@pytest.mark.parametrize("family", ["contexts", "laws", "nested", "observed", "mixed"])
def test_no_two_segments_have_one_name(family):
    for seed in range(3):
        names = datasets.planted(family, 16, random_state=seed).segments().names
        assert len(set(names)) == len(names)


def test_every_phrase_is_true_of_the_context():
    for seed, family in itertools.product(range(3), ["contexts", "nested"]):
        circuit = datasets.planted(family, 18, random_state=seed)
        composition = Composition(circuit.graph)
        mixture = topmost_sum(composition)
        for segment, (_, node) in zip(circuit.segments(), composition.contexts(mixture), strict=True):
            for mark in segment.marks:
                own = [composition.marginals(node)[circuit.schema.index(name)].mean for name in mark.columns]
                overall = [composition.marginals(mixture)[circuit.schema.index(name)].mean for name in mark.columns]
                is_more = mark.text.split()[0] not in ("no", "few", "fewer", "less")
                assert all((a > b) == is_more for a, b in zip(own, overall, strict=True))
                assert mark.here == pytest.approx(np.mean(own))
                if mark.text.startswith("many"):
                    assert mark.here >= 0.5


def test_labels_categories_and_what_no_column_tells():
    labels = {"class": ["a", "b", "c"], "smokes": ["no", "yes"]}
    contexts = [
        Product([Categorical(0, p), Bernoulli(1, p=q)]) for p, q in (([0.95, 0.05, 0], 0.8), ([0, 0.1, 0.9], 0.05))
    ]
    circuit = Circuit(Sum([0.4, 0.6], contexts), ["class", "smokes"], labels=labels)
    assert circuit.segments().names == ("class=c, smokes=no", "class=a, mostly smokes=yes")
    same = [Exchangeable.from_class_probabilities([0, 1], p) for p in ([0.5, 0, 0.5], [0, 1, 0])]
    circuit = Circuit(Sum([0.6, 0.4], same), ["ann", "bob"])
    assert circuit.segments().names == ("ann, bob go together", "ann, bob exclude each other")


def test_segments_as_text_and_as_a_table_escape_names():
    circuit = Circuit(weather().root, ["<script>alert(1)</script>", "a|b", "c"])
    page = circuit.segments()._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "2 segments" in str(circuit.segments())


# -- strengths -------------------------------------------------------------------------------------------------------


def test_lift_and_correlation_are_those_of_the_pairs():
    leaf = BetaBinomial(range(3), mean=0.2, dispersion=0.5)
    circuit = Circuit(leaf)
    both = np.exp(circuit.oracle.log_likelihood(np.array([[1, 1, np.nan]])))[0]
    found = strength_of(leaf, circuit.domains)
    assert found.lift == pytest.approx(both / 0.04)
    assert found.correlation == pytest.approx((both - 0.04) / (0.2 * 0.8))
    assert found.words == "go together"


def test_equally_rare_is_not_together():
    rare = Product([Bernoulli(v, p=0.03) for v in range(4)])
    alike = strength_of(rare, Circuit(rare).domains)
    assert alike.are_apart
    assert alike.words == "alike, not together"
    assert alike.lift == pytest.approx(1.0)
    one = Exchangeable.from_class_probabilities(range(30), [0, 1, *[0] * 29])
    assert strength_of(one, Circuit(one).domains).words == "exclude each other"


def test_agreement_of_categories_is_beyond_chance(rng):
    chances = rng.dirichlet(np.ones(6))
    leaf = Exchangeable.from_class_probabilities([0, 1], chances, statistic=ValueCounts(3))
    circuit = Circuit(leaf)
    every = np.array(list(itertools.product(range(3), repeat=2)), dtype=np.float64)
    p = np.exp(circuit.oracle.log_likelihood(every))
    agree = p[every[:, 0] == every[:, 1]].sum()
    alone = np.array([p[every[:, 0] == v].sum() for v in range(3)])
    found = strength_of(leaf, circuit.domains)
    assert found.measure == "κ"
    assert found.lift is None
    assert found.correlation == pytest.approx((agree - alone @ alone) / (1 - alone @ alone))
