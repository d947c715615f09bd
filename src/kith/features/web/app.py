"""The application: its routes, its errors, and the desk that they share."""

import importlib
from typing import Final

from fastapi import FastAPI, Request

from kith import __version__
from kith.features.web.desk import Desk
from kith.features.web.html.page import problem_page
from kith.features.web.part import web_parts
from kith.features.web.problems import tell_problems

API_VERSION: Final = 1
# Each module has a `router`; the paths say what it is about.
_ROUTES: Final = (
    "api.sessions",
    "api.events",
    "api.answers",
    "api.agent",
    "api.files",
    "api.tools",
    "api.metrics",
    "api.server_info",
    "pages.sessions",
    "pages.project",
    "pages.stream",
    "static",
)


def make_app(desk: Desk) -> FastAPI:
    """The whole application. The door (`guard.py`) stands before it."""
    about = f"kith {__version__}"  # no redirects: behind a proxy, their address would be another one
    app = FastAPI(
        title="kith",
        version=f"{API_VERSION}",
        description=about,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.desk = desk
    tell_problems(app, problem_page)
    for name in _ROUTES:
        app.include_router(importlib.import_module(f"kith.features.web.{name}").router)
    for router in (router for part in web_parts() for router in part.routes):
        app.include_router(router)
    return app


async def desk_of(request: Request) -> Desk:
    """The desk, for routes: `desk: Annotated[Desk, Depends(desk_of)]`."""
    desk: Desk = request.app.state.desk
    return desk
