"""Tables of more rows than structure is learned from: a sample that parts do not change, parameters from all rows."""

import numpy as np
import pytest

from support.learning import two_clusters
from xspn import XSPN
from xspn.data.domain import Domain
from xspn.io.json_format import to_json
from xspn.learning import long_tables, sampling
from xspn.learning.config import LearnConfig
from xspn.learning.data import BinaryData
from xspn.learning.learner import learn
from xspn.learning.long_tables import LongTable
from xspn.learning.sampling import Block, Draw, RowStatistics

BITS, REALS = (Domain.binary(),) * 12, (Domain.real(),) * 3


@pytest.fixture
def few_rows(monkeypatch):
    """Structure is learned from 500 rows."""
    monkeypatch.setattr(sampling, "MOST_ROWS", 500)


def numbers_in_contexts(rng, rows):
    """Three columns of numbers, one of them positive, in two contexts."""
    far = rng.integers(0, 2, rows)
    return np.column_stack(
        [far * 6 + rng.normal(size=rows), rng.normal(size=rows) - 4 * far, np.exp(rng.normal(size=rows) + far)]
    )


def sample_of(cells, weights, sizes, domains, most=100, seed=3):
    """The sample of a table that comes in parts of these sizes."""
    ends = np.cumsum(sizes)
    blocks = [
        Block.of(end - size, cells[end - size : end], None if weights is None else weights[end - size : end])
        for size, end in zip(sizes, ends.tolist(), strict=True)
    ]
    statistics = RowStatistics.of(blocks[0])
    for block in blocks[1:]:
        statistics = statistics.plus(RowStatistics.of(block))
    draw = Draw(seed, domains, statistics, most)
    found = draw(blocks[0])
    for block in blocks[1:]:
        found = found.plus(draw(block))
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("real", [False, True])
def test_a_sample_does_not_depend_on_the_parts(rng, weighted, real):
    cells = rng.normal(size=(1000, 3)) if real else rng.integers(0, 2, size=(1000, 12), dtype=np.uint8)
    weights = rng.gamma(0.5, size=1000) if weighted else None
    domains = REALS if real else BITS
    whole = sample_of(cells, weights, [1000], domains).data()
    for sizes in ([500, 500], [1, 998, 1], [100] * 10, [7, 0, 93, 900]):
        found = sample_of(cells, weights, sizes, domains).data()
        np.testing.assert_array_equal(found.rows(), whole.rows())
        np.testing.assert_array_equal(found.weights, whole.weights)
    other = sample_of(cells, weights, [1000], domains, seed=4).data()
    assert not np.array_equal(other.rows(), whole.rows())


def test_rows_of_equal_weight_count_once_each(rng):
    sample = sample_of(rng.integers(0, 2, size=(1000, 30), dtype=np.uint8), None, [1000], (Domain.binary(),) * 30)
    assert not sample.is_whole
    assert sample.data().weights.tolist() == [1.0] * 100


def test_samples_stand_for_the_table(rng):
    cells = rng.integers(0, 2, size=(400, 30), dtype=np.uint8)
    weights = rng.gamma(0.3, size=400)
    domains = (Domain.binary(),) * 30
    truth = weights @ cells / weights.sum()
    means = []
    for seed in range(200):
        own = sample_of(cells, weights, [400], domains, seed=seed).data()
        means.append(own.weights @ own.bits / own.weights.sum())
        assert own.weights.sum() == pytest.approx(100 * weights.mean())
    error = np.std(means, axis=0) / np.sqrt(len(means))
    assert (np.abs(np.mean(means, axis=0) - truth) < 4.5 * error + 1e-3).all()
    assert np.argmax(weights) in [int(np.flatnonzero((cells == row).all(axis=1))[0]) for row in own.bits]


def test_weights_may_be_of_any_size(rng):
    cells = rng.integers(0, 2, size=(1000, 30), dtype=np.uint8)
    for weights in (
        np.full(1000, 1e-300),
        np.full(1000, 1e99),
        np.r_[1e30, np.full(999, 1e-30)],
        np.arange(1000) + 1e-9,
    ):
        found = sample_of(cells, weights, [400, 600], (Domain.binary(),) * 30).data()
        assert (found.weights > 0).all()
        assert np.isfinite(found.weights).all()
        assert len(found.weights) == (1 if weights[0] == 1e30 else 100)


def test_few_different_rows_need_no_sample(rng):
    cells = rng.integers(0, 2, size=(1000, 6), dtype=np.uint8)
    sample = sample_of(cells, None, [300, 700], (Domain.binary(),) * 6)
    assert sample.is_whole
    expected = BinaryData.of(cells)
    np.testing.assert_array_equal(sample.data().bits, expected.bits)
    np.testing.assert_array_equal(sample.data().weights, expected.weights)


