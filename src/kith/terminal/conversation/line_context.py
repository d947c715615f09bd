"""Collect what the line can complete: the project's files, arguments of commands, earlier lines."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import Thread
from time import monotonic
from typing import Final

from kith.agent.asking.roles import role_names
from kith.agent.knowledge import gather
from kith.agent.known_secrets import make_redactor
from kith.agent.mentions import list_paths
from kith.agent.models import list_names
from kith.agent.project import Project
from kith.agent.templates import list_templates
from kith.core.errors import KithError
from kith.core.event_loop import run_loop
from kith.memory.input_history import TypedLines
from kith.settings import describe_settings
from kith.settings.features import features
from kith.settings.values import ROUTE
from kith.terminal.conversation.completion import LineContext, Listing, Offer, ProjectFiles
from kith.terminal.conversation.modes import MEANINGS
from kith.terminal.conversation.slash_commands import slash_commands

_FRESH_S: Final = 20.0
_SESSIONS: Final = 50
_GIT: Final = ("status", "log", "diff", "show", "blame", "branch")


def make_line_context(
    get: Callable[[], Project], session: Callable[[], str], changed: Callable[[], None]
) -> LineContext:
    """Make the context of a line; `changed` is called, in some thread, when there may be more to suggest.

    `get` gives the project as it is set now, `session` the conversation's id.
    """
    project = get()
    kept = TypedLines(project.settings.state, project.root)
    redactor = make_redactor(project.root, project.settings)

    def keeps(words: str) -> bool:
        return redactor.clean(words)[1] == 0

    files = ProjectFiles(lambda: _list(get()), changed)
    return LineContext(files, Offers(get, changed).of, kept, kept.lines(), keeps, session)


def _list(project: Project) -> Listing:
    try:
        return run_loop(list_paths(project))
    except (KithError, OSError):  # a folder that is gone has no files
        return (), ()


class Offers:
    """The words that may follow commands, by their kind: looked for beside the keys, and known for a while.

    `changed` is called in the thread that looked.
    """

    def __init__(self, get: Callable[[], Project], changed: Callable[[], None]) -> None:
        self._get, self._changed = get, changed
        self._known: dict[str, tuple[float, Sequence[Offer]]] = {}
        self._looking: set[str] = set()

    def of(self, kind: str) -> Sequence[Offer]:
        """The offers of a kind that are known so far."""
        if kind == "mode":
            return MODES_OFFERED
        at, offers = self._known.get(kind, (0.0, ()))
        if kind in _FINDERS and kind not in self._looking and (not at or monotonic() - at > _FRESH_S):
            self._looking.add(kind)
            Thread(target=self._look, args=(kind,), daemon=True, name="kith-offers").start()
        return offers

    def _look(self, kind: str) -> None:
        found: Sequence[Offer] = ()
        with suppress(KithError, OSError):  # what is wrong is said when the command is carried out
            found = tuple(_FINDERS[kind](self._get()))
        known = self._known.get(kind, (0.0, ()))[1]
        self._known[kind] = monotonic(), found
        self._looking.discard(kind)
        if found != known:
            self._changed()


def _commands(project: Project) -> Iterable[Offer]:
    return ((name, command.meaning) for name, command in slash_commands().items())


def _models(project: Project) -> Iterable[Offer]:
    found = [(name, "") for name in run_loop(list_names(project.settings))]
    routed = any(each.router for each in features())
    return [*found, (ROUTE, "kith chooses for each task")] if routed else found


def _sessions(project: Project) -> Iterable[Offer]:
    talks = (each for each in project.sessions() if each.talks)
    return [(each.id, each.title) for each, _ in zip(talks, range(_SESSIONS), strict=False)]


def _settings(project: Project) -> Iterable[Offer]:
    return [(key, value) for key, value, _ in describe_settings(project.settings)]


def _roles(project: Project) -> Iterable[Offer]:
    return [(name, "") for name in role_names()]


def _skills(project: Project) -> Iterable[Offer]:
    return [(each.name, each.about) for each in gather(project.settings).skills]


def _templates(project: Project) -> Iterable[Offer]:
    return [(each.name, each.about) for each in list_templates(project.root)]


def _git(project: Project) -> Iterable[Offer]:
    return [(name, "") for name in _GIT]


MODES_OFFERED: Final[tuple[Offer, ...]] = tuple(MEANINGS.items())
_FINDERS: Final[dict[str, Callable[[Project], Iterable[Offer]]]] = {
    "command": _commands,
    "model": _models,
    "session": _sessions,
    "setting": _settings,
    "role": _roles,
    "skill": _skills,
    "template": _templates,
    "git": _git,
}
