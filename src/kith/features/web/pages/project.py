"""The pages of a project: its files, and the tools that need no model."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from kith.agent.direct_tools import direct_tools
from kith.core.errors import TreeError
from kith.features.web.api.dependencies import OneDesk, OneProject
from kith.features.web.browsing import read_file
from kith.features.web.html.files import file_html, files_html
from kith.features.web.html.page import plain_page
from kith.features.web.html.tools import tools_html
from kith.features.web.problems import Refused

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


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
