"""Commands that the person runs in a conversation; what they changed is offered as a change."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import Final

from kith.agent.attempt import Outcome, adopt
from kith.agent.judges import Judges
from kith.agent.project import Project
from kith.core.events import Notice, Options, ToolBegan, ToolEnded
from kith.core.evidence import Tries
from kith.core.run import Answerer, Gate, Run, new_id
from kith.core.values import Changes, Verdict
from kith.core.workspace import Command
from kith.gates.human import change_question
from kith.memory.database import COMMAND
from kith.memory.session import Session
from kith.tools.answers import plain_output
from kith.tools.shell import lacks_network
from kith.trees.exec import heard_by

CHOICES: Final = ("all", "none", "some", "edit")  # nobody is there to whom one could say why not
NO_NETWORK: Final = (
    "Commands reach only the hosts that you allow: /config hosts NAME, or a terminal of your own."
)
NOT_COMMITTED: Final = "Commits made there stay in the trial; commit in a terminal of your own."
DROPPED: Final = "This mode changes no files, so kith discarded:"
_NAMED: Final = 5  # files
_SHOWN: Final = 60  # letters of the command, in the question
_TOLD: Final = "bash"


async def run_aside(run: Run, command: str, judges: Judges, *, keep: bool) -> Outcome:
    """Run it in a trial, show its changes, and apply them if the person agrees.

    No check runs: the person who typed the command is responsible for it. Without `keep` its changes are
    thrown away.
    """
    async with run.workspace.trial() as trial:
        id = new_id()
        run.emit(ToolBegan(id, _TOLD, "exec", command))
        began = time.monotonic()
        ran = await trial.exec(Command(command), run.limits.exec)
        ran = replace(ran, command=command, output=plain_output(ran.output))
        changes = await trial.changes()
        took, good = time.monotonic() - began, ran.code == 0 and not ran.timed_out
        run.emit(ToolEnded(id, _TOLD, good, took, f"exit code {ran.code}", ran))
        if lacks_network(ran):
            run.emit(Notice(NO_NETWORK))
        if not changes:
            if await trial.commits():
                run.emit(Notice(NOT_COMMITTED, "warning"))
            return Outcome("done", "")
        if not keep:
            paths = ", ".join(change.path for change in changes[:_NAMED])
            run.emit(Notice(f"{DROPPED} {paths}{' and more' if len(changes) > _NAMED else ''}."))
            return Outcome("rejected", "Nothing was applied.")
        decision = await _ask(run, command, changes, judges)
        if not decision.ok:
            return Outcome("rejected", "Nothing was applied.")
        return await adopt(run, trial, replace(judges, gates=_no_gates), changes, decision, "")


async def _ask(run: Run, command: str, changes: Changes, judges: Judges) -> Verdict:
    shown = shorten(command, _SHOWN, placeholder=" ...")
    question = change_question(f"Keep what `{shown}` changed?", changes, CHOICES, judges.named)
    answer = await run.ask(question)
    if answer.choice == "all":
        return Verdict(True, by="person")
    return Verdict(bool(answer.changes), by="person", changes=answer.changes)


async def _no_gates(claimed: Sequence[str] = (), tries: Tries = "none") -> Sequence[Gate]:
    return ()


# Commands that the person runs in the middle of a conversation.

_SEEN: Final = 4_000  # bytes
EMPTY: Final = "Run what? !COMMAND"


async def run_command(
    project: Project,
    session: Session,
    command: str,
    answerer: Answerer,
    *,
    quiet: bool = False,
    hear: Callable[[str], None] = lambda lines: None,
) -> int:
    """Run a command in a trial of the tree, and offer what it changed; an exit code.

    The model is told of it with the next task, unless it is `quiet`; the session goes on as it was. `hear` is
    told the last lines that it has printed, whenever there are more.
    """
    run = project.begin(session, answerer)
    run.emit(project.started(command, Options(COMMAND, quiet=quiet)))
    keep = not project.settings.read_only
    with heard_by(_Tail(hear)):
        return await project.to_the_end(session, run, run_aside(run, command, project.judges(run), keep=keep))


class _Tail:
    """The end of what a command prints, as text."""

    def __init__(self, hear: Callable[[str], None]) -> None:
        self._hear, self._kept = hear, b""

    def __call__(self, output: bytes) -> None:
        self._kept = (self._kept + output)[-_SEEN:]
        self._hear(plain_output(self._kept.decode("utf-8", "replace")))
