"""A session as a page: its events folded into items and a time line, all at once or change after change."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import partial
from typing import Final

from msgspec.structs import replace

from kith.core.events import (
    Advanced,
    Applied,
    Event,
    Judged,
    Named,
    Notice,
    Proposed,
    Resumed,
    Reviewed,
    RunEnded,
    RunStarted,
    Stepped,
    Tasked,
    ToolEnded,
)
from kith.core.values import Answer, Plan, Question, Timing, TodoItem
from kith.features.web.html.activity import SLOT, Activity
from kith.features.web.html.items import id_of, item_html
from kith.features.web.html.patches import LazyPatch, Patch, draw_all, shielded, tell_bug
from kith.features.web.html.questions import plan_html, question_html, todo_html
from kith.features.web.html.receipt import meter_html, receipt_html, took
from kith.features.web.part import redrawing
from kith.memory.database import COMMAND as ASIDE
from kith.memory.live import Position, Seen, read_seen
from kith.memory.past import fold
from kith.memory.receipt import describe_run
from kith.view.items import (
    AskedQuestion,
    Changed,
    GateVerdict,
    Item,
    Items,
    ModelStep,
    TodoList,
    ToolUse,
    WorkPlan,
)
from kith.view.lines import count
from kith.view.markup import NOTHING, Html, element, joined
from kith.view.meter import Meter

# The log of a session as a list of its items, and as a time line; what each change of an item changes.

# The parts of a session's time, as the page names them.
PHASES: Final = {
    "queue": "model load and queue",
    "reading": "reading",
    "writing": "writing",
    "tools": "tools",
    "checks": "checks",
    "you": "waiting for you",
}
_ALWAYS: Final = ("reading", "writing", "tools", "you")  # named even while they took no time
_HEIGHT, _WIDTH = 48, 8  # of a bar, in pixels
_LEAST_S, _MOST_S = 0.05, 1_000.0  # the scale is logarithmic: bars of long sessions need no other one


def has_bar(item: Item) -> bool:
    """True for a part of the time line: a step, a question, or a check that ran."""
    return isinstance(item, ModelStep | AskedQuestion) or (
        isinstance(item, GateVerdict) and bool(item.judged.ran)
    )


def bar_html(item: Item, waited: float = 0.0) -> Html:
    """A step's bar, which leads to it; nothing for what takes no time."""
    spent = {
        phase: seconds for phase, seconds in seconds_of(item, waited).items() if seconds >= _LEAST_S / 10
    }
    total = sum(spent.values())
    told = ", ".join(f"{PHASES[phase]} {seconds:.1f} s" for phase, seconds in spent.items())
    label = f"{_name_of(item)}: {total:.1f} s" + (f" ({told})" if told else "")
    picture = element(
        "svg",
        *_stacked(spent, total),
        width=_WIDTH,
        height=_HEIGHT,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        aria_hidden="true",
    )
    link = element("a", picture, href=f"#{id_of(item)}", title=label, aria_label=label)
    return element("li", link, id=f"{id_of(item)}-bar")


def _name_of(item: Item) -> str:
    if isinstance(item, ModelStep):
        return f"Step {item.number}"
    return "Checks" if isinstance(item, GateVerdict) else "Question"


def seconds_of(item: Item, waited: float = 0.0) -> dict[str, float]:
    """Sum up a step's seconds by phase; a question `waited` so long for its answer."""
    spent = dict.fromkeys(PHASES, 0.0)
    if isinstance(item, ModelStep):
        if item.called:
            spent["queue"], spent["reading"], spent["writing"] = _phases(item.called.timing)
        spent["tools"] = sum(each.ended.seconds for each in item.tools if each.ended)
    elif isinstance(item, GateVerdict):
        spent["checks"] = sum(ran.seconds for ran in item.judged.ran)
    elif isinstance(item, AskedQuestion):
        spent["you"] = waited
    return spent


