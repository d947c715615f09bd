"""A Hugging Face hub: what a repository holds, its files from any byte on, and what its refusals mean.

Nothing that a hub says is trusted: names, sizes, digests and redirects are checked before they are used.
Sources: https://huggingface.co/docs/hub/api, and the headers of `resolve` as huggingface_hub reads them.
"""

import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from msgspec import Struct

from kith.core.errors import KithError, ModelError, NoModelError, UsageError
from kith.core.structs import repr_without
from kith.features.engine.quants import HubFile
from kith.models.providers.answers import read_json
from kith.models.providers.faults import PASSING, retry_after
from kith.models.providers.wire import is_loopback

if TYPE_CHECKING:
    import httpx2

USUAL_HUB = "https://huggingface.co"
REDIRECTS = 5
CONNECT_S, STALL_S = 10.0, 60.0
_LONGEST_LISTING = 32 * 1024 * 1024  # bytes
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DIGEST = re.compile(r"[0-9a-f]{64}|[0-9a-f]{40}")
_YES = frozenset({"1", "true", "yes", "on"})


class ChangedFileError(ModelError):
    """The server's file changed, so the partial download cannot continue: start over."""


class Listing(Struct, frozen=True):
    """The files of a repository at a commit; those that could not be checked later are left out."""

    commit: str
    files: tuple[HubFile, ...]


class Arrival(Struct, frozen=True):
    """A file's bytes from `start` on, as they come; `etag` names the content at the server that sends it."""

    start: int
    etag: str
    chunks: AsyncIterator[bytes]


class Hub(Struct, frozen=True):
    """A hub at `url`. The token goes there, and never to a host that the hub redirects to."""

    url: str
    token: str
    client: "httpx2.AsyncClient"
    __repr__ = repr_without("token", "client")

    async def list(self, repo: str) -> Listing:
        """The files of a repository's main branch. Raises NoModelError, KithError, ModelError."""
        data = await self._json(repo, f"/api/models/{repo}?blobs=true")
        commit = data.get("sha") if isinstance(data, dict) else None
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            raise KithError(f"{self.url} does not answer as a Hugging Face hub does; is the address right?")
        rows = data.get("siblings")
        files = _files(rows, "rfilename", "blobId", "sha256")
        if not files and rows:  # a mirror that does not tell sizes there
            files = _files(
                await self._json(repo, f"/api/models/{repo}/tree/{commit}?recursive=true"),
                "path",
                "oid",
                "oid",
            )
        return Listing(commit, files)

    @asynccontextmanager
    async def open(
        self, repo: str, commit: str, file: HubFile, start: int = 0, etag: str = ""
    ) -> AsyncIterator[Arrival]:
        """Open a file from `start` on if its content still has the tag `etag`, else from its beginning.

        Raises ChangedFileError when it cannot continue at `start`, ModelError (retryable) when the
        connection breaks. Raises KithError for a file that differs from the listing.
        """
        path = f"/{repo}/resolve/{commit}/{quote(file.path)}"
        headers = {"range": f"bytes={start}-"} if start else {}
        if start and etag and not etag.startswith("W/"):
            headers["if-range"] = etag
        async with self._get(path, headers) as (response, told):
            if response.status_code == 416:
                raise ChangedFileError(f"{file.path} is shorter on the server now", retryable=True)
            if response.status_code not in (200, 206):
                raise refusal(self.url, self.token, repo, response, file.path)
            _compare(file, response, told)
            yield Arrival(
                _start_of(response, start, etag), response.headers.get("etag", ""), response.aiter_raw()
            )

    async def _json(self, repo: str, path: str) -> Any:
        body = bytearray()
        async with self._get(path, {}) as (response, _):
            if response.status_code != 200:
                raise refusal(self.url, self.token, repo, response)
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _LONGEST_LISTING:
                    break
        try:
            return read_json(bytes(body))
        except ValueError:
            raise KithError(f"{self.url} answered {repo} with something that is not JSON.") from None

    @asynccontextmanager
    async def _get(
        self, path: str, headers: Mapping[str, str]
    ) -> AsyncIterator[tuple["httpx2.Response", dict[str, str]]]:
        """The answer at the end of the redirects, and what the hub itself told of the file (X-Linked-...)."""
        import httpx2

        url, told = self.url + path, dict[str, str]()
        try:
            for _ in range(REDIRECTS + 1):
                mine = origin(url) == origin(self.url)
                key = {"authorization": f"Bearer {self.token}"} if mine and self.token else {}
                request = self.client.build_request("GET", url, headers={**headers, **key})
                response = await self.client.send(request, stream=True)
                try:
                    if mine:
                        told |= {k: v for k, v in response.headers.items() if k.startswith("x-linked-")}
                    if not response.has_redirect_location:
                        yield response, told
                        return
                    url = self._next(url, response.headers["location"])
                finally:
                    await response.aclose()
        except httpx2.RequestError as error:
            raise unreachable(url, error) from error
        except httpx2.InvalidURL as error:
            raise KithError(f"{self.url} redirects to something that is not an address.") from error
        raise KithError(f"{self.url} redirects more than {REDIRECTS} times.")

    def _next(self, url: str, location: str) -> str:
        """Resolve a redirect: never from an encrypted connection to a plain one."""
        try:
            target = urljoin(url, location)
            scheme, host, _ = origin(target)
        except ValueError:  # brackets or a port that make no sense
            scheme, host = "", None
        if scheme not in ("http", "https") or not host:
            raise KithError(f"{self.url} redirects to something that is not an address.")
        if scheme == "http" and self.url.startswith("https:"):
            raise KithError(
                f"{self.url} redirects to a connection that is not encrypted; kith does not follow."
            )
        return target


