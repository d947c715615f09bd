"""Pieces of a reply: however it is cut, what is shown is the beginning of what the log will hold."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kith.context.redact import MARK, Redactor
from kith.core.events import Delta, Notice, Progress, Said
from kith.core.values import say
from kith.memory.live import Pieces

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
