"""`xspn serve` as a process: start and stop, workers that die, files that change, a short time of chaos."""

import json
import os
import signal
import socket
import time

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")
from support.chaos import chaos
from support.serving import Running, ask, get, post, request
from xspn import save
from xspn.cli import main


@pytest.fixture
def path(circuits, tmp_path):
    save(circuits["votes"], tmp_path / "votes.json")
    return tmp_path / "votes.json"


def state(service):
    return json.loads(get(service.port, "/readyz")[2])["models"]["votes"]


def test_a_service_from_its_start_to_its_end(circuits, path):
    token = "b" * 24
    with Running(str(path), f"again={path}", environment={"XSPN_TOKEN": token}) as service:
        bearer = [f"authorization: Bearer {token}"]
        body = {"rows": [{"X0": 1}, {}]}
        assert post(service.port, "/v1/models/votes/score", body)[0] == 401
        status, headers, content = post(service.port, "/v1/models/again/score", body, headers=bearer)
        assert status == 200, content
        own = circuits["votes"].to("numba", threads=1)
        rows = np.full((2, 7), np.nan)
        rows[0, 0] = 1
        assert json.loads(content)["log_likelihoods"] == own.log_likelihood(rows).tolist()
        assert len(headers["xspn-model-version"]) == 16
        head = request("/healthz", headers=[f"x-{k}: {'y' * 1000}" for k in range(80)])
        for wrong in (head, b"GARBAGE\r\n\r\n"):  # a head without end takes no memory
            status, headers, content = ask(service.port, wrong)
            assert (status, headers["content-type"]) == (400, "application/problem+json")
            assert json.loads(content)["type"] == "urn:xspn:problem:malformed-request"
        with socket.create_connection(("127.0.0.1", service.port)) as kept:  # an idle connection is no reason to stay
            kept.sendall(request("/healthz"))
            kept.recv(1000)
            assert service.stop() == 0
    assert not any(token in json.dumps(line) for line in service.log_lines)


def test_a_changed_file_is_taken_up_and_a_damaged_one_is_not(circuits, path):
    with Running(str(path), "--workers", "2") as service:
        first = state(service)["version"]
        other = circuits["votes"].fit_parameters(circuits["votes"].sample(20, random_state=0), n_iter=1)
        save(other, path)
        service.wait_until(lambda: state(service)["version"] != first)
        second = state(service)["version"]
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        service.wait_until(lambda: state(service)["state"] == "stale")
        assert state(service)["version"] == second
        assert "votes.json" in state(service)["error"]["reason"]
        _, headers, body = post(service.port, "/v1/models/votes/marginals", {"rows": [{}]})
        assert headers["xspn-model-version"] == second
        found = [list(own.values()) for own in json.loads(body)["rows"][0].values()]
        assert found == other.to("numba", threads=1).marginals()[0].tolist()
        path.write_bytes(content)
        service.wait_until(lambda: state(service)["state"] == "current")


def test_a_worker_that_dies_is_replaced(path):
    with Running(str(path)) as service:
        (pid,) = service.workers()
        os.kill(pid, signal.SIGKILL)
        service.wait_until(lambda: service.workers() not in ([], [pid]))
        assert get(service.port, "/readyz")[0] == 200
        text = get(service.port, "/metrics")[2].decode()
        assert "xspn_worker_starts_total 2\n" in text


def test_workers_do_not_outlive_their_supervisor(path):
    with Running(str(path)) as service:
        (pid,) = service.workers()
        service.process.kill()
        service.process.wait()
        deadline = time.monotonic() + 30
        while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not os.path.exists(f"/proc/{pid}")


def test_chaos(circuits, tmp_path):
    outcome = chaos(circuits["votes"], tmp_path, seconds=6.0, swap=0.7, kills=1, n_questions=16)
    assert outcome.wrong == []
    assert outcome.lost_otherwise == 0
    assert outcome.kills == 1
    assert outcome.told == outcome.damaged > 0
    assert len(outcome.versions) > 1
    assert set(outcome.statuses) == {200}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{path}", "{path}"], "NAME=FILE"),
        (["{path}", "--port", "70000"], "--port"),
        (["{path}", "--workers", "0"], "--workers"),
        (["{path}", "--max-body", "1e999"], "--max-body: expected more than 0 and at most 1,000,000,000, found inf"),
        (["{path}", "--max-rows", "99999999999999999999"], "--max-rows"),
        (["{path}", "--timeout", "nan"], "--timeout"),
        (["{path}", "--host", "no.such.host.invalid"], "no address"),
        (["{path}.gone"], "no such file"),
        (["{path}", "--token-file", "{path}.gone"], "no such file"),
        (["{damaged}"], "damaged.json"),
    ],
)
def test_wrong_invocations(path, tmp_path, capsys, arguments, words):
    damaged = tmp_path / "damaged.json"
    damaged.write_text("{}")
    assert main(["serve", *(own.format(path=path, damaged=damaged) for own in arguments)]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("token", [b"short", b"\xff\0" * 20, b"a" * (1 << 17), "né".encode() * 20])
def test_a_file_that_holds_no_token(path, tmp_path, capsys, token):
    (tmp_path / "token").write_bytes(token)
    assert main(["serve", str(path), "--token-file", str(tmp_path / "token")]) == 2
    assert "expected a token of at least 16" in capsys.readouterr().err


def test_short_tokens_and_taken_ports(path, capsys, monkeypatch):
    monkeypatch.setenv("XSPN_TOKEN", "short")
    assert main(["serve", str(path)]) == 2
    assert "at least 16" in capsys.readouterr().err
    monkeypatch.delenv("XSPN_TOKEN")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", str(path), "--port", str(taken.getsockname()[1])]) == 2
    assert "choose another port" in capsys.readouterr().err
