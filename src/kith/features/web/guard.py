"""The door before the application: who asks, from where, in which form; everything else never gets in."""

import errno
import re
import sys
import time
import traceback
from base64 import b64encode
from collections import deque
from collections.abc import Mapping
from hashlib import sha256
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from msgspec import Struct, field
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kith.features.web.peers import is_ours, is_strange
from kith.features.web.problems import PROBLEM, also_for, problem_text
from kith.features.web.tokens import cookie_for, is_nonce, proof_for, same, ticket_for

# What a person sees who comes without the token: a page that holds its style, as all files are locked.

_STYLE: Final = """
:root { color-scheme: light dark; }
body { margin: 18vh auto 0; max-width: 30rem; padding: 0 1.25rem; font: 15px/1.6 system-ui, sans-serif;
  background: light-dark(#fafaf9, #101113); color: light-dark(#1c1e21, #e4e6e9); }
h1 { font-size: 1.35rem; margin: 0 0 .6rem; }
p { margin: 0 0 .9rem; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
form { display: flex; gap: .5rem; margin: 1.25rem 0; }
input, button { font: inherit; padding: .4rem .75rem; border-radius: 6px;
  border: 1px solid light-dark(#8a8f96, #5b6068); background: light-dark(#fff, #17181b);
  color: inherit; min-width: 0; }
input { flex: 1; }
button { background: light-dark(#3f56c4, #93a5ff); border-color: transparent;
  color: light-dark(#fff, #10131f); cursor: pointer; }
.dim { color: light-dark(#5d646c, #9aa1aa); font-size: .92em; }
"""
_PAGE: Final = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer"><title>kith: the token, please</title>
<style>{_STYLE}</style></head>
<body><main>
<h1>This page needs its token</h1>
<p>When it started, <code>kith serve</code> printed an address that ends in <code>/?token=…</code>. Open that
address once in this browser, or paste the token here.</p>
<form action="/" method="get"><input type="password" name="token" required autofocus autocomplete="off"
aria-label="Token" placeholder="Token"><button>Come in</button></form>
<p class="dim">Is the address gone? Stop <code>kith serve</code> with Ctrl-C and start it again: work in
progress goes on, and the same token is printed again. Programs send
<code>Authorization: Bearer TOKEN</code>.</p>
</main></body>
</html>
"""
_WRONG: Final = "<h1>That token is not right</h1>"


def entrance(wrong: bool) -> bytes:
    """The page; `wrong`: somebody has just tried a token."""
    return (_PAGE.replace("<h1>This page needs its token</h1>", _WRONG) if wrong else _PAGE).encode()


ENTRANCE_HEADERS: Final = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": (
        f"default-src 'none'; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}


MOST: Final = 1 << 20  # bytes of a request's body
_FAILURES = 10  # wrong tokens in a second; more are not even told so
_WRITING = ("POST", "PUT", "PATCH", "DELETE")
_OWN_NAMES = ("localhost", "127.0.0.1", "[::1]")
_AUTHORITY = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?")
CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_ALWAYS: Final = {
    "content-security-policy": CSP,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class _Closed(Exception):
    """A request that does not get in: its status, one sentence, and headers of the answer."""

    def __init__(self, status: int, detail: str, *headers: tuple[str, str]) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers


_BUG: Final = _Closed(500, "A bug in kith; its terminal tells more.")
_NO_MORE_FILES: Final = _Closed(503, "The server has too many open files; try again.", ("retry-after", "1"))
# The process or the machine has no room for another file or connection.
NO_ROOM: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Door(Struct):
    """The authentication of a server: its token, its port, and the names that reach it.

    `names` are those that the person allowed: `kith.example.org` stands behind a proxy with TLS, so its pages
    come from https; `http://box.lan` is reached without.
    """

    token: str
    port: int
    host: str = "127.0.0.1"
    names: tuple[str, ...] = ()
    pages: frozenset[str] = frozenset()
    _failed: deque[float] = field(default_factory=lambda: deque(maxlen=_FAILURES))
    _origins: dict[str, set[str]] = field(default_factory=dict)  # schemes by name

    def __post_init__(self) -> None:
        bound = _bracketed(self.host)
        for name in (*_OWN_NAMES, bound):
            self._origins.setdefault(name, set()).add("http")
        for name in self.names:
            scheme, _, host = name.rpartition("://")
            self._origins.setdefault(host.lower(), set()).add(scheme or "https")

    @property
    def cookie(self) -> str:
        """The cookie's name: each server of a machine has its own."""
        return f"kith-{self.port}"

    def schemes(self, authority: str) -> set[str]:
        """By which schemes pages of this authority are ours; none: it is not our name."""
        found = _AUTHORITY.fullmatch(authority.lower())
        if not found:
            return set()
        # Only a name can be rebound: where every address is served, any address is ours.
        everywhere = self.host in ("0.0.0.0", "::") and _is_address(found[1])
        return self._origins.get(found[1], {"http"} if everywhere else set())

    def knows(self, scope: Scope, headers: Mapping[str, str]) -> bool:
        """True if a request carries the token, or its cookie.

        Browsers show cookies to every port of a machine, so another user's program may have seen it. A proxy
        is another user's program, too, and lets nobody see it.
        """
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return same(given.strip(), self.token)
        crumbs = (crumb.strip().partition("=") for crumb in headers["cookie"].split(";"))
        own = cookie_for(self.token, self.port)
        if not any(name == self.cookie and same(value, own) for name, _, value in crumbs):
            return False
        peer, here = scope.get("client"), scope.get("server")
        return bool(self.names) or not (peer and here and is_strange(peer, here))

    def admits(self, scope: Scope, given: str) -> bool:
        """True if the first address carries the token, or its ticket in this user's own browser."""
        if same(given, self.token):
            return True
        peer, here = scope.get("client"), scope.get("server")
        return same(given, ticket_for(self.token, self.port)) and bool(peer and here and is_ours(peer, here))

    def refuse(self) -> _Closed:
        """The answer to a wrong token. The right one always gets in: nobody can lock the person out."""
        now = time.monotonic()
        if len(self._failed) == _FAILURES and now - self._failed[0] < 1:
            return _Closed(429, "Too many wrong tokens; wait a second.", ("retry-after", "1"))
        self._failed.append(now)
        sentence = (
            "This needs the token: open the address that was printed, or send `Authorization: Bearer TOKEN`."
        )
        return _Closed(401, sentence, ("www-authenticate", "Bearer"))


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _is_address(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return bool(ip_address(host.strip("[]")))
    except ValueError:
        return False


def guard(app: ASGIApp, door: Door) -> ASGIApp:
    """The application behind the door. Every answer, the door's own too, gets the headers of `_ALWAYS`."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # nothing speaks anything else here
            return
        began = False

        async def dressed(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                headers = MutableHeaders(scope=message)
                for name, value in _ALWAYS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            answer = _at_the_door(door, scope)
            if answer is None:
                return await app(scope, await _whole_body(scope, receive), dressed)
            await answer(scope, receive, dressed)
        except _Closed as closed:
            await _refusal(closed, scope)(scope, receive, dressed)
        except Exception as error:  # whatever it is: the server goes on, and the person sees it
            full = isinstance(error, OSError) and error.errno in NO_ROOM
            if not full:
                traceback.print_exc(file=sys.stderr)
            if not began:
                await _refusal(_NO_MORE_FILES if full else _BUG, scope)(scope, receive, dressed)

    return guarded


def _at_the_door(door: Door, scope: Scope) -> Response | None:
    """The door's own answer; None lets the request in. Raises _Closed."""
    headers = _read_headers(scope)
    _check_path(scope, door)
    _check_origin(door, headers)
    path, query = scope["path"], dict(parse_qsl(scope["query_string"].decode("latin-1")))
    if scope["method"] == "GET" and path == "/api/hello":
        return _hello(door, query.get("nonce", ""))
    if scope["method"] == "GET" and "token" in query and path.split("/")[1] in door.pages:
        if not door.admits(scope, query.pop("token")):
            raise door.refuse()
        return _welcome(door, headers, path, query)
    if not door.knows(scope, headers):
        if scope["method"] == "GET" and path in ("/api/health", "/api/v1/health"):
            return JSONResponse({"status": "ok"})
        raise door.refuse()
    _check_body(scope["method"], headers)
    return None


def _read_headers(scope: Scope) -> dict[str, str]:
    """The headers by name. Raises _Closed where two readers could understand the request differently."""
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    for name in ("host", "authorization", "content-length", "content-type", "origin", "transfer-encoding"):
        if sum(each == name for each, _ in pairs) > 1:
            raise _Closed(400, f"A request has one {name}.", ("connection", "close"))
    headers = dict(pairs)
    if "content-length" in headers and "transfer-encoding" in headers:
        raise _Closed(400, "A request has a length or is in chunks, not both.", ("connection", "close"))
    headers["cookie"] = "; ".join(value for name, value in pairs if name == "cookie")
    return headers


def _check_path(scope: Scope, door: Door) -> None:
    """A path without tricks; an absolute target must name this server, and becomes its path."""
    if not scope["path"].startswith("/"):
        target = urlsplit(scope["path"])
        if not door.schemes(target.netloc):
            raise _Closed(421, "There is no such server here.")
        scope["path"] = target.path or "/"
        scope["raw_path"] = scope["path"].encode()
    path = scope["path"]
    odd = any(ord(character) < 32 or character in "\\\x7f" for character in path)
    if odd or path.startswith("//") or {".", ".."} & set(path.split("/")):
        raise _Closed(400, "That is no path of this server.")


def _check_origin(door: Door, headers: Mapping[str, str]) -> None:
    """The server is asked by a name of its own, and by nobody else's page.

    Other ports of this machine are other origins but the same site, so `same-site` is a stranger, too.
    """
    host = headers.get("host", "")
    schemes = door.schemes(host)
    if not schemes:
        raise _Closed(421, "This server is not reached by that name; --allowed-host adds one.")
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in {f"{scheme}://{host.lower()}" for scheme in schemes}:
        raise _Closed(403, "Cross-origin request blocked.")
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise _Closed(403, "Cross-origin request blocked. Open the address in a tab of its own.")


def _check_body(method: str, headers: Mapping[str, str]) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if method in _WRITING and kind != "application/json":
        raise _Closed(415, "Send JSON, with Content-Type: application/json.")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdecimal()):
        raise _Closed(400, "The length of a request is a number.", ("connection", "close"))
    if int(length) > MOST:
        raise _too_big()


