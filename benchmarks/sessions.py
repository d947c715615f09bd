"""How long an earlier conversation takes to open, and whether what is kept of it grows with its turns.

    python benchmarks/sessions.py [EVENTS]

Opening is: the log, the fold of the session, its turns, and the list of sessions that it is picked from.
Nothing is asked of a model; the log is written here, as tasks write it, and thrown away.
"""

import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from kith.core.events import Applied, Called, Event, Options, RunEnded, RunStarted, Said, ToolBegan, ToolEnded
from kith.core.values import (
    CacheUse,
    FileChange,
    Message,
    Ran,
    Text,
    Thinking,
    Timing,
    ToolCall,
    ToolResult,
    Usage,
    say,
)
from kith.memory.log import Log
from kith.memory.turns import turns

MODEL = "ollama/qwen3:8b"
WORDS = "The fault is in `median()`:\n\n- it takes **one** value,\n- it should take two.\n"
OUTPUT = "".join(f"tests/test_stats.py::test_{n} PASSED [{n}%]\n" for n in range(40))
DIFF = "diff --git a/s.py b/s.py\n--- a/s.py\n+++ b/s.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
OTHERS = 2_000  # sessions beside it
LIMIT_MS = 200


def steps(task: int, number: int) -> Iterator[Event]:
    """Calls of a model that looks and runs, each with its tool."""
    for step in range(number):
        usage, timing = Usage(9_000 + step, 180, 8_900), Timing(prefill_s=0.4, decode_s=4.1, total_s=4.6)
        cache = CacheUse(120, 100)
        yield Called(MODEL, "edit", 1, usage, timing, window=16_384, cache=cache, usd=0.0)
        call = ToolCall(f"call{task}-{step}", "bash", {"command": f"python -m pytest -q -k part_{step}"})
        thought = Thinking("It may be the rounding. " * 12)
        yield Said("task", Message("assistant", (thought, Text(f"{WORDS}\nStep {step}."), call), MODEL))
        yield ToolBegan(call.id, "bash", "exec", call.args["command"])
        ran = Ran(call.args["command"], 0, OUTPUT, 1.2) if step % 4 == 0 else None
        yield ToolEnded(call.id, "bash", True, 1.2, "exit 0", ran)
        yield Said("task", Message("tool", (ToolResult(call.id, OUTPUT),), "kith"))


def conversation(steps_of_task: int) -> Iterator[Event]:
    """Tasks without end, each with so many steps."""
    task = 0
    while True:
        task += 1
        yield RunStarted(f"Mend part {task}", "/project", MODEL, "0.1.0", Options(plan="no"))
        yield Said("task", say(f"# Task\nMend part {task}"))
        yield from steps(task, steps_of_task)
        yield Said("task", Message("assistant", (Text(WORDS),), MODEL))
        yield Applied(f"change-{task}", (FileChange("s.py", 1, 1, DIFF),))
        yield RunEnded("done", WORDS)


def write(log: Log, session: str, events: Iterator[Event]) -> None:
    with log.at_once():
        for event in events:
            log.append(session, event, ())


def measure(do: Callable[[], Any], tries: int = 9) -> float:
    """The quickest of some tries, in milliseconds: what else the machine does makes the others slower."""
    found = []
    for _ in range(tries):
        began = time.perf_counter()
        do()
        found.append((time.perf_counter() - began) * 1_000)
    return min(found)


def kept_bytes(log: Log, session: str) -> int:
    """What the fold of a session holds, in bytes."""
    tracemalloc.start()
    past = log.past(session)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del past
    return held


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.sqlite3")
        log = Log(path)
        write(log, "many", islice(conversation(18), number))
        write(log, "one", islice(conversation(number), number))
        write(log, "turns", islice(conversation(0), 5_000))
        for other in range(OTHERS):
            write(log, f"other{other}", islice(conversation(0), 5))
        for session, what in {"many": "100 turns", "one": "one turn", "turns": "1,000 turns of 5"}.items():

            def open_it(session: str = session) -> None:
                again = Log(path)
                again.past(session)
                turns(again, session)
                again.close()

            print(f"open {what:16}  {measure(open_it):6.0f} ms   (bar {LIMIT_MS} ms)")
        print(f"again, after one event  {measure(lambda: log.past('many')):6.1f} ms")
        print(f"list 50 of {OTHERS + 3:,}      {measure(lambda: log.sessions(Path('/project'))):6.1f} ms")
        print(f"kept of 1,000 turns    {kept_bytes(Log(path), 'turns') / 1e6:6.1f} MB")


if __name__ == "__main__":
    main()
