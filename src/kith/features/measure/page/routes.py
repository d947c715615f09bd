"""The pages of what was measured: the profile of a project, and the models that can be asked."""

import asyncio
import time
from collections.abc import Iterator
from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from kith.agent.models import list_all
from kith.agent.project import Project
from kith.features.measure.page.api import read_apart
from kith.features.measure.page.models import models_html
from kith.features.measure.page.profile import profile_html
from kith.features.measure.part import Scope
from kith.features.measure.successes import Success
from kith.features.web.api.dependencies import OneDesk, OneProject
from kith.features.web.html.page import plain_page
from kith.view.markup import Html, element

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_STYLES: Final = ("profile.css",)
_DAYS: Final = ((7, "7 days"), (30, "30 days"), (90, "90 days"), (0, "All time"))


@router.get("/profile")
async def profile_page(
    desk: OneDesk,
    project: OneProject = "",
    days: Annotated[int, Query(ge=0, le=36_500)] = 90,
    model: Annotated[str, Query(max_length=300)] = "",
) -> str:
    """What was measured in a project, as charts."""
    scope = Scope(model=model, since=time.time() - 86_400 * days if days else 0.0)
    shown = await asyncio.to_thread(_draw, desk.project(project), scope)
    given = {"project": project, "model": model}
    times = element("nav", *_links(given, days), class_="times", aria_label="How far back")
    return plain_page("Profile", times, shown, here="/profile", styles=_STYLES)


def _draw(project: Project, scope: Scope) -> Html:
    return profile_html(read_apart(project, scope))


def _links(given: dict[str, str], chosen: int) -> Iterator[Html]:
    for days, name in _DAYS:
        query = urlencode({key: value for key, value in {**given, "days": str(days)}.items() if value})
        current = "page" if days == chosen else None
        yield element("a", name, href=f"/profile?{query}", aria_current=current)


@router.get("/models")
async def models_page(desk: OneDesk, project: OneProject = "") -> str:
    """The models that can be asked, with what was measured of them."""
    meant = desk.project(project)
    listed = await list_all(meant.settings, desk.log)
    successes = await asyncio.to_thread(_successes, meant)
    body = models_html(listed.rows, listed.notes, successes)
    return plain_page("Models", body, here="/models", styles=_STYLES)


def _successes(project: Project) -> tuple[Success, ...]:
    return read_apart(project, Scope()).successes
