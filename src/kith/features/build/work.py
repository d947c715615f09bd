"""Share the working state of a build's steps, and let a role speak."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.agent.attempt import land_edits
from kith.agent.judges import Judges, find_project_toolchains
from kith.agent.linters import project_linters
from kith.agent.roles import Cast, Player
from kith.agent.task_prompt import open_task
from kith.context.budget import ASSUMED_WINDOW, opening_room
from kith.core.errors import HopelessError, LimitError
from kith.core.events import Event, Notice
from kith.core.evidence import Evidence
from kith.core.loop import begin_turn, converse
from kith.core.run import Run, Thread
from kith.core.values import Change, Changes, say
from kith.core.workspace import ExecLimits, SizeLimits, Trial
from kith.features.build.state import Build
from kith.gates.linters import Linter
from kith.gates.toolchain import Toolchain

# What a person may choose about a build.


class BuildOptions(Struct, frozen=True):
    """The limits and options of one build.

    `coverage`: percent of the lines that the tests must run; None: measured where it costs little, and
    only reported; 0: not measured. `commands`: the project's own gates, by name. `trusted`: the project's
    tests run without a sandbox and without a question. `known`: the notes for a model, given its window
    in tokens.
    """

    max_retries: int = 3  # of a task, after its first try
    max_tasks: int = 12
    max_files: int = 40  # that one task may change
    max_lines: int = 1_500
    coverage: float | None = None
    refine: bool = True
    agree: bool = True  # the person is shown the tasks before anything is written
    commit: bool = False
    step_seconds: float | None = 1_800.0  # of one step in which a model works
    commands: Mapping[str, str] = field(default_factory=dict)
    trusted: bool = False
    suite: ExecLimits = ExecLimits(seconds=900.0)
    sizes: SizeLimits = SizeLimits()
    known: Callable[[int], str] = lambda window: ""


AUTHOR: Final = "build"  # of what the harness says to a role
_COMPILE_NOTHING: Final = frozenset({"pytest", "unittest", "django", "node", "jest"})
_LANDINGS: Final = 3  # tries to write edits in words so that they fit


class Tools(Struct):
    """The project's toolchains, linters and files, once found; None: not yet searched.

    `evidence` is the result of the last run of all tests. `uncovered` are the changed lines that no test
    ran, by file.
    """

    toolchains: tuple[Toolchain, ...] = ()
    linters: tuple[Linter, ...] | None = None
    files: frozenset[str] | None = None
    evidence: Evidence | None = None
    uncovered: Mapping[str, frozenset[int]] = field(default_factory=dict)


class Work(Struct, frozen=True):
    """One build at work: `run` is on the trial, `home` on the person's own tree.

    `build` is how far it has come, by `tell` and by the log of an earlier process. `seen` remembers the
    trial's changes at checkpoints, so that most of them need not be looked up.
    """

    run: Run
    home: Run
    trial: Trial
    cast: Cast
    judges: Judges
    options: BuildOptions
    request: str
    build: Build
    threads: dict[str, Thread] = field(default_factory=dict)
    seen: dict[str, Changes] = field(default_factory=dict)
    tools: Tools = field(default_factory=Tools)

    def tell(self, event: Event) -> None:
        """Tell the log what the build came to, then note it: it knows nothing that the log does not hold."""
        self.run.emit(event)
        self.build.take(event)

    def thread(self, *names: str) -> Thread:
        """The conversation of a role about a task, begun or not."""
        name = "/".join(("build", *names))
        return self.threads.setdefault(name, Thread(name))

    async def toolchains(self) -> tuple[Toolchain, ...]:
        """Find the project's toolchains; () while there are none, which its first tests may change."""
        if not self.tools.toolchains:
            self.tools.toolchains = await find_project_toolchains(self.run)
        return self.tools.toolchains

    async def linters(self) -> tuple[Linter, ...]:
        if self.tools.linters is None:
            self.tools.linters = await project_linters(self.run)
        return self.tools.linters

    async def files(self) -> frozenset[str]:
        """The files of the project, those among them that the build has made so far."""
        if self.tools.files is None:
            self.tools.files = frozenset(await self.home.workspace.files())
        return self.tools.files | {change.path for change in await self.changes()}

    async def changes(self) -> Changes:
        """The trial's changes as the present step found them; to be asked before it writes."""
        return await self.changes_at(self.build.checkpoint)

    async def changes_at(self, checkpoint: str) -> Changes:
        """The trial's changes as they were at a checkpoint; none at all where it is ""."""
        if checkpoint and checkpoint not in self.seen:
            self.seen[checkpoint] = await self.trial.recall(checkpoint)
        return self.seen[checkpoint] if checkpoint else ()


