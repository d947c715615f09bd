"""The files of the page, from the package: what carries their version in its address may be kept for good."""

from typing import Annotated, Final

from fastapi import APIRouter, Header, Response

from kith.features.web.html.assets import TYPES, assets, version
from kith.features.web.problems import Refused

router = APIRouter(include_in_schema=False)
_FOR_GOOD: Final = "public, max-age=31536000, immutable"


@router.get("/static/{of}/{name}")
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
