"""The application: its routes, its errors, and the desk that they share."""

import importlib
from typing import Final

from fastapi import FastAPI, Request

from kith import __version__
from kith.features.web.desk import Desk
from kith.features.web.html.page import problem_page
from kith.features.web.problems import tell_problems

API_VERSION: Final = 1
# Each module has a `router`; the paths say what it is about.
_ROUTES: Final = (
    "web.api.sessions",
    "web.api.events",
    "web.api.results",
    "web.api.answers",
    "web.api.agent",
    "web.api.files",
    "web.api.tools",
    "web.api.models",
    "web.api.profile",
    "web.api.metrics",
    "web.api.settings",
    "web.api.health",
    "gateway.completions",
    "web.pages.measured",
    "web.pages.tools",
    "web.pages.sessions",
    "web.pages.files",
    "web.pages.stream",
    "web.static",
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
        app.include_router(importlib.import_module(f"kith.features.{name}").router)
    return app


async def desk_of(request: Request) -> Desk:
    """The desk, for routes: `desk: Annotated[Desk, Depends(desk_of)]`."""
    desk: Desk = request.app.state.desk
    return desk
