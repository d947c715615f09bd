"""The application: its routes, its static files, its errors, and the desk that they share."""

import importlib
from typing import Annotated, Final

from fastapi import APIRouter, FastAPI, Header, Response
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute

from kith import __version__
from kith.features.web.desk import Desk
from kith.features.web.html.assets import TYPES, assets, version
from kith.features.web.html.page import problem_page
from kith.features.web.part import web_parts
from kith.features.web.problems import Refused, tell_problems

# The files of the page, from the package: what carries their version in its address may be kept for
# good.

_static = APIRouter(include_in_schema=False)
_FOR_GOOD: Final = "public, max-age=31536000, immutable"


@_static.get("/static/{of}/{name}")
async def static_file(of: str, name: str, if_none_match: Annotated[str, Header()] = "") -> Response:
    """One of the files. A page of another kith's still gets this one's, and keeps nothing."""
    data = assets().get(name)
    if data is None:
        raise Refused(404, "There is no such file.")
    tag = f'"{version()}"'
    headers = {"ETag": tag, "Cache-Control": _FOR_GOOD if of == version() else "no-cache"}
    if tag in if_none_match:
        return Response(status_code=304, headers=headers)
    return Response(data, headers=headers, media_type=TYPES[name[name.rfind(".") :]])


API_VERSION: Final = 1
# Each module has a `router`; the paths say what it is about.
_ROUTES: Final = (
    "api.sessions",
    "api.events",
    "api.agent",
    "api.project",
    "api.server_info",
    "pages",
    "session_stream",
)


def make_app(desk: Desk) -> FastAPI:
    """The whole application, behind the door (`guard.py`)."""
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
    app.include_router(_static)
    for router in (router for part in web_parts() for router in part.routes):
        app.include_router(router)
    return app


def page_names() -> frozenset[str]:
    """The first part of the path of each page; "" for the first one."""
    own = importlib.import_module("kith.features.web.pages").router
    routers = (own, *(router for part in web_parts() for router in part.routes))
    routes = (route for router in routers for route in router.routes if isinstance(route, APIRoute))
    return frozenset(route.path.split("/")[1] for route in routes if route.response_class is HTMLResponse)
