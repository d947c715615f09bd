"""The forge that a fleet's publisher opens pull requests on, by its settings."""

from typing import Final
from urllib.parse import urlsplit

from kith.core.errors import UsageError
from kith.features.fleet.settings import Kind
from kith.features.forges.client import FORGES, Forge
from kith.models.providers.wire import is_cloud

TOKEN: Final = "KITH_FLEET_TOKEN"


def open_forge(kind: Kind, url: str, token: str) -> Forge | None:
    """The forge of the settings; None where no pull requests are wanted. Raises UsageError."""
    if kind == "none":
        return None
    forge = FORGES[kind]
    address = (url or forge.home).rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise UsageError(
            f"`fleet.forge_url` is the forge's address, as https://git.example.com, not {url!r}."
        )
    if parts.scheme == "http" and is_cloud(address):
        raise UsageError("`fleet.forge_url` needs https: a token goes there.")
    if not token:
        raise UsageError(f"`fleet.pull_requests` needs a token of the forge in {TOKEN}.")
    return forge(address, token)
