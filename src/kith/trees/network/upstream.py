"""The proxy that a person's own network demands: what commands reach is then reached through it."""

import asyncio
import base64
import os
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from kith.core.hosts import show_place
from kith.trees.network.relay import Streams

_VARIABLES = ("https_proxy", "all_proxy")  # as curl reads them: in lower case, or in capitals


@dataclass(frozen=True, slots=True)
class Upstream:
    """An HTTP proxy, and what it wants to hear of who asks ("" for nothing)."""

    host: str
    port: int
    credentials: str = ""


def find_upstream(name: str, port: int) -> Upstream | None:
    """The proxy for a host as kith's own environment names it; None for none, and for one of another kind."""
    named = (os.environ.get(each) or os.environ.get(each.upper()) for each in _VARIABLES)
    found = next(filter(None, named), "")
    if not found:
        return None
    from urllib.request import proxy_bypass

    if proxy_bypass(show_place(name, port)):  # what NO_PROXY says
        return None
    parts = urlsplit(found if "://" in found else f"http://{found}")
    if parts.scheme != "http" or not parts.hostname:
        return None
    who = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    credentials = base64.b64encode(who.encode()).decode() if parts.username else ""
    return Upstream(parts.hostname, parts.port or 80, credentials)


async def connect_through(upstream: Upstream, name: str, port: int) -> Streams:
    """A connection to a host behind a proxy. Raises OSError or EOFError when there is none."""
    reader, writer = await asyncio.open_connection(upstream.host, upstream.port)
    try:
        place = show_place(name, port)
        lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
        lines += [f"Proxy-Authorization: Basic {upstream.credentials}"] if upstream.credentials else []
        writer.write("\r\n".join([*lines, "", ""]).encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        if not answer.startswith((b"HTTP/1.1 2", b"HTTP/1.0 2")):
            raise ConnectionError("the proxy of this network refused")
    except BaseException:
        writer.close()
        raise
    return reader, writer
