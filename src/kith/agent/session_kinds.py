"""Kinds of sessions besides tasks: how a worker process starts and resumes one."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from kith.agent.project import Project
from kith.core.run import Answerer
from kith.memory.inbox import Letter
from kith.memory.session import Listener
from kith.settings.features import find_part, need_part

Begin = Callable[[Project, Letter, Answerer, Sequence[Listener], str], Awaitable[object]]
Resume = Callable[[Project, str, Answerer, Sequence[Listener]], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class SessionKind:
    """`begin` does what a message asks for in the session of this id; `resume` goes on where its log ends."""

    begin: Begin
    resume: Resume | None = None


def find_kind(name: str) -> SessionKind | None:
    """The kind called so, if a feature that is on has it."""
    found: SessionKind | None = find_part(lambda feature: feature.kinds.get(name))
    return found


def need_kind(name: str) -> SessionKind:
    """The kind that a message asks for. Raises UsageError."""
    found: SessionKind = need_part(lambda feature: feature.kinds.get(name), f"A session of the kind {name!r}")
    return found
