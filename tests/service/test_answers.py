"""Answers equal the library's bit for bit, in every format, however requests are put together."""

import asyncio
import io
import json

import numpy as np
import pytest

from xspn.cli import main
from xspn.estimators.base import completed
from xspn.questions import replies

pytest.importorskip("orjson", reason="the extra serve is not installed")
from service.asgi import answer, call, post
from support.running import run
from xspn.service.app import Service
from xspn.service.endpoints import QUERIES

ARROW, NDJSON = "application/vnd.apache.arrow.stream", "application/x-ndjson"


@pytest.fixture
def service(models):
    return Service(models)


@pytest.fixture
def library(circuits):
    return circuits["survey"].to("numba", threads=1)


def rows_of(circuit, codes):
    """Rows by column name; what is missing is absent in some and null in others."""
    schema = circuit.schema
    return [
        {
            schema.shown_name(j): None if value != value else schema.label(j, value)
            for j, value in enumerate(row)
            if value == value or i % 2
        }
        for i, row in enumerate(codes.tolist())
    ]


def as_arrow(columns):
    pa = pytest.importorskip("pyarrow")
    sink = io.BytesIO()
    own = pa.table(columns)
    with pa.ipc.new_stream(sink, own.schema) as writer:
        writer.write_table(own)
    return sink.getvalue()


def of_arrow(content):
    pa = pytest.importorskip("pyarrow")
    return pa.ipc.open_stream(content).read_all().to_pylist()


def marginals_of(rows, names):
    return [[list(row[name].values()) for name in names] for row in rows]


def expected_marginals(library, codes):
    table, means, variances = library.marginals(codes), library.means(codes), library.variances(codes)
    found = []
    for i in range(len(codes)):
        row = []
        for j, domain in enumerate(library.schema.domains):
            size = domain.cardinality
            row.append([means[i, j], np.sqrt(variances[i, j])] if size is None else table[i, j, :size].tolist())
        found.append(row)
    return found


def test_scores(service, circuits, library, table):
    found = answer(service, "/v1/models/survey/score", {"rows": rows_of(circuits["survey"], table)})
    assert found["log_likelihoods"] == library.log_likelihood(table).tolist()
    assert found["rows"] == len(table)


def test_marginals_in_every_format(service, circuits, library, table):
    rows, names = rows_of(circuits["survey"], table), circuits["survey"].names
    expected = expected_marginals(library, table)
    path = "/v1/models/survey/marginals"
    assert marginals_of(answer(service, path, {"rows": rows})["rows"], names) == expected
    lines = "\n".join(map(json.dumps, rows)).encode()
    _, headers, content = post(service, path, lines, NDJSON)
    assert headers["content-type"] == NDJSON
    assert marginals_of(map(json.loads, content.splitlines()), names) == expected
    columns = {name: [row.get(name) for row in rows] for name in names}
    _, headers, content = post(service, path, as_arrow(columns), ARROW)
    assert headers["content-type"] == ARROW
    assert marginals_of(of_arrow(content), names) == expected
    _, _, content = post(service, path, as_arrow(columns), ARROW, [("accept", "application/json")])
    assert marginals_of(json.loads(content)["rows"], names) == expected


def test_some_columns_only(service, models):
    found = answer(service, "/v1/models/survey/marginals", {"rows": [{}], "columns": ["likes_*", "city"]})
    assert list(found["rows"][0]) == ["city", "likes_a", "likes_b", "likes_c"]
    whole = answer(service, "/v1/models/survey/marginals", {"rows": [{}]})
    assert all(whole["rows"][0][name] == own for name, own in found["rows"][0].items())
    _, _, content = post(service, "/v1/models/survey/marginals", b"{}", NDJSON, query=b"columns=city")
    assert json.loads(content) == {"city": whole["rows"][0]["city"]}
    _, _, content = post(service, "/v1/models/survey/marginals", {"rows": [{}]}, query=b"columns=city")
    assert json.loads(content)["rows"] == [{"city": whole["rows"][0]["city"]}]


def test_labels_with_signs_of_formats(service):
    found = answer(service, "/v1/models/survey/marginals", {"rows": [{"city": "a/b & c"}]})
    assert found["rows"][0]["city"] == {"Bonn": 0.0, "Köln": 0.0, "a/b & c": 1.0}


def test_completions(service, circuits, library, table):
    rows = rows_of(circuits["survey"], table)
    found = answer(service, "/v1/models/survey/mpe", {"rows": rows})
    own = library.mpe(table)
    assert found["log_probabilities"] == own.log_prob.tolist()
    assert found["exact"] == own.exact
    assert [row["city"] for row in found["rows"]] == circuits["survey"].schema.plain_column(0, own.values[:, 0])


@pytest.mark.parametrize("method", ["marginal", "mean", "mpe", "sample"])
def test_imputed_rows(service, circuits, library, table, method):
    rows, schema = rows_of(circuits["survey"], table), circuits["survey"].schema
    found = answer(service, "/v1/models/survey/impute", {"rows": rows, "method": method, "seed": 3})
    filled = completed(library, table, method, 3)
    for j, name in enumerate(schema.names):
        assert [row[name] for row in found["rows"]] == schema.plain_column(j, filled[:, j])
    assert found["filled"] == int(np.isnan(table).sum())
    assert all(
        row[name] == value
        for given, row in zip(rows, found["rows"], strict=True)
        for name, value in given.items()
        if value is not None
    )


