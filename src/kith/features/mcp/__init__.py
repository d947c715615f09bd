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
            "Offer kith's tools to other agents (MCP)",
            _here("arguments:mcp"),
            _here("command:mcp_command"),
            group="Serve",
        ),
        Command(
            "mcp list",
            "List tool servers and their token cost",
            _here("arguments:mcp_list"),
            _here("command:list_command"),
        ),
        Command(
            "mcp test",
            "Test tool servers and show their tools",
            _here("arguments:mcp_test"),
            _here("command:test_command"),
            "[NAME ...]",
        ),
    ),
    slash_commands=(
        SlashCommand("mcp", "kith", "servers of tools, and what they cost", _here("conversation:mcp")),
    ),
)
