"""`kith mcp` by the protocol's own client, over the standard streams of a process of its own."""

import asyncio
import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, ElicitRequestFormParams, ElicitResult

from kith.context.budget import estimate_tokens
from kith.core.values import Answer
from kith.memory.inbox import Inbox, open_question
from kith.memory.log import LOG_FILE, Log
from waiting import until

OLD, NEW = "(len(numbers) + 1)", "max(len(numbers), 1)"
BLOCK = f"""\
utils.py
<<<<<<< SEARCH
    return sum(numbers) / {OLD}
=======
    return sum(numbers) / {NEW}
>>>>>>> REPLACE
"""
DIFF = f"""\
--- a/utils.py
+++ b/utils.py
@@ -3,4 +3,4 @@

 def mean(numbers):
     \"\"\"The arithmetic mean; of no numbers at all it is 0.\"\"\"
-    return sum(numbers) / {OLD}
+    return sum(numbers) / {NEW}
"""
TESTS = "python3 -m unittest discover -s tests -t ."
# The protocol until 2025-11-25, and the one since 2026-07-28.
ERAS = (pytest.param("legacy", marks=pytest.mark.slow), "auto")

Form = Any  # asks for the context of a call and the form's fields, gives an ElicitResult


@asynccontextmanager
async def client(
    folder: Path, *flags: str, form: Form | None = None, mode: str = "auto"
) -> AsyncIterator[Client]:
    """A client of `kith mcp` in a folder; with a form where it is to have one."""
    arguments = ["-m", "kith", "mcp", "-C", str(folder), *flags]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ), cwd="/")
    async with Client(server, elicitation_callback=form, mode=mode, read_timeout_seconds=60) as found:
        yield found


