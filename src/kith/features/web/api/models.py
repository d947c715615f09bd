"""The models that can be asked."""

from typing import Any

from fastapi import APIRouter, Response
from typing_extensions import TypedDict

from kith.agent.models import list_all
from kith.core.codec import encode
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import OneDesk, OneProject
from kith.features.web.api.refusals import problems
from kith.features.web.api.shapes import answer

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
