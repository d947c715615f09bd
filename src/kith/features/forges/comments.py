"""The comments of kith on a pull request: which it has, and new ones, over each forge's API."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from msgspec import Struct

from kith.features.forges.client import Forge, ForgeKind, Pull, RefusedError
from kith.features.forges.settings import Place

if TYPE_CHECKING:
    import httpx2

MARK: Final = re.compile(r"<!-- kith:([0-9a-z]{1,64}) -->\s*\Z")
SUMMARY: Final = "summary"
_NOT_HERE: Final = (400, 422)  # a line that is not part of the diff, as GitLab and GitHub say it
_UNKNOWN: Final = (403, 404)  # a token of a job may not ask who it is
_JOBS: Final = ("gitea-actions", "forgejo-actions")


class Remark(Struct, frozen=True):
    """A comment on lines of the new side: from `first` to `line`, and `old`, the last line's number before.

    `old` is None for a new line.
    """

    path: str
    first: int
    line: int
    old: int | None
    body: str


class Said(Struct, frozen=True):
    """A comment of kith that is there: its mark, its id, and its text."""

    mark: str
    id: str
    body: str


def marked(body: str, mark: str) -> str:
    """A comment with a mark that people do not see, by which kith finds it again."""
    return f"{body}\n\n<!-- kith:{mark} -->"


class Comments(ABC):
    """The comments of one pull request. Each call raises LimitedError, RefusedError, and BusyError."""

    def __init__(self, place: Place, client: "httpx2.AsyncClient") -> None:
        self.forge: Forge = place.forge
        self.project, self.number, self.client = place.project, place.number, client
        self._me: Any = None

    async def pull(self) -> Pull:
        return await self.forge.pull(self.client, self.project, self.number)

    @abstractmethod
    async def on_lines(self) -> list[Said]:
        """kith's own comments on lines."""

    async def summary(self) -> Said | None:
        """kith's own summary."""
        found = [each for each in await self._own(self._talk()) if each.mark == SUMMARY]
        return found[0] if found else None

    @abstractmethod
    async def remark(self, pull: Pull, remarks: Sequence[Remark]) -> list[Remark]:
        """Comment on lines; those that the forge has in no diff are given back."""

    async def say(self, body: str) -> None:
        """Add the summary."""
        await self._send("POST", self._talk(), {"body": body})

    async def edit(self, said: Said, body: str) -> None:
        """Replace the summary."""
        await self._send(self._verb, self._edited(said.id), {"body": body})

    _verb: ClassVar[str] = "PATCH"

    def _talk(self) -> str:
        """The list of comments on the whole."""
        return f"{self.forge.place(self.project)}/issues/{self.number}/comments"

    def _edited(self, id: str) -> str:
        return f"{self.forge.place(self.project)}/issues/comments/{id}"

    @abstractmethod
    def _is_mine(self, comment: Any) -> bool: ...

    async def _own(self, path: str) -> list[Said]:
        """The comments of a list that kith wrote, by their mark and author: anyone can copy a mark."""
        await self._know_me()
        with self.forge.shaped():
            return [
                Said(found[1], str(each["id"]), each["body"])
                async for each in self.forge.pages(self.client, path)
                if (found := MARK.search(each["body"] or "")) and self._is_mine(each)
            ]

    async def _know_me(self) -> None:
        """Ask once whose the token is; {} where it is a job's."""
        if self._me is None:
            answer = await self.forge.ask(self.client, "GET", "/user")
            found = {} if answer.status_code in _UNKNOWN else self.forge.read(answer)
            self._me = found if isinstance(found, dict) else {}

    async def _send(self, verb: str, path: str, body: object) -> Any:
        return self.forge.read(await self.forge.ask(self.client, verb, path, body))

    async def _tried(self, path: str, body: object) -> bool:
        """Send a comment; False where its line is in no diff of the forge."""
        try:
            await self._send("POST", path, body)
        except RefusedError as error:
            if error.status in _NOT_HERE:
                return False
            raise
        return True


