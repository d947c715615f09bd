"""Dependencies of routes: the desk, the session, and the sender."""

from typing import Annotated

from fastapi import Depends, Path, Query, Request

from kith.agent.project import Project
from kith.features.web.desk import Desk
from kith.features.web.problems import Refused
from kith.features.web.tokens import CLIENT


async def _desk_of(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


OneDesk = Annotated[Desk, Depends(_desk_of)]
Id = Annotated[str, Path(description="A session's id.", max_length=64)]

OneProject = Annotated[str, Query(description="One of /projects; empty: the first.", max_length=300)]


def found(desk: Desk, session: str) -> Project:
    """The project that a session belongs to. Raises Refused."""
    project = desk.project_of(session)
    if project is None:
        raise Refused(404, "There is no such session in these projects.")
    return project


def who(request: Request) -> str:
    """The face that speaks: scripts show their token, the page its cookie, `kith client` says so."""
    if request.headers.get("user-agent") == CLIENT:
        return CLIENT
    return "the API" if "authorization" in request.headers else "the page"
