"""Hosts that a command may reach: parse them, and tell if an address is one of them."""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

WEB_PORTS: Final = (80, 443)
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_PLACE: Final = re.compile(r"(?P<name>\[[^\[\]]*\]|[^:\[\]]*)(:(?P<port>[0-9]{1,5}))?")


class Host(Struct, frozen=True):
    """A host that may be reached: a name, `*.name` (all below it) or an address; port 0: those of the web."""

    name: str
    port: int = 0

    def includes(self, name: str, port: int) -> bool:
        """True if the host matches a clean name and port; a port of 0 stands for the web's ports."""
        if self.name.startswith("*."):
            same = name.endswith(self.name[1:]) and name != self.name[1:]
        else:
            same = name == self.name
        return same and (port == self.port or (not self.port and port in WEB_PORTS))

    def __str__(self) -> str:
        return show_place(self.name, self.port)


def parse_host(text: str) -> Host:
    """Parse a host as a person or a model wrote it. Raises ValueError with one sentence."""
    try:
        wild = text.startswith("*.")
        name, port = split_place(text.removeprefix("*."))
        if wild and ("." not in name or is_address(name)):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"{text!r} is no host; write a name (example.org), all below it (*.example.org), "
            "or one with a port (example.org:8443)."
        ) from None
    return Host(f"*.{name}" if wild else name, port)


def parse_hosts(text: str) -> tuple[str, ...]:
    """The hosts of a text, with spaces or commas between them, in clean form. Raises ValueError."""
    return tuple(dict.fromkeys(str(parse_host(word)) for word in re.split(r"[\s,]+", text) if word))


def split_place(text: str, default: int = 0) -> tuple[str, int]:
    """The clean name and the port of `name`, `name:port` or `[address]:port`. Raises ValueError."""
    if text.count(":") > 1 and not text.startswith("["):
        return clean_name(f"[{text}]"), default
    found = _PLACE.fullmatch(text)
    if not found or (found["port"] and not 0 < int(found["port"]) < 65536):
        raise ValueError(f"{text!r} is no host and port")
    return clean_name(found["name"]), int(found["port"] or default)


def clean_name(text: str) -> str:
    """A host's name in the one form in which names are compared. Raises ValueError.

    Lower case, no dot at the end, ASCII only (others are written as `xn--`); an address as `ipaddress` writes
    it. Numbers that only some programs take for an address (`127.1`, `0x7f000001`) are no name.
    """
    if not text.isascii() or "%" in text:
        raise ValueError(f"{text!r} is no name of a host")
    if text.startswith("["):
        return _clean_address(ipaddress.IPv6Address(text.removeprefix("[").removesuffix("]")))
    name = text.lower().removesuffix(".")
    if is_address(name):
        return _clean_address(ipaddress.ip_address(name))
    # As in the URL standard: what ends in a number is an address, or nothing.
    if len(name) > 253 or not _NAME.fullmatch(name) or re.fullmatch(r"[0-9]+|0x.*", name.split(".")[-1]):
        raise ValueError(f"{text!r} is no name of a host")
    return name


def is_address(name: str) -> bool:
    """True if a name is a complete IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _clean_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    return str(getattr(address, "ipv4_mapped", None) or address)


def show_place(name: str, port: int) -> str:
    """A name and a port as they are written; port 0 is left out."""
    shown = f"[{name}]" if ":" in name else name
    return f"{shown}:{port}" if port else shown


def covers(allowed: Iterable[str], wanted: Iterable[str]) -> bool:
    """True if every `wanted` host (at least one) is among the `allowed`. Raises ValueError."""
    known = tuple(map(parse_host, allowed))
    asked = tuple(map(parse_host, wanted))
    return bool(asked) and all(any(_holds(host, each) for host in known) for each in asked)


def _holds(host: Host, wanted: Host) -> bool:
    if not wanted.name.startswith("*."):
        return host.includes(wanted.name, wanted.port)
    same_port = host.port == wanted.port or (not host.port and wanted.port in WEB_PORTS)
    return same_port and host.name.startswith("*.") and wanted.name[1:].endswith(host.name[1:])


def net_allows(patterns: Iterable[str], hosts: Iterable[str]) -> bool:
    """True if one or several patterns allow all these hosts.

    A pattern is a text of hosts; another one allows nothing. Only where commands are confined: elsewhere
    nothing holds them to their hosts.
    """
    known = [host for pattern in patterns for host in _hosts_in(pattern)]
    try:
        return covers(known, hosts)
    except ValueError:
        return False


def _hosts_in(pattern: str) -> tuple[str, ...]:
    try:
        return parse_hosts(pattern)
    except ValueError:
        return ()
