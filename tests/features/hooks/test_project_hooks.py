"""Hooks from outside: what they are told, what their answers do, and where each of them runs."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outside import Kith
from sparing import first

SENTENCE = "# letters\n"
WRITE = {"calls": [{"name": "write", "args": {"path": "notes.md", "content": SENTENCE}}]}
DONE = {"calls": [{"name": "done", "args": {"summary": "Written."}}]}
Play = Callable[..., tuple[dict[str, Any], str]]
boxed = pytest.mark.skipif(not shutil.which("bwrap"), reason="a project's hooks run in a sandbox")


@pytest.fixture
def config(home: Path) -> Path:
    folder = home / ".config" / "kith"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def play(kith: Kith, tmp_path: Path) -> Play:
    """Plays replies, and gives the report and all that was said."""

    def start(*replies: Any, task: str = "write notes", code: int | None = 0) -> tuple[dict[str, Any], str]:
        script = tmp_path / "script.json"
        script.write_text(json.dumps(replies))
        report = kith.run("--yes", "--check", "none", "-m", f"replay/{script}", task, code=code)
        return report, kith("export", "--format", "json").stdout

    return start


def hook(on: str, command: str, **more: str) -> str:
    lines = [f"on = '{on}'", f"command = '''{command}'''", *(f"{key} = {each}" for key, each in more.items())]
    return "\n".join(["[[hooks]]", *lines, ""])


def test_a_hook_is_told_of_a_call_and_its_no_goes_to_the_model(config: Path, play: Play) -> None:
    (config / "guard").write_text('#!/bin/sh\ncat >"$0.told"\necho "not in this folder" >&2\nexit 2\n')
    (config / "guard").chmod(0o755)
    (config / "config.toml").write_text(hook("before_tool", "./guard", tool="'wri*'"))
    report, _ = play(
        WRITE, {"text": "Then not.", "expect": "This was not allowed by a hook: not in this folder"}
    )
    assert report["status"] == "done" and report["applied"] is None
    told = json.loads((config / "guard.told").read_text())
    assert (told["on"], told["tool"], told["effect"]) == ("before_tool", "write", "write")
    assert told["args"]["content"] == SENTENCE and len(told["session"]) == 12


def test_arguments_that_a_hook_changes_are_those_that_are_judged_and_run(
    config: Path, play: Play, kith: Kith
) -> None:
    change = """echo '{"args": {"path": "other.md", "content": "x"}, "add": "mind the style guide"}'"""
    (config / "config.toml").write_text(hook("before_tool", change, tool="'write'"))
    report, _ = play(
        WRITE, DONE | {"expect": r"A hook changed this call.*other\.md[\s\S]*mind the style guide"}
    )
    assert [each["path"] for each in report["changes"]] == ["other.md"]
    assert (kith.folder / "other.md").read_text() == "x"


def test_arguments_that_fit_no_tool_are_refused_and_a_policy_looks_at_the_new_ones(
    config: Path, play: Play, kith: Kith
) -> None:
    misfit = hook("before_tool", """echo '{"args": {"file": "x"}}'""", tool="'write'")
    outside = hook(
        "before_tool", """echo '{"args": {"command": "ls", "hosts": ["example.org"]}}'""", tool="'bash'"
    )
    (config / "config.toml").write_text(misfit + outside)
    ask = {"calls": [{"name": "bash", "args": {"command": "ls"}}], "expect": "unknown argument 'file'"}
    _, said = play(WRITE, ask, {"text": "So be it.", "expect": "This was not allowed"})
    assert "reach example.org" in said


@pytest.mark.parametrize("where", first(["machine", "trial"]))
def test_words_after_a_result_reach_the_model(config: Path, play: Play, where: str) -> None:
    add = """read told; case $told in *\\"ok\\":\\ true*) echo "{\\"add\\": \\"seen $((6 * 7))\\"}";; esac"""
    (config / "config.toml").write_text(hook("after_tool", add, where=f"'{where}'"))
    report, _ = play(WRITE, DONE | {"expect": "seen 42"})
    assert report["status"] == "done"


def test_a_result_that_a_hook_rejects_is_a_failure_and_ends_nothing(config: Path, play: Play) -> None:
    (config / "config.toml").write_text(hook("after_tool", "echo 'say more' >&2; exit 2", tool="'done'"))
    report, _ = play(DONE, {"text": "More.", "expect": "This was not allowed by a hook: say more"})
    assert (report["status"], report["text"]) == ("done", "More.")


def test_a_hook_in_the_trial_may_format_what_was_written(config: Path, play: Play, kith: Kith) -> None:
    (config / "config.toml").write_text(
        hook("after_tool", "tr a-z A-Z <notes.md >x && mv x notes.md", tool="'write'", where="'trial'")
    )
    play(WRITE, DONE)
    assert (kith.folder / "notes.md").read_text() == SENTENCE.upper()


def test_an_end_that_a_hook_forbids_is_no_end(config: Path, play: Play, kith: Kith) -> None:
    again = """grep -q '"before": 0' && { echo "write notes.md, too" >&2; exit 2; } || true"""
    (config / "config.toml").write_text(hook("stop", again))
    report, _ = play("Nothing to do.", WRITE | {"expect": "write notes.md, too"}, DONE)
    assert report["status"] == "done" and (kith.folder / "notes.md").exists()
    (config / "config.toml").write_text(hook("stop", "exit 2"))
    report, _ = play("Nothing to do.", "Still nothing.", "And nothing.", code=1)
    assert report["status"] == "failed" and "3 tries" in report["text"]


def test_a_task_that_begins_can_be_refused_or_be_given_words(config: Path, play: Play) -> None:
    (config / "config.toml").write_text(
        hook("start", """echo '{"add": "The ticket is LETTERS-12."}'""")
        + hook("start", """grep -q secret && echo '{"decision": "block", "reason": "not today"}' || true""")
    )
    report, _ = play({"text": "Yes.", "expect": "LETTERS-12"})
    assert report["status"] == "done"
    report, _ = play("never asked", task="print the secret", code=3)
    assert (report["status"], report["text"]) == ("rejected", "A hook says no: not today")


@pytest.mark.parametrize(
    ("command", "words"),
    first(
        [
            ("echo broken >&2; exit 1", "failed with exit code 1: broken"),
            ("echo '{\"add\": 3}'", "answers with add = 3, which is of the wrong kind"),
            ('echo \'{"ad": "x"}\'', "answers with 'ad', but there are only"),
            ("echo '{broken'", "printed no valid JSON"),
            ('echo \'{"decision": "maybe"}\'', "decides 'maybe'"),
            ("no-such-program", "failed with exit code 127"),
            ("echo 'reformatted 1 file {'", ""),
        ]
    ),
)
def test_a_hook_that_fails_is_said_and_the_work_goes_on(
    config: Path, play: Play, command: str, words: str
) -> None:
    (config / "config.toml").write_text(hook("before_tool", command, tool="'write'", seconds="1"))
    report, said = play(WRITE, DONE)
    assert report["status"] == "done" and words in said and ("The hook in" in said) is bool(words)


@pytest.mark.slow
def test_a_hook_that_gives_no_answer_lets_no_call_pass(config: Path, play: Play) -> None:
    sleep = hook("before_tool", "sleep 60", tool="'write'", seconds="0.5")
    (config / "config.toml").write_text(sleep + hook("stop", "sleep 60", seconds="0.5"))
    report, said = play(
        WRITE, {"text": "So.", "expect": "This was not allowed by a hook: it did not answer within 0.5 s"}
    )
    assert report["applied"] is None and "line 6 did not answer within 0.5 s. The work goes on." in said


@boxed
def test_hooks_of_a_project_count_once_they_are_trusted_and_stay_in_the_sandbox(
    config: Path, play: Play, kith: Kith, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (kith.folder / ".kith").mkdir()
    file = kith.folder / ".kith" / "config.toml"
    file.write_text(hook("before_tool", f"echo x >{outside}; echo pwned >&2; test -e {config} || exit 2"))
    report, _ = play(WRITE, DONE)
    assert report["applied"]
    shown = kith("trust", "--yes").stdout
    assert "hook before_tool: " in shown and "it runs in the sandbox, and not at all without one" in shown
    play({"calls": [{"name": "read", "args": {"path": "README.md"}}]}, {"text": "So.", "expect": "pwned"})
    assert not outside.exists()
    file.write_text(hook("before_tool", "true", where="'machine'"))
    assert "run in the trial, never on the machine" in kith("trust", "--yes", code=2).stderr


@pytest.mark.slow
def test_without_a_sandbox_hooks_of_a_project_do_not_run(
    play: Play, kith: Kith, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kith.folder / ".kith").mkdir()
    (kith.folder / ".kith" / "config.toml").write_text(hook("before_tool", f"touch {tmp_path}/ran; exit 2"))
    kith("trust", "--yes")
    monkeypatch.setenv("KITH_SANDBOX", "off")
    report, said = play(WRITE, DONE)
    assert report["applied"] and "The hooks of this project do not run" in said
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
def test_a_question_that_is_only_answered_has_an_end_too(config: Path, play: Play, kith: Kith) -> None:
    (config / "config.toml").write_text("read_only = true\n" + hook("stop", "echo be brief >&2; exit 2"))
    report, _ = play("Long.", {"text": "Shorter.", "expect": "be brief"}, "Short.", task="what is this?")
    assert (report["status"], report["text"]) == ("done", "Short.")


@pytest.mark.slow
def test_a_hook_may_call_kith(config: Path, play: Play) -> None:
    ask = f"{sys.executable} -m kith config get tries >&2; exit 2"
    (config / "config.toml").write_text(hook("before_tool", ask))
    report, _ = play(WRITE, {"text": "So.", "expect": "This was not allowed by a hook: 3$"})
    assert report["status"] == "done"
