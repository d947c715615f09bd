"""A first conversation: words go to the model, changes come back as one diff, keys say yes or no."""

import argparse
import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

from kith.app.asking.pins import is_routed
from kith.app.asking.switch import Reading, read_anew
from kith.app.project import Project, Result
from kith.app.tasks import THREAD, Opened, Task, run_in, warm_up
from kith.core.errors import KithError, NoModelError, UsageError
from kith.core.events import Event
from kith.core.money import dollars
from kith.core.run import new_id
from kith.faces.arguments import settings_flags
from kith.faces.folder import find_root
from kith.faces.lines import from_home, printable, todo_text, wrapped
from kith.faces.questions import press, print_diff, quiet_keys
from kith.faces.run import print_receipt
from kith.faces.terminal import TerminalVoice
from kith.faces.why import show_why, why_text
from kith.memory.applied import short_id
from kith.memory.past import Past
from kith.memory.session import Session
from kith.settings import describe_settings

HELP = {
    "help": "this list",
    "model [NAME]": "show or choose the model",
    "plan TASK": "plan first, and ask",
    "diff": "the last change",
    "undo [ID]": "take a change back",
    "todo": "the model's list",
    "panel WORDS": "let several models confer; the next task knows the outcome",
    "why": "which models were asked here, and why",
    "clear": "begin a new conversation",
    "save": "conversations are saved as they happen; shows this one's id",
    "load [ID]": "go back to a conversation, or list them",
    "delete ID": "forget a conversation for good",
    "config": "every setting and where it came from",
    "exit": "leave (Ctrl-D too)",
}
WORDS = tuple(usage.split()[0] for usage in HELP)


class Conversation:
    """One open conversation in one folder."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.voice = TerminalVoice(stream_words=True)
        self.id = new_id()
        self.opened: Opened | None = None
        self.advice = ""  # what a council decided, until the next task

    @property
    def past(self) -> Past:
        return self.project.log.past(self.id)

    def say(self, text: str, style: str = "") -> None:
        self.voice.console.print(text, style=style, markup=False)

    def do(self, words: str, plan: bool = False) -> None:
        """Give the words to the model, in a trial; Ctrl-C ends the turn, not the conversation."""
        if self.advice:
            words, self.advice = f"{words}\n\n# What several models agreed on\n{self.advice}", ""
        task = Task(words, plan="show" if plan else "no")
        self.voice.streamed = ""
        try:
            with Session(self.project.log, self.id) as session:
                session.listeners.append(self.voice.hear)
                result = asyncio.run(self._run(session, task))
        except (KeyboardInterrupt, asyncio.CancelledError):
            self.voice.close()  # the voice has said it
            return
        self.voice.close()
        self._show(result)

    async def _run(self, session: Session, task: Task) -> Result:
        if not is_routed(self.project.settings):  # else each task opens those that it needs
            with suppress(NoModelError):  # the run itself says what to do about it
                self.opened = self.opened or await self.project.open_model(self._show_event)
        return await run_in(self.project, session, task, self.voice.answer, self.opened)

    def _show_event(self, event: Event) -> None:
        self.voice.hear(event, ())

    def _show(self, result: Result) -> None:
        text, status = result.report["text"], result.report["status"]
        if status != "done":
            self.say(printable(text), "red")
        elif text and text.strip() not in self.voice.streamed:
            self.say(printable(text))
        if result.report["changes"]:
            print_receipt(result.report)

    # --- commands ----------------------------------------------------------------------------

    def help(self, rest: str) -> None:
        for usage, meaning in HELP.items():
            self.say(f"  /{usage:14} {meaning}")

    def model(self, rest: str) -> None:
        if rest:
            origin = {**self.project.settings.origin, "model": "the conversation"}
            settings, held = replace(self.project.settings, model=rest, origin=origin), self.opened
            project = replace(self.project, settings=settings)
            opened = None if is_routed(settings) else asyncio.run(project.open_model(self._show_event))
            self.project, self.opened = project, opened
            if held:
                asyncio.run(held.aclose())
        if is_routed(self.project.settings):
            self.say("kith chooses the model of each task; /why says why.")
            return
        told = self.opened is None and not self.project.settings.model
        self.opened = self.opened or asyncio.run(self.project.open_model(self._show_event))
        self.voice.close()
        if told:
            return
        window = f", window {self.opened.window:,}" if self.opened.window else ""
        self.say(f"The model is {printable(self.opened.facts.name)}{window}.")
        if rest and (reading := read_anew(self.opened, self.past, THREAD)):
            self.say(_reading_text(reading), "dim")

    def plan(self, rest: str) -> None:
        if rest:
            self.do(rest, plan=True)
        else:
            self.say("Plan what? /plan TASK", "red")

    def diff(self, rest: str) -> None:
        past = self.past
        files = past.applied[-1].files if past.applied else past.proposed
        for file in files:
            print_diff(self.voice.console, file.diff)
        if not files:
            self.say("Nothing was changed yet.")

    def undo(self, rest: str) -> None:
        undone = asyncio.run(self.project.undo(rest))
        self.say(f"Took {undone.undoes} back. To have it again: /undo {short_id(undone.change_id)}", "green")

    def panel(self, rest: str) -> None:
        if not rest:
            self.say("Confer about what? /panel WORDS", "red")
            return
        from kith.faces.confer import panel_in_conversation

        with suppress(SystemExit):  # stopped by a second Ctrl-C
            self.advice = panel_in_conversation(self.project, rest)

    def why(self, rest: str) -> None:
        shown = show_why(self.project, rest or self.id)
        self.say(printable("\n\n".join(map(why_text, shown["decisions"]))))

    def todo(self, rest: str) -> None:
        self.say(printable(todo_text(self.past.todo)) or "The list is empty.")

    def clear(self, rest: str) -> None:
        self.id = new_id()
        self.say("A new conversation.")

    def save(self, rest: str) -> None:
        self.say(f"Saved as it happens, as {self.id}. Back to it later: /load {self.id}")

    def load(self, rest: str) -> None:
        if rest:
            id = self.project.log.find(rest)
            if id not in {session.id for session in self.project.sessions()}:
                raise UsageError(f"{id} is a conversation of another folder.")
            self.id = id
            started = self.past.started
            self.say(f"Back in {self.id}: {printable(started.task if started else '')}")
            return
        for session in self.project.sessions()[:10]:
            first = session.task.split("\n")[0]
            self.say(f"  {session.id}  {session.status:11} {printable(first)[:50]}")

    def delete(self, rest: str) -> None:
        id = self.project.log.find(rest)
        if asyncio.run(press(f"Forget {id} for good? [y]es  [n]o: ", "yn")) == "y":
            self.project.log.delete(id)
            self.say(f"{id} is gone.")
            if id == self.id:
                self.clear("")

    def config(self, rest: str) -> None:
        for key, value, origin in describe_settings(self.project.settings):
            row = f"  {key:22} {printable(value):24} {from_home(origin)}"
            self.say(wrapped(row, self.voice.console.file, indent=" " * 25))


def talk_command(args: argparse.Namespace) -> int:
    """A conversation in a folder. Raises UsageError where there is no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError('A conversation needs a terminal; for one task: kith run "TASK".')
    return converse_with_person(find_root(args.folder), settings_flags(args))


