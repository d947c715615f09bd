"""Everything that can happen, as values; the log is a list of these and all else is read from it."""

from typing import Any, ClassVar, Literal

from msgspec import Struct, field

from kith.core.decisions import Claimed, Coached, Compared, Concluded, Convened, Delegated, Routed
from kith.core.evidence import CheckEvidence
from kith.core.values import (
    Answer,
    BuildTask,
    CacheUse,
    Effect,
    Fault,
    FileChange,
    Finding,
    Message,
    Plan,
    Question,
    Ran,
    Spoken,
    Stop,
    Subject,
    Timing,
    TodoItem,
    Usage,
)

# What a task was begun with beside its words, for whoever resumes it or reads of it later.

Planning = Literal["no", "yes", "show"]


class Options(Struct, frozen=True):
    """The options that a task began with.

    `kind` is the command ("": a plain task), `plan` is None where planning does not apply. `goal`: the
    person named the checks in the command. `symbols`: models were offered the index; None before one was
    asked. `system` and `append_system` are the person's own system prompt, `schema` is that of the answer.
    `commit` is the tree's commit at the start. `agree`: a build shows its tasks first. `quiet`: the model
    is not told of the person's own command. `source`: the session that a fork copies, and `news` the
    changes to files that its model must know. `gone`: the change that an undo did not find. Coaching
    records the digest of the model's weights (`digest`), the kind of `work`, the `strategy` and the
    `recorded` task that it tries. `material` is text of
    others that came with the task.
    """

    kind: str = ""
    plan: Planning | None = None
    read_only: bool = False
    check: tuple[str, ...] = ()
    goal: bool = False
    symbols: bool | None = None
    system: str = ""
    append_system: str = ""
    schema: dict[str, Any] | None = None
    commit: str = ""
    agree: bool = False
    quiet: bool = False
    source: str = ""
    news: str | None = None
    gone: str = ""
    digest: str = ""
    work: str = ""
    strategy: str = ""
    recorded: str = ""
    material: str = ""

    @property
    def command(self) -> str:
        """The command that the task was given to: `run` for a plain task."""
        return self.kind or "run"


# "held": nobody was asked, and the evidence is too little; the change waits for whoever takes it.
Status = Literal["done", "failed", "rejected", "held", "limit", "unavailable", "interrupted"]


class RunStarted(Struct, frozen=True):
    """A task was given, in a folder, to a model ("" when none is needed)."""

    task: str
    root: str
    model: str
    version: str
    options: Options = Options()


class RunEnded(Struct, frozen=True):
    """The task is over, and why; `cause` says of a failure what kith has to know of it.

    `answer` is the JSON value that follows the person's schema; None without one.
    """

    status: Status
    text: str
    cause: Literal["", "hopeless"] = ""
    answer: Any = None


class Resumed(Struct, frozen=True):
    """The interrupted task continues, in another process: what was asked before waits for nobody."""


class Stepped(Struct, frozen=True):
    """A named step of a workflow began or ended.

    `kind` is the sort of step. In a build, `task` is the id of its task. `attempt` counts from 1 where a task
    is tried again.
    """

    name: str
    state: Literal["began", "ended", "failed"]
    seconds: float = 0.0
    kind: str = ""
    task: str = ""
    attempt: int = 0


class Said(Struct, frozen=True):
    """A message joined a thread."""

    thread: str
    message: Message


class Engaged(Struct, frozen=True):
    """A model was found and looked at: what runs, where, how large, on which machine.

    `server` is an address, `digest` names the weights, `window` counts tokens. `cloud`: what it is asked
    leaves this machine and its own network.
    """

    model: str
    server: str = ""
    digest: str = ""
    quantisation: str = ""
    parameters: str = ""
    window: int = 0
    cloud: bool = False
    machine: str = ""


class Called(Struct, frozen=True):
    """A model answered, or failed in words. `window`: what it may hold; `cache`: None when nobody can say.

    `usd`: what it cost by the table of prices, None where that has no price. `expected_s`: how long it was
    foreseen to take (0.0: nobody knew), `slow` why it took much longer. `busy`: processes that wanted to run,
    for each processor. `strategy`: the way it was asked, "" for the original one.
    """

    model: str
    purpose: str
    attempt: int
    usage: Usage = Usage()
    timing: Timing = Timing()
    stop: Stop | Literal["error"] = "end"
    error: str = ""
    window: int = 0
    cache: CacheUse | None = None
    usd: float | None = None
    expected_s: float = 0.0
    slow: str = ""
    busy: float = 0.0
    strategy: str = ""

    @property
    def evaluated(self) -> int:
        """Prompt tokens that were computed: as the meter saw it, else those that were not cached."""
        return self.cache.evaluated if self.cache else self.usage.new

    @property
    def computed(self) -> int:
        """All tokens that the server had to compute: those of the prompt, and the reply."""
        return self.evaluated + self.usage.output


class Compacted(Struct, frozen=True):
    """From now on a thread is sent shorter; the thread itself keeps everything.

    Of its first `upto` messages the model sees `summary` instead; where that is empty, their old tool results
    are left out. `before` and `after` are the prompt's tokens.
    """

    thread: str
    upto: int
    summary: str
    before: int
    after: int


