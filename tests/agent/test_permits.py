"""Without a sandbox a command is asked about, unless it only looks or was allowed for good, word for word."""

import asyncio
import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kith.agent.permits import ProjectPermits, decide_here, forget, remembered
from kith.agent.project import UNCONFINED, Project
from kith.agent.tasks import Task, run_task
from kith.core.events import Answered, Asked, Notice, RunStarted, ToolEnded
from kith.core.values import Answer, CallTarget, Question
from kith.memory.permits import Permit, permitted
from kith.terminal.permits import permit_text


@dataclass
class Person:
    """Answers questions about tools with the next of these words, notes what it hears; refuses a change."""

    answers: list[str]
    asked: list[Question] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    async def __call__(self, question: Question) -> Answer:
        if question.kind != "tool":
            return Answer("none" if question.kind == "change" else "no")
        self.asked.append(question)
        return Answer(self.answers[len(self.asked) - 1])


def play(root: Path, person: Person, *commands: object, sandbox: str = "off") -> list[str]:
    """Let a model run these commands in a task; their results, in a line each."""
    calls = [each if isinstance(each, dict) else {"command": each} for each in commands]
    replies = [{"calls": [{"name": "bash", "args": args}]} for args in calls]
    script = root.parent / "script.json"
    script.write_text(json.dumps([*replies, {"text": "Done."}]))
    project = Project.open(root, {"model": f"replay/{script}", "check": ("none",), "sandbox": sandbox})
    lines: list[str] = []

    def hear(event: object, path: tuple[str, ...]) -> None:
        if isinstance(event, ToolEnded):
            lines.append(event.line)
        elif isinstance(event, Notice):
            person.told.append(event.text)

    asyncio.run(run_task(project, Task("Look around."), person, [hear]))
    return lines


def test_always_allows_exactly_what_was_shown(repository: Path) -> None:
    person = Person(["always", "no"])
    lines = play(repository, person, "touch  new.txt", "touch 'new.txt'", "touch new.txt other.txt")
    assert [each.pattern for each in person.asked] == ["touch new.txt", "touch new.txt other.txt"]
    assert all(each.choices == ("yes", "always", "no") and each.effect == "exec" for each in person.asked)
    assert lines[0].startswith("exit code 0") and lines[1].startswith("exit code 0")
    assert "not allowed" in lines[2]
    assert person.told.count(UNCONFINED) == 1


def test_it_holds_in_later_sessions_of_this_project_until_it_is_forgotten(repository: Path) -> None:
    play(repository, Person(["always"]), "touch new.txt")
    play(repository, Person([]), "touch new.txt")
    assert remembered(repository) == (Permit("exec", "touch new.txt"),)
    assert remembered(repository.parent) == ()
    forget(repository, remembered(repository))
    assert remembered(repository) == ()
    again = Person(["no"])
    play(repository, again, "touch new.txt")
    assert len(again.asked) == 1


@pytest.mark.slow
def test_a_plain_yes_is_not_remembered(repository: Path) -> None:
    person = Person(["yes", "yes"])
    play(repository, person, "touch new.txt", "touch new.txt")
    assert len(person.asked) == 2 and remembered(repository) == ()


@pytest.mark.slow
def test_what_is_not_plain_is_remembered_byte_for_byte(repository: Path) -> None:
    person = Person(["always", "no", "no"])
    play(
        repository,
        person,
        "echo $((1+1)) > n",
        "echo $((1+1)) > n",
        "echo  $((1+1)) > n",
        "echo $((1+2)) > n",
    )
    assert [each.pattern for each in person.asked] == [
        "echo $((1+1)) > n",
        "echo  $((1+1)) > n",
        "echo $((1+2)) > n",
    ]


@pytest.mark.slow
def test_what_cannot_be_shown_as_it_is_cannot_be_remembered(repository: Path) -> None:
    person = Person(["no", "no"])
    play(repository, person, "touch a\u202eb", "touch " + "a" * 700)
    assert [each.choices for each in person.asked] == [("yes", "no")] * 2


def test_what_only_looks_is_not_asked_about(repository: Path) -> None:
    (repository / "sub").mkdir()
    (repository / "sub" / "a.txt").write_text("alpha\n")
    lines = play(
        repository,
        Person([]),
        "ls | head -3",
        "grep -rn def .",
        "git status --short && git diff --stat",
        {"command": "cat a.txt", "folder": "sub"},
    )
    assert [line[:11] for line in lines] == ["exit code 0"] * 4


@pytest.mark.slow
def test_the_folder_is_part_of_the_question(repository: Path) -> None:
    (repository / "sub").mkdir()
    (repository / "sub" / "a.txt").write_text("alpha\n")
    person = Person(["no"])
    play(repository, person, {"command": "make", "folder": "sub"})
    assert person.asked[0].target == CallTarget("cd sub && make")


