"""`kith serve`: the door on a port of this machine, and the lines that say so."""

import argparse
import os
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kith.core.errors import EXIT_DONE
from kith.core.feature import Lazy
from kith.features.web.listen import LOOPBACK, ListenAddress, given_token, is_loopback, listen
from kith.features.web.peers import can_tell
from kith.features.web.tokens import ServerNote, forget, new_token, read_note, ticket_for
from kith.settings.features import check_extra
from kith.terminal.options import find_root, settings_flags
from kith.view.lines import wrapped
from kith.view.printing import printable

_QR: Final[Lazy[Callable[[str], list[str]]]] = Lazy("kith.features.web.qr:qr_lines")
PORT = 5484  # what a telephone's keys write for KITH


def serve_command(args: argparse.Namespace) -> int:
    """Serve the chosen projects until Ctrl-C."""
    check_extra("web", "kith serve")
    from kith.features.web.desk import open_desk

    given = given_token(args, os.environ)
    flags = {name: value for name, value in settings_flags(args).items() if value is not None}
    desk = open_desk([find_root(folder) for folder in args.projects or (args.folder,)], flags)
    state = desk.first.settings.state
    with listen(args.host or LOOPBACK, args.port) as listener:
        place = ListenAddress(
            args.host or LOOPBACK, listener.getsockname()[1], tuple(args.allowed_host or ())
        )
        token = given or _kept_token(state, place.port, args.new_token)

        from kith.features.web.server import run_server  # once nothing is wrong: it takes a while

        def ready() -> None:
            ServerNote(place.url, token, place.port, os.getpid()).write(state)
            if args.qr:
                print(*_QR.load()(f"{place.for_others}/?token={token}"), "", sep="\n")
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


def _kept_token(state: Path, port: int, fresh: bool) -> str:
    """The token of the server before on this port, so that open pages go on; else a new one."""
    before = None if fresh else read_note(state, port)
    return before.token if before else new_token()


def _shown(token: str, port: int) -> str:
    """The secret on a browser's command line: a ticket where its user can be told, else the token."""
    return ticket_for(token, port) if can_tell() else token


def _say_hello(place: ListenAddress, token: str, projects: tuple[str, ...]) -> None:
    def say(line: str) -> None:
        print(wrapped(line, sys.stdout), flush=True)

    for project in projects:
        say(printable(project))
    print(f"\n{place.url}/?token={token}\n", flush=True)  # never broken: it is clicked on
    say("Whoever has this address can do here what you can do. It is asked for once in a browser.")
    if not is_loopback(place.host):
        say(f"Other machines reach {place.host}, and nothing is encrypted; docs/serve.md explains TLS.")
    say("Ctrl-C stops the server; work in progress goes on.")
