"""Stand-ins for GitHub, GitLab and Gitea: pull requests as their published REST APIs describe them."""

import json
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

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """For `httpx2.MockTransport`."""
        path = request.url.raw_path.decode()
        status, body, headers = self.answer(request.method, path, dict(request.headers), request.content)
        return httpx2.Response(status, json=body, headers=headers)

    def answer(self, method: str, target: str, headers: dict[str, str], content: bytes) -> Answer:
        self.asked.append((method, target))
        known = {each.lower(): value for each, value in headers.items()}
        scheme = "token" if self.kind == "gitea" else "Bearer"
        if known.get("authorization") != f"{scheme} {TOKEN}":
            return 401, {"message": "Bad credentials"}, {}
        if self.busy:
            return self.busy.pop(0)
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = json.loads(content) if content else {}
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
