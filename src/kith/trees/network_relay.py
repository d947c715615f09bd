"""Relay a command's traffic through the proxy: request and TLS hello read strictly, bytes relayed."""

import asyncio
import re
from typing import Final

from msgspec import Struct

from kith.core.event_loop import leave
from kith.core.hosts import clean_name, show_place, split_place

# The name that a TLS client asks for, read from its first bytes (RFC 8446, section 4.1.2; RFC 6066).

HANDSHAKE = 22
_CLIENT_HELLO = 1
_SERVER_NAME = 0
_MOST = 65536  # bytes of a hello; real ones are a few kilobytes


def read_hello(data: bytes) -> str | None:
    """The name in a ClientHello ("" where it has none), or None while bytes of it are still to come.

    Raises ValueError for what is no ClientHello.
    """
    body, place = bytearray(), 0
    while len(body) < 4 or len(body) < 4 + int.from_bytes(body[1:4], "big"):
        header = data[place : place + 5]
        if header[:2] not in (b"", bytes([HANDSHAKE]), bytes([HANDSHAKE, 3])) or len(data) > _MOST:
            raise ValueError("no ClientHello")
        size = int.from_bytes(header[3:5], "big")
        if len(header) < 5 or len(data) < place + 5 + size:
            return None
        if not size:
            raise ValueError("an empty record")
        body += data[place + 5 : place + 5 + size]
        place += 5 + size
    if body[0] != _CLIENT_HELLO:
        raise ValueError("no ClientHello")
    return _name_in(bytes(body[4 : 4 + int.from_bytes(body[1:4], "big")]))


def _name_in(hello: bytes) -> str:
    rest = hello[34:]  # its version and 32 random bytes
    if len(hello) < 34:
        raise ValueError("a ClientHello that is cut")
    for width in (1, 2, 1):  # session, cipher suites, compression
        _, rest = _take(rest, width)
    if not rest:
        return ""
    extensions, rest = _take(rest, 2)
    names = []
    while extensions:
        kind, extensions = int.from_bytes(extensions[:2], "big"), extensions[2:]
        value, extensions = _take(extensions, 2)
        if kind == _SERVER_NAME:
            names.append(_only_name(value))
    if len(names) > 1 or rest:
        raise ValueError("more than one name")
    return names[0] if names else ""


def _only_name(value: bytes) -> str:
    entries, rest = _take(value, 2)
    if rest or entries[:1] != b"\0":
        raise ValueError("no list of names")
    name, rest = _take(entries[1:], 2)
    if rest:
        raise ValueError("more than one name")
    return name.decode("ascii")


def _take(data: bytes, width: int) -> tuple[bytes, bytes]:
    """A value behind its length of `width` bytes, and what follows it."""
    size = int.from_bytes(data[:width], "big")
    if len(data) < width + size or len(data) < width:
        raise ValueError("a ClientHello that is cut")
    return data[width : width + size], data[width + size :]


# One request to a proxy, read strictly: whatever could mean two things is refused (RFC 9112).

MOST_BYTES: Final = 65_536
_MOST_FIELDS: Final = 100
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LINE: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP/1\.([01])")
_ABSOLUTE: Final = re.compile(r"(?i:http)://([^/?#@\\]+)([/?][^#\\]*)?")
_HOP: Final = {"connection", "keep-alive", "te", "trailer", "upgrade", "host", "content-length"}


class Head(Struct, frozen=True):
    """The target of a request. Unless it is a tunnel, `forward` is sent, and `length` bytes after it."""

    name: str
    port: int
    tunnel: bool
    forward: bytes = b""
    length: int = 0


def parse_head(data: bytes) -> Head:
    """A request's first lines up to the empty one. Raises ValueError with what is wrong."""
    text = data.decode("latin-1")
    if not text.endswith("\r\n\r\n") or len(data) > MOST_BYTES:
        raise ValueError("no end of the header")
    first, *rest = text.removesuffix("\r\n\r\n").split("\r\n")
    line = _LINE.fullmatch(first)
    if not line:
        raise ValueError("no request line of HTTP/1")
    fields = _read_fields(rest)
    if "transfer-encoding" in fields:
        raise ValueError("a body without a length")
    method, target, minor = line.groups()
    if method == "CONNECT":
        return _read_tunnel(target, fields)
    return _read_request(method, target, minor, fields)


