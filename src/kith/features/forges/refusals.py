"""Word the refusals of a forge, each with what helps."""

import sys
from typing import Final

from kith.core.errors import BusyError
from kith.core.numbers import time_text
from kith.features.forges.client import ForgeKind, LimitedError, RefusedError
from kith.features.forges.settings import Place, Subject, token_name
from kith.view.printing import printable

_NEEDED: Final[dict[ForgeKind, str]] = {
    "github": "read and write for pull requests, issues and contents (in a workflow: `pull-requests: write`)",
    "gitlab": "the scope `api` and the role Reporter, to push Developer",
    "gitea": "the scopes `write:issue`, `write:repository` and `read:user`",
}


def word_refusal(place: Place, subject: Subject, error: RefusedError) -> str:
    """The refusal of a request about this issue or pull request."""
    kind, project = place.forge.kind, printable(place.project)
    match error.status:
        case 401:
            return f"{error}. Is the token in {token_name(kind)} still valid?"
        case 403:
            return f"{error}. The token needs {_NEEDED[kind]}; one of a fork's job may only read."
        case 404:
            has = f"the token in {token_name(kind)} may not see it"
            return f"{error}. {project} has no such {subject}, or {has}."
        case 301 | 302 | 307 | 308:
            return f"{error}. {project} has moved: use its new URL."
        case _:
            return str(error)


def word_limit(error: LimitedError) -> BusyError:
    """The end of kith's patience with a forge that wants fewer requests."""
    return BusyError(f"{error}; it can be asked again in {time_text(error.after_s)}.")


def tell(words: str) -> None:
    """Say something on stderr."""
    print(f"kith: {printable(words)}", file=sys.stderr, flush=True)
