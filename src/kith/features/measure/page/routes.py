"""Serve measurements as pages and in the API: a project's profile, and the available models."""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from kith.agent.models import list_all
from kith.core.numbers import size_text
from kith.features.measure.intervals import Share
from kith.features.measure.page.charts import grouped, interval_of, quiet
from kith.features.measure.page.profile import profile_html
from kith.features.measure.profile import ProfileScope, describe_profile, read_apart
from kith.features.measure.speed_and_success import Success
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import OneDesk, OneProject
from kith.features.web.api.schemas import answer, problems
from kith.features.web.html.page import plain_page
from kith.features.web.part import WebPart
from kith.terminal.models import ModelRow
from kith.view.lines import figure
from kith.view.markup import NOTHING, Html, element, joined

# What was measured in a project: the same object that `kith profile --json` prints.

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
    scope = ProfileScope(model=model, kind=kind, since=since)
    meant = desk.project(project)
    return answer(await asyncio.to_thread(lambda: describe_profile(read_apart(meant, scope))))


api_router = versioned(_routes)


# The models that can be asked: how fast and how good they were here, how large they are, where they
# run.


def models_html(
    rows: Sequence[ModelRow], notes: Sequence[str] = (), successes: Sequence[Success] = ()
) -> Html:
    """The table below its heading. `successes` are those of a profile; `notes` are sentences for a person."""
    said = joined(element("p", note, class_="means note") for note in notes if note)
    head = element("header", element("h1", "Models"), said, class_="profile-head")
    if not rows:
        return head
    solved = {each.model: each.solved for each in successes if not each.kind and not each.size}
    groups = [(place, [_cells(row, solved) for row in own]) for place, own in groupby(rows, key=_place)]
    heads = ("Model", "Writes tokens/s", "Reads tokens/s", "Solved here", "Size", "Window", "Tools", "Fits")
    return joined([head, grouped(heads, groups, "Models that can be asked")])


def _place(row: ModelRow) -> str:
    """Return a row's heading: its server, or the owner of its file."""
    server = row.where.startswith(("http://", "https://"))
    return f"{row.source} at {row.where}" if server else f"{row.source}, on the disk"


def _cells(row: ModelRow, solved: Mapping[str, Share]) -> list[str]:
    share = solved.get(row.name, Share())
    size = " ".join(filter(None, [size_text(row.size) if row.size else "", row.quantisation]))
    return [
        _name(row),
        figure(row.write_rate) if row.write_rate else "",
        figure(row.read_rate) if row.read_rate else "",
        interval_of(share) if share.number else "",
        size,
        _window(row),
        {True: "yes", False: "no", None: ""}[row.tools],
        _fits(row),
    ]


def _name(row: ModelRow) -> Html:
    loaded = joined([" ", quiet("loaded")]) if row.loaded else NOTHING
    good = f"good for {', '.join(row.good_for)}" if row.good_for else ""
    bad = f"not for {', '.join(row.not_for)}" if row.not_for else ""
    told = "; ".join(filter(None, [good, bad]))
    return joined([row.name, loaded, element("span", told, class_="dim says") if told else NOTHING])


def _window(row: ModelRow) -> str:
    if row.window and row.trained and row.window != row.trained:
        return f"{row.window:,} of {row.trained:,}"
    return f"{row.window:,}" if row.window else f"up to {row.trained:,}" if row.trained else ""


def _fits(row: ModelRow) -> Html:
    if row.fits is None:
        return NOTHING
    if row.fits:
        return element("span", "yes", class_="good")
    return joined([element("span", "no", class_="bad"), element("span", row.why, class_="dim says")])


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
    """Show a project's measurements as charts."""
    scope = ProfileScope(model=model, since=time.time() - 86_400 * days if days else 0.0)
    meant = desk.project(project)
    shown = await asyncio.to_thread(lambda: profile_html(read_apart(meant, scope)))
    given = {"project": project, "model": model}
    times = element("nav", *_links(given, days), class_="times", aria_label="How far back")
    return plain_page("Profile", times, shown, here="/profile", styles=_STYLES)


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
    profile = await asyncio.to_thread(read_apart, meant, ProfileScope())
    body = models_html(listed.rows, listed.notes, profile.successes)
    return plain_page("Models", body, here="/models", styles=_STYLES)


PART: Final = WebPart(routes=(router, api_router))
