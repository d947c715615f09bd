"""The files that a page needs beside itself: styles, scripts, a picture; they come with the package."""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def assets() -> dict[str, bytes]:
    """The files by name, read once."""
    folder = files("kith.features.web.html") / "static"
    found = {
        each.name: each.read_bytes()
        for each in folder.iterdir()
        if each.name[each.name.rfind(".") :] in TYPES
    }
    return dict(sorted(found.items()))


@cache
def version() -> str:
    """The version of these files, as part of their addresses."""
    digest = sha256()
    for name, data in assets().items():
        digest.update(f"{name} {len(data)}\n".encode() + data)
    return digest.hexdigest()[:12]


def address(name: str) -> str:
    """The address of one of the files."""
    return f"/static/{version()}/{name}"
