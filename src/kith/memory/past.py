"""Fold a session's log: enough to resume it, and the receipt of what was really done."""

from collections.abc import Iterable
from copy import copy
from functools import reduce
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.decisions import Routed
from kith.core.events import (
    Answered,
    Applied,
    Asked,
    Called,
    Compacted,
    Event,
    Forked,
    Judged,
    Named,
    Notice,
    Planned,
    Proposed,
    Resumed,
    Reviewed,
    RunEnded,
    RunStarted,
    Said,
    Stepped,
    TodoSet,
    ToolEnded,
)
from kith.core.evidence import Evidence, combine
from kith.core.values import Answer, FileChange, Finding, Message, Plan, Ran, Timing, TodoItem, Usage
from kith.memory.database import APPLY, is_aside

# The events that tell on after their task and the next one: words, lists, names, and what frames them.
LASTING = frozenset(
    ("RunStarted", "RunEnded", "Resumed", "Said", "Compacted", "Forked", "Named", "TodoSet", "Routed")
)
# Others that the fold looks at; ToolBegan and ToolEnded are told apart by their text.
_TELLING = LASTING | {
    *("Stepped", "Planned", "Proposed", "Applied", "Called"),
    *("Judged", "Reviewed", "Notice", "Asked", "Answered"),
}
_BESIDE = ("count", "summary", "notes")  # purposes of calls whose answers go into no thread


class ReadPrompt(Struct, frozen=True):
    """The prompt that a model answered last, and the tokens that its server counted in it.

    It held so many `messages` of a thread, as they were sent after so many of its `compactions`.
    """

    model: str
    thread: str
    messages: int
    compactions: int
    tokens: int


