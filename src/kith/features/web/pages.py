"""The pages: sessions, one of them or of its items; the files of a project, and tools without a model."""

import time
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query
from fastapi.responses import HTMLResponse

from kith.agent.kept_trial import waiting_sessions
from kith.agent.models import list_all
from kith.core.errors import TreeError
from kith.features.web.api.dependencies import Id, OneDesk, OneProject
from kith.features.web.browsing import read_file
from kith.features.web.desk import Desk
from kith.features.web.direct_tools import direct_tools, model_tools
from kith.features.web.html.listing import (
    Choices,
    ListedSession,
    composer,
    items,
    model_options,
    overview,
    sidebar,
)
from kith.features.web.html.page import frame, page, plain_page
from kith.features.web.html.project import file_html, files_html, tools_html
from kith.features.web.html.scene import NEWEST
from kith.features.web.problems import Refused
from kith.features.web.session_stream import SessionStream
from kith.memory.listing import Summary
from kith.view.markup import element

# The pages of sessions: all of them, one of them, one of its items; and pieces that are asked for
# again.

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_MOST: Final = 100  # sessions in the list
_FIRST: Final = {"asks": 0, "working": 1}


@router.get("/")
async def first_page(desk: OneDesk) -> str:
    """All sessions, and the form for the next one."""
    choices = Choices(model_tools(), list(desk.projects))
    where = f" in {desk.first.root.name}" if len(desk.projects) == 1 else ""
    greeting = element("h1", f"What should be done{where}?", class_="greet")
    listed = overview(rows_of(desk), time.time())
    return plain_page("Sessions", greeting, composer(choices), listed, here="/", kind="measure")


@router.get("/sessions/{id}")
async def session_page(desk: OneDesk, id: Id, all: Annotated[bool, Query()] = False) -> str:
    """One session as it is now; its page goes on from there."""
    shown = SessionStream(desk, id)
    await shown.catch_up()
    shown.forget_undone()
    shown.look_after()
    body = frame(sidebar(rows_of(desk), time.time(), id), shown.html(None if all else NEWEST))
    return page(shown.controls.title or "Session", body, content="session")


@router.get("/sessions/{id}/items/{item}")
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


@router.get("/pieces/sessions")
async def sessions_piece(desk: OneDesk, here: Annotated[str, Query(max_length=64)] = "") -> str:
    """The list's items, again."""
    return items(rows_of(desk), time.time(), here)


@router.get("/pieces/models")
async def models_piece(desk: OneDesk, first: Annotated[str, Query(max_length=300)] = "") -> str:
    """The models that can be asked, as options; `first` stands above them, else the usual one."""
    chosen = desk.first.settings
    listed = await list_all(chosen, desk.log)
    rates = [(row.name, row.write_rate) for row in listed.rows]
    return model_options(rates, first, found=bool(rates or chosen.model))


def rows_of(desk: Desk) -> list[ListedSession]:
    """The sessions of all projects: those that ask something, those at work, then the newest."""
    several, at_work = len(desk.projects) > 1, desk.log.open_ids()
    waiting = {*waiting_sessions(desk.log.path.parent)}.difference(at_work)
    rows = [
        _row(desk, each, name if several else "", each.id in waiting)
        for name, project in desk.projects.items()
        for each in desk.log.sessions(project.root, _MOST, at_work)
    ]
    names = {id(project): name for name, project in desk.projects.items()} if several else {}
    for session, project, letter in desk.begun():
        model = str((letter.flags or {}).get("model", ""))
        rows.append(
            ListedSession(session, letter.words, time.time(), "working", model, names.get(id(project), ""))
        )
    return sorted(rows, key=lambda row: (_FIRST.get(row.status, len(_FIRST)), -row.at))[:_MOST]


def _row(desk: Desk, summary: Summary, project: str, waits: bool) -> ListedSession:
    status = summary.status
    if status == "unfinished" and desk.is_working(summary.id):
        status = "asks" if desk.question(summary.id) else "working"
    return ListedSession(summary.id, summary.title, summary.at, status, summary.model, project, waits)


# The pages of a project: its files, and the tools that need no model.


@router.get("/files")
async def files_page(
    desk: OneDesk, project: OneProject = "", path: Annotated[str, Query(max_length=4_096)] = ""
) -> str:
    """The files of a project, or one of them."""
    chosen = desk.project(project)
    if not path:
        files = await chosen.tree.files()
        return plain_page("Files", files_html(files, project), here="/files")
    try:
        found = await read_file(chosen, path)
    except TreeError as error:
        raise Refused(404, f"{str(error).rstrip('.')}.") from None
    return plain_page(path, file_html(path, found.text, project), here="/files")


@router.get("/tools")
async def tools_page(desk: OneDesk, project: OneProject = "") -> str:
    """Each tool as a form."""
    desk.project(project)  # refused where there is none of that name
    return plain_page("Tools", tools_html(direct_tools(), project), here="/tools", styles=("tools.css",))
