"""A project with its servers of tools: for one task, or held open from task to task."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

from kith.agent.outside_tools import OpenTools, OutsideTools
from kith.agent.project import Project
from kith.settings.features import find_part


@asynccontextmanager
async def with_servers(project: Project) -> AsyncIterator[Project]:
    """The project with the servers that the person named, which end with the block.

    Where nothing outside may be asked anyway, none is started; those that are open already stay.
    """
    servers = None if project.servers or project.settings.read_only else _open(project)
    if servers is None:
        yield project
        return
    async with aclosing(servers):
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
    return replace(project, servers=_open(project))


def _open(project: Project) -> OutsideTools | None:
    """None where the person named no servers, or no feature is on that connects to them."""
    if not project.settings.mcp:
        return None
    connect: OpenTools | None = find_part(lambda each: each.outside_tools)
    servers = connect(project.settings, project.root) if connect else None
    if servers:
        servers.begin()
    return servers
