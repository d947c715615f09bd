"""The Model Context Protocol: the tools of other programs for models, and those of kith for other agents."""

import argparse

from kith.core.feature import Command, Feature, Lazy, SlashCommand, lazy_in
from kith.terminal.options import add_folder, add_json, add_offline, add_work, positive

_here = lazy_in(__name__)

FEATURE = Feature(
    "mcp",
    "tools of other programs for models, and kith's tools for other agents",
    outside_tools=_here("tool_servers:ToolServers"),
    needs=("review", "scan", "web"),
    commands=(
        Command(
            "mcp",
            "Offer kith's tools to other agents (MCP)",
            Lazy(f"{__name__}:mcp_arguments"),
            _here("command:mcp_command"),
            group="Serve",
        ),
        Command(
            "mcp list",
            "List tool servers and their token cost",
            Lazy(f"{__name__}:mcp_list_arguments"),
            _here("command:list_command"),
        ),
        Command(
            "mcp test",
            "Test tool servers and show their tools",
            Lazy(f"{__name__}:mcp_test_arguments"),
            _here("command:test_command"),
            "[NAME ...]",
        ),
    ),
    slash_commands=(SlashCommand("mcp", "kith", "tool servers, and their cost", _here("conversation:mcp")),),
)


# The options of its commands.


def mcp_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--patience", type=positive, metavar="N", default=300, help="seconds to wait for an answer (300)")
    add("--no-forms", action="store_true", help="never ask in a form of the agent's program")
    add_work(parser)


def mcp_list_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_offline(parser)
    add_json(parser)


def mcp_test_arguments(parser: argparse.ArgumentParser) -> None:
    mcp_list_arguments(parser)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which servers (all)")
