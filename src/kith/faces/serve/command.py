"""`kith serve`: the door on a port of this machine, and the lines that say so."""

import argparse
import errno
import os
import socket
import sys
import webbrowser
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path

from kith.core.errors import EXIT_DONE, BusyError, UsageError
from kith.faces.folder import find_root
from kith.faces.lines import printable, wrapped
from kith.faces.serve.peers import can_tell
from kith.faces.serve.tokens import Note, check_token, forget, new_token, read_note, ticket_for

PORT = 5484  # what a telephone's keys write for KITH
TOKEN = "KITH_SERVE_TOKEN"
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server listens; `names` are origins by which browsers reach it beside loopback's."""

    host: str
    port: int
    names: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        host = {"0.0.0.0": _LOOPBACK, "::": "::1"}.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def serve_command(args: argparse.Namespace) -> int:
    """Serve the chosen projects until Ctrl-C."""
    from kith.faces.serve.desk import open_desk

    given = given_token(args, os.environ)
    desk = open_desk([find_root(folder) for folder in args.projects or (args.folder,)], {})
    state = desk.first.settings.state
    with listen(args.host or _LOOPBACK, args.port) as listener:
        place = Place(args.host or _LOOPBACK, listener.getsockname()[1], tuple(args.allowed_host or ()))
        token = given or _kept_token(state, place.port, args.new_token)

        try:  # once nothing else is wrong: it takes a while
            from kith.faces.serve.server import run_server
        except ImportError as error:
            raise UsageError("kith serve needs more: pip install 'kith-agent[web]'") from error

        def ready() -> None:
            Note(place.url, token, place.port, os.getpid()).write(state)
            _say_hello(place, token, tuple(f"{name}  {each.root}" for name, each in desk.projects.items()))
            if args.open:
                webbrowser.open(f"{place.url}/?token={_shown(token, place.port)}")

        try:
            run_server(desk, listener, place, token, ready)
        finally:
            if args.port == 0:  # the same port will not come again
                forget(state, place.port)
    print("Stopped. Work in progress goes on by itself.")
    return EXIT_DONE


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


def _kept_token(state: Path, port: int, fresh: bool) -> str:
    """The token of the server before on this port, so that open pages go on; else a new one."""
    before = None if fresh else read_note(state, port)
    return before.token if before else new_token()


def _shown(token: str, port: int) -> str:
    """What a browser is started with: where it can be told whose browser asks, nothing that helps others."""
    return ticket_for(token, port) if can_tell() else token


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


def _say_hello(place: Place, token: str, projects: tuple[str, ...]) -> None:
    def say(line: str) -> None:
        print(wrapped(line, sys.stdout), flush=True)

    for project in projects:
        say(printable(project))
    print(f"\n{place.url}/?token={token}\n", flush=True)  # never broken: it is clicked on
    say("Whoever has this address can do here what you can do. It is asked for once in a browser.")
    if not is_loopback(place.host):
        say(
            f"Other machines reach {place.host}, and nothing is encrypted; kith's docs/serve.md tells of TLS."
        )
    say("Ctrl-C stops the server; work in progress goes on.")
