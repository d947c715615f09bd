"""What a terminal sends: bursts that are pastes, keys that are keys, and the focus of the window."""

from collections.abc import Sequence

import pytest
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from kith.terminal.conversation.key_input import KeyReader


def parsed(text: str) -> list[KeyPress]:
    found: list[KeyPress] = []
    Vt100Parser(found.append).feed(text)
    return found


def told(keys: Sequence[KeyPress]) -> list[str]:
    """The text of a paste, else each key."""
    return [key.data if key.key is Keys.BracketedPaste else f"<{key.data}>" for key in keys]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_lines_in_one_burst_are_one_paste(end: str) -> None:
    reader, text = KeyReader(), end.join(["one", "\ttwo", "", "three", ""])
    assert reader.read(parsed(text)) == []
    assert told(reader.flush()) == [text]


def test_a_paste_in_several_reads_stays_one() -> None:
    reader = KeyReader()
    chunks = ["one\rtw", "o\rthree\r", "four"]
    assert [reader.read(parsed(chunk)) for chunk in chunks] == [[], [], []]
    assert told(reader.flush()) == ["one\rtwo\rthree\rfour"]


def test_a_late_rest_of_a_paste_is_not_sent() -> None:
    clock = Clock()
    reader = KeyReader(clock)
    reader.read(parsed("one\rtwo\r"))
    assert told(reader.flush()) == ["one\rtwo\r"]
    clock.now += 0.1
    reader.read(parsed("three\r"))
    assert told(reader.flush()) == ["three\r"]
    clock.now += 1
    reader.read(parsed("four\r"))
    assert told(reader.flush()) == ["<f>", "<o>", "<u>", "<r>", "<\r>"]


@pytest.mark.parametrize("text", ["a", "\r", "words", "\r\r", "\x1b[A", "\t"])
def test_keys_are_handled_at_once(text: str) -> None:
    keys = parsed(text)
    assert KeyReader().read(keys) == keys


@pytest.mark.parametrize("text", ["y\r", "fix it\r"])
def test_words_and_enter_are_sent(text: str) -> None:
    reader, keys = KeyReader(), parsed(text)
    assert [*reader.read(keys), *reader.flush()] == keys


def test_a_key_behind_a_paste_ends_it() -> None:
    reader = KeyReader()
    assert told(reader.read(parsed("one\rtwo\x03"))) == ["one\rtwo", "<\x03>"]
    assert reader.flush() == []


def test_marked_pastes_are_left_alone() -> None:
    reader = KeyReader()
    assert told(reader.read(parsed("\x1b[200~one\rtwo\r\x1b[201~"))) == ["one\rtwo\r"]


def test_reports_of_the_focus_are_no_keys() -> None:
    reader = KeyReader()
    assert reader.has_focus is None
    assert told(reader.read(parsed("a\x1b[Ob"))) == ["<a>", "<b>"] and reader.has_focus is False
    assert reader.read(parsed("\x1b[I")) == [] and reader.has_focus is True
