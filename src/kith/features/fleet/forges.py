"""Draft pull requests on GitHub, GitLab and Gitea, over their REST APIs."""

import json
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote, urlsplit

from msgspec import Struct

from kith.core.errors import BusyError, KithError, UsageError
from kith.features.fleet.settings import Kind
from kith.models.providers.faults import retry_after
from kith.models.providers.wire import is_cloud
from kith.view.printing import printable

if TYPE_CHECKING:
    import httpx2

TOKEN: Final = "KITH_FLEET_TOKEN"
_PATIENCE_S: Final = 60.0
_LIMITED_S: Final = 60.0  # GitHub's advice where it does not say how long
_MOST_PAGES: Final = 100  # of open pull requests
_LONGEST: Final = 300  # characters of a refusal


class RefusedError(KithError):
    """The same request again would be refused again."""


class LimitedError(BusyError):
    """The forge wants fewer requests: after `after_s` seconds again."""

    def __init__(self, text: str, after_s: float) -> None:
        super().__init__(text)
        self.after_s = after_s


class PullRequest(Struct, frozen=True):
    """A branch that is proposed for another branch of its repository."""

    title: str
    body: str
    branch: str
    base: str


class Forge(ABC):
    """A host of repositories with pull requests, at `url`; `token` is for its API and for git."""

    home: ClassVar[str] = ""  # where there is one that everybody means
    exists: ClassVar[int] = 409  # the status of a second pull request for a branch

    def __init__(self, url: str, token: str, transport: "httpx2.AsyncBaseTransport | None" = None) -> None:
        self.url, self._token, self._transport = url, token, transport

    def project(self, repository: str) -> str:
        """The project of a repository's URL; "" for a repository elsewhere."""
        if "://" not in repository:  # git@host:path
            host, _, path = repository.rpartition("@")[2].partition(":")
            repository = f"ssh://{host}/{path}"
        here, there = urlsplit(self.url), urlsplit(repository)
        if there.hostname != here.hostname:
            return ""
        if there.scheme in ("http", "https") and there.netloc.rpartition("@")[2] != here.netloc:
            return ""
        path = there.path.removeprefix(here.path if there.scheme != "ssh" else "")
        return path.strip("/").removesuffix(".git")

    def git_secret(self, repository: str) -> tuple[str, str]:
        """The origin that git may show the token to, and the token; both "" for a repository elsewhere."""
        if not repository.startswith(("http://", "https://")) or not self.project(repository):
            return "", ""
        here = urlsplit(self.url)
        return f"{here.scheme}://{here.netloc}", self._token

    async def open(self, repository: str, request: PullRequest) -> str:
        """Open a draft, or replace the text of the one that is open; its URL.

        Raises LimitedError, RefusedError, and BusyError where the forge does not answer.
        """
        project = self.project(repository)
        async with self._client() as client:
            answer = await self._ask(client, "POST", self._list(project), self._draft(request))
            try:
                if answer.status_code == self.exists and (
                    found := await self._find(client, project, request)
                ):
                    return found
                return self._address(self._read(answer))
            except (LookupError, TypeError) as error:
                raise BusyError(f"{self.url} answers in another shape; is this its address?") from error

    @abstractmethod
    def _api(self) -> str: ...

    @abstractmethod
    def _list(self, project: str) -> str: ...

    @abstractmethod
    def _draft(self, request: PullRequest) -> dict[str, Any]: ...

    @abstractmethod
    async def _find(self, client: "httpx2.AsyncClient", project: str, request: PullRequest) -> str:
        """The URL of the open pull request of this branch, whose text is replaced; "" for none."""

    @abstractmethod
    def _address(self, pull: Any) -> str: ...

    def _client(self) -> "httpx2.AsyncClient":
        import httpx2

        headers = {"Authorization": self._credential(), "User-Agent": "kith", "Accept": "application/json"}
        return httpx2.AsyncClient(
            base_url=self._api(), headers=headers, timeout=_PATIENCE_S, transport=self._transport
        )

    def _credential(self) -> str:
        return f"Bearer {self._token}"

    async def _ask(
        self, client: "httpx2.AsyncClient", method: str, path: str, body: object = None
    ) -> "httpx2.Response":
        import httpx2

        try:
            answer = await client.request(method, path, json=body)
        except httpx2.HTTPError as error:
            raise BusyError(f"{self.url} does not answer: {error or type(error).__name__}") from error
        self._check_limits(answer)
        return answer

    def _check_limits(self, answer: "httpx2.Response") -> None:
        if answer.status_code not in (403, 429):
            return
        headers = answer.headers
        after_s = retry_after(headers.get("Retry-After"))
        if after_s is None and headers.get("X-RateLimit-Remaining") == "0":
            after_s = max(0.0, float(headers.get("X-RateLimit-Reset", "0")) - time.time())
        if answer.status_code == 429 or after_s is not None:
            text = f"{self.url} wants fewer requests"
            raise LimitedError(text, _LIMITED_S if after_s is None else max(1.0, after_s))

    def _read(self, answer: "httpx2.Response") -> Any:
        """The JSON of a good answer; the refusal of another as an error."""
        if answer.status_code >= 500:
            raise BusyError(f"{self.url} answers {answer.status_code}")
        if not answer.is_success:
            raise RefusedError(f"{self.url} answers {answer.status_code}: {_words(answer.text)}")
        try:
            return json.loads(answer.text)
        except ValueError as error:
            raise BusyError(f"{self.url} answers without JSON; is this its address?") from error


