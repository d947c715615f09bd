"""Pieces of a reply: however it is cut, what is shown is the beginning of what the log will hold."""

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from kith.context.redact import MARK, Redactor
from kith.core.events import Delta, Notice, Progress, Said
from kith.core.values import say
from kith.memory.live import FOLDER, LiveReader, Pieces, Position
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session

TEXT = 'The key\nis Xk29LmQz7Rt4Vb1N, set TOKEN = "q8Rt4Vb1Nc6Wd3Ye5" here.\nDone. Yes\n'


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_no_way_of_cutting_shows_a_secret(sizes: list[int]) -> None:
    redactor, at, shown = Redactor(["Xk29LmQz7Rt4Vb1N"]), 0, ""
    pieces = Pieces(redactor)
    for size in sizes * 90:
        event = pieces.take(Delta(TEXT[at : at + size]), ())
        shown, at = shown + (event.text if isinstance(event, Delta) else ""), at + size
    assert shown == redactor.clean(TEXT)[0] and shown.count(MARK) == 2


def test_what_is_no_piece_of_a_reply_passes_and_a_private_key_is_waited_for() -> None:
    pieces, progress = Pieces(), Progress("reading", 1, 2)
    assert pieces.take(progress, ()) is progress
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n" * 3
    shown = [pieces.take(Delta(each), ()) for each in key.splitlines(keepends=True)]
    assert shown == [None] * 4
    last = pieces.take(Delta("-----END PRIVATE KEY-----\n"), ())
    assert isinstance(last, Delta) and MARK in last.text and "MIIE" not in last.text


def text_of(*events: object) -> str:
    return "".join(event.text for event in events if isinstance(event, Delta))


def test_replies_that_come_at_once_are_kept_apart_and_told_to_their_ends() -> None:
    """As in a council: each secret comes in two pieces, with somebody else's between them."""
    pieces, said = Pieces(Redactor(["Xk29LmQz7Rt4Vb1N"])), {"a": "", "b": ""}
    for words in ("It is Xk29LmQ", "z7Rt4Vb1N. ", "Right"):
        for name in said:
            said[name] += text_of(pieces.take(Delta(words), (name,)))
            assert pieces.end(Notice("meanwhile"), (name,)) == ()
    for name in said:
        said[name] += text_of(*pieces.end(Said("task", say("x")), (name,)))
    assert said == dict.fromkeys(said, f"It is {MARK}. Right")


def test_a_phrase_is_waited_for_and_a_language_without_blanks_is_not() -> None:
    phrase = "correct horse battery staple"
    assert Pieces(Redactor([phrase])).take(Delta("correct horse "), ()) is None
    assert text_of(Pieces(Redactor([phrase])).take(Delta(f"{phrase}\n"), ())) == f"{MARK}\n"
    assert text_of(Pieces().take(Delta("\u4f60\u597d"), ())) == "\u4f60\u597d"


def test_the_last_word_is_shown_before_a_tool_is_called_unless_it_may_become_a_secret() -> None:
    pieces, call = Pieces(Redactor(["Xk29LmQz7Rt4Vb1N"])), Delta("bash", "tool")
    shown = pieces.take(Delta("I look at what is there."), ())
    assert isinstance(shown, Delta) and shown.text == "I look at what is "
    (rest,) = pieces.turn(call, ())
    assert rest == Delta("there.") and not pieces.turn(call, ())
    assert pieces.take(Delta(" Xk29LmQz7Rt4V"), ()) == Delta(" ")
    assert not pieces.turn(call, ())
    assert pieces.take(Delta("b1N is it. "), ()) == Delta(f"{MARK} is it. ")


def test_a_flood_is_read_in_pieces_and_in_order(tmp_path: Path) -> None:
    """Stored events and shown pieces, more than a look reads of either; some readers come back in between."""
    log = Log(tmp_path / LOG_FILE)
    words = "w" * 900
    with Session(log, "s") as session:
        with log.at_once():
            for number in range(400):
                session.emit(Notice(f"{number} {words}"))
        for number in range(400, 800):
            session.emit(Delta(f"{number} {words} "))
        session.emit(Notice(f"800 {words}"))
        for number in range(801, 1_200):
            session.emit(Delta(f"{number} {words} "))
        stays = LiveReader(log, "s")
        numbers: dict[str, list[int]] = {"stays": [], "comes back": []}
        position = Position()
        for name in numbers:
            while found := (stays if name == "stays" else LiveReader(log, "s", position)).look():
                position = found[-1].position
                assert sum(len(each.body) for each in found) < 80_000
                numbers[name] += (int(json.loads(each.body)["text"].split()[0]) for each in found)
            position = Position()
    assert all(each == [*range(1_200)] for each in numbers.values())
    assert not stays.more
    log.close()


def test_an_unfinished_line_waits_and_one_that_is_too_long_is_read_whole(tmp_path: Path) -> None:
    log = Log(tmp_path / LOG_FILE)
    with Session(log, "s") as session:
        session.emit(Notice("before"))
        session.emit(Delta("first "))
        (live,) = (tmp_path / FOLDER).iterdir()
        watch = LiveReader(log, "s")
        assert [each.kind for each in watch.look()] == ["Notice", "Delta"]
        long = live.read_bytes().replace(b"first", b"x" * 1_000_000)
        with live.open("ab", buffering=0) as file:
            file.write(long[:-1])
            assert not watch.look() and not watch.more
            file.write(long[-1:] + b"no event\n" * 40_000)
        (read,) = watch.look()
        assert len(read.body) > 1_000_000
        session.emit(Notice("after"))
        assert [each.kind for each in watch.look()] == ["Notice"]
    log.close()
