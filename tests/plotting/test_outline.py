"""Large circuits are folded: what is drawn adds up to the whole, and the drawing keeps to its limits."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import image as mpimage
from matplotlib.figure import Figure

from support.circuits import cases
from xspn import (
    Bernoulli,
    Categorical,
    ChowLiu,
    Circuit,
    Exchangeable,
    ExchangeableGaussian,
    Gaussian,
    Product,
    Sum,
)
from xspn.core.errors import ParameterError
from xspn.graph.nodes import LeafNode
from xspn.leaves import MultivariateGaussian
from xspn.plotting import draw_circuit
from xspn.plotting.facts import NodeFacts, leaf_pictures
from xspn.plotting.outline import outline
from xspn.plotting.overview import binned, description, thinned
from xspn.plotting.style import image
from xspn.statistics import ValueCounts


def block(variables, seed):
    counts = np.random.default_rng(seed).dirichlet(np.ones(len(variables) + 1))
    return Exchangeable.from_class_probabilities(variables, counts)


def deep(n=12, seed=0):
    """A circuit of several levels: sums that split on a variable, over products of blocks and a sum below."""
    if n <= 4:
        return block(range(n), seed)
    branches = []
    for value in (0.0, 1.0):
        inner = Sum([0.5, 0.5], [deep(n - 4, 2 * seed + k) for k in (1, 2)])
        branches.append(Product([Bernoulli(n - 1, p=value), block(range(n - 4, n - 1), seed), inner]))
    return Sum([0.3, 0.7], branches)


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


@given(cases(most_variables=8, components=3), st.integers(1, 30), st.none() | st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_the_outline_keeps_to_its_limits_and_covers_everything(case, max_nodes, depth):
    circuit, _ = case
    root = outline(circuit, max_nodes, depth)
    parts = root.walk()
    assert len(parts) <= max_nodes
    assert sorted(root.variables) == sorted(circuit.scope)
    level = {id(root): 0}
    for part in parts:
        for child in part.children:
            level[id(child)] = level[id(part)] + 1
        if part.kind == "sum":
            assert sum(child.weight for child in part.children) == pytest.approx(1)
            assert sum(child.reach for child in part.children) == pytest.approx(part.reach)
        if part.kind == "product":
            inside = sorted(v for child in part.children for v in child.variables)
            assert inside == part.variables
            assert all(child.reach == part.reach for child in part.children)
        if part.counts is not None:
            assert part.counts.sum() == pytest.approx(1)
            assert len(part.counts) == len(part.variables) + 1
        if part.kind == "folded":
            assert part.makeup.sum() == pytest.approx(len(part.variables))
    assert depth is None or max(level.values()) <= depth


@given(cases(most_variables=8, components=2))
@settings(max_examples=40, deadline=None)
def test_reach_is_the_chance_of_each_leaf(case):
    circuit, _ = case
    facts = NodeFacts(circuit.graph)
    covered = np.zeros(circuit.n_variables)
    for place, node in enumerate(circuit.graph.nodes):
        if isinstance(node, LeafNode):
            covered[list(node.variables)] += facts.reach[place]
    assert covered[list(circuit.scope)] == pytest.approx(1.0)  # every row reaches one leaf for each variable
    assert facts.makeup[-1].sum() == pytest.approx(len(circuit.scope))


def test_contexts_and_weights_are_written():
    figure = draw_circuit(Circuit(deep()), "deep", max_nodes=20)
    written = texts(figure)
    assert {"X11 = 0", "X11 = 1", "30 %", "70 %"} <= set(written)
    assert any("nodes, 7 variables" in text or "nodes, 8 variables" in text for text in written)


def test_folded_parts_say_what_they_hold():
    root = outline(Circuit(deep()), max_nodes=1)
    assert root.kind == "folded"
    assert root.n_nodes == len(Circuit(deep()).graph)
    assert description(root) == f"{root.n_nodes} nodes, 12 variables"
    assert root.counts == pytest.approx(Circuit(deep()).count_distribution(range(12)))


def test_the_same_part_is_drawn_once():
    shared = deep(8)
    parts = [Product([Bernoulli(8, p=p), Bernoulli(9, p=0.4), shared]) for p in (0.2, 0.8)]
    root = outline(Circuit(Sum([0.4, 0.6], parts)), max_nodes=40)
    again = [part for part in root.walk() if part.kind == "again"]
    labelled = [part for part in root.walk() if part.label is not None and part.kind != "again"]
    assert again
    assert sorted(part.label for part in labelled) == sorted({part.label for part in again})
    assert description(again[0]).startswith(f"the same as ({again[0].label}): ")
    assert len({part.origin for part in labelled}) == len(labelled)


def test_many_branches_and_factors_are_summed_up():
    branches = [Product([block([0, 1, 2], i), block([3, 4], i + 50)]) for i in range(20)]
    root = outline(Circuit(Sum(np.full(20, 0.05), branches)), max_nodes=10)
    assert [description(part) for part in root.children] == ["5 exchangeable in 2 blocks"] * 5 + [
        "15 more branches, 45 nodes, 5 variables"
    ]
    factors = [Sum([0.5, 0.5], [block([2 * i, 2 * i + 1], i), block([2 * i, 2 * i + 1], i + 99)]) for i in range(12)]
    last = outline(Circuit(Product(factors)), max_nodes=7).children[-1]
    assert description(last) == "7 more factors, 21 nodes, 14 variables"


def test_every_kind_of_leaf_has_a_line():
    tree = ChowLiu([0, 1], parents=[-1, 0], p=[[0.5, 0.5], [0.1, 0.8]])
    reals = ExchangeableGaussian([5, 6], mean=0.0, std=1.0, correlation=0.5)
    normal = MultivariateGaussian([9, 10], mean=[0, 0], covariance=[[1, 0.5], [0.5, 1]])
    steps = Exchangeable.uniform([11, 12, 13], ValueCounts(3))
    alone = [Bernoulli(4, p=0.2), Gaussian(7, 0.0, 1.0), Categorical(8, [0.2, 0.3, 0.5])]
    circuit = Circuit(Product([tree, block([2, 3], 0), reals, normal, steps, *alone]))
    said = "7 exchangeable in 3 blocks, tree of 2, 2 jointly normal, 3 independent"
    assert said in texts(draw_circuit(circuit, max_nodes=5))
    shapes = {segment.shape for segment in leaf_pictures(circuit.root.children)}
    assert shapes == {"bars", "chances", "frequencies", "bell", "tree"}


def test_certain_values_are_contexts_whatever_their_leaf():
    parts = [Product([Categorical(0, np.eye(3)[v]), Bernoulli(1, p=p)]) for v, p in enumerate((0.3, 0.5, 0.999))]
    circuit = Circuit(Sum([0.2, 0.3, 0.5], parts), names=["colour", "wet"], labels={0: ["red", "green", "blue"]})
    for figure in (draw_circuit(circuit), draw_circuit(circuit, max_nodes=9)):
        assert {"colour = red", "colour = green"} <= set(texts(figure))
    both_certain = outline(circuit, 9).children[0]  # all factors are certain: then nothing would be left to draw
    assert (both_certain.kind, both_certain.contexts) == ("leaves", [])


def test_a_circuit_of_thousands_of_nodes_is_a_picture():
    circuit = Circuit(deep(24))
    assert len(circuit.graph) > 3000
    figure = draw_circuit(circuit, "large")
    assert max(figure.get_size_inches()) < 14
    pixels = mpimage.imread(io.BytesIO(image(figure, dpi=60)))
    assert (pixels[:, :, :3].min(axis=2) < 0.9).mean() > 0.03


def test_drawing_into_axes_of_ones_own():
    figure = Figure(figsize=(4, 3))
    left, right = figure.subplots(1, 2)
    assert draw_circuit(Circuit(deep()), "whole", ax=left) is figure
    assert draw_circuit(Circuit(deep()), "folded", max_nodes=9, ax=right) is figure
    assert all(text.get_fontsize() < 8 for text in right.texts)


@pytest.mark.parametrize("wrong", [{"max_nodes": 0}, {"depth": -1}])
def test_limits_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ParameterError, match="expected max_nodes ≥ 1 and depth ≥ 0"):
        draw_circuit(Circuit(deep()), **wrong)


def test_bars_of_many_values():
    assert sum(binned([0.001] * 1000)) == pytest.approx(1)
    assert len(binned([0.001] * 1000)) <= 60
    assert len(thinned([0.5] * 1000)) == 60
    assert thinned([0.3, 0.2]) == [0.3, 0.2]
