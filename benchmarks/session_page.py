"""How long a session of many events takes to become a page, and against what that is to be held.

    python benchmarks/session_page.py [EVENTS]

Nothing is asked of a model; the log is written here, as a long task writes it, and thrown away.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from kith.core.codec import decode_event
from kith.core.events import Called, Event, Judged, Proposed, RunStarted, Said, TodoSet, ToolBegan, ToolEnded
from kith.core.values import (
    CacheUse,
    FileChange,
    Message,
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
from kith.features.web.html.scene import Scene
from kith.memory.live import LiveReader, Seen
from kith.memory.log import Log

MODEL = "ollama/qwen3:8b"
WORDS = "The fault is in `median()`:\n\n- it takes **one** value,\n- it should take two.\n\n```\nx = 1\n```\n"
OUTPUT = "".join(f"tests/test_stats.py::test_{n} PASSED [{n}%]\n" for n in range(60))
DIFF = "diff --git a/s.py b/s.py\n--- a/s.py\n+++ b/s.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"


def events(number: int) -> Iterator[Event]:
    """A long task: calls, thoughts, commands with output, checks now and then."""
    yield RunStarted("Mend the tests", "/project", MODEL, "0.1.0")
    yield Said("task", say("# Task\nMend the tests"))
    for step in range(number):
        usage, timing = Usage(9_000 + step, 180, 8_900), Timing(prefill_s=0.4, decode_s=4.1, total_s=4.6)
        yield Called(
            "ollama/qwen3:8b", "edit", 1, usage, timing, window=16_384, cache=CacheUse(120, 100), usd=0.0
        )
        call = ToolCall(f"call{step}", "bash", {"command": f"python -m pytest -q -k part_{step}"})
        parts = (Thinking("It may be the rounding. " * 12), Text(f"{WORDS}\nStep {step}."), call)
        yield Said("task", Message("assistant", parts, MODEL))
        yield ToolBegan(call.id, "bash", "exec", call.args["command"])
        yield ToolEnded(call.id, "bash", True, 1.2, "exit 0", Ran(call.args["command"], 0, OUTPUT, 1.2))
        yield Said("task", Message("tool", (ToolResult(call.id, OUTPUT),), "kith"))
        if step % 10 == 9:
            yield TodoSet(tuple(TodoItem(f"Part {n}", "done") for n in range(6)))
            yield Proposed((FileChange("s.py", 1, 1, DIFF),))
            yield Judged("tests", True, 1, ran=(Ran("pytest", 0, OUTPUT, 3.0),))


def timed(what: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    """The best of several: milliseconds of a processor, and what came out."""
    best, found = float("inf"), None
    for _ in range(times):
        began = time.process_time()
        found = what()
        best = min(best, 1_000 * (time.process_time() - began))
    return best, found


def read(log: Log) -> list[Seen]:
    """All that the log has of the session."""
    watch, seen = LiveReader(log, "long"), []
    while more := watch.look():
        seen += more
    return seen


def fold(seen: list[Seen]) -> Scene:
    scene = Scene("long")
    scene.skip(seen)
    return scene


def main(number: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Log(Path(folder) / "log.sqlite3")
        for event in islice(events(number), number):
            log.append("long", event, ())
        reading, seen = timed(lambda: read(log))
        folding, scene = timed(lambda: fold(seen))
        drawing, html = timed(scene.html)
        decoding, _ = timed(lambda: [decode_event(each.kind, each.body) for each in seen], 1)
        everything, whole = timed(lambda: scene.html(None), 1)
        stream = Scene("long")
        patching, patches = timed(lambda: [stream.take(each) for each in seen], 1)
    together, sizes = reading + folding + drawing, sum(len(p.html) for each in patches for p in each)
    print(f"{len(seen):,} events: read {reading:.0f} ms, folded {folding:.0f} ms, drawn {drawing:.0f} ms")
    print(f"together {together:.0f} ms for {len(html):,} characters, {together / 1_000:.0%} of a second")
    print(f"decoding every event alone takes {decoding:.0f} ms, {decoding / together:.1f} times as long")
    print(f"drawing all of it takes {everything:.0f} ms for {len(whole):,} characters")
    print(
        f"following it takes {patching / len(seen):.2f} ms and {sizes / len(seen):,.0f} characters an event"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