def _phases(timing: Timing) -> tuple[float, float, float]:
    """Seconds of waiting, reading and writing; where a server tells none, its first token parts the two."""
    waiting = timing.load_s + timing.queue_s
    if timing.prefill_s or timing.decode_s:
        return waiting, timing.prefill_s, timing.decode_s
    reading = timing.first_token_s or timing.total_s
    return waiting, max(reading - waiting, 0.0), max(timing.total_s - reading, 0.0)


def _stacked(spent: dict[str, float], total: float) -> list[Html]:
    if not total:
        return [NOTHING]
    scale = math.log(max(total, _LEAST_S) / _LEAST_S) / math.log(_MOST_S / _LEAST_S)
    height, top, bars = max(2.0, min(scale, 1.0) * _HEIGHT), float(_HEIGHT), []
    for phase, seconds in spent.items():
        part = height * seconds / total
        top -= part
        bars.append(element("rect", class_=phase, width=_WIDTH - 1, height=f"{part:.1f}", y=f"{top:.1f}"))
    return bars


def times_html(spent: Mapping[str, float]) -> Html:
    """The session's time by phase: one bar of shares, and the seconds of each as a list."""
    total, begin, parts = sum(spent.values()), 0.0, []
    for phase, seconds in spent.items():
        width = 100 * seconds / total if total else 0.0
        parts.append(element("rect", class_=phase, x=f"{begin:.2f}", width=f"{width:.2f}", height=8))
        begin += width
    shares = element("svg", *parts, viewBox="0 0 100 8", preserveAspectRatio="none", aria_hidden="true")
    rows = (
        joined(
            (
                element("dt", element("span", class_=f"swatch {phase}"), words),
                element("dd", took(spent[phase])),
            )
        )
        for phase, words in PHASES.items()
        if phase in _ALWAYS or spent[phase] >= _LEAST_S
    )
    return element("div", shares, element("dl", *rows, class_="key"), id="times")


def timeline_html(bars: Html, times: Html) -> Html:
    """The section `timeline`: how long each part took in all, and a bar for each step."""
    return element(
        "section",
        element("h2", "Time"),
        times,
        element("ol", bars, id="bars", aria_label="Time of each step"),
        id="timeline",
        class_="panel",
    )


_MOST: Final = 400_000  # characters of the events that a page begins with: what is long counts for more
_FEWEST: Final = 20  # items, however long they are


