"""Addresses of pages: parsed strictly into one clean form, and judged before anything is asked."""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from msgspec import Struct

from kith.core.hosts import WEB_PORTS, Host, is_address, show_place, split_place
from kith.trees.network import is_public

LONGEST: Final = 2_000  # characters; longer ones carry data, not names
_PORTS: Final = {"http": 80, "https": 443}
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")
_STRANGE: Final = re.compile(r"[\x00-\x20\x7f\\]")
# What stays as it is in a path or a query: what is escaped already, too.
_KEPT: Final = "!#$%&'()*+,/:;=?@[]~"


class Address(Struct, frozen=True):
    """An address of the web without its fragment; `rest` is the path with the query."""

    scheme: str
    host: str
    port: int
    rest: str

    def __str__(self) -> str:
        return f"{self.origin}{self.rest}"

    @property
    def origin(self) -> str:
        """Scheme, host and port, as one asks there for robots.txt."""
        port = self.port if self.port != _PORTS[self.scheme] else 0
        return f"{self.scheme}://{show_place(self.host, port)}"

    @property
    def place(self) -> Host:
        """The host as permission is asked for it."""
        return Host(self.host, 0 if self.port in WEB_PORTS else self.port)


def parse_address(text: str) -> Address:
    """Parse an address as a model or a server wrote it. Raises ValueError with one sentence."""
    text = text.strip()
    if len(text) > LONGEST:
        raise ValueError(f"The address is longer than {LONGEST:,} characters.")
    if _STRANGE.search(text):
        raise ValueError(
            f"{text!r:.200} is no address: it holds a space, a backslash or a control character."
        )
    try:
        parts = urlsplit(text if _SCHEME.match(text) else f"https://{text.removeprefix('//')}")
        scheme = parts.scheme.lower()
        if scheme not in _PORTS:
            raise ValueError
        host, port = split_place(parts.netloc, _PORTS[scheme])  # a user name is no part of a host
    except ValueError:
        raise ValueError(
            f"{text!r:.200} is no address of a page; write one like https://example.org/page."
        ) from None
    path = quote(parts.path or "/", safe=_KEPT, errors="replace")
    query = f"?{quote(parts.query, safe=_KEPT, errors='replace')}" if parts.query else ""
    return Address(scheme, host, port, path + query)


def follow(address: Address, location: str) -> Address:
    """The address that a redirect leads to. Raises ValueError."""
    return parse_address(urljoin(str(address), location.strip()))


def is_closed(address: Address, own: Iterable[Host]) -> bool:
    """True for an address in numbers that is not the internet's, unless the person listed it.

    For names, the proxy judges the address that it connects to.
    """
    listed = any(host.includes(address.host, address.port) for host in own)
    return is_address(address.host) and not listed and not is_public(address.host)
