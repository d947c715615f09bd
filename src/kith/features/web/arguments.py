"""Add the options of this feature's commands."""

import argparse

from kith.terminal.options import add_folder, add_sampling, port, some_id


def serve(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("projects", nargs="*", metavar="PROJECT", help="folders to serve (this one)")
    add("-m", "--model", metavar="NAME", help="which model to ask, unless a task names another; or route")
    add("--port", type=port, metavar="N", default=5484, help="which port; 0: any that is free (5484)")
    add("--open", action="store_true", help="open the page in your browser")
    add("--qr", action="store_true", help="show the address as a QR code, for a phone")
    add("--new-token", action="store_true", help="make a new token; open pages must log in again")
    group = parser.add_argument_group("for other machines").add_argument
    group("--host", metavar="ADDR", help="listen at this address (127.0.0.1: this machine only)")
    group("--token", metavar="TOKEN", help="needed with --host; better in KITH_SERVE_TOKEN")
    group("--allowed-host", action="append", metavar="NAME", help="a host name by which a proxy reaches it")
    add_sampling(parser)


def client(parser: argparse.ArgumentParser) -> None:
    """Options that name a server: the one that runs here, or another."""
    add = parser.add_argument
    add("--url", metavar="URL", help="of a server elsewhere (the one that runs here)")
    add("--token", metavar="TOKEN", help="of a server elsewhere; better in KITH_SERVE_TOKEN")
    add("--project", metavar="NAME", default="", help="one of the server's projects (the first)")


def client_run(parser: argparse.ArgumentParser) -> None:
    client(parser)
    add = parser.add_argument
    add("task", nargs="+", metavar="TASK", help="what to do")
    add("-m", "--model", metavar="NAME", default="", help="as the server calls it; or route")
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    add("--plan", dest="plan", action="store_const", const="yes", default="no", help="plan first")
    add("--read-only", action="store_true", help="look and answer, change nothing")
    add("--yes", action="store_true", help="apply without asking")
    add_sampling(parser)


def client_one(parser: argparse.ArgumentParser) -> None:
    client(parser)
    parser.add_argument("id", metavar="ID", help="of a session, as kith client sessions shows it")
    parser.set_defaults(yes=False)


def client_answer(parser: argparse.ArgumentParser) -> None:
    client_one(parser)
    add = parser.add_argument
    add("choice", metavar="CHOICE", help="yes, no, or one of the question's choices")
    # Without a default argparse would name them among what is missing.
    add("words", nargs="*", default=[], metavar="WORDS", help="what to do differently, after `revise`")


def client_get(parser: argparse.ArgumentParser) -> None:
    client(parser)
    parser.add_argument("path", metavar="PATH", help="such as sessions, models or /metrics")


def export(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("id", type=some_id, nargs="?", metavar="ID", help="of a session (the last one)")
    add("--format", choices=("html", "md", "json"), help="a page without scripts, Markdown, or JSON (html)")
    add("-o", "--output", metavar="FILE", help="write it there, not to stdout")
