"""Figures 1 and 2 say what the paper's say."""

import re

from xspn import datasets
from xspn.paper.experiments import data
from xspn.paper.experiments.figures import figure1, figure2


def test_figure_1_is_small_on_the_right():
    drawing = figure1()
    titles = [text.get_text() for text in drawing.figure.axes[0].texts if "nodes" in text.get_text()]
    sizes = [int(re.search(r"(\d+) nodes", title).group(1)) for title in titles]
    assert len(sizes) == 2
    assert sizes[0] > 5 * sizes[1]


def test_figure_2_has_contexts_and_few_parameters(monkeypatch):
    original = datasets.make
    monkeypatch.setattr(data.datasets, "make", lambda name: original(name, 20_000, 1000, 1000))
    data.dataset.cache_clear()
    drawing = figure2()
    texts = [text.get_text() for text in drawing.figure.axes[0].texts]
    assert {"hot_topic = 0", "overflow = 1"} <= set(texts)
    assert "attends_0…9" in texts
    own, other = map(int, re.search(r"(\d+) parameters, where the SPN .* has (\d+)", drawing.caption).groups())
    assert own <= 61
    assert other > 3 * own
    data.dataset.cache_clear()
