"""Pieces of a reply: however it is cut, what is shown is the beginning of what the log will hold."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kith.context.redact import MARK, Redactor
from kith.core.events import Delta, Progress
from kith.memory.pieces import Pieces

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
