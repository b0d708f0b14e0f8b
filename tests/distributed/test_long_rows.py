"""Learning by evidence from tables that are not in memory: the circuit of the same table in memory."""

import hashlib
import json

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from support.distributed import TINY, in_blocks
from support.learning import two_clusters
from xspn import XSPN
from xspn.core.errors import DataError, DataTypeError, FormatError, ParameterError
from xspn.distributed.checkpoint import SCHEMA
from xspn.distributed.long_rows import OutOfCoreRows
from xspn.io.json_format import to_json
from xspn.learning import sampling


@pytest.fixture
def few_rows(monkeypatch):
    """Structure is learned from 400 rows."""
    monkeypatch.setattr(sampling, "MOST_ROWS", 400)


@pytest.fixture
def bits(rng):
    return np.hstack([two_clusters(rng, 2000, 8)[0], rng.integers(0, 2, size=(2000, 5))]).astype(float)


@pytest.fixture
def frame(rng):
    """Names, steps of a scale, truth values, positive numbers and others, in two contexts; some cells are missing."""
    far = rng.integers(0, 2, 1000)
    own = pd.DataFrame(
        {
            "town": np.array(["york", "bath", "ely"])[np.minimum(far + rng.integers(0, 2, 1000), 2)],
            "grade": rng.integers(0, 3, 1000) + far,
            "member": rng.random(1000) < 0.2 + 0.6 * far,
            "income": np.exp(rng.normal(size=1000) + 2 * far),
            "balance": rng.normal(size=1000) - 5 * far,
        }
    )
    return own.mask(rng.random(own.shape) < 0.03).astype({"member": "boolean"})


