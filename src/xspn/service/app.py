"""The service as an ASGI application: addresses, tokens, limits, formats; what is asked is in `endpoints`.

The way of a request is short on purpose. Small questions about rows are computed on the event loop itself, together
with others that arrive at the same time (`batching`); everything else goes to threads, so that the loop stays free.
"""

import asyncio
import hmac
import itertools
import traceback
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from html import escape
from time import perf_counter
from typing import Any
from urllib.parse import parse_qsl

import orjson

from xspn.core.checks import suggestion
from xspn.core.errors import XSPNError
from xspn.service import openapi
from xspn.service.batching import MOST_ROWS, Batcher
from xspn.service.endpoints import QUERIES, Asked, Query, explained
from xspn.service.models import Model, Models
from xspn.service.monitoring import Log, Metrics
from xspn.service.problems import Problem, problem_of
from xspn.service.rows import FORMATS, JSON, NDJSON, Body, to_json

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Any], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

ON_LOOP = 0.002  # seconds that a small question may take on the loop
THREADS = 2  # for everything that is not small
LARGE_BODY = 1 << 16  # bytes: what is larger is read and written by the thread
SAFETY: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
]
RETRY = ((b"retry-after", b"1"),)
OPEN = ("/healthz", "/readyz")  # without a token
OTHERS = ("index", "page", "models", "card", "schema", "healthz", "readyz", "metrics", "openapi", "unknown")


@dataclass(frozen=True)
class Limits:
    """What one request, and all of them together, may ask for.

    Attributes:
        body: Bytes of a request.
        rows: Rows of a request, and of an answer.
        seconds: How long an answer may take, and a request to arrive.
        concurrent: Requests under way at once, in each worker.
    """

    body: int = 16 << 20
    rows: int = 100_000
    seconds: float = 30.0
    concurrent: int = 256


class Response:
    """What is sent: status, headers and body; and what metrics and logs say of it."""

    __slots__ = ("body", "headers", "kind", "label", "model", "rows", "status")

    def __init__(
        self, status: int, body: Body, kind: bytes = b"application/json", headers: Headers | None = None
    ) -> None:
        self.status, self.body, self.kind, self.headers = status, body, kind, headers or []
        self.model, self.label, self.rows = "", "unknown", 0


