"""`kith run -m route` from outside: the local model first, the frontier model when it could not do it."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agreeing import agree
from kith.agent.project import Project
from kith.agent.tasks import Task, run_in
from kith.core.decisions import Routed
from kith.core.events import Event, Judged, Said
from kith.memory.log import Log
from kith.memory.session import Session
from mending import CHECK, DONE, NEW, OLD, edit
from outside import Kith, Serve, Server

WRONG = OLD.replace("+ 1", "+ 2")
MISS = [edit(OLD, WRONG), DONE, DONE]  # two tries, for nothing
HIT = [edit(), DONE]


class Models:
    """Scripts as models: `local` and `frontier`, as the settings name them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch
        self.named: dict[str, str] = {}

    def __call__(self, local: list[Any] | None, frontier: list[Any] | None) -> None:
        for name, replies in (("local", local), ("frontier", frontier)):
            if replies is not None:
                self.name(name, self.script(name, replies))

    def script(self, name: str, replies: list[Any]) -> str:
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(replies))
        return f"replay/{file}"

    def name(self, role: str, model: str) -> None:
        self.named[role] = model
        self.monkeypatch.setenv(f"KITH_ROUTE_{role.upper()}", model)


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Models:
    monkeypatch.setenv("KITH_ROUTE_AUDIT", "0")  # whom chance would choose
    return Models(tmp_path, monkeypatch)


def run(kith: Kith, *words: str, code: int = 0) -> dict[str, Any]:
    return kith.run("--yes", "-m", "route", "--check", CHECK, "--tries", "2", *words, code=code)


def events(home: Path, session: str) -> list[Event]:
    log = Log(home / ".local" / "state" / "kith" / "log.sqlite3")
    return [record.event for record in log.events(session)]


def routed(home: Path, session: str) -> list[Routed]:
    return [event for event in events(home, session) if isinstance(event, Routed)]


@pytest.mark.slow
def test_an_endpoint_with_a_name_of_its_own_is_not_weighed_as_free(
    kith: Kith, models: Models, home: Path
) -> None:
    config = home / ".config" / "kith"
    config.mkdir(parents=True)
    far = '[endpoints.far]\nkind = "anthropic"\nurl = "http://127.0.0.1:9"\ncloud = true\n'
    (config / "config.toml").write_text(far)
    models(HIT, None)
    models.name("frontier", "far/claude-sonnet-4-5")
    [decision] = routed(home, run(kith, "fix mean")["session"])
    assert len(decision.table) == 3
    assert all(row["usd"] > 0.01 for row in decision.table if "far/claude-sonnet-4-5" in row["plan"])


def fixed(kith: Kith) -> bool:
    return NEW in (kith.folder / "utils.py").read_text()


def test_the_frontier_model_takes_over_and_solves_it(kith: Kith, models: Models, home: Path) -> None:
    packet = r"# Task\nfix mean\n\n# So far\n.*after 2 tries.*taken back.*\+ 2\).*said:\n1 of 3 tests fail"
    models(MISS, [edit() | {"expect": packet}, DONE])
    report = run(kith, "fix mean")
    assert report["status"] == "done" and fixed(kith)
    begun, taken_over = routed(home, report["session"])
    assert (len(begun.plan), begun.after) == (2, "")
    assert (taken_over.plan, taken_over.after) == (begun.plan[1:], "replay/local")
    assert [(each["model"], each["calls"]) for each in report["models"]] == [
        ("replay/local", 3),
        ("replay/frontier", 2),
    ]
    assert "after 2 tries" in report["models"][0]["gave_up"]
    said = [event for event in events(home, report["session"]) if isinstance(event, Said)]
    assert {event.thread for event in said} == {"task", "task.2"}
    assert all(event.message.author != "replay/local" for event in said if event.thread == "task.2")


@pytest.mark.slow
def test_what_the_local_model_can_do_stays_with_it(kith: Kith, models: Models, home: Path) -> None:
    models(HIT, [])
    report = run(kith, "fix mean")
    assert fixed(kith) and [each["model"] for each in report["models"]] == ["replay/local"]
    assert len(routed(home, report["session"])) == 1


