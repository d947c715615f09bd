"""Draw the frame of a session: its title, the input, and the buttons of the moment."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from kith.core.events import Applied, Event, Named, Resumed, RunEnded, RunStarted
from kith.features.web.html.listing import pictures, select, title_of
from kith.features.web.html.patches import Patch
from kith.view.markup import NOTHING, Html, element

CONTROLLING: Final = frozenset(("Applied", "Named", "Resumed", "RunEnded", "RunStarted"))  # kinds of events
_SAY: Final = "Steer the model, or write the next task"


class Controls(Struct):
    """A fold of the parts above and below a session's steps."""

    session: str
    project: str = ""
    title: str = ""
    named: bool = False  # by the person: its first words say something else
    began: float = 0.0  # seconds since the epoch
    model: str = ""
    begun: bool = False  # a task, and it has not ended
    lost: bool = False  # its process has died before it ended
    resumable: bool = False
    applied: str = ""  # the change that can be taken back
    waits: bool = False  # a change was not applied, and can be
    sent: tuple[str, ...] = ()  # words of the person that the log does not hold yet

    @property
    def working(self) -> bool:
        return self.begun and not self.lost

    def take(self, event: Event, at: float) -> Iterator[Patch]:
        """One more event, and what it changes."""
        before = self.working, self.applied
        match event:
            case RunStarted(task=task, model=model):
                self.model, self.begun = model, True
                if not self.began:
                    self.title, self.began = self.title if self.named else title_of(task), at
                    yield Patch("replace", "head", self.head())
            case Named(title):
                self.title, self.named = title_of(title), True
                yield Patch("replace", "head", self.head())
            case Resumed():
                self.begun, self.lost = True, False
            case RunEnded():
                self.begun = False
            case Applied(change_id=id, undoes=undoes):
                self.applied, self.waits = "" if undoes else id, False
        if before != (self.working, self.applied):
            yield Patch("replace", "actions", self.actions())

    def stand(self, lost: bool, resumable: bool, waits: bool) -> Iterator[Patch]:
        """Draw what no event tells: its process died, it can be resumed, its change waits."""
        self.lost, self.resumable, self.waits = lost, resumable, waits
        yield Patch("replace", "resume", self.resume())
        yield Patch("replace", "actions", self.actions())

    def head(self) -> Html:
        """The title, and where and when it began."""
        facts = [element("span", self.project), element("code", self.session)]
        if self.began:
            when = datetime.fromtimestamp(self.began, UTC)
            facts.append(element("time", f"{when:%Y-%m-%d %H:%M} UTC", datetime=when.isoformat()))
        # Where the first words stand right below, they are not shown twice.
        title = element("h1", self.title or "New session", class_=None if self.named else "repeated")
        return element("header", title, element("p", *facts, class_="facts"), id="head")

    def sent_html(self) -> Html:
        """The person's words that no worker has taken yet."""
        rows = (
            element(
                "li", element("header", "You"), element("div", words, class_="plain words"), class_="words"
            )
            for words in self.sent
        )
        return element("ol", *rows, id="sent", aria_label="Sent")

    def foot(self) -> Html:
        """The input for words to the model."""
        return element(
            "div",
            self._form("cancel", "Stopping."),
            self._form("undo", "Change undone.", once=True),
            self._form("apply", "kith checks it again, then asks you."),
            self._form("discard", "Change discarded."),
            self.resume(),
            self._box(),
            element(
                "button",
                "↓",
                id="to-end",
                aria_label="To the end",
                title="To the end (G)",
                type="button",
                hidden=True,
            ),
            id="talk",
            class_="script",
        )

    def actions(self) -> Html:
        """The buttons of the moment; each belongs to a form outside of the box."""
        buttons = []
        if self.working:
            key = element("kbd", "Esc Esc", aria_hidden="true")
            buttons.append(element("button", "Stop ", key, form="cancel", class_="risky"))
        elif self.waits:
            buttons.append(element("button", "Apply the change", form="apply", title="It was not applied"))
            buttons.append(element("button", "Discard the change", form="discard", class_="risky"))
        elif self.applied:
            buttons.append(element("button", "Undo the change", form="undo"))
        return element("span", *buttons, id="actions", class_="working" if self.working else None)

    def resume(self) -> Html:
        """The button that resumes an interrupted task; hidden where there is none."""
        why = "The process died before the task was done." if self.lost else "The task was interrupted."
        return element(
            "form",
            element("input", type="hidden", name="resume", value="true"),
            element("span", why),
            element("button", "Resume", class_="first") if self.resumable else NOTHING,
            element("p", class_="said", role="alert"),
            id="resume",
            data_post=self._address("messages"),
            data_sent="Resuming.",
            hidden=not (self.lost or self.resumable),
        )

    def _form(self, what: str, sent: str, once: bool = False) -> Html:
        """A form without fields, and where it is said what came of it."""
        said = element("p", class_="said", role="alert")
        return element("form", said, id=what, data_post=self._address(what), data_sent=sent, data_once=once)

    def _box(self) -> Html:
        model = [(self.model, self.model)] if self.model else [("", "Usual model")]
        load = f"/pieces/models?first={quote(self.model, safe='', errors='replace')}"
        row = element(
            "div",
            select("model", "Model of the next task", model, load),
            self.actions(),
            element("button", "Send", class_="first", title="Ctrl Enter"),
            class_="row",
        )
        return element(
            "form",
            element(
                "textarea", name="words", required=True, rows=1, aria_label=_SAY, placeholder=f"{_SAY} …"
            ),
            row,
            element(
                "details",
                element("summary", "Pictures"),
                element("label", "Pictures (or paste one)", for_="add-pictures"),
                pictures("add-pictures"),
                class_="more",
            ),
            element("p", class_="said", role="alert"),
            class_="compose",
            data_post=self._address("messages"),
            data_shown=True,
            aria_label="Say something",
        )

    def _address(self, what: str) -> str:
        return f"/api/sessions/{quote(self.session, safe='')}/{what}"
