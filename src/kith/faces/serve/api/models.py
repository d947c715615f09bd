"""The models that can be asked."""

from typing import Any

from fastapi import APIRouter, Response
from typing_extensions import TypedDict

from kith.app.models import list_all
from kith.core.codec import encode
from kith.faces.serve.api import versioned
from kith.faces.serve.api.dependencies import OneDesk, OneProject
from kith.faces.serve.api.refusals import problems
from kith.faces.serve.api.shapes import answer

_routes = APIRouter(tags=["models"])


class ModelList(TypedDict):
    """Every model, servers' first, by the name that `model` takes; `notes` are sentences for a person.

    Sizes in bytes, windows in tokens, rates in tokens a second; 0, "" and null: not known.
    """

    models: list[dict[str, Any]]
    notes: list[str]


@_routes.get(
    "/models",
    summary="The models that can be asked, with what was measured of them",
    response_model=ModelList,
    responses=problems(503),
)
async def models(desk: OneDesk, project: OneProject = "") -> Response:
    listed = await list_all(desk.project(project).settings, desk.log)
    return answer(ModelList(models=[encode(row) for row in listed.rows], notes=list(listed.notes)))


router = versioned(_routes)
