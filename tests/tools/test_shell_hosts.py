"""A command that needs the network says which hosts, and the model hears what was not let through."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kith.core.loop import UNHELD, check_args, converse
from kith.core.model import Role
from kith.core.policy import TRIAL, UNCONFINED
from kith.core.run import Run, Thread
from kith.core.values import Answer, CallTarget, Question, Ran, Reached, ToolResult, say
from kith.features.demo.replay import Replay
from kith.tools.shell import BASH, report
from kith.trees.local import open_tree


def checked(**args: Any) -> Mapping[str, Any]:
    found, fault = check_args(args, BASH.schema)
    assert not fault, fault
    return found


def test_a_command_with_hosts_is_an_effect_of_its_own() -> None:
    plain = checked(command="pip install toolz")
    assert (BASH.effect_for(plain), BASH.target(plain)) == ("exec", CallTarget("pip install toolz"))
    reaching = checked(command="pip install toolz", hosts="PyPI.org, files.pythonhosted.org")
    assert BASH.effect_for(reaching) == "net"
    hosts = ("pypi.org", "files.pythonhosted.org")
    assert BASH.target(reaching) == CallTarget("pip install toolz", hosts)
    listed = checked(command="pip install toolz", hosts=["PyPI.org", "files.pythonhosted.org"])
    assert BASH.target(listed) == BASH.target(reaching)
    for nothing in ("", "  ", []):
        assert BASH.effect_for(checked(command="true", hosts=nothing)) == "exec"


def answer(ran: Ran) -> str:
    return report(ran, 10).text


def test_what_was_refused_is_said_after_the_output() -> None:
    reached = (
        Reached("a.org:443", 10, 10),
        Reached("b.org:80", refused="not allowed"),
        Reached("", refused="not understood: no request line of HTTP/1"),
    )
    assert answer(Ran("curl", 1, "out\n", 0.1, reached=reached)).splitlines() == [
        "exit code 1",
        "out",
        "refused: b.org:80 (not allowed)",
        "refused: a request (not understood: no request line of HTTP/1)",
    ]
    assert answer(Ran("curl", 0, "", 0.1, reached=reached[:1])) == "exit code 0, no output"


HINT = '(There is no network here. A command that needs it names its hosts: hosts=["pypi.org"].)'


@pytest.mark.parametrize(
    "words",
    [
        "curl: (6) Could not resolve host: example.org",
        "fatal: unable to access 'https://example.org/': Could not resolve host: example.org",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "npm error code EAI_AGAIN",
        "npm error request to https://registry.example.org failed, reason: getaddrinfo ENOTFOUND example.org",
        "dial tcp: lookup proxy.example.org: no such host",
        "connect: Network is unreachable",
        "java.net.UnknownHostException: example.org",
        "warning: spurious network error (3 tries remaining): [6] Couldn't resolve host name",
        "Failed to establish a new connection: [Errno 101]",
    ],
)
def test_who_misses_the_network_hears_how_to_ask(words: str) -> None:
    assert answer(Ran("x", 1, words, 0.1)).endswith(f"\n{HINT}")
    assert HINT not in answer(Ran("x", 0, words, 0.1))
    assert HINT not in answer(Ran("x", 1, words, 0.1, sandboxed=False))
    assert HINT not in answer(Ran("x", 1, words, 0.1, reached=(Reached("a.org:443"),)))


@pytest.mark.parametrize(
    "words",
    [
        "assert connect() == 1\nConnectionRefusedError",
        "ModuleNotFoundError: No module named 'redbot'",
        "java.lang.ClassNotFoundException\nTemplateNotFound: a.html\nResourceNotFoundError",
    ],
)
def test_a_failing_test_is_no_missing_network(words: str) -> None:
    assert HINT not in answer(Ran("pytest", 1, words, 0.1))


class Story:
    """A model that calls bash once, on a real tree, and a person with an answer."""

    def __init__(self, folder: Path, sandbox: Any = "auto") -> None:
        (folder / "tree").mkdir()
        self.tree = open_tree(folder / "tree", folder / "state", folder / "cache", sandbox=sandbox)
        self.questions: list[Question] = []

    def play(self, answer: str = "yes", **args: str) -> ToolResult:
        script = [{"calls": [{"name": "bash", "args": args}]}, {"text": "So it is."}]
        policy = TRIAL if self.tree.confined else UNCONFINED
        role = Role("worker", "system", Replay("story", script), (BASH,), policy)
        thread = Thread("main", (say("Look."),))

        async def ask(question: Question) -> Answer:
            self.questions.append(question)
            return Answer(answer)

        run = Run(lambda event, path: None, ask, self.tree)
        asyncio.run(converse(run, role, thread))
        return next(part for part in thread.messages[2].parts if isinstance(part, ToolResult))


def test_the_person_is_asked_about_the_hosts_and_the_command(tmp_path: Path, sandbox: None) -> None:
    story = Story(tmp_path)
    result = story.play(command="curl -sS http://b.invalid", hosts="a.invalid")
    assert [question.target for question in story.questions] == [
        CallTarget("curl -sS http://b.invalid", ("a.invalid",))
    ]
    assert result.text == (
        "exit code 0\nkith: b.invalid:80: not allowed\nrefused: b.invalid:80 (not allowed)"
    )
    assert "not allowed" in story.play("no", command="touch x", hosts="a.invalid").text


def test_what_is_no_host_is_answered_and_nobody_is_asked(tmp_path: Path, sandbox: None) -> None:
    story = Story(tmp_path)
    result = story.play(command="touch x", hosts="https://a.org")
    assert not result.ok and "'https://a.org' is no host; write a name" in result.text
    assert not story.questions and not (tmp_path / "tree/x").exists()


def test_where_nothing_confines_a_command_the_question_says_so(tmp_path: Path) -> None:
    story = Story(tmp_path, "off")
    assert story.play(command="echo here", hosts="a.org").text == "exit code 0\nhere"
    (question,) = story.questions
    assert question.text.endswith(f" a.org{UNHELD}")
