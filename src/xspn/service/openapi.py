"""The service described by an OpenAPI 3.1 document, made from the table of queries and the models' own columns."""

from typing import Any

from xspn._version import __version__
from xspn.core.errors import XSPNError
from xspn.service.endpoints import LONGEST_TEXT, MOST_TEXTS, QUERIES, Asked, Option, Query
from xspn.service.models import Model
from xspn.service.problems import TITLES, Problem
from xspn.service.rows import ARROW, JSON, NDJSON

MOST_COLUMNS = 2000  # of a model whose columns are listed one by one
EXAMPLE_ROWS = 1
PROBLEM = "application/problem+json"


def document(models: dict[str, Model], most_rows: int, has_token: bool) -> dict[str, Any]:
    """Return the document of a service with these models."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {"Problem": _problem_schema()}
    for name, model in models.items():
        schemas[f"Row.{name}"] = _row_schema(model)
        for query in QUERIES.values():
            paths[f"/v1/models/{name}/{query.name}"] = {"post": _operation(model, query, most_rows)}
        paths[f"/v1/models/{name}"] = {"get": _get(f"card_{name}", f"What {name} is, and where it comes from", name)}
        paths[f"/v1/models/{name}/schema"] = {"get": _get(f"schema_{name}", f"The columns of {name}", name)}
    paths["/v1/models"] = {"get": _get("models", "All models", "service")}
    paths["/healthz"] = {"get": _get("healthz", "Whether the process lives", "service", is_open=True)}
    paths["/readyz"] = {
        "get": _get("readyz", "Whether it answers, and by which models", "service", (503,), is_open=True)
    }
    paths["/metrics"] = {"get": _get("metrics", "Numbers for Prometheus", "service", kind="text/plain")}
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "xspn",
            "version": __version__,
            "description": "Exact probabilities of learned circuits. Rows are objects of columns and values; what is "
            "absent or null is missing. The header `xspn-model-version` of an answer says which version gave it.",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if has_token:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
    return found


def _operation(model: Model, query: Query, most_rows: int) -> dict[str, Any]:
    kinds = [JSON, *((NDJSON, ARROW) if query.has_rows else ())]
    content: dict[str, Any] = {JSON: {"schema": _request_schema(model, query, most_rows)}}
    parameters: list[dict[str, Any]] = []
    request, answer = _example(model, query)
    content[JSON]["example"] = request
    if query.about_rows:
        content[NDJSON] = {"schema": {"type": "string", "description": "A row in each line."}}
        content[ARROW] = {"schema": {"type": "string", "format": "binary", "description": "An Arrow IPC stream."}}
        parameters = [
            {
                "name": option.name,
                "in": "query",
                "description": f"{option.help} JSON may have it in its body.",
                "schema": {"type": "string"}
                if option.kind in ("texts", "evidence")
                else _option_schema(option, most_rows),
            }
            for option in query.options
        ]
    answers: dict[str, Any] = {JSON: {"schema": query.result}}
    if answer is not None:
        answers[JSON]["example"] = answer
    answers |= {kind: {"schema": {"type": "string"}} for kind in kinds[1:]}
    return {
        "operationId": f"{query.name}_{model.name}",
        "summary": query.summary,
        "tags": [model.name],
        "parameters": parameters,
        "requestBody": {"required": True, "content": content},
        "responses": {
            "200": {"description": "The answer", "headers": _headers(), "content": answers},
            **_problems(400, 401, 404, 405, 406, 408, 413, 415, 422, 429, 500, 503),
        },
    }


def _headers() -> dict[str, Any]:
    return {"xspn-model-version": {"description": "The version of the model", "schema": {"type": "string"}}}


def _get(
    operation: str, summary: str, tag: str, more: tuple[int, ...] = (), kind: str = JSON, is_open: bool = False
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"} if kind == JSON else {"type": "string"}
    found: dict[str, Any] = {
        "operationId": operation,
        "summary": summary,
        "tags": [tag],
        "responses": {
            "200": {"description": summary, "content": {kind: {"schema": schema}}},
            **{str(status): {"description": TITLES[status], "content": {JSON: {"schema": schema}}} for status in more},
            **_problems(401, 404, 405, 406, 500),
        },
    }
    return found | ({"security": []} if is_open else {})


def _problems(*statuses: int) -> dict[str, Any]:
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {str(status): {"description": TITLES[status], "content": content} for status in statuses}


def _problem_schema() -> dict[str, Any]:
    where = {
        "type": "object",
        "required": ["detail", "pointer"],
        "properties": {"detail": {"type": "string"}, "pointer": {"type": "string"}},
    }
    return {
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "errors": {"type": "array", "items": where},
        },
    }


def _row_schema(model: Model) -> dict[str, Any]:
    columns = model.described_columns()
    if len(columns) > MOST_COLUMNS:
        return {"type": "object", "description": f"{len(columns):,} columns; GET schema lists them."}
    properties: dict[str, Any] = {}
    for column in columns:
        if column["type"] == "real":
            properties[column["name"]] = {"type": ["number", "null"]}
        elif column["type"] != "absent":
            properties[column["name"]] = {"enum": [*column["values"], None]}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _request_schema(model: Model, query: Query, most_rows: int) -> dict[str, Any]:
    row = {"$ref": f"#/components/schemas/Row.{model.name}"}
    properties: dict[str, Any] = {}
    if query.about_rows:
        properties["rows"] = {"type": "array", "items": row, "maxItems": most_rows}
    for option in query.options:
        own = _option_schema(option, most_rows, row)
        properties[option.name] = {"description": option.help, **(own if option.required else _or_null(own))}
    required = ["rows"] if query.about_rows and not query.rows_optional else []
    required += [option.name for option in query.options if option.required]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of something that may be null, which is the same as absent."""
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    return {**schema, "oneOf": [*schema["oneOf"], {"type": "null"}]}


def _option_schema(option: Option, most_rows: int, row: dict[str, Any] | None = None) -> dict[str, Any]:
    text = {"type": "string", "maxLength": LONGEST_TEXT}
    texts = [text, {"type": "array", "items": text, "maxItems": MOST_TEXTS}]
    if option.kind == "integer":
        most = most_rows if option.is_rows else option.most
        found: dict[str, Any] = {"type": "integer", "minimum": option.least}
        found |= {} if most is None else {"maximum": most}
    elif option.kind == "boolean":
        found = {"type": "boolean"}
    elif option.kind == "text":
        found = {"enum": list(option.choices)} if option.choices else text
    else:
        found = {"oneOf": [*texts, row] if option.kind == "evidence" and row is not None else texts}
    return found if option.default is None else {**found, "default": option.default}


def _example(model: Model, query: Query) -> tuple[dict[str, Any], Any]:
    """Return a request about the model's own columns and what it is answered; None if it is refused."""
    request: dict[str, Any] = {}
    if query.about_rows and not query.rows_optional:
        known = QUERIES["sample"].by_name["given"].example
        request["rows"] = [known(model.schema)] if known is not None else [{}]
    for option in query.options:
        if option.example is not None:
            request[option.name] = option.example(model.schema)
    if query.name == "sample":
        request["n"] = EXAMPLE_ROWS
    try:
        rows = model.reader.of_rows(request["rows"], EXAMPLE_ROWS) if "rows" in request else None
        options = query.read_options({name: value for name, value in request.items() if name != "rows"}, {})
        found = None if query.compute is None or rows is None else query.compute(model, rows)
        return request, query.answer(Asked(model, rows, options, EXAMPLE_ROWS), found).value()
    except (XSPNError, Problem):
        return request, None
