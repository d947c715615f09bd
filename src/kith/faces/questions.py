"""Questions on the terminal: a key, a line of words, a diff to choose from, a text in the person's editor."""

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kith.core.values import Answer, Change, Changes, Question
from kith.edits import Hunk, keep_hunks, split_hunks, summarise
from kith.faces.always import always_words
from kith.faces.lines import count, folded, printable, whole

if TYPE_CHECKING:
    from prompt_toolkit.output import Output
    from rich.console import Console

_KEYS = {
    "y": "[y]es",
    "n": "[n]o",
    "a": "[a]lways in this project",
    "e": "[e]dit",
    "s": "[s]ay what to do differently",
}
_MORE = (("a", "always"), ("e", "edit"), ("s", "revise"))  # beside yes and no, where a question has them
_EDITOR_S = 2.0  # an editor that is asked to leave may take so long
DIFF_STYLES = (("@@", "cyan"), ("+", "green"), ("-", "red"))


async def ask(console: "Console", question: Question) -> Answer:
    """Put one question on the terminal."""
    if question.kind == "change":
        return await ask_change(console, question)
    console.print(whole(question.text), style="bold", markup=False)
    if always := always_words(question):
        console.print(always, style="dim", markup=False)
    keys = {"y": "yes", "n": "no"}
    keys |= {key: choice for key, choice in _MORE if choice in question.choices}
    words = "  ".join(_KEYS[key] for key in keys)
    while True:
        match keys[await press(f"{words}: ", keys)]:
            case "revise":
                if said := await type_line("What should be different? "):
                    return Answer("revise", said)
            case "edit":
                draft = question.draft.encode()
                if (edited := await open_editor(console, draft, "tasks.md")) != draft:
                    return Answer("edit", edited.decode("utf-8", "replace"))
                console.print("Nothing was changed.")
            case choice:
                return Answer(choice)


async def ask_change(console: "Console", question: Question) -> Answer:
    """Show the diff and ask: all, none, some hunks, edited, or what to do differently."""
    changes = question.changes
    whole = "some" in question.choices
    words = "[a]ll  [n]one  [h]unks  [e]dit  [s]ay what to do differently: " if whole else "[a]pply  [n]o: "
    show_changes(console, changes)
    while True:
        print_asked(console, question)
        match await press(words, "anhes" if whole else "an"):
            case "a":
                return Answer("all") if changes == question.changes else Answer("edit", changes=changes)
            case "n":
                return Answer("none")
            case "h":
                if kept := await choose_hunks(console, changes):
                    return Answer("some", changes=kept)
                console.print("No part was kept.")
            case "e":
                changes = await edit_changes(console, changes)
                show_changes(console, changes)
            case _:
                if said := await type_line("What should be different? "):
                    return Answer("revise", said)


def print_asked(console: "Console", question: Question) -> None:
    """The words of a question about a change; what it warns of stands out."""
    *careful, words = printable(question.text).split("\n")
    for line in careful:
        console.print(line, style="bold yellow", markup=False)
    console.print(words, style="bold", markup=False)


def show_changes(console: "Console", changes: Changes) -> None:
    """The diff in colour, each file under its own header, and a line that counts."""
    files = summarise(changes)
    for file in files:
        console.print()
        print_diff(console, file.diff)
    console.print()
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    console.print(f"{count(len(files), 'file')}, +{added} -{removed}", style="bold", markup=False)


def print_diff(console: "Console", diff: str) -> None:
    """A unified diff, coloured by line; what the file holds can move no cursor."""
    head, hunks, body = diff.rstrip("\n").partition("\n@@")
    lines = [line for line in head.split("\n") if not line.startswith(("diff --git ", "index "))]
    for number, line in enumerate([*lines, *f"@@{body}".split("\n")] if hunks else lines):
        in_head = number < len(lines) and hunks
        style = "bold" if in_head else next((s for mark, s in DIFF_STYLES if line.startswith(mark)), "")
        console.print(folded(printable(line.removesuffix("\r"))), style=style, markup=False, soft_wrap=True)


async def choose_hunks(console: "Console", changes: Changes) -> Changes:
    """Go through the hunks one by one; what is kept becomes the change."""
    kept: list[Change] = []
    for change in changes:
        hunks = split_hunks(change)
        chosen = await _choose(console, change, hunks)
        if len(chosen) == len(hunks):
            kept.append(change)
        elif chosen:
            kept.append(keep_hunks(change, chosen))
    return tuple(kept)


