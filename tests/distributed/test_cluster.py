"""A cluster of two processes: the same results as here, also when a worker dies in the middle."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV

import distributed  # noqa: F401  loads its settings: a temporary one set before them would take all away at its end
from support.distributed import TINY, in_blocks
from support.learning import two_clusters
from xspn import XSPN
from xspn.cli import main
from xspn.core.errors import ClusterError, DataError
from xspn.distributed import growth
from xspn.distributed.cluster import connected, current_client
from xspn.io.json_format import to_json
from xspn.paper.experiments.plan import plan
from xspn.paper.experiments.runner import RunOutcome, run_units
from xspn.paper.experiments.store import Store


@pytest.fixture(scope="module")
def client():
    quickly = {"distributed.comm.timeouts.connect": "2s"}  # how long a dead worker is waited for
    with dask.config.set(quickly), connected("local", n_workers=2) as own:
        yield own


@pytest.fixture
def table(rng):
    return two_clusters(rng, 600, 6)[0]


def fitted(X, checkpoint=None, **settings):
    with dask.config.set(TINY):
        return XSPN(random_state=0, **settings).fit(X, checkpoint=checkpoint)


def killed_once(block, marker):
    """Give a block back, but the first time it is asked for: then the worker dies as if the machine had gone."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return block
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def fails_for(block, n_times, folder):
    """Give a block back after so many failures."""
    for k in range(n_times):
        try:
            os.close(os.open(f"{folder}/{k}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        raise OSError("the disk is on fire")
    return block


def spoilt(table, spoil, *args, block=3):
    """A Dask array of which one block is made by a function that may fail."""
    own = in_blocks(table, 100)
    parts = own.to_delayed()[:, 0].tolist()
    parts[block] = dask.delayed(spoil, pure=False)(parts[block], *args)
    return da.concatenate([da.from_delayed(part, (100, 6), dtype=table.dtype) for part in parts])


def test_the_cluster_learns_what_threads_learn(client, table):
    here = XSPN(random_state=0)
    with dask.config.set({**TINY, "scheduler": "synchronous"}):
        here.fit(in_blocks(table, 100))
    assert to_json(fitted(in_blocks(table, 100)).circuit_) == to_json(here.circuit_)


def test_a_worker_that_is_killed_changes_nothing(client, table, tmp_path):
    undisturbed = fitted(in_blocks(table, 100))
    disturbed = fitted(spoilt(table, killed_once, str(tmp_path / "killed")))
    assert (tmp_path / "killed").exists()
    assert to_json(disturbed.circuit_) == to_json(undisturbed.circuit_)


def test_a_partition_that_fails_once_is_read_again(client, table, tmp_path):
    found = fitted(spoilt(table, fails_for, 1, str(tmp_path)))
    assert to_json(found.circuit_) == to_json(fitted(in_blocks(table, 100)).circuit_)


def test_a_partition_that_fails_twice_is_named_and_nothing_is_lost(client, table, tmp_path):
    path = tmp_path / "fit.json"
    (tmp_path / "marks").mkdir()
    with pytest.raises(ClusterError, match=r"partition 3: failed 2 times \(OSError: the disk is on fire\)"):
        fitted(spoilt(table, fails_for, 50, str(tmp_path / "marks")), checkpoint=path)


def test_a_wrong_cell_is_named_as_it_is_here(client, table):
    wrong = table.copy()
    wrong[250, 2] = 7
    with pytest.raises(DataError, match=r"partition 2: .* found 7 at row 50, column 2"):
        fitted(in_blocks(wrong, 100), exchangeability="global")


def test_questions_are_answered_on_the_cluster(client, table):
    model = XSPN(random_state=0).fit(table)
    np.testing.assert_allclose(model.score_samples(in_blocks(table)).compute(), model.score_samples(table))


def test_joblib_runs_on_the_cluster(client):
    client.wait_for_workers(2, timeout=60)  # a killed one may not be back; for one core joblib stays here
    where = Parallel()(delayed(os.getpid)() for _ in range(4))
    assert os.getpid() not in where


def test_bags_and_grid_searches_are_the_same_on_the_cluster(client, table):
    grid = {"min_instances": [20, 100], "significance": [0.01, 0.1]}
    there = GridSearchCV(XSPN(random_state=0), grid, cv=2).fit(table)
    here = GridSearchCV(XSPN(random_state=0), grid, cv=2, n_jobs=1).fit(table)
    np.testing.assert_array_equal(there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])
    ensemble = XSPN(n_estimators=3, random_state=0).fit(table)
    assert to_json(ensemble.circuit_) == to_json(XSPN(n_estimators=3, n_jobs=1, random_state=0).fit(table).circuit_)


@pytest.fixture
def start_cluster(tmp_path):
    """A function that starts a scheduler and a worker as processes of their own; all are ended after the test."""
    processes = []

    def start(name):
        file = tmp_path / f"{name}.json"
        own = ["--scheduler-file", str(file), "--no-dashboard"]
        for program, more in (("scheduler", ["--port", "0"]), ("worker", ["--nthreads", "1"])):
            command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *own, *more]
            processes.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
            while not file.exists():
                time.sleep(0.05)
        return processes[-2], json.loads(file.read_text())["address"]

    yield start
    for process in reversed(processes):
        process.terminate()
        process.wait()


