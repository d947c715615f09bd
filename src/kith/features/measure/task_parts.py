"""One task of the log as it goes: which models worked on which piece of it, and what was said of that."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from kith.context.task_kinds import kind_of
from kith.core.decisions import Concluded, Delegated, Routed
from kith.core.events import (
    Advanced,
    Answered,
    Applied,
    Asked,
    Called,
    Engaged,
    Event,
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
from kith.features.measure.legs import LegDraft
from kith.features.measure.rows import CallRow

# What a session is for -> the purposes of the calls that work on that; others serve them, or look at it.
_WORK: Final[Mapping[str, frozenset[str]]] = {
    "run": frozenset({"edit", "plan", "chat"}),
    "test": frozenset({"test"}),
    "refactor": frozenset({"refactor"}),
    "review": frozenset({"review"}),
}
_BESIDE: Final = frozenset({"count", "summary"})
_MADE: Final = ("implement", "check")  # steps of a build in which an implementer's work is done
_ERRAND: Final = "delegate"  # the step in which another model does what it was handed
_AUDIT: Final = (
    "audit"  # a model's second look at what the checks let pass: it tells of them, and earns nothing
)
_GLANCE_S: Final = 0.3  # a person who has read a diff takes longer; what answers sooner is --yes, or nobody
# How the notice begins that tells of it.
_REPEATS: Final = "The model repeats itself"

Said = tuple[LegDraft, str, bool, int]  # a part, who said something of it, yes or no, in which attempt
Path = tuple[str, ...]


class LoggedTask(Struct):
    """One task of a session.

    A piece is the whole of a plain task (""), one of a build's tasks, or an errand; `now` has the latest
    part of each. `before`: the gates that accept the untouched tree. `said`: the person's last decision
    on the change.
    """

    session: str
    number: int
    started: RunStarted
    drafts: list[LegDraft] = field(default_factory=list)
    now: dict[str, LegDraft] = field(default_factory=dict)
    before: dict[str, bool] = field(default_factory=dict)
    said: bool | None = None
    ended: RunEnded | None = None
    _routed: dict[str, Routed] = field(default_factory=dict)
    _pieces: dict[str, BuildTask] = field(default_factory=dict)
    _steps: dict[str, Stepped] = field(default_factory=dict)  # outermost ones, by name
    _step: Stepped | None = None  # the one of these that runs now
    _errands: int = 0
    _began: set[str] = field(default_factory=set)  # ids of tool calls
    _asked: dict[str, float] = field(default_factory=dict)  # questions about the change, and when

    @property
    def kind(self) -> str:
        return self.started.options.command

    def piece_of(self, path: Path) -> str | None:
        """Return the piece of the work that a step belongs to; None for none."""
        if _ERRAND in path:
            return f"errand {self._errands}"
        if self.kind != "build":
            return "" if self.kind in _WORK else None
        step = self._steps.get(path[0]) if path else self._step
        return step.task if step and step.kind in _MADE and step.task in self._pieces else None

    def _works(self, event: Called, path: Path) -> bool:
        """True if a call is a step of the work itself."""
        if _ERRAND in path or self.kind == "build":
            return event.purpose not in _BESIDE
        return event.purpose in _WORK.get(self.kind, ())

    def _draft(self, path: Path) -> LegDraft | None:
        """The part that is worked on in a step; None when it is over, and nobody was asked since."""
        piece = self.piece_of(path)
        draft = self.now.get(piece) if piece is not None else None
        return draft if draft and not draft.over else None

    # --- calls -------------------------------------------------------------------------------

    def call(self, event: Called, path: Path, row: CallRow, engaged: Engaged) -> None:
        """A call, counted for the part that it belongs to; the first that works begins one."""
        self.ended = None
        piece, works = self.piece_of(path), self._works(event, path)
        if piece is None:
            return
        open_ones = (each for each in self.drafts if each.part == piece and not each.over)
        draft = next((each for each in open_ones if each.model == event.model), None)
        if draft is None and works:
            draft = self._begin(piece, event)
            self.drafts.append(draft)
        if draft is None:
            return
        if works:
            self.now[piece] = draft
        draft.call(event, row, works)
        draft.engaged = engaged

    def _begin(self, piece: str, event: Called) -> LegDraft:
        built, routed = self._pieces.get(piece), self._routed.get(piece)
        words, files = self.started.task, 0
        if built:
            words, files = f"{built.title}\n{built.text}".strip(), len(built.files)
        draft = LegDraft(self.started, self.session, self.number, event.model, self.before, piece, words)
        draft.routed, draft.locked = routed, built is not None
        told = routed.kind if routed else ""
        draft.kind = told or kind_of(words, purpose=event.purpose, files=files)
        return draft

    # --- everything else ---------------------------------------------------------------------

    def take(self, event: Event, path: Path, at: float) -> list[Said]:
        """Take one more event in; returns what it says of parts."""
        match event:
            case Stepped():
                self._turn(event, path)
            case Routed():
                self._route(event, path)
            case Concluded():
                self._conclude(event, path)
            case Delegated():
                return self._bring_back(event, path)
            case Asked(question) if question.kind == "change":
                self._asked[question.id] = at
            case Answered(id, answer) if id in self._asked and at - self._asked[id] >= _GLANCE_S:
                return self._answer(answer.choice)
            case Advanced(task=task) if task in self.now:
                self._advance(event, self.now[task])
            case Applied():
                for draft in self.bearers:
                    draft.adopted, draft.changes = True, (*draft.changes, event.change_id)
            case RunEnded():
                self.ended = event
            case _:
                return self._work(event, path)
        return []

    def _work(self, event: Event, path: Path) -> list[Said]:
        """Take work and verdicts from an event."""
        draft = self._draft(path)
        match event:
            case Tasked(tasks):
                self._pieces |= {each.id: each for each in tasks}
            case Judged(gate=gate, ok=ok, when="before") if not event.skipped:
                self.before[gate] = ok
            case ToolBegan(call_id):
                self._began.add(call_id)
            case ToolEnded() if draft:
                draft.use(event, event.call_id in self._began)
            case Judged(gate=gate, ok=ok, attempt=attempt) if draft and not event.skipped:
                if attempt or draft.part:
                    draft.judge(event)
                elif gate != _AUDIT:  # of what the person kept, which no model has tried
                    return []
                return [(draft, gate, ok, attempt)]
            case Proposed(files) if draft:
                draft.changed = bool(files)
            case Notice(text) if draft and text.startswith(_REPEATS):
                draft.failures["loop"] += 1
        return []

    def _turn(self, event: Stepped, path: Path) -> None:
        """A step begins or ends; with another attempt, what was said of the one before holds no longer."""
        if len(path) == 1:
            self._step = event if event.state == "began" else None
            self._steps[event.name] = event
        if event.state != "began":
            return
        self._errands += event.kind == _ERRAND
        draft = self._draft(path)
        if draft and event.kind in ("attempt", "check"):
            draft.begin_attempt()

    def _route(self, event: Routed, path: Path) -> None:
        """It was decided who is asked; the one before has given up, or was stopped."""
        piece = self.piece_of(path)
        if piece is None:
            return
        self._routed[piece] = event
        draft = self.now.get(piece)
        if event.after and draft:
            draft.escalated, draft.over = True, True
            lost = event.cause == "failed" and draft.unanswered
            draft.lost = lost or event.cause == "absent"
            if event.cause == "hopeless":
                draft.stopped = "hopeless"

    def _conclude(self, event: Concluded, path: Path) -> None:
        """Several models conferred inside a task: what comes of it is the work of whose proposal holds."""
        piece = self.piece_of(path)
        chosen = event.members.get(event.choice, "")
        for draft in self.drafts:
            if draft.part == piece and not draft.over and draft.model in event.members.values():
                draft.advises = draft.model != chosen
                if not draft.advises:
                    self.now[draft.part] = draft

    def _bring_back(self, event: Delegated, path: Path) -> list[Said]:
        """An errand is over: its own check decides, where it had one."""
        draft = self._draft(path)
        if draft is None:
            return []
        checked = event.verified not in ("", "nobody")
        draft.words, draft.kind, draft.over = event.task, kind_of(event.task), True
        draft.adopted, draft.outcome = event.ok, event.ok if checked or not event.ok else None
        return [] if draft.outcome is None else [(draft, "errand", draft.outcome, 0)]

    def _answer(self, choice: str) -> list[Said]:
        """A person's answer to the diff; words of theirs begin another attempt and decide nothing."""
        yes = choice in ("all", "some", "planned", "edit")
        self.said = None if choice == "revise" else yes
        return [(draft, "person", yes, 0) for draft in self.bearers]

    def _advance(self, event: Advanced, draft: LegDraft) -> None:
        """A step of a build is over, and with it perhaps a piece."""
        if event.step == "check":
            draft.outcome = event.outcome == "yes"
            draft.held = draft.held or draft.outcome
            draft.numbers.add(event.attempt)
        elif event.step == "roll_back":
            # What a person wanted besides did not work out: the piece is as it was when it was good.
            draft.outcome, draft.over = draft.held, True

    # --- the end -----------------------------------------------------------------------------

    @property
    def bearers(self) -> list[LegDraft]:
        """The parts whose work is in the change that a person sees; errands are in somebody's part."""
        return [each for each in self.now.values() if each.part == "" or (each.locked and each.outcome)]

    def close(self) -> list[LegDraft]:
        """The parts at the task's end; an interrupted one says nothing of the last."""
        status, bearers = self.ended.status if self.ended else "", self.bearers
        for draft in bearers:
            draft.person = self.said
            if status == "rejected" and self._asked and draft.adopted is None:
                draft.adopted = False
        if status in ("done", "failed", "held", "rejected", "limit") or any(each.changes for each in bearers):
            for draft in self.drafts:
                draft.over = True
        owned = [each for each in self.drafts if not each.part.startswith("errand ")]
        if owned and self.ended and not owned[-1].escalated:
            _stop(owned[-1], self.ended)
        return [each for each in self.drafts if not each.advises]


def _stop(draft: LegDraft, ended: RunEnded) -> None:
    """Record why the last part of a task ended."""
    if ended.status == "limit":
        draft.stopped = "limit"
        draft.failures["limit"] += 1
    elif ended.status == "failed":
        draft.lost = draft.unanswered
        if ended.cause == "hopeless":
            draft.stopped, draft.lost = "hopeless", False
        elif not draft.fits:
            draft.stopped = "malformed"
        elif draft.failures["loop"]:
            draft.stopped = "loop"
