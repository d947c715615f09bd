"""Tools of other programs in a task, from outside: asked about, used, remembered, missing, listed."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from places import SUPPORT

pytest.importorskip("mcp")

from kith.core.events import Notice, ToolBegan, ToolEnded
from kith.memory.log import LOG_FILE, Log
from outside import Kith, Serve

SERVER = SUPPORT / "plain_server.py"
Write = Callable[[str], None]


@pytest.fixture
def configure(home: Path) -> Write:
    """Write the person's configuration; @PLAIN@ in it stands for the server's command."""
    file = home / ".config" / "kith" / "config.toml"
    file.parent.mkdir(parents=True)

    def write(text: str) -> None:
        file.write_text(text.replace("@PLAIN@", json.dumps([sys.executable, str(SERVER)])))

    return write


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    def save(*replies: Any) -> str:
        (tmp_path / "script.json").write_text(json.dumps(replies))
        return f"replay/{tmp_path / 'script.json'}"

    return save


def calling(name: str, **args: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "args": args}]}


def told(home: Path) -> list[Any]:
    log = Log(home / ".local" / "state" / "kith" / LOG_FILE)
    return [record.event for record in log.events(log.sessions(None)[0].id)]


def test_an_allowed_tool_is_used_without_a_question(
    kith: Kith, configure: Write, script: Callable[..., str], home: Path
) -> None:
    configure('[mcp.demo]\ncommand = @PLAIN@\nallow = ["gr*"]\n')
    model = script(calling("demo_greet", who="Ada"), {"expect": "^Hello Ada", "text": "She was greeted."})
    assert kith.run("-m", model, "--check", "none", "greet Ada")["text"] == "She was greeted."
    events = told(home)
    began = next(each for each in events if isinstance(each, ToolBegan))
    assert (began.name, began.effect, began.target) == ("demo_greet", "call", '{"who": "Ada"}')
    notice = next(each.text for each in events if isinstance(each, Notice) and "tokens" in each.text)
    assert notice.startswith("Tools of other programs: 6 of demo; about ")


@pytest.mark.slow
def test_nothing_is_asked_of_a_server_that_nobody_allowed(
    kith: Kith, configure: Write, script: Callable[..., str], tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    configure(f"[mcp.demo]\ncommand = @PLAIN@\nenv = {{ PLAIN_SERVER_LOG = '{log}' }}\n")
    refused = {"expect": "not allowed", "text": "I may not."}
    kith.run("-m", script(calling("demo_greet", who="Ada"), refused), "--check", "none", "--yes", "greet Ada")
    assert "tools/list" in log.read_text() and "tools/call" not in log.read_text()
    denied = script(calling("demo_greet", who="Ada"), {"expect": "There is no tool", "text": "I may not."})
    kith.run("-m", denied, "--read-only", "greet Ada")


@pytest.mark.slow
def test_servers_that_fail_are_told_of_and_the_work_goes_on(
    kith: Kith, configure: Write, script: Callable[..., str], home: Path
) -> None:
    configure(
        '[mcp.gone]\ncommand = "no-such-program"\n[mcp.key]\ncommand = @PLAIN@\npass_env = ["NOT_SET"]\n'
    )
    assert kith.run("-m", script("All the same."), "--check", "none", "say so")["text"] == "All the same."
    texts = [each.text for each in told(home) if isinstance(each, Notice)]
    assert "The tools of gone are missing: there is no program 'no-such-program' on this machine." in texts
    assert "The tools of key are missing: the variable NOT_SET is not set." in texts


@pytest.mark.slow
def test_a_secret_for_a_server_stays_out_of_the_log(
    kith: Kith, configure: Write, script: Callable[..., str], home: Path
) -> None:
    secret = "q7Gv-u9-x2LmW4tZ-B8r"
    configure(f'[mcp.demo]\ncommand = @PLAIN@\nallow = ["*"]\nenv = {{ API_TOKEN = "{secret}" }}\n')
    model = script(calling("demo_environment", variable="API_TOKEN"), {"expect": r"\S", "text": "Seen."})
    kith.run("-m", model, "--check", "none", "look")
    assert any(isinstance(each, ToolEnded) and each.ok for each in told(home))
    log = home / ".local" / "state" / "kith"
    assert not any(secret.encode() in file.read_bytes() for file in log.rglob("*") if file.is_file())
    assert secret not in kith("config").stdout


@pytest.mark.slow
def test_a_request_holds_the_tools_after_kiths_own(kith: Kith, configure: Write, serve: Serve) -> None:
    configure('[mcp.demo]\ncommand = @PLAIN@\ntools = ["greet", "pic*"]\n')
    server = serve([{"text": "Nothing to do."}])
    kith.run("-m", "ollama/standin", "--check", "none", "hello")
    names = [tool["function"]["name"] for tool in server.requests[-1]["tools"]]
    assert names[-2:] == ["demo_greet", "demo_picture"] and "read" in names[:-2]


@pytest.mark.slow
def test_tools_that_would_fill_the_window_are_left_out(
    kith: Kith, configure: Write, script: Callable[..., str], home: Path
) -> None:
    configure('[mcp.demo]\ncommand = @PLAIN@\nenv = { MANY = "400" }\n')
    kith.run("-m", script("Fine."), "--check", "none", "hello")
    text = next(each.text for each in told(home) if isinstance(each, Notice) and "left out" in each.text)
    assert text.endswith("Choose tools in mcp.demo.tools.")


@pytest.mark.slow
def test_what_servers_offer_and_cost_is_listed(kith: Kith, configure: Write) -> None:
    configure(
        '[mcp.demo]\ncommand = @PLAIN@\ntools = ["greet"]\n[mcp.gone]\ncommand = "no-such-program"\n'
        '[mcp.later]\nurl = "https://example.org/mcp"\noff = true\n'
    )
    listed = kith("mcp", "list", code=1).stdout
    assert "demo: 1 of 6 tools, about " in listed and "gone: there is no program" in listed
    assert "later: off" in listed
    tested = kith("mcp", "test", "demo").stdout
    assert "demo_greet" in tested and "takes who string, [style string]" in tested and "gone" not in tested
    (row,) = json.loads(kith("mcp", "test", "demo", "--json").stdout)
    assert row["tools"][0]["schema"]["required"] == ["who"] and row["tokens"] > 20
    assert "There is no server 'dmo'" in kith("mcp", "test", "dmo", code=2).stderr
    assert "kith is offline" in kith("mcp", "list", "--offline", code=1).stdout


def test_without_servers_that_is_said(kith: Kith) -> None:
    assert "No tool server is configured" in kith("mcp", "list").stderr


def test_a_project_names_no_servers(kith: Kith) -> None:
    (kith.folder / ".kith").mkdir()
    (kith.folder / ".kith" / "config.toml").write_text('[mcp.evil]\ncommand = "touch /tmp/x"\n')
    assert "a project may not set 'mcp'" in kith("trust", "--yes", code=2).stderr
