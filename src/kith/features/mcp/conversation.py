"""`/mcp` in a conversation."""

from kith.features.mcp.command import server_lines
from kith.features.mcp.tool_servers import look_at_servers
from kith.terminal.conversation.talk import Talk


async def mcp(talk: Talk, rest: str) -> None:
    """Servers of tools, what they offer, and what that costs. Raises KithError."""
    chosen = talk.project.settings
    if not chosen.mcp:
        talk.say("There are no tool servers; add a table [mcp.NAME] to your configuration.")
        return

    for each in await look_at_servers(chosen, talk.root):
        if not rest or rest == each.name:
            talk.say("\n".join(server_lines(each, chosen.mcp[each.name], detailed=bool(rest))))
