"""Compiled code is kept where it can be, read where it was compiled ahead of time, and never stands in the way."""

import sys
import tempfile
import warnings
from pathlib import Path

import numba
import numpy as np
import pytest

from support.cases import any_case
from xspn.core import compilation
from xspn.core.compilation import kept
from xspn.core.errors import MissingExtraError
from xspn.engine import RowBlock, Semiring
from xspn.engine.kernels.__main__ import compile_all
from xspn.engine.kernels.both_ways import both_ways
from xspn.engine.kernels.up import score, upward
from xspn.engine.numba_backend import NumbaBackend


def twice(x):
    return 2 * x


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compilation, "not_kept", [])
    return tmp_path / "cache"


def read_only(monkeypatch):
    """No folder can be written to, whoever runs the tests."""

    def refused(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", refused)


def test_code_is_kept_and_found_again(folder):
    assert kept(nogil=True)(twice)(3) == 6
    [index] = folder.rglob("*.nbi")
    assert compilation.stamp_of(Path(__file__).parent) in index.name
    again = kept(nogil=True)(twice)
    assert again(4) == 8
    assert sum(again.stats.cache_hits.values()) == 1


def test_code_compiled_ahead_of_time_is_read_where_nothing_can_be_written(folder, monkeypatch):
    kept(nogil=True)(twice)(3)
    read_only(monkeypatch)
    with warnings.catch_warnings(action="error"):
        again = kept(nogil=True)(twice)
    assert again(4) == 8
    assert sum(again.stats.cache_hits.values()) == 1
    assert again(4.5) == 9.0, "what was not compiled before is compiled now"


def test_a_change_in_any_source_of_the_folder_is_known(folder, monkeypatch):
    kept(nogil=True)(twice)(3)
    monkeypatch.setattr(compilation, "stamp_of", lambda folder: "another")
    other = kept(nogil=True)(twice)
    assert other(3) == 6
    assert not other.stats.cache_hits


def test_damaged_code_is_compiled_anew(folder):
    kept(nogil=True)(twice)(3)
    for path in folder.rglob("*.nb*"):
        path.write_bytes(b"noise")
    assert kept(nogil=True)(twice)(3) == 6


def test_where_nothing_can_be_kept_there_is_one_warning(folder, monkeypatch):
    read_only(monkeypatch)
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR") as told:
        functions = [kept(nogil=True)(twice) for _ in range(3)]
    assert len(told) == 1
    assert [function(5) for function in functions] == [10] * 3


def test_much_more_work_is_asked_before_code_that_cannot_be_kept_is_compiled(monkeypatch):
    circuit, _, _, _ = any_case(seed=8, binary=True)
    monkeypatch.setattr("xspn.engine.backend.WORTH_KERNELS", 1)
    monkeypatch.setattr(compilation, "not_kept", ["score"])
    assert circuit.backend._for(1) is circuit.backend._numpy
    monkeypatch.setattr("xspn.engine.backend.WORTH_COMPILING", 1)
    assert circuit.backend._for(1) is circuit.backend._numba


def test_a_numba_that_does_not_work_leaves_numpy(monkeypatch):
    circuit, _, rows, _ = any_case(seed=8, binary=True)
    expected = circuit.to("numpy").log_likelihood(rows)
    monkeypatch.setattr("xspn.engine.backend.WORTH_KERNELS", 1)
    monkeypatch.setitem(sys.modules, "xspn.engine.numba_backend", None)
    with pytest.warns(RuntimeWarning, match="numba does not work .* going on with NumPy"):
        found = circuit.log_likelihood(rows)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(circuit.log_likelihood(rows), expected)  # without another warning
    with pytest.raises(MissingExtraError, match="numba does not work"):
        circuit.to("numba")


def test_what_is_compiled_ahead_of_time_is_all_that_questions_need():
    compile_all()
    kernels = [score, upward, both_ways]
    before = [set(kernel.signatures) for kernel in kernels]
    for seed in range(12):
        circuit, possible, rows, rng = any_case(seed)
        for dtype in (np.float64, np.float32):
            backend = NumbaBackend(circuit.program, dtype)
            backend.log_likelihood(rows)
            backend.marginals(possible)
            backend.counts(rows, rng.random(len(rows)))
            for semiring in Semiring:
                backend.log_values(RowBlock(rows.astype(float)), semiring)
    assert [set(kernel.signatures) for kernel in kernels] == before