def converse_with_person(root: Path, flags: dict[str, Any]) -> int:
    """The read-answer loop; returns 0 when the person leaves."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory

    conversation = Conversation(Project.open(root, flags))
    if conversation.project.settings.brought.standing in ("new", "changed"):
        from kith.faces.trust import ask_at_start

        if ask_at_start(conversation.voice.console, root):
            conversation.project = Project.open(root, flags)
    history = conversation.project.settings.state / "history"
    prompt = PromptSession[str](history=FileHistory(str(history)), multiline=False, key_bindings=_newlines())
    conversation.say(f"kith in {root}\n/help for commands, Ctrl-D to leave", "dim")
    Thread(target=_warm, args=(conversation.project,), daemon=True).start()
    with quiet_keys():
        while True:
            try:
                words = prompt.prompt("> ").strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return 0
            if words.removeprefix("/").split()[:1] in (["exit"], ["quit"]):
                return 0
            if words:
                _answer(conversation, words)


def _reading_text(reading: Reading) -> str:
    """`It reads the conversation anew: about 4,200 tokens, 9 s, $0.013.`"""
    words = [f"about {reading.tokens:,} tokens"]
    words += [f"{reading.seconds:.0f} s"] if reading.seconds and reading.seconds >= 1 else []
    words += [dollars(reading.usd)] if reading.usd else []
    less = "" if reading.fits else " That is more than its window: older results are left out."
    return f"It reads the conversation anew: {', '.join(words)}.{less}"


def _warm(project: Project) -> None:
    """Get the model ready meanwhile; what goes wrong is said when the model is asked."""
    with suppress(KithError, OSError):
        asyncio.run(warm_up(project))


def _answer(conversation: Conversation, words: str) -> None:
    """A command, with or without its slash, or a task; a person's mistake costs one sentence."""
    name, _, rest = words.removeprefix("/").partition(" ")
    bare = not words.startswith("/") and (rest or name not in WORDS)
    try:
        if bare:
            conversation.do(words)
        elif name in WORDS:
            command: Callable[[str], None] = getattr(conversation, name)
            command(rest.strip())
        else:
            import difflib

            close = difflib.get_close_matches(name, WORDS, 1)
            hint = f"did you mean /{close[0]}?" if close else "/help lists what there is."
            conversation.say(f"There is no /{name}; {hint}", "red")
    except (KeyboardInterrupt, asyncio.CancelledError):
        conversation.voice.close()
        conversation.say("Interrupted.", "red")
    except KithError as error:
        conversation.voice.close()
        conversation.say(printable(str(error)), "red")


def _newlines() -> Any:
    """Alt-Enter and Ctrl-J put a line break into the message; Enter sends it."""
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    @bindings.add("escape", "enter")
    @bindings.add("c-j")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings
