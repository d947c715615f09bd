"""What a person can do at the question about a change: key by key, and what the answer stands for."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import pytest

from kith.core.values import Answer, Change, Changes, Kept, Plan, Question
from kith.edits import keep_hunks, split_hunks, summarise
from kith.gates.human import CHOICES, change_question
from kith.terminal.questions import ask
from kith.terminal.rendering.look import Look, Palette
from kith.terminal.rendering.spans import Line, plain

if TYPE_CHECKING:
    from rich.console import RenderableType

Edit = Callable[[str], str]


class Played:
    """A `Screen` whose person has decided beforehand: keys, words and edits in their order."""

    def __init__(self, *moves: "str | tuple[str, str] | Edit | int", look: Look | None = None) -> None:
        self.moves = list(moves)
        self.look = look or Look(palette=Palette(depth=1))
        self.told: list[str] = []
        self.asked: list[tuple[str, Sequence[str]]] = []
        self.edited: list[str] = []  # names that were opened

    width = 80

    @property
    def text(self) -> str:
        return "\n".join(self.told)

    def show(self, *what: "RenderableType", style: str = "") -> None:
        self.told += [str(each) for each in what]

    def show_lines(self, lines: Iterable[Line]) -> None:
        self.told += [plain(line).rstrip() for line in lines]

    async def press(self, words: str, keys: Sequence[str], *, follows: bool = False) -> str:
        self.asked.append((words, keys))
        key = self.moves.pop(0)
        assert isinstance(key, str) and key in keys, f"{key!r} is not among {keys}, asked by {words!r}"
        return key

    async def type_line(self, words: str, draft: str = "") -> str:
        said = self.moves.pop(0)
        assert isinstance(said, tuple)
        return said[1]

    async def pick(self, words: str, rows: Sequence[str], chosen: int = 0) -> int | None:
        number = self.moves.pop(0)
        assert isinstance(number, int)
        return number

    async def edit(self, content: bytes, name: str) -> bytes:
        change = self.moves.pop(0)
        assert callable(change)
        self.edited.append(name)
        return change(content.decode()).encode()

    async def view(self, title: str, lines: Iterable[Line]) -> None:
        self.show_lines(lines)


def say(words: str) -> tuple[str, str]:
    return ("said", words)


def swap(old: str, new: str) -> Edit:
    def edit(text: str) -> str:
        assert old in text, text
        return text.replace(old, new)

    return edit


LINES = [f"line {number}" for number in range(1, 61)]


def text(**swaps: str) -> bytes:
    return "".join(f"{swaps.get(f'l{number}', line)}\n" for number, line in enumerate(LINES, 1)).encode()


THREE = Change("a.py", text(), text(l5="five", l30="thirty", l50="fifty"))
NEW = Change("new.py", None, b"x = 1\n")
GONE = Change("gone.py", b"y = 1\n", None)
MODE = Change("run.sh", b"ls\n", b"ls\n", 0o100755)
BINARY = Change("logo.png", b"\0a", b"\0b")
ALL: Changes = (THREE, NEW, GONE, MODE, BINARY)


def answer(question: Question, *moves: "str | tuple[str, str] | Edit | int") -> tuple[Answer, Played]:
    screen = Played(*moves)
    given = asyncio.run(ask(screen, question))
    assert not screen.moves, f"not needed: {screen.moves}"
    return given, screen


def about(*changes: Change) -> Question:
    return change_question("Apply this change?", changes, CHOICES)


def test_all_and_none() -> None:
    assert answer(about(THREE), "a")[0] == Answer("all")
    assert answer(about(THREE), "n")[0] == Answer("none")


def test_words_go_back() -> None:
    assert answer(about(THREE), "s", say("no, because"))[0] == Answer("revise", "no, because")
    assert answer(about(THREE), "s", say(""), "n")[0] == Answer("none")


def test_each_part_by_itself() -> None:
    given, screen = answer(about(THREE, NEW), "h", "y", "n", "y", "n", "a")
    assert given == Answer("some", changes=(keep_hunks(THREE, {0, 2}),), kept=(Kept("a.py", (0, 2)),))
    assert "a.py: parts 1, 3 of 3 are kept" in screen.text and "new.py: left out" in screen.text


def test_every_part_kept_is_all() -> None:
    given, _ = answer(about(*ALL), "h", "a", "y", "y", "y", "y")
    assert given == Answer("all")


@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        ("yd", {0}),
        ("na", {1, 2}),
        ("nkyyn", {0, 1}),
        ("yj", {0}),
        ("yynkky?n", {0, 1}),
    ],
)
def test_the_rest_of_a_file_the_way_back_and_the_next_file(keys: str, kept: set[int]) -> None:
    given, _ = answer(about(THREE, NEW), "h", *keys, "y", "a")
    assert given.changes == (keep_hunks(THREE, kept), NEW)


def test_a_way_back_to_the_whole_change() -> None:
    for key in ("q", "escape"):
        assert answer(about(THREE), "h", "y", key, "a")[0] == Answer("all")


def test_at_the_end_one_can_go_back_or_keep_nothing() -> None:
    given, screen = answer(about(THREE), "h", "d", "k", "y", "a")
    assert given.changes == (keep_hunks(THREE, {2}),)
    assert "a" not in screen.asked[2][1], "nothing can be applied where nothing is kept"
    assert answer(about(THREE), "h", "y", "d", "n")[0] == Answer("none")


def test_a_part_with_a_reason_is_sent_back_with_it() -> None:
    given, _ = answer(about(THREE), "h", "y", "s", say("too long"), "y", "s")
    assert given == Answer(
        "revise",
        "a.py, part 2 of 3: too long",
        changes=(keep_hunks(THREE, {0, 2}),),
        kept=(Kept("a.py", (0, 2)),),
    )


def test_what_is_kept_can_be_applied_with_a_reason_for_the_rest() -> None:
    given, _ = answer(about(THREE), "h", "y", "s", say("too long"), "y", "a")
    assert given.choice == "some" and given.text == "a.py, part 2 of 3: too long"


def test_words_for_the_rest_as_a_whole() -> None:
    given, _ = answer(about(THREE), "h", "y", "d", "s", say("use a table"))
    assert given.choice == "revise" and given.text == "use a table"
    assert given.changes == (keep_hunks(THREE, {0}),)


def test_a_part_written_otherwise() -> None:
    given, screen = answer(about(THREE), "h", "e", swap("+five", "+FIVE"), "y", "y", "n", "a")
    assert given.choice == "edit"
    assert given.changes == (Change("a.py", text(), text(l5="FIVE", l30="thirty")),)
    assert screen.edited == ["a.py.diff"] and "+FIVE" in screen.text


def test_an_edit_that_does_not_fit_is_no_loss() -> None:
    broken = swap(" line 4", " line four")
    mended = swap(" line four", " line 4")
    given, screen = answer(about(THREE), "h", "e", swap("+five", "+FIVE"), "e", broken, "e", mended, "a", "a")
    assert "has 'line four' where the file has 'line 4'" in screen.text
    assert given.changes == (Change("a.py", text(), text(l5="FIVE", l30="thirty", l50="fifty")),)


def test_an_edit_of_nothing_leaves_the_part() -> None:
    given, screen = answer(about(THREE), "h", "e", lambda text: "", "a")
    assert given == Answer("all") and "as it was" in screen.text


def test_a_new_file_is_edited_as_it_is() -> None:
    given, screen = answer(about(NEW), "h", "e", swap("1", "2"), "y", "a")
    assert given.changes == (Change("new.py", None, b"x = 2\n"),)
    assert screen.edited == ["new.py"] and "+x = 2" in screen.text


def test_only_what_makes_sense_is_offered() -> None:
    _, screen = answer(about(GONE), "h", "y")
    words, keys = screen.asked[1]
    assert not {"e", "a", "d", "j", "k"} & set(keys)
    assert "[e]dit" not in words


def test_whole_files_can_be_edited_first() -> None:
    given, screen = answer(about(THREE, NEW), "e", 1, swap("1", "2"), "a")
    assert given == Answer("edit", changes=(THREE, Change("new.py", None, b"x = 2\n")))
    assert screen.text.count("2 files, +4 -3") == 2


def test_words_after_an_edit_keep_it() -> None:
    given, _ = answer(about(NEW), "e", swap("1", "2"), "s", say("and a test"))
    assert given == Answer("revise", "and a test", changes=(Change("new.py", None, b"x = 2\n"),))


def test_where_no_part_can_be_chosen_there_are_two_keys() -> None:
    question = change_question("Apply it all the same?", (THREE,))
    given, screen = answer(question, "?", "a")
    assert given == Answer("all") and screen.asked[0][0].startswith("[a]pply  [n]o")


def test_after_checks_one_can_go_back() -> None:
    question = change_question(
        "tests fail. Apply it all the same?", (THREE,), ("all", "none", "back", "revise")
    )
    assert answer(question, "b")[0] == Answer("back")
    assert answer(question, "s", say("mend it"))[0] == Answer("revise", "mend it")


def test_what_is_too_long_to_be_read_here_is_counted_and_can_be_seen() -> None:
    long = Change("long.py", None, b"".join(b"x = %d\n" % number for number in range(1000)))
    _, screen = answer(about(long), "v", "n")
    before, _, after = screen.text.partition("more lines: [v] shows everything")
    assert before.count("\n") < 200 and "x = 999" not in before and "x = 999" in after
    assert "[v]iew all" in screen.asked[0][0]


def test_a_long_part_is_cut_and_can_be_seen() -> None:
    long = Change("long.py", None, b"".join(b"x = %d\n" % number for number in range(1000)))
    given, screen = answer(about(long, NEW), "h", "v", "y", "n", "a")
    _, _, parts = screen.text.partition("Apply this change?")
    before, _, after = parts.partition("more lines: [v] shows everything")
    assert before.count("\n") < 200 and "x = 999" not in before and "x = 999" in after
    assert "v" not in screen.asked[3][1], "a short one is there whole"
    assert given.changes == (long,)


def test_a_warning_stands_out() -> None:
    _, screen = answer(about(Change(".git/hooks/pre-commit", None, b"#!/bin/sh\n", 0o100755)), "n")
    assert "Careful with .git/hooks/pre-commit" in screen.text


def test_without_contents_parts_are_kept_by_their_numbers() -> None:
    question = Question("q", "change", "Apply?", CHOICES, files=summarise(ALL))
    given, screen = answer(question, "h", "y", "d", "y", "n", "y", "n", "a")
    assert given == Answer(
        "some", kept=(Kept("a.py", (0,)), Kept("new.py", (0,)), Kept("run.sh", (0,))), changes=None
    )
    assert not any("e" in keys for _, keys in screen.asked)


def test_every_kind_of_piece_is_shown_in_any_look() -> None:
    for depth in (0, 1, 4, 8, 24):
        screen = Played("h", *"yyyyyyy", look=Look(palette=Palette(depth=depth)))
        assert asyncio.run(ask(screen, about(*ALL))) == Answer("all")
        shown = screen.text
        assert all(words in shown for words in ("five", "x = 1", "y = 1", "run.sh", "logo.png"))
        assert len(split_hunks(THREE)) == 3


def test_a_tool_is_refused_with_words() -> None:
    question = Question(
        "q", "tool", "Allow bash: rm x", ("yes", "always", "no"), pattern="rm x", effect="exec"
    )
    assert answer(question, "s", say("no, keep it"))[0] == Answer("no", "no, keep it")
    assert answer(question, "y")[0] == Answer("yes")
    given, screen = answer(question, "a")
    assert given == Answer("always") and "yes, always in this project" in screen.text


def test_a_plan_is_revised_with_words() -> None:
    question = Question("q", "plan", "Go on with this plan?", ("yes", "no", "revise"))
    assert answer(question, "s", say("smaller"))[0] == Answer("revise", "smaller")


def test_one_key_keeps_what_was_planned() -> None:
    plan = Plan(("x",), modify=("a.py",))
    question = change_question("Apply this change?", (THREE, NEW), CHOICES, plan=plan)
    given, screen = answer(question, "h", "y", "q", "p")
    assert given == Answer("planned")
    assert "outside the plan: new.py" in screen.text and "(planned)" in screen.text


def test_the_planned_files_of_an_edited_change_are_kept_edited() -> None:
    plan = Plan(("x",), modify=("new.py",))
    question = change_question("Apply this change?", (NEW, GONE), CHOICES, plan=plan)
    given, _ = answer(question, "e", swap("1", "2"), "p")
    assert given == Answer("edit", changes=(Change("new.py", None, b"x = 2\n"),))
