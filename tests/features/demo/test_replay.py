"""A script is played as written, mistakes in it are named, and a recording plays back equal."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from kith.core.errors import ModelError, UsageError
from kith.core.events import Delta, Event, Progress
from kith.core.model import Prompt
from kith.core.values import Message, Reply, ToolResult, say
from kith.features.demo.replay import Replay

SCRIPT: list[dict[str, Any]] = [
    {"thinking": "hm", "text": "I look.\n  Now.", "calls": [{"name": "read_file", "args": {"path": "ä.py"}}]},
    {"text": "Done.", "expect": "^x = 1$"},
]


def play(model: Any, *prompts: Prompt) -> tuple[list[Reply], list[Event]]:
    events: list[Event] = []

    async def run() -> list[Reply]:
        return [await model(prompt, events.append) for prompt in prompts]

    return asyncio.run(run()), events


def conversation(first: Reply) -> Prompt:
    answer = ToolResult(first.message.calls[0].id if first.message.calls else "", "# a file\nx = 1\n")
    return Prompt("", (say("go"), first.message, Message("tool", (answer,))))


def test_a_script_is_played_in_pieces_and_in_order() -> None:
    model = Replay("replay/x", SCRIPT)
    (first,), events = play(model, Prompt("", (say("go"),)))
    assert (first.message.text, first.stop, first.model) == ("I look.\n  Now.", "tools", "replay/x")
    assert first.message.calls[0].args == {"path": "ä.py"} and first.message.calls[0].id
    deltas = [event for event in events if isinstance(event, Delta)]
    assert "".join(each.text for each in deltas if each.kind == "text") == "I look.\n  Now."
    assert [each.text for each in deltas if each.kind == "thinking"] == ["hm"]
    assert len(deltas) >= 5
    assert isinstance(events[0], Progress) and events[0].done == first.usage.input
    (second,), _ = play(model, conversation(first))
    assert (second.message.text, second.stop) == ("Done.", "end")


def test_sizes_are_estimated_and_a_shared_beginning_is_cached() -> None:
    model = Replay("replay/x", [{"text": "one " * 100}, {"text": "two"}])
    prompt = Prompt("You are kith." * 50, (say("go"),))
    (first,), _ = play(model, prompt)
    (second,), _ = play(model, Prompt(prompt.system, (*prompt.messages, first.message, say("more"))))
    assert first.usage.cached == 0 and first.usage.output == 100
    assert 0.9 * first.usage.input < second.usage.cached < second.usage.input


def test_a_surprise_and_the_end_are_told() -> None:
    with pytest.raises(
        ModelError, match="reply 1 expects a message that matches 'stop', but the last one was 'go'"
    ):
        play(Replay("replay/x", [{"text": "a", "expect": "stop"}]), Prompt("", (say("go"),)))
    with pytest.raises(ModelError, match="replay/x is over: its script has 0 replies"):
        play(Replay("replay/x", []), Prompt("", (say("go"),)))


def test_a_reply_waits_for_a_file(tmp_path: Path) -> None:
    go = tmp_path / "go"
    model = Replay("replay/x", [{"text": "Now.", "when": str(go)}])

    async def run() -> str:
        asking = asyncio.ensure_future(model(Prompt("", (say("go"),)), lambda event: None))
        done, _ = await asyncio.wait((asking,), timeout=0.05)
        assert not done
        go.touch()
        return (await asking).message.text

    assert asyncio.run(run()) == "Now."


def test_scripted_errors_stop_and_usage() -> None:
    error = {"text": "busy", "retryable": True, "after_s": 3}
    model = Replay(
        "r", [{"error": error}, {"error": "no"}, {"text": "half", "stop": "length", "usage": {"input": 7}}]
    )
    with pytest.raises(ModelError, match="busy") as caught:
        play(model, Prompt("", ()))
    assert (caught.value.retryable, caught.value.after_s) == (True, 3)
    with pytest.raises(ModelError, match="no") as caught:
        play(model, Prompt("", ()))
    assert not caught.value.retryable
    (reply,), _ = play(model, Prompt("", ()))
    assert (reply.stop, reply.usage.input, reply.usage.output) == ("length", 7, 1)


@pytest.mark.parametrize("name", ["list.json", "object.json", "lines.jsonl"])
def test_all_three_forms_are_read(tmp_path: Path, name: str) -> None:
    forms = {
        "list.json": json.dumps(SCRIPT, indent=1),
        "object.json": json.dumps({"replies": SCRIPT}),
        "lines.jsonl": "\n".join(json.dumps(reply, ensure_ascii=False) for reply in SCRIPT) + "\n",
    }
    path = tmp_path / name
    path.write_text(forms[name], "utf-8")
    model = Replay.load(path)
    assert model.name == f"replay/{path.stem}"
    assert list(model.replies) == SCRIPT


@pytest.mark.parametrize(
    ("replies", "words"),
    [
        ([{"text": "a"}, {"txt": "b"}], "reply 2 has an unknown key 'txt'"),
        ([["a"]], "reply 1 is not an object"),
        ([{"text": 3}], "reply 1 has a 'text' of the wrong type"),
        ([{"stop": "never"}], "reply 1 has an unknown stop 'never'"),
        ([{"calls": [{"args": {}}]}], "reply 1 has a call without a name"),
        ([{"calls": [{"name": "x", "args": []}]}], "reply 1 has a call of 'x' whose args are not an object"),
        ([{"usage": {"in": 3}}], "reply 1 has a usage with an unknown key"),
        ([{"expect": "("}], "reply 1 expects what is no regular expression"),
        ({"answers": []}, "it has no list of replies"),
    ],
)
def test_mistakes_in_a_script_are_named(tmp_path: Path, replies: object, words: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(replies))
    with pytest.raises(UsageError) as caught:
        Replay.load(path)
    assert words in str(caught.value)


def test_a_file_that_is_no_script_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a script"):
        Replay.load(tmp_path / "absent.json")
