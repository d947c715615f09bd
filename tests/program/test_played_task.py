"""A whole task on a real llama.cpp engine: what is read twice, what a compaction costs, how it ends."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kith.context.compact import SUMMARY_REQUEST
from kith.core.events import Called, Compacted, Event
from kith.memory.log import Log
from mending import CHECK, NEW, OLD
from outside import Kith
from places import SUPPORT
from puppet import Row, call, puppet

pytestmark = pytest.mark.slow

ENGINE = SUPPORT / "run_engine.py"
LOOKS = 18
SUMMARY = "The task: mend mean(). Some chapters are read. Next: the other chapters, then edit utils.py."


@pytest.fixture
def small_engine_url(engine_url: str, tiny_gguf: Path) -> Iterator[str]:
    """The address of a real engine with a window of 4,096 tokens."""
    command = [sys.executable, str(ENGINE), str(tiny_gguf), "4096"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as engine:
        assert engine.stdout
        yield engine.stdout.readline().strip()
        engine.terminate()


class Script:
    """Twenty calls: it reads every chapter, mends `mean`, and is done; it sums up whenever it is asked to."""

    def __init__(self) -> None:
        looks = [call("read", paths=[f"chapter_{number}.py"]) for number in range(LOOKS)]
        self.left = [*looks, call("edit", path="utils.py", old=OLD, new=NEW), call("done", summary="Mended.")]
        self.offered: list[int] = []  # tools, in each request

    def __call__(self, request: Row) -> str:
        self.offered.append(len(request["tools"]))
        return SUMMARY if request["messages"][-1]["content"] == SUMMARY_REQUEST else self.left.pop(0)


def write_chapters(folder: Path, lines: int) -> None:
    for number in range(LOOKS):
        text = "".join(f"value_{number}_{line} = compute({line}, {number})\n" for line in range(lines))
        (folder / f"chapter_{number}.py").write_text(text)
    subprocess.run(["git", "add", "."], cwd=folder, check=True)
    subprocess.run(["git", "commit", "-qm", "Chapters"], cwd=folder, check=True)


def play(kith: Kith, engine: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """The events of the task, which must end well."""
    script = Script()
    with puppet(engine, script) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        report = kith.run("--yes", "--check", CHECK, "fix mean")
    assert (report["status"], report["text"], report["receipt"]["warnings"]) == ("done", "Mended.", [])
    assert NEW in (kith.folder / "utils.py").read_text() and not script.left
    assert len(set(script.offered)) == 1
    log = Log(home / ".local" / "state" / "kith" / "log.sqlite3")
    return [record.event for record in log.events(report["session"])]


def efficiency(calls: list[Called]) -> float:
    uses = [each.cache for each in calls if each.cache]
    assert len(uses) == len(calls)
    return sum(use.unavoidable for use in uses) / sum(use.evaluated for use in uses)


def test_twenty_calls_read_nothing_twice(
    kith: Kith, engine_url: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_chapters(kith.folder, lines=12)
    calls = [each for each in play(kith, engine_url, home, monkeypatch) if isinstance(each, Called)]
    assert len(calls) == 20 and efficiency(calls) >= 0.95
    # No client can do with less: what the last prompt holds, read once, but for what the engine wrote itself.
    least = calls[-1].usage.input - sum(each.usage.output for each in calls[:-1])
    assert sum(each.usage.input - each.usage.cached for each in calls) <= 1.1 * least


@pytest.mark.parametrize(("lines", "most"), [(2, 2), (12, 9)])
def test_a_small_window_is_compacted_and_the_task_goes_on(
    kith: Kith, small_engine_url: str, home: Path, monkeypatch: pytest.MonkeyPatch, lines: int, most: int
) -> None:
    write_chapters(kith.folder, lines)
    events = play(kith, small_engine_url, home, monkeypatch)
    calls = [each for each in events if isinstance(each, Called)]
    assert 1 <= sum(isinstance(each, Compacted) for each in events) <= most
    assert efficiency(calls) >= 0.85
    assert all(each.window == 4096 >= each.usage.input + each.usage.output for each in calls)