@pytest.mark.parametrize(("dial", "asked"), [("balanced", "replay/local"), ("quality", "replay/frontier")])
def test_what_nobody_can_check_stays_local_unless_quality_is_wanted(
    kith: Kith, models: Models, home: Path, dial: str, asked: str
) -> None:
    models(["It divides."], ["It divides."])
    report = kith.run("-m", "route", "--dial", dial, "how does mean() work?")
    assert [each["model"] for each in report["models"]] == [asked]
    assert [len(each.plan) for each in routed(home, report["session"])] == [1]


@pytest.mark.slow
def test_a_change_with_which_fewer_tests_fail_is_kept(kith: Kith, models: Models) -> None:
    utils, clamp = kith.folder / "utils.py", "    return max(low, min(number, high))\n"
    utils.write_text(utils.read_text().replace(clamp, "    return number\n"))
    subprocess.run(["git", "commit", "-qam", "Two faults"], cwd=kith.folder, check=True)
    half = edit("    return number\n", clamp)
    models([half, DONE, DONE], [edit() | {"expect": "Its change is in the files.*min\\(number, high"}, DONE])
    told = kith("run", "--yes", "-m", "route", "--check", CHECK, "--tries", "2", "mend it")
    assert "was kept: 1 of 3 tests fail with it, 2 without" in told.stderr
    assert clamp in utils.read_text() and fixed(kith)


@pytest.mark.slow
def test_a_hopeless_run_is_stopped_before_its_next_call(kith: Kith, models: Models, home: Path) -> None:
    absent = edit("    return nowhere\n", NEW)
    models([absent, absent, absent, absent], HIT)
    report = run(kith, "fix mean")
    assert fixed(kith) and report["models"][0]["calls"] == 2
    assert "stopped as hopeless: 2 edits or calls in a row" in routed(home, report["session"])[1].why


@pytest.mark.slow
def test_the_only_model_is_never_stopped_as_hopeless(kith: Kith, models: Models, home: Path) -> None:
    absent = edit("    return nowhere\n", NEW)
    models([absent, absent, *HIT], None)
    report = run(kith, "fix mean")
    assert fixed(kith) and [each.plan for each in routed(home, report["session"])] == [
        (models.named["local"],)
    ]
    told = kith("run", "--yes", "-m", "route", "--check", "none", "again", code=None)
    assert "route" not in told.stderr


def test_what_a_stopped_model_left_may_be_good(kith: Kith, models: Models) -> None:
    """Small models often do not know that they are done."""
    absent = edit("    return nowhere\n", NEW)
    models([edit(), absent, absent, absent], [])
    report = run(kith, "fix mean")
    assert report["status"] == "done" and fixed(kith)
    assert [each["model"] for each in report["models"]] == ["replay/local"]


