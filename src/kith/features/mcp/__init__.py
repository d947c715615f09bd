"""The Model Context Protocol: the tools of other programs for models, and those of kith for other agents."""

from kith.core.feature import Command, Feature, SlashCommand, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "mcp",
    "tools of other programs for models, and kith's tools for other agents",
    outside_tools=_here("tool_servers:ToolServers"),
    needs=("review", "scan", "web"),
    commands=(
        Command(
            "mcp",
            "offer trials, reviews and applying to other agents (MCP)",
            _here("arguments:mcp"),
            _here("command:mcp_command"),
        ),
        Command(
            "mcp list",
            "list tool servers and their cost",
            _here("arguments:mcp_list"),
            _here("command:list_command"),
        ),
        Command(
            "mcp test",
            "test tool servers: every tool, its arguments and cost",
            _here("arguments:mcp_test"),
            _here("command:test_command"),
            "[NAME ...]",
        ),
    ),
    slash_commands=(SlashCommand("mcp", "kith", "tool servers, and their cost", _here("conversation:mcp")),),
)
