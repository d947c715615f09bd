"""The name that a TLS client asks for, read from its first bytes (RFC 8446, section 4.1.2; RFC 6066)."""

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
