"""What the server says of itself: its health, the models that can be asked, the settings in force."""

from typing import Any, Literal

from fastapi import APIRouter, Response
from typing_extensions import TypedDict

from kith import __version__
from kith.agent.models import list_all
from kith.core.codec import encode
from kith.core.errors import KithError
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import OneDesk, OneProject
from kith.features.web.api.schemas import answer, problems
from kith.features.web.app import API_VERSION
from kith.features.web.browsing import show_settings
from kith.features.web.problems import Refused

_health_routes = APIRouter(tags=["health"])


class Health(TypedDict):
    """It is well; anything else is a problem."""

    status: Literal["ok"]
    version: str
    api: int
    projects: list[str]


@_health_routes.get(
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


# The models that can be asked.

_model_routes = APIRouter(tags=["models"])


class ModelList(TypedDict):
    """Every model, servers' first, by the name that `model` takes; `notes` are sentences for a person.

    Sizes in bytes, windows in tokens, rates in tokens a second; 0, "" and null: not known.
    """

    models: list[dict[str, Any]]
    notes: list[str]


@_model_routes.get(
    "/models",
    summary="The models that can be asked, with what was measured of them",
    response_model=ModelList,
    responses=problems(503),
)
async def models(desk: OneDesk, project: OneProject = "") -> Response:
    listed = await list_all(desk.project(project).settings, desk.log)
    return answer(ModelList(models=[encode(row) for row in listed.rows], notes=list(listed.notes)))


# The settings in force; secrets are never among them.

_setting_routes = APIRouter(tags=["settings"])


class Setting(TypedDict):
    """A setting, its value in words ("-": nobody chose), and where it came from."""

    key: str
    value: str
    origin: str


class SettingList(TypedDict):
    """Every setting."""

    settings: list[Setting]


@_setting_routes.get(
    "/config",
    summary="Every setting, and where it came from; secrets are masked",
    response_model=SettingList,
    responses=problems(),
)
async def config(desk: OneDesk, project: OneProject = "") -> Response:
    rows = show_settings(desk.project(project))
    listed = [Setting(key=key, value=value, origin=origin) for key, value, origin in rows]
    return answer(SettingList(settings=listed))


router = APIRouter()
for _each in (_model_routes, _setting_routes, _health_routes):
    router.include_router(versioned(_each))
