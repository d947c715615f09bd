"""The files of the projects: which ones there are, and what is in them; never a path outside."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from typing_extensions import TypedDict

from kith.core.errors import TreeError
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import OneDesk, OneProject
from kith.features.web.api.schemas import answer, problems
from kith.features.web.browsing import list_files, read_file
from kith.features.web.problems import Refused

_routes = APIRouter(tags=["files"])


class FileList(TypedDict):
    """Paths below the project's folder; `left_out` more did not fit."""

    files: list[str]
    left_out: int


class FileText(TypedDict):
    """Lines `start` to `end`, counted from 1, of a file that has so many `lines` and `bytes`."""

    path: str
    text: str
    start: int
    end: int
    lines: int
    bytes: int


@_routes.get(
    "/files",
    summary="The files of a project, those that git ignores aside",
    response_model=FileList,
    responses=problems(409),
)
async def files(
    desk: OneDesk,
    project: OneProject = "",
    path: Annotated[str, Query(description="A folder; empty: all.", max_length=4_096)] = "",
    limit: Annotated[int, Query(ge=1, le=20_000)] = 2_000,
) -> Response:
    listed = await list_files(desk.project(project), path, limit)
    return answer(FileList(files=list(listed.files), left_out=listed.total - len(listed.files)))


@_routes.get(
    "/file",
    summary="The text of a file; secrets, links and binary files are not shown",
    response_model=FileText,
    responses=problems(404),
)
async def file(
    desk: OneDesk,
    path: Annotated[str, Query(description="As /files names it.", max_length=4_096)],
    project: OneProject = "",
    start: Annotated[int, Query(ge=1, le=100_000_000)] = 1,
    end: Annotated[int, Query(ge=0, le=100_000_000, description="0: the last line.")] = 0,
) -> Response:
    try:
        page = await read_file(desk.project(project), path, start, end)
    except TreeError as error:
        raise Refused(404, f"{str(error).rstrip('.')}.") from None
    return answer(
        FileText(
            path=page.path,
            text=page.text,
            start=page.start,
            end=page.end,
            lines=page.lines,
            bytes=page.bytes,
        )
    )


router = versioned(_routes)
