"""Drawings are pictures with the right things in them; matplotlib is asked for when it is needed, and not before."""

import io
import itertools
import subprocess
import sys
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import image as mpimage
from matplotlib.text import Text

from xspn import Bernoulli, Categorical, ChowLiu, Circuit, Exchangeable, Product, Sum
from xspn.core.errors import MissingExtraError, QueryError
from xspn.plotting import (
    Point,
    count_chart,
    difference_bars,
    draw_circuit,
    draw_contexts,
    draw_side_by_side,
    exchangeability_map,
    grouped_bars,
    named_scatter,
    posterior_bars,
    runtime_lines,
)
from xspn.plotting.sketch import Box, lay_out, sketch, summary_of_names
from xspn.plotting.style import image, require_matplotlib


def ink(figure):
    """The fraction of the picture that is not white, after a check that it is a picture."""
    pixels = mpimage.imread(io.BytesIO(image(figure, dpi=60)))
    assert min(pixels.shape[:2]) > 20
    return float((pixels[:, :, :3].min(axis=2) < 0.9).mean())


def conference():
    def branch(hot, counts):
        return Product([Bernoulli(3, p=hot), Exchangeable.from_class_probabilities([0, 1, 2], counts)])

    names = ["attends_0", "attends_1", "attends_2", "hot_topic"]
    return Circuit(Sum([0.9, 0.1], [branch(0.001, [0.7, 0.1, 0.1, 0.1]), branch(0.999, [0, 0.2, 0.3, 0.5])]), names)


def test_contexts_are_written_at_edges():
    root = sketch(conference())
    assert root.edges == [["hot_topic = 0", "0.90"], ["hot_topic = 1", "0.10"]]
    assert [child.kind for child in root.children] == ["counts", "counts"]
    assert root.children[0].lines == ["attends_0…2"]
    assert root.children[0].values == pytest.approx([0.7, 0.1, 0.1, 0.1])


def test_without_contexts_every_leaf_is_drawn():
    root = sketch(conference(), contexts=False)
    assert [child.kind for child in root.children] == ["product", "product"]
    assert [part.kind for part in root.children[0].children] == ["bit", "counts"]


def test_bits_of_a_product_are_one_panel():
    few = sketch(Circuit(Product([Bernoulli(i, p=0.4) for i in range(3)])))
    many = sketch(Circuit(Product([Bernoulli(i, p=0.4) for i in range(9)])))
    assert (few.kind, few.lines[0]) == ("bit", "X0  0.40")
    assert (many.kind, len(many.values), many.lines) == ("bits", 9, ["X0…8"])


def test_every_leaf_can_be_drawn():
    tree = ChowLiu([0, 1], parents=[-1, 0], p=[[0.5, 0.5], [0.1, 0.8]])
    leaf = Exchangeable.from_class_probabilities(range(2, 5), [0.1, 0.2, 0.3, 0.4])
    circuit = Circuit(Product([tree, leaf, *(Bernoulli(i, p=0.3) for i in range(5, 12))]))
    assert ink(draw_circuit(circuit, "all of them")) > 0.02
    assert ink(draw_circuit(Circuit(Bernoulli(0, p=0.3)))) > 0.0
    assert ink(draw_circuit(conference(), "conference")) > 0.02


def test_too_large_a_circuit_is_not_drawn_as_a_whole():
    parts = [Product([Bernoulli(i, p=p) for i in range(60)]) for p in np.linspace(0.1, 0.9, 8)]
    circuit = Circuit(Sum(np.full(8, 1 / 8), parts))
    with pytest.raises(QueryError, match="too many for a picture"):
        draw_side_by_side([(circuit, "", True)])
    assert ink(draw_circuit(circuit)) > 0.02


def test_names_in_few_words():
    assert summary_of_names(["a"]) == "a"
    assert summary_of_names(["x1", "x3", "x4"]) == "x1, x3, x4"
    assert summary_of_names([f"x{i}" for i in range(5, 9)]) == "x5…8"


