"""GitHub, GitLab and Gitea over their REST APIs: draft pull requests, issues, and what a pull request is."""

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal
from urllib.parse import quote, urlsplit

from msgspec import Struct

from kith.core.errors import BusyError, KithError
from kith.models.providers.faults import retry_after
from kith.view.printing import printable

if TYPE_CHECKING:
    import ssl

    import httpx2

ForgeKind = Literal["github", "gitlab", "gitea"]

_PATIENCE_S: Final = 60.0
_LIMITED_S: Final = 60.0  # GitHub's advice where it does not say how long
_LONGEST_WAIT_S: Final = 300.0  # of one command
_MOST_PAGES: Final = 100
_LONGEST: Final = 300  # characters of a refusal


class RefusedError(KithError):
    """The same request again would be refused again; `status` is that of the answer."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class LimitedError(BusyError):
    """The forge wants fewer requests: after `after_s` seconds again."""

    def __init__(self, text: str, after_s: float) -> None:
        super().__init__(text)
        self.after_s = after_s


class Patience:
    """Waits for a forge that wants fewer requests, as long as all waits together are not too long."""

    def __init__(
        self, tell: Callable[[str], None], wait: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._tell, self._wait, self._left_s = tell, wait, _LONGEST_WAIT_S

    async def waits(self, error: LimitedError) -> bool:
        """Wait as the forge wants it; False where that is too long."""
        if error.after_s > self._left_s:
            return False
        self._left_s -= error.after_s
        self._tell(f"{error}; waiting {error.after_s:.0f} s")
        await self._wait(error.after_s)
        return True


class PullRequest(Struct, frozen=True):
    """A branch that is proposed for another branch of its repository."""

    title: str
    body: str
    branch: str
    base: str


class Issue(Struct, frozen=True):
    """An issue: foreign text, all of it."""

    title: str
    body: str
    open: bool


class Pull(Struct, frozen=True):
    """An open pull request, by its commits: `start` is the newest one of the branch that it is for."""

    number: int
    open: bool
    head: str
    base: str = ""
    start: str = ""


@cache
def _certificates() -> "ssl.SSLContext":
    """The certificates of this machine: to load them takes longer than a request."""
    import httpx2

    return httpx2.create_ssl_context()


class Forge(ABC):
    """A host of repositories with pull requests, at `url`; `token` is for its API and for git.

    Without a token it reads what everybody may read. With `patience` a request waits where the forge wants
    fewer of them.
    """

    kind: ClassVar[ForgeKind]
    home: ClassVar[str] = ""  # where there is one that everybody means
    exists: ClassVar[int] = 409  # the status of a second pull request for a branch
    address: ClassVar[str] = "html_url"  # the field of a pull request with its URL

    def __init__(
        self,
        url: str,
        token: str,
        transport: "httpx2.AsyncBaseTransport | None" = None,
        patience: Patience | None = None,
    ) -> None:
        self.url, self._token, self._transport, self._patience = url, token, transport, patience

    @property
    def has_token(self) -> bool:
        return bool(self._token)

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
        async with self.client() as client:
            answer = await self.ask(client, "POST", self._list(project), self._draft(request))
            with self.shaped():
                found = (
                    await self._find(client, project, request) if answer.status_code == self.exists else ""
                )
                return found or str(self.read(answer)[self.address])

    async def issue(self, project: str, number: int) -> Issue:
        """Read an issue. Raises as `open` does, and RefusedError for a pull request."""
        async with self.client() as client:
            found = self.read(await self.ask(client, "GET", f"{self.place(project)}/issues/{number}"))
        with self.shaped():
            if found.get("pull_request"):
                raise RefusedError(f"{project}#{number} is a pull request")
            return self._issue(found)

    async def pull(self, client: "httpx2.AsyncClient", project: str, number: int) -> Pull:
        """Read a pull request. Raises as `open` does."""
        found = self.read(await self.ask(client, "GET", f"{self._list(project)}/{number}"))
        with self.shaped():
            return self._pull(found)

    async def pages(self, client: "httpx2.AsyncClient", path: str) -> AsyncIterator[Any]:
        """The items of a list, page after page, as long as the forge names a next one."""
        for page in range(1, _MOST_PAGES + 1):
            answer = await self.ask(client, "GET", f"{path}?per_page=100&limit=50&page={page}")
            items = self.read(answer)
            if not isinstance(items, list):
                raise self._misshapen()
            for item in items:
                yield item
            if "next" not in answer.links:  # its address may lead anywhere, so it is not followed
                return

    @contextmanager
    def shaped(self) -> Iterator[None]:
        """Raise BusyError where this block finds an answer in another shape."""
        try:
            yield
        except (LookupError, TypeError, AttributeError) as error:
            raise self._misshapen() from error

    def _misshapen(self) -> BusyError:
        return BusyError(f"{self.url} answers in another shape; is this its address?")

    @abstractmethod
    def place(self, project: str) -> str:
        """The path of a project in the API."""

    @abstractmethod
    def _issue(self, found: Any) -> Issue: ...

    @abstractmethod
    def _pull(self, found: Any) -> Pull: ...

    @abstractmethod
    def _api(self) -> str: ...

    @abstractmethod
    def _list(self, project: str) -> str: ...

    @abstractmethod
    def _draft(self, request: PullRequest) -> dict[str, Any]: ...

    @abstractmethod
    async def _find(self, client: "httpx2.AsyncClient", project: str, request: PullRequest) -> str:
        """The URL of the open pull request of this branch, whose text is replaced; "" for none."""

    async def _retell(self, client: "httpx2.AsyncClient", verb: str, place: str, body: object) -> str:
        """Replace the text of a pull request; its URL."""
        return str(self.read(await self.ask(client, verb, place, body))[self.address])

    def client(self) -> "httpx2.AsyncClient":
        """A client of the API, which shows the token there."""
        import httpx2

        headers = {"User-Agent": "kith", "Accept": "application/json"}
        headers |= {"Authorization": self._credential()} if self._token else {}
        return httpx2.AsyncClient(
            base_url=self._api(),
            headers=headers,
            timeout=_PATIENCE_S,
            transport=self._transport,
            verify=_certificates(),
        )

    def _credential(self) -> str:
        return f"Bearer {self._token}"

    async def ask(
        self, client: "httpx2.AsyncClient", method: str, path: str, body: object = None
    ) -> "httpx2.Response":
        """The answer to a request, whatever its status. Raises LimitedError, BusyError."""
        while True:
            answer = await self._ask_once(client, method, path, body)
            limit = self._find_limit(answer)
            if limit is None:
                return answer
            if self._patience is None or not await self._patience.waits(limit):
                raise limit

    async def _ask_once(
        self, client: "httpx2.AsyncClient", method: str, path: str, body: object
    ) -> "httpx2.Response":
        import httpx2

        try:
            return await client.request(method, path, json=body)
        except httpx2.HTTPError as error:
            raise BusyError(f"{self.url} does not answer: {error or type(error).__name__}") from error

    def _find_limit(self, answer: "httpx2.Response") -> LimitedError | None:
        """The limit that a forge has told, None for any other answer."""
        if answer.status_code not in (403, 429):
            return None
        headers = answer.headers
        after_s = retry_after(headers.get("Retry-After"))
        if after_s is None and headers.get("X-RateLimit-Remaining") == "0":
            reset = headers.get("X-RateLimit-Reset", "")
            after_s = max(0.0, float(reset) - time.time()) if reset.isdecimal() else _LIMITED_S
        if answer.status_code != 429 and after_s is None:
            return None
        return LimitedError(
            f"{self.url} wants fewer requests", _LIMITED_S if after_s is None else max(1.0, after_s)
        )

    def read(self, answer: "httpx2.Response") -> Any:
        """The JSON of a good answer; the refusal of another as an error."""
        if answer.status_code >= 500:
            raise BusyError(f"{self.url} answers {answer.status_code}")
        if not answer.is_success:
            told = f"{self.url} answers {answer.status_code}: {_words(answer.text)}"
            raise RefusedError(told, answer.status_code)
        try:
            return json.loads(answer.text)
        except (ValueError, RecursionError) as error:
            raise BusyError(f"{self.url} answers without JSON; is this its address?") from error


def _words(text: str) -> str:
    """The message of a refusal, in whichever of the known shapes."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = text
    if isinstance(said, dict):
        errors = said.get("errors")
        errors = errors if isinstance(errors, list) else []
        more = [each.get("message", "") if isinstance(each, dict) else each for each in errors]
        said = [said.get("message") or said.get("error") or "", *more]
    lines = [str(each) for each in said if each] if isinstance(said, list) else [str(said)]
    return printable(" ".join(" ".join(lines).split()))[:_LONGEST]


