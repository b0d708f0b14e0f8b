"""Requests to a service in the same process, without a network."""

import json
from typing import Any

from support.running import run


async def call(service, method, path, body=b"", headers=(), query=b""):
    """Return status, headers and body of one answer."""
    sent: list[Any] = []
    parts = [body] if isinstance(body, bytes) else list(body)

    async def receive():
        part = parts.pop(0) if parts else b""
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message):
        sent.append(message)

    own = [(name.lower().encode(), value.encode()) for name, value in headers]
    scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": own}
    await service(scope, receive, send)
    start, last = sent
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    assert int(found["content-length"]) == len(last["body"])
    return start["status"], found, last["body"]


def get(service, path, headers=()):
    return run(call(service, "GET", path, headers=headers))


def post(service, path, body, kind="application/json", headers=(), query=b""):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return run(call(service, "POST", path, content, [("content-type", kind), *headers], query))


def answer(service, path, body, **more):
    """Return the answer to a question that is answered."""
    status, _, content = post(service, path, body, **more)
    assert status == 200, content
    return json.loads(content)


def problem(service, path, body, **more):
    """Return status and document of a question that is refused."""
    status, headers, content = post(service, path, body, **more)
    assert headers["content-type"] == "application/problem+json", content
    found = json.loads(content)
    assert found["status"] == status
    return status, found
