"""Charts of one model show the numbers that the model gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from matplotlib.figure import Figure
from matplotlib.text import Text

from support.circuits import cases
from xspn import XSPN, Bernoulli, Categorical, Circuit, Exchangeable, Gaussian, Product, Sum, datasets
from xspn.core.errors import DataError, ParameterError, QueryError, XSPNError
from xspn.core.names import names_within
from xspn.inference.composition import Composition
from xspn.leaves.laws import percent
from xspn.plotting import (
    count_chart,
    draw_circuit,
    draw_contexts,
    exchangeability_map,
    likelihood_histogram,
    posterior_bars,
)
from xspn.plotting.exchangeability_map import grouped_order, shared_leaves
from xspn.plotting.style import image
from xspn.statistics import Blocks

CONFERENCE = datasets.truth("conference")


def labels(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def test_posterior_bars_are_the_marginals():
    axes = posterior_bars(CONFERENCE, {"hot_topic": 1}, ["overflow", "attends_3"]).axes[0]
    expected = CONFERENCE.marginals({"hot_topic": 1})[0, :, 1]
    names = CONFERENCE.names
    assert labels(axes.yaxis) == ["overflow", "attends_3"]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(
        [expected[names.index("overflow")], expected[names.index("attends_3")]]
    )
    assert axes.get_title(loc="left") == "Given hot_topic = 1"


def test_posterior_bars_show_what_changes_most():
    circuit = Circuit(
        Product(
            [Exchangeable.from_class_probabilities([0, 1], [0.5, 0.0, 0.5]), Bernoulli(2, p=0.3), Gaussian(3, 0, 1)]
        )
    )
    axes = posterior_bars(circuit, {0: 1}).axes[0]
    assert labels(axes.yaxis) == ["X1"]
    assert labels(posterior_bars(circuit, {2: 1}).axes[0].yaxis) == ["X0", "X1"]
    assert len(posterior_bars(circuit, {0: 1}, most=1).axes[0].patches) == 1
    with pytest.raises(XSPNError, match="rain"):
        posterior_bars(circuit, {0: 1}, ["rain"])
    with pytest.raises(QueryError, match="found none"):
        posterior_bars(Circuit(Bernoulli(0, p=0.3)), {0: 1})


def test_posterior_bars_of_categories_have_one_bar_for_each():
    circuit = Circuit(Product([Categorical(0, [0.2, 0.3, 0.5]), Bernoulli(1, p=0.4)]), names=["colour", "wet"])
    axes = posterior_bars(circuit, {}, ["colour", "wet"]).axes[0]
    assert labels(axes.yaxis) == ["colour = 0", "colour = 1", "colour = 2", "wet"]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([0.2, 0.3, 0.5, 0.4])


def test_labels_are_written():
    circuit = Circuit(Bernoulli(0, p=0.4), names=["rain"], labels={"rain": ["dry", "wet"]})
    assert labels(posterior_bars(circuit, {}, ["rain"]).axes[0].yaxis) == ["rain = wet"]
    parts = [Product([Bernoulli(0, p=p), Bernoulli(1, p=0.5)]) for p in (0.0, 1.0)]
    both = Circuit(Sum([0.5, 0.5], parts), names=["rain", "umbrella"], labels={"rain": ["dry", "wet"]})
    for figure in (draw_circuit(both), draw_circuit(both, max_nodes=9)):
        assert {"rain = dry", "rain = wet"} <= {text.get_text() for text in figure.axes[0].texts}
    assert posterior_bars(both, {"rain": "wet"}).axes[0].get_title(loc="left") == "Given rain = wet"


def test_counts_are_those_of_model_and_data():
    rows = CONFERENCE.sample(500, random_state=0)
    people = [f"attends_{i}" for i in range(10)]
    axes = count_chart(CONFERENCE, people, data=rows).axes[0]
    assert [bar.get_height() for bar in axes.patches] == pytest.approx(CONFERENCE.count_distribution(people))
    dots = axes.lines[0].get_ydata()
    assert dots == pytest.approx(np.bincount(rows[:, :10].sum(axis=1).astype(int), minlength=11) / 500)


def test_counts_given_evidence_and_rows_with_missing_values():
    rows = CONFERENCE.sample(50, random_state=0)
    rows[::2, 3] = np.nan
    axes = count_chart(CONFERENCE, given={"hot_topic": 1}, data=rows).axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "without evidence", "data", "given hot_topic = 1"
    ]  # fmt: skip
    with pytest.raises(DataError, match="rows without missing values"):
        count_chart(CONFERENCE, data=np.full((3, 12), np.nan))


def test_many_counts_share_bars():
    circuit = Circuit(Product([Bernoulli(i, p=0.5) for i in range(300)]))
    bars = count_chart(circuit).axes[0].patches
    assert len(bars) <= 50
    assert sum(bar.get_height() for bar in bars) == pytest.approx(1)


def test_likelihood_histograms_count_every_row():
    scores = {"train": np.linspace(-9, -1, 100), "test": np.array([-3.0, -np.inf, -4.0, -500.0])}
    figure = likelihood_histogram(scores)
    said = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert said == ["train: mean −5.00", "test: mean −169.00, 1 rows impossible"]
    outlines = [patch for patch in figure.axes[0].patches if not patch.get_fill()]
    assert [float(patch.get_data().values.sum()) for patch in outlines] == pytest.approx([1.0, 0.75])


@pytest.mark.parametrize("wrong", [{}, {"a": []}, {"a": [np.nan]}, {"a": [-np.inf]}])
def test_nothing_to_draw_is_said(wrong):
    with pytest.raises(DataError, match="likelihood_histogram"):
        likelihood_histogram(wrong)


@given(cases(binary=True, most_variables=8, components=2))
@settings(max_examples=40, deadline=None)
def test_shared_leaves_are_probabilities(case):
    circuit, _ = case
    together = shared_leaves(circuit)
    assert together == pytest.approx(together.T)
    assert together.min() >= 0
    assert together.max() <= 1 + 1e-9
    assert (np.diag(together)[:, None] >= together - 1e-9).all()


def test_blocks_are_shared_within_only():
    leaf = Exchangeable.uniform(range(4), Blocks([[0, 1], [2, 3]]))
    assert shared_leaves(Circuit(leaf)).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]


def test_groups_are_found_and_stand_together():
    def halves(first, second):
        return Product([Exchangeable.uniform(first), Exchangeable.uniform(second)])

    odd, even = range(1, 10, 2), range(0, 10, 2)
    mixed = Product([Bernoulli(i, p=0.5) for i in range(10)])
    circuit = Circuit(Sum([0.6, 0.4], [halves(odd, even), mixed]))
    order, groups, limit = grouped_order(shared_leaves(circuit))
    assert sorted(sorted(int(v) for v in group) for group in groups) == [list(even), list(odd)]
    assert limit == pytest.approx(0.55)
    assert sorted(order) == list(range(10))
    assert {v % 2 for v in order[:5]} in ({0}, {1})


def test_the_map_is_a_picture_with_names_and_known_groups():
    figure = exchangeability_map(CONFERENCE, groups={"hot_topic": "topic", "attends_0": "person"})
    assert figure.axes[0].get_title(loc="left") == "10 of 12 variables in one group, interchangeable within"
    assert set(labels(figure.axes[0].yaxis)) == set(CONFERENCE.names)
    assert len(image(figure, dpi=50)) > 1000
    matrix = exchangeability_map(np.eye(3), names=["a", "b", "c"], label="p-value")
    assert matrix.axes[0].get_title(loc="left") == "3 variables, hardly any two interchangeable"
    with pytest.raises(DataError, match="expected 3, one for each variable"):
        exchangeability_map(np.eye(3), names=["a"])
    with pytest.raises(DataError, match="square matrix"):
        exchangeability_map(np.ones((2, 3)))


def test_estimators_and_axes_of_ones_own_will_do():
    rows = CONFERENCE.sample(400, random_state=0)
    model = XSPN(random_state=0).fit(rows)
    figure = Figure(figsize=(9, 7))
    axes = figure.subplots(2, 2).ravel()
    assert posterior_bars(model, {10: 1}, ax=axes[0]) is figure
    assert count_chart(model, range(10), ax=axes[1]) is figure
    assert exchangeability_map(model, ax=axes[2]) is figure
    assert likelihood_histogram({"rows": model.score_samples(rows)}, ax=axes[3]) is figure
    with pytest.raises(ParameterError, match="expected a circuit or a fitted estimator, found ndarray"):
        count_chart(rows)


def test_names_in_little_room():
    assert names_within(["a", "b"], 10) == "a, b"
    assert names_within([f"x{i}" for i in (1, 2, 3, 5, 6)], 20) == "x1…3, x5, x6"
    assert names_within(["a very long name indeed"], 10) == "a very lo…"
    assert names_within(["first long name", "second", "third"], 12) == "first long …"
    assert len(names_within([f"name {i * 7}" for i in range(100)], 30)) <= 30


# -- contexts ----------------------------------------------------------------------------------------------------------


def texts_of(figure):
    return [text.get_text() for text in figure.findobj(Text)]


@pytest.mark.parametrize("family", ["blocks", "contexts", "nested", "chain", "observed", "mixed"])
def test_contexts_are_drawn_with_the_laws_of_their_blocks(family):
    circuit = datasets.planted(family, 24, random_state=0)
    figure = draw_contexts(circuit)
    shown = texts_of(figure)
    assert set(circuit.names) <= set(shown)
    composition = Composition(circuit.graph)
    contexts = composition.contexts(circuit.root) if isinstance(circuit.root, Sum) else []
    for weight, context in contexts:
        assert percent(weight) in shown
        for block in composition.parts(context).blocks[:6]:
            law = block.law([circuit.names[v] for v in block.variables], str)
            assert any(law[:40] in text for text in shown)
    assert len(image(figure)) > 10_000


def test_many_variables_and_contexts_make_a_picture_of_a_page():
    rng = np.random.default_rng(0)

    def context():
        blocks = np.array_split(rng.permutation(300), 25)
        return Product([Exchangeable.from_class_counts(own, rng.random(len(own) + 1)) for own in blocks])

    circuit = Circuit(Sum(np.full(20, 0.05), [context() for _ in range(20)]))
    figure = draw_contexts(circuit, most=5, title="many")
    width, height = figure.get_size_inches()
    assert width < 16
    assert height < 14
    assert "many" in texts_of(figure)
    assert "the 5 with the most rows" in " ".join(texts_of(draw_contexts(circuit, most=5)))
    with pytest.raises(ParameterError, match="expected most of at least 1"):
        draw_contexts(circuit, most=0)


def test_contexts_are_drawn_into_axes_of_ones_own():
    figure = Figure(figsize=(4, 3))
    assert draw_contexts(CONFERENCE, ax=figure.subplots()) is figure
    assert "all rows" not in texts_of(figure)
