"""`kith build` where kith chooses the models: the frontier model gets the later tries of a task."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from built import ADVISED, MENDED, PLANNED, SECOND, SIMPLE, SPECIFIED, TRIED
from kith.core.decisions import Routed
from kith.core.events import Said
from kith.memory.log import Log
from outside import Kith


def write_script(folder: Path, name: str, replies: list[Any]) -> str:
    file = folder / f"{name}.json"
    file.write_text(json.dumps([{"text": each} if isinstance(each, str) else each for each in replies]))
    return f"replay/{file}"


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_the_frontier_model_gets_the_later_tries(
    repository: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What nothing can test may go to either; here one model plans, and another reviews.
    for role, replies in (("architect", [PLANNED]), ("reviewer", [ADVISED])):
        words = files("kith.roles").joinpath(f"{role}.md").read_text(encoding="utf-8")
        own = home / ".config" / "kith" / "roles" / f"{role}.md"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(words.replace("model: route", f"model: {write_script(tmp_path, role, replies)}"))
    expect = r"Add a median.*Another model tried this before you\. Its change is in the files:.*\+def median"
    taken_over = [MENDED[0] | {"expect": expect}, *MENDED[1:]]
    monkeypatch.setenv("KITH_ROUTE_AUDIT", "0")
    monkeypatch.setenv("KITH_ROUTE_LOCAL", write_script(tmp_path, "local", [*SPECIFIED, *TRIED, *SIMPLE]))
    monkeypatch.setenv("KITH_ROUTE_FRONTIER", write_script(tmp_path, "frontier", taken_over))
    kith = Kith(repository)
    words = ("--yes", "-m", "route", "--max-retries", "1", "Add a median")
    report = json.loads(kith("build", "--output-format", "json", *words).stdout)
    assert report["status"] == "done", report["text"]
    assert SECOND in (repository / "utils.py").read_text()
    records = list(Log(home / ".local/state/kith/log.sqlite3").events(report["session"]))
    routed = [(each.path, each.event) for each in records if isinstance(each.event, Routed)]
    (escalated,) = [(path, event) for path, event in routed if event.after]
    assert escalated[0] == ("implement 1",) and escalated[1].after == "replay/local"
    # Back to the local model for the refiner, and a conversation of its own for the frontier model.
    assert [path[0] for path, event in routed if not event.after] == ["specify 1", "implement 1", "refine 1"]
    spoken = {
        each.event.thread: each.event.message.author
        for each in records
        if isinstance(each.event, Said) and each.event.message.role == "assistant"
    }
    assert {"build/1/implement", "build/1/implement/2"} <= spoken.keys()
    parts = json.loads(kith("why", "--json").stdout)["decisions"]
    assert [(part["part"], part["outcome"]["status"], part["outcome"]["calls"]) for part in parts] == [
        ("specify 1", "done", 2),
        ("implement 1", "done", 4),
        ("refine 1", "done", 1),
    ]
    assert "after one try," in parts[1]["escalations"][0]["why"]
