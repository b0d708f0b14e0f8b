"""Random requests to the service: answered in JSON with the library's numbers, or refused with a problem document.

A model of each kind stands behind one service in this process; what is sent is meant to be sent, then damaged now and
then: names, values, options, bytes, formats, addresses. A fault of the service (status 500) is never the answer.
"""

import asyncio
import json
import tempfile
from functools import cache
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from fuzz import commands, mutations
from service.asgi import call
from service.conftest import survey, votes
from xspn import load, save
from xspn.service.app import Limits, Service
from xspn.service.endpoints import BATCHED, QUERIES
from xspn.service.models import Model, Models
from xspn.service.models import prepare as prepare_model
from xspn.service.monitoring import Log
from xspn.service.rows import ARROW, FORMATS, JSON, NDJSON

LEARNED = ("model.json", "bits.json", "odd.json", "amounts.json")
FAULT = 500
STATUSES = (200, 400, 404, 405, 406, 413, 415, 422)
MOST_ROWS = 5000


@cache
def served():
    """The models that answer, and the circuits that they are made of."""
    circuits, models = {"survey": survey(), "votes": votes()}, Models()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands.place(commands.good_files(), folder)
        circuits |= {Path(own).stem: load(folder / own) for own in LEARNED}
        for title, circuit in circuits.items():
            save(circuit, folder / f"{title}.xspn")
            prepare_model(title, folder / f"{title}.xspn", folder / f"{title} ready")
            model = Model.open(folder / f"{title} ready")
            model.warm_up(BATCHED)
            models.swap(model)
    return models, circuits


class Requests:
    """Makes requests about one model: what is meant to be sent, odd values among it."""

    def __init__(self, rng, circuit):
        self.rng, self.circuit, self.schema = rng, circuit, circuit.schema

    def one(self, options):
        return options[int(self.rng.integers(len(options)))]

    def odd(self):
        return self.one(mutations.ODD) if self.rng.random() < 0.05 else None

    def name(self):
        return self.one(self.schema.shown_names)

    def value(self, j):
        """A label of a column as JSON has it, or a number."""
        domain = self.schema.domains[j]
        if domain is None:
            return None
        if domain.cardinality is None:
            return self.one([0, 1, 0.5, -3.25, 1e6, 20, 1e300])
        return self.schema.plain_column(j, np.array([float(self.rng.integers(domain.cardinality))]))[0]

    def row(self, chance):
        """Some columns and their values."""
        names = self.schema.shown_names
        row = {names[j]: self.value(j) for j in range(len(names)) if self.rng.random() < chance}
        return row if row or chance == 0 else self.row(0.9)

    def rows(self):
        chance = self.one([0.0, 0.3, 0.8, 1.0])
        return [self.row(chance) for _ in range(int(self.one([0, 1, 2, 5, 30])))]

    def event(self):
        j = int(self.rng.integers(len(self.schema.shown_names)))
        value = json.dumps(str(self.value(j)))
        event = f"{json.dumps(self.name() if self.rng.random() < 0.05 else self.schema.shown_names[j])}"
        event += f" {self.one(['=', '=', '!=', '>', '<=', 'in', '=>'])} {value}"
        event = self.one([event, event, f"not ({event})", f"count({json.dumps(self.name())}) >= 1", event[:-1]])
        return event if self.rng.random() < 0.7 else f"{event} {self.one(['&', '|', 'and', ','])} {self.event()}"

    def given(self):
        return self.one([self.event(), [self.event(), self.event()], self.row(0.4), {}, [], ""])

    def option(self, option):
        """A value of a field."""
        if (odd := self.odd()) is not None:
            return odd
        if option.kind == "evidence":
            return self.given()
        if option.kind == "texts":
            own = [json.dumps(self.name()), self.event(), self.name(), "count(*)", "*", "nobody"]
            return self.one([self.one(own), [self.one(own) for _ in range(int(self.rng.integers(4)))]])
        if option.kind == "text":
            return self.one(option.choices or ("*", self.name(), json.dumps(self.name()), f"{self.name()}=1", "a_*"))
        return self.one([True, False]) if option.kind == "boolean" else self.one([0, 1, 3, 100, -1, 2**32, 10**9])

    def body(self, query):
        fields = {own.name: self.option(own) for own in query.options if own.required or self.rng.random() < 0.4}
        if query.about_rows and (not query.rows_optional or self.rng.random() < 0.5):
            fields["rows"] = self.rows()
        return fields


