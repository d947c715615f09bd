"""`kith watch`: AI comments are tasks, one after the other, until Ctrl-C."""

import argparse
import asyncio
import hashlib
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from msgspec.structs import replace

from kith.agent.project import Project
from kith.agent.tasks import Task, run_task
from kith.core.errors import EXIT_DONE, BusyError, TreeError
from kith.core.event_loop import leave, run_until_signal
from kith.core.locks import hold_now, let_go
from kith.core.run import Gate, Run, new_id, short_session
from kith.core.values import Changes, Verdict
from kith.features.watch.comments import AiComment, find_comments, question_words, task_words
from kith.features.watch.saved import Look, SavedComments
from kith.terminal.one_task import UNFINISHED
from kith.terminal.options import find_root, settings_flags
from kith.terminal.report import print_text, print_waiting
from kith.terminal.terminal import choose_voice
from kith.view.lines import count, wrapped
from kith.view.printing import printable

PAUSE_S: Final = 0.5  # between two looks
_SHARE: Final = 20  # a look of 100 ms is followed by a pause of 2 s
_LOCKED_S: Final = 10.0  # that git's lock, or a fault, may last before a person hears of it
_SHOWN: Final = 5  # places in one line
AUTHOR: Final = "watch"
Words = Callable[[Iterable[AiComment]], str]


class Watch:
    """Tasks from the comments of one project: found beside the work, done one at a time."""

    def __init__(
        self, project: Project, yes: bool = False, beside: bool = False, pause_s: float = PAUSE_S
    ) -> None:
        self._project, self._yes, self._beside, self._pause_s = project, yes, beside, pause_s
        self._saved = SavedComments(project.tree)
        self._pending: dict[tuple[str, str], AiComment] = {}
        self._ready = asyncio.Event()
        self._busy = False  # a task is under way, and the terminal is its own

    async def follow(self) -> None:
        """Look for comments and do what they ask, until cancelled."""
        files = await self._saved.begin()
        _tell(
            f"Watching {count(files, 'file')} in {self._project.root}. Save a comment that ends in AI! "
            "(a task) or AI? (a question). Ctrl-C ends this."
        )
        looking = asyncio.ensure_future(self._look_for_ever())
        try:
            while True:
                waiting = asyncio.ensure_future(self._ready.wait())
                await asyncio.wait((looking, waiting), return_when=asyncio.FIRST_COMPLETED)
                if looking.done():
                    waiting.cancel()
                    looking.result()  # raises what ended it
                self._busy = True
                await self._do_pending()
                self._busy = False
        finally:
            await leave(looking)

    async def _look_for_ever(self) -> None:
        well, free, told = time.monotonic(), time.monotonic(), False
        while True:
            began = time.monotonic()
            try:
                look = await self._saved.look()
                well = began
            except TreeError:  # files come and go
                if began - well > _LOCKED_S:
                    raise
                look = Look(quiet=False)
            self._take(look)
            free, told = (free, told) if look.git_busy else (began, False)
            if began - free > _LOCKED_S and not told:
                told = True
                self._tell_if_idle("Waiting for git: .git/index.lock is there.")
            await asyncio.sleep(max(self._pause_s, _SHARE * (time.monotonic() - began)))

    def _take(self, look: Look) -> None:
        """Collect new comments; they are ready when one asks for something and nothing else was saved."""
        self._pending |= {each.key: each for each in look.new}
        if look.from_git:
            places = ", ".join(f"{each.path}:{each.line}" for each in look.from_git[:_SHOWN])
            more = f" and {len(look.from_git) - _SHOWN} more" if len(look.from_git) > _SHOWN else ""
            words = f"Ignored, since git has these comments: {places}{more}. Change one to have it done."
            self._tell_if_idle(words)
        for each in look.new:
            if each.kind == "note":
                self._tell_if_idle(
                    f"{each.path}:{each.line}: noted, until a comment with AI! or AI? follows."
                )
        if look.quiet and any(each.kind != "note" for each in self._pending.values()):
            self._ready.set()

    def _tell_if_idle(self, words: str) -> None:
        if not self._busy:
            _tell(words)

    async def _do_pending(self) -> None:
        """Do what was collected, as far as it is still in the files: the questions first, then the task."""
        self._ready.clear()
        collected, self._pending = self._pending, {}
        there = await self._saved.still_there(collected.values())
        notes = [each for each in there if each.kind == "note"]
        asked = [each for each in there if each.kind == "ask"]
        tasks = [each for each in there if each.kind == "do"]
        if not (asked or tasks):
            self._pending = {each.key: each for each in notes} | self._pending
            return
        if asked and not self._beside:
            await self._run([*notes, *asked], question_words, reads=True)
            asked = []
        if tasks or asked:
            await self._run([*notes, *asked, *tasks], task_words)

    async def _run(self, comments: Sequence[AiComment], words: Words, reads: bool = False) -> None:
        for each in comments:
            _tell(f"{each.path}:{each.line}: {each.text}")
        project = self._project
        if reads:
            project = replace(project, settings=replace(project.settings, read_only=True))
        gates = () if reads else (removed_gate(comments),)
        voice, answerer, asked = choose_voice(words=True, yes=self._yes)
        id, task = new_id(), Task(words(comments), gates=gates)
        try:
            result = await run_task(project, task, answerer, [voice.hear], id)
        except asyncio.CancelledError:
            voice.close()
            print_waiting(project.report(id))
            raise
        finally:
            voice.close()
        again = f"kith run --resume {short_session(id)}" if result.report["status"] in UNFINISHED else ""
        print_text(result.report, asked=asked, again=again)
        _tell("Watching.")


def removed_gate(comments: Sequence[AiComment]) -> Gate:
    """A change has to remove the comments that asked for it: the model hears which ones are left."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        paths = {each.path for each in comments}
        left = [text for path in paths async for text in _left(run, path, comments)]
        if not left:
            return Verdict(True, by=AUTHOR)
        words = "\n".join(f"- {each}" for each in sorted(left))
        return Verdict(False, f"These comments are still there; remove each whole one:\n{words}", AUTHOR)

    return judge


async def _left(run: Run, path: str, comments: Sequence[AiComment]) -> AsyncIterator[str]:
    """The comments that are left in a file of the trial."""
    try:
        content = await run.workspace.read(path)
    except TreeError:  # it was deleted, or has another name now
        return
    asked = {each.meaning for each in comments if each.path == path}
    for found in find_comments(path, content):
        if found.meaning in asked:
            yield f"{path}:{found.line}: {found.text}"


def watch_command(args: argparse.Namespace) -> int:
    """Watch until Ctrl-C; a second watch of the same project is refused."""
    project = Project.open(find_root(args.folder), settings_flags(args))
    project.check_writable()
    with _alone(project):
        run_until_signal(Watch(project, args.yes, args.beside).follow())
    return EXIT_DONE


@contextmanager
def _alone(project: Project) -> Iterator[None]:
    """Hold the project's watch. Raises BusyError where another process has it."""
    name = hashlib.sha256(os.fsencode(project.root)).hexdigest()[:16]
    lock = hold_now(project.settings.state / f"watch-{name}.lock")
    if lock is None:
        raise BusyError(f"Another kith watch has {project.root} already; end that one first.")
    try:
        yield
    finally:
        let_go(lock)


def _tell(words: str) -> None:
    print(wrapped(printable(words), sys.stderr), file=sys.stderr, flush=True)
