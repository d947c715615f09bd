"""Sessions for tests of pages: all that can happen, with any words in every channel."""

import re
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from kith.core.codec import encode_event
from kith.core.decisions import Claimed, Concluded, Convened, Routed
from kith.core.events import (
    Answered,
    Applied,
    Asked,
    Called,
    Compacted,
    Delta,
    Engaged,
    Event,
    Judged,
    Notice,
    Planned,
    Progress,
    Proposed,
    RunEnded,
    RunStarted,
    Said,
    Stepped,
    TodoSet,
    ToolBegan,
    ToolEnded,
    is_transient,
)
from kith.core.values import (
    Answer,
    CacheUse,
    Change,
    Message,
    Plan,
    Question,
    Ran,
    Text,
    Thinking,
    Timing,
    TodoItem,
    ToolCall,
    ToolResult,
    Usage,
    say,
)
from kith.edits import summarise
from kith.memory.live import Position, Seen

Told = tuple[Event, tuple[str, ...]]
PATH = ("attempt 1",)
MODEL = "ollama/qwen3:8b"


def seen(events: Sequence[Told]) -> list[Seen]:
    """Events as a watch finds them."""
    found, seq, byte = [], 0, 0
    for event, path in events:
        seq, byte = (seq, byte + 10) if is_transient(event) else (seq + 1, 0)
        at = 0.0 if byte else 1_000.0 + seq
        found.append(Seen(Position(seq, byte), at, path, type(event).__name__, encode_event(event)))
    return found


def turn(words: str, number: int) -> list[Told]:
    """A model thinks, says something and runs a command."""
    call = ToolCall(f"call{number}", "bash", {"command": words, "seconds": 3})
    usage, timing = Usage(900, 20, 800), Timing(prefill_s=0.5, decode_s=2.0, total_s=2.6)
    parts = (Thinking(words), Text(f"say {words}"), call)
    ran = Ran(words, 1, words, 0.4, cut=7)
    return [
        (Progress(words, 10, 20), PATH),
        (Delta(words, "thinking"), PATH),
        *((Delta(piece), PATH) for piece in re.split("(?<= )", f"say {words}") if piece),
        (Delta(words, "tool"), PATH),
        (Called(MODEL, "edit", 1, usage, timing, "tools", window=8_192, cache=CacheUse(100, 80)), PATH),
        (Said("task", Message("assistant", parts, MODEL)), PATH),
        (ToolBegan(call.id, "bash", "exec", words), PATH),
        (ToolEnded(call.id, "bash", False, 0.4, words, ran), PATH),
        (Said("task", Message("tool", (ToolResult(call.id, words, False),), "kith")), PATH),
    ]


def change(words: str) -> list[Told]:
    """A change, what a gate says of it, and the person; the file is called by the words, as far as can be."""
    possible = (char for char in words if char not in "\0/\n" and not "\ud800" <= char <= "\udfff")
    name = "".join(possible)[:80] or "name"
    before = words.encode("utf-8", "surrogatepass")
    files = summarise((Change(f"{name}.py", before, before + b"\nmore\n"),))
    question = Question("q1", "change", words, ("all", "none", "some"), files=files)
    return [
        (Proposed(files), PATH),
        (Judged("tests", False, 1, words, (Ran(words, 1, words, 2.0),)), PATH),
        (Judged("lint", True, 1), PATH),
        (Asked(question), ()),
        (Answered("q1", Answer("revise", words, by=words)), ()),
        (Applied("abc123", files), ()),
    ]


def council(words: str) -> list[Told]:
    """Two models confer."""
    members = {"A": "a", "B": "b"}
    return [
        (Convened("c1", "review", f"{MODEL}?", members), ()),
        (Said("council/c1/A", Message("assistant", (Text(words),), "a")), ("A",)),
        (Claimed("c1", "1", "A", "B", words, words, "refuted", words), ()),
        (Concluded("c1", "review", "A", "evidence", words, members, why=words), ()),
    ]


def others(words: str) -> list[Told]:
    """What else happens."""
    question = Question("q2", "tool", f"Allow bash: {words}", ("yes", "no"))
    return [
        (Engaged(words or "m", words, window=8_192), ()),
        (Routed("fix", (MODEL, words), words), ()),
        (Stepped("attempt 1", "began", kind="attempt", attempt=1), PATH),
        (TodoSet((TodoItem(words, "active"), TodoItem("b", "done"))), PATH),
        (Planned(Plan((words,), (words,), (words,), (words,))), ("plan",)),
        (Compacted("task", 3, words, 900, 300), PATH),
        (Notice(words, "warning"), PATH),
        (Said("task", say(words, "person")), PATH),
        (Said("task", say(words, "tests")), PATH),
        (Asked(question), PATH),
        (Answered("q2", Answer("yes", by="page")), PATH),
        (Called(MODEL, "notes", 1, stop="error", error=words), PATH),
        (Stepped("attempt 1", "ended", 3.0), PATH),
    ]


PARTS: tuple[Callable[[str], list[Told]], ...] = (lambda words: turn(words, 1), change, council, others)


def session(words: str) -> list[Told]:
    """One task in which the same words come through every channel."""
    started = RunStarted(words, "/project", MODEL, "0.1.0")
    said = Said("task", say(f"# Task\n{words}"))
    inside = [told for part in PARTS for told in part(words)]
    return [(started, ()), (said, ()), *inside, (RunEnded("done", words), ())]


WORDS = st.one_of(
    st.text(max_size=60),
    st.text("`~*_[]()<>#-|!\\&;:/ \nabx1\u202e\u200b\x1b", max_size=60),
    st.sampled_from(
        ["```py\nx = 1\n\ny\n```\n\nafter\n", "a\n\nb\n\n~~~\n```\n\n", "{not: json", "x" * 5_000]
    ),
)
DELTAS = st.lists(st.builds(Delta, WORDS, st.sampled_from(["text", "text", "thinking", "tool"])), max_size=8)


@st.composite
def stories(draw: st.DrawFn) -> list[Told]:
    """Some of all this, in any order, several times."""
    told: list[Told] = [(RunStarted("a task", "/project", MODEL, "0.1.0"), ())]
    for number in range(draw(st.integers(1, 4))):
        part = draw(st.sampled_from([lambda words, n=number: turn(words, n), *PARTS[1:]]))
        told += [(delta, PATH) for delta in draw(DELTAS)] + part(draw(WORDS))
    return told if draw(st.booleans()) else [*told, (RunEnded("done", draw(WORDS)), ())]
