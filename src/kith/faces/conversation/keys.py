"""What each key does in a conversation; editing a line is prompt_toolkit's, by emacs's or vi's keys."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from prompt_toolkit.filters import Condition, has_completions, vi_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from kith.faces.conversation.wishes import TWICE_S, Wishes

if TYPE_CHECKING:
    from kith.faces.conversation.terminal import Terminal


class _Twice:
    """Whether a key comes a second time within a second."""

    def __init__(self) -> None:
        self._last = 0.0

    def again(self) -> bool:
        now = time.monotonic()
        again, self._last = now - self._last < TWICE_S, now
        return again


def make_keys(get: Callable[[], "Terminal"], wishes: Wishes) -> KeyBindings:
    """The bindings of a conversation; the terminal is made after them, so they `get` it."""
    keys = KeyBindings()
    asks = Condition(lambda: get().asks)
    picks = Condition(lambda: get().picks)
    free = ~asks & ~picks
    _bind_questions(keys, get, asks, picks)
    _bind_writing(keys, get)
    _bind_ends(keys, get, wishes)

    @keys.add("s-tab")
    def _(event: KeyPressEvent) -> None:
        wishes.next_mode()

    @keys.add("c-t")
    def _(event: KeyPressEvent) -> None:
        wishes.toggle_todo()

    @keys.add("c-o")
    def _(event: KeyPressEvent) -> None:
        wishes.show_details()

    @keys.add("up", filter=free & Condition(lambda: not get().buffer.text and wishes.working))
    def _(event: KeyPressEvent) -> None:
        get().buffer.insert_text(wishes.take_back())

    return keys


def _bind_questions(
    keys: KeyBindings, get: Callable[[], "Terminal"], asks: Condition, picks: Condition
) -> None:
    @keys.add(Keys.Any, filter=asks, eager=True)
    def _(event: KeyPressEvent) -> None:
        if not get().take_key(event.data):
            event.current_buffer.insert_text(event.data)

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


def _bind_writing(keys: KeyBindings, get: Callable[[], "Terminal"]) -> None:
    @keys.add("enter", filter=~has_completions | Condition(lambda: not _is_chosen(get())))
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            get().send()

    @keys.add("enter", filter=has_completions & Condition(lambda: _is_chosen(get())))
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @keys.add("c-j")
    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")


def _is_chosen(terminal: "Terminal") -> bool:
    state = terminal.buffer.complete_state
    return state is not None and state.current_completion is not None


def _bind_ends(keys: KeyBindings, get: Callable[[], "Terminal"], wishes: Wishes) -> None:
    interrupts, escapes = _Twice(), _Twice()

    @keys.add("c-c")
    def _(event: KeyPressEvent) -> None:
        if interrupts.again():
            wishes.leave()
        elif wishes.working:
            wishes.stop()
        elif not get().give_up():
            event.current_buffer.reset()
            get().hint = "Ctrl-C again leaves"

    @keys.add("c-d")
    def _(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.delete()
        else:
            wishes.leave()

    @keys.add("escape", filter=~vi_mode | Condition(lambda: get().busy_asking or wishes.working))
    def _(event: KeyPressEvent) -> None:
        if event.current_buffer.complete_state:
            event.current_buffer.cancel_completion()
        elif get().give_up():
            return
        elif wishes.working:
            wishes.stop()
        elif escapes.again():
            wishes.go_back()
