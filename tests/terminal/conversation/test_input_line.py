"""The line of a conversation by itself: what is suggested, what a paste becomes, which lines come back."""

import asyncio
import string
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.agent.conversations import forget
from kith.agent.project import Project
from kith.core.events import RunStarted
from kith.memory.input_history import Typed, TypedLines
from kith.terminal.conversation.completion import (
    Offer,
    Paths,
    Sources,
    Suggestions,
    search,
    suggest,
    wants_any,
)
from kith.terminal.conversation.history import LineHistory, Pastes
from kith.terminal.conversation.input_line import MOST_ROWS, InputLine, Menu
from kith.terminal.conversation.line_context import make_line_context
from kith.terminal.conversation.slash_commands import slash_commands
from waiting import until

FILES = ("README.md", "docs/my notes.md", "src/app/main.py", "src/app/remain.py", "src/maintain/x.py")
PATHS = Paths.of(FILES, ("build/", "main.log"))
LONG = "".join(f"line {number}\n" for number in range(40))
part = st.text(string.ascii_letters + "._- ", min_size=1, max_size=5)
path = st.lists(part, min_size=1, max_size=4).map("/".join)


def offers(kind: str) -> Sequence[Offer]:
    return {"model": [("qwen3:8b", ""), ("llama3", "")], "mode": [("ask", "asks"), ("plan", "reads")]}.get(
        kind, ()
    )


SOURCES = Sources(lambda: PATHS, offers)


def in_a_loop(test: Callable[[], Coroutine[None, None, None]]) -> Callable[[], None]:
    """A line lives in the loop of its terminal."""

    def run() -> None:
        asyncio.run(test())

    return run


def texts(found: Suggestions) -> list[str]:
    return [row.text for row in found.rows]


# --- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("letters", "first"),
    [
        ("main", "src/app/main.py"),
        ("sam", "src/app/main.py"),
        ("read", "README.md"),
        ("mainx", "src/maintain/x.py"),
        ("MAIN", None),
        ("log", "main.log"),
        ("notes", "docs/my notes.md"),
    ],
)
def test_a_few_letters_find_a_path(letters: str, first: str | None) -> None:
    assert next(iter(PATHS.find(letters, 5)), None) == first


def test_ignored_paths_come_last() -> None:
    assert PATHS.find("main", 9)[-1] == "main.log"
    assert PATHS.find("", 9) == ["docs/", "src/", "README.md", "build/", "main.log"]
    assert PATHS.find("src/", 9) == ["src/app/", "src/maintain/"]


@given(st.lists(path, unique=True), st.data())
def test_every_path_is_found_by_its_letters(files: list[str], data: st.DataObject) -> None:
    paths = Paths.of(files)
    for each in files:
        kept = data.draw(st.lists(st.booleans(), min_size=len(each), max_size=len(each)))
        letters = "".join(letter for letter, keep in zip(each, kept, strict=True) if keep)
        if letters and not letters.endswith("/"):
            assert each in paths.find(letters, len(paths.all))
    assert set(paths.find("zzz\x00", 5)) == set()


# --- suggestions -----------------------------------------------------------------------------


def test_commands_come_by_their_beginning_first() -> None:
    found = texts(suggest("/mo", SOURCES))
    assert found[:3] == ["/model", "/models", "/mode"]
    assert "/resume" in texts(suggest("/sum", SOURCES))
    assert len(suggest("/", SOURCES).rows) == len(slash_commands()) and suggest("/", SOURCES).first == -1
    assert not suggest("please /mo", SOURCES).rows


def test_what_follows_a_command_is_of_its_kind() -> None:
    assert texts(suggest("/model q", SOURCES)) == ["qwen3:8b"]
    assert texts(suggest("/mode ", SOURCES)) == ["ask", "plan"]
    assert suggest("/mode ", SOURCES).first == -1, "Enter alone shows the mode"
    assert suggest("/model llama3", SOURCES).first == -1, "it is written already"
    assert texts(suggest("/test rem", SOURCES))[0] == "src/app/remain.py "
    assert not suggest("/undo x", SOURCES).rows


@pytest.mark.parametrize(
    ("before", "first"),
    [
        ("fix @rem", "@src/app/remain.py "),
        ("@note", '@"docs/my notes.md" '),
        ('see (@"my n', '@"docs/my notes.md" '),
        ("look in @doc", "@docs/"),
        ("mail me@doc", None),
        ("!cat rem", None),
    ],
)
def test_files_are_suggested_behind_an_at_sign(before: str, first: str | None) -> None:
    assert next(iter(texts(suggest(before, SOURCES))), None) == first
    assert wants_any(before) == (first is not None)


def test_a_shell_command_gets_files_when_it_is_asked_for() -> None:
    assert texts(suggest("!cat rem", SOURCES, asked=True))[0] == "src/app/remain.py "


@in_a_loop
async def test_taking_a_suggestion_writes_it() -> None:
    line = InputLine()
    line.sources = SOURCES
    line.buffer.insert_text("fix @rem")
    assert line.accept() and line.buffer.text == "fix @src/app/remain.py "
    line.buffer.insert_text("and @do")
    line.complete()
    assert line.buffer.text.endswith("and @docs/")
    assert texts(Suggestions(line.menu.rows)) == ['@"docs/my notes.md" ']
    line.buffer.reset()
    line.buffer.insert_text("/mod")
    line.down()
    assert not line.accept(), "Enter carries it out"
    assert line.buffer.text == "/models"
    line.buffer.reset()
    line.buffer.insert_text("/ru")
    assert line.accept() and line.buffer.text == "/run ", "a command is needed"


