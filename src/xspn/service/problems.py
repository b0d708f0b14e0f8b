"""What a request gets that cannot be answered: a status and a problem document (RFC 9457) that says what and where."""

from typing import Any

from xspn.core.errors import EvidenceError, MemoryLimitError, MissingExtraError, QuestionError, XSPNError

TITLES = {
    400: "The request is not well formed",
    401: "A token is needed",
    404: "There is no such thing here",
    405: "The method is not allowed",
    406: "No acceptable format",
    408: "The request took too long to arrive",
    413: "The request is too large",
    415: "The content type is not supported",
    422: "The request cannot be answered",
    429: "Too many requests at once",
    500: "A fault of the service",
    503: "The service cannot answer now",
}


class Problem(Exception):  # noqa: N818 (RFC 9457 calls it so)
    """An answer that is none: what is wrong, where, and what would help.

    Attributes:
        status: The HTTP status.
        kind: What went wrong, by a short name that programs can compare.
        detail: What was expected and found, for people. It may quote cells of the request: logs leave it out.
        pointer: Where, as a JSON pointer into the request's body.
        headers: Further headers of the answer.

    Examples:
        >>> Problem(422, "unknown-column", "no such name", "/rows/0/agee").document()["errors"]
        [{'detail': 'no such name', 'pointer': '/rows/0/agee'}]
    """

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        pointer: str | None = None,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail, self.pointer, self.headers = status, kind, detail, pointer, headers

    def document(self) -> dict[str, Any]:
        """Return the body of the answer."""
        found: dict[str, Any] = {
            "type": f"urn:xspn:problem:{self.kind}",
            "title": TITLES.get(self.status, "The request failed"),
            "status": self.status,
            "detail": self.detail,
        }
        if self.pointer is not None:
            found["errors"] = [{"detail": self.detail, "pointer": self.pointer}]
        return found


def pointer(*steps: str | int) -> str:
    """Return a JSON pointer (RFC 6901).

    Examples:
        >>> pointer("rows", 3, "a/b")
        '/rows/3/a~1b'
    """
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def problem_of(error: Exception, place: str | None = None) -> Problem:
    """Return the problem that an error of the library is for whoever asked."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, EvidenceError):
        return Problem(422, "impossible-evidence", str(error), place)
    if isinstance(error, QuestionError):
        return Problem(422, "question", str(error), place)
    if isinstance(error, MissingExtraError):
        return Problem(415, "format-not-installed", str(error), place)
    if isinstance(error, MemoryLimitError | MemoryError):
        return Problem(413, "too-large", str(error) or "out of memory; ask for less at once", place)
    if isinstance(error, XSPNError):
        return Problem(422, "invalid-input", str(error), place)
    return Problem(500, "fault", f"a fault of this program ({type(error).__name__}); its log says where")
