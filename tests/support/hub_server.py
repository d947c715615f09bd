"""The stand-in for a Hugging Face hub: listings, headers and redirects, and the ways downloads go wrong."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct, field

from kith.features.demo.standin.http import Answer, Request, Response, converse, json_response

HOST = "127.0.0.1"
PIECE = 64 * 1024  # bytes that are sent at once when a file is sent slowly
_FILE = "application/octet-stream"


class HubBehaviour(Struct):
    """The differences from a fast and healthy hub; they may change while the hub runs."""

    secret: str = ""  # files are for those who bring this token
    gated: bool = False  # and not even for those
    limited: float | None = None  # everything is answered 429, with this as Retry-After (seconds)
    failures: int = 0  # so many requests for files are answered 503 first
    elsewhere: bool = False  # files are redirected to a second server, as to a CDN
    away: str = ""  # files are redirected to this address instead
    ranges: bool = True  # False: always the whole file
    etag: str = ""  # instead of the digest, from the server that sends the file
    keep_etag: bool = False  # If-Range is not looked at
    drop_after: int | None = None  # close the connection after so many bytes of a file ...
    drops: int = 1 << 30  # ... that many times
    hold_after: int | None = None  # send no more of a file after this byte of it, and keep the connection
    pause: float = 0.0  # seconds before each piece of a file
    damaged: bool = False  # the first byte of each file is another
    listed_sizes: bool = True  # False: sizes and digests are in the tree only
    html: bool = False  # answer everything with a web page


class HubServer(Struct):
    """A running stand-in hub: `files` by USER/REPO/PATH, which may change, and what it has seen.

    `requests` came to the hub, `elsewhere` to the second server that files may be redirected to; `sent`
    counts the bytes of files.
    """

    files: dict[str, bytes]
    behaviour: HubBehaviour
    url: str = ""
    elsewhere_url: str = ""
    requests: list[Request] = field(default_factory=list)
    elsewhere: list[Request] = field(default_factory=list)
    sent: int = 0

    def commit(self, repo: str) -> str:
        """The name of a repository's present state."""
        state = sorted((path, _sha256(data)) for path, data in self.of(repo).items())
        return hashlib.sha1(repr(state).encode(), usedforsecurity=False).hexdigest()

    def of(self, repo: str) -> dict[str, bytes]:
        """A repository's files by their paths."""
        return {
            name.removeprefix(f"{repo}/"): data
            for name, data in self.files.items()
            if name.startswith(f"{repo}/")
        }


@asynccontextmanager
async def serve_hub(files: Mapping[str, bytes], **behaviour: Any) -> AsyncIterator[HubServer]:
    """Run a hub inside the block. `behaviour` are the fields of HubBehaviour."""
    hub = HubServer(dict(files), HubBehaviour(**behaviour))

    async def answer(request: Request) -> Response:
        hub.requests.append(request)
        return _answer(hub, request)

    async def answer_elsewhere(request: Request) -> Response:
        hub.elsewhere.append(request)
        _, repo, path = _resolved(request)
        return _send(hub, request, hub.of(repo)[path])

    async with AsyncExitStack() as stack:
        hub.url = await stack.enter_async_context(listen(answer))
        hub.elsewhere_url = await stack.enter_async_context(listen(answer_elsewhere))
        yield hub


@asynccontextmanager
async def listen(answer: Answer) -> AsyncIterator[str]:
    """Answer requests inside the block; gives the address."""
    talks: set[asyncio.Task[bool]] = set()

    def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(converse(reader, writer, answer))
        talks.add(task)
        task.add_done_callback(talks.discard)

    listener = await asyncio.start_server(welcome, HOST, 0)
    try:
        yield f"http://{HOST}:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


def _answer(hub: HubServer, request: Request) -> Response:
    how = hub.behaviour
    if how.html:
        return Response(200, b"<!doctype html>\n<p>Please sign in.</p>\n", "text/html; charset=utf-8")
    if how.limited is not None:
        return json_response({"error": "Too many requests"}, 429, {"Retry-After": f"{how.limited:g}"})
    if request.path.startswith("/api/models/"):
        return _list(hub, request)
    if "/resolve/" in request.path:
        return _resolve(hub, request)
    return _error(404, "", "Not found")


# --- listings --------------------------------------------------------------------------------


def _list(hub: HubServer, request: Request) -> Response:
    words = unquote(request.path).removeprefix("/api/models/").split("/")
    repo = "/".join(words[:2])
    if refused := _refuse(hub, request, repo):
        return refused
    if words[2:3] == ["tree"]:
        return json_response([_tree_row(path, data) for path, data in hub.of(repo).items()])
    rows = [_sibling(path, data, hub.behaviour.listed_sizes) for path, data in hub.of(repo).items()]
    return json_response({"id": repo, "sha": hub.commit(repo), "private": False, "siblings": rows})


