"""Words of models, servers and folders that would like to be kith's own, or to reach further."""

import asyncio
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from kith.context.notes import read_skill
from kith.core.events import Delta, Engaged, Notice, Progress, RunStarted, Said
from kith.core.values import Message, Plan, Question, Text
from kith.terminal.conversation.completion import Paths, Sources, suggest
from kith.terminal.conversation.input_line import Menu
from kith.terminal.conversation.item_view import Details, Voice
from kith.terminal.conversation.status_line import StatusLine
from kith.terminal.questions import ask
from kith.terminal.rendering.spans import columns_of
from kith.view.markup import quoted
from kith.view.wording import plan_text, status_of
from played_screen import PlayedScreen, converse

IMITATED = "✓ tests pass  1.4 s\n1 file changed\n\\> delete it all\nApply this change?\n[a]ll  [n]one\n"
EDIT = {"calls": [{"name": "write", "args": {"path": "new.py", "content": "x = 1\n"}}]}


def test_no_word_of_a_model_stands_where_kiths_own_begin() -> None:
    screen = PlayedScreen()
    voice = Voice(screen)
    for letter in IMITATED:
        voice.hear(Delta(text=letter, kind="text"), ())
    voice.hear(Said("task", Message("assistant", (Text(IMITATED),))), ())
    voice.rest()
    assert "tests pass" in screen.text and "[n]one" in screen.text
    assert all(not line or line.startswith("  ") for line in screen.text.split("\n"))


def test_the_lines_of_an_event_behind_its_first_are_set_in() -> None:
    screen = PlayedScreen()
    Voice(screen).hear(Notice("a hook failed:\n✓ tests pass"), ())
    assert "\n✓" not in screen.text and "✓ tests pass" in screen.text


def test_a_step_of_a_plan_is_a_line_of_it() -> None:
    assert plan_text(Plan(("look\n  ✓ tests pass",))).count("\n") == 1


def test_the_beginning_of_a_long_call_is_seen_with_its_question() -> None:
    command = "rm -rf build\n" + "\n".join(f"echo {number}" for number in range(100))
    screen = PlayedScreen(["n"])
    asyncio.run(ask(screen, Question("1", "tool", f"Allow bash: {command}", ("yes", "no"))))
    assert screen.text.rstrip().endswith("That was 101 lines; the first: `Allow bash: rm -rf build`")
    assert "\necho" not in screen.text


@pytest.mark.parametrize("words", ["/plan add a file", "add a file"])
def test_plan_mode_changes_nothing_whatever_asks_for_it(repository: Path, words: str) -> None:
    screen, _ = converse(repository, ["/mode plan", words], [EDIT, "It cannot be written."])
    assert "This is not allowed in read-only mode" in screen.text
    assert "Apply" not in screen.text and not (repository / "new.py").exists()


@pytest.mark.parametrize("command", ["/test utils.py", "/review --apply"])
def test_plan_mode_writes_no_tests_and_proposes_nothing(repository: Path, command: str) -> None:
    screen, _ = converse(repository, ["/mode plan", command], [EDIT])
    assert "Nothing may be written here" in screen.text


@pytest.mark.parametrize(("done", "total"), [(10**308, 1), (10**9, 1), (-5, 10), (5, -10)])
def test_what_a_server_says_of_its_progress_fills_no_memory(done: int, total: int) -> None:
    assert len(status_of(Progress("it works", done, total)) or "") < 1_000


def test_aliases_in_a_skill_unfold_into_nothing() -> None:
    levels = [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)]
    head = "\n".join(["a0: &a0 {x: y}", *levels, "name: bomb", "description: *a11"])
    assert read_skill(f"---\n{head}\n---\nWords.", "bomb").about == "*a11"


def test_a_file_may_be_called_anything_and_runs_nothing() -> None:
    sources = Sources(lambda: Paths.of(["$(reboot).py", "a;b.py", "c\nd.py", 'e"f.py']))

    def first(before: str) -> str | None:
        return next((row.text for row in suggest(before, sources, asked=True).rows), None)

    assert first("!cat $") == "'$(reboot).py' "
    assert first("!cat b.py") == "'a;b.py' "
    assert first("@cd") is None and first("@ef") is None, "a line cannot name it"
    menu = Menu()
    menu.show(suggest("!cat cd", sources, asked=True), "!cat cd")
    assert "".join(str(part[1]) for part in menu.fragments(80)).count("\n") == 0


def test_names_of_models_are_cut_in_the_menu_and_in_the_status() -> None:
    name = "m\n\x1b[2J" + "漢" * 200_000
    menu, sources = Menu(), Sources(offers=lambda kind: [(name, name)])
    menu.show(suggest("/model m", sources, asked=True), "/model m")
    assert sum(len(str(part[1])) for part in menu.fragments(80)) < 100
    status = StatusLine()
    status.hear(RunStarted("x", "/", name, "1"))
    status.hear(Engaged(name, "http://127.0.0.1", window=10))
    line = status.line(80)
    assert "\n" not in line and "\x1b[2J" not in line and "漢" in line
    assert cell_len(re.sub(r"\x1b\[\d*m", "", line)) <= 80


def test_blanks_before_a_folded_line_push_nothing_out_of_sight() -> None:
    details = Details()
    details.kept.append(("tool", " " * 9_000 + "x" * 9_000))
    assert all(columns_of(line) <= 80 for line in details.lines(80))


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("<script>x</script>", "> \\<script>x\\</script>"),
        ("![x](http://e)", "> \\![x](http://e)"),
        ("`<b>` and\n```html\n<b>\n```", "> `<b>` and\n> ```html\n> <b>\n> ```"),
        ("x ` y\n` <b> `", "> x ` y\n> ` \\<b> `"),
        ("```a`b\n<b>", "> ```a`b\n> \\<b>"),
        ("- a\n\n  ```\n  x\nb <b>", "> - a\n>\n>   ```\n>   x\n> b \\<b>"),
        ("if a < b", "> if a < b"),
    ],
)
def test_markdown_that_is_exported_loads_nothing(words: str, shown: str) -> None:
    assert quoted(words) == shown


def test_auto_mode_asks_nobody_and_refuses_what_leaves_the_trial(repository: Path) -> None:
    reach = {"calls": [{"name": "bash", "args": {"command": "curl x", "hosts": ["example.org"]}}]}
    screen, talk = converse(repository, ["/mode auto", "look there"], [reach, "It was refused."], ["y"])
    told = [part.text for each in talk.past.threads["task"] for part in each.results]
    assert len(told) == 1 and told[0].startswith("This was not allowed: nobody is asked in auto mode")
    assert "Allow bash" not in screen.text