@pytest.mark.slow
def test_a_model_that_is_down_is_left_out_and_said(
    kith: Kith, models: Models, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    models(None, [edit() | {"expect": "# Task\nfix mean$"}, DONE])
    models.name("local", "openai/gone")
    report = run(kith, "fix mean")
    assert fixed(kith) and any("openai/gone is left out" in each for each in report["receipt"]["warnings"])
    (only,) = routed(home, report["session"])
    assert len(only.plan) == 1 and [each.model for each in only.down] == ["openai/gone"]
    assert not any("?." in each for each in report["receipt"]["warnings"])


@pytest.mark.slow
def test_where_a_local_model_is_down_another_one_is_asked_before_the_frontier_model(
    kith: Kith, models: Models, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    models(None, [])
    other = models.script("other", [*HIT, *HIT])
    (home / ".config" / "kith").mkdir(parents=True)
    (home / ".config" / "kith" / "config.toml").write_text(f'[route]\nlocal = ["openai/gone", "{other}"]\n')
    first = run(kith, "fix mean")
    (decided,) = routed(home, first["session"])
    assert fixed(kith) and decided.plan[0] == other
    assert [each.model for each in decided.down] == ["openai/gone"]
    told = json.loads(kith("why", "--json").stdout)["decisions"][0]
    assert told["down"][0]["model"] == "openai/gone" and told["first_plan"].keys() == {"usd", "seconds"}
    kith("undo", "--yes")
    later = run(kith, "fix mean")  # an outage of a minute ago: nobody waits for it again
    assert routed(home, later["session"])[0].down == ()


@pytest.mark.slow
def test_where_the_frontier_model_is_down_the_task_ends_as_it_stood(
    kith: Kith, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    models(MISS, None)
    models.name("frontier", "openai/gone")
    report = run(kith, "fix mean", code=1)
    assert "after 2 tries" in report["text"] and not fixed(kith)
    assert any("openai/gone is left out" in each for each in report["receipt"]["warnings"])


@pytest.mark.slow
def test_a_model_that_fails_in_the_middle_is_followed(kith: Kith, models: Models, home: Path) -> None:
    models([edit(OLD, WRONG), {"error": "the server is gone"}], HIT)
    report = run(kith, "fix mean")
    assert fixed(kith) and "it failed: the server is gone" in routed(home, report["session"])[1].why


@pytest.mark.slow
def test_where_nobody_solves_it_nothing_is_applied(kith: Kith, models: Models) -> None:
    models(MISS, MISS)
    report = run(kith, "fix mean", code=6)
    assert report["status"] == "held" and not fixed(kith)
    assert [each["calls"] for each in report["models"]] == [3, 3]


def test_what_is_spent_is_spent_for_all(kith: Kith, models: Models, home: Path) -> None:
    models(MISS, HIT)
    report = run(kith, "--max-task-tokens", "100", "fix mean", code=4)
    assert report["status"] == "limit" and len(routed(home, report["session"])) == 1


@pytest.mark.slow
def test_the_next_task_begins_with_the_local_model_again(
    repository: Path, models: Models, home: Path
) -> None:
    models([*MISS, {"text": "It is fixed.", "expect": "Another model .* utils.py"}], HIT)
    flags = {"model": "route", "check": (CHECK,), "tries": 2}
    project = Project.open(repository, flags)

    async def talk() -> None:
        with Session(project.log, "talk") as session:
            for words in ("fix mean", "what is the state?"):
                result = await run_in(project, session, Task(words), agree)
                assert result.report["status"] == "done", result.report["text"]

    asyncio.run(talk())
    plans = [(len(each.plan), each.after) for each in routed(home, "talk")]
    assert plans == [(2, ""), (1, "replay/local"), (2, "")]


@pytest.mark.slow
def test_a_named_model_is_respected_and_logged(kith: Kith, models: Models, home: Path) -> None:
    models(None, HIT)
    report = kith.run("--yes", "-m", models.script("pinned", HIT), "--check", CHECK, "fix mean")
    (pin,) = routed(home, report["session"])
    assert (pin.by, pin.propensity, pin.plan) == ("person", 1.0, ("replay/pinned",))


def in_the_cloud(serve: Serve, home: Path, replies: list[Any]) -> Server:
    """A stand-in server that counts as one outside of the person's network."""
    server = serve(replies, "vllm")
    config = home / ".config" / "kith" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[endpoints.sky]\nkind = "vllm"\nurl = "{server.url}"\ncloud = true\n')
    return server


@pytest.mark.slow
def test_without_consent_the_task_stays_local_and_that_is_said(
    kith: Kith, models: Models, serve: Serve, home: Path
) -> None:
    server = in_the_cloud(serve, home, HIT)
    models(MISS, None)
    models.name("frontier", "sky/standin")
    report = run(kith, "fix mean", code=1)
    assert "after 2 tries" in report["text"] and "standin is in the cloud" in report["text"]
    assert not server.requests and not fixed(kith)
    report = run(kith, "--cloud", "never", "fix mean", code=1)
    assert "is left out" in " ".join(report["receipt"]["warnings"]) and not server.requests


@pytest.mark.slow
def test_with_consent_a_model_in_the_cloud_takes_over(
    kith: Kith, models: Models, serve: Serve, home: Path
) -> None:
    server = in_the_cloud(serve, home, HIT)
    models(MISS, None)
    models.name("frontier", "sky/standin")
    prices = home / ".config" / "kith" / "prices.toml"
    prices.write_text('["standin"]\ninput = 2.0\noutput = 10.0\n')
    report = run(kith, "--cloud", "allow", "fix mean")
    assert fixed(kith) and [each["calls"] for each in report["models"]] == [3, 2]
    assert report["models"][0]["usd"] == 0 and report["models"][1]["usd"] == report["usd"] > 0
    packet = server.requests[0]["messages"][1]["content"]
    assert packet.startswith("# Task\nfix mean\n\n# So far") and len(packet) < 6_000


@pytest.mark.slow
def test_from_one_server_to_another(kith: Kith, models: Models, serve: Serve, home: Path) -> None:
    ollama, other = serve(MISS, "ollama"), serve(HIT, "vllm")
    models.name("local", "ollama/standin")
    models.name("frontier", "openai/standin")
    report = run(kith, "fix mean")
    assert fixed(kith) and len(ollama.requests) == 3 and len(other.requests) == 2
    assert [each["calls"] for each in report["models"]] == [3, 2] or report["models"][0]["calls"] == 5
    told = kith("why").stdout
    assert "standin -> checks -> standin" in told and "gave up: after 2 tries" in told
    assert all(len(line) <= 80 for line in told.splitlines())


@pytest.mark.slow
def test_why_tells_what_was_chosen_and_how_it_went(kith: Kith, models: Models) -> None:
    models(MISS, HIT)
    run(kith, "fix mean")
    shown = json.loads(kith("why", "--json").stdout)["decisions"][0]
    assert shown["by"] == "router" and len(shown["plan"]) == 2
    assert shown["escalations"][0]["after"] == "replay/local"
    assert shown["outcome"]["status"] == "done" and shown["outcome"]["models"][-1] == "replay/frontier"
    kith("undo")
    told = kith("why").stdout
    assert "undone since" in told and "local.json -> checks -> frontier.json" in told
    pinned = kith.run("--yes", "-m", models.script("pinned", HIT), "--check", CHECK, "fix mean")
    assert "named with -m" in kith("why", pinned["session"][:6]).stdout
    assert "No model was chosen" in kith("why", "-C", str(models.folder), code=2).stderr


@pytest.mark.slow
def test_a_share_of_what_passes_is_audited(
    kith: Kith, models: Models, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_ROUTE_AUDIT", "1")
    doubt = {"solved": False, "why": "mean(None) is not handled."}
    models(HIT, [{"text": json.dumps(doubt), "expect": "# Task\nfix mean\n\n# Change\ndiff --git"}])
    report = run(kith, "fix mean")
    (audited,) = [e for e in events(home, report["session"]) if isinstance(e, Judged) and e.gate == "audit"]
    assert fixed(kith) and (audited.ok, audited.feedback) == (False, doubt["why"])
    monkeypatch.setenv("KITH_ROUTE_AUDIT", "0")
    subprocess.run(["git", "checkout", "-q", "."], cwd=kith.folder, check=True)
    models(HIT, [])
    assert not [
        e for e in events(home, run(kith, "fix mean")["session"]) if getattr(e, "gate", "") == "audit"
    ]


@pytest.mark.slow
def test_a_model_that_takes_over_knows_the_notes_too(kith: Kith, models: Models, home: Path) -> None:
    (kith.folder / "AGENTS.md").write_text("Use tabs only.\n")
    kith("trust", "--yes")
    models(MISS, HIT)
    said = [each for each in events(home, run(kith, "fix mean")["session"]) if isinstance(each, Said)]
    for thread in ("task", "task.2"):
        first = next(each.message.text for each in said if each.thread == thread)
        assert first.startswith("# Notes of the project (AGENTS.md)\nUse tabs only.")
