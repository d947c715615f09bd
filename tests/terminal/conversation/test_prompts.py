"""What counts as an answer in a conversation: a key that was meant for the question, and nothing else."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from prompt_toolkit.buffer import Buffer

from kith.terminal.conversation.prompts import AGAIN_S, ARMED_S, WORD_S, PromptStack
from kith.terminal.rendering.spans import plain

SEEN_S = ARMED_S + 0.05
Scene = Callable[["Person"], Awaitable[None]]


class Person:
    """Who presses keys, as the terminal hands them on."""

    def __init__(self) -> None:
        self.line = Buffer(multiline=True)
        self.asking = PromptStack(self.line, lambda: None)
        self.sent: list[str] = []

    def type(self, keys: str) -> None:
        for key in keys:
            if not (self.asking.asks and self.asking.take_key(key)):
                self.line.insert_text(key)

    def enter(self) -> None:
        if not self.asking.send() and self.line.text:
            self.sent.append(self.line.text)
            self.line.reset()

    def asked(self, *keys: str, follows: bool = False) -> "asyncio.Task[str]":
        return asyncio.ensure_future(self.asking.press("What? [y]es", keys, follows))

    @property
    def sees(self) -> str:
        return "\n".join(plain(line) for line in self.asking.lines(60, 24, "…"))


class Unhurried(asyncio.SelectorEventLoop):
    """A loop whose seconds take no time: where it would wait, its clock goes on at once."""

    def __init__(self) -> None:
        self._now = 1_000.0
        super().__init__()
        look = self._selector.select

        def select(timeout: float | None = None) -> Any:
            self._now += timeout + 0.001 if timeout else 0.0  # a real clock is never on the dot
            return look(timeout and 0)

        self._selector.select = select

    def time(self) -> float:
        return self._now


def play(scene: Scene) -> None:
    async def played() -> None:
        await scene(Person())

    with asyncio.Runner(loop_factory=Unhurried) as runner:
        runner.run(played())


def test_a_key_answers_once_the_question_could_be_seen() -> None:
    async def scene(person: Person) -> None:
        answer = person.asked("y", "n")
        await asyncio.sleep(SEEN_S)
        person.type("y")
        assert await answer == "y" and not person.line.text and not person.asking.busy

    play(scene)


def test_what_was_being_written_is_no_answer() -> None:
    async def scene(person: Person) -> None:
        person.type("also a")
        answer = person.asked("a", "n", "s")
        await asyncio.sleep(SEEN_S)
        person.type("an")
        assert "Enter sends your line first" in person.sees
        person.enter()
        assert person.sent == ["also aan"] and not answer.done()
        person.type("n")
        await asyncio.sleep(WORD_S + 0.05)
        assert await answer == "n"

    play(scene)


def test_a_line_that_begins_with_the_question_is_no_answer() -> None:
    async def scene(person: Person) -> None:
        answer = person.asked("a", "n", "s")
        await asyncio.sleep(0)
        person.type("and the tests")
        await asyncio.sleep(SEEN_S)
        person.enter()
        assert person.sent == ["and the tests"] and not answer.done()
        answer.cancel()

    play(scene)


def test_words_are_an_answer_of_their_own() -> None:
    async def scene(person: Person) -> None:
        answer = person.asked("a", "n", "s")
        await asyncio.sleep(SEEN_S)
        person.type("no, because")
        assert "Enter answers with your line" in person.sees
        await asyncio.sleep(WORD_S + 0.05)
        assert not answer.done(), "its first letter is no key"
        person.enter()
        assert await answer == "s" and not person.sent
        assert await person.asking.type_line("Why not?", "") == "no, because"

    play(scene)


def test_a_key_pressed_twice_answers_one_question() -> None:
    async def scene(person: Person) -> None:
        first = person.asked("y", "n")
        await asyncio.sleep(SEEN_S)
        person.type("y")
        assert await first == "y"
        second = person.asked("y", "n")
        await asyncio.sleep(0)
        person.type("y")
        await asyncio.sleep(SEEN_S)
        assert not second.done() and not person.line.text
        person.type("nn")
        assert await second == "n"

    play(scene)


def test_keys_ahead_are_for_the_questions_that_follow() -> None:
    async def scene(person: Person) -> None:
        first = person.asked("y", "n", follows=True)
        await asyncio.sleep(SEEN_S)
        person.type("yny")
        assert await first == "y"
        assert await person.asked("y", "n", follows=True) == "n"
        assert await person.asked("y", "n", follows=True) == "y"
        assert not person.line.text

    play(scene)


def test_keys_for_which_no_question_comes_begin_a_line() -> None:
    async def scene(person: Person) -> None:
        first = person.asked("y", "n")
        await asyncio.sleep(SEEN_S)
        person.type("y")
        assert await first == "y"
        person.type("es")
        await asyncio.sleep(AGAIN_S + 0.05)
        person.type("!")
        assert person.line.text == "es!"

    play(scene)


def test_words_that_are_typed_without_looking_answer_nothing() -> None:
    async def scene(person: Person) -> None:
        answer = person.asked("y", "n")
        await asyncio.sleep(SEEN_S)
        person.type("you should first look")
        await asyncio.sleep(WORD_S + 0.05)
        assert not answer.done()
        person.enter()
        assert person.sent == ["you should first look"] and not answer.done()
        person.type("yes")
        person.enter()
        assert await answer == "y"

    play(scene)


def test_a_plain_yes_is_no_reason_why_not() -> None:
    async def scene(person: Person) -> None:
        for said, key in (("yes", "a"), ("y", "a"), ("No", "n")):
            answer = person.asked("a", "n", "s")
            await asyncio.sleep(SEEN_S)
            person.line.insert_text(said)
            person.enter()
            assert await answer == key and not person.line.text and not person.sent

    play(scene)


def test_an_enter_that_comes_too_soon_picks_no_row() -> None:
    async def scene(person: Person) -> None:
        picked = asyncio.ensure_future(person.asking.pick("Which?", ["one", "two"], 1))
        await asyncio.sleep(0)
        person.enter()
        await asyncio.sleep(SEEN_S)
        assert not picked.done()
        person.enter()
        assert await picked == 1

    play(scene)


def test_a_line_sent_right_after_an_answer_is_whole() -> None:
    async def scene(person: Person) -> None:
        answer = person.asked("y", "n")
        await asyncio.sleep(SEEN_S)
        person.type("y")
        assert await answer == "y"
        person.type("one")
        person.enter()
        person.type("two")
        person.enter()
        assert person.sent == ["one", "two"]

    play(scene)


def test_a_command_at_a_question_is_a_command() -> None:
    async def scene(person: Person) -> None:
        answer = person.asked("a", "s")
        await asyncio.sleep(SEEN_S)
        person.type("/diff")
        person.enter()
        assert person.sent == ["/diff"] and not answer.done()
        answer.cancel()

    play(scene)


def test_what_is_asked_last_is_on_top_and_the_others_wait() -> None:
    async def scene(person: Person) -> None:
        answer = person.asked("y", "n")
        await asyncio.sleep(SEEN_S)
        picked = asyncio.ensure_future(person.asking.pick("Which?", ["one", "two"], 0))
        await asyncio.sleep(SEEN_S)
        assert "> one" in person.sees and "What?" not in person.sees
        person.asking.move(1)
        person.enter()
        assert await picked == 1
        assert "What?" in person.sees
        person.type("y")
        assert await answer == "y"

    play(scene)


def test_esc_leaves_what_can_be_left() -> None:
    async def scene(person: Person) -> None:
        answer = person.asked("y", "n")
        await asyncio.sleep(0)
        assert not person.asking.give_up()
        line = asyncio.ensure_future(person.asking.type_line("Why?", "draft"))
        await asyncio.sleep(0)
        assert person.line.text == "draft"
        assert person.asking.give_up()
        assert await line == "" and not person.line.text
        rows = asyncio.ensure_future(person.asking.pick("Which?", ["one"], 0))
        await asyncio.sleep(0)
        assert person.asking.give_up() and await rows is None
        other = person.asked("y", "escape")
        await asyncio.sleep(0)
        assert person.asking.give_up() and await other == "escape"
        answer.cancel()

    play(scene)


def test_a_question_that_nobody_needs_any_more_leaves_the_screen() -> None:
    async def scene(person: Person) -> None:
        answer = person.asked("a", "s")
        await asyncio.sleep(SEEN_S)
        person.type("a")
        answer.cancel()
        await asyncio.gather(answer, return_exceptions=True)
        assert not person.asking.busy and not person.sees
        later = person.asked("a", "s")
        await asyncio.sleep(WORD_S + 0.05)
        assert not later.done(), "a key for the other question answers no later one"
        later.cancel()

    play(scene)


def test_keys_are_broken_between_lines_and_never_inside() -> None:
    async def scene(person: Person) -> None:
        words = "[a]ll  [n]one  [h]unk by hunk  [e]dit files  [s]ay why not  [?]"
        answer = asyncio.ensure_future(person.asking.press(words, "a", False))
        await asyncio.sleep(0)
        for width in (20, 40, 60, 80):
            lines = [plain(line) for line in person.asking.lines(width, 24, "…")]
            assert "  ".join(lines) == words and all(len(line) <= width for line in lines)
        answer.cancel()

    play(scene)
