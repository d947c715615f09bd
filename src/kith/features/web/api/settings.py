"""The settings in force; secrets are never among them."""

from fastapi import APIRouter, Response
from typing_extensions import TypedDict

from kith.features.web.api import versioned
from kith.features.web.api.dependencies import OneDesk, OneProject
from kith.features.web.api.refusals import problems
from kith.features.web.api.shapes import answer
from kith.features.web.browsing import show_settings

_routes = APIRouter(tags=["settings"])


class Setting(TypedDict):
    """A setting, its value in words ("-": nobody chose), and where it came from."""

    key: str
    value: str
    origin: str


class SettingList(TypedDict):
    """Every setting."""

    settings: list[Setting]


@_routes.get(
    "/config",
    summary="Every setting, and where it came from; secrets are masked",
    response_model=SettingList,
    responses=problems(),
)
async def config(desk: OneDesk, project: OneProject = "") -> Response:
    rows = show_settings(desk.project(project))
    listed = [Setting(key=key, value=value, origin=origin) for key, value, origin in rows]
    return answer(SettingList(settings=listed))


router = versioned(_routes)
