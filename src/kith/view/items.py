"""The items that a person sees of a session, and the one fold that makes them of its events."""

from collections.abc import Iterable, Iterator
from copy import copy
from itertools import count
from typing import Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kith.core.decisions import Claimed, Concluded, Convened, place_of
from kith.core.events import (
    Answered,
    Applied,
    Asked,
    Called,
    Carded,
    Event,
    Forked,
    Judged,
    Planned,
    Proposed,
    Resumed,
    RunEnded,
    RunStarted,
    Said,
    Stepped,
    Tasked,
    TodoSet,
    ToolBegan,
    ToolEnded,
    is_transient,
)
from kith.core.values import (
    Answer,
    BuildTask,
    FileChange,
    Message,
    Plan,
    Question,
    TodoItem,
    ToolCall,
    ToolResult,
)
from kith.memory.turns import FORK


class Item(Struct, frozen=True):
    """One piece of what a person sees of a session.

    `key` is the number of the event with which it began, and stays as later events complete it. `at` is when
    that was, in seconds since the epoch (0.0: nobody said).
    """

    key: str
    path: tuple[str, ...]
    at: float


class TaskBegun(Item, frozen=True):
    """A task; `given` is its first message, which may hold more than the person's words."""

    words: str
    given: Message | None = None


class PersonSpoke(Item, frozen=True):
    """Words of the person that are no task."""

    text: str


class ModelTold(Item, frozen=True):
    """Words of kith, or of a gate, to the model."""

    message: Message


class ToolUse(Item, frozen=True):
    """One tool call: how the model asked for it, how it began and ended, and what the model was answered."""

    call_id: str
    call: ToolCall | None = None
    began: ToolBegan | None = None
    ended: ToolEnded | None = None
    result: ToolResult | None = None

    @property
    def state(self) -> Literal["asked", "running", "ended", "answered"]:
        """The progress of the call, by the last thing that was told of it."""
        if self.result:
            return "answered"
        return "ended" if self.ended else "running" if self.began else "asked"

    @property
    def name(self) -> str:
        return next((each.name for each in (self.call, self.began, self.ended) if each), "tool")

    @property
    def ok(self) -> bool | None:
        """None while nobody knows."""
        return self.ended.ok if self.ended else self.result.ok if self.result else None

    @property
    def target(self) -> str:
        """The file, command or address it is about: as the policy saw it, else the call's first argument."""
        if self.began:
            return self.began.target
        return next((str(value) for value in self.call.args.values()), "") if self.call else ""

    def completed(self, told: ToolBegan | ToolEnded | ToolResult) -> "ToolUse":
        """The same with what is told of it now."""
        began, ended, result = self.began, self.ended, self.result
        if isinstance(told, ToolBegan):
            began = told
        elif isinstance(told, ToolEnded):
            ended = told
        else:
            result = told
        return ToolUse(self.key, self.path, self.at, self.call_id, self.call, began, ended, result)


class ModelStep(Item, frozen=True):
    """One turn of a model: the call, what it answered, and the tools that it used.

    `number` counts the steps of a session from 1.
    """

    number: int
    called: Called | None = None
    message: Message | None = None
    tools: tuple[ToolUse, ...] = ()


class ClosingWords(Item, frozen=True):
    """Words of kith's own that close a turn of the model."""

    message: Message


class WorkPart(Item, frozen=True):
    """A part of the work, as it was told of last: it began, ended or failed."""

    step: Stepped


class GateVerdict(Item, frozen=True):
    """A gate's yes or no, with the evidence."""

    judged: Judged


class ProposedChange(Item, frozen=True):
    """The present change, not applied."""

    files: tuple[FileChange, ...]


class AppliedChange(Item, frozen=True):
    """A change that came into the person's tree, or was undone there.

    `as_proposed`: it is the change that was proposed last, whole.
    """

    applied: Applied
    as_proposed: bool = False


class WorkPlan(Item, frozen=True):
    """The plan that the work follows."""

    plan: Plan


class TaskList(Item, frozen=True):
    """The tasks of a build."""

    tasks: tuple[BuildTask, ...]


class TodoList(Item, frozen=True):
    """The model's own list, whole."""

    entries: tuple[TodoItem, ...]


class AskedQuestion(Item, frozen=True):
    """A question to the person, and the first answer to it."""

    question: Question
    answer: Answer | None = None