def _refuse(hub: HubServer, request: Request, repo: str, path: str = "") -> Response | None:
    how = hub.behaviour
    known = not how.secret or request.headers.get("authorization") == f"Bearer {how.secret}"
    if "authorization" in request.headers and not known:
        return _error(401, "", "Invalid username or password.")
    if not hub.of(repo):
        return _error(404 if how.secret else 401, "RepoNotFound", "Repository not found")
    if path and (how.gated or not known):
        return _error(403 if known else 401, "GatedRepo", f"Access to model {repo} is restricted.")
    if path and path not in hub.of(repo):
        return _error(404, "EntryNotFound", "Entry not found")
    return None


def _error(status: int, code: str, words: str) -> Response:
    headers = {"X-Error-Code": code, "X-Error-Message": words} if code else {}
    return json_response({"error": words}, status, headers)


def _sibling(path: str, data: bytes, sizes: bool) -> dict[str, Any]:
    if not sizes:
        return {"rfilename": path}
    lfs = {"sha256": _sha256(data), "size": len(data), "pointerSize": 135}
    return {"rfilename": path, "size": len(data), "blobId": _git_id(data)} | (
        {"lfs": lfs} if _is_large(path) else {}
    )


def _tree_row(path: str, data: bytes) -> dict[str, Any]:
    lfs = {"oid": _sha256(data), "size": len(data), "pointerSize": 135}
    row = {"type": "file", "oid": _git_id(data), "size": len(data), "path": path}
    return row | ({"lfs": lfs} if _is_large(path) else {})


def _is_large(path: str) -> bool:
    """True if a file is kept outside git: here by its name, with `.small.` as the exception."""
    return path.endswith(".gguf") and ".small." not in path


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _git_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


# --- files -----------------------------------------------------------------------------------


def _resolved(request: Request) -> tuple[str, str, str]:
    """Commit, repository and path of /USER/REPO/resolve/COMMIT/PATH."""
    user, repo, _, commit, path = unquote(request.path).strip("/").split("/", 4)
    return commit, f"{user}/{repo}", path


def _resolve(hub: HubServer, request: Request) -> Response:
    """The file, or where it is; the hub itself tells the digest and the size either way."""
    how = hub.behaviour
    commit, repo, path = _resolved(request)
    if how.failures:
        how.failures -= 1
        return Response(503, b"Service Unavailable", "text/plain")
    if refused := _refuse(hub, request, repo, path):
        return refused
    data = hub.of(repo)[path]
    digest = _sha256(data) if _is_large(path) else _git_id(data)
    told = {"X-Repo-Commit": commit, "X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(data))}
    if how.away or how.elsewhere:
        place = how.away or f"{hub.elsewhere_url}{quote(unquote(request.path))}?signature=1"
        return Response(302, b"Found", "text/plain", {**told, "Location": place})
    return _send(hub, request, data, told)


def _send(
    hub: HubServer, request: Request, data: bytes, told: Mapping[str, str] = MappingProxyType({})
) -> Response:
    """A file from the byte that was asked for, in one of the ways that servers do it."""
    how = hub.behaviour
    etag = how.etag or f'"{_sha256(data)}"'
    start = _start(how, request, etag)
    headers = {**told, "ETag": etag, "Accept-Ranges": "bytes" if how.ranges else "none"}
    if start >= len(data):
        return Response(416, b"", _FILE, {**headers, "Content-Range": f"bytes */{len(data)}"})
    if start:
        headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
    if request.method == "HEAD":
        return Response(206 if start else 200, data[start:], _FILE, headers)
    sent = bytes([data[0] ^ 1]) + data[1:] if how.damaged else data
    cut = how.drop_after if how.drops > 0 else None
    how.drops -= cut is not None
    if how.pause or how.hold_after is not None:
        return Response(206 if start else 200, _trickle(hub, sent, start), _FILE, headers, cut)
    hub.sent += len(sent[start:][:cut])
    return Response(206 if start else 200, sent[start:], _FILE, headers, cut)


def _start(how: HubBehaviour, request: Request, etag: str) -> int:
    """Return the start of the range: RFC 9110 14.2 (Range) and 13.1.5 (If-Range)."""
    wanted = request.headers.get("range", "").removeprefix("bytes=").partition("-")[0]
    condition = request.headers.get("if-range", etag)
    if not how.ranges or not wanted.isdecimal() or (condition != etag and not how.keep_etag):
        return 0
    return int(wanted)


async def _trickle(hub: HubServer, data: bytes, start: int) -> AsyncGenerator[bytes]:
    how = hub.behaviour
    end = len(data) if how.hold_after is None else min(how.hold_after, len(data))
    for begin in range(start, end, PIECE):
        await asyncio.sleep(how.pause)
        piece = data[begin : min(begin + PIECE, end)]
        hub.sent += len(piece)
        yield piece
    if how.hold_after is not None:
        await asyncio.Event().wait()
