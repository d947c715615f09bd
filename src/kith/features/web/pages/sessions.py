"""The pages of sessions, pieces of them, and the stream of what changes on a session's page."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import asdict
from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter, Header, Path, Query, Response
from fastapi.responses import HTMLResponse, StreamingResponse

from kith.agent.waiting_list import waiting_sessions
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import Id, OneDesk, found
from kith.features.web.api.events import HEADERS, position_of, stream
from kith.features.web.desk import Desk
from kith.features.web.html.controls import CONTROLLING, Controls
from kith.features.web.html.entries import read_body
from kith.features.web.html.listing import Choices, Row, composer, items, model_options, overview, sidebar
from kith.features.web.html.page import frame, page, plain_page
from kith.features.web.html.patches import Patch
from kith.features.web.html.scene import NEWEST, Scene
from kith.features.web.part import draw_panel
from kith.features.web.problems import Refused
from kith.memory.inbox import Inbox
from kith.memory.listing import Summary
from kith.memory.live import Position, Seen
from kith.memory.queries import is_undone
from kith.view.markup import Html, element

# What changes on a session's page, as a stream: a fold of its events that many a page can join
# anywhere.

_stream_routes = APIRouter(include_in_schema=False)


class SessionStream:
    """A session's page as it is now, here or in a browser."""

    def __init__(self, desk: Desk, session: str) -> None:
        """Raises Refused for a session that is not of these projects."""
        project = found(desk, session).root.name
        self.desk, self.watch = desk, desk.watch(session)
        self.scene = Scene(session, project=project, build=partial(draw_panel, desk.log, session))
        self.controls = Controls(session, project)
        self._stands: tuple[bool, bool, bool] | None = None

    def html(self, newest: int | None) -> Html:
        """The page's own part, with so many of the newest items (None: all)."""
        scene = self.scene
        flow = (self.controls.head(), scene.log_html(newest), scene.status_html(), self.controls.foot())
        return element(
            "main",
            element("div", *flow, class_="flow"),
            element("aside", scene.panels_html(newest), aria_label="About this session"),
            id="session",
            tabindex="-1",
            data_session=scene.session,
            data_position=str(scene.position),
            data_events=f"/api/sessions/{scene.session}/patches",
        )

    async def catch_up(self, position: Position | None = None) -> list[Seen]:
        """Fold what happened up to a position (None: all there is); returns what was found beyond it."""
        until = (position.seq, position.byte) if position else None
        while seen := self.watch.look():
            known = [
                each for each in seen if until is None or (each.position.seq, each.position.byte) <= until
            ]
            self.scene.skip(known)
            for each in known:
                list(self._talked(each))
            if len(known) < len(seen):
                return list(seen[len(known) :])
            await asyncio.sleep(0)  # a long session lets others go on meanwhile
        return []

    def look_after(self) -> list[Patch]:
        """What changes by what no event here tells: its process may have died, its change been taken back."""
        return [*self._look_at_work(), *self.forget_undone()]

    def _look_at_work(self) -> list[Patch]:
        desk, talk, session = self.desk, self.controls, self.scene.session
        stands = desk.is_lost(session), desk.is_resumable(session), desk.is_waiting(session)
        if stands == self._stands:
            return []
        self._stands, died = stands, stands[0]
        return [*talk.stand(*stands), *(self.scene.give_up() if died else ())]

    def forget_undone(self) -> list[Patch]:
        """A change is taken back in a session of its own."""
        controls = self.controls
        if not controls.applied or not is_undone(self.watch.log, controls.applied):
            return []
        controls.applied = ""
        return [Patch("replace", "actions", controls.actions())]

    def take(self, seen: Iterable[Seen]) -> list[Patch]:
        """More events: what they change."""
        events = list(seen)
        talked = [patch for each in events for patch in self._talked(each)]
        return self.scene.take_all(events) + talked

    def _talked(self, seen: Seen) -> Iterable[Patch]:
        return self.controls.take(seen.kind, read_body(seen), seen.at) if seen.kind in CONTROLLING else ()


@_stream_routes.get("/sessions/{id}/patches")
async def patches(
    desk: OneDesk,
    id: Id,
    after: Annotated[str, Query(max_length=60)] = "",
    last_event_id: Annotated[str, Header(max_length=60)] = "",
) -> StreamingResponse:
    """The changes of a session's page from a position on."""
    told = _told(SessionStream(desk, id), position_of(after, last_event_id))
    return StreamingResponse(told, headers=HEADERS, media_type="text/event-stream")


@_stream_routes.get("/sessions/{id}/earlier")
async def earlier(desk: OneDesk, id: Id, before: Annotated[str, Query(max_length=60)]) -> Response:
    """Items before one that a page shows, as patches."""
    shown = SessionStream(desk, id)
    await shown.catch_up()
    return Response(_json(shown.scene.earlier(before)), media_type="application/json")


