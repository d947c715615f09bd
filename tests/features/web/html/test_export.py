"""`kith export`: one file that holds a session, for people, for other programs, for notes."""

import base64
import json
import re
from hashlib import sha256
from pathlib import Path

import pytest
from test_html_scene import EACH, HOSTILE, TAGS

from kith.cli import main
from kith.core.events import RunEnded, RunStarted, Said, ToolBegan, ToolEnded
from kith.core.values import Ran, say
from kith.features.web.export_command import write_session
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session
from paper import read_page
from played import Told, session, turn


@pytest.fixture
def log(home: Path) -> Log:
    return Log(home / ".local/state/kith" / LOG_FILE)


def write(log: Log, told: list[Told], id: str = "exported") -> str:
    with Session(log, id) as opened:
        for event, path in told:
            opened.emit(event, path)
    return id


def test_the_page_needs_nothing_beside_itself(log: Log) -> None:
    html = write_session(log, write(log, session("some words")), "html")
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style
    digest = base64.b64encode(sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in html
    assert "<script" not in html and "<link" not in html and " src=" not in html and "@import" not in html
    assert "url(" not in style[1] and "some words" in html and "kith undo abc123" in html


@pytest.mark.slow
def test_the_page_holds_what_a_live_one_leaves_for_later(log: Log) -> None:
    line = "x" * 200_000 + "the end"
    ran = Ran("cat", 0, line, 0.1)
    told: list[Told] = [told for n in range(120) for told in turn("look", n)]
    told += [(ToolBegan("c", "bash", "exec", "cat"), ()), (ToolEnded("c", "bash", True, 0.1, "", ran), ())]
    page = write_session(log, write(log, told), "html")
    assert (
        line in page and page.count('class="step"') == 120 and "earlier" not in page.partition("</style>")[2]
    )


@pytest.mark.parametrize("words", ["\n\n".join(HOSTILE), *EACH])
def test_nothing_foreign_acts_in_any_format(log: Log, words: str) -> None:
    id = write(log, session(words))
    html = write_session(log, id, "html")
    body = html[html.index("<body>") + 6 : html.index("</body>")]
    assert {node.tag for node in read_page(body)} <= TAGS
    title = html.partition("<title>")[2].partition("</title>")[0]
    assert "<" not in title and html.count("</title>") == 1
    markdown = write_session(log, id, "md")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b-\u200f]", markdown)
    data = json.loads(write_session(log, id, "json"))
    assert data["events"][0]["event"]["task"] == words and data["receipt"]["status"] == "done"


def test_markdown_keeps_what_was_said_in_its_place(log: Log) -> None:
    task = "Mend it"
    told: list[Told] = [
        (RunStarted(task, "/p", "m", ""), ()),
        (Said("task", say(f"# The project\nmuch\n\n# Task\n{task}")), ()),
        *turn("a ``` fence\n# and a heading", 1),
        (RunEnded("done", "It works."), ()),
    ]
    words = write_session(log, write(log, told), "md")
    headings = [line for line in words.split("\n") if line.startswith("#")]
    assert headings == ["# Mend it", "## You", "## ollama/qwen3:8b", "# and a heading", "# and a heading"]
    fences = [line for line in words.split("\n") if line.startswith("````")]
    assert len(fences) % 2 == 0 and fences, "what holds a fence stands in a longer one"
    assert "> Mend it" in words and "> It works." in words and "much" not in words


def test_the_command_writes_the_last_session_to_a_file(
    log: Log, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(log, [(RunStarted("look", str(repository), "m", ""), ()), (RunEnded("done", "ok"), ())])
    for name, begin in (("a.html", "<!doctype html>"), ("a.md", "<!-- kith"), ("a.json", "{")):
        assert main(["export", "-C", str(repository), "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text().startswith(begin)
    capsys.readouterr()
    assert main(["export", "-C", str(repository), "exp", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["session"] == "exported"


def test_no_secret_leaves_in_a_file(log: Log, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = 'Zm4kT9wQ"2xL7pR5\\vB8nY'
    (repository / ".env").write_text(f"API_KEY='{key}'\nDATABASE_PASSWORD=Hu7vB2nQ9pLs4Xe1Kd3F\n")
    words = (repository / ".env").read_text()
    told = [
        (RunStarted("look", str(repository), "m", ""), ()),
        *turn(words, 1),
        (RunEnded("done", words), ()),
    ]
    write(log, told)
    for form in ("html", "md", "json"):
        assert main(["export", "-C", str(repository), "--format", form]) == 0
        out = capsys.readouterr().out
        assert "[secret left out]" in out and "Hu7vB2nQ" not in out and "Zm4kT9wQ" not in out, form
    assert json.loads(out)["receipt"]["status"] == "done"


def test_what_cannot_be_written_or_found_is_one_sentence(
    log: Log, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "-C", str(repository)]) == 2
    assert "There was no session" in capsys.readouterr().err
    write(log, [(RunStarted("look", str(repository), "m", ""), ())])
    assert main(["export", "-C", str(repository), "-o", str(tmp_path / "no" / "a.html")]) == 2
    assert "cannot be written: No such file" in capsys.readouterr().err
