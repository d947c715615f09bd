"""`kith mcp`, `kith mcp list`, `kith mcp test`: serve kith's tools, and look at other servers of tools."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kith.core.errors import EXIT_DONE, EXIT_FAILED, UsageError
from kith.core.event_loop import run_loop, run_until_signal
from kith.features.mcp.tool_servers import Served, look_at_servers, tool_tokens
from kith.settings import ToolServer, describe_server, load_settings
from kith.settings.features import check_extra
from kith.terminal.options import find_root, settings_flags
from kith.view.lines import count, wrapped
from kith.view.printing import printable

_NOBODY = "No tool server is configured: add a table [mcp.NAME] to your configuration (docs/mcp.md)."


def list_command(args: argparse.Namespace) -> int:
    """One line for each server: its tools and what they cost, or why it does not answer."""
    return _show(args, (), _summary)


def test_command(args: argparse.Namespace) -> int:
    """Each tool of the servers that are named, or of all: what it takes, and what it costs."""
    return _show(args, tuple(args.names), _details)


def _show(
    args: argparse.Namespace, names: Sequence[str], lines: Callable[[Served, ToolServer], Iterator[str]]
) -> int:
    """Ask them, and print it; the exit code says whether every one answers. Raises UsageError."""
    root = find_root(args.folder)
    chosen = load_settings(root, {"offline": args.offline})
    if strange := [name for name in names if name not in chosen.mcp]:
        raise UsageError(f"There is no server {strange[0]!r}; there are: {', '.join(chosen.mcp) or 'none'}.")
    if not chosen.mcp:
        print(wrapped(_NOBODY, sys.stderr), file=sys.stderr)
        return EXIT_DONE
    check_extra("mcp", "kith mcp")
    if names:  # one that is named is asked even where it is off
        chosen = replace(chosen, mcp={name: replace(chosen.mcp[name], off=False) for name in names})
    served = run_loop(look_at_servers(chosen, root))
    if args.json:
        print(json.dumps([_row(each) for each in served], indent=2))
    else:
        for each in served:
            print("\n".join(lines(each, chosen.mcp[each.name])))
        print("".join(f"{name}: off\n" for name, server in chosen.mcp.items() if server.off), end="")
    return EXIT_FAILED if any(each.trouble for each in served) else EXIT_DONE


def server_lines(served: Served, server: ToolServer, *, detailed: bool) -> Iterator[str]:
    """Describe a server: its tools and their cost, or why it does not answer."""
    return _details(served, server) if detailed else _summary(served, server)


def _summary(served: Served, server: ToolServer) -> Iterator[str]:
    if served.trouble:
        yield wrapped(f"{served.name}: {printable(served.trouble)}", sys.stdout, indent="  ")
    else:
        offered, there = len(served.tools), count(served.listed, "tool")
        which = there if offered == served.listed else f"{offered} of {there}"
        yield f"{served.name}: {which}, about {served.tokens:,} tokens of each prompt"
    yield f"  {printable(describe_server(server))}"


def _details(served: Served, server: ToolServer) -> Iterator[str]:
    yield from _summary(served, server)
    for tool in served.tools:
        tokens = f"{tool_tokens([tool]):,} tokens"
        words = f"  {tool.name}  {tokens}  {printable(tool.description)}"
        yield wrapped(words, sys.stdout, indent="      ")
        if taken := ", ".join(_arguments(tool.schema)):
            yield wrapped(f"      takes {taken}", sys.stdout, indent="            ")
    if served.stderr:
        yield "  its standard error ends with:"
        yield from (f"    {printable(line)}" for line in served.stderr.split("\n"))


def _arguments(schema: Mapping[str, Any]) -> Iterator[str]:
    """`path string`, and `[limit integer]` for one that may be left out."""
    for name, taken in schema["properties"].items():
        kinds = [each["type"] for each in taken.get("anyOf", (taken,)) if each.get("type")]
        shown = printable(f"{name} {'|'.join(kinds) or 'anything'}")
        yield shown if name in schema.get("required", ()) else f"[{shown}]"


def _row(served: Served) -> dict[str, Any]:
    tools = [
        {
            "name": each.name,
            "description": each.description,
            "tokens": tool_tokens([each]),
            "schema": each.schema,
        }
        for each in served.tools
    ]
    return {
        "name": served.name,
        "trouble": served.trouble,
        "listed": served.listed,
        "tokens": served.tokens,
        "tools": tools,
        "stderr": served.stderr,
    }


# `kith mcp`: the server on standard input and output, for one project.


def mcp_command(args: argparse.Namespace) -> int:
    """Serve until the client closes standard input or dies, or a signal comes."""
    check_extra("mcp", "kith mcp")
    from kith.features.mcp.server import Offered, make_server
    from kith.features.mcp.server_calls import Attendant
    from kith.features.mcp.standard_streams import LEAVE_S, serve_client
    from kith.features.web.desk import open_desk

    if sys.stdin.isatty():
        print("kith: agents start this command themselves; see docs/mcp.md.", file=sys.stderr)
    flags = {name: value for name, value in settings_flags(args).items() if value is not None}
    desk = open_desk([find_root(args.folder)], flags)
    attendant = Attendant(desk, float(args.patience), forms=not args.no_forms)
    server = make_server(Offered(desk.first, attendant), attendant.patience_s)
    run_until_signal(serve_client(server), LEAVE_S)
    return EXIT_DONE