def encoded(rng, query, fields):
    """A body with its content type, and the options that stand in the address instead."""
    kind = JSON if rng.random() < 0.7 else str(rng.choice(FORMATS))
    if kind == JSON:
        if rng.random() < 0.3:
            fields = mutations.damaged_value(rng, fields)
        return kind, mutations.text_of(fields).encode("utf-8", "surrogatepass"), b""
    rows = fields.pop("rows", [])
    if rng.random() < 0.2:
        rows = mutations.damaged_value(rng, rows)
    address = "&".join(f"{quote(name)}={quote(str(own), errors='replace')}" for name, own in fields.items())
    if kind == ARROW:
        return kind, arrow(rng, rows), address.encode()
    lines = rows if isinstance(rows, list) else [rows]
    return (
        NDJSON,
        b"\n".join(mutations.text_of(row).encode("utf-8", "surrogatepass") for row in lines),
        address.encode(),
    )


def arrow(rng, rows):
    """Rows as a stream of Arrow; as an empty one if they are no rows that it can hold."""
    try:
        table = pa.Table.from_pylist(rows)
    except (pa.ArrowException, LookupError, TypeError, ValueError, AttributeError, OverflowError):
        table = pa.table({"a": [1, 0]})
    if rng.random() < 0.3:
        names = [name for name in table.column_names if pa.types.is_string(table.schema.field(name).type)]
        for name in names:
            table = table.set_column(table.column_names.index(name), name, table.column(name).dictionary_encode())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=int(rng.choice([1, 3, 1000])))
    return bytes(sink.getvalue())


def case(rng, folder):
    """Send one request."""
    models, circuits = served()
    title = list(circuits)[int(rng.integers(len(circuits)))]
    asked, query = Requests(rng, circuits[title]), list(QUERIES.values())[int(rng.integers(len(QUERIES)))]
    fields = asked.body(query)
    before = json.dumps(fields, default=str)
    kind, body, address = encoded(rng, query, fields)
    sound = mutations.text_of(fields).encode("utf-8", "surrogatepass") == body
    if rng.random() < 0.1:
        body, sound = mutations.damaged_bytes(rng, body), False
    headers = [("content-type", kind)]
    if rng.random() < 0.3:
        headers.append(("accept", str(rng.choice([*FORMATS, "*/*", "text/html", "application/json;q=0", ""]))))
    path, method = f"/v1/models/{title}/{query.name}", "POST"
    if rng.random() < 0.05:
        others = [
            "/",
            "/v1/models",
            "/v1/models/nobody/score",
            f"/explore/{title}",
            "/metrics",
            "//",
            "/v1/models/\udcff",
        ]
        path, method = str(rng.choice(others)), str(rng.choice(["GET", "HEAD", "PUT", "POST"]))
    service = Service(models, Limits(rows=MOST_ROWS, seconds=300.0), log=Log("quiet"))
    status, found, content = asyncio.run(call(service, method, path, body, headers, address))
    shown = f"{method} {path}?{address.decode()} {kind}: {before[:2000]}"
    assert status in STATUSES, f"status {status}, {content[:300]!r}: {shown}"
    if status != 200:
        document = strict(content, shown)
        assert document["status"] == status, f"a problem document of {document['status']}: {shown}"
        return "refused"
    if found["content-type"] == JSON:
        answer = strict(content, shown)
        if query.name == "score" and method == "POST" and sound and "rows" in fields:  # {} is a row of NDJSON, too
            check_scores(circuits[title], fields["rows"], answer, shown)
    return "answered"


def strict(content, shown):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON: {shown}")

    return json.loads(content, parse_constant=refuse)


def check_scores(circuit, rows, answer, shown):
    """Compare with the scores of the same rows as a table of the library."""
    places = {name: j for j, name in enumerate(circuit.schema.shown_names)}
    known = [circuit.schema.row({places[name]: value for name, value in row.items()}, "row") for row in rows]
    known = np.array(known).reshape(len(rows), circuit.n_variables)
    expected = circuit.log_likelihood(known)
    scores = np.array([float(own) for own in answer["log_likelihoods"]])
    assert np.allclose(scores, expected, rtol=1e-9, atol=1e-9), f"scores {scores}, expected {expected}: {shown}"


def prepare():
    """Open the models that requests are about."""
    served()


TARGETS = {"requests": case}
