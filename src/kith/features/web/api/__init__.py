"""The routes of the API, one module for each kind of thing."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import APIRouter


def versioned(routes: "APIRouter") -> "APIRouter":
    """The same routes under /api/v1, which is documented, and under /api, which means the newest version."""
    from fastapi import APIRouter

    router = APIRouter()
    router.include_router(routes, prefix="/api/v1")
    router.include_router(routes, prefix="/api", include_in_schema=False)
    return router
