"""The ways in which one server differs from the protocol that it speaks, as the person configured them."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from kith.core.structs import repr_without

VERSION_PATH: Final = "/v1"  # in front of every path of OpenAI's protocol


class Manner(Struct, frozen=True, eq=False):
    """Headers of every request; the path in place of `/v1`; and what differs in a request for a reply.

    Such a request gets more `fields`. `renames` gives its fields other names; "" leaves one out.
    """

    headers: Mapping[str, str] = {}
    path: str = VERSION_PATH
    fields: Mapping[str, Any] = {}
    renames: Mapping[str, str] = {}
    __repr__ = repr_without("headers")  # a key may be among them

    def place(self, path: str) -> str:
        """Return a path of the protocol as this server has it."""
        if self.path == VERSION_PATH or not path.startswith(f"{VERSION_PATH}/"):
            return path
        return self.path.rstrip("/") + path.removeprefix(VERSION_PATH)

    def request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of a request for a reply as this server takes it."""
        named = {self.renames.get(name, name): value for name, value in body.items()}
        named.pop("", None)
        return {**named, **self.fields}


USUAL: Final = Manner()
