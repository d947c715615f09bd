"""One request to a proxy, read strictly: whatever could mean two things is refused (RFC 9112)."""

import re
from dataclasses import dataclass
from typing import Final

from kith.core.hosts import show_place, split_place

MOST_BYTES: Final = 65_536
_MOST_FIELDS: Final = 100
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LINE: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP/1\.([01])")
_ABSOLUTE: Final = re.compile(r"(?i:http)://([^/?#@\\]+)([/?][^#\\]*)?")
_HOP: Final = {"connection", "keep-alive", "te", "trailer", "upgrade", "host", "content-length"}


@dataclass(frozen=True, slots=True)
class Head:
    """Where a request goes. Unless it is a tunnel, `forward` is sent, and `length` bytes after it."""

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
