"""Tables against results made by hand."""

import numpy as np
import pytest
from scipy import stats

from xspn.core.errors import DataError
from xspn.paper.datasets.catalog import names
from xspn.paper.experiments.comparison import Chosen, against, best, paired_p_value, significantly_better
from xspn.paper.experiments.published import ACCURACIES, LIKELIHOODS
from xspn.paper.experiments.rendering import NOTHING
from xspn.paper.experiments.tables import (
    ablation_table,
    agreement,
    pairwise_table,
    records_table,
    scores,
    settings_table,
    sizes_table,
    table1,
    table2,
)


def columns(table, row=0):
    return dict(zip(table.header, table.rows[row], strict=True))


def test_every_data_set_has_published_numbers_and_only_printed_gaps():
    assert set(LIKELIHOODS) == set(names())
    assert [name for name, row in LIKELIHOODS.items() if row.made is None] == ["kosarek"]
    without_clt = [name for name, row in LIKELIHOODS.items() if row.spn_clt is None]
    assert without_clt == [
        "exam", "house", "bundestag", "webkb", "msweb", "book", "accidents", "movie", "bbc", "ad", "20ng", "reut.-52",
    ]  # fmt: skip
    assert sum(row.mevm_taken_over for row in LIKELIHOODS.values()) == 12
    for row in LIKELIHOODS.values():  # table 1 repeats the ablation study
        assert row.spn in (row.spn_plain, row.spn_clt)
        assert row.xspn in (row.xspn_t, row.xspn_tf)
    assert len(ACCURACIES) == 9


def test_settings_and_models_are_chosen_on_validation_rows(made):
    results = [
        made("senate", "XSPN-T", -19.0, valid=-20.5),
        made("senate", "XSPN-TF", -19.9, valid=-20.0, settings=[("min_instances", 20)]),
        made("senate", "XSPN-TF", -18.0, valid=-21.0, settings=[("min_instances", 200)]),
    ]
    row = columns(table1(Chosen(results, "density")))
    assert row["XSPN"].text == "−19.900"
    assert row["SPN"] == NOTHING
    assert row["paper's XSPN"].text == "−19.663"


def test_equal_scores_are_decided_by_loss_size_and_name_not_by_order(made):
    results = [
        made("exam", "SPN", 0.9, experiment="classification", settings=[("min_instances", m)], parameters=p,
             facts={"valid_log_loss": loss})
        for m, p, loss in ((20, 50, 0.3), (200, 10, 0.2), (100, 5, 0.2))
    ]  # fmt: skip
    assert best(results) is best(results[::-1]) is results[2]


def test_marks_and_significance(made):
    results = [
        made("senate", "SPN", -20.0),
        made("senate", "XSPN-TF", -19.6),
        made("senate", "XSPN-default", -19.75, spread=1.001),
        made("house", "SPN", -80.0, spread=0.0),
        made("house", "XSPN-TF", -81.0),
    ]
    chosen = Chosen(results, "density")
    table = table1(chosen)
    first, second = columns(table, 0), columns(table, 1)
    assert (first["XSPN"].mark, first["XSPN"].bold) == ("better", True)
    assert (first["SPN"].mark, first["SPN"].bold) == ("better", False)
    assert (first["XSPN-default"].mark, first["XSPN-default"].bold) == ("equal", False)
    assert (second["XSPN"].mark, second["SPN"].bold) == ("worse", True)
    said = scores(table, chosen)
    for line, who in ((0, "XSPN (the paper's settings)"), (3, "XSPN-TF alone (what the paper's text calls XSPN)")):
        assert f"{who} against the published XSPN: better on 1, equal on 0, worse on 1 of 2" in said[line]


