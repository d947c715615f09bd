"""A council on a terminal: blocks that do not mix, and questions that nobody talks into."""

import asyncio
import sys

import pytest

from kith.core.decisions import Convened
from kith.core.events import Delta, Said
from kith.core.values import Answer, Message, Question, Text
from kith.features.confer.live_view import TerminalCouncil
from kith.terminal.terminal import TerminalVoice

PATH = ("confer", "propose", "A")


def said(role: str, words: str, thread: str) -> Said:
    return Said(thread, Message(role, (Text(words),)))  # type: ignore[arg-type]


def speak(council: TerminalCouncil, words: str) -> None:
    council.hear(Delta(words), PATH)
    council.hear(said("assistant", words, "council/x/A"), PATH)


def test_replies_and_questions_do_not_run_into_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    council = TerminalCouncil()

    class Person(TerminalVoice):
        async def answer(self, question: Question) -> Answer:
            print(question.text, file=sys.stderr)
            speak(council, "Meanwhile.")
            print("yes", file=sys.stderr)
            return Answer("yes")

    council.voice = Person()
    council.hear(Convened("x", "plan", "How?", {"A": "box/a"}), ())
    speak(council, "First.")
    speak(council, "Second.")
    asyncio.run(council.answer(Question("1", "trust", "Ask it?", ("yes", "no"))))
    council.close()
    shown = [line.rstrip() for line in capsys.readouterr().err.splitlines()]
    first = ["A ┌ box/a proposes", "A │ First.", "A │ Second."]
    assert shown == [*first, "Ask it?", "yes", "A ┌ box/a proposes", "A │ Meanwhile."]
