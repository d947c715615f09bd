"""A feature as one value: what it adds to kith, named here and loaded when it is needed."""

import gc
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct, field

T = TypeVar("T", covariant=True)

# Where `/help` lists a command of a conversation.
Group = Literal["Work", "The change", "This conversation", "Conversations", "Models", "kith"]
# Where `kith --help` lists a command, from top to bottom.
CommandGroup = Literal[
    "Every day", "Change code", "Look back", "Models", "Measure", "Serve", "Configure", "More"
]
# What a command's first word is, for those who complete it.
Takes = Literal[
    "", "command", "model", "mode", "session", "setting", "role", "skill", "template", "file", "git"
]


class Lazy(Struct, Generic[T], frozen=True):
    """Something that a module defines, imported when it is first needed: `kith.features.scan.command:run`."""

    place: str

    def load(self) -> T:
        """Import the module. Raises ImportError, AttributeError."""
        module, _, name = self.place.partition(":")
        found: T = getattr(import_module(module), name)
        return found


def lazy_in(package: str) -> Callable[[str], Lazy[Any]]:
    """For what a package defines: `here = lazy_in(__name__)`, then `here("command:run")`."""
    return lambda place: Lazy(f"{package}.{place}")


class Command(Struct, frozen=True):
    """A command of the command line: `kith NAME`, whose name may have two words.

    `arguments` adds its options to an `argparse.ArgumentParser`. `run` takes the parsed namespace and returns
    an exit code. Without both, only its subcommands (`NAME WORD`) do anything. `words` are its positional
    arguments, as its usage shows them.
    """

    name: str
    meaning: str
    arguments: Lazy[Callable[[Any], None]] | None = None
    run: Lazy[Callable[[Any], int]] | None = None
    words: str = ""
    group: CommandGroup = "More"


class SlashCommand(Struct, frozen=True):
    """A command of a conversation: what follows it (`rest`), what it is for, and `more` of that.

    `run` is given the conversation and the rest of the line. `bare`: the slash is optional where nothing else
    is on the line. `anytime`: it only looks, and waits for no work. `same_as`: another name for that command.
    `key`: the function key that sends it (`f2`).
    """

    name: str
    group: Group
    meaning: str
    run: Lazy[Callable[[Any, str], Awaitable[None]]]
    rest: str = ""
    bare: bool = False
    bare_words: int = 0
    anytime: bool = False
    takes: Takes = ""
    same_as: str = ""
    more: str = ""
    key: str = ""


class Feature(Struct, frozen=True):
    """One feature: `needs` are the features without which it is off; the rest is what it adds.

    The kernel defines the type of each part where it asks for it; core knows only how to load one. `extends`:
    what it adds to other features, by their names, each of a type that the other one defines.
    """

    name: str
    meaning: str
    needs: tuple[str, ...] = ()
    extends: Mapping[str, Lazy[Any]] = field(default_factory=dict)
    # Tools that the worker is offered: core.model.Tool, or agent.asking.task_worker.OfferTools.
    tools: tuple[Lazy[Any], ...] = ()
    # Gates that every change passes before the checks: a function of a Run that gives a core.run.Gate.
    gates: tuple[Lazy[Any], ...] = ()
    # Events of its own: frozen structs, under whose names the log keeps them.
    events: tuple[Lazy[type], ...] = ()
    # Its own settings, `[NAME]` in the configuration: a frozen struct whose fields all have defaults.
    settings: Lazy[type] | None = None
    commands: tuple[Command, ...] = ()
    slash_commands: tuple[SlashCommand, ...] = ()
    # Chooses the models of a task that names none: agent.asking.routes.Router.
    router: Lazy[Any] | None = None
    # Finds how one model is asked for one kind of work: agent.asking.task_worker.Adapt.
    adapt: Lazy[Any] | None = None
    # Hears that a task asked in such a way is over: agent.asking.task_worker.Settle.
    settle: Lazy[Any] | None = None
    # Adds options to `kith run`: a function of an `argparse.ArgumentParser`.
    task_options: Lazy[Any] | None = None
    # Adds options to every command that does tasks: a function of a group of options. With
    # `dest="TABLE.KEY"` an option overrides that setting.
    work_options: Lazy[Any] | None = None
    # Finds by these options another way to do the task: a function of the namespace that gives an
    # agent.tasks.DoTask, or None.
    way: Lazy[Any] | None = None
    # Tells how long a task will take: agent.forecasts.Foretell.
    foretell: Lazy[Any] | None = None
    # Tells how long a model's calls will take: models.forecasts.Foresee.
    foresee: Lazy[Any] | None = None
    # Lets several models play one role: agent.asking.cast.Panels, made from the session's Terms.
    panels: Lazy[Any] | None = None
    # Tells what stands out in a change beside its diff: agent.attempt.TellNotes.
    notes: Lazy[Any] | None = None
    # Kinds of sessions besides tasks that a worker process does: agent.worker.SessionKind.
    kinds: Mapping[str, Lazy[Any]] = field(default_factory=dict)
    # Opens the models that are called PREFIX/..., by prefix: models.sources.Source, made from the Settings.
    models: Mapping[str, Lazy[Any]] = field(default_factory=dict)
    # Protocols of servers in the cloud, by the kind of the server: models.discovery.servers.CloudProtocol.
    protocols: Mapping[str, Lazy[Any]] = field(default_factory=dict)
    # Makes one model of several servers: models.discovery.servers.MakePool.
    pool: Lazy[Any] | None = None
    # Connects to servers of tools for models: agent.outside_tools.OpenTools.
    outside_tools: Lazy[Any] | None = None
    # Tells how its long work stands, for `kith status`: terminal.status.Underway.
    status: Lazy[Any] | None = None
    # Words for the status line of a conversation at work: terminal.conversation.talk.StatusWords.
    status_line: Lazy[Any] | None = None
    # Shows its own events as lines on the terminal: terminal.rendering.activity.TellLines.
    lines: Lazy[Any] | None = None
    # Runs the commands of `[[hooks]]`: agent.hooks.MakeHooks.
    hooks: Lazy[Any] | None = None
    # Finds linters and type checkers of a project: gates.linters.LinterFinder.
    linters: Lazy[Any] | None = None
    # Finds the tests of projects of one kind: gates.toolchain.Ecosystem.
    ecosystems: tuple[Lazy[Any], ...] = ()
    # Does a task without a model, where it can: agent.tasks.Shortcut.
    shortcut: Lazy[Any] | None = None
    # Edits that need no model, by name: agent.ready_edits.MoreEdits.
    edits: Lazy[Any] | None = None
    # Hears all events of a session: agent.project.MakeListener.
    listener: Lazy[Any] | None = None
    # Drops what it keeps of a session that is forgotten: agent.conversations.Forget.
    forget: Lazy[Any] | None = None


@contextmanager
def quick_loading() -> Iterator[None]:
    """Load modules within: no garbage is looked for, and later none is looked for among what they made."""
    collects, known = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > known:
            gc.freeze()
        if collects:
            gc.enable()