class Service:
    """Answers requests about models.

    Args:
        models: The models by name; they may be swapped while requests are under way.
        limits: What may be asked for.
        token: What requests must bring as a bearer token; None if anyone may ask.
        metrics: Numbers that all workers share; of this one alone by default.
        worker: Which of the workers this is.
        log: Where to tell what happens.
    """

    def __init__(
        self,
        models: Models,
        limits: Limits | None = None,
        token: str | None = None,
        metrics: Metrics | None = None,
        worker: int = 0,
        log: Log | None = None,
    ) -> None:
        self.models, self.limits = models, limits or Limits()
        self._token = None if token is None else token.encode()
        self.metrics = metrics or Metrics(1, list(models.by_name), [*QUERIES, *OTHERS])
        self.numbers = self.metrics.of_worker(worker)
        self.log, self.worker = log or Log("quiet"), worker
        self.is_stopping = False
        self._in_flight = 0
        self._ids = itertools.count(1)
        self.under_way: Callable[[], int] = lambda: self._in_flight  # a server knows of those that have not begun
        self._batcher = Batcher(lambda: self.under_way(), self._note_batch)
        self._threads = ThreadPoolExecutor(THREADS, "answers")
        self._abandoned = 0
        self.on_stuck: Callable[[], None] = lambda: None  # called when no thread is left that is not too slow
        self._document: tuple[tuple[str, ...], bytes] = ((), b"")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        started = perf_counter()
        self._in_flight += 1
        self.numbers.add("in_flight")
        try:
            answer = await self._answered(scope, receive)
        finally:
            self._in_flight -= 1
            self.numbers.add("in_flight", -1)
        headers = [
            (b"content-type", answer.kind),
            (b"content-length", b"%d" % len(answer.body)),
            *SAFETY,
            *answer.headers,
        ]
        if self.is_stopping:
            headers.append((b"connection", b"close"))
        self._note(scope, answer, perf_counter() - started)
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answered(self, scope: Scope, receive: Receive) -> Response:
        steps = scope["path"].split("/")
        is_query = len(steps) == 5 and steps[1] == "v1" and steps[2] == "models" and steps[4] in QUERIES
        try:
            headers = dict(scope["headers"])
            if not self._has_token(headers) and scope["path"] not in OPEN:
                detail = "expected the header 'Authorization: Bearer TOKEN' with the service's token"
                raise Problem(401, "unauthorized", detail, headers=((b"www-authenticate", b"Bearer"),))
            if is_query:
                return await self._ask(steps[3], QUERIES[steps[4]], scope, headers, receive)
            if scope["path"] == "/openapi.json":
                await self._describe()
            return self._get(scope["method"], scope["path"], steps, self._has_token(headers))
        except Problem as problem:
            answer = self._refused(problem)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # a fault of ours: told in the log, and not to whoever asked
            answer = self._refused(self._fault(error))
        if is_query and steps[3] in self.models.by_name:
            answer.model, answer.label = steps[3], steps[4]
        return answer

    # -- questions -----------------------------------------------------------------------------------------------------

    async def _ask(
        self, name: str, query: Query, scope: Scope, headers: dict[bytes, bytes], receive: Receive
    ) -> Response:
        model = self._model(name)
        if scope["method"] != "POST":
            raise _not_allowed("POST")
        if self._in_flight > self.limits.concurrent:
            detail = f"more than {self.limits.concurrent} requests are under way; try again"
            raise Problem(429, "too-many-requests", detail, headers=RETRY)
        kind = _content_type(headers, query)
        accepted = _accepted(headers.get(b"accept"), kind, query)
        body = await self._body(headers, receive)
        parameters = scope["query_string"]
        if len(body) > LARGE_BODY:
            asked = await self._in_thread(_read, model, query, kind, body, parameters, self.limits.rows)
        else:
            asked = _read(model, query, kind, body, parameters, self.limits.rows)
        rows = asked.known
        try:
            found = None
            if query.compute is not None and rows is not None:
                is_small = len(rows) * model.seconds[query.name] < ON_LOOP and len(rows) <= MOST_ROWS
                if is_small and accepted == JSON:
                    found = await self._batcher.result(model, query.name, query.compute, rows)
                    content = query.answer(asked, found).formatted(JSON)
                else:
                    content = await self._in_thread(_computed, query, asked, accepted)
            else:
                content = await self._in_thread(_computed, query, asked, accepted)
        except XSPNError as error:
            raise explained(error, model, rows) from error
        answer = Response(200, content, accepted.encode(), [(b"xspn-model-version", model.version.encode())])
        answer.model, answer.label, answer.rows = name, query.name, 0 if rows is None else len(rows)
        return answer

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns in the thread, unless it takes too long."""
        loop = asyncio.get_running_loop()
        work = self._threads.submit(function, *arguments)
        result = asyncio.wrap_future(work, loop=loop)
        done, _ = await asyncio.wait([result], timeout=self.limits.seconds)
        if not done:
            if not work.cancel():  # it has begun, and cannot be stopped
                self._abandon(work, loop)
            detail = f"the answer takes longer than {self.limits.seconds:g} seconds; ask for less at once"
            raise Problem(503, "too-slow", detail, headers=RETRY)
        return result.result()

    def _abandon(self, work: "Future[Any]", loop: asyncio.AbstractEventLoop) -> None:
        """Let a thread go on with what nobody waits for; if no other is left, somebody else must take over."""

        def free() -> None:
            self._abandoned -= 1

        self._abandoned += 1
        work.add_done_callback(lambda _: None if loop.is_closed() else loop.call_soon_threadsafe(free))
        if self._abandoned >= THREADS:
            self.log.tell("stuck", "quiet", worker=self.worker)
            self.on_stuck()

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        """Return the body of a request that is no larger than allowed, and arrives in time."""
        most = self.limits.body
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > most:
            raise _too_large(most)
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            body: bytes = message["body"]
            if len(body) > most:
                raise _too_large(most)
            return body
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.limits.seconds):
                while True:
                    if message["type"] != "http.request":
                        raise Problem(400, "disconnected", "the request ended before its body did")
                    parts.append(message["body"])
                    size += len(parts[-1])
                    if size > most:
                        raise _too_large(most)
                    if not message.get("more_body"):
                        return b"".join(parts)
                    message = await receive()
        except TimeoutError:
            detail = f"the body did not arrive within {self.limits.seconds:g} seconds"
            raise Problem(408, "slow-request", detail, headers=((b"connection", b"close"),)) from None

    def _model(self, name: str) -> Model:
        model = self.models.by_name.get(name)
        if model is None:
            known = list(self.models.by_name)
            detail = f"there is no model {name!r:.80}{suggestion(name, known)}; GET /v1/models lists them"
            raise Problem(404, "unknown-model", detail)
        return model

    def _note_batch(self, requests: int) -> None:
        self.numbers.add("batches_total")
        self.numbers.add("batched_requests_total", requests)

    # -- everything else -----------------------------------------------------------------------------------------------

    def _get(self, method: str, path: str, steps: list[str], is_trusted: bool) -> Response:
        found = self._page(path, steps, is_trusted)
        if found is None:
            raise Problem(404, "unknown-address", f"nothing is at {path!r:.120}; GET /openapi.json lists what there is")
        label, answer = found
        if method not in ("GET", "HEAD"):
            raise _not_allowed("GET, HEAD")
        result = answer()
        result.label = label
        return result

    def _page(self, path: str, steps: list[str], is_trusted: bool) -> tuple[str, Callable[[], Response]] | None:
        fixed: dict[str, tuple[str, Callable[[], Response]]] = {
            "/": ("index", self._index),
            "/healthz": ("healthz", lambda: Response(200, b'{"status":"alive"}')),
            "/readyz": ("readyz", lambda: self._readiness(is_trusted)),
            "/metrics": ("metrics", self._numbers),
            "/openapi.json": ("openapi", lambda: Response(200, self._document[1])),
            "/v1/models": ("models", lambda: Response(200, to_json({"models": [m.card for m in self._all()]}))),
        }
        if path in fixed:
            return fixed[path]
        if len(steps) == 3 and steps[1] == "explore":
            return "page", lambda: self._explorer(self._model(steps[2]))
        if steps[1:3] == ["v1", "models"] and len(steps) == 4:
            return "card", lambda: Response(200, to_json(self._model(steps[3]).card))
        if steps[1:3] == ["v1", "models"] and steps[4:] == ["schema"]:
            return "schema", lambda: self._schema(self._model(steps[3]))
        return None

    def _all(self) -> list[Model]:
        return list(self.models.by_name.values())

    def _schema(self, model: Model) -> Response:
        return Response(
            200, to_json({"name": model.name, "version": model.version, "columns": model.described_columns()})
        )

    def _readiness(self, is_trusted: bool) -> Response:
        found: dict[str, Any] = {"status": "stopping" if self.is_stopping else "ready"}
        if is_trusted:  # names of models and files are for those who have the token, if there is one
            found["models"] = self.models.readiness()
        return Response(503 if self.is_stopping else 200, to_json(found))

    def _numbers(self) -> Response:
        text = self.metrics.text({model.name: model.version for model in self._all()})
        return Response(200, text.encode(), b"text/plain; version=0.0.4; charset=utf-8")

    async def _describe(self) -> None:
        """Make the document of the models as they are, if there is none; its examples are real questions."""
        versions = tuple(model.version for model in self._all())
        if self._document[0] != versions:
            models, has_token = dict(self.models.by_name), self._token is not None
            made = await self._in_thread(openapi.document, models, self.limits.rows, has_token)
            self._document = (versions, to_json(made, finite=False))

    def _index(self) -> Response:
        if len(self.models.by_name) == 1:
            return self._explorer(self._all()[0])
        links = "".join(f'<li><a href="/explore/{escape(m.name)}">{escape(m.name)}</a></li>' for m in self._all())
        head = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Models</title></head>'
        return Response(200, f"{head}<body><h1>Models</h1><ul>{links}</ul></body></html>".encode(), b"text/html")

    def _explorer(self, model: Model) -> Response:
        if model.page is None:
            raise Problem(404, "no-page", str(model.why_no_page))
        return Response(200, bytes(model.page[:]), b"text/html; charset=utf-8", [(b"x-frame-options", b"DENY")])

    # -- tokens, refusals, notes ---------------------------------------------------------------------------------------

    def _has_token(self, headers: dict[bytes, bytes]) -> bool:
        if self._token is None:
            return True
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token)

    def _refused(self, problem: Problem) -> Response:
        answer = Response(
            problem.status, to_json(problem.document()), b"application/problem+json", list(problem.headers)
        )
        if problem.status == 413:
            answer.headers.append((b"connection", b"close"))  # the rest of the body is not waited for
        if self.log.has_data:
            self.log.tell("refused", "data", status=problem.status, kind=problem.kind, detail=problem.detail)
        return answer

    def _fault(self, error: Exception) -> Problem:
        last = traceback.extract_tb(error.__traceback__)[-1]
        facts: dict[str, Any] = {"error": type(error).__name__, "place": f"{last.filename}:{last.lineno}"}
        if self.log.has_data:
            facts["trace"] = traceback.format_exc()
        self.log.tell("fault", "quiet", **facts)
        return problem_of(error)

    def _note(self, scope: Scope, answer: Response, seconds: float) -> None:
        self.numbers.add_request(answer.model, answer.label, answer.status, seconds, answer.rows)
        if self.log.has_requests:
            self.log.tell(
                "request",
                "requests",
                worker=self.worker,
                number=next(self._ids),
                method=scope["method"],
                path=scope["path"],
                status=answer.status,
                milliseconds=round(seconds * 1000, 3),
                rows=answer.rows,
                bytes=len(answer.body),
            )


# -- from requests to what is asked, and from replies to formats -------------------------------------------------------


def _not_allowed(methods: str) -> Problem:
    return Problem(405, "method", f"expected {methods}", headers=((b"allow", methods.encode()),))


def _too_large(most: int) -> Problem:
    return Problem(413, "body-too-large", f"the body has more than the {most:,} bytes that are read; send several")


def _content_type(headers: dict[bytes, bytes], query: Query) -> str:
    """Return the format of a request's body."""
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Problem(415, "content-encoding", "expected a body without a content encoding")
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")
    known = FORMATS if query.about_rows else (JSON,)
    if kind not in known:
        raise Problem(
            415, "content-type", f"expected the content type {' or '.join(known)}, found {kind or 'none'!r:.80}"
        )
    return kind


