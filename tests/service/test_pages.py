"""What is there beside questions: models, columns, states, numbers, the document, the explorer's page."""

import json

import pytest

pytest.importorskip("orjson", reason="the extra serve is not installed")
from service.asgi import answer, call, get, post
from support.running import run
from xspn.core.errors import FormatError, ParameterError
from xspn.service.app import Service
from xspn.service.endpoints import QUERIES
from xspn.service.models import Models, Stale, named_files, prepare


@pytest.fixture
def service(models):
    return Service(models)


def test_models_and_their_columns(service, circuits):
    found = json.loads(get(service, "/v1/models")[2])["models"]
    assert [card["name"] for card in found] == ["survey", "votes"]
    card = json.loads(get(service, "/v1/models/survey")[2])
    assert card["parameters"] == circuits["survey"].summary().parameters
    assert card["columns"] == {"binary": 4, "categorical": 1, "real": 1}
    columns = json.loads(get(service, "/v1/models/survey/schema")[2])["columns"]
    assert columns[0] == {"name": "city", "type": "categorical", "values": ["Bonn", "Köln", "a/b & c"]}
    assert columns[1] == {"name": "age", "type": "real"}
    assert [column["name"] for column in json.loads(get(service, "/v1/models/votes/schema")[2])["columns"]][:2] == [
        "X0",
        "X1",
    ]


def test_states(service, models):
    assert json.loads(get(service, "/healthz")[2]) == {"status": "alive"}
    status, _, body = get(service, "/readyz")
    assert (status, json.loads(body)["models"]["survey"]["state"]) == (200, "current")
    changed = Models()
    changed.by_name = dict(models.by_name)
    changed.stale["votes"] = Stale("votes.json: damaged", "2026-01-01T00:00:00Z")
    status, _, body = get(Service(changed), "/readyz")
    found = json.loads(body)["models"]["votes"]
    assert (status, found["state"], found["error"]["reason"]) == (200, "stale", "votes.json: damaged")
    service.is_stopping = True
    assert get(service, "/readyz")[0] == 503
    assert post(service, "/v1/models/votes/score", {"rows": []})[1]["connection"] == "close"


def test_numbers_of_requests(service):
    answer(service, "/v1/models/survey/score", {"rows": [{}, {}]})
    post(service, "/v1/models/survey/score", b"{")
    text = get(service, "/metrics")[2].decode()
    assert 'xspn_requests_total{model="survey",query="score",status="200"} 1' in text
    assert 'xspn_requests_total{model="survey",query="score",status="400"} 1' in text
    assert 'xspn_rows_total{model="survey",query="score"} 2' in text
    assert 'xspn_request_seconds_count{model="survey",query="score"} 2' in text
    assert 'xspn_request_seconds_bucket{model="survey",query="score",le="+Inf"} 2' in text
    assert "xspn_in_flight 1\n" in text  # the one that asks
    version = json.loads(get(service, "/v1/models/survey")[2])["version"]
    assert f'xspn_model_info{{model="survey",version="{version}"}} 1' in text


def test_the_document_describes_what_there_is(service):
    """Every example of the document is answered as the document says, and every address of it exists."""
    document = json.loads(get(service, "/openapi.json")[2])
    assert document["openapi"] == "3.1.0"
    questions = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert "200" in operation["responses"]
            if method == "get":
                assert get(service, path)[0] == 200
                continue
            content = operation["requestBody"]["content"]["application/json"]
            answered = operation["responses"]["200"]["content"]["application/json"]
            if "example" in answered:
                questions += 1
                found = answer(service, path, content["example"])
                assert found == answered["example"]
                assert set(answered["schema"]["required"]) <= set(found)
    assert questions == 2 * len(QUERIES)
    row = document["components"]["schemas"]["Row.survey"]
    assert row["properties"]["city"] == {"enum": ["Bonn", "Köln", "a/b & c", None]}


def test_pages(service, models):
    status, headers, body = get(service, "/explore/survey")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"Content-Security-Policy" in body
    index = get(service, "/")[2].decode()
    assert '<a href="/explore/survey">' in index
    alone = Models()
    alone.swap(models.by_name["votes"])
    assert get(Service(alone), "/")[2] == get(service, "/explore/votes")[2]
    assert run(call(service, "HEAD", "/healthz"))[0] == 200


def test_names_of_models(tmp_path):
    assert list(named_files(["a/senate.json", "old=b/senate.json"])) == ["senate", "old"]
    for wrong in (["a/x.json", "b/x.json"], ["a b.json"], ["=x.json"], ["../..=x.json"], [".x=y.json"]):
        with pytest.raises(ParameterError, match="NAME=FILE"):
            named_files(wrong)
    (tmp_path / "a=b.json").touch()
    assert list(named_files([f"{tmp_path}/c.json"])) == ["c"]


def test_files_that_are_no_models(tmp_path):
    damaged = tmp_path / "model.json"
    damaged.write_bytes(b'{"format": "xspn"')
    with pytest.raises(FormatError):
        prepare("model", damaged, tmp_path / "folder")
    with pytest.raises(OSError, match=r"folder|directory"):
        prepare("model", tmp_path, tmp_path / "other")
