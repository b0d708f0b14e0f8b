"""The appendix's classification tasks."""

import numpy as np
import pytest

from xspn import datasets
from xspn.core.errors import DataError, ParameterError, RegistryError
from xspn.paper.datasets.synthetic import CONSTRAINTS

# The most balanced variable of the authors' training files.
TARGETS = {"exam": "X21", "senate": "X30", "house": "X76", "bundestag": "X12"}


@pytest.mark.parametrize(("name", "accept"), CONSTRAINTS.items())
def test_uniform_rows_are_labeled_by_the_constraint(name, accept):
    task = datasets.classification(name, random_state=1)
    for X, y, rows in (
        (task.X_train, task.y_train, 10000),
        (task.X_valid, task.y_valid, 5000),
        (task.X_test, task.y_test, 5000),
    ):
        assert X.shape == (rows, 100)
        assert y.shape == (rows,)
        assert X.dtype == y.dtype == np.uint8
        assert np.array_equal(y, accept(X.sum(axis=1, dtype=int)))
        assert abs(X.mean() - 0.5) < 5 * 0.5 / np.sqrt(X.size), "uniform, not conditioned on the class"
    fraction = np.exp(datasets.truth(name).log_likelihood(task.X_test[task.y_test == 1][:1])[0] * -1) / 2.0**100
    assert abs(task.y_train.mean() - fraction) < 5 * np.sqrt(fraction * (1 - fraction) / 10000)
    again = datasets.classification(name, random_state=1)
    assert np.array_equal(again.X_test, task.X_test)
    rows = {row.tobytes() for X in (task.X_train, task.X_valid, task.X_test) for row in X}
    assert len(rows) == 20000, "the splits are disjoint"


def test_conference_predicts_overflow():
    data = datasets.make("conference", 2000, 500, 500)
    task = datasets.classification("conference", data=data)
    assert task.target == "overflow"
    assert task.feature_names == (*(f"attends_{i}" for i in range(10)), "hot_topic")
    assert np.array_equal(task.X_train, data.train[:, :11])
    assert np.array_equal(task.y_test, data.test[:, 11])


def test_the_bayes_accuracy_of_conference(published):
    data = datasets.load("conference", data_dir=published)
    task = datasets.with_target(data, "overflow")
    all_assignments = (np.arange(2**11)[:, None] >> np.arange(11)) & 1
    joint = [data.truth.log_likelihood(np.hstack([all_assignments, np.full((2**11, 1), v)])) for v in (0, 1)]
    assert np.exp(np.maximum(*joint)).sum() == pytest.approx(0.8525, abs=5e-5)
    scores = [data.truth.log_likelihood(np.column_stack([task.X_test, np.full(50000, v)])) for v in (0, 1)]
    accuracy = ((scores[1] > scores[0]) == task.y_test).mean()
    assert accuracy == pytest.approx(0.8525, abs=5 * np.sqrt(0.8525 * 0.1475 / 50000))


@pytest.mark.parametrize(("name", "target"), TARGETS.items())
def test_real_sets_predict_their_most_balanced_variable(name, target, published, monkeypatch):
    monkeypatch.setenv("XSPN_DATA", str(published))
    task = datasets.classification(name)
    data = datasets.load(name)
    assert task.target == target
    assert task.n_variables == data.n_variables - 1
    assert target not in task.feature_names
    fractions = np.abs(data.train.mean(axis=0) - 0.5)
    assert abs(task.y_train.mean() - 0.5) == pytest.approx(fractions.min())
    assert (len(task.y_train), len(task.y_valid), len(task.y_test)) == data.n_rows


def test_any_variable_of_any_set_can_be_the_target():
    data = datasets.make("conference", 50, 10, 10)
    task = datasets.with_target(data, 3)
    assert task.target == "attends_3"
    assert np.array_equal(np.insert(task.X_train, 3, task.y_train, axis=1), data.train)
    assert "attends_3" in repr(task)


def test_what_is_no_task_is_refused():
    with pytest.raises(RegistryError, match=r"no classification task for 'nltcs'.*with_target"):
        datasets.classification("nltcs")
    with pytest.raises(ParameterError, match="drawn uniformly; leave it out"):
        datasets.classification("parity", data=datasets.make("parity", 5, 5, 5))
    data = datasets.make("conference", 5, 5, 5)
    with pytest.raises(DataError, match="did you mean 'overflow'"):
        datasets.with_target(data, "overflw")
    with pytest.raises(DataError, match="from 0 to 11"):
        datasets.with_target(data, 12)
    with pytest.raises(DataError, match="at least two variables"):
        datasets.with_target(datasets.Dataset("one", [[1]], [[0]], [[0]]))
    with pytest.raises(DataError, match="at least one row"):
        datasets.with_target(datasets.make("conference", 0, 5, 5))
