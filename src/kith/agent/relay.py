"""One model after another on the same task: why one gave up, and what the next one is told."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from kith.context.budget import estimate_tokens, fit_middle
from kith.core.errors import HopelessError, KithError, LimitError, ModelError, NoModelError, TreeError
from kith.core.events import Judged, Notice
from kith.core.model import Role
from kith.core.run import Run, Thread
from kith.core.values import Changes, Message, Verdict
from kith.core.workspace import Trial
from kith.edits import summarise

# What ends one model's part of a task, and another one may do better at.
GIVING_UP: Final = (HopelessError, LimitError, ModelError, NoModelError)
_PACKET: Final = 1_500  # tokens, about; a goal that is longer stays whole
_EVIDENCE: Final = 600  # tokens that diff and letter have together at the least
_CHARS: Final = 3  # of code, for one token


class Leg(Struct, frozen=True):
    """One model's part of a task: who works, in which conversation, and the goal in the person's words.

    `last`: there is nobody who could take over from it. `known`: what is known beforehand, for a model that
    begins a conversation of its own.
    """

    role: Role
    thread: Thread
    goal: str
    last: bool = True
    known: str = ""


class GivenUp(Struct, frozen=True):
    """A model that no longer works on a task, and why; `error` is the one that stopped it, if any."""

    by: str
    why: str
    error: KithError | None = None


# Who takes over; None when there is nobody (else).
Relief = Callable[[GivenUp], Awaitable[Leg | None]]


async def nobody(given_up: GivenUp) -> Leg | None:
    """The relief of a task that has one model only."""
    return None


class Abandoned(Struct, frozen=True):
    """The change that was given up: its last refusal, and the checks of the untouched tree."""

    refusal: Verdict | None = None
    before: tuple[Judged, ...] = ()

    @property
    def keeps(self) -> bool:
        """True if the change is worth keeping: fewer tests fail with it, and none were lost."""
        was = self._figures_before
        now = self.refusal.figures if self.refusal else {}
        if "failed" not in now or "failed" not in was:
            return False
        return now["failed"] < was["failed"] and now["tests"] >= was["tests"]

    @property
    def in_words(self) -> str:
        """Explain why to keep the change, or why not."""
        now, was = self.refusal.figures if self.refusal else {}, self._figures_before
        if "failed" in now and "failed" in was:
            return f"{now['failed']:g} of {now['tests']:g} tests fail with it, {was['failed']:g} without"
        return f"{self.refusal.by} rejects it" if self.refusal else "there is no evidence for it"

    @property
    def _figures_before(self) -> Mapping[str, float]:
        gate = self.refusal.by if self.refusal else ""
        return next((judged.figures for judged in self.before if judged.gate == gate), {})


async def hand_over(run: Run, trial: Trial, leg: Leg, given_up: GivenUp, abandoned: Abandoned) -> str:
    """Keep the change or roll it back, say which, and return the first message to the model that takes over.

    It may be done again after a crash: the change as it was left is remembered under the thread's name.
    """
    changes, kept = await _as_left(trial, f"before {leg.thread.name}"), abandoned.keeps
    if changes and not kept:
        await trial.go_back("")
    if changes:
        how = "kept" if kept else "rolled back"
        run.emit(Notice(f"The change of {given_up.by} was {how}: {abandoned.in_words}."))
    packet = write_packet(leg.goal, given_up.why, changes, kept, abandoned.refusal)
    return f"{leg.known}\n\n{packet}" if leg.known else packet


async def _as_left(trial: Trial, name: str) -> Changes:
    try:
        return await trial.recall(name)
    except TreeError:  # it is the first time
        return await trial.checkpoint(name)


def write_packet(goal: str, why: str, changes: Changes, kept: bool, refusal: Verdict | None) -> str:
    """The goal, whole; then in what room is left why another model gave up, its change and the last no."""
    room = max(_EVIDENCE, _PACKET - estimate_tokens(goal)) * _CHARS
    parts = [f"# Task\n{goal}", f"# So far\nAnother model did not finish this: {why.rstrip('.')}."]
    if changes:
        where = "Its change is in the files" if kept else "Its change was taken back; it had been"
        diff = "".join(file.diff for file in summarise(changes)).rstrip()
        parts.append(f"{where}:\n```diff\n{fit_middle(diff, room * 3 // 5)}\n```")
    if refusal and refusal.feedback.strip():
        parts.append(f"{refusal.by} said:\n{fit_middle(refusal.feedback.strip(), room * 2 // 5)}")
    return "\n\n".join([*parts, "Look at the files before you rely on any of this."])


def goal_of(task: str, messages: Sequence[Message]) -> str:
    """The task, and what the person said to it since, where a conversation holds that."""
    spoken = [message.text for message in messages if message.role == "user" and message.author == "person"]
    begins = max((n for n, text in enumerate(spoken) if task in text), default=len(spoken))
    return "\n\n".join([task, *spoken[begins + 1 :]])
