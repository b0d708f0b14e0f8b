"""The public files' format, read and written."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from xspn.core.errors import DataError
from xspn.paper.datasets.dataset import Dataset
from xspn.paper.datasets.files import parse, render

tables = st.tuples(st.integers(1, 8), st.integers(1, 8)).flatmap(
    lambda shape: arrays(np.uint8, shape, elements=st.integers(0, 1))
)


@given(tables)
def test_what_is_written_is_read(table):
    content = render(table)
    assert np.array_equal(parse(content), table)
    assert len(content) == 2 * table.size


@given(tables)
def test_spaces_and_other_line_ends_are_allowed(table):
    content = render(table)
    loose = content.replace(b",", b" , ").replace(b"\n", b"\r\n").rstrip()
    assert np.array_equal(parse(loose), table)
    assert parse(loose).dtype == np.uint8


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "found nothing"),
        (b"\n\n", "found nothing"),
        (b"0,1\n0,1,1\n", "expected 2 values as in line 1, found 3 in line 2"),
        (b"0,1\n0,x\n", "expected 0 or 1, found 'x' in line 2"),
        (b"0;1\n1;1\n", "expected 0 or 1, found '0;1' in line 1"),
        (b"0,1\n10,\n", "expected 0 or 1, found '10' in line 2"),
        (b"\xff\xfe\n", "expected 0 or 1"),
    ],
)
def test_what_is_no_table_is_refused_by_line(content, message):
    with pytest.raises(DataError, match=message):
        parse(content)


def test_a_data_set_checks_its_tables():
    good = np.zeros((2, 3), dtype=np.uint8)
    with pytest.raises(DataError, match="the same number of columns"):
        Dataset("d", good, good[:, :2], good)
    with pytest.raises(DataError, match=r"d test: expected 0 or 1, found 2 at row 0, column 1"):
        Dataset("d", good, good, np.array([[0, 2, 0]]))
    with pytest.raises(DataError, match="expected 3 different names, found 3, 2 of them different"):
        Dataset("d", good, good, good, ("a", "b", "a"))
    d = Dataset("d", good.astype(bool), good, good, ("a", "b", "c"))
    assert d.train.dtype == np.uint8
    assert d.n_rows == (2, 2, 2)
    with pytest.raises(AttributeError):
        d.name = "other"