def test_a_link_a_secret_or_a_strange_setting_is_asked_about(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("x")
    (repository / "link").symlink_to(tmp_path / "outside.txt")
    (repository / ".env").write_text("TOKEN=x")
    (repository / "also").symlink_to(".env")
    for line in ("cat link", "cat li*", "head < link", "cat also", "grep -r x .", "cat .env"):
        assert not decide_here(repository, line).allowed, line
    for line in ("cat utils.py", "grep -n x *.py", "ls -la", "rg x tests", "git status", "git log -1"):
        assert decide_here(repository, line).allowed, line
    for setting in (
        "core.fsmonitor",
        "filter.x.clean",
        "diff.x.textconv",
        "include.path",
        "log.showSignature",
    ):
        subprocess.run(["git", "config", setting, "./x.sh"], cwd=repository, check=True)
        assert not decide_here(repository, "git status").allowed, setting
        assert setting.lower() in decide_here(repository, "git log -1").reason.lower()
        subprocess.run(["git", "config", "--unset", setting], cwd=repository, check=True)
    assert decide_here(repository, "git status").allowed
    (repository / ".gitmodules").write_text("")
    assert not decide_here(repository, "git diff").allowed


@pytest.mark.slow
def test_programs_of_the_tree_do_not_take_the_place_of_those_that_only_look(repository: Path) -> None:
    """A virtual environment comes first on PATH, and anybody may have filled it."""
    own = repository / ".venv" / "bin"
    own.mkdir(parents=True)
    (repository / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (own / "ls").write_text("#!/bin/sh\necho fired > fired\n")
    (own / "ls").chmod(0o755)
    subprocess.run(["git", "config", "core.fsmonitor", "./.venv/bin/ls"], cwd=repository, check=True)
    person = Person(["yes", "yes", "no"])
    lines = play(repository, person, "ls", "git status", "ls fired")
    assert [line[:11] for line in lines] == ["exit code 0", "exit code 0", "exit code 2"]
    assert [each.pattern for each in person.asked] == ["git status"]


def test_hosts_are_remembered_alone_only_where_a_sandbox_holds_to_them(repository: Path) -> None:
    project = Project.open(repository, {})
    boxed = ProjectPermits(project.log, repository, confined=True)
    free = ProjectPermits(project.log, repository, confined=False)
    target, listing = CallTarget("pip install x", ("pypi.org",)), CallTarget("ls", ("pypi.org",))
    assert boxed.pattern("net", target) == "pypi.org"
    assert free.pattern("net", target) == str(target)
    assert permitted(project.log, repository) == ()
    assert not boxed.allows("net", listing) and not free.allows("net", listing)


@pytest.mark.parametrize("confined", [True, False])
def test_pages_are_remembered_by_their_host_and_open_nothing_for_commands(
    repository: Path, confined: bool
) -> None:
    project = Project.open(repository, {})
    permits = ProjectPermits(project.log, repository, confined, hosts=("docs.example.org",))
    page, command = CallTarget("https://a.org/x", ("a.org",)), CallTarget("curl a.org", ("a.org",))
    assert permits.allows("web", CallTarget("https://docs.example.org/", ("docs.example.org",)))
    assert not permits.allows("web", page)
    question = Question("q", "tool", "?", ("yes", "always", "no"), effect="web",
                        pattern=permits.pattern("web", page), target=page)  # fmt: skip
    with project.session() as session:
        session.emit(RunStarted("x", str(repository), "", ""))
        session.emit(Asked(question))
        session.emit(Answered("q", Answer("always")))
    assert permitted(project.log, repository) == (Permit("web", "a.org"),)
    assert permits.allows("web", page) and permits.allows("web", CallTarget("https://a.org/y", ("a.org",)))
    assert not permits.allows("web", CallTarget("https://b.org/", ("b.org",)))
    assert not permits.allows("web", CallTarget("https://a.org:8443/", ("a.org:8443",)))
    assert not permits.allows("net", command)
    assert permit_text(Permit("web", "a.org")) == "read pages of a.org"


@pytest.mark.slow
def test_always_for_hosts_covers_them_and_no_others(repository: Path, sandbox: None) -> None:
    person = Person(["always", "no", "no"])
    calls = [
        {"command": "true", "hosts": "example.org, *.example.net"},
        {"command": "false", "hosts": "example.org"},
        {"command": "true", "hosts": "a.example.net"},
        {"command": "true", "hosts": "example.org other.org"},
        {"command": "true", "hosts": "example.org:22"},
    ]
    play(repository, person, *calls, sandbox="auto")
    assert [each.pattern for each in person.asked] == [
        "example.org *.example.net",
        "example.org other.org",
        "example.org:22",
    ]
    assert remembered(repository) == (Permit("net", "example.org *.example.net"),)
    unconfined = Person(["no"])
    play(repository, unconfined, calls[1])
    assert len(unconfined.asked) == 1


def test_a_model_that_may_not_see_private_files_is_asked_about_everything(repository: Path) -> None:
    log = Project.open(repository, {}).log
    assert ProjectPermits(log, repository, confined=False).allows("exec", CallTarget("cat utils.py"))
    assert not ProjectPermits(log, repository, confined=False, veiled=True).allows(
        "exec", CallTarget("cat utils.py")
    )