def _words(text: str) -> str:
    """The message of a refusal, in whichever of the known shapes."""
    try:
        said = json.loads(text)
    except ValueError:
        said = text
    if isinstance(said, dict):
        more = [each.get("message", "") for each in said.get("errors") or [] if isinstance(each, dict)]
        said = [said.get("message") or said.get("error") or "", *more]
    lines = [str(each) for each in said if each] if isinstance(said, list) else [str(said)]
    return printable(" ".join(" ".join(lines).split()))[:_LONGEST]


class GitHub(Forge):
    """GitHub: REST API 2022-11-28; with a URL of its own, GitHub Enterprise Server."""

    home = "https://github.com"
    exists = 422

    def _api(self) -> str:
        return "https://api.github.com" if self.url == self.home else f"{self.url}/api/v3"

    def _list(self, project: str) -> str:
        return f"/repos/{quote(project)}/pulls"

    def _draft(self, request: PullRequest) -> dict[str, Any]:
        return {
            "title": request.title,
            "body": request.body,
            "head": request.branch,
            "base": request.base,
            "draft": True,
        }

    async def _find(self, client: "httpx2.AsyncClient", project: str, request: PullRequest) -> str:
        owner = project.partition("/")[0]
        head = quote(f"{owner}:{request.branch}", safe="")
        found = self._read(await self._ask(client, "GET", f"{self._list(project)}?state=open&head={head}"))
        if not found:
            return ""
        place = f"{self._list(project)}/{found[0]['number']}"
        return self._address(self._read(await self._ask(client, "PATCH", place, {"body": request.body})))

    def _address(self, pull: Any) -> str:
        return str(pull["html_url"])


class GitLab(Forge):
    """GitLab: REST API 4, where a title makes a draft."""

    home = "https://gitlab.com"

    def _api(self) -> str:
        return f"{self.url}/api/v4"

    def _list(self, project: str) -> str:
        return f"/projects/{quote(project, safe='')}/merge_requests"

    def _draft(self, request: PullRequest) -> dict[str, Any]:
        return {
            "title": f"Draft: {request.title}",
            "description": request.body,
            "source_branch": request.branch,
            "target_branch": request.base,
        }

    async def _find(self, client: "httpx2.AsyncClient", project: str, request: PullRequest) -> str:
        query = f"state=opened&source_branch={quote(request.branch, safe='')}"
        found = self._read(await self._ask(client, "GET", f"{self._list(project)}?{query}"))
        for each in found:
            if each["source_project_id"] == each["target_project_id"]:  # a fork may have such a branch, too
                place = f"{self._list(project)}/{each['iid']}"
                answer = await self._ask(client, "PUT", place, {"description": request.body})
                return self._address(self._read(answer))
        return ""

    def _address(self, pull: Any) -> str:
        return str(pull["web_url"])


class Gitea(Forge):
    """Gitea and Forgejo: REST API 1, where a title makes a draft."""

    def _api(self) -> str:
        return f"{self.url}/api/v1"

    def _credential(self) -> str:
        return f"token {self._token}"

    def _list(self, project: str) -> str:
        return f"/repos/{quote(project)}/pulls"

    def _draft(self, request: PullRequest) -> dict[str, Any]:
        return {
            "title": f"WIP: {request.title}",
            "body": request.body,
            "head": request.branch,
            "base": request.base,
        }

    async def _find(self, client: "httpx2.AsyncClient", project: str, request: PullRequest) -> str:
        for page in range(1, _MOST_PAGES + 1):  # no filter for a branch, and a page may hold fewer than asked
            query = f"state=open&limit=50&page={page}"
            pulls = self._read(await self._ask(client, "GET", f"{self._list(project)}?{query}"))
            for pull in pulls:
                head, base = pull["head"], pull["base"]
                here = head["repo_id"] == base["repo_id"]  # a fork may have such a branch, too
                if here and (head["ref"], base["ref"]) == (request.branch, request.base):
                    place = f"{self._list(project)}/{pull['number']}"
                    answer = await self._ask(client, "PATCH", place, {"body": request.body})
                    return self._address(self._read(answer))
            if not pulls:
                break
        return ""

    def _address(self, pull: Any) -> str:
        return str(pull["html_url"])


_FORGES: Final[dict[Kind, type[Forge]]] = {"github": GitHub, "gitlab": GitLab, "gitea": Gitea}


def open_forge(kind: Kind, url: str, token: str) -> Forge | None:
    """The forge of the settings; None where no pull requests are wanted. Raises UsageError."""
    if kind == "none":
        return None
    forge = _FORGES[kind]
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