def same_circuit(found, expected, table):
    """Whether two models have the same structure, and parameters up to the rounding of sums."""
    own, other = found.circuit_.graph.nodes, expected.circuit_.graph.nodes
    assert [(type(node), node.scope) for node in own] == [(type(node), node.scope) for node in other]
    np.testing.assert_allclose(found.score_samples(table), expected.score_samples(table), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_circuit_is_that_of_the_table_in_memory(bits, rng, few_rows, missing, weighted):
    bits[rng.random(bits.shape) < missing] = np.nan
    weights = rng.gamma(2.0, size=len(bits)) if weighted else None
    local = XSPN(random_state=0).fit(bits, sample_weight=weights)
    for rows in (700, 90):
        own = None if weights is None else in_blocks(weights[:, None], rows)[:, 0]
        with dask.config.set(TINY):
            model = XSPN(random_state=0).fit(in_blocks(bits, rows), sample_weight=own)
        same_circuit(model, local, bits)
        assert len(model.passes_) >= 3
        assert model.trace_.entries[0].rows == pytest.approx(local.trace_.entries[0].rows)


def test_few_different_rows_give_the_same_circuit_to_the_last_bit(rng, few_rows):
    table = two_clusters(rng, 2000, 6)[0]
    local = XSPN(random_state=0).fit(table)
    with dask.config.set(TINY):
        model = XSPN(random_state=0).fit(in_blocks(table, 300))
    assert to_json(model.circuit_) == to_json(local.circuit_)
    assert len(model.passes_) == 2


@pytest.mark.parametrize("kind", ["frame", "path"])
def test_columns_may_be_of_any_type(frame, few_rows, tmp_path, kind):
    if kind == "path":
        frame = frame.dropna()  # learned in one round
    local = XSPN(random_state=0).fit(frame)
    path = tmp_path / "table.parquet"
    frame.to_parquet(path, row_group_size=300)
    with dask.config.set(TINY):
        model = XSPN(random_state=0).fit(dd.from_pandas(frame, npartitions=7) if kind == "frame" else str(path))
    assert model.schema_.domains == local.schema_.domains
    assert model.schema_.labels == local.schema_.labels
    same_circuit(model, local, frame)
    assert set(model.sample(20, random_state=0)["town"].dropna()) <= {"york", "bath", "ely"}


def test_progress_moves_and_ends(bits, few_rows, capsys):
    with dask.config.set(TINY):
        XSPN(random_state=0, verbose=1).fit(in_blocks(bits, 500))
    assert "100% is done" in capsys.readouterr().err


def test_what_cannot_be_done_is_refused_by_name(bits, frame):
    with dask.config.set(TINY):
        with pytest.raises(ParameterError, match=r"exchangeability='evidence' .* one circuit"):
            XSPN(exchangeability="evidence", n_estimators=2).fit(in_blocks(bits))
        unknown = dd.from_pandas(frame.assign(town=frame["town"].astype("category")), npartitions=2)
        unknown["town"] = unknown["town"].cat.as_unknown()
        with pytest.raises(DataTypeError, match=r"categories of column 'town' are not known"):
            XSPN().fit(unknown)
        many = pd.concat([frame] * 2, ignore_index=True)
        names = many.assign(town=[f"town {k}" for k in range(len(many))])
        with pytest.raises(DataError, match=r"column 'town' has more than 1,024 different values"):
            XSPN().fit(dd.from_pandas(names, npartitions=2))
        with pytest.raises(DataTypeError, match=r"expected a Dask array of numbers"):
            XSPN().fit(in_blocks(frame.astype(str).to_numpy()))
        endless = in_blocks(np.where(np.arange(26_000).reshape(2000, 13) == 7, np.inf, bits))
        with pytest.raises(DataError, match=r"expected a finite number, found inf"):
            XSPN().fit(endless)


# -- checkpoints -------------------------------------------------------------------------------------------------------


class StoppedError(Exception):
    """The power goes out."""


@pytest.mark.parametrize("real", [False, True])
def test_a_fit_goes_on_where_it_stopped(bits, frame, few_rows, tmp_path, monkeypatch, real):
    table = frame[["income", "balance"]].dropna().to_numpy() if real else bits
    path, original, passes = tmp_path / "fit.json", OutOfCoreRows._passed, []

    def stop_at_the_third(self, measure):
        passes.append(measure)
        if len(passes) == 3:
            raise StoppedError
        return original(self, measure)

    with dask.config.set(TINY):
        whole = XSPN(random_state=0).fit(in_blocks(table, 500))
        monkeypatch.setattr(OutOfCoreRows, "_passed", stop_at_the_third)
        with pytest.raises(StoppedError):
            XSPN(random_state=0).fit(in_blocks(table, 500), checkpoint=path)
        model = XSPN(random_state=0).fit(in_blocks(table, 500), checkpoint=path)
        assert len(passes) == len(whole.passes_)  # two before, one that stopped, the others
        with pytest.raises(DataError, match=r"made from other settings \(seed"):
            XSPN(random_state=1).fit(in_blocks(table, 500), checkpoint=path)
        with pytest.raises(DataError, match=r"made from other data \(digest"):
            XSPN(random_state=0).fit(in_blocks(table[::-1], 500), checkpoint=path)
    assert to_json(model.circuit_) == to_json(whole.circuit_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.update(passes=3), "damaged"),
        (lambda content: content.update(passes=[{}]), "damaged"),
        (lambda content: content["passes"][0].update(total=-1.0), "total"),
        (lambda content: content["passes"][0].update(drawn=content["passes"][0]["ends"]), "drawn: expected 401 rows"),
        (lambda content: content["passes"][0]["drawn"].update(cells=content["passes"][0]["drawn"]["index"]), "cells"),
        (lambda content: content["passes"][1].update(sums=[]), "expected the statistics of"),
        (lambda content: content["passes"][1].update(leaves=[content["passes"][0]["drawn"]["weights"]]), "statistics"),
    ],
)
def test_altered_checkpoints_are_refused(bits, few_rows, tmp_path, change, message):
    path = tmp_path / "fit.json"
    with dask.config.set(TINY):
        XSPN(random_state=0).fit(in_blocks(bits, 500), checkpoint=path)
        content = json.loads(path.read_text().splitlines()[1])
        change(content)
        text = json.dumps(content)
        head = {"format": "xspn-checkpoint", "schema": SCHEMA, "digest": hashlib.sha256(text.encode()).hexdigest()}
        path.write_text(f"{json.dumps(head)}\n{text}\n")
        with pytest.raises(FormatError, match=message):
            XSPN(random_state=0).fit(in_blocks(bits, 500), checkpoint=path)
