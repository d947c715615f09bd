"""A project with its servers of tools: for one task, or held open from task to task."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

from kith.agent.project import Project
from kith.features.mcp.tool_servers import ToolServers


@asynccontextmanager
async def with_servers(project: Project) -> AsyncIterator[Project]:
    """The project with the servers that the person named, which end with the block.

    Where nothing outside may be asked anyway, none is started.
    """
    if not project.settings.mcp or project.settings.read_only:
        yield project
        return
    async with aclosing(ToolServers(project.settings, project.root)) as servers:
        servers.begin()
        yield replace(project, servers=servers)


async def hold_servers(project: Project) -> Project:
    """The project with the servers that its settings name, open until they are closed by `aclose`.

    Those that are open stay, unless the settings name others now.
    """
    held = project.servers
    if held and held.chosen.mcp == project.settings.mcp:
        return project
    if held:
        await held.aclose()
    if not project.settings.mcp:
        return replace(project, servers=None)
    servers = ToolServers(project.settings, project.root)
    servers.begin()
    return replace(project, servers=servers)
