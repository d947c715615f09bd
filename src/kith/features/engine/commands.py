"""`kith engine` and `kith models pull`: what runs, and one more model onto this machine."""

import argparse
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

from msgspec import Struct, field

from kith.agent.models import places_of
from kith.core.errors import EXIT_DONE, NoModelError, UsageError
from kith.core.event_loop import run_until_signal
from kith.core.events import Event, Notice, Progress
from kith.core.model import Emit
from kith.core.numbers import size_text
from kith.features.engine.model_files import engine_of
from kith.features.engine.pull import pull_model as pull
from kith.features.engine.running import running_engines, stop_engines
from kith.features.engine.stored import pick_stored
from kith.features.engine.tune import tune
from kith.features.engine.tuning import Tuning, engine_version, keep_tuning, load_tunings
from kith.features.engine.tuning_view import describe_tuning
from kith.models.discovery.machine import machine_name
from kith.settings import Settings, load_settings
from kith.terminal.options import find_root, settings_flags
from kith.terminal.streams import is_lively
from kith.terminal.terminal import PlainVoice, TerminalVoice
from kith.view.lines import count, wrapped
from kith.view.printing import printable
from kith.view.wording import STYLES, note_line

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


def engine_command(args: argparse.Namespace) -> int:
    """kith's own engines: what runs, an end to it, or the fastest way to run a model."""
    if args.action == "tune":
        return _tune_command(args)
    if args.model:
        raise UsageError(f"`kith engine {args.action}` takes no model; `kith engine tune` does.")
    settings = load_settings(find_root(args.folder), {})
    running = running_engines(settings.state)
    if not running:
        print("No engine of kith's runs.", file=sys.stderr)
    elif args.action == "stop":
        print(f"Stopped {count(stop_engines(settings.state), 'engine')}.")
    else:
        for engine in running:
            use = "in use" if engine.used else "idle"
            memory = size_text(engine.memory) if engine.memory else ""
            how = f"{engine.state}, {use}  window {engine.window:,}  {memory}".rstrip()
            print(f"file/{printable(engine.name)}  {how}")
            flags = textwrap.wrap(printable(" ".join(engine.flags)), 76, break_on_hyphens=False)
            print(textwrap.indent("\n".join(flags), "    "))
    if args.action == "status":
        _show_tunings(settings)
    return EXIT_DONE


def _show_tunings(settings: Settings) -> None:
    """Show the measurements of this machine, and the choices."""
    try:
        engine = engine_version(engine_of(settings).engine())
    except NoModelError:
        engine = ""
    for each in load_tunings(settings.state):
        if each.machine == machine_name():
            print()
            print("\n".join(describe_tuning(each, engine)))


def _tune_command(args: argparse.Namespace) -> int:
    """Measure ways to run a model, keep the result, and show it."""
    settings = load_settings(find_root(args.folder), settings_flags(args))
    voice = TerminalVoice() if is_lively(sys.stderr) else PlainVoice()
    with closing(voice):
        work = tune_model(settings, args.model, args.rounds, lambda event: voice.hear(event, ()))
        tuning = run_until_signal(work)
    print("\n".join(describe_tuning(tuning)))
    return EXIT_DONE


async def tune_model(chosen: Settings, name: str, rounds: int, emit: Emit) -> Tuning:
    """Measure a model file and keep what was found. Raises KithError."""
    own = engine_of(chosen)
    named = (name or chosen.model).removeprefix("file/") or await own.best()
    if not named:
        raise NoModelError(
            await own.excuse() or "There is no model file here. To get one: kith models recommend"
        )
    tuning = await tune(own, pick_stored(named, await own.stored()), emit, rounds)
    keep_tuning(chosen.state, tuning)
    return tuning


GO_ON = "Run the same command to resume."
STEP_S = 10.0  # seconds between two lines where there is no bar
Hear = Callable[[Event], None]


def pull_command(args: argparse.Namespace) -> int:
    """Get a model. Its path, or its name in Ollama, goes to stdout; all else to stderr."""
    settings = load_settings(find_root(args.folder), {"offline": args.offline})
    return follow(lambda hear: pull_model(settings, args.name, args.force, hear), sys.stderr)