def says(yes: bool, words: str = "") -> tuple[Form, list[str]]:
    """A person who answers each form in this way, and what they were shown."""
    shown: list[str] = []

    async def form(context: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        shown.append(params.message)
        return ElicitResult(action="accept", content={"yes": yes, "words": words})

    return form, shown


async def call(kith: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result = await kith.call_tool(name, arguments)
    assert not result.is_error, text_of(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refusal(kith: Client, name: str, **arguments: Any) -> str:
    result = await kith.call_tool(name, arguments)
    assert result.is_error, text_of(result)
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    return "".join(getattr(block, "text", "") for block in result.content)


def the_log(home: Path) -> Log:
    return Log(home / ".local/state/kith" / LOG_FILE)


async def somebody_answers(home: Path, answer: Answer) -> str:
    """Wait for a question in any session, and answer it as another process would."""
    log, end = the_log(home), time.monotonic() + 60
    while time.monotonic() < end:
        for session in log.session_ids():
            if question := open_question(log, session):
                assert Inbox(log, session).claim(question.id, answer)
                return session
        await asyncio.sleep(0.05)
    raise AssertionError("nobody asked anything")


@pytest.mark.slow
def test_the_tools_say_what_they_do_and_cost_little(repository: Path) -> None:
    async def look() -> None:
        async with client(repository) as kith:
            tools = {tool.name: tool for tool in (await kith.list_tools()).tools}
        assert set(tools) == {"trial", "apply", "undo", "review", "scan", "run", "sessions"}
        for name, tool in tools.items():
            assert tool.annotations and tool.output_schema
            assert tool.annotations.read_only_hint is (name not in ("apply", "undo", "run"))
        shown = [{"name": t.name, "d": t.description, "i": t.input_schema} for t in tools.values()]
        assert estimate_tokens(json.dumps(shown)) < 1_000
        whole = [tool.model_dump(by_alias=True, exclude_none=True) for tool in tools.values()]
        assert estimate_tokens(json.dumps(whole)) < 2_400

    asyncio.run(look())


@pytest.mark.slow
def test_a_trial_tells_how_a_check_ends_and_leaves_the_tree_alone(
    repository: Path, sandbox: None, home: Path
) -> None:
    (home / "secret").write_text("private")
    steps: list[str | None] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message)

    async def look() -> None:
        async with client(repository) as kith:
            good = await kith.call_tool("trial", {"change": BLOCK, "check": TESTS}, progress_callback=tell)
            assert good.structured_content and not good.is_error
            good = good.structured_content
            bad = await call(kith, "trial", change=DIFF.replace(NEW, "7"), check=TESTS)
            own = await call(kith, "trial", change=DIFF)
            check = f"echo stolen > {home}/mark; cat {home}/secret; echo > made.txt"
            out = await call(kith, "trial", change=BLOCK, check=check)
        assert good["ok"] and good["exit_code"] == 0 and good["command"] == TESTS
        assert f"+    return sum(numbers) / {NEW}" in good["diff"]
        assert not bad["ok"] and bad["exit_code"] == 1 and "test_mean" in bad["output"]
        assert own["ok"] and "unittest" in own["command"]
        assert "private" not in out["output"] and "made.txt" not in out["diff"]

    asyncio.run(look())
    assert any((step or "").startswith("✓") for step in steps), steps
    assert OLD in (repository / "utils.py").read_text() and not (home / "mark").exists()
    status = subprocess.run(["git", "status", "--porcelain"], cwd=repository, capture_output=True)
    assert not status.stdout


@pytest.mark.slow
def test_another_agent_sees_no_secrets(repository: Path, sandbox: None) -> None:
    key, word = "Zm4kT9wQ2xL7pR5vB8nY", "Hu7vB2nQ9pLs4Xe1Kd3F"
    (repository / ".env").write_text(f"API_KEY={key}\n")
    subprocess.run(["git", "add", "-f", ".env"], cwd=repository, check=True)
    (repository / ".gitignore").write_text(".env.local\n")
    (repository / ".env.local").write_text(f"API_PASSWORD={word}\n")
    (repository / "also.txt").symlink_to(".env")
    on_env = ".env\n<<<<<<< SEARCH\nAPI_KEY=1\n=======\nAPI_KEY=2\n>>>>>>> REPLACE\n"

    async def look() -> None:
        async with client(repository) as kith:
            check = "cat .env also.txt .env.local; base64 .env.local; false"
            out = await call(kith, "trial", change=BLOCK, check=check)
            told = json.dumps(out)
            assert "[secret left out]" in out["output"]
            assert "holds secrets" in await refusal(kith, "trial", change=on_env, check="true")
            assert "holds secrets" in await refusal(kith, "apply", change=on_env)
            assert key not in told and word not in told
            assert base64.b64encode(word.encode()).decode()[:12] not in told

    asyncio.run(look())


@pytest.mark.parametrize("mode", ERAS)
def test_a_person_decides_in_a_form_of_the_client(repository: Path, sandbox: None, mode: str) -> None:
    yes, shown = says(True)
    no, _ = says(False, "use statistics.mean")
    forms = [no, yes, yes]

    async def form(context: Any, params: Any) -> ElicitResult:
        said: ElicitResult = await forms.pop(0)(context, params)
        return said

    async def look() -> None:
        async with client(repository, "--check", "none", form=form, mode=mode) as kith:
            refused = await call(kith, "apply", change=BLOCK)
            assert not refused["applied"] and refused["feedback"] == "use statistics.mean"
            assert OLD in (repository / "utils.py").read_text()
            done = await call(kith, "apply", change=BLOCK, why="mean() is wrong")
            assert done["applied"] and done["change"] and done["files"] == ["utils.py"]
            assert NEW in (repository / "utils.py").read_text()
            back = await call(kith, "undo", id=done["change"])
            assert back["applied"] and OLD in (repository / "utils.py").read_text()
            listed = (await call(kith, "sessions"))["sessions"]
        assert [each["status"] for each in listed] == ["done", "done", "rejected"]
        assert listed[1]["task"].startswith("mean() is wrong")

    asyncio.run(look())
    assert f"+    return sum(numbers) / {NEW}" in shown[0] and "Apply this change?" in shown[0]
    assert f"-    return sum(numbers) / {NEW}" in shown[1] and len(shown) == 2


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.slow
def test_somebody_else_decides_and_nobody_is_a_no(
    repository: Path, sandbox: None, home: Path, mode: str
) -> None:
    async def never(context: Any, params: Any) -> ElicitResult:
        await asyncio.sleep(60)
        raise AssertionError("the form was to be closed")

    async def look() -> None:
        form = never if mode == "legacy" else None
        async with client(repository, "--patience", "2", form=form, mode=mode) as kith:
            nothing = await call(kith, "apply", change=DIFF)
            assert not nothing["applied"] and "kith serve" in nothing["text"]
            asked = asyncio.ensure_future(call(kith, "apply", change=DIFF))
            session = await somebody_answers(home, Answer("all", by="the page"))
            done = await asked
        assert done["applied"] and done["session"] == session

    asyncio.run(look())
    assert NEW in (repository / "utils.py").read_text()


@pytest.mark.slow
def test_what_fails_the_checks_is_never_shown_to_a_person(repository: Path, sandbox: None) -> None:
    form, shown = says(True)
    worse = (
        f"utils.py\n<<<<<<< SEARCH\n    return sum(numbers) / {NEW}\n=======\n    return 7\n>>>>>>> REPLACE\n"
    )

    async def look() -> None:
        async with client(repository, "--check", TESTS, form=form) as kith:
            assert (await call(kith, "apply", change=DIFF))["applied"]
            no = await call(kith, "apply", change=worse)
        assert not no["applied"] and "exit code 1" in no["text"] and "test_mean" in no["feedback"]

    asyncio.run(look())
    assert len(shown) == 1


@pytest.mark.slow
def test_what_failed_before_too_is_asked_about_and_said(repository: Path, sandbox: None) -> None:
    form, shown = says(True)

    async def look() -> None:
        async with client(repository, "--check", "false", form=form) as kith:
            yes = await call(kith, "apply", change=DIFF)
        assert yes["applied"] and not yes["feedback"]

    asyncio.run(look())
    assert "the check fails exactly as before the change" in shown[0]


HOSTILE = {
    "../out.txt\n```\nx\n```\n": "contains '..'",
    "--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+touch /tmp/x\n": "git",
    "--- /dev/null\n+++ b/.GIT/config\n@@ -0,0 +1 @@\n+x\n": "git",
    "--- /dev/null\n+++ b//etc/passwd.txt\n@@ -0,0 +1 @@\n+x\n": "outside the project",
    "--- /dev/null\n+++ b/.kith/config.toml\n@@ -0,0 +1 @@\n+x\n": "kith",
    "link/x.txt\n```\nx\n```\n": "symbolic link",
    "utils.py\n<<<<<<< SEARCH\nnothing like this\n=======\nx\n>>>>>>> REPLACE\n": "utils.py",
    "Nothing but words.": "holds no edit",
    "": "holds no edit",
}


@pytest.mark.slow
def test_hostile_and_broken_changes_are_refused(repository: Path, sandbox: None, tmp_path: Path) -> None:
    (repository / "link").symlink_to(tmp_path)
    form, shown = says(True)

    async def look() -> None:
        async with client(repository, form=form) as kith:
            for change, said in HOSTILE.items():
                assert said in await refusal(kith, "apply", change=change)
                assert said in await refusal(kith, "trial", change=change, check="true")

    asyncio.run(look())
    assert not shown and not (tmp_path / "x.txt").exists() and not (tmp_path / "out.txt").exists()
    assert not list((repository / ".git" / "hooks").glob("pre-commit"))


@pytest.mark.slow
def test_what_is_malformed_is_told_in_a_sentence(repository: Path) -> None:
    async def look() -> None:
        async with client(repository) as kith:
            assert await refusal(kith, "apply") == "change: Field required."
            strange = await refusal(kith, "trial", change=DIFF, command="true")
            assert strange == "trial takes no 'command'; it takes: change, check."
            assert "limit" in await refusal(kith, "sessions", limit=0)
            assert "change" in await refusal(kith, "trial", change={"a": [1]})
            assert "There is no" in await refusal(kith, "scan", path="nowhere")
            assert "not in the project" in await refusal(kith, "scan", path="../..")
            assert "nothing to undo" in await refusal(kith, "undo")
            assert "not both" in await refusal(kith, "review", revision="HEAD", change=DIFF)
            assert "no-such-commit" in await refusal(kith, "review", revision="no-such-commit")
            assert len((await call(kith, "sessions", limit="3"))["sessions"]) == 0

    asyncio.run(look())


@pytest.mark.slow
def test_a_form_shows_all_of_a_change_or_is_not_shown(repository: Path, sandbox: None, home: Path) -> None:
    form, shown = says(True)
    long = "big.txt\n```\n" + "\n".join(f"line {number} \u202e" for number in range(3_000)) + "\n```\n"

    async def look() -> None:
        async with client(repository, form=form) as kith:
            asked = asyncio.ensure_future(call(kith, "apply", change=long))
            await somebody_answers(home, Answer("none"))
            assert not (await asked)["applied"] and not shown
            hidden = "hidden.py\n```\nx = 1  # \u202e\x1b[2J\n```\n"
            assert (await call(kith, "apply", change=hidden))["applied"]

    asyncio.run(look())
    assert "\u202e" not in shown[0] and "\x1b" not in shown[0] and "x = 1" in shown[0]


@pytest.mark.slow
def test_a_review_and_a_scan_need_no_model(repository: Path, sandbox: None) -> None:
    secret = f"{DIFF}--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,2 @@\n+def f(x=[]):\n+    return eval(x)\n"

    async def look() -> None:
        async with client(repository) as kith:
            found = await call(kith, "review", change=secret)
            assert found["reviewed"] == "the change"
            assert {each["path"] for each in found["findings"]} <= {"utils.py", "new.py"}
            assert (await call(kith, "review"))[
                "text"
            ] == "There is nothing to review in what is not committed."
            scanned = await call(kith, "scan")
        assert "Python" in scanned["languages"] and scanned["tests"] and "utils" in scanned["summary"]

    asyncio.run(look())


EDIT = {"calls": [{"name": "edit", "args": {"path": "utils.py", "old": OLD, "new": NEW}}]}


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "script.json").write_text(json.dumps([EDIT, "Mended."]))
    return f"replay/{tmp_path / 'script.json'}"


@pytest.mark.slow
def test_a_whole_task_is_done_and_its_change_approved_in_a_form(
    repository: Path, sandbox: None, script: str
) -> None:
    form, shown = says(True)

    async def look() -> None:
        async with client(repository, "-m", script, form=form) as kith:
            done = await call(kith, "run", task="Mend mean()")
        assert done["status"] == "done" and done["text"] == "Mended." and done["model"].startswith("replay/")
        assert done["checks"] and done["tokens"] and f"+    return sum(numbers) / {NEW}" in done["diff"]

    asyncio.run(look())
    assert len(shown) == 1 and NEW in (repository / "utils.py").read_text()


@pytest.mark.slow
def test_the_change_of_a_task_waits_for_a_person_when_the_agent_is_gone(
    repository: Path, sandbox: None, script: str, home: Path
) -> None:
    async def look() -> dict[str, Any]:
        async with client(repository, "-m", script, "--check", "none") as kith:
            waiting = await call(kith, "run", task="Mend mean()")
            assert waiting["status"] == "waiting" and "kith serve" in waiting["text"] and waiting["diff"]
            assert (await call(kith, "sessions"))["sessions"][0]["status"] == "waiting"
            return waiting

    waiting = asyncio.run(look())
    assert OLD in (repository / "utils.py").read_text()
    assert asyncio.run(somebody_answers(home, Answer("all", by="the page"))) == waiting["session"]
    until(lambda: the_log(home).past(waiting["session"]).ended)
    assert NEW in (repository / "utils.py").read_text()


@pytest.mark.slow
def test_a_call_that_is_cancelled_ends_its_session(repository: Path, sandbox: None, home: Path) -> None:
    async def look() -> None:
        async with client(repository, mode="legacy") as kith:
            asked = asyncio.ensure_future(kith.call_tool("trial", {"change": DIFF, "check": "sleep 60"}))
            log = the_log(home)
            while not log.session_ids():
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.3)
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            (session,) = log.session_ids()
            while not (ended := log.past(session).ended):
                await asyncio.sleep(0.05)
            assert ended.status == "interrupted"
            assert (await call(kith, "sessions"))["sessions"][0]["status"] == "interrupted"

    asyncio.run(asyncio.wait_for(look(), 60))


@pytest.mark.slow
def test_what_nobody_wrote_down_is_no_answer(repository: Path) -> None:
    """Lines that are no messages, and a state that this server never gave, end nothing and start nothing."""

    async def look() -> None:
        async with client(repository) as kith:
            result = kith.call_tool("apply", {"change": DIFF}, request_state="made up")
            with pytest.raises(Exception, match=r"(?i)state"):
                await result
            assert (await call(kith, "sessions"))["sessions"] == []

    asyncio.run(look())
    command = [sys.executable, "-m", "kith", "mcp", "-C", str(repository)]
    done = subprocess.run(command, input=b"{\n[]\nnull\n", capture_output=True, timeout=60)
    assert done.returncode == 0 and b"Traceback" not in done.stderr


@pytest.mark.slow
def test_without_forms_only_another_place_can_say_yes(repository: Path, sandbox: None) -> None:
    yes, shown = says(True)

    async def look() -> None:
        async with client(repository, "--no-forms", "--patience", "1", "--check", "none", form=yes) as kith:
            assert not (await call(kith, "apply", change=DIFF))["applied"]

    asyncio.run(look())
    assert not shown and OLD in (repository / "utils.py").read_text()