def test_a_scheduler_that_dies_loses_nothing_that_was_saved(table, tmp_path, start_cluster, monkeypatch):
    undisturbed = fitted(in_blocks(table, 100), exchangeability="global")
    original, passes = growth.run_pass, []
    scheduler, address = start_cluster("first")

    def second_pass_without_scheduler(*args):
        passes.append(args)
        if len(passes) == 2:
            scheduler.kill()
        return original(*args)

    monkeypatch.setattr(growth, "run_pass", second_pass_without_scheduler)
    with pytest.raises(ClusterError, match="fit again with the same checkpoint"), connected(address):
        fitted(in_blocks(table, 100), tmp_path / "fit.json", exchangeability="global")
    monkeypatch.undo()
    with connected(start_cluster("second")[1]):
        model = fitted(in_blocks(table, 100), tmp_path / "fit.json", exchangeability="global")
    assert len(model.passes_) == len(undisturbed.passes_) - 1
    assert to_json(model.circuit_) == to_json(undisturbed.circuit_)


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.fixture
def files(table, tmp_path):
    """The table as two Parquet files with a column too many, in a folder of their own."""
    folder = tmp_path / "tables"
    folder.mkdir()
    frame = pd.DataFrame(table, columns=list("abcdef")).assign(number=range(600))
    for k in range(2):
        frame[k * 300 : (k + 1) * 300].to_parquet(folder / f"{k}.parquet", row_group_size=100)
    return folder


def test_fit_and_score_work_on_the_cluster(client, files, tmp_path, capsys):
    model, there = tmp_path / "model.json", ["--cluster", client.scheduler.address]
    exclude = ["--exclude", "number", "--json"]
    own = ["--checkpoint", str(tmp_path / "fit.json"), "--valid", str(files / "0.parquet")]
    with dask.config.set(TINY):
        assert main(["fit", str(files), "-o", str(model), *exclude, *own, *there]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["rows"], report["held_out_rows"], report["missing_cells"]) == (600, 300, 0)
    assert report["passes"] > 0
    assert (tmp_path / "fit.json").exists()
    assert main(["score", str(model), str(files), "--json", *there]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["rows"] == 600
    assert scores["mean"] == pytest.approx(report["log_likelihood"]["this_model"]["train"])
    assert main(["score", str(model), str(files / "0.parquet"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mean"] == pytest.approx(np.mean(scores["log_likelihoods"][:300]))


def test_the_cluster_says_what_a_model_is_made_of(client, files, tmp_path, capsys):
    more = ["--quality", "balanced", "--exclude", "number", "--json", "--cluster", client.scheduler.address]
    assert main(["fit", str(files), "-o", str(tmp_path / "model.json"), *more]) == 0
    parts = json.loads(capsys.readouterr().out)["parts"]
    assert sum(part["weight"] for part in parts) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "a"], "--target: not for Parquet files that a cluster reads"),
        (["--domains", "a=binary"], "--domains: not for"),
        (["--valid", "0.2"], "--valid: on a cluster a table of its own is needed"),
        (["--exclude", "aa"], "did you mean 'a'"),
    ],
)
def test_what_the_cluster_cannot_do_is_refused(client, files, tmp_path, capsys, arguments, message):
    command = ["fit", str(files), "-o", str(tmp_path / "m.json"), "--cluster", client.scheduler.address, *arguments]
    assert main(command) == 2
    assert message in capsys.readouterr().err


def test_other_tables_are_read_here_and_bags_are_learned_there(client, files, tmp_path):
    path = tmp_path / "table.csv"
    pd.read_parquet(files).drop(columns="number").to_csv(path, index=False)
    common = ["fit", str(path), "--n-estimators", "2"]
    assert main([*common, "-o", str(tmp_path / "there.json"), "--cluster", client.scheduler.address]) == 0
    assert main([*common, "-o", str(tmp_path / "here.json")]) == 0
    assert (tmp_path / "there.json").read_text() == (tmp_path / "here.json").read_text()
    assert main([*common, "-o", str(tmp_path / "no.json"), "--checkpoint", "fit.json"]) == 2


def test_the_grid_search_of_the_paper_is_the_same_on_the_cluster(client, tmp_path):
    units = plan(["table1"], ("MEVM-s",), ("XSPN-default",), quick=True).units
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    assert run_units(units, here).done_now == len(units)
    assert run_units(units, there, on_cluster=True) == RunOutcome(0, len(units), ())
    for unit in units:
        own, other = here.read(unit), there.read(unit)
        assert own.valid_score == other.valid_score
        np.testing.assert_array_equal(own.test_rows, other.test_rows)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nowhere", "", "ftp://a:1"])
def test_a_scheduler_that_is_not_there_is_named_and_later_work_does_not_wait_for_it(address):
    before = current_client()
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "200ms"}),
        pytest.raises(ClusterError, match=rf"^{re.escape(address)}: no Dask scheduler answers"),
        connected(address),
    ):
        pass
    assert current_client() is before
