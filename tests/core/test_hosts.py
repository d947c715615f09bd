"""Hosts are compared in one clean form, and nothing that only looks like a host becomes one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.hosts import (
    Host,
    clean_name,
    covers,
    net_allows,
    parse_host,
    parse_hosts,
)

LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
NAMES = st.tuples(LABELS, LABELS, st.sampled_from(("org", "test", "xn--p1ai"))).map(".".join)


@pytest.mark.parametrize(
    ("written", "host"),
    [
        ("example.org", Host("example.org")),
        ("Example.ORG.", Host("example.org")),
        ("example.org:8443", Host("example.org", 8443)),
        ("*.example.org", Host("*.example.org")),
        ("localhost:3000", Host("localhost", 3000)),
        ("127.0.0.1:8080", Host("127.0.0.1", 8080)),
        ("[::1]:8080", Host("::1", 8080)),
        ("::1", Host("::1")),
        ("[::ffff:10.0.0.1]:80", Host("10.0.0.1", 80)),
        ("[2001:DB8:0::1]", Host("2001:db8::1")),
    ],
)
def test_a_host_has_one_form(written: str, host: Host) -> None:
    assert parse_host(written) == host
    assert parse_host(str(host)) == host


@pytest.mark.parametrize(
    "written",
    [
        *("", "*", "*.", "*.org", "*.1.2.3.4", "a.*.org", "*example.org", ".example.org", "example.org/"),
        *("https://example.org", "//example.org", "example.org#allowed.test", "example.org\\@evil.test"),
        *("me@example.org", "example.org\0.evil.test", "example.org\n", "exa mple.org", "exa%6dple.org"),
        *("example.org:", "example.org:0", "example.org:65536", "example.org:+80", "example.org:٣"),
        *("ｅxample.org", "\u212aith.org", "-a.org", "a..b", "a" * 64 + ".org", "a." * 127 + "org"),
        *("127.1", "0x7f000001", "2130706433", "0177.0.0.1", "1.2.3.4.5", "127.0.0.0x1", "a.0"),
        *("fe80::1%eth0", "[1.2.3.4]", "[::1", "::1]", "[]", "1:2", "a:b:c"),
    ],
)
def test_what_is_no_host_is_refused(written: str) -> None:
    with pytest.raises(ValueError):
        parse_host(written)


@given(NAMES, NAMES)
def test_a_name_includes_itself_alone_and_the_star_only_what_is_below(name: str, other: str) -> None:
    assert Host(name).includes(name, 443) and Host(name).includes(name, 80)
    assert not Host(name).includes(name, 22)
    assert Host(name).includes(other, 443) == (name == other)
    below = Host(f"*.{name}")
    assert below.includes(f"{other}.{name}", 443)
    assert not below.includes(name, 443)
    for near in (f"{other}{name}", f"{name}.{other}", f"evil-{name}"):
        assert not Host(name).includes(near, 443)
        assert below.includes(near, 443) == near.endswith(f".{name}")


@given(st.text(max_size=40))
def test_whatever_becomes_a_name_is_clean(text: str) -> None:
    try:
        name = clean_name(text)
    except ValueError:
        return
    assert (
        name == clean_name(f"[{name}]" if ":" in name else name) and name.isascii() and name == name.lower()
    )
    assert not set(name) & set("/\\@#?%*[] \t\r\n\0") and len(name) <= 253


def test_hosts_are_read_from_a_text_once_each() -> None:
    assert parse_hosts("  a.org, B.org a.org:443\na.org ") == ("a.org", "b.org", "a.org:443")
    assert parse_hosts("") == ()
    with pytest.raises(ValueError, match="no host"):
        parse_hosts("a.org http://b.org")


@pytest.mark.parametrize(
    ("allowed", "wanted", "enough"),
    [
        (("a.org",), ("a.org",), True),
        (("a.org",), ("A.org:443",), True),
        (("a.org",), ("a.org:8443",), False),
        (("a.org:443",), ("a.org",), False),  # which asks for port 80 too
        (("*.a.org",), ("b.a.org", "*.b.a.org"), True),
        (("*.a.org",), ("a.org",), False),
        (("*.b.a.org",), ("*.a.org",), False),
        (("b.a.org",), ("*.a.org",), False),
        (("*.a.org",), ("*.xa.org",), False),
        (("*.a.org",), ("*.a.org",), True),
        (("a.org", "b.org"), ("b.org", "c.org"), False),
        (("a.org",), (), False),
        ((), ("a.org",), False),
    ],
)
def test_what_is_allowed_covers_what_is_wanted(
    allowed: tuple[str, ...], wanted: tuple[str, ...], enough: bool
) -> None:
    assert covers(allowed, wanted) is enough


def test_always_is_for_the_hosts_that_were_shown_and_any_command() -> None:
    shown = "a.org *.b.org:8443"
    assert net_allows([shown], ["a.org"]) and net_allows([shown], ["x.b.org:8443", "a.org"])
    assert net_allows(["a.org", "x.org: curl x.org", "c.org"], ["a.org", "c.org"])
    assert not net_allows(["x.org: curl x.org"], ["x.org"])
    for others in (["c.org"], ["a.org", "c.org"], ["b.org"], ["a.org:22"], ["curl a.org"], []):
        assert not net_allows([shown], others)
