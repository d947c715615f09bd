"""What a hub's refusals mean, in one sentence each for the person."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kith.core.errors import KithError, ModelError, NoModelError
from kith.models.providers.faults import PASSING, retry_after

if TYPE_CHECKING:
    import httpx2


def refusal(url: str, token: str, repo: str, response: "httpx2.Response", path: str = "") -> KithError:
    """The error that an answer other than 200 amounts to; `path` is the file, "" for the listing.

    The hub tells its reasons apart in X-Error-Code; it answers 401 for a repository that does not exist when
    nobody is logged in.
    """
    status, code = response.status_code, response.headers.get("x-error-code", "")
    host = response.url.host
    if status == 429:
        after = retry_after(response.headers.get("retry-after"))
        when = f"in {after:,.0f} s" if after else "later"
        return ModelError(
            f"{host} wants fewer requests, and the next one {when}", retryable=True, after_s=after
        )
    if status in PASSING:
        return ModelError(f"{host} cannot answer now ({status})", retryable=True)
    if origin(str(response.url)) != origin(url):
        # Only the hub decides who may read; the links that it hands out to other hosts grow old.
        return ModelError(f"{host} does not give the file out ({status})", retryable=True)
    if code == "GatedRepo" or (status == 403 and code != "RepoNotFound"):
        return _gated(url, token, repo)
    if code == "RepoNotFound" or (status == 404 and not path) or (status == 401 and not token):
        hint = "" if token else ", or it is private and needs a token in HF_TOKEN"
        return NoModelError(f"{url} has no repository {repo}{hint}.")
    if status == 401:
        return KithError(f"{url} does not accept the token (HF_TOKEN); it may have expired.")
    if status == 404:
        return NoModelError(f"{repo} has no file {path} any more; try again.")
    return KithError(f"{url} answered {status} for {repo}.")


def _gated(url: str, token: str, repo: str) -> KithError:
    if token:
        return KithError(
            f"{repo} is gated, and your token may not read it: accept its licence at {url}/{repo}."
        )
    return KithError(
        f"{repo} is gated: accept its licence at {url}/{repo}, and put a token of yours into HF_TOKEN."
    )


def unreachable(url: str, error: "httpx2.RequestError") -> ModelError:
    """A connection that failed, or broke, as what it means to the person."""
    import httpx2

    host = urlsplit(url).hostname
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
        why = f" ({error})" if str(error) else ""
        return ModelError(f"{host} cannot be reached{why}; is there a network?", retryable=True)
    if isinstance(error, httpx2.TimeoutException):
        return ModelError(f"{host} stopped sending", retryable=True)
    return ModelError(f"{host} broke the connection", retryable=True)


def tag_of(etag: str) -> str:
    """An entity tag without its quotes and its mark of weakness (RFC 9110 8.8.3)."""
    return etag.removeprefix("W/").strip('"')


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port of an address: what a secret may be sent to (RFC 6454)."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