async def _choose(console: "Console", change: Change, hunks: Sequence[Hunk]) -> set[int]:
    chosen: set[int] = set()
    for number, hunk in enumerate(hunks):
        console.print(
            f"{printable(change.path)}, part {number + 1} of {len(hunks)}", style="bold", markup=False
        )
        print_diff(console, hunk.text)
        key = await press("Keep it? [y]es  [n]o  [a]ll of this file  [d]one with this file: ", "ynad")
        if key == "a":
            return chosen | set(range(number, len(hunks)))
        if key == "d":
            break
        if key == "y":
            chosen.add(number)
    return chosen


async def edit_changes(console: "Console", changes: Changes) -> Changes:
    """Open the files as they would become in the person's editor; what they save is the change."""
    from dataclasses import replace

    edited: list[Change] = []
    for change in changes:
        if change.after is None:
            edited.append(change)
            continue
        after = await open_editor(console, change.after, change.path)
        if after != change.before:
            edited.append(replace(change, after=after))
    return tuple(edited)


async def open_editor(console: "Console", content: bytes, name: str) -> bytes:
    """The content after a visit to $VISUAL or $EDITOR; unchanged, and said so, when that went wrong."""
    import os
    import shlex
    import tempfile
    from pathlib import Path

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder, _terminal_as_it_was():
        file = Path(folder) / Path(name).name
        file.write_bytes(content)
        try:
            process = await asyncio.create_subprocess_exec(*shlex.split(editor), str(file))
            code = await _wait_or_end(process)
        except (OSError, ValueError) as error:
            console.print(f"The editor {editor!r} cannot be started: {error}.", style="red", markup=False)
            return content
        if code:
            console.print(f"The editor ended with {code}; nothing was taken over.", style="red", markup=False)
        return file.read_bytes() if code == 0 else content


async def _wait_or_end(process: asyncio.subprocess.Process) -> int:
    """How it ended; where nobody needs it any more (another face was first), it is ended."""
    try:
        return await process.wait()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.terminate()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _EDITOR_S)
        if process.returncode is None:
            process.kill()
        raise


@contextmanager
def _terminal_as_it_was() -> Iterator[None]:
    """An editor that is ended may leave the terminal raw."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        yield
        return
    import termios

    before = termios.tcgetattr(sys.stdin.fileno())
    try:
        yield
    except asyncio.CancelledError:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)
        raise


async def press(words: str, keys: Sequence[str] | dict[str, str]) -> str:
    """One key of `keys`; Ctrl-C cancels the run, end of input means "n"."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    def bind(key: str) -> None:
        @bindings.add(key)
        def _(event: KeyPressEvent) -> None:
            event.app.current_buffer.text = key
            event.app.exit(result=key)

    for key in keys:
        bind(key)

    @bindings.add("enter")
    @bindings.add("c-j")
    @bindings.add("<any>")
    def _(event: KeyPressEvent) -> None:
        """Any other key does nothing."""

    session = PromptSession[str](key_bindings=bindings, output=_stderr())
    drop_type_ahead()  # a key that was pressed before the question was seen is no answer to it
    with _ctrl_c_cancels():
        try:
            return await session.prompt_async(words)
        except EOFError:
            return "n"


async def type_line(words: str) -> str:
    """A line of text; "" at the end of input, which Ctrl-D is."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        """Enter alone may belong to the key before, and what is typed next must not be taken for keys."""
        if event.app.current_buffer.text.strip():
            event.app.current_buffer.validate_and_handle()

    session = PromptSession[str](key_bindings=bindings, output=_stderr(), placeholder="(Ctrl-D goes back)")
    with _ctrl_c_cancels():
        try:
            return (await session.prompt_async(words)).strip()
        except EOFError:
            return ""


@contextmanager
def _ctrl_c_cancels() -> Iterator[None]:
    """At a prompt Ctrl-C is a key; it means the same there as anywhere else."""
    try:
        yield
    except KeyboardInterrupt:
        raise asyncio.CancelledError from None


def drop_type_ahead() -> None:
    """Forget what was typed and not read yet."""
    if sys.stdin.isatty() and sys.platform != "win32":
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


@contextmanager
def quiet_keys() -> Iterator[None]:
    """While no prompt is open, typed keys wait unseen for the next one, and Enter stays Enter."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        yield
        return
    import termios

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    changed = termios.tcgetattr(terminal)
    changed[0] &= ~termios.ICRNL  # otherwise Enter would arrive as Ctrl-J, a line break
    changed[3] &= ~termios.ECHO
    # Ctrl-D waits too: the terminal would take it for the end of a line that nobody reads.
    changed[6][termios.VEOF] = bytes([os.fpathconf(terminal, "PC_VDISABLE")])
    termios.tcsetattr(terminal, termios.TCSANOW, changed)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)


def _stderr() -> "Output":
    from prompt_toolkit.output import create_output

    return create_output(stdout=sys.stderr)
