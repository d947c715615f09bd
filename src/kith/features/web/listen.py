"""Listen on an address of this machine, and read the token that guards it."""

import argparse
import errno
import socket
from collections.abc import MutableMapping

from msgspec import Struct

from kith.core.errors import BusyError, UsageError
from kith.features.web.tokens import check_token

LOOPBACK = "127.0.0.1"
TOKEN = "KITH_SERVE_TOKEN"


class ListenAddress(Struct, frozen=True):
    """The address of a server; `names` are origins by which browsers reach it beside loopback's."""

    host: str
    port: int
    names: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        host = {"0.0.0.0": LOOPBACK, "::": "::1"}.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def for_others(self) -> str:
        """The address for another machine: of the first name that browsers use, else the own one."""
        if not self.names:
            return self.url
        name = self.names[0]
        return name if "://" in name else f"https://{name}"


def given_token(args: argparse.Namespace, environ: MutableMapping[str, str], name: str = TOKEN) -> str:
    """The token that the person chose, or none. Raises UsageError where the network needs one."""
    from_environment = environ.pop(name, "")  # no worker inherits it
    if token := args.token or from_environment:
        return check_token(token)
    if args.host and not is_loopback(args.host):
        raise UsageError(
            f"Others reach {args.host}: choose a token in {TOKEN} or with --token (openssl rand -hex 16)."
        )
    return ""


def is_loopback(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return ip_address(host).is_loopback
    except ValueError:
        raise UsageError(
            f"--host takes an address of this machine such as 192.168.1.5, not {host!r}."
        ) from None


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises BusyError for a port that is taken, UsageError for a strange address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Only where the protocol is named does asyncio send small pieces at once.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise BusyError(
                f"Port {port} is taken by another program; choose one with --port N (0: any that is free)."
            ) from error
        raise UsageError(f"Port {port} of {host} cannot be used: {error.strerror}.") from error
    return listener
