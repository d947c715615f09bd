"""Bind the keys of a conversation; prompt_toolkit edits the line, with emacs's or vi's keys."""

import asyncio
import string
import sys
import time
from collections.abc import Callable
from typing import Final, Protocol

from prompt_toolkit.filters import Condition, Filter, vi_insert_mode, vi_mode
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyBindingsBase, KeyPressEvent, merge_key_bindings
from prompt_toolkit.key_binding.bindings.auto_suggest import load_auto_suggest_bindings
from prompt_toolkit.keys import Keys

from kith.terminal.conversation.slash_commands import loaded_commands
from kith.terminal.conversation.terminal import Terminal
from kith.terminal.rendering.look import Look

_LETTERS: Final = string.ascii_letters + string.digits + string.punctuation + " "
TWICE_S: Final = 1.0  # two presses of a key within this mean more than one
AGAIN: Final = "Ctrl-C again leaves"
# Shift-Enter, where a terminal tells it from Enter: as kitty says it, and as xterm does.
_SHIFT_ENTER: Final = ("\x1b[13;2u", "\x1b[27;2;13~")


class KeyActions(Protocol):
    """The actions of keys besides writing. Called in the terminal's thread, and never slow."""

    @property
    def working(self) -> bool: ...
    def stop(self) -> None: ...
    def leave(self) -> None: ...
    def go_back(self) -> None: ...
    def next_mode(self) -> None: ...
    def toggle_todo(self) -> None: ...
    def show_details(self) -> None: ...
    def take_back(self) -> str: ...


class _Twice:
    """True if a key comes a second time within a second."""

    def __init__(self) -> None:
        self._last = 0.0

    def again(self) -> bool:
        now = time.monotonic()
        again, self._last = now - self._last < TWICE_S, now
        return again


def open_terminal(
    submit: Callable[[str], None], status: Callable[[int], str], actions: KeyActions, look: Look
) -> Terminal:
    """A terminal with the bindings of a conversation."""
    keys = make_keys(lambda: terminal, actions)
    terminal = Terminal(submit, status, keys=keys, look=look)
    return terminal


def make_keys(get: Callable[[], Terminal], actions: KeyActions) -> KeyBindingsBase:
    """The bindings of a conversation; the terminal is made after them, so they `get` it."""
    keys = KeyBindings()
    asks = Condition(lambda: get().asks)
    picks = Condition(lambda: get().picks)
    free = ~asks & ~picks
    _bind_questions(keys, get, asks, picks)
    _bind_writing(keys, get)
    _bind_line(keys, get, picks)
    _bind_commands(keys, get, free)
    _bind_ends(keys, get, actions)

    @keys.add("s-tab")
    def _(event: KeyPressEvent) -> None:
        actions.next_mode()

    @keys.add("c-t")
    def _(event: KeyPressEvent) -> None:
        actions.toggle_todo()

    @keys.add("c-o")
    def _(event: KeyPressEvent) -> None:
        actions.show_details()

    @keys.add("up", filter=free & Condition(lambda: not get().buffer.text and actions.working))
    def _(event: KeyPressEvent) -> None:
        if words := actions.take_back():
            get().line.fill(words)
        else:
            get().line.up()

    return merge_key_bindings([load_auto_suggest_bindings(), keys])


def _bind_questions(
    keys: KeyBindings, get: Callable[[], Terminal], asks: Condition, picks: Condition
) -> None:
    def answer(event: KeyPressEvent) -> None:
        if not get().take_key(event.data):
            event.current_buffer.insert_text(event.data)

    for letter in _LETTERS:  # not any key: Ctrl-C and the arrows keep their meaning
        keys.add(letter, filter=asks, eager=True)(answer)

    @keys.add("up", filter=picks)
    @keys.add("c-p", filter=picks)
    def _(event: KeyPressEvent) -> None:
        get().move(-1)

    @keys.add("down", filter=picks)
    @keys.add("c-n", filter=picks)
    def _(event: KeyPressEvent) -> None:
        get().move(1)

    @keys.add("pageup", filter=picks)
    def _(event: KeyPressEvent) -> None:
        get().move(-10)

    @keys.add("pagedown", filter=picks)
    def _(event: KeyPressEvent) -> None:
        get().move(10)