class Forked(Struct, frozen=True):
    """The session begins as a copy of what another one held when its event number `upto` was its last.

    The copy is whole, so the other one may be forgotten; calls, checks and changes stay its own.
    """

    source: str
    upto: int
    said: tuple[Said, ...]
    compacted: tuple[Compacted, ...] = ()
    todo: tuple[TodoItem, ...] = ()
    spoken: tuple[Spoken, ...] = ()


class Named(Struct, frozen=True):
    """The person gave the session a name of their own."""

    title: str


class Carded(Struct, frozen=True):
    """Something was learned of a model, to be known in every later session.

    `digest` names its weights; `facts` (plain data) are added to what its card holds.
    """

    digest: str
    model: str
    facts: dict[str, Any] = field(default_factory=dict)


class ToolBegan(Struct, frozen=True):
    """A tool was allowed and is about to run."""

    call_id: str
    name: str
    effect: Effect
    target: str


class ToolEnded(Struct, frozen=True):
    """A tool answered; `line` is its result in one line for people, `ran` the command behind it if any.

    `fault`: why it did not do what it was asked for, where that is known.
    """

    call_id: str
    name: str
    ok: bool
    seconds: float
    line: str = ""
    ran: Ran | None = None
    fault: Fault = ""


class Asked(Struct, frozen=True):
    """A question went to the person."""

    question: Question


class Answered(Struct, frozen=True):
    """The first answer to a question; `subject` is the question's."""

    question_id: str
    answer: Answer
    subject: Subject | None = None


class Planned(Struct, frozen=True):
    """The plan that the work follows."""

    plan: Plan


class Tasked(Struct, frozen=True):
    """A request became these tasks; the last ones told are the ones that hold."""

    tasks: tuple[BuildTask, ...]


class Advanced(Struct, frozen=True):
    """A step of a build is finished, for good: `outcome` says by the machine's table what comes next.

    `task` is its id ("" for a step of the whole build), `attempt` counts from 1 where a step may come again.
    """

    step: str
    outcome: str
    task: str = ""
    attempt: int = 0
    text: str = ""


class Locked(Struct, frozen=True):
    """Tests that nobody may touch any more: the SHA-256 of each file, and the tests that must pass."""

    task: str
    files: dict[str, str] = field(default_factory=dict)
    tests: tuple[str, ...] = ()


class TodoSet(Struct, frozen=True):
    """The model's present list, whole."""

    items: tuple[TodoItem, ...]


class Judged(Struct, frozen=True):
    """A gate's verdict on the change. `when` is "before" for a check of the untouched tree.

    `fault`: why edits could not be applied to the files, where that is known.
    """

    gate: str
    ok: bool
    attempt: int
    feedback: str = ""
    ran: tuple[Ran, ...] = ()
    when: Literal["before", "after"] = "after"
    skipped: bool = False  # it could not be carried out: the text says why, and nothing was checked
    figures: dict[str, float] = field(default_factory=dict)
    evidence: CheckEvidence | None = None
    fault: Fault = ""


class Reviewed(Struct, frozen=True):
    """The findings of a review.

    `thrown_out` counts, by reason, what a model said of it that did not hold.
    """

    findings: tuple[Finding, ...]
    thrown_out: dict[str, int] = field(default_factory=dict)


class Proposed(Struct, frozen=True):
    """The change that waits for a yes."""

    files: tuple[FileChange, ...]


class Applied(Struct, frozen=True):
    """The user's tree was changed, whole; `change_id` names the journal that can undo it."""

    change_id: str
    files: tuple[FileChange, ...]
    undoes: str = ""


class Committed(Struct, frozen=True):
    """An applied change was committed; `commit` is its full hash."""

    change_id: str
    commit: str


class Notice(Struct, frozen=True):
    """Something the person should know, in one sentence.

    `topic` names those that some screens leave out: the model that is asked, a resumed session, an answer
    from elsewhere, a forecast.
    """

    text: str
    level: Literal["info", "warning"] = "info"
    topic: Literal["", "model", "resumed", "answered", "forecast"] = ""


class Delta(Struct, frozen=True):
    """A piece of a reply as it arrives. Shown, never stored: the whole message follows as Said.

    `reply` names the reply that it is of: one that is asked for again is another one.
    """

    text: str
    kind: Literal["text", "thinking", "tool"] = "text"
    reply: str = ""
    transient: ClassVar[bool] = True


class Progress(Struct, frozen=True):
    """The progress of slow work, in tokens, bytes or percent (`total` 0: unknown). Shown, never stored."""

    what: str
    done: int
    total: int = 0
    transient: ClassVar[bool] = True


class FeatureEvent(Struct, frozen=True):
    """The base of events that features define (`Feature.events`)."""


Event = (
    FeatureEvent
    | RunStarted
    | RunEnded
    | Resumed
    | Stepped
    | Said
    | Engaged
    | Called
    | Routed
    | Delegated
    | Coached
    | Compared
    | Convened
    | Claimed
    | Concluded
    | Compacted
    | Forked
    | Named
    | Carded
    | ToolBegan
    | ToolEnded
    | Asked
    | Answered
    | Planned
    | Tasked
    | Advanced
    | Locked
    | TodoSet
    | Judged
    | Reviewed
    | Proposed
    | Applied
    | Committed
    | Notice
    | Delta
    | Progress
)


def is_transient(event: Event) -> bool:
    """True for events that are shown and not stored."""
    return getattr(event, "transient", False)
