"""Whether the server can do its work."""

from typing import Literal

from fastapi import APIRouter, Response
from typing_extensions import TypedDict

from kith import __version__
from kith.core.errors import KithError
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import OneDesk
from kith.features.web.api.refusals import problems
from kith.features.web.api.shapes import answer
from kith.features.web.app import API_VERSION
from kith.features.web.problems import Refused

_routes = APIRouter(tags=["health"])


class Health(TypedDict):
    """It is well; anything else is a problem."""

    status: Literal["ok"]
    version: str
    api: int
    projects: list[str]


@_routes.get(
    "/health",
    summary="Whether the server can read its log and see its projects",
    response_model=Health,
    responses=problems(503),
)
async def health(desk: OneDesk) -> Response:
    try:
        desk.log.last("")
    except KithError as error:
        raise Refused(503, str(error)) from None
    if gone := [name for name, each in desk.projects.items() if not each.root.is_dir()]:
        raise Refused(503, f"These folders are gone: {', '.join(gone)}.")
    return answer(Health(status="ok", version=__version__, api=API_VERSION, projects=list(desk.projects)))


router = versioned(_routes)
