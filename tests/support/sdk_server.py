"""A server of tools by the protocol's own package: `sdk_server.py stdio`, or `sdk_server.py http PORT`."""

import sys
from typing import Annotated, Literal

from mcp.server.mcpserver import Context, Image, MCPServer
from pydantic import BaseModel, Field

server = MCPServer("real")


class Place(BaseModel):
    """Where it is."""

    path: str
    line: Annotated[int, Field(ge=1)] | None = None
    near: "list[Place]" = []


class Found(BaseModel):
    number: int
    words: str


@server.tool()
def locate(place: Place, kind: Literal["file", "symbol"] = "file") -> Found:
    """Look a place up."""
    return Found(number=place.line or 0, words=f"{kind} {place.path}")


@server.tool()
async def count(context: Context, up_to: int) -> str:
    """Count, and say how far."""
    for number in range(up_to):
        await context.report_progress(number + 1, up_to)
    return "counted"


@server.tool()
def fail() -> str:
    """Always fail."""
    raise ValueError("the disk is on fire")


@server.tool()
def draw() -> Image:
    """Draw a point."""
    return Image(data=b"\x89PNG....", format="png")


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