def _read_fields(lines: list[str]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    if len(lines) > _MOST_FIELDS:
        raise ValueError("too many header fields")
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _TOKEN.fullmatch(name) or re.search(r"[\0-\x08\x0a-\x1f\x7f]", value):
            raise ValueError("a malformed header field")
        fields.setdefault(name.lower(), []).append(value.strip(" \t"))
    return fields


def _read_tunnel(target: str, fields: dict[str, list[str]]) -> Head:
    name, port = split_place(target)
    if not port:
        raise ValueError("no port to connect to")
    _check_host(fields, name, port, port)
    if _length_of(fields):
        raise ValueError("a tunnel with a body")
    return Head(name, port, True)


def _read_request(method: str, target: str, minor: str, fields: dict[str, list[str]]) -> Head:
    found = _ABSOLUTE.fullmatch(target)
    if not found:
        raise ValueError("no http:// address; for https:// a proxy is asked with CONNECT")
    name, port = split_place(found[1], 80)
    path = found[2] or "/"
    if path.startswith("?"):
        path = "/" + path
    if minor == "1" and "host" not in fields:
        raise ValueError("no Host field")
    _check_host(fields, name, port, 80)
    named = {each.strip().lower() for value in fields.get("connection", []) for each in value.split(",")}
    length = _length_of(fields)
    kept = [f"Host: {show_place(name, port if port != 80 else 0)}"]
    kept += [
        f"{key}: {value}"
        for key, values in fields.items()
        if key not in _HOP and key not in named and not key.startswith("proxy-")
        for value in values
    ]
    kept += [f"Content-Length: {length}"] if "content-length" in fields else []
    # One request to a connection: what follows it leads nowhere.
    lines = [f"{method} {path} HTTP/1.{minor}", *kept, "Connection: close", "", ""]
    return Head(name, port, False, "\r\n".join(lines).encode("latin-1"), length)


def _check_host(fields: dict[str, list[str]], name: str, port: int, default: int) -> None:
    """The Host field, where there is one, names the same place as the request."""
    hosts = fields.get("host", [])
    if len(hosts) > 1 or any(split_place(host, default) != (name, port) for host in hosts):
        raise ValueError("a Host field that names another host")


def _length_of(fields: dict[str, list[str]]) -> int:
    lengths = fields.get("content-length", ["0"])
    if len(lengths) > 1 or not re.fullmatch(r"[0-9]{1,15}", lengths[0]):
        raise ValueError("no plain Content-Length")
    return int(lengths[0])


CHUNK = 65_536
HELLO_SECONDS = 30.0
_OPEN = b"HTTP/1.1 200 Connection established\r\n\r\n"
_ALERT = bytes((21, 3, 3, 0, 2, 2, 112))  # TLS: fatal, unrecognized_name (RFC 6066, section 3)

# Other records of TLS: some servers pass over an alert, say, and read the name in what follows it.
_OTHER_RECORDS = (b"\x14", b"\x15", b"\x17", b"\x18")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Tally(Struct):
    """The bytes sent to one host and received from it, and the reason for a refusal.

    `inside`: its name leads into a private network.
    """

    sent: int = 0
    received: int = 0
    refused: str = ""
    inside: bool = False


async def relay(head: Head, client: Streams, server: Streams, tally: Tally) -> None:
    """Carry a request or a tunnel to its end: that is where the server's words end."""
    if head.tunnel:
        client[1].write(_OPEN)
    outward = asyncio.create_task(_outward(head, client, server[1], tally))
    try:
        while chunk := await server[0].read(CHUNK):
            tally.received += len(chunk)
            client[1].write(chunk)
            await client[1].drain()
    finally:
        await leave(outward)


async def _outward(head: Head, client: Streams, server: asyncio.StreamWriter, tally: Tally) -> None:
    """Relay the command's data to the server. On an error, close the server's end, which ends the relay."""
    try:
        if head.tunnel:
            await _send(await _first_bytes(head, client[0]), server, tally)
            while chunk := await client[0].read(CHUNK):
                await _send(chunk, server, tally)
            server.write_eof()
            return
        await _send(head.forward, server, tally)
        left = head.length
        while left:
            chunk = await client[0].read(min(left, CHUNK))
            if not chunk:
                raise EOFError
            await _send(chunk, server, tally)
            left -= len(chunk)
    except ValueError as error:
        tally.refused = str(error)
        client[1].write(_ALERT)
        server.close()
    except (OSError, EOFError):
        server.close()


async def _send(chunk: bytes, server: asyncio.StreamWriter, tally: Tally) -> None:
    tally.sent += len(chunk)
    server.write(chunk)
    await server.drain()


async def _first_bytes(head: Head, client: asyncio.StreamReader) -> bytes:
    """Read the first bytes of a tunnel; a whole ClientHello for TLS. Raises ValueError for another name.

    Servers that share one address choose by this name. Without this check, one allowed name would give access
    to all of them.
    """
    data = await client.read(CHUNK)
    if data[:1] in _OTHER_RECORDS:
        raise ValueError("begins TLS in another way than clients do")
    if data[:1] != bytes([HANDSHAKE]):
        return data
    async with asyncio.timeout(HELLO_SECONDS):
        while (name := read_hello(data)) is None:
            more = await client.read(CHUNK)
            if not more:
                raise EOFError
            data += more
    if name and clean_name(name) != head.name:
        raise ValueError(f"asks for {clean_name(name)} in a tunnel to it")
    return data
