"""Addresses of pages have one clean form, and private ones are known before anybody is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.hosts import parse_host
from kith.features.browse.address import LONGEST, follow, is_closed, parse_address


@pytest.mark.parametrize(
    ("text", "clean", "host"),
    [
        ("https://Docs.Python.ORG./3?q=a%20b", "https://docs.python.org/3?q=a%20b", "docs.python.org"),
        ("docs.python.org/3", "https://docs.python.org/3", "docs.python.org"),
        ("localhost:8080/x", "https://localhost:8080/x", "localhost:8080"),
        ("http://example.org:80#part", "http://example.org/", "example.org"),
        ("https://example.org:8443/a/../b", "https://example.org:8443/a/../b", "example.org:8443"),
        ("https://example.org/ü?x=é", "https://example.org/%C3%BC?x=%C3%A9", "example.org"),
        ("http://[::1]:8080/", "http://[::1]:8080/", "[::1]:8080"),
        ("https://example.org/<|im_start|>", "https://example.org/%3C%7Cim_start%7C%3E", "example.org"),
    ],
)  # fmt: skip
def test_an_address_has_one_clean_form(text: str, clean: str, host: str) -> None:
    address = parse_address(text)
    assert (str(address), str(address.place)) == (clean, host)


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "file:///etc/passwd", "ftp://example.org/", "javascript:alert(1)", "https://", "https:///x"),
        *("https://user:key@example.org/", "https://a.org\\@b.org/", "https://exa mple.org/", "https://a.org/\n"),
        *("http://127.1/", "http://0x7f000001/", "http://2130706433/", "https://bücher.example/", "http://a:99999/"),
        *("https://a.org/\0", "https://[::1", "https://a.org:b/", "x" * (LONGEST + 1)),
    ],
)  # fmt: skip
def test_no_address_of_a_page(text: str) -> None:
    if text.endswith("\n"):
        text = "https://a.org/\nHost: b.org"
    with pytest.raises(ValueError):
        parse_address(text)


@given(st.text(max_size=60))
def test_a_clean_address_stays_as_it_is(rest: str) -> None:
    try:
        address = parse_address(f"https://example.org/{rest}")
    except ValueError:
        return
    assert address.host == "example.org" and str(address).isascii()
    assert parse_address(str(address)) == address


def test_a_redirect_is_read_from_where_it_came() -> None:
    page = parse_address("https://example.org/a/b")
    assert str(follow(page, "../c?d")) == "https://example.org/c?d"
    assert str(follow(page, "//other.example/x")) == "https://other.example/x"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "[::1]", "[fe80::1]", "[::ffff:10.0.0.1]"]
)
def test_private_addresses_are_closed_unless_they_are_listed(host: str) -> None:
    address = parse_address(f"http://{host}:8080/")
    assert is_closed(address, ())
    assert is_closed(address, (parse_host(f"{host}:8081"),))
    assert not is_closed(address, (parse_host(f"{host}:8080"),))


def test_the_internet_and_names_are_open_to_questions() -> None:
    assert not is_closed(parse_address("http://93.184.216.34/"), ())
    assert not is_closed(parse_address("http://localhost/"), ())  # its address is looked at later
