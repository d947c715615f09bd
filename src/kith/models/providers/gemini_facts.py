"""What the Gemini API tells of a model."""

from dataclasses import dataclass
from urllib.parse import quote

from kith.models.providers.answers import plain, string, whole
from kith.models.providers.faults import MissingModelError, NoRouteError
from kith.models.providers.listed import missing
from kith.models.providers.sampling import MAX_TOKENS
from kith.models.providers.wire import Endpoint

URL = "https://generativelanguage.googleapis.com"
_REPLY = 16_384  # tokens; thoughts count too, and what is not used costs nothing
_OLDER = ("gemini-1", "gemini-2", "gemma", "learnlm")


@dataclass(frozen=True, slots=True)
class About:
    """A model of the list. Sizes in tokens; 0 where nobody says. `version` is its maker's own."""

    id: str
    version: str = ""
    window: int = 0
    longest: int = 0
    thinks: bool = False

    @property
    def reply(self) -> int:
        """The limit of a reply where none is set."""
        return min(self.longest, _REPLY) or MAX_TOKENS

    @property
    def is_older(self) -> bool:
        """Before Gemini 3: thinking has a budget instead of levels, and calls need no signature."""
        return self.id.startswith(_OLDER)


def gemini_endpoint(url: str, key: str, *, cloud: bool | None = None, stall_s: float = 600.0) -> Endpoint:
    """The Gemini API at an address, "" for Google's own; the key goes into its own header, not into a URL."""
    root = (url or URL).strip().rstrip("/").removesuffix("/v1beta")
    endpoint = Endpoint(root, key, "x-goog-api-key", cloud=cloud, stall_s=stall_s)
    if endpoint.is_cloud:
        endpoint.connect_s = 10.0
    return endpoint


def path_of(model: str, action: str = "") -> str:
    """Where a model is found, and what is to be done with it."""
    return f"/v1beta/models/{quote(model.removeprefix('models/'), safe='')}{f':{action}' if action else ''}"


async def read_about(endpoint: Endpoint, model: str) -> About:
    """Look a model up. Raises ModelError, and NoModelError when it is not there.

    Source: https://ai.google.dev/api/models#method:-models.get.
    """
    try:
        row = plain(await endpoint.get(path_of(model)))
    except MissingModelError as error:
        raise await missing("gemini", endpoint, model) from error
    except NoRouteError:
        return About(model)
    return About(
        string(row.get("name")).removeprefix("models/") or model,
        string(row.get("version")),
        whole(row.get("inputTokenLimit")),
        whole(row.get("outputTokenLimit")),
        row.get("thinking") is True,
    )
