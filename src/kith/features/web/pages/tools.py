"""The page of the tools that need no model."""

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from kith.agent.direct_tools import direct_tools
from kith.features.web.api.dependencies import OneDesk, OneProject
from kith.features.web.html.page import plain_page
from kith.features.web.html.tools import tools_html

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/tools")
async def tools_page(desk: OneDesk, project: OneProject = "") -> str:
    """Each tool as a form."""
    desk.project(project)  # refused where there is none of that name
    return plain_page("Tools", tools_html(direct_tools(), project), here="/tools", styles=("tools.css",))