@asynccontextmanager
async def alone(work: Work, changes: Changes) -> AsyncIterator[Work]:
    """Copy these changes alone to a new trial, as the person's tree would be after a yes.

    A model's changes to files that git ignores (caches, environments, build folders) are not part of a
    change, so they must not help it pass.
    """
    async with work.home.workspace.trial() as trial:
        await trial.apply(changes)
        yield replace(work, run=work.run.inside(trial), trial=trial)


@asynccontextmanager
async def beside(work: Work, changes: Changes) -> AsyncIterator[Work]:
    """`alone` where that costs little; what has to be built is built in the one trial, bit by bit."""
    if not all(each.runner.name in _COMPILE_NOTHING for each in await work.toolchains()):
        yield work
        return
    async with alone(work, changes) as fresh:
        yield fresh


async def begin(
    work: Work, player: Player, thread: Thread, words: str, author: str = AUTHOR, *, look: bool = True
) -> None:
    """Say what a role is to do, with a `look` at the project where the conversation begins.

    Nothing is said to a role that was interrupted while it worked: it goes on.
    """
    if work.build.spoken:
        return
    if look and not thread.messages:
        known = work.options.known(player.window)
        words = await open_task(work.run, words, opening_room(player.window or ASSUMED_WINDOW))
        words = f"{known}\n\n{words}" if known else words
    begin_turn(work.run, thread, say(words, author))


async def speak(work: Work, player: Player, thread: Thread, *, writes: bool = True) -> str:
    """Let a role go on until it is done; returns the limit that stopped it, "" for none.

    With `writes`, edits in its reply's text are applied to the trial.
    """
    attempt, before = work.build.attempt, thread.messages
    try:
        async with asyncio.timeout(work.options.step_seconds) as clock:
            await converse(work.run, player.role, thread, attempt)
            landed = work.build.landed and thread.messages == before
            if writes and not landed:
                await _land(work, player, thread, attempt)
    except (LimitError, HopelessError) as limit:
        stopped = str(limit)
    except TimeoutError:
        if not clock.expired():
            raise
        stopped = f"stopped after {work.options.step_seconds:,g} s, the time of a step"
    else:
        return ""
    work.run.emit(Notice(f"The {player.role.name} {stopped}.", "warning"))
    return stopped


async def _land(work: Work, player: Player, thread: Thread, attempt: int) -> None:
    """Apply edits in a reply's text to the trial; what does not fit is sent back to be written again."""
    for _ in range(_LANDINGS):
        if not _spoken_last(thread).strip():
            return
        verdict = await land_edits(work.run, work.trial, thread, attempt)
        if verdict.ok:
            return
        thread.add(work.run, say(verdict.feedback, verdict.by))
        await converse(work.run, player.role, thread, attempt)


def _spoken_last(thread: Thread) -> str:
    """Return the model's last message: empty where it ended its turn with a tool."""
    replies = (m for m in reversed(thread.messages) if m.role == "assistant" and m.author != "kith")
    return next((message.text for message in replies), "")


def between(then: Changes, now: Changes) -> Changes:
    """Compute the changes between two moments of the trial, both relative to the person's tree."""
    old, new = _by_path(then), _by_path(now)
    found = []
    for path in sorted({*old, *new}):
        a = old.get(path) or new[path].inverse
        b = new.get(path) or old[path].inverse
        if (a.after, a.mode) != (b.after, b.mode):
            found.append(Change(path, a.after, b.after, b.mode, a.mode))
    return tuple(found)


def _by_path(changes: Changes) -> Mapping[str, Change]:
    return {change.path: change for change in changes}
