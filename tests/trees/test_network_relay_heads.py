"""A proxy reads each request in one way, or not at all."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kith.trees.network_relay import Head, parse_head


def request(line: str, *fields: str) -> bytes:
    return "\r\n".join([line, *fields, "", ""]).encode("latin-1")


def test_a_tunnel_names_host_and_port() -> None:
    assert parse_head(request("CONNECT Example.org:443 HTTP/1.1", "Host: example.org:443")) == Head(
        "example.org", 443, True
    )
    assert parse_head(request("CONNECT [::1]:8080 HTTP/1.0")) == Head("::1", 8080, True)


def test_a_plain_request_goes_on_in_its_own_words_to_one_host() -> None:
    head = parse_head(
        request(
            "POST http://Example.org:8080/a?b=c HTTP/1.1",
            "Host: example.org:8080",
            "Accept: */*",
            "Proxy-Authorization: Basic eHg6eHg=",
            "Connection: keep-alive, X-Hop",
            "X-Hop: 1",
            "Upgrade: h2c",
            "Content-Length: 5",
        )
    )
    assert (head.name, head.port, head.tunnel, head.length) == ("example.org", 8080, False, 5)
    assert head.forward == request(
        "POST /a?b=c HTTP/1.1",
        "Host: example.org:8080",
        "accept: */*",
        "Content-Length: 5",
        "Connection: close",
    )
    assert parse_head(request("GET http://a.org?x HTTP/1.0")).forward.startswith(b"GET /?x HTTP/1.0\r\n")


PLAIN = "GET http://a.org/ HTTP/1.1"


@pytest.mark.parametrize(
    "data",
    [
        # whom it is for is said twice, or not plainly
        request(PLAIN, "Host: evil.test"),
        request(PLAIN, "Host: a.org", "Host: a.org"),
        request(PLAIN, "Host: a.org:8080"),
        request(PLAIN),
        request("CONNECT a.org:443 HTTP/1.1", "Host: evil.test:443"),
        request("CONNECT a.org HTTP/1.1", "Host: a.org"),
        request("CONNECT a.org:443:80 HTTP/1.1"),
        request("CONNECT evil.test:443#a.org:443 HTTP/1.1"),
        request("CONNECT a.org@evil.test:443 HTTP/1.1"),
        request("GET http://a.org@evil.test/ HTTP/1.1", "Host: a.org"),
        request("GET http://a.org#@evil.test/ HTTP/1.1", "Host: a.org"),
        request("GET http://evil.test\\.a.org/ HTTP/1.1", "Host: a.org"),
        request("GET http://a.org%2eevil.test/ HTTP/1.1", "Host: a.org"),
        request("GET http://a.org/#x HTTP/1.1", "Host: a.org"),
        request("GET http:/a.org/ HTTP/1.1", "Host: a.org"),
        request("GET https://a.org/ HTTP/1.1", "Host: a.org"),
        request("GET ftp://a.org/ HTTP/1.1", "Host: a.org"),
        request("GET / HTTP/1.1", "Host: a.org"),
        request("GET http:/// HTTP/1.1", "Host: "),
        b"CONNECT a.org\0.evil.test:443 HTTP/1.1\r\n\r\n",
        # where its body ends is said twice, or not plainly
        request(PLAIN, "Host: a.org", "Transfer-Encoding: chunked"),
        request(PLAIN, "Host: a.org", "Content-Length: 1", "Content-Length: 1"),
        request(PLAIN, "Host: a.org", "Content-Length: +1"),
        request(PLAIN, "Host: a.org", "Content-Length: 1, 1"),
        request(PLAIN, "Host: a.org", "Content-Length: 0x1"),
        request("CONNECT a.org:443 HTTP/1.1", "Content-Length: 4"),
        # lines that programs read differently
        request(PLAIN, "Host: a.org", "X: 1\nHost: evil.test"),
        request(PLAIN, "Host: a.org", "X: 1\rHost: evil.test"),
        request(PLAIN, "Host: a.org", " folded"),
        request(PLAIN, "Host : a.org"),
        request(PLAIN, "Host: a.org", "no field"),
        request(PLAIN, "Host: a.org", "X: \0"),
        request(PLAIN, "Host: a.org", *["X: y"] * 100),
        request("GET  http://a.org/ HTTP/1.1", "Host: a.org"),
        request("GET http://a.org/ x HTTP/1.1", "Host: a.org"),
        request("GET http://a.org/ HTTP/2.0", "Host: a.org"),
        request("GET http://a.org/", "Host: a.org"),
        b"\x05\x01\x00\r\n\r\n",  # SOCKS
        b"GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n",
        b"\r\n\r\n",
    ],
)
def test_what_could_mean_two_things_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        parse_head(data)


@given(
    st.binary(max_size=300), st.sampled_from((b"", b"GET http://a.org/", b"CONNECT a.org:443 HTTP/1.1\r\n"))
)
@example(b" HTTP/1.1\r\nHost: [", b"GET http://a.org/")
def test_no_bytes_do_more_than_be_refused(noise: bytes, start: bytes) -> None:
    try:
        head = parse_head(start + noise + b"\r\n\r\n")
    except ValueError:
        return
    assert head.name.isascii() and 0 < head.port < 65536 and head.length >= 0
    lines = head.forward.split(b"\r\n")
    assert sum(line.lower().startswith(b"host:") for line in lines) == (not head.tunnel)
    assert b"\n" not in b"".join(lines) and b"\0" not in head.forward