async def _told(shown: SessionStream, position: Position) -> AsyncIterator[bytes]:
    """First what a page that was away may show and is over, then what is new."""
    beyond = await shown.catch_up(position)
    yield _frame("rejoin", shown.scene.rejoin())
    if beyond:
        yield _patches(shown, beyond)

    def beside() -> bytes:
        patches = shown.look_after()
        return _frame("rejoin", patches) if patches else b""

    async for data in stream(shown.watch, lambda seen: _patches(shown, seen), beside=beside):
        yield data


def _patches(shown: SessionStream, seen: Iterable[Seen]) -> bytes:
    return _frame("patch", shown.take(seen), shown.scene.position)


def _frame(kind: str, patches: Iterable[Patch], position: Position | None = None) -> bytes:
    """One server-sent event. With a position it is never carried out twice."""
    number = f"id: {position}\n" if position else ""
    return f"{number}event: {kind}\ndata: {_json(patches)}\n\n".encode()


def _json(patches: Iterable[Patch]) -> str:
    return json.dumps([asdict(patch) for patch in patches])


_pages = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_MOST: Final = 100  # sessions in the list
_FIRST: Final = {"asks": 0, "working": 1}


@_pages.get("/")
async def first_page(desk: OneDesk) -> str:
    """All sessions, and the form for the next one."""
    from kith.agent.direct_tools import model_tools

    choices = Choices(model_tools(), list(desk.projects))
    where = f" in {desk.first.root.name}" if len(desk.projects) == 1 else ""
    greeting = element("h1", f"What should be done{where}?", class_="greet")
    listed = overview(rows_of(desk), time.time())
    return plain_page("Sessions", greeting, composer(choices), listed, here="/", kind="measure")


@_pages.get("/sessions/{id}")
async def session_page(desk: OneDesk, id: Id, all: Annotated[bool, Query()] = False) -> str:
    """One session as it is now; its page goes on from there."""
    shown = SessionStream(desk, id)
    await shown.catch_up()
    shown.forget_undone()
    shown.look_after()
    for letter in Inbox(desk.log, id).letters(take=False):
        shown.controls.model = shown.controls.model or str((letter.flags or {}).get("model", ""))
    body = frame(sidebar(rows_of(desk), time.time(), id), shown.html(None if all else NEWEST))
    return page(shown.controls.title or "Session", body, content="session")


@_pages.get("/sessions/{id}/items/{item}")
async def item_page(desk: OneDesk, id: Id, item: Annotated[str, Path(max_length=60)]) -> str:
    """One item of a session with nothing left out."""
    shown = SessionStream(desk, id)
    await shown.catch_up()
    whole = shown.scene.item(item)
    if whole is None:
        raise Refused(404, "There is no such step in this session.")
    back = element("p", element("a", shown.controls.title, href=f"/sessions/{id}#{item}"), class_="crumbs")
    return plain_page(shown.controls.title, back, element("ol", whole, id="log"))


# --- pieces ----------------------------------------------------------------------------------


@_pages.get("/pieces/sessions")
async def sessions_piece(desk: OneDesk, here: Annotated[str, Query(max_length=64)] = "") -> str:
    """The list's items, again."""
    return items(rows_of(desk), time.time(), here)


@_pages.get("/pieces/models")
async def models_piece(desk: OneDesk, first: Annotated[str, Query(max_length=300)] = "") -> str:
    """The models that can be asked, as options; `first` stands above them, else the usual one."""
    from kith.agent.models import list_all

    chosen = desk.first.settings
    listed = await list_all(chosen, desk.log)
    rates = [(row.name, row.write_rate) for row in listed.rows]
    return model_options(rates, first, found=bool(rates or chosen.model))


def rows_of(desk: Desk) -> list[Row]:
    """The sessions of all projects: those that ask something, those at work, then the newest."""
    several, at_work = len(desk.projects) > 1, desk.log.open_ids()
    waiting = {*waiting_sessions(desk.log.path.parent)}.difference(at_work)
    rows = [
        _row(desk, each, name if several else "", each.id in waiting)
        for name, project in desk.projects.items()
        for each in desk.log.sessions(project.root, _MOST, at_work)
    ]
    return sorted(rows, key=lambda row: (_FIRST.get(row.status, len(_FIRST)), -row.at))[:_MOST]


def _row(desk: Desk, summary: Summary, project: str, waits: bool) -> Row:
    status = summary.status
    if status == "unfinished" and desk.is_working(summary.id):
        status = "asks" if desk.question(summary.id) else "working"
    return Row(summary.id, summary.title, summary.at, status, summary.model, project, waits)


router = APIRouter()
router.include_router(versioned(_stream_routes))
router.include_router(_pages)
