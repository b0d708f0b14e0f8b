"""What cannot be answered: a status, a document that says what and where, and no cell in the logs."""

import asyncio
import io
import json
import time

import pytest

pytest.importorskip("orjson", reason="the extra serve is not installed")
from service.asgi import call, get, post, problem
from support.running import run
from xspn.service.app import Limits, Service
from xspn.service.monitoring import Log
from xspn.service.rows import arrow_table

ARROW, NDJSON = "application/vnd.apache.arrow.stream", "application/x-ndjson"
MARGINALS = "/v1/models/survey/marginals"


@pytest.fixture
def service(models):
    return Service(models, Limits(body=20_000, rows=50, seconds=20.0))


@pytest.mark.parametrize(
    ("path", "body", "status", "kind", "pointer", "words"),
    [
        (MARGINALS, {"rows": [{}, {"ctiy": "Bonn"}]}, 422, "unknown-column", "/rows/1/ctiy", "did you mean 'city'"),
        (MARGINALS, {"rows": [{}, {"city": "Bon"}]}, 422, "invalid-input", "/rows/1/city", "did you mean 'Bonn'"),
        (MARGINALS, {"rows": [{"student": 2}]}, 422, "invalid-input", "/rows/0/student", "expected one of 0, 1"),
        (MARGINALS, {"rows": [{"age": "old"}]}, 422, "invalid-input", "/rows/0/age", "expected numbers"),
        (MARGINALS, {"rows": [{"age": [1]}]}, 422, "invalid-input", "/rows/0/age", "expected numbers"),
        (MARGINALS, {"rows": [{"city": {}}]}, 422, "invalid-input", "/rows/0/city", "unknown value"),
        (
            MARGINALS,
            {"rows": [{"city": "Köln", "student": 0}]},
            422,
            "impossible-evidence",
            "/rows/0",
            "probability zero",
        ),
        (MARGINALS, {"rows": [[1]]}, 422, "invalid-input", "/rows/0", "found a list"),
        (MARGINALS, {"rows": {}}, 422, "invalid-input", "/rows", "found an object"),
        (MARGINALS, {}, 422, "missing-field", "", "rows"),
        (MARGINALS, [], 422, "invalid-input", "", "expected an object"),
        (MARGINALS, {"rows": [], "colums": "a"}, 422, "unknown-field", "/colums", "did you mean 'columns'"),
        (MARGINALS, {"rows": [{}], "columns": ["x*"]}, 422, "unknown-column", "/columns/0", "no column"),
        (MARGINALS, {"rows": [{}], "columns": []}, 422, "invalid-option", "/columns", "at least one column"),
        (MARGINALS, {"rows": [{}] * 51}, 413, "too-many-rows", None, "at most 50"),
        (MARGINALS, b"{", 400, "malformed-json", None, "not JSON"),
        (MARGINALS, b"\xff", 400, "malformed-json", None, "not JSON"),
        (MARGINALS, b'{"rows": [{"age": NaN}]}', 400, "malformed-json", None, "not JSON"),
        (MARGINALS, b"x" * 20_001, 413, "body-too-large", None, "20,000 bytes"),
        ("/v1/models/survey/query", {"ask": "age in 3..2.."}, 422, "question", "/ask", "expected"),
        ("/v1/models/survey/query", {"given": "age <"}, 422, "question", "/given", "expected"),
        ("/v1/models/survey/query", {"given": {"agee": 3}}, 422, "unknown-column", "/given/agee", "did you mean 'age'"),
        ("/v1/models/survey/query", {"given": "city=Köln & student=0"}, 422, "impossible-evidence", "/given", "zero"),
        ("/v1/models/survey/query", {"ask": 3}, 422, "invalid-option", "/ask", "a text or a list of texts"),
        ("/v1/models/survey/query", {"top": 0}, 422, "invalid-option", "/top", "from 1"),
        ("/v1/models/survey/query", {"ask": "x" * 10_001}, 413, "too-large", "/ask", "letters"),
        ("/v1/models/survey/sample", {"n": -1}, 422, "invalid-option", "/n", "from 0"),
        ("/v1/models/survey/sample", {"n": 1000}, 413, "too-many-rows", None, "at most 50"),
        ("/v1/models/survey/sample", {"n": True}, 422, "invalid-option", "/n", "whole number"),
        ("/v1/models/survey/sample", {"seed": 1 << 40}, 422, "invalid-option", "/seed", "whole number"),
        ("/v1/models/survey/sample", {"given": "age > 3"}, 422, "invalid-input", None, "NAME=VALUE"),
        (
            "/v1/models/survey/impute",
            {"rows": [], "method": "best"},
            422,
            "invalid-option",
            "/method",
            "one of marginal",
        ),
        ("/v1/models/survey/count", {"rows": [{}]}, 422, "missing-field", None, "count"),
        ("/v1/models/survey/count", {"count": "likes_*=maybe"}, 422, "question", None, "maybe"),
        ("/v1/models/survey/count", {"count": "age"}, 422, "question", None, "age"),
        ("/v1/models/surveys/score", {"rows": []}, 404, "unknown-model", None, "did you mean 'survey'"),
        ("/v1/models/survey/scores", {"rows": []}, 404, "unknown-address", None, "nothing is at"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(service, path, body, status, kind, pointer, words):
    found_status, found = problem(service, path, body)
    assert (found_status, found["type"]) == (status, f"urn:xspn:problem:{kind}")
    assert words in found["detail"]
    assert ("errors" in found) == (pointer is not None)
    if pointer is not None:
        assert found["errors"] == [{"detail": found["detail"], "pointer": pointer}]


def test_addresses_methods_and_formats(service):
    post_only = run(call(service, "GET", MARGINALS))
    assert (post_only[0], post_only[1]["allow"]) == (405, "POST")
    get_only = run(call(service, "DELETE", "/readyz"))
    assert (get_only[0], get_only[1]["allow"]) == (405, "GET, HEAD")
    assert get(service, "/nothing")[0] == get(service, "/v1/models/none")[0] == get(service, "/explore/none")[0] == 404
    assert problem(service, MARGINALS, b"", kind="text/csv")[0] == 415
    assert problem(service, "/v1/models/survey/query", b"", kind=NDJSON)[0] == 415
    assert problem(service, MARGINALS, {"rows": []}, headers=[("content-encoding", "gzip")])[0] == 415
    assert problem(service, MARGINALS, {"rows": []}, headers=[("accept", "text/html")])[0] == 406
    status, found = problem(service, MARGINALS, {"rows": [], "columns": "age"}, query=b"columns=age")
    assert (status, found["errors"][0]["pointer"]) == (422, "/columns")


def test_lines_and_streams_that_are_none(service):
    status, found = problem(service, MARGINALS, b'{"age": 3}\n{"age": 3}, {}\n', kind=NDJSON)
    assert status == 400
    assert "row 1" in found["detail"]
    assert problem(service, MARGINALS, b'{"age": 3}\n[]\n', kind=NDJSON)[1]["errors"][0]["pointer"] == "/rows/1"
    assert problem(service, MARGINALS, b"\n" * 100 + b"{}\n" * 51, kind=NDJSON)[0] == 413
    assert problem(service, MARGINALS, b"{}", kind=NDJSON, query=b"colour=red")[0] == 422
    for content in (b"", b"no arrow", b"\xff\xff\xff\xff\x10\x00\x00\x00" + b"\x00" * 30):
        assert problem(service, MARGINALS, content, kind=ARROW)[0] == 400


def stream_of(columns, **options):
    pa = pytest.importorskip("pyarrow")
    sink, own = io.BytesIO(), pa.table(columns)
    with pa.ipc.new_stream(sink, own.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(own)
    return sink.getvalue()


def test_arrow_streams_are_checked_before_they_are_read(service):
    pa = pytest.importorskip("pyarrow")
    assert problem(service, MARGINALS, stream_of({"age": [1.0] * 51}), kind=ARROW)[0] == 413
    status, found = problem(service, MARGINALS, stream_of({"age": [1.0] * 40}, compression="zstd"), kind=ARROW)
    assert (status, found["type"]) == (415, "urn:xspn:problem:compressed-arrow")
    in_words = stream_of({"city": pa.array(["Bonn", "Köln"] * 9).dictionary_encode()}, compression="lz4")
    assert problem(service, MARGINALS, in_words, kind=ARROW)[0] == 415
    status, found = problem(service, MARGINALS, stream_of({"city": ["Bonn", "Bon"]}), kind=ARROW)
    assert found["errors"][0]["pointer"] == "/rows/1/city"
    assert problem(service, MARGINALS, stream_of({"place": ["Bonn"]}), kind=ARROW)[1]["type"].endswith("unknown-column")
    assert problem(service, MARGINALS, stream_of({"city": [["Bonn"]]}), kind=ARROW)[0] == 422


def test_no_bit_of_a_stream_that_flips_is_a_fault_of_the_service(service, rng):
    """Streams are refused, or read as rows of something else; nothing else comes out of them."""
    pytest.importorskip("pyarrow")
    content = bytearray(stream_of({"city": ["Bonn", None, "Köln"], "age": [1.0, None, 3.0]}))
    for place in rng.integers(0, len(content) * 8, size=300).tolist():
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        status, _, body = post(service, "/v1/models/survey/score", bytes(damaged), ARROW)
        assert status in (200, 400, 413, 415, 422), body


def test_rows_are_counted_before_memory_is_spent_on_them():
    pytest.importorskip("pyarrow")
    content = stream_of({"age": [1.0] * 40})
    assert arrow_table(content, 40).num_rows == 40


def test_tokens(models):
    service, token = Service(models, token="a" * 20), ("authorization", f"Bearer {'a' * 20}")
    for headers in ([], [("authorization", "Bearer wrong")], [("authorization", "Basic " + "a" * 20)]):
        status, found, _ = get(service, "/v1/models", headers)
        assert (status, found["www-authenticate"]) == (401, "Bearer")
        assert post(service, MARGINALS, {"rows": []}, headers=headers)[0] == 401
        assert get(service, "/", headers)[0] == get(service, "/metrics", headers)[0] == 401
    assert get(service, "/v1/models", [token])[0] == 200
    assert post(service, MARGINALS, {"rows": []}, headers=[token])[0] == 200
    assert get(service, "/healthz")[0] == 200
    assert json.loads(get(service, "/readyz")[2]) == {"status": "ready"}  # and no names of models
    assert set(json.loads(get(service, "/readyz", [token])[2])["models"]) == {"survey", "votes"}


def test_more_requests_than_allowed_at_once(models):
    service = Service(models, Limits(concurrent=2))
    body, header = json.dumps({"rows": [{}]}).encode(), [("content-type", "application/json")]

    async def together():
        return await asyncio.gather(*(call(service, "POST", "/v1/models/survey/mpe", body, header) for _ in range(5)))

    answers = run(together())
    assert sorted(status for status, _, _ in answers) == [200, 200, 429, 429, 429]
    assert all(headers["retry-after"] == "1" for status, headers, _ in answers if status == 429)


def test_an_answer_that_takes_too_long_is_given_up(models, monkeypatch):
    from xspn.service import endpoints

    service, told = Service(models, Limits(seconds=0.05)), []
    service.on_stuck = lambda: told.append("stuck")
    slow = endpoints.Query(
        "slow", "", lambda asked, _: endpoints.Reply(lambda: time.sleep(0.5)), {}, about_rows=False, has_rows=False
    )
    monkeypatch.setitem(endpoints.QUERIES, "slow", slow)
    header = [("content-type", "application/json")]

    async def together():
        return await asyncio.gather(*(call(service, "POST", "/v1/models/survey/slow", b"{}", header) for _ in range(3)))

    service.metrics = None
    service.numbers.add_request = lambda *_: None
    answers = run(together())
    assert [status for status, _, _ in answers] == [503] * 3
    assert told == ["stuck"]  # both threads are taken: another worker has to come


def test_a_body_that_does_not_arrive(models):
    service = Service(models, Limits(seconds=0.05))

    async def asked():
        async def receive():
            if not started:
                started.append(True)
                return {"type": "http.request", "body": b"{", "more_body": True}
            return await asyncio.sleep(30)

        started, sent = [], []

        async def send(message):
            sent.append(message)

        headers = [(b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": MARGINALS, "query_string": b"", "headers": headers}
        await service(scope, receive, send)
        return sent[0]["status"]

    assert run(asked()) == 408


def test_a_body_in_parts(service):
    parts = [b'{"rows": ', b"[{}", b"]}"]
    status, _, body = run(call(service, "POST", MARGINALS, parts, [("content-type", "application/json")]))
    assert status == 200, body
    parts = [b"x" * 15_000] * 2
    status, _, body = run(call(service, "POST", MARGINALS, parts, [("content-type", "application/json")]))
    assert status == 413


def test_logs_hold_no_cells_unless_asked(models):
    secret = "Rumpelstilzchen"
    for level, is_told in (("requests", False), ("data", True)):
        stream = io.StringIO()
        service = Service(models, log=Log(level, stream))
        problem(service, MARGINALS, {"rows": [{"city": secret}]})
        problem(service, MARGINALS, {"rows": [{secret: 1}]})
        lines = [json.loads(line) for line in stream.getvalue().splitlines()]
        assert {line["status"] for line in lines if line["event"] == "request"} == {422}
        assert (secret in stream.getvalue()) == is_told


def test_a_fault_is_told_in_the_log_and_not_to_whoever_asked(models, monkeypatch):
    from xspn.service import endpoints

    def broken(asked, _):
        raise RuntimeError("a secret cell")

    stream = io.StringIO()
    service = Service(models, log=Log("quiet", stream))
    monkeypatch.setitem(endpoints.QUERIES, "mpe", endpoints.Query("mpe", "", broken, {}))
    status, found = problem(service, "/v1/models/survey/mpe", {"rows": []})
    assert status == 500
    assert "secret" not in found["detail"] + stream.getvalue()
    assert json.loads(stream.getvalue())["error"] == "RuntimeError"
