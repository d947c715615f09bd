"""Logs as long use makes them: sessions of many tasks, written event by event with times of their own."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from kith.core.codec import encode_event
from kith.core.events import (
    Answered,
    Applied,
    Asked,
    Called,
    Engaged,
    Event,
    Judged,
    Proposed,
    RunEnded,
    RunStarted,
    Said,
    Stepped,
    ToolBegan,
    ToolEnded,
)
from kith.core.values import Answer, CacheUse, FileChange, Question, Ran, Timing, Usage, say
from kith.memory.log import Log

Told = tuple[str, float, tuple[str, ...], Event]  # session, when, step, event
MODELS = (
    Engaged("ollama/small:3b", "http://localhost:11434", "sha256:a", "q4_K_M", "3B", 16_384, False, "desk"),
    Engaged("ollama/large:14b", "http://localhost:11434", "sha256:b", "q4_K_M", "14B", 16_384, False, "desk"),
    Engaged("anthropic/far", "https://api.example.org", "", "", "", 200_000, True, "desk"),
)
CHECK = "python3 -m unittest -q"
TASKS = (
    "fix the failing test in utils.py",
    "rename clamp to bound everywhere",
    "explain what mean does",
    "add a docstring to every function of utils.py",
    "write a test for clamp",
)


def write(log: Log, told: Sequence[Told]) -> None:
    """Append these events at their own times, in one transaction."""
    rows = [
        (session, at, "/".join(path), type(event).__name__, encode_event(event))
        for session, at, path, event in told
    ]
    insert = "INSERT INTO events (session, at, path, kind, body) VALUES (?, ?, ?, ?, ?)"
    log._db.execute("BEGIN IMMEDIATE")
    log._db.executemany(insert, rows)
    log._db.execute("COMMIT")


def a_call(model: Engaged, rng: random.Random, attempt: int = 1, purpose: str = "edit") -> Called:
    """A call with plausible figures."""
    read, new, written = rng.randint(1_000, 9_000), rng.randint(200, 900), rng.randint(20, 600)
    prefill, decode = new / 600, written / 27
    timing = Timing(0.0, 0.01, prefill, decode, prefill + 0.05, prefill + decode + 0.1)
    usage = Usage(read, written, read - new)
    usd = 0.01 if model.cloud else 0.0
    return Called(
        model.model,
        purpose,
        attempt,
        usage,
        timing,
        window=model.window,
        cache=CacheUse(new, new),
        usd=usd,
        busy=0.3,
    )


def a_task(session: str, at: float, rng: random.Random, root: str = "/p") -> Iterator[Told]:
    """One task from its first event to its last: two attempts at most, as luck has it."""
    model, words = rng.choice(MODELS), rng.choice(TASKS)
    clock = [at]

    def told(event: Event, *path: str, after: float = 0.1) -> Told:
        clock[0] += after
        return session, clock[0], path, event

    yield told(RunStarted(words, root, model.model, "0"))
    yield told(model)
    yield told(Said("task", say(words)))
    good = rng.random() < 0.7
    for attempt in (1,) if good else (1, 2):
        step = f"attempt {attempt}"
        yield told(Stepped(step, "began", kind="attempt", attempt=attempt), step)
        for number in range(rng.randint(1, 3)):
            yield told(a_call(model, rng, attempt), step, after=20)
            yield told(Said("task", say("...")), step)
            yield told(ToolBegan(f"{attempt}{number}", "edit", "write", "utils.py"), step)
            yield told(ToolEnded(f"{attempt}{number}", "edit", True, 0.01, "utils.py: 1 line"), step)
        change = (FileChange("utils.py", 1, 1, "@@ -1 +1 @@\n-a\n+b\n"),)
        yield told(Proposed(change), step)
        yield told(Judged(CHECK, False, 0, ran=(Ran(CHECK, 1, "", 0.5),), when="before"), step)
        yield told(
            Judged(CHECK, good, attempt, "" if good else "no", (Ran(CHECK, int(not good), "", 0.5),)), step
        )
        yield told(Stepped(step, "ended", 20.0), step)
    if good:
        yield told(Asked(Question("q", "change", "Apply this change?")))
        yield told(Answered("q", Answer("all")), after=2.0)
        yield told(Applied(f"{session}-{at:.0f}", change))
    yield told(RunEnded("done" if good else "failed", ""))


def fill(log: Log, sessions: int, tasks: int = 1, seed: int = 0) -> None:
    """Sessions of so many tasks each, an hour apart."""
    rng = random.Random(seed)
    write(
        log,
        [
            told
            for number in range(sessions)
            for task in range(tasks)
            for told in a_task(f"s{number:06}", 1_700_000_000 + 3_600 * number + 400 * task, rng)
        ],
    )


def open_log(folder: Path) -> Log:
    return Log(folder / "state" / "log.sqlite3")
