"""Stream the changes of a session's page: a fold of its events that pages can join at any point."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from copy import copy
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import StreamingResponse
from msgspec.structs import asdict

from kith.core.events import RunStarted
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import Id, OneDesk, found
from kith.features.web.api.events import HEADERS, position_of, stream
from kith.features.web.desk import Desk
from kith.features.web.html.controls import CONTROLLING, Controls
from kith.features.web.html.listing import title_of
from kith.features.web.html.patches import Patch
from kith.features.web.html.scene import Scene
from kith.features.web.part import draw_panels
from kith.memory.inbox import Inbox
from kith.memory.live import Position, Seen, read_seen
from kith.memory.queries import is_undone
from kith.view.markup import Html, element

_routes = APIRouter(include_in_schema=False)


class SessionStream:
    """A session's page as it is now, here or in a browser."""

    def __init__(self, desk: Desk, session: str, upto: Position | None = None) -> None:
        """Begin with what was folded for another page, if that is no more than `upto` (None: all there is).

        Raises Refused for a session that is not of these projects.
        """
        project = found(desk, session).root.name
        build = partial(draw_panels, desk.log, session)
        scene, controls = _FOLDED.get((desk.log.path, session), (None, None))
        if scene is None or controls is None or (upto and _order(scene.position) > _order(upto)):
            scene, controls = Scene(session, project=project), Controls(session, project)
        self.desk, self.scene, self.controls = desk, scene.copied(build), copy(controls)
        self.watch = desk.watch(session, scene.position)
        self._stands: tuple[bool, bool, bool] | None = None
        self._begun: set[int] = set()  # letters that are tasks in the log already

    def html(self, newest: int | None) -> Html:
        """The page's own part, with so many of the newest items (None: all)."""
        scene = self.scene
        controls = self.controls
        log, sent = scene.log_html(newest), controls.sent_html()
        flow = (controls.head(), log, sent, scene.status_html(), controls.foot())
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
        while seen := self.watch.look():
            known = [each for each in seen if position is None or _order(each.position) <= _order(position)]
            self.scene.skip(known)
            for each in known:
                list(self._talked(each))
            if len(known) < len(seen):
                return list(seen[len(known) :])
            await asyncio.sleep(0)  # a long session lets others go on meanwhile
        self._keep()
        return []

    def _keep(self) -> None:
        """Let the next page begin where this one is: its stream follows at once."""
        key = self.watch.log.path, self.scene.session
        _FOLDED.pop(key, None)
        _FOLDED[key] = self.scene.copied(), copy(self.controls)
        while len(_FOLDED) > _MOST:
            del _FOLDED[next(iter(_FOLDED))]

    def look_after(self) -> list[Patch]:
        """Update what no event here tells: its process may have died, its change may be undone."""
        return [*self._look_at_work(), *self._look_at_letters(), *self.forget_undone()]

    def _look_at_letters(self, heard: bool = False) -> list[Patch]:
        """Show the words that were sent and that the log does not hold yet.

        `heard`: the log holds more of them now, so a page may show some that this stream never saw waiting.
        """
        controls, waiting = self.controls, Inbox(self.watch.log, self.scene.session).waiting()
        letters = [letter for number, letter in waiting if number not in self._begun]
        for letter in letters:
            controls.model = controls.model or str((letter.flags or {}).get("model", ""))
            controls.title = controls.title or title_of(letter.words)
        sent = tuple(letter.words for letter in letters if letter.words)
        if sent == controls.sent and not heard:
            return []
        controls.sent = sent
        return [Patch("replace", "sent", controls.sent_html())]

    def _begin(self, task: str) -> None:
        """A task begins: its letter is marked as heard a moment later."""
        waiting = Inbox(self.watch.log, self.scene.session).waiting()
        self._begun.update(number for number, letter in waiting[:1] if task.startswith(letter.words))

    def _look_at_work(self) -> list[Patch]:
        desk, talk, session = self.desk, self.controls, self.scene.session
        stands = desk.is_lost(session), desk.is_resumable(session), desk.is_waiting(session)
        if stands == self._stands:
            return []
        self._stands, died = stands, stands[0]
        return [*talk.stand(*stands), *(self.scene.give_up() if died else ())]

    def forget_undone(self) -> list[Patch]:
        """Update undone changes: an undo is a session of its own."""
        controls = self.controls
        if not controls.applied or not is_undone(self.watch.log, controls.applied):
            return []
        controls.applied = ""
        return [Patch("replace", "actions", controls.actions())]

    def take(self, seen: Iterable[Seen]) -> list[Patch]:
        """More events: what they change."""
        events = list(seen)
        talked = [patch for each in events for patch in self._talked(each)]
        for each in events:
            if each.kind == "RunStarted" and isinstance(event := read_seen(each), RunStarted):
                self._begin(event.task)
        heard = any(each.kind == "RunStarted" or _is_spoken(each) for each in events)
        letters = self._look_at_letters(heard) if heard else []
        return self.scene.take_all(events) + talked + letters

    def _talked(self, seen: Seen) -> Iterable[Patch]:
        return self.controls.take(read_seen(seen), seen.at) if seen.kind in CONTROLLING else ()


def _is_spoken(seen: Seen) -> bool:
    """True for words of a person; the event is not decoded for that."""
    return seen.kind == "Said" and '"author":"person"' in seen.body


_MOST: Final = 3  # sessions whose folds are kept
_FOLDED: Final[dict[tuple[Path, str], tuple[Scene, Controls]]] = {}  # the oldest first


def _order(position: Position) -> tuple[int, int]:
    return position.seq, position.byte


@_routes.get("/sessions/{id}/patches")
async def patches(
    desk: OneDesk,
    id: Id,
    after: Annotated[str, Query(max_length=60)] = "",
    last_event_id: Annotated[str, Header(max_length=60)] = "",
) -> StreamingResponse:
    """The changes of a session's page from a position on."""
    position = position_of(after, last_event_id)
    told = _told(SessionStream(desk, id, position), position)
    return StreamingResponse(told, headers=HEADERS, media_type="text/event-stream")


@_routes.get("/sessions/{id}/earlier")
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


router = versioned(_routes)
