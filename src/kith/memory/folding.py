"""The events of one session, folded into rows: its calls, its parts of tasks, and who said what of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kith.core.decisions import Delegated, Routed
from kith.core.events import (
    Advanced,
    Answered,
    Applied,
    Asked,
    Called,
    Engaged,
    Judged,
    Notice,
    Proposed,
    RunEnded,
    RunStarted,
    Stepped,
    Tasked,
    ToolBegan,
    ToolEnded,
)
from kith.core.values import BuildTask
from kith.memory.legs import Draft
from kith.memory.log import Record
from kith.routing.rows import CallRow, LegRow

try:
    from kith.routing.kinds import kind_of
except ImportError:

    def kind_of(words: str, *, purpose: str = "edit", files: int = 0) -> str:
        return "edit-small"


# The events that are read for this.
KINDS: Final = frozenset(
    kind.__name__
    for kind in (
        *(Advanced, Answered, Applied, Asked, Called, Delegated, Engaged, Judged, Notice, Proposed, Routed),
        *(RunEnded, RunStarted, Stepped, Tasked, ToolBegan, ToolEnded),
    )
)
# What a session is for -> the purposes of the calls that work on that; others serve them, or look at it.
_WORK: Final[Mapping[str, frozenset[str]]] = {
    "run": frozenset({"edit", "plan", "chat"}),
    "test": frozenset({"test"}),
    "refactor": frozenset({"refactor"}),
    "review": frozenset({"review"}),
}
_BESIDE: Final = frozenset({"count", "summary"})
_MADE: Final = frozenset({"implement", "check"})  # steps of a build in which an implementer's work is done
_ERRAND: Final = "delegate"  # the step in which another model does what it was handed
_GLANCE_S: Final = 0.3  # a person who has read a diff takes longer; what answers sooner is --yes, or nobody
_REPEATS: Final = "The model repeats itself"


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """What was said of one model's part of a task, and by whom.

    `gate`: "edits" (they could be brought into the files), a gate's own name, "person", or "undone".
    `attempt`: of the part, 0 where there is none. `call` counts the session's calls up to it: the last of
    them had the last word on what was judged.
    """

    session: str
    task: int
    at: float
    model: str
    kind: str
    gate: str
    ok: bool
    part: str = ""
    attempt: int = 0
    call: int = 0


@dataclass(slots=True)
class Folded:
    """The rows of a session, its folder, its first event's number and its last one's moment.

    `changes`: for each leg what it applied; `undoes`: number, change, and the one that it took back. Whether
    a change holds is only known from all sessions together.
    """

    session: str
    root: str = ""
    first: int = 0
    last: float = 0.0
    calls: list[CallRow] = field(default_factory=list)
    legs: list[LegRow] = field(default_factory=list)
    changes: list[tuple[str, ...]] = field(default_factory=list)
    verdicts: list[VerdictRow] = field(default_factory=list)
    undoes: list[tuple[int, str, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Task:
    """One task of the session. `now`: the open part of each piece that a model worked on last."""

    number: int
    started: RunStarted
    before: dict[str, bool] = field(default_factory=dict)
    drafts: list[Draft] = field(default_factory=list)
    now: dict[str, Draft] = field(default_factory=dict)
    routed: dict[str, Routed] = field(default_factory=dict)
    pieces: dict[str, BuildTask] = field(default_factory=dict)
    errands: int = 0
    began: set[str] = field(default_factory=set)  # ids of tool calls
    asked: dict[str, float] = field(default_factory=dict)  # questions about the change, and when
    said: bool | None = None  # the person's last word on it
    ended: RunEnded | None = None

    @property
    def kind(self) -> str:
        return self.started.options.get("kind", "run")

    def piece_of(self, path: tuple[str, ...]) -> str | None:
        """Which piece of the work happens in a step; None for what is nobody's part."""
        if _ERRAND in path:
            return f"errand {self.errands}"
        if self.kind != "build":
            return "" if self.kind in _WORK else None
        step, _, piece = (path[0] if path else "").partition(" ")
        return piece if step in _MADE and piece in self.pieces else None

    def works(self, event: Called, path: tuple[str, ...]) -> bool:
        """Whether a call is a step of the work itself."""
        if _ERRAND in path or self.kind == "build":
            return event.purpose not in _BESIDE and (path[0].partition(" ")[0] != "check" if path else True)
        return event.purpose in _WORK.get(self.kind, ())


def fold_session(session: str, records: Iterable[Record]) -> Folded:
    """The rows of one session, from its events in their order."""
    fold = _Fold(Folded(session))
    for record in records:
        fold.take(record)
    fold.close()
    return fold.folded


