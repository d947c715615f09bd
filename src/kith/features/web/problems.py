"""Errors as problem+json (RFC 9457): a status, a title, and one sentence for a person."""

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from kith.core.errors import (
    BusyError,
    KithError,
    LimitError,
    ModelError,
    NoModelError,
    TreeError,
    UsageError,
)

if TYPE_CHECKING:
    from fastapi import FastAPI, Response

PROBLEM: Final = "application/problem+json"
_STATUS: tuple[tuple[type[KithError], int], ...] = (
    (BusyError, 409),
    (TreeError, 409),
    (NoModelError, 503),
    (ModelError, 502),
    (LimitError, 429),
    (UsageError, 422),
)


# A status in words and a sentence, as a page.
Draw = Callable[[str, str], str]


class Refused(Exception):
    """A request that is refused with this status and sentence."""

    def __init__(self, status: int, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.more = status, detail, more


def problem_text(status: int, detail: str, **more: Any) -> str:
    """The problem document of a refused or failed request; `more` are further members.

    In ASCII: names of files may hold bytes that no UTF-8 text can.
    """
    title = HTTPStatus(status).phrase
    return json.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail} | more)


def problem(status: int, detail: str, **more: Any) -> "Response":
    """The same as an answer."""
    from fastapi import Response

    return Response(problem_text(status, detail, **more), status, media_type=PROBLEM)


def also_for(path: str, detail: str) -> dict[str, Any]:
    """Under /v1 the same once more, where programs made for OpenAI look for it."""
    error = {"message": detail, "type": "invalid_request_error", "param": None, "code": "refused"}
    return {"error": error} if path.startswith("/v1/") else {}


def wants_page(path: str, accept: str) -> bool:
    """True if a person looks at a page, and not a program at the API."""
    return "text/html" in accept and not path.startswith(("/api/", "/v1/"))


def tell_problems(app: "FastAPI", draw: Draw | None = None) -> None:
    """Let every error of the app become a problem; bugs say so, and show no more of themselves.

    `draw` makes a page of a status and a sentence, for people whose browser asks for one.
    """
    from fastapi import Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import HTMLResponse
    from starlette.exceptions import HTTPException

    def told(request: Request, status: int, detail: str, **more: Any) -> "Response":
        if draw is None or not wants_page(request.url.path, request.headers.get("accept", "")):
            return problem(status, detail, **more)
        return HTMLResponse(draw(HTTPStatus(status).phrase, detail), status)

    async def refused(request: Request, error: Exception) -> "Response":
        assert isinstance(error, Refused)
        return told(request, error.status, error.detail, **error.more)

    async def known(request: Request, error: Exception) -> "Response":
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
        return told(request, status, str(error))

    async def invalid(request: Request, error: Exception) -> "Response":
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        wrong = first["msg"].removeprefix("Value error, ")
        return told(request, 422, f"{place}: {wrong}.")

    async def http(request: Request, error: Exception) -> "Response":
        assert isinstance(error, HTTPException)
        path, said = request.url.path, f"{error.detail.rstrip('.')}."
        if error.status_code == 404:
            slash = ": leave out the slash at its end" if path.endswith("/") else ""
            said = f"There is nothing at {path}{slash}."
        return told(request, error.status_code, said, **also_for(path, said))

    async def bug(request: Request, error: Exception) -> "Response":
        return told(request, 500, "A bug in kith; its terminal tells more.")

    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(KithError, known)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, bug)  # which goes on to the door: that tells the terminal
