"""Reading partitions: arrays, DataFrames and Parquet give the same bits, and what is wrong is named with its place."""

from dataclasses import replace

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.distributed import in_blocks
from xspn.core.errors import ClusterError, DataError
from xspn.distributed import partitions
from xspn.distributed.partitions import blocks_of_partition, partitioned


def bits_of(table):
    """All bits of all partitions, one below the other; what is delayed is computed."""
    found = []
    for part in table.partitions:
        rows = part.rows.compute() if hasattr(part.rows, "compute") else part.rows
        found += [block.bits for block in blocks_of_partition(replace(part, rows=rows), table.layout)]
    return np.concatenate(found)


@pytest.fixture
def table(rng):
    cells = rng.integers(0, 2, size=(230, 3)).astype(float)
    cells[5, 1] = np.nan
    return cells


@pytest.fixture
def frame(table):
    own = pd.DataFrame(table, columns=["a", "b", "c"])
    return own.astype({"a": "bool", "b": "Int64", "c": "uint8"})


def test_arrays_frames_and_files_are_read_alike(table, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(partitions, "BLOCK_ROWS", 40)
    expected = np.where(np.isnan(table), 2, table).astype(np.uint8)
    path = tmp_path / "table.parquet"
    frame.to_parquet(path, row_group_size=60)
    for X in (in_blocks(table), dd.from_pandas(frame, npartitions=3), path, str(path)):
        np.testing.assert_array_equal(bits_of(partitioned(X)), expected)
    assert partitioned(path).layout.names == ("a", "b", "c")
    assert partitioned(in_blocks(table)).layout.names is None


def test_row_groups_are_read_together_where_they_are_small(frame, tmp_path, monkeypatch):
    path = tmp_path / "table.parquet"
    frame.to_parquet(path, row_group_size=50)  # 50, 50, 50, 50, 30
    monkeypatch.setattr(partitions, "ROWS_PER_PIECE", 90)
    _, pieces = partitions.pieces_of(path)
    assert [piece.n_rows for piece in pieces] == [100, 100, 30]
    assert pieces[0].source.endswith("table.parquet, row groups 0 to 1")
    assert pieces[2].source.endswith("row group 4")


def test_folders_and_patterns_are_many_files(frame, tmp_path):
    for k in range(3):
        frame.to_parquet(tmp_path / f"part-{k}.parquet")
    (tmp_path / "notes.txt").write_text("nothing")
    for path in (tmp_path, f"{tmp_path}/part-*.parquet"):
        table = partitioned(path)
        assert len(table.partitions) == 3
        assert len(bits_of(table)) == 3 * len(frame)


def test_truth_values_with_missing_values_are_read(tmp_path):
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"a": pa.array([True, None, False])}), path)
    assert bits_of(partitioned(path)).ravel().tolist() == [1, 2, 0]


def test_numbers_become_bits_by_a_threshold(tmp_path):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": [0.2, 5.0, None], "b": [1, 2, 3]}).to_parquet(path)
    assert bits_of(partitioned(path, binarize=1.5)).tolist() == [[0, 0], [1, 1], [2, 1]]


def test_a_cell_that_is_no_bit_is_named_with_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr(partitions, "BLOCK_ROWS", 4)
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": [0, 1, 1, 0, 0, 7]}).to_parquet(path)
    with pytest.raises(
        DataError, match=r"parquet, row group 0: in the 2 rows from row 4 .* 7 at row 1, column 0 \('a'\)"
    ):
        bits_of(partitioned(path))


def test_text_is_refused_with_its_column(tmp_path):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": [0, 1], "b": ["x", "y"]}).to_parquet(path)
    with pytest.raises(DataError, match=r"row group 0: column 'b': expected zeros and ones"):
        bits_of(partitioned(path))


def test_a_file_that_cannot_be_read_is_named(frame, tmp_path):
    path = tmp_path / "table.parquet"
    frame.to_parquet(path)
    table = partitioned(path)
    path.unlink()
    with pytest.raises(ClusterError, match=r"table\.parquet, row group 0: could not be read \(FileNotFoundError"):
        bits_of(table)


def test_what_is_no_parquet_is_refused(frame, tmp_path):
    (tmp_path / "bad.parquet").write_text("nothing")
    with pytest.raises(DataError, match=r"bad\.parquet: not a Parquet file"):
        partitioned(tmp_path / "bad.parquet")
    with pytest.raises(FileNotFoundError, match="no such Parquet file"):
        partitioned(tmp_path / "none.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no file"):
        partitioned(tmp_path / "empty")
    frame.to_parquet(tmp_path / "a.parquet")
    frame[["b", "a", "c"]].to_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet: expected the columns of .*a\.parquet"):
        partitioned(f"{tmp_path}/[ab].parquet")


def test_tables_and_weights_must_fit(table, tmp_path):
    with pytest.raises(DataError, match="expected a 2-D table"):
        partitioned(in_blocks(table)[:, 0])
    with pytest.raises(DataError, match="a Dask array or Series"):
        partitioned(in_blocks(table), np.ones(len(table)))
    with pytest.raises(DataError, match=r"expected 5 partitions .* found 3"):
        partitioned(in_blocks(table, 50), in_blocks(table, 100)[:, 0])


def test_a_bootstrap_sample_counts_rows_anew_and_always_alike(table):
    own = partitioned(in_blocks(table)).resampled(3)
    parts = [replace(part, rows=part.rows.compute()) for part in own.partitions]
    counts = [np.concatenate([b.weights for p in parts for b in blocks_of_partition(p, own.layout)]) for _ in range(2)]
    np.testing.assert_array_equal(*counts)
    assert set(counts[0]) >= {0.0, 1.0, 2.0}
    assert counts[0].mean() == pytest.approx(1.0, abs=0.3)
