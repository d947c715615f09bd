"""Every face offers "always" with what it means, word for word; what was allowed is listed and forgotten."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from kith.core.events import Answered, Asked, RunStarted
from kith.core.values import Answer, CallTarget, Question
from kith.features.editors.conversation import _offered
from kith.features.mcp.server_calls import answer_of, form_of, words_of
from kith.features.web.api.schemas import question_of
from kith.features.web.html.questions import question_html
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session
from kith.view.wording import always_words, question_text
from outside import Kith

ASKED = Question(
    "q", "tool", "Allow bash: npm  test", ("yes", "always", "no"), effect="exec", pattern="npm test <b>"
)
HOSTS = Question(
    "q",
    "tool",
    "Allow bash to reach a.org b.org",
    ("yes", "always", "no"),
    effect="net",
    pattern="a.org b.org",
    hosts=("a.org", "b.org"),
    target=CallTarget("x", ("a.org", "b.org")),
)
PAGES = Question(
    "q", "tool", "Allow web to reach a.org", ("yes", "always", "no"), effect="web", pattern="a.org",
    hosts=("a.org",),
    target=CallTarget("https://a.org/x", ("a.org",)),
)  # fmt: skip
UNHELD = replace(HOSTS, hosts=(), pattern="a.org b.org: x")
ONCE = Question("q", "tool", "Allow bash: x", ("yes", "no"), effect="exec")
CALLED = replace(HOSTS, asker="ollama/<b>small</b>")


def test_the_words_say_how_far_it_goes() -> None:
    assert always_words(ASKED) == "Always: in this project, exactly this command: npm test <b>"
    assert always_words(HOSTS) == "Always: in this project, sandboxed commands may reach a.org b.org"
    assert always_words(UNHELD) == "Always: in this project, exactly this command: x"
    assert always_words(PAGES) == "Always: in this project, the model may read pages of a.org"
    assert always_words(ONCE) == ""


def test_every_face_says_which_model_asks() -> None:
    words = "Allow bash to reach a.org b.org (asked by ollama/<b>small</b>)"
    assert question_text(CALLED) == f"{words}: x" and question_text(HOSTS) == f"{HOSTS.text}: x"
    told = question_of(CALLED)
    assert told and told["text"] == f"{words}: x"
    assert "(asked by ollama/&lt;b&gt;small&lt;/b&gt;):" in str(question_html("s", CALLED))


def test_the_page_shows_the_pattern_and_a_button() -> None:
    shown = str(question_html("s", ASKED))
    assert "exactly this command: npm test &lt;b&gt;" in shown and 'value="always"' in shown
    assert 'value="always"' not in str(question_html("s", ONCE))


def test_an_editor_gets_it_as_an_option_that_says_what_it_allows() -> None:
    options = {option.kind: option.name for option in _offered(ASKED)}
    assert options["allow_always"] == always_words(ASKED)
    assert "allow_always" not in {option.kind for option in _offered(ONCE)}


def test_another_agents_form_shows_it() -> None:
    mcp_types = pytest.importorskip("mcp_types")
    assert always_words(ASKED) in words_of(ASKED)
    assert form_of(ASKED)["properties"]["choice"]["enum"] == ["yes", "always", "no"]
    said = mcp_types.ElicitResult(action="accept", content={"choice": "always"})
    assert answer_of(ASKED, said, "x").choice == "always"
    assert answer_of(ONCE, said, "x").choice == "no"


def test_the_api_tells_the_pattern() -> None:
    told = question_of(ASKED)
    assert told and (told["effect"], told["pattern"]) == ("exec", "npm test <b>")


@pytest.fixture
def kith(repository: Path, home: Path) -> Kith:
    with Session(Log(home / ".local/state/kith" / LOG_FILE), "allowed") as session:
        session.emit(RunStarted("x", str(repository), "", ""))
        for number, (effect, pattern) in enumerate((("exec", "npm test"), ("net", "pypi.org"))):
            text = f"Allow bash: {pattern}"
            choices = ("yes", "always", "no")
            session.emit(Asked(Question(f"q{number}", "tool", text, choices, effect=effect, pattern=pattern)))  # type: ignore[arg-type]
            session.emit(Answered(f"q{number}", Answer("always")))
    return Kith(repository)


@pytest.mark.slow
def test_permits_are_listed_and_forgotten(kith: Kith) -> None:
    assert kith("permits").stdout.split("\n")[:2] == ["  1  npm test", "  2  reach pypi.org"]
    assert "There is no permit 3 here" in kith("permits", "--forget", "3", code=2).stderr
    assert kith("permits", "--forget", "1").stdout == "Forgot 1 permit; you are asked again.\n"
    assert kith("permits").stdout == "  1  reach pypi.org\n"
    kith("permits", "--forget")
    assert kith("permits").stderr == "Nothing was allowed for good here.\n"


def test_a_command_is_explained(kith: Kith) -> None:
    assert "needs no question" in kith("permits", "--explain", "git status").stdout
    asked = kith("permits", "--explain", "sort -o a b", code=None)
    assert asked.returncode and "is asked about" in asked.stdout and "sort -o" in asked.stdout


def test_nobody_there_means_no_and_is_not_remembered(kith: Kith, tmp_path: Path, home: Path) -> None:
    (home / ".config" / "kith").mkdir(parents=True)
    (home / ".config" / "kith" / "config.toml").write_text('sandbox = "off"\n')
    script = tmp_path / "script.json"
    calls = [{"name": "bash", "args": {"command": "touch new.txt"}}]
    script.write_text(json.dumps([{"calls": calls}, {"text": "Done."}]))
    told = kith("run", "--yes", "-m", f"replay/{script}", "--check", "none", "x", code=None).stderr
    assert "not allowed" in told and "touch" not in kith("permits").stdout
