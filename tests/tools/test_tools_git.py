"""The repository: five ways to look, two to record, none to rewrite, and no program of its own runs."""

from pathlib import Path
from typing import Any

import pytest

from kith.core.policy import READ_ONLY
from kith.core.values import CallTarget
from kith.tools.git import GIT
from tools_bench import Bench


@pytest.fixture
def bench(repository: Path, tmp_path: Path) -> Bench:
    return Bench(repository, tmp_path / "state")


def test_status_and_diff_show_all_that_changed(bench: Bench) -> None:
    assert bench.use(GIT, action="status").text == "## main"
    assert bench.use(GIT, action="diff").text == "git diff: no differences"
    bench.write("utils.py", "staged = 1\n")
    bench.use_git("add", ".")
    bench.write("README.md", "unstaged\n")
    bench.write("new/file.txt", "")
    assert bench.use(GIT, action="status").text == "## main\n M README.md\nM  utils.py\n?? new/file.txt"
    both = bench.use(GIT, action="diff")
    assert "+staged = 1" in both.text and "+unstaged" in both.text
    one = bench.use(GIT, action="diff", paths="README.md")
    assert "+unstaged" in one.text and "staged = 1" not in one.text
    assert one.detail["ran"].command == (
        "git diff --ignore-submodules=dirty --no-ext-diff --no-textconv --no-color HEAD -- README.md"
    )


def test_history(bench: Bench) -> None:
    log = bench.use(GIT, action="log")
    assert log.text.endswith("A Person: Two helpers") and log.detail["line"] == "git log: 1 line"
    assert "+def mean(numbers):" in bench.use(GIT, action="show", revision="HEAD").text
    assert bench.use(GIT, action="show", revision="HEAD:README.md").text.startswith("# numbers")
    assert "def mean(numbers)" in bench.use(GIT, action="git blame", paths=["utils.py"]).text
    assert bench.use(GIT, action="log", paths=["nowhere"]).text == "git log: no commits"


def test_stage_and_commit(bench: Bench) -> None:
    bench.write("a b.txt", "x\n")
    bench.write("*", "a file with a glob for a name\n")
    assert bench.use(GIT, action="add", paths=["*"]).text == "git stage: done"
    assert bench.use_git("diff", "--cached", "--name-only") == "*\n"
    assert bench.use(GIT, action="stage").ok
    result = bench.use(GIT, action="commit", message="It's $(touch stolen)\n\nbody")
    assert result.ok and result.detail["ran"].code == 0
    assert bench.use_git("log", "-1", "--format=%an|%B") == "kith|It's $(touch stolen)\n\nbody\n\n"
    assert not (bench.folder / "stolen").exists()


@pytest.mark.parametrize(
    ("args", "answer"),
    [
        (
            {"action": "push"},
            "git has no action 'push' here; there are: status, diff, log, show, blame, stage, commit.",
        ),
        ({"action": "reset --hard"}, "git has no action 'reset --hard' here; there are: status,"),
        ({"action": "commit"}, "A commit needs a message of plain text."),
        ({"action": "commit", "message": " "}, "A commit needs a message of plain text."),
        ({"action": "commit", "message": "a\0b"}, "A commit needs a message of plain text."),
        ({"action": "commit", "message": "\ud800"}, "The arguments hold half a character"),
        ({"action": "blame"}, "blame needs one file in paths."),
        ({"action": "diff", "revision": "--output=x"}, "'--output=x' is not a revision: send a branch,"),
        ({"action": "log", "revision": "a; touch stolen"}, "'a; touch stolen' is not a revision"),
        ({"action": "diff", "paths": ["/etc/passwd"]}, "'/etc/passwd' is outside the project's folder."),
        ({"action": "show", "paths": ["../x"]}, "'../x' is outside the project's folder."),
        ({"action": "stage", "paths": ["a\0b"]}, "'a\\x00b' has a NUL character in its name."),
        ({"action": "show", "revision": "nowhere"}, "git show failed: exit code 128\nfatal: "),
    ],
)
def test_slips_are_explained(bench: Bench, args: dict[str, Any], answer: str) -> None:
    before = bench.use_git("rev-parse", "HEAD")
    result = bench.use(GIT, **args)
    assert not result.ok and result.text.startswith(answer)
    assert bench.use_git("rev-parse", "HEAD") == before and not (bench.folder / "x").exists()


def test_a_commit_of_nothing_says_so(bench: Bench) -> None:
    result = bench.use(GIT, action="commit", message="nothing")
    assert not result.ok and "nothing to commit" in result.text


def test_only_looking_is_allowed_where_only_reading_is() -> None:
    for action in ("status", "diff", "log", "show", "blame", "git diff"):
        assert READ_ONLY.decide(GIT.effect_for({"action": action}), CallTarget()) == "allow"
    for action in ("stage", "add", "commit", "push", "status; rm"):
        assert READ_ONLY.decide(GIT.effect_for({"action": action}), CallTarget()) == "deny"
    assert GIT.target({"action": "stage", "paths": ["./a//b"]}) == CallTarget("stage a/b")


def test_a_repository_cannot_make_git_run_its_programs(bench: Bench) -> None:
    trap = bench.folder.parent / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {bench.folder.parent}/sprung\n")
    trap.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "diff.external",
        "diff.own.command",
        "diff.own.textconv",
        "filter.own.clean",
        "filter.own.smudge",
        "filter.a=b.clean",
        "gpg.program",
    ):
        bench.use_git("config", key, str(trap))
    bench.use_git("config", "commit.gpgSign", "true")
    bench.use_git("config", "log.showSignature", "true")
    hooks = bench.folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-commit").symlink_to(trap)
    (hooks / "post-commit").symlink_to(trap)
    bench.write(".gitattributes", "*.py diff=own filter=own\n*.md filter=a=b\n")
    bench.write("utils.py", "changed = 1\n")
    bench.write("README.md", "changed\n")
    for args in (
        {"action": "status"},
        {"action": "diff"},
        {"action": "log"},
        {"action": "show"},
        {"action": "blame", "paths": ["utils.py"]},
        {"action": "stage"},
        {"action": "commit", "message": "m"},
    ):
        assert bench.use(GIT, **args).ok, args
    assert not (bench.folder.parent / "sprung").exists()


def test_where_there_is_no_repository_git_says_so(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    result = Bench(tmp_path / "plain", tmp_path / "state").use(GIT, action="status")
    assert not result.ok and "git repository" in result.text
