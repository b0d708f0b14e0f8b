"""Reports: what they measure is true, whatever the table; text is escaped; pages need nothing else."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from xspn import XSPN, Bernoulli, Circuit, Gaussian, Product, Sum, XSPNError, report
from xspn.data.provenance import held_out_rows
from xspn.reports.calibration import conditionals, pairs_of
from xspn.reports.document import Document, Grid, Paragraph
from xspn.reports.oddities import odd_cells, odd_rows

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def mixed():
    """Bits, a scale, names and numbers with missing cells."""
    rng = np.random.default_rng(4)
    n = 240
    hot = rng.random(n) < 0.4
    table = pd.DataFrame(
        {
            "hot": np.where(hot, "yes", "no"),
            "city": np.where(rng.random(n) < np.where(hot, 0.9, 0.2), "Bonn", "Köln"),
            "size": rng.integers(0, 4, n) + hot,
            "income": np.where(hot, 40.0, 20.0) + rng.normal(0, 4, n),
            SCRIPT: np.where(rng.random(n) < 0.5, "a|b", "<b>c</b>"),
        }
    )
    for name in ("city", "income"):
        table.loc[rng.random(n) < 0.15, name] = None
    return table


@pytest.fixture(scope="module")
def found(mixed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return report(XSPN(random_state=0).fit(mixed), mixed, title=f"A {SCRIPT}")


def test_a_mixed_table_has_all_parts(found):
    page = found.html()
    for part in ("Data", "Fit", "Calibration", "Segments and groups", "Oddities", "Limits", "Provenance"):
        assert f">{part}</h2>" in page
    assert page.count("<img ") >= 3
    assert "data:image/png;base64," in page
    assert not re.search(r'(src|href)="(?!data:|#)', page)  # nothing else is needed


def test_text_is_escaped_in_both_forms(found):
    for text in (found.html(), found.markdown()):
        assert "<script>" not in text
        assert "<b>c" not in text
    assert "&lt;script&gt;" in found.html()
    rows = [line for line in found.markdown().splitlines() if line.startswith("| ")]
    assert rows
    assert all(len(re.findall(r"(?<!\\)\|", line)) >= 3 for line in rows)


def test_the_model_is_learned_again_for_rows_that_it_has_not_seen(found, mixed):
    scores = {score.name: score for score in found.findings.scores}
    assert found.findings.rows.are_new
    assert len(found.findings.rows.test) == 60
    assert scores["this model"].mean > scores["independent columns"].mean
    assert scores["this model"].gain == pytest.approx(
        scores["this model"].mean - scores["independent columns"].mean, abs=1e-9
    )


def test_an_odd_cell_is_found(mixed):
    odd = mixed.copy()
    odd.loc[7, "income"] = 95.0
    own = report(XSPN(random_state=0).fit(mixed), odd).findings
    assert own.odd_rows.order[0] == 7
    cell = own.odd_cells.cells[0]
    assert (cell.row, cell.column, cell.value) == (7, 3, 95.0)
    assert own.odd_cells.of_rows[7] == cell


def test_a_row_that_was_learned_as_a_segment_of_its_own_is_told(mixed):
    odd = mixed.copy()
    odd.loc[7, "income"] = 300.0  # as far as that, whatever the seed
    found = report(XSPN(random_state=0).fit(odd), odd, refit=False)
    assert min(segment.rows for segment in found.findings.segments) < 3
    assert re.search(r"Rows in segments of their own.*income[^<]*: row 7<", found.html(), re.DOTALL)


def test_segments_are_true_of_the_table(found, mixed):
    names = found.findings.segments.names
    assert any("hot=yes" in name or "high income" in name for name in names)
    assert sum(own.rows for own in found.findings.segments) == pytest.approx(len(mixed))


def test_a_report_is_the_same_every_time(mixed, found, tmp_path):
    model = XSPN(random_state=0).fit(mixed)
    assert report(model, mixed, tmp_path / "r.md", title=f"A {SCRIPT}").markdown() == found.markdown()
    assert (tmp_path / "r.md").read_text(encoding="utf-8") == found.markdown()


# -- what is measured --------------------------------------------------------------------------------------------------


def pair():
    contexts = [Product([Bernoulli(0, p=p), Bernoulli(1, p=q), Gaussian(2, m, 1.0)]) for p, q, m in
                ((0.9, 0.8, 0.0), (0.2, 0.1, 4.0))]  # fmt: skip
    return Circuit(Sum([0.5, 0.5], contexts), ["a", "b", "x"])


def test_conditionals_are_those_of_enumeration():
    circuit = pair()
    rows = np.array([[1.0, 1.0, 0.3], [0.0, 1.0, np.nan]])
    found = conditionals(circuit, rows, 1, np.arange(2.0))
    rest = rows.copy()
    rest[:, 1] = np.nan
    np.testing.assert_allclose(found, circuit.marginals(rest)[:, 1, :2])


def test_pairs_are_those_of_the_model_and_the_table():
    circuit = pair()
    rows = circuit.sample(400, random_state=0)
    rows[:50, 0] = np.nan
    found = {(own.given, own.event): own for own in pairs_of(circuit, rows, [0, 1])}
    own = found["a=1", "b=1"]
    both = np.exp(circuit.log_likelihood([[1, 1, np.nan]]) - circuit.log_likelihood([[1, np.nan, np.nan]]))[0]
    assert own.model == pytest.approx(both)
    seen = rows[50:]
    assert own.table == pytest.approx(seen[seen[:, 0] == 1, 1].mean())
    assert own.rows == int((seen[:, 0] == 1).sum())


def test_rows_are_compared_with_those_of_the_same_cells():
    circuit = Circuit(Product([Bernoulli(v, p=0.2) for v in range(30)]))
    rows = circuit.sample(300, random_state=1)
    rows[150:, 5:] = np.nan  # raw log-likelihoods of these are larger by far
    found = odd_rows(circuit, rows)
    assert found.log_likelihood[:150].max() < found.log_likelihood[150:].min() or (
        found.log_likelihood[:150].mean() < found.log_likelihood[150:].mean() - 8
    )
    assert abs(found.deviations[:150].mean() - found.deviations[150:].mean()) < 0.25
    assert (found.fraction <= 0.01).mean() < 0.03


def test_an_odd_cell_is_one_for_which_another_value_is_likelier():
    circuit = pair()
    rows = np.vstack([circuit.sample(40, random_state=2), [[1.0, 1.0, 12.0]], [[np.nan, np.nan, np.nan]]])
    found = odd_cells(circuit, rows, odd_rows(circuit, rows), 5)
    assert (found.cells[0].row, found.cells[0].column) == (40, 2)
    assert found.n_cells == 41 * 3


# -- other models and rows ---------------------------------------------------------------------------------------------


def test_one_leaf_one_column_and_no_provenance():
    circuit = Circuit(Bernoulli(0, p=0.3), names=["rain"])
    found = report(circuit, [[0], [1], [0], [np.nan], [0]])
    assert len(found.findings.segments) == 1
    assert "does not say how it was learned" in found.html()
    assert "The model has one context" in found.html()


def test_constant_and_empty_columns():
    rows = np.array([[1, 0, np.nan]] * 12, dtype=float)
    rows[0, 0] = 0
    circuit = Circuit(Product([Bernoulli(v, p=0.5) for v in range(3)]))
    assert "no values" in report(circuit, rows).html()


def test_held_out_rows_are_found_again(rng):
    rows = (rng.random((80, 5)) < rng.random((80, 1))).astype(float)
    mask = held_out_rows(80, 0.25, 3)
    model = XSPN(random_state=0).fit(rows[~mask])
    circuit = model.circuit_.with_provenance(model.provenance_.with_held_out(0.25, 3, 20))
    found = report(circuit, rows)
    assert "20 rows that were held out" in found.findings.rows.how
    np.testing.assert_array_equal(found.findings.rows.test, rows[mask])
    other = report(circuit, rows[::-1])
    assert not other.findings.rows.are_new
    own = report(circuit, rows[~mask], test=rows[mask], refit=False)
    assert own.findings.scores[0].mean == pytest.approx(circuit.log_likelihood(rows[mask]).mean())


def test_rows_of_probability_zero_are_counted():
    circuit = Circuit(Product([Bernoulli(0, p=1.0), Bernoulli(1, p=0.5)]))
    rows = np.array([[1, 0], [1, 1]] * 20 + [[0, 1]] * 4, dtype=float)
    found = report(circuit, rows, test=rows)
    assert found.findings.scores[0].impossible == 4
    assert "probability zero" in found.html()


def test_a_document_is_escaped():
    own = Document("t")
    own.add(Paragraph("a <i> & `b` 5 %"), Grid(("x",), (("line\nbreak | pipe",),)))
    assert "<i>" not in own.html() + own.markdown()
    assert "break \\| pipe |" in own.markdown()
    assert "5&nbsp;%" in own.html()


@pytest.mark.parametrize(
    ("model", "X", "options", "message"),
    [
        ("model.json", [[0, 0, 0]], {}, "expected a circuit or a fitted estimator"),
        (pair(), [[0, 0]], {}, "3 columns"),
        (pair(), np.empty((0, 3)), {}, "0 rows"),
        (pair(), [[0, 0, 0.5]], {"path": "report.pdf"}, ".html, .htm, .md"),
        (pair().marginalize(["a"]), [[0, 0, 0.5]], {}, "lost some of its columns"),
        (pair(), [[0, 0, 0.5]], {"test": np.empty((0, 3))}, "0 rows"),
    ],
)
def test_what_is_wrong_is_told(model, X, options, message):
    with pytest.raises(XSPNError, match=re.escape(message)):
        report(model, X, **options)


@pytest.mark.filterwarnings("error")
def test_numbers_whose_squares_are_none_are_refused_by_their_place():
    circuit = Circuit(Product([Gaussian(0, mean=0.0, std=1.0), Bernoulli(1, p=0.5)]), names=["far", "bit"])
    with pytest.raises(XSPNError, match=r"at most 1e\+100, found -1e\+150 at row 1, column 0 \('far'\)"):
        report(circuit, np.array([[1e80, 0.0], [-1e150, 1.0]]))