class Story:
    """The list, and its time line. `base` is where the page finds one item whole; None: it holds everything.

    What is drawn is the item as it is then, however many changes came before.
    """

    def __init__(self, items: Items, base: str | None) -> None:
        self._items, self._base = items, base
        self._keys: list[str] = []
        self._sizes: dict[str, int] = {}  # of each item's events, in characters
        self._waited: dict[str, float] = {}  # seconds until each question was answered
        self._spent = dict.fromkeys(PHASES, 0.0)  # of all that is over

    def show(self, changed: Changed, size: int, at: float = 0.0) -> Iterator[LazyPatch]:
        """An item has come or changed, `at` that time, by an event of so many characters."""
        item, key = changed.item, changed.step or changed.item.key
        if isinstance(item, TodoList):
            return  # it has a panel
        self._sizes[key] = self._sizes.get(key, 0) + size
        if self._spend(changed, at):
            yield LazyPatch("replace", "times", partial(times_html, self._spent))
        if changed.is_new:
            self._keys.append(key)
            yield LazyPatch("append", "log", partial(self._html, key))
            if has_bar(item):
                yield LazyPatch("append", "bars", partial(self._bar, key))
            return
        use = item.key if changed.step else ""
        yield LazyPatch("replace", id_of(item), partial(self._html, key, use))
        if (isinstance(item, ToolUse) and changed.step and item.state == "ended") or key in self._waited:
            yield LazyPatch("replace", f"e{key}-bar", partial(self._bar, key))

    def _spend(self, changed: Changed, at: float) -> bool:
        """Add to the times what is over by this change; True where that is something."""
        item = changed.item
        match item:
            case ModelStep() | GateVerdict() if changed.is_new:
                spent = seconds_of(item)
            case ToolUse(state="ended", ended=ToolEnded(seconds=seconds)):
                spent = {"tools": seconds}
            case AskedQuestion(answer=Answer()) if item.at and item.key not in self._waited:
                self._waited[item.key] = max(0.0, at - item.at)
                spent = {"you": self._waited[item.key]}
            case _:
                return False
        for phase, seconds in spent.items():
            self._spent[phase] += seconds
        return True

    def copied(self, items: Items) -> "Story":
        """The same list, of items that are copied."""
        same = Story(items, self._base)
        same._keys, same._sizes = [*self._keys], {**self._sizes}
        same._waited, same._spent = {**self._waited}, {**self._spent}
        return same

    def _html(self, key: str, use: str = "") -> Html:
        """An item, or one use of a tool in it, as it is now."""
        item = self._items.by_key[key]
        if use and isinstance(item, ModelStep):
            item = next(each for each in item.tools if each.key == use)
        whole = None if self._base is None else f"{self._base}/items/e{key}"
        return shielded(lambda: item_html(item, whole), id_of(item), "li")

    def _bar(self, key: str) -> Html:
        waited = self._waited.get(key, 0.0)
        return shielded(lambda: bar_html(self._items.by_key[key], waited), f"e{key}-bar", "li")

    def item_html(self, id: str) -> Html | None:
        """All of one item, nothing left out; None when there is no such item."""
        item: Item | None = self._items.by_key.get(id[1:]) if id[:1] == "e" else None
        return item_html(item) if item else None

    def log_html(self, newest: int | None) -> Html:
        """The list `log`, with its newest items, or all."""
        return element("ol", self._slice(len(self._keys), newest)[0], id="log")

    def timeline_html(self, newest: int | None) -> Html:
        """The section `timeline`, for the same items."""
        return timeline_html(self._slice(len(self._keys), newest)[1], times_html(self._spent))

    def earlier(self, before: str, count: int) -> tuple[tuple[str, Html], ...]:
        """Items before an item, by its id, for the places of `earlier` and `earlier-bars`."""
        end = next((n for n, key in enumerate(self._keys) if f"e{key}" == before), 0)
        items, bars = self._slice(end, count)
        return ("earlier", items), ("earlier-bars", bars)

    def _slice(self, end: int, most: int | None) -> tuple[Html, Html]:
        """Items up to `end` and their bars, with a door to the older ones in front."""
        begin = 0 if most is None else self._begin_of(end, most)
        shown = self._keys[begin:end]
        items = map(self._html, shown)
        bars = (self._bar(key) for key in shown if has_bar(self._items.by_key[key]))
        if not begin:
            return joined(items), joined(bars)
        return joined((self._door(begin), *items)), joined((element("li", id="earlier-bars"), *bars))

    def _begin_of(self, end: int, most: int) -> int:
        """Find where the newest items up to `end` begin: so many, or fewer where they are long."""
        begin, left = end, _MOST
        while begin > max(0, end - most) and (left > 0 or end - begin < _FEWEST):
            begin -= 1
            left -= self._sizes[self._keys[begin]]
        return begin

    def _door(self, begin: int) -> Html:
        words = f"Show {count(begin, 'earlier item')}"
        link = element("a", words, href="?all=1", data_before=f"e{self._keys[begin]}")
        return element("li", link, id="earlier")


Draw = Callable[[], Html]


def plan_section(plan: Plan | None) -> Html:
    """The section `plan`, hidden while there is none."""
    return _section("plan", "Plan", plan_html(plan) if plan else NOTHING)


def question_section(session: str, question: Question | None, plan: Plan | None, project: str = "") -> Html:
    """The section `question`, empty and hidden while nobody is asked."""
    if question is None:
        return _section("question", "", NOTHING)
    return _section("question", "", question_html(session, question, project, plan))


