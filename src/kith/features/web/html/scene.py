"""A session as a page: its events folded into HTML, all at once or one change after another."""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Final

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
from kith.core.values import Plan, Question, TodoItem
from kith.features.web.html.activity import SLOT, Activity
from kith.features.web.html.patches import LazyPatch, Patch, draw_all, shielded, tell_bug
from kith.features.web.html.plans import plan_html, todo_html
from kith.features.web.html.questions import question_html
from kith.features.web.html.receipt import meter_html, receipt_html
from kith.features.web.html.story import Story
from kith.memory.database import COMMAND as ASIDE
from kith.memory.live import Position, Seen, read_seen
from kith.memory.past import fold
from kith.memory.receipt import describe_run
from kith.view.items import AskedQuestion, Items, TodoList, WorkPlan
from kith.view.markup import NOTHING, Html, element, joined
from kith.view.meter import Meter

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
    """The section `build`, hidden where nothing is built."""
    return _section("build", "Build", draw() if draw else NOTHING)


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
        self._done: tuple[list[Event], Meter] | None = None  # a task that is over, and what it took

    def copied(self, build: Draw | None = None) -> "Scene":
        """The same, to be gone on with apart from this; cheap, since no item ever changes."""
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
        """Whoever worked on it has died: what was being written is lost, and its question is asked anew."""
        self._activity = Activity()
        return [*(patch.draw() for patch in self._ask(None)), *self.rejoin()]

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
            yield from self._story.show(changed, len(seen.body))
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
        if self._build and isinstance(event, _BUILDING):
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
            self._done = ([*self._task, event], replace(self._meter))
        elif event.options.kind != ASIDE:
            self._task, self._done = [], None
            self.title = self.title or event.task
        yield LazyPatch("replace", "receipt", self._receipt_html)

    def _question_html(self) -> Html:
        return question_section(self.session, self.question, self._plan, self.project)

    def _receipt_html(self) -> Html:
        if self._done is None:
            return receipt_html(None)
        events, meter = self._done
        return receipt_html(describe_run(self.session, fold(events)), meter)
