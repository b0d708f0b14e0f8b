"""A client of `xspn serve` in plain Python: typed, one connection that is kept alive, and nothing to install."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlsplit

Cell = str | int | float | bool | None
Row = Mapping[str, Cell]
Evidence = str | Sequence[str] | Row
JSON, NDJSON = "application/json", "application/x-ndjson"


@dataclass
class ServiceError(Exception):
    """What the service refused: its status, the kind of problem, what was wrong, and where in the request."""

    status: int
    kind: str
    detail: str
    pointer: str | None = None

    def __str__(self) -> str:
        return f"{self.detail} ({self.status}{'' if self.pointer is None else f', at {self.pointer}'})"


class Client:
    """Asks one model of a service.

    Args:
        address: The service's address, such as "http://127.0.0.1:8000".
        model: The model's name.
        token: The service's bearer token, if it has one.
        timeout: Seconds to wait for an answer.
    """

    def __init__(self, address: str, model: str, token: str | None = None, timeout: float = 30.0) -> None:
        place = urlsplit(address)
        self._connection = HTTPConnection(place.hostname or "127.0.0.1", place.port or 80, timeout=timeout)
        self._path = f"/v1/models/{quote(model)}"
        self._headers = {} if token is None else {"authorization": f"Bearer {token}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()

    def marginals(self, rows: Iterable[Row], columns: Sequence[str] | None = None) -> list[dict[str, dict[str, float]]]:
        """Return P(value | row) of every value of every column; mean and deviation of real columns."""
        found: list[dict[str, dict[str, float]]] = self._ask("marginals", rows=list(rows), columns=columns)["rows"]
        return found

    def score(self, rows: Iterable[Row]) -> list[float]:
        """Return the log-likelihood of each row; −inf where it is impossible."""
        return [float(score) for score in self._ask("score", rows=list(rows))["log_likelihoods"]]

    def probability(self, event: str, given: Evidence | None = None) -> float:
        """Return how probable an event is, such as "age in 30..40 & not city=Bonn"."""
        return float(self._ask("query", ask=event, given=given)["answers"][0]["probability"])

    def impute(self, rows: Iterable[Row], method: str = "marginal", seed: int = 0) -> list[dict[str, Cell]]:
        """Return the rows with what is missing filled in."""
        found: list[dict[str, Cell]] = self._ask("impute", rows=list(rows), method=method, seed=seed)["rows"]
        return found

    def sample(self, n: int, given: Evidence | None = None, seed: int = 0) -> list[dict[str, Cell]]:
        """Return random rows."""
        found: list[dict[str, Cell]] = self._ask("sample", n=n, given=given, seed=seed)["rows"]
        return found

    def count(self, columns: str, given: Evidence | None = None) -> list[float]:
        """Return P(so many of the columns have their second value) for each number of them."""
        return [float(p) for p in self._ask("count", count=columns, given=given)["rows"][0]["probabilities"]]

    def stream(self, query: str, rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
        """Yield the answers to many rows one by one, in lines of JSON."""
        body = "\n".join(json.dumps(row) for row in rows).encode()
        yield from map(json.loads, self._sent(query, body, NDJSON).splitlines())

    def _ask(self, query: str, **fields: Any) -> Any:
        content = {name: value for name, value in fields.items() if value is not None}
        return json.loads(self._sent(query, json.dumps(content).encode(), JSON))

    def _sent(self, query: str, body: bytes, kind: str) -> bytes:
        headers = {**self._headers, "content-type": kind}
        try:
            answer = self._answered(query, body, headers)
        except (HTTPException, ConnectionError):  # a kept connection was closed meanwhile: questions may be asked again
            self._connection.close()
            answer = self._answered(query, body, headers)
        content = answer.read()
        if answer.status == 200:
            return content
        found = json.loads(content) if "json" in answer.headers.get("content-type", "") else {}
        where = found.get("errors", [{}])[0].get("pointer")
        raise ServiceError(answer.status, found.get("type", ""), found.get("detail", answer.reason), where)

    def _answered(self, query: str, body: bytes, headers: dict[str, str]) -> HTTPResponse:
        self._connection.request("POST", f"{self._path}/{query}", body, headers)
        return self._connection.getresponse()