class RunResult(Item, frozen=True):
    """The end of a task; `said`: its words are those that a model said last."""

    ended: RunEnded
    said: bool = False


class CouncilTalk(Item, frozen=True):
    """A council; the feature whose it is draws its events."""

    council: str
    events: tuple[Event, ...]


class Note(Item, frozen=True):
    """Anything else that happened: a line, on surfaces that show it."""

    event: Event


class Changed(NamedTuple):
    """An item that is new, or has changed. `step`: the key of the step whose tool use it is."""

    item: Item
    is_new: bool
    step: str = ""


_Name = tuple[str, str | tuple[str, ...]]  # by which later events find the item that they complete
_TASK: Final[_Name] = ("task", "")


class _ItemFields(NamedTuple):
    """The fields of every item: its key, path and time."""

    key: str
    path: tuple[str, ...]
    at: float


class Items:
    """The items of a session so far, by their keys, in order; `take` folds one more event in.

    Events that are only shown (`Delta`, `Progress`) belong to no item. It does not matter where a log begins:
    what was told before is missing then, and nothing else.
    """

    def __init__(self) -> None:
        self.by_key: dict[str, Item] = {}
        self._last = 0  # number of the last event
        self._steps = 0
        self._spoken = ""  # by a model, last
        self._proposed: tuple[FileChange, ...] = ()
        self._open: dict[_Name, str] = {}  # keys of items that later events complete
        self._uses: dict[str, tuple[str, int]] = {}  # by tool call: a step and the place in it (or -1)

    def take(
        self, event: Event, path: tuple[str, ...] = (), at: float = 0.0, number: int = 0
    ) -> tuple[Changed, ...]:
        """Fold one more event in, and return the items that changed.

        `number` is the event's own in its session (0: the next one).
        """
        if is_transient(event):
            return ()
        self._last = number or self._last + 1
        return tuple(self._fold(event, _ItemFields(str(self._last), path, at)))

    def copied(self) -> "Items":
        """A copy of these items that can grow on its own."""
        same = copy(self)
        same.by_key, same._open, same._uses = {**self.by_key}, {**self._open}, {**self._uses}
        return same

    def _fold(self, event: Event, place: _ItemFields) -> Iterator[Changed]:
        match event:
            case Said(thread, message):
                yield from self._hear(event, thread, message, place)
            case Called():
                self._steps += 1
                step = ModelStep(*place, self._steps, event)
                yield self._add(step, ("called", place.path))
            case ToolBegan() | ToolEnded():
                yield self._use(place, event.call_id, event)
            case RunStarted():
                if event.options.kind != FORK:  # the other session's name is no task of this one
                    yield self._add(TaskBegun(*place, event.task), _TASK)
            case Forked():
                yield from self._copy(event, place)
            case Answered(id, answer):
                yield from self._settle(id, answer)
            case Stepped():
                yield self._enter(event, place)
            case Convened() | Claimed() | Concluded():
                yield self._confer(event.council, event, place)
            case Resumed() | Carded():
                pass  # whoever works on it has changed, or a model's card: neither is to be seen
            case _:
                yield self._tell(event, place)

    def _tell(self, event: Event, place: _ItemFields) -> Changed:
        """An event that is an item of its own."""
        match event:
            case Judged():
                return self._add(GateVerdict(*place, event))
            case Proposed(files):
                self._proposed = files
                return self._add(ProposedChange(*place, files))
            case Applied(files=files):
                return self._add(AppliedChange(*place, event, files == self._proposed))
            case Planned(plan):
                return self._add(WorkPlan(*place, plan))
            case Tasked(tasks):
                return self._add(TaskList(*place, tasks))
            case TodoSet(entries):
                return self._add(TodoList(*place, entries))
            case Asked(question):
                return self._add(AskedQuestion(*place, question), ("asked", question.id))
            case RunEnded():
                said = event.text.strip() == self._spoken.strip()
                return self._add(RunResult(*place, event, said))
            case _:
                return self._add(Note(*place, event))

    # --- what was said -------------------------------------------------------------------------

    def _hear(self, event: Event, thread: str, message: Message, place: _ItemFields) -> Iterator[Changed]:
        if council := place_of(thread):
            yield self._confer(council[0], event, place)
        elif message.role == "assistant":
            self._spoken = message.text
            yield self._answer(message, place)
        elif message.role == "tool":
            for result in message.results:
                yield self._use(place, result.call_id, result)
        elif message.author != "person":
            yield self._add(ModelTold(*place, message))
        elif task := self._task_of(message):
            del self._open[_TASK]
            yield self._change(replace(task, given=message))
        else:
            yield self._add(PersonSpoke(*place, message.text))

    def _task_of(self, message: Message) -> TaskBegun | None:
        """The task that a person's message tells the model, with what it is given beside it."""
        task = self.by_key.get(self._open.get(_TASK, ""))
        return task if isinstance(task, TaskBegun) and task.words in message.text else None

    def _answer(self, message: Message, place: _ItemFields) -> Changed:
        """A model's message joins the call that it answers."""
        step = self.by_key.get(self._open.pop(("called", place.path), ""))
        if not isinstance(step, ModelStep) and message.author == "kith":
            return self._add(ClosingWords(*place, message))
        if not isinstance(step, ModelStep):
            self._steps += 1
            step = ModelStep(*place, self._steps)
        tools = tuple(
            ToolUse(f"{step.key}-{number}", place.path, place.at, call.id, call)
            for number, call in enumerate(message.calls)
        )
        self._uses |= {each.call_id: (step.key, number) for number, each in enumerate(tools)}
        whole = ModelStep(step.key, step.path, step.at, step.number, step.called, message, tools)
        return self._change(whole) if step.key in self.by_key else self._add(whole)

    def _copy(self, forked: Forked, place: _ItemFields) -> Iterator[Changed]:
        """Show copied messages as if they were said here; each has a key of its own."""
        turns = {turn.after: turn for turn in forked.spoken}
        numbers = count(1)

        def inside() -> _ItemFields:
            return place._replace(key=f"{place.key}-c{next(numbers)}")

        for number, said in enumerate(forked.said):
            if turn := turns.get(number):
                place = place._replace(at=turn.at)
                yield self._add(TaskBegun(*inside(), turn.words), _TASK)
            yield from self._hear(said, said.thread, said.message, inside())

    # --- what belongs to an item that is there -------------------------------------------------

    def _use(self, place: _ItemFields, call_id: str, told: ToolBegan | ToolEnded | ToolResult) -> Changed:
        """Complete a tool call; an event without its call is an item of its own."""
        key, number = self._uses.get(call_id, ("", -1))
        item = self.by_key.get(key)
        if isinstance(item, ModelStep):
            use = item.tools[number].completed(told)
            tools = (*item.tools[:number], use, *item.tools[number + 1 :])
            step = ModelStep(item.key, item.path, item.at, item.number, item.called, item.message, tools)
            self.by_key[key] = step
            return Changed(use, False, key)
        if isinstance(item, ToolUse):
            return self._change(item.completed(told))
        self._uses[call_id] = (place.key, -1)
        return self._add(ToolUse(*place, call_id).completed(told))

    def _settle(self, question: str, answer: Answer) -> Iterator[Changed]:
        asked = self.by_key.get(self._open.get(("asked", question), ""))
        if isinstance(asked, AskedQuestion):
            yield self._change(replace(asked, answer=answer))

    def _enter(self, stepped: Stepped, place: _ItemFields) -> Changed:
        """A part of the work begins or ends."""
        name = ("part", place.path)
        part = self.by_key.get(self._open.get(name, ""))
        if stepped.state != "began" and isinstance(part, WorkPart):
            return self._change(replace(part, step=stepped))
        return self._add(WorkPart(*place, stepped), name)

    def _confer(self, council: str, event: Event, place: _ItemFields) -> Changed:
        name = ("council", council)
        talk = self.by_key.get(self._open.get(name, ""))
        if isinstance(talk, CouncilTalk):
            return self._change(replace(talk, events=(*talk.events, event)))
        return self._add(CouncilTalk(*place, council, (event,)), name)

    def _add(self, item: Item, name: _Name | None = None) -> Changed:
        """A new item; with a name, later events can find it."""
        if name:
            self._open[name] = item.key
        self.by_key[item.key] = item
        return Changed(item, True)

    def _change(self, item: Item) -> Changed:
        self.by_key[item.key] = item
        return Changed(item, False)


def fold_items(told: Iterable[tuple[Event, tuple[str, ...]]]) -> tuple[Item, ...]:
    """The items that events with their paths come to."""
    items = Items()
    for event, path in told:
        items.take(event, path)
    return tuple(items.by_key.values())
