"""Check if an address leads out of this machine and its network."""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

Lookup = Callable[[str], Awaitable[list[str]]]  # a host's name -> its addresses

# Addresses behind which there may be any IPv4 address: NAT64, 6to4, Teredo.
_THROUGH = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/32", "2002::/16", "2001::/32")))
# Names that no public name server answers: mDNS (RFC 6762), the special names of RFC 6761 and RFC 8375, and
# what routers and companies give out at home (ICANN keeps `internal` free for that).
_HOME = (".local", ".localhost", ".home.arpa", ".internal", ".lan", ".home")
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)  # old ways to write an IPv4 address


def is_cloud(url: str) -> bool:
    """True for everything but loopback, private addresses, `.local` and its kin, and names without a dot.

    What cannot be read counts as outside.
    """
    try:
        host = (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return not (host.endswith(_HOME) or ("." not in host and host and not _NUMBER.fullmatch(host)))
    return _is_outside(address)


async def leads_out(url: str, lookup: Lookup | None = None, wait_s: float = 2.0) -> bool:
    """True if a name that looks local resolves to an address outside the person's own network.

    A name without an address is False: asking it fails anyway.
    """
    host = urlsplit(url).hostname or ""
    try:
        found = await asyncio.wait_for((lookup or _look_up)(host), wait_s)
    except (OSError, UnicodeError, TimeoutError):
        return False
    return any(_is_outside(ipaddress.ip_address(each.partition("%")[0])) for each in found)


async def _look_up(host: str) -> list[str]:
    rows = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in rows]


def _is_outside(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global
    if address.ipv4_mapped:
        return address.ipv4_mapped.is_global
    return address.is_global or any(address in each for each in _THROUGH)