def test_samples(service, circuits, library):
    body = {"n": 20, "given": {"city": "Bonn"}, "seed": 5}
    found = answer(service, "/v1/models/survey/sample", body)["rows"]
    drawn = library.sample(20, given={"city": "Bonn"}, random_state=5)
    schema = circuits["survey"].schema
    assert [[row[name] for name in schema.names] for row in found] == [
        [schema.plain_column(j, drawn[i : i + 1, j])[0] for j in range(len(schema))] for i in range(20)
    ]
    assert answer(service, "/v1/models/survey/sample", {**body, "given": "city=Bonn"})["rows"] == found


def test_counts(service, circuits, library, table):
    votes = circuits["votes"].to("numba", threads=1)
    found = answer(service, "/v1/models/votes/count", {"count": "X*"})
    assert found["rows"][0]["probabilities"] == votes.count_distribution(range(7)).tolist()
    rows = rows_of(circuits["survey"], table)
    found = answer(service, "/v1/models/survey/count", {"count": "likes_*", "rows": rows})
    assert [row["probabilities"] for row in found["rows"]] == library.count_distribution(
        [2, 3, 4], given=table
    ).tolist()
    found = answer(service, "/v1/models/survey/count", {"count": "count(likes_*=no)", "given": "age > 50"})
    of_yes = library.count_distribution([2, 3, 4], given="age > 50")
    assert found["rows"][0]["probabilities"] == pytest.approx(of_yes[::-1].tolist(), rel=1e-12)  # added up otherwise
    assert answer(service, "/v1/models/survey/count", {"count": "likes_*", "rows": []})["rows"] == []


def test_questions_have_the_answers_of_the_command(service, circuits, library, tmp_path, capsys):
    from xspn import save

    path = tmp_path / "survey.json"
    save(circuits["survey"], path)
    ask, given = ["city", "age", "count(likes_*)", "age in 20..30", "likes_a=yes"], ["student=1"]
    found = answer(service, "/v1/models/survey/query", {"ask": ask, "given": given, "best": True})
    exact = library.max_product_is_exact
    assert found == json.loads(json.dumps(replies(library.backend, library.schema, ask, given, None, exact)))
    capsys.readouterr()
    assert main(["query", str(path), "--ask", *ask, "--given", *given, "--best", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [own["ask"] for own in printed["answers"]] == [own["ask"] for own in found["answers"]]
    assert printed["best"]["values"] == found["best"]["values"]
    close = pytest.approx(printed["answers"][3]["probability"], rel=1e-12)
    assert found["answers"][3]["probability"] == close


def test_nothing_and_no_rows(service):
    assert answer(service, "/v1/models/survey/score", {"rows": []})["log_likelihoods"] == []
    assert answer(service, "/v1/models/survey/marginals", {"rows": []}) == {"rows": []}
    assert answer(service, "/v1/models/survey/mpe", {"rows": []})["rows"] == []
    assert answer(service, "/v1/models/survey/impute", {"rows": []}) == {"rows": [], "filled": 0}


def test_impossible_rows_score_minus_infinity(service):
    found = answer(service, "/v1/models/survey/score", {"rows": [{"city": "Köln", "student": 0}, {}]})
    assert found["log_likelihoods"] == ["-inf", pytest.approx(0.0, abs=1e-12)]
    assert found["impossible"] == 1


def test_requests_that_are_computed_together_are_answered_as_alone(service, circuits, library, table, monkeypatch):
    """One of them is impossible, which the others do not notice."""
    monkeypatch.setattr("xspn.service.app.ON_LOOP", 10.0)  # however busy the machine is
    rows = rows_of(circuits["survey"], table)
    bodies = [json.dumps({"rows": [row]}).encode() for row in rows]
    bodies.insert(7, json.dumps({"rows": [{"city": "Köln", "student": 0}]}).encode())
    header = [("content-type", "application/json")]

    async def all_at_once():
        service.under_way = lambda: 2
        path = "/v1/models/survey/marginals"
        return await asyncio.gather(*(call(service, "POST", path, body, header) for body in bodies))

    answers = run(all_at_once())
    status, _, content = answers.pop(7)
    assert status == 422
    assert json.loads(content)["errors"][0]["pointer"] == "/rows/0"
    names = circuits["survey"].names
    found = [marginals_of(json.loads(content)["rows"], names)[0] for _, _, content in answers]
    assert found == expected_marginals(library, table)
    numbers = dict(line.rsplit(" ", 1) for line in service.metrics.text().splitlines() if not line.startswith("#"))
    batches, requests = (int(numbers[f"xspn_{name}_total"]) for name in ("batches", "batched_requests"))
    assert requests > batches  # and were computed together indeed, before they were computed one by one


def test_a_new_query_is_one_entry(service, models, monkeypatch):
    from xspn.service.endpoints import Query, Reply

    entry = Query(
        "size",
        "How many columns",
        lambda asked, _: Reply(lambda: {"n": len(asked.model.schema)}),
        {},
        about_rows=False,
        has_rows=False,
    )
    monkeypatch.setitem(QUERIES, "size", entry)
    service = Service(models)
    assert answer(service, "/v1/models/survey/size", {}) == {"n": 6}
    status, _, document = run(call(service, "GET", "/openapi.json"))
    assert status == 200
    assert "/v1/models/survey/size" in json.loads(document)["paths"]