def test_the_layout_has_no_overlaps_and_centres_parents():
    rng = np.random.default_rng(0)

    def tree(depth):
        children = [tree(depth - 1) for _ in range(rng.integers(1, 4))] if depth else []
        return Box(float(rng.uniform(0.5, 3)), float(rng.uniform(0.3, 1)), children)

    root = tree(4)
    width, height = lay_out(root, gap=0.2, level_gap=0.3)
    boxes = root.walk()
    for box in boxes:
        assert box.x - box.width / 2 >= -1e-9
        assert box.x + box.width / 2 <= width + 1e-9
        assert box.y + box.height <= height + 1e-9
        if box.children:
            assert box.x == pytest.approx((box.children[0].x + box.children[-1].x) / 2)
    for level in {box.depth for box in boxes}:
        row = sorted((box for box in boxes if box.depth == level), key=lambda box: box.x)
        for left, right in itertools.pairwise(row):
            assert right.x - right.width / 2 - (left.x + left.width / 2) >= 0.2 - 1e-9


def test_charts_are_pictures():
    bars = difference_bars(["a", "b"], {"one": [1.0, -2.0], "two": [None, 90.0]}, "title", "per cent")
    groups = grouped_bars(["a", "b"], {"one": [0.5, None]}, {"one": [0.6, 0.7]}, "title", "accuracy")
    points = [Point(10.0**i, (-1) ** i * i, f"set {i}", "even" if i % 2 else "odd") for i in range(6)]
    dots = named_scatter(points, "title", "x", "y", center=(1, 0), log_x=True, linear_within=0.1)
    lines = runtime_lines({"learning": {"full": {"nltcs": {3: 0.1, 5: 0.9}}, "pairwise": {}}}, "variables")
    for figure in (bars, groups, dots, lines):
        assert ink(figure) > 0.01


def test_one_picture_is_one_file():
    assert image(draw_circuit(conference()), "svg") == image(draw_circuit(conference()), "svg")


def test_nothing_is_imported_before_it_is_needed():
    code = "import sys, xspn.plotting; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'xspn\[plots\]'"):
        require_matplotlib()


NAMES = [
    r"US$ (C:\new)", "$\\frac{", "$x_1$", "two\nlines\tof\x1b[31m names", "\u202eturned", "🙂👍🏽", "日本", "_private",
    "{}%s\\", "9" * 5000, "long " * 2000, "<svg>&-->", "\u0301",
]  # fmt: skip


@pytest.mark.parametrize("start", range(0, len(NAMES), 4))
def test_names_are_drawn_as_they_are(start):
    names = (NAMES + NAMES)[start : start + 4]
    leaf = Exchangeable.from_class_probabilities([0, 1, 2], [0.7, 0.1, 0.1, 0.1])
    parts = [Product([Categorical(3, p), leaf]) for p in ([1, 0, 0, 0], [0, 0.5, 0.4, 0.1])]
    circuit = Circuit(Sum([0.5, 0.5], parts), names, labels={3: names})
    figures = [
        draw_circuit(Circuit(Product([Bernoulli(i, p=0.4) for i in range(4)]), names)),
        draw_circuit(circuit),
        exchangeability_map(circuit),
        draw_contexts(circuit),
        posterior_bars(circuit, {3: names[0]}),
        count_chart(circuit, [0, 1, 2], given={3: names[0]}),
    ]
    for figure in figures:
        ElementTree.fromstring(image(figure, "svg"))
        assert max(figure.get_size_inches()) < 30
    with warnings.catch_warnings(action="ignore"):  # of letters that the font lacks
        figures[4].savefig(io.BytesIO(), dpi=30)  # as users do
    texts = [text.get_text() for text in figures[0].findobj(Text)]
    for name in names:
        assert any(name in text for text in texts) or len(name) > 60 or not name.isprintable()
