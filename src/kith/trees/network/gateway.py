"""The one way out of a sandbox without a network: a listener in its namespace that kith's proxy answers."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from kith.core.errors import TreeError
from kith.core.event_loop import leave
from kith.core.hosts import Host, parse_host
from kith.core.values import Reached
from kith.trees.environment import python_inside
from kith.trees.network.proxy import Proxy

PORT = 3128  # the usual one of proxies; in the sandbox nobody else listens
_ADDRESS = f"http://127.0.0.1:{PORT}"
# A socket belongs to the namespace in which it was made, whoever accepts on it: the sandbox makes it, and
# hands it out before the command begins. Another program in the place of this one would gain nothing: what
# comes through is led to the hosts and no further.
_OPENER = f"""
import _socket, os, sys
wire = _socket.socket(fileno=int(sys.argv[1]))
listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", {PORT}))
listener.listen(128)
given = listener.fileno().to_bytes(4, sys.byteorder)
wire.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, given)])
wire.close()
os.execv(sys.argv[2], sys.argv[2:])
"""
# Where programs look for certificates beside the system's own: the person's, handed on with their files.
_CERTIFICATES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"),
    *("NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO"),
)


class Gateway:
    """What a sandbox needs for its way out, and who was reached by it. Without hosts there is none."""

    def __init__(self, proxy: Proxy | None, wire: int, hosts: tuple[Host, ...] = ()) -> None:
        self._proxy, self._wire, self._hosts = proxy, wire, hosts

    @property
    def pass_fds(self) -> tuple[int, ...]:
        return (self._wire,) if self._proxy else ()

    @property
    def env(self) -> Mapping[str, str]:
        """The variables that lead programs to the proxy, and what certificates they should trust."""
        if not self._proxy:
            return {}
        proxies = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), _ADDRESS)
        proxies["no_proxy"] = ",".join(_own_places(self._hosts))
        upper = {name.upper(): value for name, value in proxies.items()}
        return {**proxies, **upper, "NODE_USE_ENV_PROXY": "1", **_certificates()}

    @property
    def shown(self) -> tuple[tuple[Path, Path], ...]:
        """Files and folders with certificates, each to be shown at its own path."""
        return tuple((Path(path), Path(path)) for path in _certificates().values()) if self._proxy else ()

    def wrap(self, argv: Sequence[str]) -> list[str]:
        """`argv`, with what makes the listener in the sandbox in front of it."""
        if not self._proxy:
            return list(argv)
        return [python_inside(), "-I", "-S", "-c", _OPENER, str(self._wire), *argv]

    def reached(self) -> tuple[Reached, ...]:
        return self._proxy.reached() if self._proxy else ()


@asynccontextmanager
async def open_gateway(asked: Sequence[str], own: Sequence[str] = ()) -> AsyncIterator[Gateway]:
    """A gateway to the hosts that a command asked for, and to the person's own.

    Raises TreeError for what is no host.
    """
    try:
        hosts, owned = tuple(map(parse_host, asked)), tuple(map(parse_host, own))
    except ValueError as error:
        raise TreeError(str(error)) from error
    if not hosts and not owned:
        yield Gateway(None, -1)
        return
    proxy = Proxy(hosts, owned)
    outside, inside = socket.socketpair()
    with outside, inside:
        outside.setblocking(False)
        opening = asyncio.create_task(_listen(outside, proxy))
        try:
            yield Gateway(proxy, inside.fileno(), (*hosts, *owned))
        finally:
            await leave(opening)
            await proxy.close()


async def _listen(wire: socket.socket, proxy: Proxy) -> None:
    """Wait for the listener that the sandbox hands out, and serve it."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(wire, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(wire)
    for given in socket.recv_fds(wire, 1, 1, socket.MSG_CMSG_CLOEXEC)[1]:
        listener = socket.socket(fileno=given)
        if listener.family != socket.AF_INET or not listener.getsockopt(
            socket.SOL_SOCKET, socket.SO_ACCEPTCONN
        ):
            listener.close()
            continue
        await proxy.listen(listener)


def _own_places(hosts: tuple[Host, ...]) -> list[str]:
    """What a command reaches in its sandbox itself, where nobody named it as a place outside."""
    outside = {host.name for host in hosts}
    return [place for place in ("localhost", "127.0.0.1", "::1") if place not in outside]


def _certificates() -> dict[str, str]:
    found = {name: os.environ.get(name, "") for name in _CERTIFICATES}
    return {name: path for name, path in found.items() if Path(path).is_absolute() and Path(path).exists()}