async def pull_model(chosen: Settings, name: str, force: bool, emit: Emit) -> Path | str:
    """Download a model, and say what to call it. Raises KithError."""
    got = await pull(places_of(chosen), name, force, emit)
    if isinstance(got, Path):
        stored = await engine_of(chosen).stored()
        known = next((f"file/{each.name}" for each in stored if each.path == got), "")
    else:
        known = got
    if known:
        emit(Notice(f"To ask it: kith -m {known}"))
    return got


def follow(work: Callable[[Hear], Awaitable[Path | str]], stream: IO[str]) -> int:
    """Show how a download goes on `stream`, and print what it returns; an interruption says how to go on."""
    shown: PullDisplay = Bar(stream) if is_lively(stream) else Lines(stream)

    async def done() -> Path | str:
        return await work(shown.hear)

    try:
        got = run_until_signal(done())
    except (KeyboardInterrupt, SystemExit):
        shown.close()
        print(GO_ON, file=stream)
        raise
    finally:
        shown.close()  # before anything is printed: a live bar catches it
    print(got)
    return 0


class PullDisplay(Protocol):
    """A display of the download for a person."""

    def hear(self, event: Event) -> None: ...

    def close(self) -> None: ...


class Lines(Struct):
    """Plain lines: notices, and now and then how far it is."""

    stream: IO[str]
    clock: Callable[[], float] = time.monotonic
    _first: tuple[float, int] | None = None  # when this began, and how much was there
    _next: float = 0.0

    def hear(self, event: Event) -> None:
        if isinstance(event, Notice):
            print(printable(note_line(event)[1]), file=self.stream, flush=True)
        elif isinstance(event, Progress) and event.what == "downloading":
            now = self.clock()
            if self._first is None:
                self._first, self._next = (now, event.done), now + STEP_S
            if now >= self._next or (event.done == event.total and event.done > self._first[1]):
                began, had = self._first
                print(progress_line(event, had, now - began), file=self.stream, flush=True)
                self._next = now + STEP_S

    def close(self) -> None:
        """Nothing is held open."""


def progress_line(event: Progress, had: int, seconds: float) -> str:
    """`downloading 45% of 5.0 GB, 41.2 MB/s, 1:07 left`: `had` bytes were there when it began."""
    words = f"downloading {size_text(event.done)}"
    if event.total:
        words = f"downloading {100 * event.done // event.total}% of {size_text(event.total)}"
    speed = (event.done - had) / seconds if seconds > 0 else 0.0
    if speed <= 0:
        return f"  {words}"
    left = f", {duration((event.total - event.done) / speed)} left" if event.total > event.done else ""
    return f"  {words}, {speed / 1e6:.1f} MB/s{left}"


def duration(seconds: float) -> str:
    """`0:07`, `12:30`, `1:02:03`."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


class Bar(Struct):
    """A bar with speed and the time that is left; notices stay above it."""

    stream: IO[str]
    _drawn: "RichProgress | None" = None
    _tasks: "dict[str, TaskID]" = field(default_factory=dict)

    def hear(self, event: Event) -> None:
        bar = self._open()
        if isinstance(event, Notice):
            style, line = note_line(event)
            words = printable(wrapped(line, self.stream, indent="    "))
            bar.console.print(words, style=STYLES[style], markup=False)
        elif isinstance(event, Progress):
            self._show(bar, event)

    def close(self) -> None:
        if self._drawn is not None:
            self._drawn.stop()
            self._drawn = None

    def _show(self, bar: "RichProgress", event: Progress) -> None:
        """One line for what goes on now; its speed counts from what was there when it began."""
        total = event.total or None
        if event.what not in self._tasks:
            for other in self._tasks.values():
                bar.remove_task(other)
            self._tasks = {event.what: bar.add_task(event.what, total=total, completed=event.done)}
        else:
            bar.update(self._tasks[event.what], total=total, completed=event.done)

    def _open(self) -> "RichProgress":
        from rich import progress
        from rich.console import Console

        if self._drawn is None:
            self._drawn = progress.Progress(
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(),
                progress.DownloadColumn(),
                progress.TransferSpeedColumn(),
                progress.TimeRemainingColumn(),
                console=Console(file=self.stream, highlight=False),
                transient=True,
            )
            self._drawn.start()
        return self._drawn
