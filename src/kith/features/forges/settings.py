"""The forges that kith may talk to: their addresses, their tokens, and what it may do there unasked."""

import os
import re
from collections.abc import MutableMapping
from typing import Final, Literal
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from kith.core.errors import UsageError
from kith.features.forges import ForgesSettings
from kith.features.forges.client import FORGES, Forge, ForgeKind, Patience
from kith.models.providers.wire import is_cloud
from kith.view.printing import printable

Subject = Literal["issue", "pull request"]

_NUMBERED: Final[dict[ForgeKind, dict[Subject, str]]] = {
    "github": {"issue": r"([^/]+/[^/]+)/issues/(\d{1,9})", "pull request": r"([^/]+/[^/]+)/pull/(\d{1,9})"},
    "gitlab": {
        "issue": r"([^/]+(?:/[^/]+)+)/-/(?:issues|work_items)/(\d{1,9})",
        "pull request": r"([^/]+(?:/[^/]+)+)/-/merge_requests/(\d{1,9})",
    },
    "gitea": {"issue": r"([^/]+/[^/]+)/issues/(\d{1,9})", "pull request": r"([^/]+/[^/]+)/pulls/(\d{1,9})"},
}


class Place(Struct, frozen=True):
    """An issue or a pull request at its forge."""

    forge: Forge
    project: str
    number: int


def token_name(kind: ForgeKind) -> str:
    """The environment variable with the token of such a forge."""
    return f"KITH_{kind.upper()}_TOKEN"


def take_tokens(environ: MutableMapping[str, str] = os.environ) -> dict[ForgeKind, str]:
    """The tokens of the environment, which has them no more: no program that kith starts gets them."""
    return {kind: environ.pop(token_name(kind), "").strip() for kind in FORGES}


def find_forges(
    settings: ForgesSettings, tokens: dict[ForgeKind, str], patience: Patience
) -> tuple[Forge, ...]:
    """The forges with an address, each with its own token. Raises UsageError."""
    addresses: dict[ForgeKind, str] = {
        "github": settings.github,
        "gitlab": settings.gitlab,
        "gitea": settings.gitea,
    }
    return tuple(_forge(kind, url, tokens.get(kind, ""), patience) for kind, url in addresses.items() if url)


def _forge(kind: ForgeKind, url: str, token: str, patience: Patience) -> Forge:
    address = url.rstrip("/")
    parts = _split(address)
    if parts is None or parts.query or parts.fragment:
        raise UsageError(f"`forges.{kind}` is an address like https://git.example.com, not {url!r}.")
    if parts.scheme == "http" and token and is_cloud(address):
        raise UsageError(f"`forges.{kind}` needs https: a token goes there.")
    if any(not letter.isprintable() or letter.isspace() for letter in token):
        raise UsageError(f"The token in {token_name(kind)} holds a blank or a control character.")
    return FORGES[kind](address, token, patience=patience)


def find_place(url: str, subject: Subject, forges: tuple[Forge, ...]) -> Place:
    """The issue or pull request at this URL. Raises UsageError for any other, and for a foreign forge."""
    parts, shown = _split(url), printable(url)
    article = "an" if subject == "issue" else "a"
    if parts is None:
        raise UsageError(f"{shown} is no URL of {article} {subject}.")
    for forge in forges:
        own = urlsplit(forge.url)
        base = f"{own.path.rstrip('/')}/"
        if (own.scheme, own.netloc) == (parts.scheme, parts.netloc) and parts.path.startswith(base):
            pattern = _NUMBERED[forge.kind][subject]
            if found := re.fullmatch(pattern, parts.path.removeprefix(base).rstrip("/")):
                return Place(forge, found[1], int(found[2]))
    known = [forge.url for forge in forges]
    if any(url.startswith(f"{each}/") for each in known):
        raise UsageError(f"{shown} is no URL of {article} {subject}.")
    where = printable(f"{parts.scheme}://{parts.netloc}")
    raise UsageError(
        f"kith knows no forge at {where}: set forges.github, forges.gitlab or forges.gitea to its address."
    )


def _split(url: str) -> SplitResult | None:
    """An http address in its parts; None for anything else, and for one with a password in it."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
        good = good and url.isprintable() and url == url.strip()  # urlsplit leaves out what is not
    except ValueError:
        return None
    return parts if good else None
