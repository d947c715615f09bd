"""Errors as problem+json (RFC 9457): a status, a title, and one sentence for a person."""

from typing import TYPE_CHECKING, Any

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
    from fastapi import FastAPI
    from fastapi.responses import JSONResponse

_STATUS: tuple[tuple[type[KithError], int], ...] = (
    (BusyError, 409),
    (TreeError, 409),
    (NoModelError, 503),
    (ModelError, 502),
    (LimitError, 429),
    (UsageError, 422),
)


class Refused(Exception):
    """A request that is refused with this status and sentence."""

    def __init__(self, status: int, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.more = status, detail, more


def problem(status: int, detail: str, **more: Any) -> "JSONResponse":
    """The answer to a request that is refused or has failed; `more` are members of its own."""
    from http import HTTPStatus

    from fastapi.responses import JSONResponse

    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return JSONResponse(body | more, status, media_type="application/problem+json")


def tell_problems(app: "FastAPI") -> None:
    """Let every error of the app become a problem; bugs say so, and show no more of themselves."""
    from fastapi import Request
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

    async def refused(request: Request, error: Exception) -> "JSONResponse":
        assert isinstance(error, Refused)
        return problem(error.status, error.detail, **error.more)

    async def known(request: Request, error: Exception) -> "JSONResponse":
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
        return problem(status, str(error))

    async def invalid(request: Request, error: Exception) -> "JSONResponse":
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return problem(422, f"{place}: {first['msg']}.")

    async def http(request: Request, error: Exception) -> "JSONResponse":
        assert isinstance(error, HTTPException)
        return problem(error.status_code, str(error.detail).rstrip(".") + ".")

    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(KithError, known)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