def test_the_ends_of_real_columns_are_in_every_sample(rng):
    cells = rng.normal(size=(1000, 3))
    cells[rng.random(cells.shape) < 0.1] = np.nan
    found = sample_of(cells, None, [500, 500], REALS).data().cells
    np.testing.assert_array_equal(np.nanmin(found, axis=0), np.nanmin(cells, axis=0))
    np.testing.assert_array_equal(np.nanmax(found, axis=0), np.nanmax(cells, axis=0))


def test_rows_that_say_nothing_are_never_drawn(rng):
    cells = rng.integers(0, 2, size=(1000, 12), dtype=np.uint8)
    weights = np.where(np.arange(1000) % 2, 1.0, 0.0)
    cells[1::4] = 2
    some = np.flatnonzero(np.arange(1000) % 4 == 3)
    found = LongTable(np.where(cells == 2, np.nan, cells), BITS, weights)
    assert found.statistics.rows == len(some)
    assert found.statistics.complete


def test_rows_without_any_cell_are_learned_from_as_few_of_them_are(few_rows):
    found = XSPN(exchangeability="evidence").fit(np.full((600, 3), np.nan))
    assert to_json(found.circuit_) == to_json(XSPN(exchangeability="evidence").fit(np.full((6, 3), np.nan)).circuit_)


def test_parameters_come_from_all_rows(rng, few_rows):
    rare = (np.arange(20_000) % 2_000 == 0).astype(float)  # about one in the sample, or none
    table = np.column_stack([rng.integers(0, 2, size=(20_000, 12)), rare])
    model = XSPN(random_state=0).fit(table)
    means = model.circuit_.means([[np.nan] * 13])[0]
    assert means[:12].mean() == pytest.approx(table[:, :12].mean(), abs=1e-4)
    assert means[12] == pytest.approx(rare.mean(), abs=5e-5)
    assert model.trace_.entries[0].rows == len(table)


def test_what_is_learned_fits_as_well_as_from_all_rows(rng, monkeypatch):
    table = np.hstack([two_clusters(rng, 6000, 8)[0], rng.integers(0, 2, size=(6000, 6))])
    train, test = table[:4000], table[4000:]
    whole = XSPN(random_state=0).fit(train)
    monkeypatch.setattr(sampling, "MOST_ROWS", 1000)
    model = XSPN(random_state=0).fit(train)
    assert model.score(test) > whole.score(test) - 0.005
    assert model.circuit_.summary().parameters <= whole.circuit_.summary().parameters


def test_blocks_of_rows_change_nothing_but_rounding(rng, few_rows, monkeypatch):
    table = numbers_in_contexts(rng, 3000)
    first = XSPN(random_state=0).fit(table)
    assert first.score(table) > -6
    monkeypatch.setattr(long_tables, "ROWS_AT_ONCE", 700)
    second = XSPN(random_state=0).fit(table)
    np.testing.assert_allclose(second.score_samples(table), first.score_samples(table), rtol=1e-9)
    again = XSPN(random_state=0, n_jobs=2).fit(table)
    assert to_json(again.circuit_) == to_json(second.circuit_)


def test_weights_count_rows(rng, few_rows):
    table = np.hstack([two_clusters(rng, 3000, 8)[0], rng.integers(0, 2, size=(3000, 6))])
    weights = rng.integers(0, 4, size=3000).astype(float)
    by_weight = XSPN(random_state=0).fit(table, sample_weight=weights)
    repeated = np.repeat(table, weights.astype(int), axis=0)
    by_rows = XSPN(random_state=0).fit(repeated)
    assert by_weight.score(repeated) == pytest.approx(by_rows.score(repeated), abs=0.01)
    assert by_weight.trace_.entries[0].rows == pytest.approx(weights.sum())


def test_nothing_is_impossible_that_the_sample_lacks(rng, few_rows):
    table = rng.integers(0, 2, size=(3000, 12)).astype(float)
    table = np.column_stack([table, np.where(np.arange(3000) == 1234, 2.0, table[:, 0]), np.exp(rng.normal(size=3000))])
    table[77, -1] = 0.0
    for smoothing in (0.1, 0.0):
        model = XSPN(random_state=0, smoothing=smoothing).fit(table)
        assert np.isfinite(model.score_samples(table)).all()


def test_training_data_may_be_long_too(rng, few_rows):
    data = BinaryData.of(rng.integers(0, 2, size=(2000, 14), dtype=np.uint8))
    progress = []
    found = learn(data, LearnConfig(exchangeability="evidence"), progress=lambda done, of: progress.append(done / of))
    assert found.trace.entries[0].rows == pytest.approx(2000)
    assert (np.diff(progress) > -1e-9).all()
    assert progress[-1] == 1
    assert len(progress) > 5