def test_limits_footnotes_and_held_out_rows(made):
    results = [
        made("conference", "XSPN-TF", -5.907, facts={"limit": -5.9062}),
        made("MEVM-l", "XSPN-TF", -84.7, facts={"held_out": True}),
        made("nltcs", "MEVM", -6.05),
    ]
    table = table1(Chosen(results, "density"))
    rows = {row[0].text: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert rows["conference"]["limit"].text == "−5.906"
    assert rows["conference"]["paper's MADE"].text == "−5.541†"
    assert rows["MEVM-l"]["limit"].text == "≈ −84.437"
    assert rows["nltcs"]["paper's MEVM"].text == "−6.040*"
    assert any(note.startswith("MEVM-l: the published validation file is the test file") for note in table.notes)


def test_records_stand_beside_the_models_of_this_library(made):
    results = [
        made("plants", "XSPN-default", -12.76, facts={"test_rows_in_train": 0.6}),
        made("plants", "XSPN-best", -11.70),
        made("netflix", "XSPN-best", -55.315),
        made("senate", "XSPN-default", -19.7),
    ]
    table = records_table(Chosen(results, "density"))
    rows = {row[0].text: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert set(rows) == {"plants", "netflix"}  # records are of the benchmark sets
    plants, netflix = rows["plants"], rows["netflix"]
    assert plants["test rows in train"].text == "60.0%"
    assert (plants["XSPN-default"].mark, plants["XSPN-best"].mark, netflix["XSPN-best"].mark) == (
        "worse", "better", "equal",
    )  # fmt: skip
    assert (plants["XSPN-best"].bold, netflix["XSPN-best"].bold) == (True, False)
    assert (plants["best tractable"].text, netflix["model of any kind"].text) == ("−11.990", "VAE R")


def test_ablation_sizes_and_settings(made):
    grid = [("independence_threshold", 5.0), ("min_instances", 20), ("significance", 0.4)]
    chosen = Chosen(
        [made("senate", "XSPN-TF", -19.6, settings=grid, parameters=1234), made("senate", "SPN", -20.0)], "density"
    )
    row = columns(ablation_table(chosen))
    assert (row["XSPN-TF"].text, row["XSPN-TF"].mark, row["XSPN-TF"].bold) == ("−19.600", "better", True)
    assert row["paper's SPN-CLT"].text == "−20.832"
    assert columns(sizes_table(chosen))["XSPN-TF"].text == "1,234"
    assert columns(settings_table(chosen))["XSPN-TF"].text == "5 / 20 / 0.4 (1)"


def test_accuracies(made):
    results = [
        made("parity", "XSPN", 1.0, experiment="classification", spread=0.0),
        made("parity", "SPN", 0.5, experiment="classification", spread=0.1),
    ]
    row = columns(table2(Chosen(results, "classification")))
    assert (row["XSPN"].text, row["XSPN"].mark, row["XSPN"].bold) == ("1.000", "equal", True)
    assert (row["paper's SPN"].text, row["SPN"].mark) == ("0.493", "better")
    assert row["majority"].text == "0.600"


def test_pairwise_against_full(made):
    results = [
        made("nltcs", method, -2.0, experiment="pairwise", settings=[("columns", n)], facts={"circuit": circuit})
        for n, method, circuit in ((3, "pairwise", "a"), (3, "full", "a"), (5, "pairwise", "a"), (5, "full", "b"))
    ]
    table = pairwise_table(results)
    assert [row[-1].text for row in table.rows] == ["yes", "no"]
    assert agreement(results) == "The circuits are the same in 1 of 2 cases."


def test_the_paired_test_is_scipys():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=40), rng.normal(size=40) + 0.3
    assert paired_p_value(first, second) == pytest.approx(stats.ttest_rel(first, second).pvalue)


def test_the_paired_test_at_its_edges():
    rows = np.array([-1.0, -2.0, -3.0])
    impossible = np.array([-1.0, -np.inf, -3.0])
    assert paired_p_value(rows, rows) == 1.0
    assert paired_p_value(rows + 1, rows) == 0.0
    assert paired_p_value(rows, impossible) == 0.0
    assert significantly_better(rows, impossible)
    assert not significantly_better(impossible, rows)
    assert paired_p_value(impossible, impossible) == 1.0
    assert paired_p_value(rows[:1], rows[:1] + 1) == 1.0
    with pytest.raises(DataError, match="the same number of rows"):
        paired_p_value(rows, rows[:2])


@pytest.mark.parametrize(
    ("own", "mark"), [(-99.9, "better"), (-100.0, "equal"), (-100.5, "equal"), (-100.6, "worse"), (-np.inf, "worse")]
)
def test_within_half_a_per_cent_is_equal(own, mark):
    assert against(own, -100.0) == mark
