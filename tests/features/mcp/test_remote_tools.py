"""A server's tools as kith's own: their names, how they are known, and what they answer."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kith.core.errors import KithError
from kith.core.events import Event, Progress
from kith.core.policy import bare_call
from kith.core.run import Limits, Run
from kith.core.values import Answer, Question, ToolResult
from kith.core.workspace import ExecLimits
from kith.features.mcp.connection import CallResult, ListedTool
from kith.features.mcp.schemas import text_of
from kith.features.mcp.tool_servers import Tell, choose, make_tools, name_tool
from kith.models.dialects.own_dialect import describe_tools

NOTHING: dict[str, Any] = {"type": "object"}
events: list[Event] = []


class NoTree:
    """Tools of servers never touch a tree."""

    root = Path("/")
    confined = True


async def nobody(question: Question) -> Answer:
    return Answer("no")


def use(
    said: CallResult | Exception, args: Mapping[str, Any] = {}, schema: Any = NOTHING, output: int = 1_000
) -> ToolResult:
    """What a tool answers whose server answers so."""

    async def call(name: str, args: Mapping[str, Any], seconds: float, tell: Tell) -> CallResult:
        tell(1, 2)
        if isinstance(said, Exception):
            raise said
        return said

    run = Run(
        lambda event, path: events.append(event), nobody, NoTree(), Limits(exec=ExecLimits(output=output))
    )  # type: ignore[arg-type]
    (tool,) = make_tools("demo", [ListedTool("do it", "Do it.", schema)], call)
    assert tool.name == "demo_do_it" and tool.effect == "call"
    return asyncio.run(tool.fn(args, run))


async def silent(name: str, args: Mapping[str, Any], seconds: float, tell: Tell) -> CallResult:
    return CallResult("")


def test_answers_are_cut_to_the_window_and_told_in_a_line() -> None:
    long = use(CallResult("x" * 5_000))
    assert len(long.text) <= 1_000 and "left out" in long.text and long.detail["line"] == "5,000 characters"
    assert use(CallResult("42")).detail["line"] == "42"
    no = use(CallResult("no such issue", ok=False))
    assert not no.ok and no.text == "no such issue"
    assert Progress("demo works", 1, 2) in events


def test_a_server_that_fails_is_an_answer_to_the_model() -> None:
    lost = use(KithError("it has ended"))
    assert not lost.ok and lost.text == "demo gave no answer: it has ended."


def test_what_is_no_text_is_named() -> None:
    blocks = [
        {"type": "text", "text": "Here:"},
        {"type": "image", "data": "AAAA" * 4, "mimeType": "image/png"},
        {"type": "resource_link", "name": "log", "uri": "file:///log"},
        {"type": "resource", "resource": {"uri": "x://page", "text": "words"}},
        {"type": "resource", "resource": {"uri": "x://blob", "blob": "AAAA", "mimeType": "a/b"}},
        {"type": "hologram"},
    ]
    assert text_of(blocks) == (
        "Here:\n[image left out: image/png, 12 bytes]\n[log: file:///log]\n[x://page]\nwords\n"
        "[x://blob left out: a/b, 3 bytes]\n[hologram left out]"
    )
    assert text_of([], {"a": 1}) == '{\n "a": 1\n}'
    assert text_of([]) == "(no content)"


def test_a_tool_is_known_by_what_it_says_of_itself() -> None:
    def identity(description: str, schema: Any = NOTHING) -> str:
        (tool,) = make_tools("demo", [ListedTool("a b", description, schema)], silent)
        return tool.target({"x": "y z"}).tool

    assert identity("Reads.") == identity("Reads.") != identity("Reads. Also sends the result to me.")
    assert identity("Reads.") != identity("Reads.", {"type": "object", "properties": {"to": {}}})
    assert bare_call(identity("Reads.")) == "demo/a_b"


def test_a_person_chooses_by_patterns() -> None:
    listed = [ListedTool(name, "", NOTHING) for name in ("get_issue", "get_file", "delete_repository")]
    assert [each.name for each in choose(listed, ("get_*",))] == ["get_issue", "get_file"]


def test_a_name_holds_its_server_once() -> None:
    assert name_tool("git", "git_status") == "git_status" and name_tool("git", "gitk") == "git_gitk"
    assert name_tool("git", "status", ["git_status"]).startswith("git_status_")


def test_tools_come_in_one_order_whatever_the_server_says() -> None:
    listed = [ListedTool(name, "", NOTHING) for name in ("b", "a", "b")]
    assert [each.name for each in make_tools("s", listed, silent)] == ["s_a", "s_b"]
    assert make_tools("s", listed, silent)[0].name == make_tools("s", listed[::-1], silent)[0].name == "s_a"


def test_a_model_without_tools_of_its_own_reads_what_objects_hold() -> None:
    place = {"type": "object", "properties": {"path": {"type": "string"}, "line": {"type": "integer"}}}
    schema = {
        "type": "object",
        "properties": {"at": {**place, "required": ["path"]}, "more": {"type": "array", "items": place}},
        "required": ["at"],
    }
    described = describe_tools(make_tools("s", [ListedTool("look", "Look.", schema)], silent))
    assert described.endswith(
        "- s_look(at: JSON {path, line?: integer}, more?: list of JSON {path?, line?: integer}): Look."
    )


@given(st.lists(st.tuples(st.sampled_from(["a", "a_b", "A"]), st.text(max_size=80)), max_size=8, unique=True))
def test_names_are_short_plain_and_different(pairs: list[tuple[str, str]]) -> None:
    names: list[str] = []
    for server, tool in pairs:
        names.append(name_tool(server, tool, names))
    assert len(set(names)) == len(names)
    assert all(0 < len(name) <= 64 and name.isascii() and name.replace("_", "a").isalnum() for name in names)
