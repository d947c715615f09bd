"""What the commands take that serve others, and that ask a server."""

import argparse

from kith.terminal.arguments.options import add_cloud, add_engine, add_folder, add_json, add_offline, add_work
from kith.terminal.arguments.quantities import number, port, positive


def serve(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("projects", nargs="*", metavar="PROJECT", help="folders to serve (this one)")
    add("--port", type=port, metavar="N", default=5484, help="which port; 0: any that is free (5484)")
    add("--open", action="store_true", help="open the page in your browser")
    add("--new-token", action="store_true", help="not the token of last time: open pages must come in anew")
    group = parser.add_argument_group("for other machines").add_argument
    group("--host", metavar="ADDR", help="listen at this address (127.0.0.1: this machine only)")
    group("--token", metavar="TOKEN", help="needed with --host; better in KITH_SERVE_TOKEN")
    group("--allowed-host", action="append", metavar="NAME", help="a name it is reached by, through a proxy")


def parts(parser: argparse.ArgumentParser) -> None:
    """Of a command that only its parts do anything for."""
    parser.set_defaults(whole=parser.prog.removeprefix("kith "))


def client(parser: argparse.ArgumentParser) -> None:
    """Which server: the one that runs here, or another one."""
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


def runtime(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-m", "--model", metavar="NAME", help="which model to serve, such as file/NAME (the first found)")
    add("--port", type=port, metavar="N", default=5485, help="which port; 0: any that is free (5485)")
    add_offline(parser)
    group = parser.add_argument_group("limits").add_argument
    group("--parallel", type=number, metavar="N", default=0, help="answers at once (as many as it has slots)")
    group("--queue", type=number, metavar="N", default=32, help="requests that may wait for them (32)")
    group("--max-tokens", type=positive, metavar="N", default=4096, help="tokens of one answer (4096)")
    group("--max-seconds", type=positive, metavar="N", default=600, help="seconds of one answer (600)")
    add_cloud(parser.add_argument_group("models in the cloud"), "one request")
    others = parser.add_argument_group("for other machines").add_argument
    others("--host", metavar="ADDR", help="listen at this address (127.0.0.1: this machine only)")
    others("--token", metavar="TOKEN", help="needed with --host; better in KITH_RUNTIME_TOKEN")
    others("--allowed-host", action="append", metavar="NAME", help="a name it is reached by, through a proxy")
    add_engine(parser)


def acp(parser: argparse.ArgumentParser) -> None:
    """The editor says in which folder."""
    add = parser.add_argument
    add("-m", "--model", metavar="NAME", help="which model to ask, such as ollama/qwen3:8b; or route")
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    add("--read-only", action="store_const", const=True, help="look and answer, change nothing")
    add_offline(parser)
    add_cloud(parser.add_argument_group("which models"), "one task")
    add_engine(parser)


def mcp(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--patience", type=positive, metavar="N", default=300, help="seconds to wait for an answer (300)")
    add("--no-forms", action="store_true", help="never ask in a form of the agent's program")
    add_work(parser)


def mcp_list(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_offline(parser)
    add_json(parser)


def mcp_test(parser: argparse.ArgumentParser) -> None:
    mcp_list(parser)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which servers (all)")