@asynccontextmanager
async def open_hub(environ: Mapping[str, str] = os.environ) -> AsyncIterator[Hub]:
    """The hub that the environment names, connected for the block. Raises UsageError."""
    url, token = hub_url(environ), read_token(environ)
    import httpx2

    async with httpx2.AsyncClient(
        timeout=httpx2.Timeout(STALL_S, connect=CONNECT_S),
        # A proxy from the environment must never stand between kith and this machine.
        trust_env=not is_loopback(url),
        follow_redirects=False,
        headers={"user-agent": "kith", "accept-encoding": "identity"},
    ) as client:
        yield Hub(url, token, client)


def is_offline(environ: Mapping[str, str]) -> bool:
    """True if the person told all programs not to contact the hub."""
    return environ.get("HF_HUB_OFFLINE", "").lower() in _YES


def hub_url(environ: Mapping[str, str]) -> str:
    """HF_ENDPOINT, or the usual hub. Raises UsageError for an address that is none."""
    url = environ.get("HF_ENDPOINT", "").strip().rstrip("/") or USUAL_HUB
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not parts.username
    except ValueError:  # brackets or a port that make no sense
        good = False
    if not good or any(char <= " " for char in url):
        raise UsageError("HF_ENDPOINT is not the address of a hub; it should look like https://host.")
    return url


def read_token(environ: Mapping[str, str]) -> str:
    """The person's token for the hub, from where all of its programs look; "" when there is none."""
    token = environ.get("HF_TOKEN", "").strip()
    if not token:
        home = environ.get("HF_HOME") or f"{environ.get('XDG_CACHE_HOME') or '~/.cache'}/huggingface"
        place = Path(environ.get("HF_TOKEN_PATH") or f"{home}/token").expanduser()
        try:
            token = place.read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            return ""
    if not all("!" <= char <= "~" for char in token):
        raise UsageError("The token for the hub (HF_TOKEN) is not one plain word.")
    return token


def is_safe_path(path: str) -> bool:
    """True if a name from a server may become a file: relative, staying inside, plain on every system."""
    return len(path) <= 500 and all(
        0 < len(part) <= 200
        and part not in (".", "..")
        and part.isprintable()
        and not set(part) & set('\\:*?"<>|')
        and part[-1] not in " ."
        for part in path.split("/")
    )


def _files(rows: Any, path: str, id: str, digest: str) -> tuple[HubFile, ...]:
    found = [_file(row, path, id, digest) for row in rows] if isinstance(rows, list) else []
    return tuple(file for file in found if file is not None)


def _file(row: Any, path: str, id: str, digest: str) -> HubFile | None:
    """One row of a listing; None when its name is not safe, or size or digest are not told."""
    if not isinstance(row, dict):
        return None
    lfs = row.get("lfs")
    name, size = row.get(path), row.get("size")
    known = lfs.get(digest) if isinstance(lfs, dict) else row.get(id)
    if not isinstance(name, str) or not is_safe_path(name) or type(size) is not int or size < 1:
        return None
    return HubFile(name, size, known) if isinstance(known, str) and _DIGEST.fullmatch(known) else None


def _compare(file: HubFile, response: "httpx2.Response", told: Mapping[str, str]) -> None:
    """Refuse a file that contradicts its listing."""
    digest = tag_of(told.get("x-linked-etag", ""))
    sizes = [told.get("x-linked-size", ""), response.headers.get("content-range", "").rpartition("/")[2]]
    if response.status_code == 200:
        sizes.append(response.headers.get("content-length", ""))
    for size in sizes:
        if size.isdecimal() and int(size) != file.size:
            raise KithError(
                f"{file.path} has {int(size):,} bytes on the server, and {file.size:,} in its listing; "
                "try again."
            )
    if _DIGEST.fullmatch(digest) and digest != file.digest:
        raise KithError(f"{file.path} changed on the server; try again.")


def _start_of(response: "httpx2.Response", start: int, etag: str) -> int:
    """Return the first byte of an answer. Raises ChangedFileError when it is not the requested one."""
    if response.status_code == 200:
        return 0
    begins = re.match(r"bytes (\d+)-", response.headers.get("content-range", ""))
    now = response.headers.get("etag", "")
    if not begins or int(begins[1]) != start or (etag and now and tag_of(now) != tag_of(etag)):
        raise ChangedFileError("the server's file has changed", retryable=True)
    return start


# --- what a hub's refusals mean, in a sentence -----------------------------------------------


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
            f"{host} limits requests; the next one is possible {when}", retryable=True, after_s=after
        )
    if status in PASSING:
        return ModelError(f"{host} cannot answer now ({status})", retryable=True)
    if origin(str(response.url)) != origin(url):
        # Only the hub decides who may read; the links that it hands out to other hosts grow old.
        return ModelError(f"{host} refused the file ({status})", retryable=True)
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