def _too_big() -> _Closed:
    return _Closed(413, f"A request may have {MOST:,} bytes.")


async def _whole_body(scope: Scope, receive: Receive) -> Receive:
    """The body, read to its end before anybody acts on it. Raises _Closed for one that is too big."""
    if not {name for name, _ in scope["headers"]} & {b"content-length", b"transfer-encoding"}:
        return receive
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return receive  # it is gone
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST:
            raise _too_big()
    read = False

    async def again() -> Message:
        nonlocal read
        if read:
            return await receive()
        read = True
        return {"type": "http.request", "body": bytes(body), "more_body": False}

    return again


def _welcome(door: Door, headers: Mapping[str, str], path: str, query: dict[str, str]) -> Response:
    """The first visit: the token becomes a cookie, and leaves the address."""
    secure = "; Secure" if door.schemes(headers["host"]) == {"https"} else ""
    value = cookie_for(door.token, door.port)
    cookie = f"{door.cookie}={value}; Path=/; HttpOnly; SameSite=Strict{secure}"
    rest = f"?{urlencode(query)}" if query else ""
    return Response(None, 303, {"location": f"{quote(path)}{rest}", "set-cookie": cookie})


def _hello(door: Door, nonce: str) -> Response:
    """Prove that the token is known here, without telling it."""
    if not is_nonce(nonce):
        raise _Closed(400, "A nonce has 16 to 128 letters, digits, _ or -.")
    return JSONResponse({"port": door.port, "proof": proof_for(door.token, door.port, nonce)})


def _refusal(closed: _Closed, scope: Scope) -> Response:
    """A problem for programs; for a person's browser its sentence, or the page that asks for the token."""
    kind, body = PROBLEM, problem_text(closed.status, closed.detail, **also_for(scope["path"], closed.detail))
    if any(name == b"accept" and b"text/html" in value for name, value in scope["headers"]):
        if closed.status == HTTPStatus.UNAUTHORIZED:
            page = entrance(b"token=" in scope["query_string"])
            return Response(page, closed.status, ENTRANCE_HEADERS | dict(closed.headers))
        kind, body = "text/plain; charset=utf-8", f"{closed.detail}\n"
    return Response(body, closed.status, {"content-type": kind} | dict(closed.headers))
