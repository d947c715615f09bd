"""What was measured in a project: the same object that `kith profile --json` prints."""

import asyncio
from contextlib import closing
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from kith.agent.project import Project
from kith.features.measure.part import Scope
from kith.features.measure.profile import Profile, describe_profile, read_profile
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import OneDesk, OneProject
from kith.features.web.api.schemas import answer, problems
from kith.memory.log import Log

_routes = APIRouter(tags=["measurements"])
Named = Annotated[str, Query(max_length=300)]
Since = Annotated[float, Query(ge=0, le=1e11, description="Seconds since 1970; 0: from the beginning.")]


@_routes.get(
    "/profile",
    summary="Speed, success, cost and errors of every model, with how sure that is",
    response_model=dict[str, Any],
    responses=problems(),
)
async def profile(
    desk: OneDesk, project: OneProject = "", model: Named = "", kind: Named = "", since: Since = 0.0
) -> Response:
    scope = Scope(model=model, kind=kind, since=since)
    return answer(await asyncio.to_thread(_describe, desk.project(project), scope))


def _describe(project: Project, scope: Scope) -> dict[str, Any]:
    return describe_profile(read_apart(project, scope))


def read_apart(project: Project, scope: Scope) -> Profile:
    """A profile, read in whichever thread calls this: with a connection to the log of its own."""
    with closing(Log(project.log.path)) as log:
        return read_profile(replace(project, log=log), scope)


router = versioned(_routes)
