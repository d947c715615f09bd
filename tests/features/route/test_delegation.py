"""A model in the cloud hands work to a local one: in the same trial, checked by a command, and told."""

import json
from pathlib import Path
from typing import Any

import pytest

from kith.core.decisions import Delegated
from kith.core.events import Engaged
from kith.features.demo.standin import Request
from kith.memory.log import LOG_FILE, Log
from outside import Kith, Serve, in_thread

KEY = "sk-of-the-strong-one"
OLD, NEW = "(len(numbers) + 1)", "max(len(numbers), 1)"
CHECK = "python3 -m unittest -q"
SECRET = "hunter2-hunter2-hunter2"


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "args": args}]}


def errand(local: str, check: str = CHECK) -> dict[str, Any]:
    return call(
        "delegate", model=local, task="Mend mean() in utils.py.", context="It divides wrong.", check=check
    )


@pytest.fixture
def local(tmp_path: Path) -> Path:
    return tmp_path / "local.json"


def configure(home: Path, url: str, *local: str) -> None:
    config = home / ".config/kith/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    named = f"[route]\nlocal = {json.dumps(local)}\n" if local else ""
    config.write_text(
        f'cloud = "allow"\n{named}[endpoints.strong]\nkind = "anthropic"\nurl = "{url}"\n'
        'key_env = "STRONG_KEY"\ncloud = true\n'
    )


@pytest.fixture
def strong(kith: Kith, serve: Serve, home: Path, local: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a task with these replies of the strong model, and those of the local one."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("STRONG_KEY", KEY)

    def work(replies: list[Any], locals: list[Any], names: tuple[str, ...] | None = None) -> Any:
        server = serve(replies, "anthropic", "--key", KEY, "--model", "claude-standin", "--window", "200000")
        local.write_text(json.dumps(locals))
        configure(home, server.url, *((f"replay/{local}",) if names is None else names))
        return kith.run("-m", "strong/claude-standin", "--yes", "fix the failing test"), server

    return work


def events(home: Path, kind: type) -> list[Any]:
    log = Log(home / ".local/state/kith" / LOG_FILE)
    return [
        record.event
        for session in log.sessions()
        for record in log.events(session.id)
        if isinstance(record.event, kind)
    ]


@pytest.mark.slow
def test_a_local_model_does_the_work_and_a_command_says_so(
    kith: Kith, strong: Any, home: Path, local: Path
) -> None:
    name = f"replay/{local}"
    replies = [call("models"), errand(name), call("done", summary="The local model mended mean().")]
    report, server = strong(replies, [call("edit", path="utils.py", old=OLD, new=NEW), "Mended."])
    assert report["status"] == "done" and NEW in (kith.folder / "utils.py").read_text()
    answers = [json.dumps(request["messages"][-1]) for request in server.requests]
    assert f"{name}: not measured yet" in answers[1]
    assert "Changed: utils.py +1 -1." in answers[2]
    assert f"`{CHECK}` ends with exit code 0" in answers[2]
    (told,) = events(home, Delegated)
    assert (told.by, told.to, told.ok) == ("anthropic/claude-standin", "replay/local", True)
    assert told.usage.output > 0 and "exit code 0" in told.verified
    assert {each.model for each in events(home, Engaged)} == {"anthropic/claude-standin", "replay/local"}


@pytest.mark.slow
def test_what_the_check_refuses_is_taken_back(kith: Kith, strong: Any, home: Path, local: Path) -> None:
    wrong = call("edit", path="utils.py", old=OLD, new="(len(numbers) + 2)")
    replies = [
        errand(f"replay/{local}"),
        call("edit", path="utils.py", old=OLD, new=NEW),
        call("done", summary="I did it myself."),
    ]
    report, server = strong(replies, [wrong, "Done.", "I see no other way."])
    assert report["status"] == "done" and NEW in (kith.folder / "utils.py").read_text()
    answer = json.dumps(server.requests[1]["messages"][-1])
    assert "did not do it, and its change was rolled back" in answer and "ends with exit code 1" in answer
    assert [told.ok for told in events(home, Delegated)] == [False]


def test_only_named_models_are_asked(strong: Any, local: Path) -> None:
    replies = [errand("replay//etc/passwd"), "There is nobody to ask."]
    _, server = strong(replies, [])
    assert f"there are: replay/{local}." in json.dumps(server.requests[1]["messages"][-1])


def test_nobody_named_means_no_such_tools(strong: Any) -> None:
    _, server = strong(["Nothing to do."], [], names=())
    assert "delegate" not in {tool["name"] for tool in server.requests[0]["tools"]}


@pytest.mark.slow
def test_the_local_model_reads_no_secrets_for_the_strong_one(
    kith: Kith, strong: Any, local: Path, home: Path
) -> None:
    (kith.folder / ".gitignore").write_text(".env\n")
    (kith.folder / ".env").write_text(f"DB_PASSWORD={SECRET}\n")
    replies = [errand(f"replay/{local}", check=""), "I have seen nothing."]
    report, server = strong(
        replies, [call("read", paths=[".env"]), call("bash", command="cat .env"), f"It is {SECRET}."]
    )
    assert report["status"] == "done"
    assert SECRET not in json.dumps(server.requests)


@pytest.mark.slow
def test_a_giver_who_reads_the_bill_gives_a_smaller_errand(
    kith: Kith, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = "\n".join(f"Fact {number} has nothing to do with it." for number in range(400))
    heard: list[str] = []

    def give(request: Request) -> Any:
        """Looks the errand up, gives it, and gives the next one as the bill suggests."""
        said = json.dumps(request.body["messages"][-1])
        heard.append(said)
        if len(heard) in (1, 3):
            return call("models", task="Say ok.", context=context)
        if len(heard) in (2, 4):
            shorter = len(heard) == 4 and "fewer tokens of context save" in heard[2]
            words = context[:400] if shorter else context
            return call("delegate", model="openai/standin", task="Say ok.", context=words)
        return call("done", summary="Two errands.")

    claude = {"key": KEY, "model": "claude-standin", "window": 200_000}
    with (
        in_thread(["ok, " * 40] * 9, "llama-server") as weak,
        in_thread(give, "anthropic", **claude) as server,
    ):
        configure(home, server.url, "openai/standin")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{weak.url}/v1")
        monkeypatch.setenv("STRONG_KEY", KEY)
        kith.run("-m", "strong/claude-standin", "--yes", "fix the failing test")
    assert "openai/standin: not measured yet" in heard[1]
    assert "reads 1000, writes 50 tokens/s; this errand: about" in heard[3]
    long, short = events(home, Delegated)
    assert short.tokens < long.tokens / 10 and short.expected_s > 0 == long.expected_s
    (told,) = json.loads(kith("profile", "--json").stdout)["errands"]
    assert (told["tokens_before"], told["tokens"]) == (long.tokens, short.tokens)
