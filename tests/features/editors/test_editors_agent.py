"""An editor drives `kith acp` over stdio: the real process, and the client side of the published package."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, spawn_agent_process
from acp.helpers import embedded_text_resource, resource_block, resource_link_block
from acp.schema import (
    PermissionOption,
    ToolCallUpdate,
)

from editor import Editor, greet, refuse, started
from kith.core.events import Called
from kith.core.values import Answer, Usage
from kith.features.editors.updates import Updates
from kith.memory.inbox import Inbox, open_question
from kith.memory.log import LOG_FILE, Log
from overdue import run_watched
from waiting import soon

OLD, NEW = "/ (len(numbers) + 1)", "/ max(len(numbers), 1)"
EDIT = {"calls": [{"name": "edit", "args": {"path": "utils.py", "old": OLD, "new": NEW}}]}
COMMAND = (sys.executable, "-m", "kith", "acp", "--check", "none")


@pytest.fixture
def script(tmp_path: Path, sandbox: None) -> Callable[..., Path]:
    def write(*replies: Any) -> Path:
        file = tmp_path / f"script{len(list(tmp_path.glob('script*')))}.json"
        file.write_text(json.dumps(replies))
        return file

    return write


@pytest.fixture
def log(home: Path) -> Log:
    return Log(home / ".local/state/kith" / LOG_FILE)


def test_a_task_is_shown_approved_and_told_again(
    repository: Path, tmp_path: Path, script: Callable[..., Path]
) -> None:
    todo = {"name": "todo", "args": {"items": [{"text": "mend it", "state": "done"}]}}
    look = {"name": "read", "args": {"paths": ["utils.py:4-"]}}
    file = script(
        {"thinking": "Where is it?", "text": "I look.", "calls": [look, todo]}, EDIT, "Mended **it**."
    )

    async def play() -> None:
        async with started(Editor(), tmp_path) as editor:
            id = await editor.open(repository, file)
            assert await editor.say(id, "Mend mean()") == "end_turn"
            whole = str(repository / "utils.py")
            (question,) = editor.asked
            evidence, diff = question.content or []
            assert "Unproven" in str(evidence) or "Proven" in str(evidence)
            assert diff.type == "diff" and diff.path == whole
            assert OLD in (diff.old_text or "") and NEW in diff.new_text
            assert [(each.option_id, each.kind) for each in editor.offered[0]] == [
                ("all", "allow_once"),
                ("none", "reject_once"),
            ]
            assert NEW in (repository / "utils.py").read_text()
            assert editor.words(id, "agent_thought_chunk").startswith("Where is it?")
            assert editor.words(id).startswith("I look.Mended **it**.\n\nApplied 1 file.")
            (plan,) = editor.updates(id, "plan")
            assert [entry["status"] for entry in plan["entries"]] == ["completed"]
            read, edit, ask = editor.updates(id, "tool_call")
            assert read["kind"] == "read" and read["locations"] == [{"path": whole, "line": 4}]
            assert edit["kind"] == "edit" and edit["locations"] == [{"path": whole, "line": 6}]
            assert ask["status"] == "pending" and ask["toolCallId"] == question.tool_call_id
            over = {call["toolCallId"]: call["status"] for call in editor.updates(id, "tool_call_update")}
            assert set(over.values()) == {"completed"} and len(over) == 3
            (listed,) = (await editor.conn.list_sessions(cwd=str(repository))).sessions
            assert listed.session_id == id and listed.title == "Mend mean()"

            editor.seen.clear()
            await editor.conn.load_session(cwd=str(repository), session_id=id, mcp_servers=[])
            assert editor.words(id, "user_message_chunk") == "Mend mean()"
            assert "I look." in editor.words(id) and "Mended **it**." in editor.words(id)
            assert len(editor.updates(id, "tool_call")) == 3
            assert await editor.say(id, "/undo") == "end_turn"
            assert OLD in (repository / "utils.py").read_text() and "Undid utils.py" in editor.words(id)
            assert await editor.say(id, "/diff") == "end_turn"
            assert f"+    return sum(numbers) {NEW}" in editor.words(id)

    asyncio.run(play())


@pytest.mark.slow
def test_two_sessions_at_once_and_a_rejection(
    repository: Path, tmp_path: Path, script: Callable[..., Path]
) -> None:
    later = {"text": "As you say.", "expect": "not applied.*use max"}
    files = [script(EDIT, "Mended.", later), script({"text": "Elsewhere.", "delay": 0.2})]

    async def play() -> None:
        async with started(Editor(refuse), tmp_path) as editor:
            one, two = [await editor.open(repository, file) for file in files]
            await editor.conn.set_session_mode(mode_id="plan", session_id=two)
            assert await asyncio.gather(editor.say(one, "Mend it"), editor.say(two, "What is it?")) == [
                "end_turn",
                "end_turn",
            ]
            assert OLD in (repository / "utils.py").read_text()
            assert "Nothing was applied." in editor.words(one) and editor.words(two) == "Elsewhere."
            (modes,) = editor.updates(two, "current_mode_update")
            assert modes["currentModeId"] == "plan"
            failed = [call["status"] for call in editor.updates(one, "tool_call_update")]
            assert failed == ["completed", "failed"]
            assert await editor.say(one, "use max") == "end_turn"
            assert editor.words(one).endswith("As you say.")

    asyncio.run(play())


@pytest.mark.slow
def test_a_task_is_cancelled_and_the_next_one_is_not(
    repository: Path, tmp_path: Path, script: Callable[..., Path]
) -> None:
    sleep = {"text": "I wait.", "calls": [{"name": "bash", "args": {"command": "sleep 30"}}]}
    file = script(sleep, "Never said.")

    async def play() -> None:
        async with started(Editor(), tmp_path) as editor:
            id = await editor.open(repository, file)
            prompt = asyncio.create_task(editor.say(id, "Wait"))
            await soon(lambda: editor.updates(id, "tool_call"))
            with pytest.raises(RequestError, match="at work here"):
                await editor.conn.load_session(cwd=str(repository), session_id=id, mcp_servers=[])
            await editor.conn.cancel(id)
            await editor.conn.cancel(id)
            assert await asyncio.wait_for(prompt, 60) == "cancelled"
            (call,) = editor.updates(id, "tool_call_update")
            assert call["status"] == "failed", "no call is left running"
            assert editor.words(id).endswith("Interrupted. To resume: /resume")
            await editor.conn.set_config_option("model", id, f"replay/{script('Still here.')}")
            assert await editor.say(id, "And now?") == "end_turn"
            assert editor.words(id).endswith("Still here.")

    asyncio.run(play())


@pytest.mark.slow
def test_a_turn_ends_where_its_steps_are_spent(
    repository: Path, tmp_path: Path, script: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_MAX_STEPS", "1")
    file = script({"calls": [{"name": "read", "args": {"paths": ["utils.py"]}}]}, "Never said.")

    async def play() -> None:
        async with started(Editor(), tmp_path) as editor:
            id = await editor.open(repository, file)
            assert await editor.say(id, "Look") == "max_turn_requests"
            assert "1 steps" in editor.words(id)

    asyncio.run(play())


def test_tokens_and_dollars_add_up_beside_the_words(tmp_path: Path) -> None:
    shown: list[Any] = []
    updates = Updates(tmp_path, shown.append)
    for usd in (0.25, 0.5):
        updates.hear(Called("m", "chat", 1, Usage(900, 100), window=4000, usd=usd), ())
    assert [(each.used, each.size, each.cost.amount) for each in shown] == [
        (1000, 4000, 0.25),
        (1000, 4000, 0.75),
    ]


def test_a_plan_is_asked_about_first(repository: Path, tmp_path: Path, script: Callable[..., Path]) -> None:
    plan = {"steps": ["Look", "Mend"], "modify": ["utils.py"]}
    file = script(json.dumps(plan), EDIT, "Mended.")

    async def play() -> None:
        async with started(Editor(), tmp_path) as editor:
            id = await editor.open(repository, file)
            assert await editor.say(id, "/plan Mend it") == "end_turn"
            first, second = editor.asked
            assert first.content and "1. Look" in first.content[0].content.text
            assert [each.option_id for each in editor.offered[0]] == ["yes", "no"]
            assert (second.title or "").startswith("Apply this change?")
            states = [{entry["status"] for entry in each["entries"]} for each in editor.updates(id, "plan")]
            assert states == [{"pending"}, {"completed"}]
            assert '"steps"' not in editor.words(id), "a plan's JSON is not for people"

    asyncio.run(play())


@pytest.mark.slow
def test_files_come_with_a_prompt_and_what_is_not_saved_is_kept(
    repository: Path, tmp_path: Path, script: Callable[..., Path]
) -> None:
    utils = repository / "utils.py"
    file = script(EDIT | {"expect": "Mend `utils.py` lines 4-6, as in `notes.md`.*max it"}, "Mended.")
    link = resource_link_block("utils.py", f"{utils.as_uri()}#L4:6")
    note = resource_block(embedded_text_resource((repository / "notes.md").as_uri(), "max it"))

    async def save_first(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        if len(editor.asked) == 2:  # the person saw why, and discarded what they had typed
            assert OLD in utils.read_text(), "nothing is applied over what is not saved"
            editor.unsaved.clear()
        return "all"

    editor = Editor(save_first)
    editor.unsaved[str(utils)] = "# half a thought\n"

    async def play() -> None:
        async with started(editor, tmp_path):
            id = await editor.open(repository, file)
            assert await editor.say(id, "Mend ", link, ", as in ", note) == "end_turn"
            words = editor.words(id)
            assert "utils.py has changes in the editor that are not saved: kith works with" in words
            assert "Not applied yet: utils.py has changes in the editor that are not saved." in words
            assert len(editor.asked) == 2 and NEW in utils.read_text()

    asyncio.run(play())


@pytest.mark.slow
def test_another_face_may_answer_first(
    repository: Path, tmp_path: Path, script: Callable[..., Path], log: Log
) -> None:
    file = script(EDIT, "Mended.")

    async def never(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        await asyncio.sleep(60)
        return None

    async def play() -> None:
        async with started(Editor(never), tmp_path) as editor:
            id = await editor.open(repository, file)
            prompt = asyncio.create_task(editor.say(id, "Mend it"))
            await soon(lambda: editor.asked)
            question = open_question(log, id)
            assert question and Inbox(log, id).claim(question.id, Answer("all", by="the page"))
            assert await asyncio.wait_for(prompt, 60) == "end_turn"
            assert NEW in (repository / "utils.py").read_text()
            assert len(editor.cancelled) == 1, "the open dialog is taken back"
            over = editor.updates(id, "tool_call_update")[-1]
            assert over["toolCallId"] == question.id and over["status"] == "completed"

    asyncio.run(play())


@pytest.mark.slow
def test_words_that_come_meanwhile_steer(
    repository: Path, tmp_path: Path, script: Callable[..., Path]
) -> None:
    look = {"name": "bash", "args": {"command": "sleep 1"}}
    file = script({"calls": [look]}, {"text": "With tabs.", "expect": "use tabs"}, "Again.")

    async def play() -> None:
        async with started(Editor(), tmp_path) as editor:
            id = await editor.open(repository, file)
            prompt = asyncio.create_task(editor.say(id, "Look"))
            await soon(lambda: editor.updates(id, "tool_call"))
            assert await editor.say(id, "use tabs") == "end_turn" and await prompt == "end_turn"
            assert editor.words(id) == "With tabs." and not editor.updates(id, "user_message_chunk")

    asyncio.run(play())


@pytest.mark.slow
def test_an_editor_that_dies_costs_nobody_the_work(
    repository: Path, tmp_path: Path, script: Callable[..., Path], log: Log
) -> None:
    file = script(EDIT, "Mended.")

    async def never(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        await asyncio.sleep(60)
        return None

    async def play() -> str:
        async with started(Editor(never), tmp_path) as editor:
            id = await editor.open(repository, file)
            asyncio.create_task(editor.say(id, "Mend it")).add_done_callback(lambda task: task.exception())
            await soon(lambda: editor.asked)
            return id  # and the editor is gone

    id = asyncio.run(play())
    past = log.past(id)
    assert past.ended and past.ended.status == "interrupted" and not log.is_open(id)
    resumed = ["run", "--resume", id, "--yes", "--check", "none", "-m", f"replay/{script('Mended.')}"]
    done = run_watched([sys.executable, "-m", "kith", *resumed], repository)
    assert done.returncode == 0, done.stderr
    assert NEW in (repository / "utils.py").read_text()


def test_mistakes_get_one_sentence_each(repository: Path, tmp_path: Path) -> None:
    async def play() -> None:
        async with started(Editor(), tmp_path) as editor:
            id = await editor.open(repository)
            wrong = [
                (editor.conn.new_session(cwd="here", mcp_servers=[]), "'here' is not an absolute path."),
                (editor.conn.new_session(cwd=str(tmp_path / "no"), mcp_servers=[]), "There is no folder"),
                (editor.say("nobody", "Hello"), "is not open here"),
                (
                    editor.conn.load_session(cwd=str(repository), session_id="nobody", mcp_servers=[]),
                    "There is no session 'nobody'.",
                ),
                (editor.say(id, " "), "The prompt is empty."),
                (editor.conn.set_session_mode(mode_id="fast", session_id=id), "There is no mode 'fast'"),
                (editor.conn.list_sessions(cursor="x"), "'x' is not a cursor"),
            ]
            for call, sentence in wrong:
                with pytest.raises(RequestError, match=sentence):
                    await call
            assert await editor.say(id, "Hello") == "end_turn"
            assert "no model" in editor.words(id).lower(), "what is missing is said in the conversation"

    asyncio.run(play())


@pytest.mark.slow
def test_no_line_ends_it_and_nothing_else_is_on_stdout(repository: Path) -> None:
    new = {"method": "session/new", "params": {"cwd": str(repository), "mcpServers": []}}
    lines = [
        *('{"jsonrpc": "2.0", "id": 1, "meth', "[]", "7", '{"method": 7, "id": 2}', "\udcff", "[" * 100_000),
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "no/such", "params": {}}),
        json.dumps({"jsonrpc": "2.0", "id": 4, "method": "session/prompt", "params": {"prompt": 5}}),
        json.dumps({"jsonrpc": "2.0", "id": 5, "method": "session/new"}),
        json.dumps({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "nobody"}}),
        json.dumps({"jsonrpc": "2.0", "id": 99, "result": {}}),
        json.dumps({"jsonrpc": "2.0", "id": 6, **new}),
    ]
    given = "\n".join([*lines, ""]).encode(errors="surrogateescape")

    async def play() -> None:
        kith = await asyncio.create_subprocess_exec(
            *COMMAND, stdin=-1, stdout=-1, stderr=-1, env=dict(os.environ), limit=1 << 20
        )
        assert kith.stdin and kith.stdout
        kith.stdin.write(given)
        answers: list[dict[str, Any]] = []
        while not any(answer.get("id") == 6 for answer in answers):
            answers.append(json.loads(await kith.stdout.readline()))
        codes = {answer["id"]: answer["error"]["code"] for answer in answers if "error" in answer}
        assert codes == {None: -32700, 3: -32601, 4: -32602, 5: -32602}
        assert [each["error"]["code"] for each in answers if each.get("id", 0) is None].count(-32600) == 3
        kith.stdin.close()
        assert await asyncio.wait_for(kith.wait(), 60) == 0

    asyncio.run(play())


@pytest.mark.slow
def test_the_package_starts_it_as_an_editor_would(repository: Path) -> None:
    async def play() -> None:
        editor, env = Editor(), dict(os.environ)
        async with spawn_agent_process(editor, *COMMAND, env=env) as (editor.conn, process):
            await greet(editor)
            opened = await editor.conn.new_session(cwd=str(repository), mcp_servers=[])
            assert opened.modes and opened.modes.current_mode_id == "auto"
            assert [option.id for option in opened.config_options or []] == ["mode", "model"]
            await soon(lambda: editor.updates(opened.session_id, "available_commands_update"))
        assert process.returncode == 0

    asyncio.run(play())


def test_a_person_at_a_terminal_is_told_who_starts_it(repository: Path) -> None:
    done = subprocess.run([*COMMAND], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 2 and "started by an editor" in done.stderr and not done.stdout