def _accepted(accept: bytes | None, default: str, query: Query) -> str:
    """Return the format of the answer: that of the request, unless it says what it accepts."""
    known = FORMATS if query.has_rows else (JSON,)
    if accept is None:
        return default if default in known else JSON
    wanted = [part.partition(";") for part in accept.decode("latin-1").lower().split(",")]
    kinds = [kind.strip() for kind, _, weight in wanted if weight.strip() not in ("q=0", "q=0.0", "q=0.00", "q=0.000")]
    for kind in kinds:
        if kind in known:
            return kind
        if kind in ("*/*", "application/*"):
            return default if default in known else JSON
    raise Problem(406, "accept", f"the answer can be {', '.join(known)}")


def _read(model: Model, query: Query, kind: str, body: bytes, parameters: bytes, most_rows: int) -> Asked:
    """Return what a request asks: rows in its body; options in the address, or beside the rows if that is JSON."""
    texts = _in_address(parameters) if parameters else {}
    if kind != JSON:
        read = model.reader.of_ndjson if kind == NDJSON else model.reader.of_arrow
        return Asked(model, read(body, most_rows), query.read_options({}, texts), most_rows)
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Problem(400, "malformed-json", f"not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise Problem(422, "invalid-input", 'expected an object, as in {"rows": [{"column": "value"}]}', "")
    rows = None
    if query.about_rows:
        if "rows" in fields:
            rows = model.reader.of_rows(fields.pop("rows"), most_rows)
        elif not query.rows_optional:
            raise Problem(422, "missing-field", "rows: expected a list of rows, found nothing", "")
    return Asked(model, rows, query.read_options(fields, texts), most_rows)


def _in_address(parameters: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(parameters.decode("utf-8"), keep_blank_values=True, max_num_fields=100))
    except ValueError as error:
        raise Problem(400, "malformed-address", "the options in the address cannot be read") from error


def _computed(query: Query, asked: Asked, accepted: str) -> Body:
    """Return the answer in its format."""
    rows = asked.known
    found = None if query.compute is None or rows is None else asked.model.computed(query.name, query.compute, rows)
    return query.answer(asked, found).formatted(accepted)
