"""What is wrong in a table: planted errors are found, chance is counted, and wrong input is refused."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from xspn import XSPN, Bernoulli, Circuit, Gaussian, Product, Sum, check_table
from xspn.core.errors import DataError, ParameterError
from xspn.reports.check import _q_values


def truth():
    parts = [
        Product([*(Bernoulli(v, p=p) for v in range(12)), Gaussian(12, m, 1.0)]) for p, m in ((0.02, 0.0), (0.98, 8.0))
    ]
    return Circuit(Sum([0.5, 0.5], parts), names=[f"item_{v}" for v in range(12)] + ["score"])


def planted(circuit, n_errors=5, n_rows=300, seed=2):
    rng = np.random.default_rng(3)
    rows = circuit.sample(n_rows, random_state=seed)
    wrong = set()
    for row in rng.choice(n_rows, n_errors, replace=False).tolist():
        wrong.add((row, 12))
        rows[row, 12] = 8.0 - rows[row, 12]
    return rows, wrong


def found_cells(check):
    return {(cell.row, cell.column) for cell in check.unlikely_cells}


def test_planted_numbers_are_found_by_a_model_of_good_rows():
    circuit = truth()
    rows, wrong = planted(circuit)
    check = check_table(rows, circuit)
    found = found_cells(check)
    assert found >= wrong
    assert len(found - wrong) <= 1
    for cell in check.unlikely_cells[:5]:
        assert abs(cell.likelier + cell.value - 8.0) < 4.0
    assert [cell.probability for cell in check.cells] == sorted(cell.probability for cell in check.cells)


@pytest.mark.parametrize("seed", range(3))
def test_planted_numbers_come_early_without_a_model(seed):
    """The bits have exceptions of their own, one in fifty, so that not all of the first cells are planted ones."""
    rows, wrong = planted(truth(), n_rows=1000, seed=seed)
    check = check_table(rows, folds=2)
    assert "2 models" in check.how
    assert sum((cell.row, cell.column) in wrong for cell in check.cells[:8]) >= 2  # of 5 among 13,000 cells


def test_rows_of_the_model_itself_give_few_findings():
    circuit = truth()
    counts = [len(check_table(circuit.sample(400, random_state=seed), circuit).unlikely_cells) for seed in range(10)]
    assert np.mean([count > 0 for count in counts]) <= 0.4  # an expected tenth of false findings: mostly none at all
    assert max(counts) <= 12


def test_one_wrong_cell_does_not_accuse_its_neighbors():
    pair = [Product([Bernoulli(0, p=p), Bernoulli(1, p=p), Bernoulli(2, p=p)]) for p in (1e-6, 1 - 1e-6)]
    circuit = Circuit(Sum([0.5, 0.5], pair))
    rows = circuit.sample(300, random_state=0)
    rows[:] = rows[:, :1]
    rows[5] = [0, 1, 1]
    assert found_cells(check_table(rows, circuit)) == {(5, 0)}


def test_missing_cells_are_passed_over():
    circuit = truth()
    rows, wrong = planted(circuit)
    rows[np.random.default_rng(0).random(rows.shape) < 0.2] = np.nan
    check = check_table(rows, circuit)
    assert check.n_cells == int((~np.isnan(rows)).sum())
    assert not any(np.isnan(rows[cell]) for cell in found_cells(check))
    assert len(found_cells(check) & wrong) >= 3


def test_q_values_never_fall():
    q = _q_values(np.array([0.2, 0.1, 0.9, 8.0]))
    np.testing.assert_allclose(q, [0.05, 0.05, 0.3, 1.0])


def test_a_page_and_records():
    circuit = truth()
    rows, _ = planted(circuit, 3)
    rows[0, 3] = 1 - rows[0, 4]
    check = check_table(rows, circuit)
    page = check.html("A <b> title")
    assert "A &lt;b&gt; title" in page
    assert "data:image/png" in page
    assert set(check.records()[0]) == {"row", "column", "value", "likelier", "probability", "q"}


def test_wrong_input():
    rows = np.zeros((10, 3))
    with pytest.raises(DataError, match="found 10 rows"):
        check_table(rows)
    with pytest.raises(ParameterError, match="fdr"):
        check_table(rows, fdr=0.0)
    with pytest.raises(ParameterError, match="folds"):
        check_table(np.eye(30), folds=1)
    with pytest.raises(ParameterError, match="expected a circuit"):
        check_table(rows, "model")
    with pytest.raises(ParameterError, match="a model is given"):
        check_table(rows, Circuit(Bernoulli(0, p=0.5), n_variables=3), smoothing=1.0)
    with pytest.raises(ParameterError, match="unknown setting 'smothing'; did you mean 'smoothing'"):
        check_table(np.eye(30), smothing=1.0)
    with pytest.raises(ParameterError, match="random_state: expected"):
        check_table(np.eye(30), random_state=-1)
    with pytest.raises(NotFittedError):
        check_table(np.eye(30), XSPN())


def test_a_probability_below_the_least_float_is_not_called_impossible():
    rows = truth().sample(100, random_state=0)
    rows[0, 12] = 1e3
    check = check_table(rows, truth())
    assert (check.cells[0].row, check.cells[0].probability) == (0, 0.0)
    assert "below 1e-300" in check.html()
    assert "impossible" not in check.html()