class Past(Struct):
    """The fold of a session: conversations since its beginning, everything else since its last task.

    What the person ran themselves is no task, and leaves the last one as it was.
    """

    started: RunStarted | None = None
    ended: RunEnded | None = None
    threads: dict[str, list[Message]] = field(default_factory=dict)
    compacted: list[Compacted] = field(default_factory=list)  # how threads are sent, as `threads` are
    plan: Plan | None = None
    todo: tuple[TodoItem, ...] = ()
    proposed: tuple[FileChange, ...] = ()
    proposed_in: int = 1  # the attempt
    applied: list[Applied] = field(default_factory=list)
    asked: str = ""  # the last question about the change, by its id
    said: Answer | None = None  # what the person answered to it
    read: ReadPrompt | None = None
    compactions: int = 0  # of this task
    calls: list[Called] = field(default_factory=list)
    commands: list[Ran] = field(default_factory=list)
    verdicts: list[Judged] = field(default_factory=list)
    findings: tuple[Finding, ...] = ()  # of the last review of the change
    notices: list[str] = field(default_factory=list)
    last: "Past | None" = None  # the task before this one, in the same conversation
    thread: str = ""  # in which somebody spoke last
    tasks: int = 0  # how many tasks the session has had, this one included
    touched: bool = False  # something was written in the task's trial, or proposed
    task_said: bool = False  # the task's own message is in a thread
    attempts: int = 0
    refusals: int = 0  # noes of gates since a person last spoke
    refusal: Judged | None = None  # the last one, while the model has not been told of it
    edits_landed: bool = False  # the edits in the last message are in the trial already
    late: bool = False  # it was told that a check did not end in its time
    linted: bool = False  # the model was told what linters found in its change
    routes: list[Routed] = field(default_factory=list)
    relays: int = 0  # how often another model took over in the session
    relayed: Routed | None = None  # how the present one did, while it has not been told what was done before
    title: str = ""  # the name that the person gave the session
    symbols: bool | None = None  # whether models were offered the index here; None before the first task
    aside: RunStarted | None = None  # what the person does beside the task now: a command, or applying
    untold: list[Ran] = field(default_factory=list)  # what they ran since, and the model was not told of

    def take(self, event: Event) -> None:
        """Take one more event of the same task in."""
        self.touched = self.touched or _touches(event)
        match event:
            case RunEnded() | Resumed():
                self.aside = None
                self.ended = event if isinstance(event, RunEnded) else None
            case Said(thread, message):
                self._hear(thread, message)
            case Forked():
                self._copy(event)
            case Stepped(state="began", attempt=number) if number:
                self.attempts = number
            case Planned(plan):
                self.plan = plan
            case TodoSet(items):
                self.todo = items
            case Proposed(files):
                self.proposed, self.proposed_in = files, max(self.attempts, 1)
                self.findings = ()
            case Applied() | Called() | Compacted():
                self._add(event)
            case ToolEnded(ran=Ran() as ran):
                self.commands.append(ran)
            case Judged() | Routed():
                self._judge(event) if isinstance(event, Judged) else self._route(event)
            case Reviewed(findings):
                self.findings = findings
            case _:
                self._note(event)

    def _note(self, event: Event) -> None:
        match event:
            case Named(title):
                self.title = title
            case Notice(text, "warning"):
                self.notices.append(text)
            case Asked(question) if question.kind == "change":
                self.asked = question.id
            case Answered(id, answer) if id == self.asked:
                self.said = answer

    def take_aside(self, event: Event) -> None:
        """Take in an event of a command that the person runs, or of applying what the task had left."""
        if self.aside and self.aside.options.kind == APPLY:
            self._take_applying(event)
            return
        quiet = self.aside is not None and self.aside.options.quiet
        match event:
            case RunEnded(status):
                self.aside = None
                if status == "rejected" and not quiet:
                    self._add_to_untold("[The files it changed were put back as they were.]")
            case Named(title):
                self.title = title
            case ToolEnded(ran=Ran() as ran) if not quiet:
                self.untold.append(ran)
            case Applied(files=files) if not quiet:
                paths = ", ".join(file.path for file in files)
                self._add_to_untold(f"[It changed {paths}: read before you edit.]")

    def _take_applying(self, event: Event) -> None:
        """Take an event of applying the waiting change: the task's own change, and its end if done."""
        match event:
            case Applied():
                self.applied.append(event)
            case RunEnded():
                self.aside = None
                self.ended = event if event.status == "done" else self.ended

    def _add_to_untold(self, words: str) -> None:
        """Add the result of a command's changes to its output."""
        if self.untold:
            ran = self.untold[-1]
            output = f"{ran.output.rstrip()}\n{words}".lstrip()
            self.untold[-1] = replace(ran, output=output)

    def next_task(self, started: RunStarted) -> "Past":
        """The fold as a new task begins: conversations and the list stay, the rest is reset."""
        return Past(
            started,
            threads=self.threads,
            compacted=self.compacted,
            read=self.read,
            todo=self.todo,
            last=replace(self, last=None) if self.started else None,
            tasks=self.tasks + 1,
            relays=self.relays,
            title=self.title,
            symbols=self.symbols if started.options.symbols is None else started.options.symbols,
            untold=self.untold,
        )

    def snapshot(self) -> "Past":
        """The same, which stays as it is when this one goes on."""
        same = copy(self)
        same.threads = {name: list(messages) for name, messages in self.threads.items()}
        for name in self.__struct_fields__:
            if isinstance(value := getattr(self, name), list):
                setattr(same, name, list(value))
        return same

    def _add(self, event: Applied | Called | Compacted) -> None:
        lists: dict[type, list[Any]] = {Applied: self.applied, Called: self.calls, Compacted: self.compacted}
        lists[type(event)].append(event)
        self.compactions += isinstance(event, Compacted)
        self.read = self._read_by(event) or self.read

    def _read_by(self, event: Event) -> ReadPrompt | None:
        """Return the prompt of an answer in the current thread: the one with the last message."""
        if not isinstance(event, Called) or not event.usage.input or event.purpose in _BESIDE:
            return None
        return ReadPrompt(
            event.model,
            self.thread,
            len(self.threads.get(self.thread, ())),
            len(self.compacted),
            event.usage.input,
        )

    def _hear(self, thread: str, message: Message) -> None:
        self.threads.setdefault(thread, []).append(message)
        self.thread = thread
        if message.role == "user" and not self.task_said:
            self.task_said, self.untold = True, []  # the task's own words tell what was run before it
        self.edits_landed, self.refusal, self.relayed = False, None, None
        self.linted = self.linted or message.author == "lint"
        if message.author == "person":
            self.refusals, self.linted = 0, False

    def _copy(self, fork: Forked) -> None:
        for said in fork.said:
            self.threads.setdefault(said.thread, []).append(said.message)
        self.compacted.extend(fork.compacted)
        self.todo = fork.todo

    def _route(self, event: Routed) -> None:
        self.routes.append(event)
        if event.after:
            self.relays, self.refusals, self.edits_landed = self.relays + 1, 0, False
            self.relayed = event if self.task_said else None

    def _judge(self, event: Judged) -> None:
        if event.gate == "edits":
            self.edits_landed = event.ok
        if event.gate != "edits" or not event.ok:
            self.verdicts.append(event)
        # Attempt 0 is a look at what the person kept, which no model has tried.
        if not event.ok and event.when == "after" and event.attempt:
            late = event.evidence is not None and event.evidence.reason == "out_of_time"
            self.refusals += self.late or not late
            self.late, self.refusal = self.late or late, event

    @property
    def usage(self) -> Usage:
        return Usage(
            sum(call.usage.input for call in self.calls),
            sum(call.usage.output for call in self.calls),
            sum(call.usage.cached for call in self.calls),
        )

    @property
    def timing(self) -> Timing:
        """Seconds by phase, summed over all calls."""
        return Timing(
            *(
                round(sum(getattr(call.timing, phase) for call in self.calls), 3)
                for phase in Timing.__struct_fields__
            )
        )

    def is_of_this_change(self, verdict: Judged) -> bool:
        """True if a check ran on the change as last proposed (or as the person kept it)."""
        builds = self.started is not None and self.started.options.kind == "build"
        tried = 0 if builds else self.proposed_in  # the attempts of a build are those of its tasks
        return verdict.when == "after" and bool(verdict.ran) and verdict.attempt in (0, tried)

    @property
    def evidence(self) -> Evidence | None:
        """The evidence for the change as last proposed; None where nothing was changed."""
        if not self.proposed and not self.applied:
            return None
        last = {
            each.gate: each.evidence
            for each in self.verdicts
            if each.when == "after" and each.evidence and each.attempt in (0, self.proposed_in)
        }
        return combine(last.values())

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The checks that are missing, in sentences."""
        after = [each for each in self.verdicts if self.is_of_this_change(each)]
        reasons = [f"{each.gate}: {each.feedback}" for each in self.verdicts if each.skipped]
        if not after and not reasons:
            reasons.append("No check command was run on the change.")
        return tuple(dict.fromkeys(reasons))


def _touches(event: Event) -> bool:
    return bool(event.files) if isinstance(event, Proposed) else getattr(event, "effect", "") == "write"


def tells(kind: str, body: str) -> bool:
    """True if an event can change the fold, judged by its stored text: faster than decoding it."""
    if kind == "ToolBegan":
        return '"effect":"write"' in body
    if kind == "ToolEnded":
        return '"ran":{' in body
    return kind in _TELLING


def fold(events: Iterable[Event]) -> Past:
    """Fold these events."""
    return reduce(go_on, events, Past())


def go_on(past: Past, event: Event) -> Past:
    """The fold with one more event; the one before is used up."""
    if isinstance(event, RunStarted):
        past.aside = event if is_aside(event) else None
        return past if past.aside else past.next_task(event)
    if past.aside and not isinstance(event, Resumed):
        past.take_aside(event)
    else:
        past.take(event)
    return past