def build_section(draw: Draw | None) -> Html:
    """The section `build` with the panels of features, hidden where they have none."""
    return _section("build", "", draw() if draw else NOTHING)


def _section(id: str, title: str, inner: Html) -> Html:
    if not inner:
        return element("section", id=id, hidden=True)
    head = element("h2", title) if title else NOTHING
    return element("section", joined((head, inner)), id=id)


NEWEST: Final = 200  # items of the log that a page begins with, if they are short; older ones are asked for
# What a receipt is made of; calls are summed up by the meter.
RECEIPT: Final = (Applied, Judged, Notice, Proposed, Reviewed, RunEnded, RunStarted, Stepped, ToolEnded)
_BUILDING: Final = (Advanced, Resumed, RunEnded, RunStarted, Stepped, Tasked)


class Scene:
    """One session as it is shown.

    `live`: a page of `kith serve`, which fetches what is long or old when somebody wants it; else the page
    holds everything itself. What `take` answers turns the page that `html` gave into the one that it would
    give now. `build` draws the state of a build; `project` is what questions call the folder.
    """

    def __init__(
        self, session: str, *, live: bool = True, project: str = "", build: Draw | None = None
    ) -> None:
        self.session, self.live, self.project = session, live, project
        self.position = Position()
        self.title = ""  # the first task
        self.question: Question | None = None  # that is open
        self._items = Items()
        self._story = Story(self._items, f"/sessions/{session}" if live else None)
        self._build = build
        self._activity = Activity()
        self._meter = Meter()
        self._todo: tuple[TodoItem, ...] = ()
        self._plan: Plan | None = None
        self._task: list[Event] = []  # what the receipt of the present task is made of
        self._done: list[Event] | None = None  # of a task that is over

    def copied(self, build: Draw | None = None) -> "Scene":
        """An independent copy; cheap, since no item ever changes."""
        same = copy(self)
        same._items, same._activity, same._build = self._items.copied(), self._activity.copied(), build
        same._story = self._story.copied(same._items)
        same._meter, same._task = replace(self._meter), [*self._task]
        return same

    def take(self, seen: Seen) -> tuple[Patch, ...]:
        """One more event: what changes on the page."""
        return tuple(patch.draw() for patch in self._fold(seen))

    def take_all(self, seen: Iterable[Seen]) -> list[Patch]:
        """Several events at once: the same, in fewer patches."""
        return draw_all(patch for each in seen for patch in self._fold(each))

    def skip(self, seen: Iterable[Seen]) -> None:
        """Events of the time before anybody looked: they count, and nothing is drawn."""
        for each in seen:
            for _ in self._fold(each):
                pass

    def rejoin(self) -> tuple[Patch, ...]:
        """For a page that comes back: what is shown and not stored, as it is now."""
        return tuple(Patch("replace", target, make()) for target, make in self._activity.slots())

    def give_up(self) -> list[Patch]:
        """The worker has died: what was being written is lost, and its question is asked again."""
        self._activity = Activity()
        panels = [Patch("replace", "build", build_section(self._build))] if self._build else []
        return [*(patch.draw() for patch in self._ask(None)), *self.rejoin(), *panels]

    def earlier(self, before: str, count: int = NEWEST) -> tuple[Patch, ...]:
        """So many items before the one with this id, for a page that has not shown them."""
        return tuple(Patch("replace", target, html) for target, html in self._story.earlier(before, count))

    def item(self, id: str) -> Html | None:
        """One item of the log with nothing left out; None when there is none of this id."""
        return self._story.item_html(id)

    def log_html(self, newest: int | None = NEWEST) -> Html:
        """The log with so many of its newest items (None: all); then the question, and the receipt."""
        live = shielded(self._activity.live_html, SLOT)
        question, receipt = shielded(self._question_html, "question"), shielded(self._receipt_html, "receipt")
        return joined((self._story.log_html(newest), live, question, receipt))

    def panels_html(self, newest: int | None = NEWEST) -> Html:
        """The panels beside the log: to do, plan, build, time line, meter."""
        return joined(
            (
                shielded(partial(todo_html, self._todo), "todo"),
                shielded(partial(plan_section, self._plan), "plan"),
                shielded(partial(build_section, self._build), "build"),
                self._story.timeline_html(newest),
                shielded(partial(meter_html, self._meter), "meter"),
            )
        )

    def status_html(self) -> Html:
        """The present activity, in words that are read aloud, and how far it is."""
        words = element("p", self._activity.now_html(), id="status", role="status", aria_live="polite")
        return joined((words, self._activity.progress_html()))

    def html(self, newest: int | None = NEWEST, head: Html = NOTHING) -> Html:
        """The whole `main`: what happened, under a `head`, and the panels."""
        return element(
            "main",
            element("div", head, self.log_html(newest), self.status_html(), class_="flow"),
            element("aside", self.panels_html(newest), aria_label="About this session"),
            id="session",
            data_session=self.session,
            data_position=str(self.position),
        )

    # --- the fold ------------------------------------------------------------------------------

    def _fold(self, seen: Seen) -> Iterator[LazyPatch]:
        self.position = seen.position
        event = read_seen(seen)
        try:
            if seen.stored:
                yield from self._show(event, seen)
                yield from self._panels(event, seen.at)
            yield from self._activity.take(event, seen)
        except Exception:  # a bug must not end the stream: what comes after it can be shown
            tell_bug()
            if seen.stored:
                lost = Notice(f"An event of kind {seen.kind} cannot be shown (a bug in kith).", "warning")
                yield from self._show(lost, seen)

    def _show(self, event: Event, seen: Seen) -> Iterator[LazyPatch]:
        """Fold an event into the log, and into the panels that show one of its items."""
        for changed in self._items.take(event, seen.path, seen.at, seen.position.seq):
            yield from self._story.show(changed, len(seen.body), seen.at)
            match changed.item:
                case TodoList(entries=entries):
                    self._todo = entries
                    yield LazyPatch("replace", "todo", lambda: todo_html(self._todo))
                case WorkPlan(plan=plan):
                    self._plan = plan
                    yield LazyPatch("replace", "plan", lambda: plan_section(self._plan))
                case AskedQuestion(question=question, answer=answer):
                    yield from self._ask(None if answer else question)

    def _panels(self, event: Event, at: float) -> Iterator[LazyPatch]:
        """Fold an event into the other panels."""
        if self._meter.take(event, at):
            yield LazyPatch("replace", "meter", lambda: meter_html(self._meter))
        if isinstance(event, Named):
            self.title = event.title
        elif isinstance(event, RunStarted | Resumed | RunEnded):
            yield from self._turn(event)
        if self._build and isinstance(event, (*_BUILDING, *redrawing())):
            yield LazyPatch("replace", "build", partial(build_section, self._build))
        if isinstance(event, RECEIPT):
            self._task.append(event)

    def _ask(self, question: Question | None) -> Iterator[LazyPatch]:
        if question or self.question:
            self.question = question
            yield LazyPatch("replace", "question", self._question_html)

    def _turn(self, event: RunStarted | Resumed | RunEnded) -> Iterator[LazyPatch]:
        """A task begins or is over."""
        yield from self._ask(None)
        if isinstance(event, Resumed):
            self._done = None
        elif isinstance(event, RunEnded):
            self._done = [*self._task, event]
        elif event.options.kind != ASIDE:
            self._task, self._done = [], None
            self.title = self.title or event.task
        yield LazyPatch("replace", "receipt", self._receipt_html)

    def _question_html(self) -> Html:
        return question_section(self.session, self.question, self._plan, self.project)

    def _receipt_html(self) -> Html:
        if self._done is None:
            return receipt_html(None)
        return receipt_html(describe_run(self.session, fold(self._done)))