def test_the_menu_shows_a_window_around_what_is_chosen() -> None:
    menu = Menu()
    menu.show(suggest("/", SOURCES), "/")
    for _ in range(12):
        menu.move(1)
    lines = "".join(text for _, text, *_ in menu.fragments(60)).split("\n")
    assert len(lines) == MOST_ROWS and all(len(line) < 60 for line in lines)
    assert sum(line.startswith("> /") for line in lines) == 1
    menu.move(-12)
    assert menu.chosen == len(menu.rows) - 1


# --- pastes ----------------------------------------------------------------------------------


@in_a_loop
async def test_a_long_paste_is_folded_and_whole_when_it_is_sent() -> None:
    line = InputLine()
    line.buffer.insert_text("why ")
    line.paste(LONG.replace("\n", "\r\n"))
    line.paste("short")
    line.paste("x" * 5_000)
    assert line.buffer.text == "why [paste 1: 40 lines]short[paste 2: 5,000 characters]"
    assert line.mark_before
    line.delete()
    assert line.buffer.text.endswith("short")
    sent = line.take()
    assert sent == f"why {LONG}short" and line.buffer.text == ""
    assert line.pastes.fold(sent) == "why [paste 1: 40 lines]short"


@given(st.lists(st.text(min_size=1), max_size=5))
def test_what_is_pasted_is_what_is_sent(pieces: list[str]) -> None:
    pastes, line, whole = Pastes(), "", ""
    for piece in pieces:
        plain = piece.replace("\r\n", "\n").replace("\r", "\n")
        if "[paste" in plain:
            continue
        line += pastes.take(piece * 300, line)
        whole += (piece * 300).replace("\r\n", "\n").replace("\r", "\n")
    assert pastes.unfold(line) == whole


# --- lines sent before -----------------------------------------------------------------------


def remember(tmp_path: Path, *lines: str) -> LineHistory:
    kept = TypedLines(tmp_path, tmp_path)
    for line in lines:
        kept.add(Typed(line))
    history = LineHistory(Pastes())
    history.know(kept, kept.lines(), lambda words: "hunter2" not in words, lambda: "session")
    return history


def test_lines_of_earlier_conversations_come_back(tmp_path: Path) -> None:
    history = remember(tmp_path, "one", "two", "one")
    history.append_string("three")
    history.append_string("three")

    async def load() -> list[str]:
        return [line async for line in history.load()]

    assert asyncio.run(load()) == ["three", "one", "two"]
    history.close()
    assert [line.text for line in TypedLines(tmp_path, tmp_path).lines()] == ["one", "two", "one", "three"]


def test_secrets_and_lines_with_a_blank_before_them_are_not_kept(tmp_path: Path) -> None:
    history = remember(tmp_path)
    for line in ("log in with hunter2", " nobody needs to know", "fine"):
        history.append_string(line)
    history.close()
    assert [line.text for line in TypedLines(tmp_path, tmp_path).lines()] == ["fine"]
    assert history.find("HUNTER2", 5) == [] and history.find("hunter", 5) == ["log in with hunter2"]


@in_a_loop
async def test_searching_takes_a_line_or_leaves_everything_as_it_was() -> None:
    line = InputLine()
    for words in ("fix the parser", "write tests for it", "fix the lexer"):
        line.history.append_string(words)
    line.buffer.insert_text("fix")
    line.search()
    assert [row.text for row in line.menu.rows] == ["fix the lexer", "fix the parser"]
    line.search()
    assert line.accept() and line.buffer.text == "fix the parser" and not line.searches
    line.search()
    line.buffer.insert_text("zzz")
    assert not line.menu.rows
    assert line.give_up() and line.buffer.text == "fix the parser"
    assert not line.give_up()
    assert search("it tests", line.sources).rows[0].text == "write tests for it"


# --- in a project ----------------------------------------------------------------------------


def test_a_line_learns_of_its_project(repository: Path) -> None:
    (repository / ".env").write_text("DB_PASSWORD=hunter2-of-mine\n")
    (repository / ".gitignore").write_text("build/\n*.log\n")
    (repository / "build").mkdir()
    for name in ("build/out.txt", "a.log"):
        (repository / name).write_text("x\n")
    project = Project.open(repository, {})
    line = InputLine()
    line.history.append_string("sent early")
    line.know(make_line_context(lambda: project, lambda: "talk", line.look_again))
    until(lambda: line.sources.paths().all)
    assert line.sources.paths().find("", 50)[-2:] == ["build/", "a.log"], "ignored ones are last"
    assert ".env" not in line.sources.paths().all
    until(lambda: line.sources.offers("template"))
    assert "bugfix" in [name for name, _ in line.sources.offers("template")]
    for words in ("log in with hunter2-of-mine", "tell me"):
        line.history.append_string(words)
    line.history.close()
    kept = TypedLines(project.settings.state, repository)
    assert [each.text for each in kept.lines()] == ["sent early", "tell me"]
    with project.session("talk") as session:
        session.emit(RunStarted("tell me", str(repository), "", ""))
    forget(project.settings, project.log, "talk")
    assert kept.lines() == []
