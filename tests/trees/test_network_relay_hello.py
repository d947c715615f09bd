"""The name in a TLS client's first bytes is found as real clients write it, however it is cut into pieces."""

import ssl
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.trees.network_relay import read_hello


def hello(name: str | None) -> bytes:
    """What OpenSSL says first."""
    context = ssl.create_default_context()
    context.check_hostname = False
    out = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return out.read()


PLAIN = hello("pypi.example.org")


def in_records(data: bytes, size: int) -> bytes:
    """The same handshake in records of `size` bytes."""
    body = data[5:]
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(data[:3] + len(piece).to_bytes(2, "big") + piece for piece in pieces)


def test_the_name_is_read() -> None:
    assert read_hello(PLAIN) == "pypi.example.org"
    assert read_hello(PLAIN + b"what follows") == "pypi.example.org"
    assert read_hello(hello(None)) == ""


@given(st.integers(1, 700), st.integers(0, 700))
def test_pieces_make_no_difference(size: int, cut: int) -> None:
    pieces = in_records(PLAIN, size)
    assert read_hello(pieces) == "pypi.example.org"
    assert read_hello(pieces[: min(cut, len(pieces) - 1)]) is None


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1",
        b"\x16\x02" + PLAIN[2:],
        b"\x16\x03\x01\x00\x00" * 3,
        PLAIN[:5] + b"\x02" + PLAIN[6:],  # a ServerHello
        PLAIN.replace(b"\x00\x10pypi.example.org", b"\x00\x0fpypi.example.org"),
        PLAIN.replace(b"\x00\x00\x10pypi", b"\x01\x00\x10pypi"),
        PLAIN.replace(b"pypi", b"p\xffpi"),
        b"\x16\x03\x01\xff\xff" + b"\x01\xff\xff\xff" + b"x" * 70_000,
    ],
)
def test_what_is_no_hello_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        read_hello(data)


@given(st.integers(0, len(PLAIN) - 1), st.integers(0, 255))
def test_a_wrong_byte_does_no_harm(place: int, byte: int) -> None:
    with suppress(ValueError):
        read_hello(PLAIN[:place] + bytes([byte]) + PLAIN[place + 1 :])
