"""Stand-ins for GitHub, GitLab and Gitea, as their published REST APIs describe them."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

Answer = tuple[int, Any, dict[str, str]]
TOKEN = "a-token-of-the-forge"


@dataclass
class StandInForge:
    """A forge with one project, `team/project`, whose branches always exist."""

    kind: str
    url: str = "https://forge.example"
    pulls: list[dict[str, Any]] = field(default_factory=list)
    others: list[dict[str, Any]] = field(default_factory=list)  # pull requests of people
    asked: list[tuple[str, str]] = field(default_factory=list)
    busy: list[Answer] = field(default_factory=list)  # answers before any other
    issues: dict[int, dict[str, Any]] = field(default_factory=dict)
    talk: "StandInTalk | None" = None  # of the one pull request that people opened
    open_to_all: bool = False  # whoever has no token may read

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """For `httpx2.MockTransport`."""
        path = request.url.raw_path.decode()
        status, body, headers = self.answer(request.method, path, dict(request.headers), request.content)
        return httpx2.Response(status, json=body, headers=headers)

    def answer(self, method: str, target: str, headers: dict[str, str], content: bytes) -> Answer:
        self.asked.append((method, target))
        known = {each.lower(): value for each, value in headers.items()}
        scheme = "token" if self.kind == "gitea" else "Bearer"
        anonymous = self.open_to_all and method == "GET" and "authorization" not in known
        if not anonymous and known.get("authorization") != f"{scheme} {TOKEN}":
            return 401, {"message": "Bad credentials"}, {}
        if self.busy:
            return self.busy.pop(0)
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = json.loads(content) if content else {}
        if self.talk and (answer := self.talk.answer(self.kind, method, target, body)):
            return answer
        if method == "GET" and (found := re.search(r"/issues/(\d+)$", parts.path)):
            issue = self.issues.get(int(found[1]))
            return (200, issue, {}) if issue else (404, {"message": "Not Found"}, {})
        kinds = {"github": self._github, "gitlab": self._gitlab, "gitea": self._gitea}
        return kinds[self.kind](method, parts.path, query, body)

    def _github(self, method: str, path: str, query: dict[str, str], body: dict[str, Any]) -> Answer:
        base = "/api/v3/repos/team/project/pulls"
        if path == base and method == "POST":
            if set(body) != {"title", "body", "head", "base", "draft"} or body["draft"] is not True:
                return 422, {"message": "Validation Failed", "errors": [{"message": str(body)}]}, {}
            if self._of(body["head"]):
                error = {"resource": "PullRequest", "code": "custom"}
                error["message"] = f"A pull request already exists for team:{body['head']}."
                return 422, {"message": "Validation Failed", "errors": [error]}, {}
            return 201, self._add(body["head"], body["base"], body["title"], body["body"], draft=True), {}
        if path == base and method == "GET":
            owner, _, branch = query["head"].partition(":")
            return 200, self._of(branch) if owner == "team" and query["state"] == "open" else [], {}
        return self._edit(method, "PATCH", path.removeprefix(f"{base}/"), body, "body")

    def _gitlab(self, method: str, path: str, query: dict[str, str], body: dict[str, Any]) -> Answer:
        base = "/api/v4/projects/team%2Fproject/merge_requests"
        if path == base and method == "POST":
            if not {"title", "source_branch", "target_branch"} <= set(body):
                return 400, {"error": "title is missing"}, {}
            if self._of(body["source_branch"]):
                return (
                    409,
                    {"message": ["Another open merge request already exists for this source branch: !1"]},
                    {},
                )
            draft = body["title"].startswith("Draft: ")
            made = self._add(
                body["source_branch"], body["target_branch"], body["title"], body["description"], draft=draft
            )
            return 201, made, {}
        if path == base and method == "GET":
            found = self._of(query["source_branch"], self.others + self.pulls)
            ids = [{"source_project_id": each.get("of", 3), "target_project_id": 3} for each in found]
            return 200, [a | b for a, b in zip(found, ids, strict=True)], {}
        return self._edit(method, "PUT", path.removeprefix(f"{base}/"), body, "description")

    def _gitea(self, method: str, path: str, query: dict[str, str], body: dict[str, Any]) -> Answer:
        base = "/api/v1/repos/team/project/pulls"
        if path == base and method == "POST":
            if found := self._of(body["head"]):
                return (
                    409,
                    {"message": f"pull request already exists for these targets [id: {found[0]['number']}]"},
                    {},
                )
            draft = body["title"].startswith("WIP: ")
            return 201, self._add(body["head"], body["base"], body["title"], body["body"], draft=draft), {}
        if path == base and method == "GET":  # two on a page, whatever was asked for
            first = 2 * int(query["page"]) - 2
            pulls = self.others + self.pulls if query["state"] == "open" else []
            return 200, [_with_repositories(each) for each in pulls[first : first + 2]], {}
        return self._edit(method, "PATCH", path.removeprefix(f"{base}/"), body, "body")

    def _of(self, branch: str, pulls: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
        return [each for each in pulls or self.pulls if each["head"] == branch]

    def _add(self, head: str, base: str, title: str, body: str, *, draft: bool) -> dict[str, Any]:
        number = len(self.pulls) + 1
        made = {"number": number, "iid": number, "head": head, "base": base, "title": title, "draft": draft}
        made |= {"body": body, "html_url": f"{self.url}/team/project/pulls/{number}"}
        if self.kind == "gitlab":
            made["web_url"] = made.pop("html_url")
        self.pulls.append(made)
        return made

    def _edit(self, method: str, verb: str, number: str, body: dict[str, Any], name: str) -> Answer:
        if method != verb or not number.isdigit() or set(body) != {name}:
            return 404, {"message": "Not Found"}, {}
        pull = self.pulls[int(number) - 1]
        pull["body"] = body[name]
        return 200, pull, {}


@dataclass
class StandInTalk:
    """Pull request 7 of `team/project`, its diff, and what was said about it.

    `lines` are those of the new side that the diff shows, each with its number in the old side or None.
    """

    head: str
    lines: dict[str, dict[int, int | None]]
    base: str = "b" * 40
    state: str = "open"
    bot: bool = False  # the token is a job's, and may not ask who it is
    comments: list[dict[str, Any]] = field(default_factory=list)  # on lines
    notes: list[dict[str, Any]] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    old_paths: dict[str, str] = field(default_factory=dict)
    page: int = 2  # items on a page, whatever was asked for

    def answer(self, kind: str, method: str, target: str, body: dict[str, Any]) -> Answer | None:
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path = re.sub(r"^/api/v\d|^/api", "", parts.path)
        ways = {"github": self._github, "gitlab": self._gitlab, "gitea": self._gitea}
        if (method, path) == ("GET", "/user"):
            refused = {"message": "Resource not accessible by integration"}
            return (403, refused, {}) if self.bot else (200, {"id": 5, "login": "kith"}, {})
        found = ways[kind](method, path, body)
        if isinstance(found, list):
            return self._paged(found, target, int(query.get("page", 1)))
        return found

    def _paged(self, items: list[Any], target: str, page: int) -> Answer:
        more = page * self.page < len(items)
        link = {"Link": f'<https://elsewhere.example{target}>; rel="next"'} if more else {}
        return 200, items[(page - 1) * self.page : page * self.page], link

    @property
    def _author(self) -> dict[str, Any]:
        login = "github-actions[bot]" if self.bot else "kith"
        return {"id": 5, "login": login, "type": "Bot" if self.bot else "User"}

    def _add(self, kept: list[dict[str, Any]], body: dict[str, Any]) -> dict[str, Any]:
        made = {**body, "id": len(self.notes) + len(self.comments) + 1}
        made |= {"user": self._author, "author": self._author}
        kept.append(made)
        return made

    def _edit(self, id: str, body: dict[str, Any]) -> Answer:
        for note in self.notes:
            if str(note["id"]) == id:
                note["body"] = body["body"]
                return 200, note, {}
        return 404, {"message": "Not Found"}, {}

    def _shows(self, path: str, line: int) -> bool:
        return line in self.lines.get(path, {})

    def _github(self, method: str, path: str, body: dict[str, Any]) -> Answer | list[Any] | None:
        base = "/repos/team/project"
        pull = f"{base}/pulls/7"
        match method, path.removeprefix("/v3"):
            case "GET", place if place == pull:
                commits = {"head": {"sha": self.head}, "base": {"sha": self.base}}
                return 200, {"number": 7, "state": self.state, **commits}, {}
            case "GET", place if place == f"{pull}/comments":
                return self.comments
            case "POST", place if place == f"{pull}/comments":
                if not self._shows(body["path"], body["line"]):
                    told = "pull_request_review_thread.line must be part of the diff"
                    error = {"resource": "PullRequestReviewComment", "code": "custom", "message": told}
                    return 422, {"message": "Validation Failed", "errors": [error]}, {}
                return 201, self._add(self.comments, body), {}
            case "POST", place if place == f"{pull}/reviews":
                if any(not self._shows(each["path"], each["line"]) for each in body["comments"]):
                    return (
                        422,
                        {"message": "Unprocessable Entity", "errors": ["Line could not be resolved"]},
                        {},
                    )
                for each in body["comments"]:
                    self._add(self.comments, {**each, "commit_id": body["commit_id"]})
                self.reviews.append(body)
                return 200, {"id": 1}, {}
            case "GET", place if place == f"{base}/issues/7/comments":
                return self.notes
            case "POST", place if place == f"{base}/issues/7/comments":
                return 201, self._add(self.notes, body), {}
            case "PATCH", place if place.startswith(f"{base}/issues/comments/"):
                return self._edit(place.rpartition("/")[2], body)
        return None

    def _gitlab(self, method: str, path: str, body: dict[str, Any]) -> Answer | list[Any] | None:
        pull = "/projects/team%2Fproject/merge_requests/7"
        match method, path:
            case "GET", place if place == pull:
                refs = {"head_sha": self.head, "base_sha": self.base, "start_sha": self.base}
                return 200, {"iid": 7, "state": "opened", "diff_refs": refs}, {}
            case "GET", place if place == f"{pull}/diffs":
                paths = [(self.old_paths.get(each, each), each) for each in self.lines]
                return [{"old_path": old, "new_path": new} for old, new in paths]
            case "GET", place if place == f"{pull}/notes":
                return [*self.comments, *self.notes]
            case "POST", place if place == f"{pull}/discussions":
                at = body["position"]
                known = (self.head, self.base, self.base)
                lines = self.lines.get(at["new_path"], {})
                good = (
                    (at["head_sha"], at["base_sha"], at["start_sha"]) == known
                    and at["new_line"] in lines
                    and lines[at["new_line"]] == at.get("old_line")
                    and at["old_path"] == self.old_paths.get(at["new_path"], at["new_path"])
                )
                if not good:
                    told = 'Note {:line_code=>["can\'t be blank", "must be a valid line code"]}'
                    return 400, {"message": f"400 Bad request - {told}"}, {}
                made = {"body": body["body"], "path": at["new_path"], "line": at["new_line"]}
                return 201, {"id": "d", "notes": [self._add(self.comments, made)]}, {}
            case "POST", place if place == f"{pull}/notes":
                return 201, self._add(self.notes, body), {}
            case "PUT", place if place.startswith(f"{pull}/notes/"):
                return self._edit(place.rpartition("/")[2], body)
        return None

    def _gitea(self, method: str, path: str, body: dict[str, Any]) -> Answer | list[Any] | None:
        base = "/repos/team/project"
        pull = f"{base}/pulls/7"
        match method, path:
            case "GET", place if place == pull:
                commits = {"head": {"sha": self.head}, "base": {"sha": self.base}}
                return 200, {"number": 7, "state": self.state, **commits}, {}
            case "GET", place if place == f"{pull}/reviews":
                return self.reviews
            case "GET", place if place.startswith(f"{pull}/reviews/"):
                id = int(place.split("/")[-2])
                return [each for each in self.comments if each["review"] == id]
            case "POST", place if place == f"{pull}/reviews":
                id = len(self.reviews) + 1
                for each in body["comments"]:
                    self._add(self.comments, {**each, "line": each["new_position"], "review": id})
                count = len(body["comments"])
                self.reviews.append({"id": id, "user": self._author, "comments_count": count})
                return 200, {"id": id}, {}
            case "GET", place if place == f"{base}/issues/7/comments":
                return 200, self.notes, {}  # Gitea has no pages here
            case "POST", place if place == f"{base}/issues/7/comments":
                return 201, self._add(self.notes, body), {}
            case "PATCH", place if place.startswith(f"{base}/issues/comments/"):
                return self._edit(place.rpartition("/")[2], body)
        return None


def _with_repositories(pull: dict[str, Any]) -> dict[str, Any]:
    head = {"ref": pull["head"], "repo_id": pull.get("of", 3)}
    return pull | {"head": head, "base": {"ref": pull["base"], "repo_id": 3}}


@contextmanager
def over_http(answer: Callable[[str, str, dict[str, str], bytes], Answer]) -> Iterator[str]:
    """A server on a port of its own that answers so; its URL."""

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, body, headers = answer(self.command, self.path, dict(self.headers), content)
            text = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = do_PUT = handle_one

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