class GitHub(Forge):
    """GitHub: REST API 2022-11-28; with a URL of its own, GitHub Enterprise Server."""

    kind: ClassVar[ForgeKind] = "github"
    home = "https://github.com"
    exists = 422

    def _api(self) -> str:
        return "https://api.github.com" if self.url == self.home else f"{self.url}/api/v3"

    def place(self, project: str) -> str:
        return f"/repos/{quote(project)}"

    def _list(self, project: str) -> str:
        return f"{self.place(project)}/pulls"

    def _issue(self, found: Any) -> Issue:
        return Issue(str(found["title"]), str(found["body"] or ""), found["state"] == "open")

    def _pull(self, found: Any) -> Pull:
        head, base = str(found["head"]["sha"]), str(found["base"]["sha"])
        return Pull(found["number"], found["state"] == "open", head, base)

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
        found = self.read(await self.ask(client, "GET", f"{self._list(project)}?state=open&head={head}"))
        if not found:
            return ""
        place = f"{self._list(project)}/{found[0]['number']}"
        return await self._retell(client, "PATCH", place, {"body": request.body})


class GitLab(Forge):
    """GitLab: REST API 4, where a title makes a draft."""

    kind = "gitlab"
    home = "https://gitlab.com"
    address = "web_url"

    def _api(self) -> str:
        return f"{self.url}/api/v4"

    def place(self, project: str) -> str:
        return f"/projects/{quote(project, safe='')}"

    def _list(self, project: str) -> str:
        return f"{self.place(project)}/merge_requests"

    def _issue(self, found: Any) -> Issue:
        return Issue(str(found["title"]), str(found["description"] or ""), found["state"] == "opened")

    def _pull(self, found: Any) -> Pull:
        refs = found["diff_refs"] or {}  # none while GitLab prepares the diff
        commits = (str(refs.get(name) or "") for name in ("head_sha", "base_sha", "start_sha"))
        return Pull(found["iid"], found["state"] == "opened", *commits)

    def _draft(self, request: PullRequest) -> dict[str, Any]:
        return {
            "title": f"Draft: {request.title}",
            "description": request.body,
            "source_branch": request.branch,
            "target_branch": request.base,
        }

    async def _find(self, client: "httpx2.AsyncClient", project: str, request: PullRequest) -> str:
        query = f"state=opened&source_branch={quote(request.branch, safe='')}"
        found = self.read(await self.ask(client, "GET", f"{self._list(project)}?{query}"))
        for each in found:
            if each["source_project_id"] == each["target_project_id"]:  # a fork may have such a branch, too
                place = f"{self._list(project)}/{each['iid']}"
                return await self._retell(client, "PUT", place, {"description": request.body})
        return ""


class Gitea(GitHub):
    """Gitea and Forgejo: REST API 1, made after GitHub's, but a title makes a draft."""

    kind = "gitea"
    home = ""
    exists = Forge.exists

    def _api(self) -> str:
        return f"{self.url}/api/v1"

    def _credential(self) -> str:
        return f"token {self._token}"

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
            pulls = self.read(await self.ask(client, "GET", f"{self._list(project)}?{query}"))
            for pull in pulls:
                head, base = pull["head"], pull["base"]
                here = head["repo_id"] == base["repo_id"]  # a fork may have such a branch, too
                if here and (head["ref"], base["ref"]) == (request.branch, request.base):
                    place = f"{self._list(project)}/{pull['number']}"
                    return await self._retell(client, "PATCH", place, {"body": request.body})
            if not pulls:
                break
        return ""


FORGES: Final[dict[ForgeKind, type[Forge]]] = {"github": GitHub, "gitlab": GitLab, "gitea": Gitea}
