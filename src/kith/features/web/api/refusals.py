"""How requests are refused, as the OpenAPI description tells it: always a problem with one sentence."""

from typing import Any, Final

_WORDS: Final = {
    400: "The request is not one that this server reads.",
    401: "It needs the token.",
    403: "It comes from a page of somebody else.",
    404: "There is no such thing here.",
    409: "It does not fit what has happened already.",
    410: "Nobody waits for this any more.",
    413: "It is too large.",
    415: "It is not JSON.",
    421: "It was meant for another host.",
    422: "Something in it is wrong; the sentence says what.",
    429: "There were too many wrong tokens.",
    502: "A model's server failed.",
    503: "What is needed cannot be reached now.",
}
_AT_THE_DOOR: Final = (400, 401, 403, 413, 415, 421, 429)
_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "title": "Problem",
    "description": "RFC 9457: `detail` is one sentence for a person.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How a route may refuse; every one may find a request wrong, and the door may not let it in."""
    content = {"application/problem+json": {"schema": _PROBLEM}}
    chosen = sorted({*statuses, 422, *_AT_THE_DOOR})
    return {status: {"description": _WORDS[status], "content": content} for status in chosen}