@dataclass(slots=True)
class _Fold:
    folded: Folded
    engaged: dict[str, Engaged] = field(default_factory=dict)
    task: _Task | None = None
    tasks: int = 0

    def take(self, record: Record) -> None:
        """Take one more event in."""
        event, path, folded = record.event, record.path, self.folded
        folded.first, folded.last = folded.first or record.seq, record.at
        match event:
            case RunStarted(root=root):
                self.close()
                self.tasks, folded.root = self.tasks + 1, folded.root or root
                self.task = _Task(self.tasks, event)
            case Engaged():
                self.engaged[event.model] = event
            case Called():
                self._call(event, record)
            case Applied(change_id, _, undoes) if undoes:
                folded.undoes.append((record.seq, change_id, undoes))
            case Stepped() | Routed() | Delegated() if self.task:
                self._turn(self.task, event, path, record.at)
            case Asked() | Answered() | Advanced() | Applied() | RunEnded() if self.task:
                self._decide(self.task, event, record.at)
            case _ if self.task:
                self._work(self.task, record)

    def _decide(
        self, task: _Task, event: Asked | Answered | Advanced | Applied | RunEnded, at: float
    ) -> None:
        """What a person, a build's table or the end of a task say of the parts so far."""
        match event:
            case Asked(question) if question.kind == "change":
                task.asked[question.id] = at
            case Answered(id, answer) if id in task.asked and at - task.asked[id] >= _GLANCE_S:
                self._answer(task, answer.choice, at)
            case Advanced():
                self._advance(task, event)
            case Applied():
                self._apply(task, event)
            case RunEnded():
                task.ended = event

    def _work(self, task: _Task, record: Record) -> None:
        """What was done in a task, and what the gates said of it."""
        event, path, at = record.event, record.path, record.at
        piece = task.piece_of(path)
        draft = task.now.get(piece) if piece is not None else None
        match event:
            case ToolBegan(call_id):
                task.began.add(call_id)
            case ToolEnded() if draft:
                draft.use(event, event.call_id in task.began)
            case Judged(gate=gate, ok=ok, when="before") if not event.skipped:
                task.before[gate] = ok
            case Judged(attempt=attempt) if draft and (attempt or draft.part) and not event.skipped:
                draft.judge(event)
                self._tell(draft, event.gate, event.ok, at, attempt)
            case Proposed(files) if draft:
                draft.changed = bool(files)
            case Notice(text) if draft and text.startswith(_REPEATS):
                draft.failures["loop"] += 1
            case Tasked(tasks):
                task.pieces |= {each.id: each for each in tasks}

    # --- calls -------------------------------------------------------------------------------

    def _call(self, event: Called, record: Record) -> None:
        row = self._row(event, record)
        self.folded.calls.append(row)
        task = self.task
        if task is None:
            return
        task.ended = None
        piece, works = task.piece_of(record.path), task.works(event, record.path)
        if piece is None:
            return
        draft = self._draft(task, piece, event, works)
        if draft:
            draft.call(event, row, works)
            draft.engaged = self.engaged.get(event.model)

    def _row(self, event: Called, record: Record) -> CallRow:
        engaged = self.engaged.get(event.model, Engaged(event.model))
        new = event.cache.evaluated if event.cache else max(0, event.usage.input - event.usage.cached)
        return CallRow(
            session=self.folded.session,
            at=record.at,
            root=self.task.started.root if self.task else "",
            model=event.model,
            purpose=event.purpose,
            digest=engaged.digest,
            quantisation=engaged.quantisation,
            parameters=engaged.parameters,
            machine=engaged.machine,
            cloud=engaged.cloud,
            window=event.window or engaged.window,
            step="/".join(record.path),
            attempt=event.attempt,
            usage=event.usage,
            evaluated=new,
            timing=event.timing,
            error=(event.error or "failed") if event.stop == "error" else "",
            usd=event.usd,
            expected_s=event.expected_s,
            slow=event.slow,
            busy=event.busy,
            strategy=event.strategy,
        )

    def _draft(self, task: _Task, piece: str, event: Called, works: bool) -> Draft | None:
        """The part that a call belongs to, begun with its first working call."""
        open_ones = (each for each in task.drafts if each.part == piece and not each.over)
        draft = next((each for each in open_ones if each.model == event.model), None)
        if draft is None and works:
            draft = self._begin(task, piece, event)
            task.drafts.append(draft)
        if draft and works:
            task.now[piece] = draft
        return draft

    def _begin(self, task: _Task, piece: str, event: Called) -> Draft:
        built, routed = task.pieces.get(piece), task.routed.get(piece)
        words, files = task.started.task, 0
        if built:
            words, files = f"{built.title}\n{built.text}".strip(), len(built.files)
        draft = Draft(task.started, self.folded.session, task.number, event.model, task.before, piece, words)
        draft.routed, draft.locked = routed, built is not None
        draft.kind = routed.kind if routed else kind_of(words, purpose=event.purpose, files=files)
        return draft

    # --- what happens to a part --------------------------------------------------------------

    def _turn(
        self, task: _Task, event: Stepped | Routed | Delegated, path: tuple[str, ...], at: float
    ) -> None:
        """A new attempt begins, another model takes over, an errand is done."""
        if isinstance(event, Stepped) and event.state == "began" and event.name == _ERRAND:
            task.errands += 1
        piece = task.piece_of(path)
        draft = task.now.get(piece) if piece is not None else None
        match event:
            case Stepped(name, "began") if draft and name.startswith(("attempt ", "check ")):
                draft.begin_attempt()
            case Routed() if piece is not None:
                task.routed[piece] = event
                if event.after and draft:
                    draft.escalated, draft.over = True, True
            case Delegated() if draft:
                self._bring_back(draft, event, at)

    def _bring_back(self, draft: Draft, event: Delegated, at: float) -> None:
        """An errand is over: its own check decides, where it had one."""
        checked = event.verified not in ("", "nobody")
        draft.words, draft.over = event.task, True
        draft.kind = kind_of(event.task)
        draft.outcome = event.ok if checked or not event.ok else None
        draft.adopted = event.ok
        if draft.outcome is not None:
            self._tell(draft, "errand", draft.outcome, at, 0)

    def _answer(self, task: _Task, choice: str, at: float) -> None:
        """A person's answer to the diff; words of theirs begin another attempt and decide nothing."""
        task.said = None if choice == "revise" else choice in ("all", "some", "edit")
        for draft in _bearers(task):
            self._tell(draft, "person", bool(task.said), at, 0)

    def _advance(self, task: _Task, event: Advanced) -> None:
        """A step of a build is over, and with it perhaps a piece."""
        draft = task.now.get(event.task)
        if draft is None or not event.task:
            return
        if event.step == "check":
            draft.outcome = event.outcome == "yes"
            draft.held = draft.held or draft.outcome
            draft.numbers.add(event.attempt)
        elif event.step == "roll_back":
            # What a person wanted besides did not work out: the piece is as it was when it was good.
            draft.outcome, draft.over = draft.held, True

    def _apply(self, task: _Task, event: Applied) -> None:
        for draft in _bearers(task):
            draft.adopted, draft.changes = True, (*draft.changes, event.change_id)

    # --- the end -----------------------------------------------------------------------------

    def close(self) -> None:
        """The task is over, or the log ends here: its parts become rows."""
        if self.task is None:
            return
        _settle(self.task)
        for draft in self.task.drafts:
            self.folded.legs.append(draft.row())
            self.folded.changes.append(draft.changes)
        self.task = None

    def _tell(self, draft: Draft, gate: str, ok: bool, at: float, attempt: int) -> None:
        draft.at = at
        self.folded.verdicts.append(
            VerdictRow(
                session=self.folded.session,
                task=draft.task,
                at=at,
                model=draft.model,
                kind=draft.kind,
                gate=gate,
                ok=ok,
                part=draft.part,
                attempt=attempt,
                call=len(self.folded.calls),
            )
        )


def _bearers(task: _Task) -> list[Draft]:
    """The parts whose work is in the change that a person sees, errands aside."""
    last = {piece: draft for piece, draft in task.now.items() if not piece.startswith("errand ")}
    return [each for each in last.values() if each.part == "" or each.outcome]


def _settle(task: _Task) -> None:
    """What the end of a task says of its parts; one that was cut short says nothing of the last."""
    status = task.ended.status if task.ended else ""
    bearers = _bearers(task)
    for draft in bearers:
        if task.said is not None:
            draft.person = task.said
        if status == "rejected" and task.asked and draft.adopted is None:
            draft.adopted = False
    if status in ("done", "failed", "rejected", "limit") or any(each.changes for each in bearers):
        for draft in task.drafts:
            draft.over = True
    last = next((each for each in reversed(task.drafts) if not each.part.startswith("errand ")), None)
    if last is None or last.passed is not None or last.escalated:
        return
    if status == "limit":
        last.stopped = "limit"
        last.failures["limit"] += 1
    elif status == "failed" and not last.fits:
        last.stopped = "malformed"
    elif status == "failed" and last.failures["loop"]:
        last.stopped = "loop"
