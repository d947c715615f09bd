"""Requests of programs that were set up wrongly: each gets one sentence, in the form that it looks for."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from kith.features.web.app import make_app
from kith.features.web.desk import open_desk

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Hello"}]


def ask(folder: Path, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
    """Status and answer of the server's application, in this process; the door has tests of its own."""

    async def work() -> httpx2.Response:
        transport = httpx2.ASGITransport(app=make_app(open_desk([folder], {})))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await (client.get(path) if body is None else client.post(path, json=body))

    answered = asyncio.run(work())
    return answered.status_code, answered.json()


@pytest.mark.parametrize(
    ("path", "hint"),
    [(f"{CHAT}/", "leave out the slash"), ("/v1/v1/models", "/v1/v1/models"), ("/v1/embeddings", "nothing")],
)
def test_a_wrong_address_is_named_where_programs_made_for_openai_look(
    repository: Path, path: str, hint: str
) -> None:
    status, told = ask(repository, path, {"model": "route", "messages": HELLO})
    assert status == 404 and hint in told["error"]["message"] and told["detail"] == told["error"]["message"]


def test_elsewhere_it_is_only_a_problem(repository: Path) -> None:
    status, told = ask(repository, "/api/nothing")
    assert status == 404 and told["detail"] == "There is nothing at /api/nothing." and "error" not in told


def test_no_page_of_the_framework_is_served(repository: Path) -> None:
    assert [ask(repository, path)[0] for path in ("/docs", "/redoc")] == [404, 404]


@pytest.mark.parametrize(
    ("body", "param", "sentence"),
    [
        ({"messages": HELLO}, "model", "as GET /v1/models lists them"),
        ({"model": "route", "messages": HELLO, "n": 2}, "n", "n must be 1"),
        ({"model": "nobody/knows", "messages": HELLO}, "model", "There is no provider 'nobody'"),
    ],
)
def test_a_wrong_field_is_named(repository: Path, body: dict[str, Any], param: str, sentence: str) -> None:
    status, told = ask(repository, CHAT, body)
    assert status in (400, 404)
    assert told["error"]["param"] == param and sentence in told["error"]["message"], json.dumps(told)


@pytest.mark.parametrize("path", ["agent", "sessions"])
def test_a_tool_that_is_to_come_first_must_be_one(repository: Path, path: str) -> None:
    field = "prompt" if path == "agent" else "words"
    status, told = ask(repository, f"/api/{path}", {field: "Look", "tool": "nosuch"})
    assert status == 422 and told["detail"].startswith("There is no tool 'nosuch'; there are: read, list,")
    assert ask(repository, "/api/sessions")[1]["sessions"] == []