def _bind_writing(keys: KeyBindings, get: Callable[[], Terminal]) -> None:
    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        line = get().line
        if not line.accept() and not line.break_line():
            get().send()

    @keys.add("c-j")
    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    for sequence in _SHIFT_ENTER:
        ANSI_SEQUENCES[sequence] = Keys.ControlJ

    @keys.add(Keys.BracketedPaste, eager=True)
    def _(event: KeyPressEvent) -> None:
        get().line.paste(event.data)

    @keys.add("c-g", filter=Condition(lambda: not get().line.searches))
    @keys.add("c-x", "c-e")
    def _(event: KeyPressEvent) -> None:
        event.app.create_background_task(get().edit_line())

    if sys.platform != "win32":

        @keys.add("c-z")
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(get().suspension.stop_process())


def _bind_line(keys: KeyBindings, get: Callable[[], Terminal], picks: Condition) -> None:
    """Suggestions, and lines that were sent before."""
    searches = Condition(lambda: get().line.searches)
    offers = Condition(lambda: get().line.menu.is_open)
    moves = ~picks & (~vi_mode | vi_insert_mode | offers)

    @keys.add("tab", filter=~picks)
    def _(event: KeyPressEvent) -> None:
        get().line.complete()

    @keys.add("up", filter=moves)
    @keys.add("c-p", filter=moves)
    def _(event: KeyPressEvent) -> None:
        get().line.up()

    @keys.add("down", filter=moves)
    @keys.add("c-n", filter=moves)
    def _(event: KeyPressEvent) -> None:
        get().line.down()

    @keys.add("c-r", filter=~picks & (~vi_mode | vi_insert_mode | searches))
    def _(event: KeyPressEvent) -> None:
        get().line.search()

    @keys.add("c-g", filter=searches)
    def _(event: KeyPressEvent) -> None:
        get().line.give_up()

    @keys.add("backspace", filter=Condition(lambda: bool(get().line.mark_before)))
    def _(event: KeyPressEvent) -> None:
        get().line.delete()


def _bind_commands(keys: KeyBindings, get: Callable[[], Terminal], free: Filter) -> None:
    """The key of a command sends it as if typed; the line that is being written stays."""

    def bind(key: str) -> None:
        def find() -> str:
            return next((f"/{name}" for name, each in loaded_commands().items() if each.key == key), "")

        @keys.add(key, filter=free & Condition(lambda: bool(find())))
        def _(event: KeyPressEvent) -> None:
            get().submit(find())

    for number in range(1, 13):
        bind(f"f{number}")


def _bind_ends(keys: KeyBindings, get: Callable[[], Terminal], actions: KeyActions) -> None:
    interrupts, escapes = _Twice(), _Twice()

    @keys.add("c-c")
    def _(event: KeyPressEvent) -> None:
        if get().line.searches:
            get().line.give_up()
        elif interrupts.again():
            actions.leave()
        elif actions.working:
            actions.stop()
        elif not get().give_up():
            event.current_buffer.reset()
            get().hint = AGAIN
            asyncio.get_running_loop().call_later(TWICE_S, lambda: setattr(get(), "hint", ""))

    @keys.add("c-d")
    def _(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.delete()
        else:
            actions.leave()

    ours = Condition(lambda: get().line.menu.is_open or get().busy_asking or actions.working)

    @keys.add("escape", filter=~vi_mode | ours)
    def _(event: KeyPressEvent) -> None:
        if get().line.give_up() or get().give_up():
            return
        if actions.working:
            actions.stop()
        elif escapes.again():
            actions.go_back()