class OnGitHub(Comments):
    """Reviews on GitHub: all new comments in one, so that people get one mail."""

    def _is_mine(self, comment: Any) -> bool:
        user = comment["user"] or {}
        return user["login"] == self._me["login"] if self._me else user.get("type") == "Bot"

    @property
    def _path(self) -> str:
        return f"{self.forge.place(self.project)}/pulls/{self.number}"

    async def on_lines(self) -> list[Said]:
        return await self._own(f"{self._path}/comments")

    async def remark(self, pull: Pull, remarks: Sequence[Remark]) -> list[Remark]:
        comments = [self._comment(each) for each in remarks]
        body = _review(pull, comments)
        if await self._tried(f"{self._path}/reviews", body):
            return []
        single = f"{self._path}/comments"  # one line in no diff refuses them all
        return [
            each
            for each, comment in zip(remarks, comments, strict=True)
            if not await self._tried(single, {**comment, "commit_id": pull.head})
        ]

    def _comment(self, remark: Remark) -> dict[str, Any]:
        place: dict[str, Any] = {"path": remark.path, "line": remark.line, "side": "RIGHT"}
        if remark.first < remark.line:
            place |= {"start_line": remark.first, "start_side": "RIGHT"}
        return place | {"body": remark.body}


class OnGitLab(Comments):
    """Discussions on GitLab."""

    _verb = "PUT"

    def _talk(self) -> str:
        return f"{self._path}/notes"

    def _edited(self, id: str) -> str:
        return f"{self._path}/notes/{id}"

    def _is_mine(self, comment: Any) -> bool:
        return bool(self._me) and comment["author"]["id"] == self._me["id"]

    @property
    def _path(self) -> str:
        return f"{self.forge.place(self.project)}/merge_requests/{self.number}"

    async def on_lines(self) -> list[Said]:
        return await self._own(self._talk())  # notes of discussions are among them

    async def remark(self, pull: Pull, remarks: Sequence[Remark]) -> list[Remark]:
        commits = {"head_sha": pull.head, "base_sha": pull.base, "start_sha": pull.start}
        with self.forge.shaped():
            old_paths = {
                each["new_path"]: each["old_path"]
                async for each in self.forge.pages(self.client, f"{self._path}/diffs")
            }
        refused = list[Remark]()
        for each in remarks:
            position: dict[str, Any] = {"position_type": "text", "new_path": each.path, "new_line": each.line}
            position |= commits | {"old_path": old_paths.get(each.path, each.path)}
            position |= {} if each.old is None else {"old_line": each.old}
            body = {"body": each.body, "position": position}
            if not await self._tried(f"{self._path}/discussions", body):
                refused.append(each)
        return refused


class OnGitea(Comments):
    """Reviews on Gitea and Forgejo."""

    def _is_mine(self, comment: Any) -> bool:
        login = (comment["user"] or {}).get("login")
        return login == self._me["login"] if self._me else login in _JOBS

    @property
    def _path(self) -> str:
        return f"{self.forge.place(self.project)}/pulls/{self.number}/reviews"

    async def on_lines(self) -> list[Said]:
        await self._know_me()
        with self.forge.shaped():
            reviews = [
                each async for each in self.forge.pages(self.client, self._path) if self._is_mine(each)
            ]
            return [
                said
                for each in reviews
                if each["comments_count"]
                for said in await self._own(f"{self._path}/{each['id']}/comments")
            ]

    async def remark(self, pull: Pull, remarks: Sequence[Remark]) -> list[Remark]:
        comments = [
            {"path": each.path, "new_position": each.line, "old_position": 0, "body": each.body}
            for each in remarks
        ]
        body = _review(pull, comments)
        return [] if await self._tried(self._path, body) else [*remarks]


def _review(pull: Pull, comments: Sequence[Any]) -> dict[str, Any]:
    """A review with these comments, which neither approves nor refuses."""
    lines = "1 line" if len(comments) == 1 else f"{len(comments)} lines"
    body = f"kith commented on {lines}."
    return {"commit_id": pull.head, "event": "COMMENT", "body": body, "comments": comments}


_COMMENTS: Final[dict[ForgeKind, type[Comments]]] = {"github": OnGitHub, "gitlab": OnGitLab, "gitea": OnGitea}


def comments_of(place: Place, client: "httpx2.AsyncClient") -> Comments:
    """The comments of a pull request; the client is that of its forge."""
    return _COMMENTS[place.forge.kind](place, client)
