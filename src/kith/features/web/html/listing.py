"""Sessions in a list, and the form in which the next one begins."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from kith.view.lines import figure
from kith.view.markup import NOTHING, Html, element, joined

_LONGEST: Final = 160  # characters of a title
_WORDS: Final = {
    "working": ("working", "working"),
    "asks": ("asks you", "asks"),
    "limit": ("stopped at a limit", ""),
    "held": ("held back", ""),
    "unavailable": ("no model", ""),
    "unfinished": ("not finished", ""),
}
_KINDS: Final = (("run", "One change"), ("build", "A build of several tasks"), ("confer", "Models confer"))
_FIND: Final = ("Find a session", "sessions")
_EXAMPLE: Final = "Fix the failing test in utils.py … or: how does the cache work?"
_PROMISES: Final = (
    "A model does the task in a copy of your project, in a sandbox. Your files do not change.",
    "You watch its steps, steer it, or stop it. Your tests judge the change.",
    "You see one diff, apply the parts that you want, and can undo them.",
)


class ListedSession(Struct, frozen=True):
    """A session in the list; `status` is how it ended, or "working" or "asks". `at` counts in seconds."""

    id: str
    task: str
    at: float
    status: str
    model: str = ""
    project: str = ""
    waits: bool = False  # its change was not applied, and can be


class Choices(Struct, frozen=True):
    """The options of the form for a new task."""

    tools: Sequence[str] = ()
    projects: Sequence[str] = ()


# --- what there is ---------------------------------------------------------------------------


def items(rows: Sequence[ListedSession], now: float, here: str = "") -> Html:
    """The list's items; `here` is the session that is shown."""
    return joined(_item(row, now, row.id == here) for row in rows)


def sidebar(rows: Sequence[ListedSession], now: float, here: str = "") -> Html:
    """All sessions, beside one of them."""
    return element("nav", find_field(*_FIND), _list(rows, now, here), class_="side", aria_label="Sessions")


def overview(rows: Sequence[ListedSession], now: float) -> Html:
    """All sessions, with room."""
    head = element("header", element("h2", "Sessions", id="listing"), find_field(*_FIND))
    listed = element("section", head, _list(rows, now), class_="listing wide", aria_labelledby="listing")
    return listed if rows else joined((_welcome(), listed))


def _welcome() -> Html:
    """A welcome that the first session replaces."""
    more = (
        element("a", "Models", href="/models"),
        " lists the models on this machine. ",
        element("a", "Tools", href="/tools"),
        " need no model.",
    )
    promises = element("ol", *(element("li", each) for each in _PROMISES))
    return element("section", promises, element("p", *more), class_="welcome", aria_label="How it goes")


def find_field(label: str, filters: str) -> Html:
    """A field that hides those items of a list, by its id, that have other words."""
    field = element("input", type="search", placeholder=label, aria_label=label, data_filters=filters)
    return element("div", field, class_="find script")


def _list(rows: Sequence[ListedSession], now: float, here: str = "") -> Html:
    source = f"/pieces/sessions?here={here}" if here else "/pieces/sessions"
    return joined(
        [
            element(
                "ul", items(rows, now, here), class_="sessions", id="sessions", data_load=source, data_every=3
            ),
            element("p", "No session matches.", class_="nothing", hidden=True),
        ]
    )


def _item(row: ListedSession, now: float, current: bool) -> Html:
    title = title_of(row.task)
    words, style = _WORDS.get(row.status, (row.status, ""))
    words = f"{words}, change waits" if row.waits else words
    status = element("span", words, class_=f"{style}-word" if style else None)
    facts = [status, *(element("span", each) for each in (row.project, ago(now - row.at)) if each)]
    link = element(
        "a",
        element("span", class_=f"dot {row.status}"),
        element("span", title, class_="title"),
        element("span", *facts, class_="facts"),
        href=f"/sessions/{row.id}",
        aria_current="page" if current else None,
    )
    return element("li", link, data_words=f"{title} {words} {row.model} {row.project}")


def title_of(task: str) -> str:
    """A task in one line."""
    line = next((line.strip() for line in task.split("\n") if line.strip()), "Without words")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def ago(seconds: float) -> str:
    """`now`, `4 min`, `3 h`, `12 d`."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return "now"


# --- what is next ----------------------------------------------------------------------------


def composer(choices: Choices) -> Html:
    """The form in which a session begins."""
    return joined(
        [
            element(
                "form",
                _words(),
                _row(choices),
                _more(choices),
                element("p", class_="said", role="alert"),
                class_="compose script",
                data_post="/api/sessions",
                data_go="/sessions/{session}",
                aria_label="New task",
            ),
            element("noscript", element("p", "To begin a task, this page needs JavaScript.", class_="dim")),
        ]
    )


def _words() -> Html:
    return element(
        "textarea",
        name="words",
        id="task",
        required=True,
        rows=3,
        aria_label="What should be done?",
        placeholder=_EXAMPLE,
    )


def _row(choices: Choices) -> Html:
    projects = [(name, name) for name in choices.projects]
    return element(
        "div",
        select("project", "Project", projects) if len(projects) > 1 else NOTHING,
        select("kind", "Kind", _KINDS),
        select("model", "Model", [("", "Usual model")], load="/pieces/models"),
        select("second", "The model it confers with", [("", "Usual model")], load="/pieces/models"),
        _box("plan", "Plan first", "You see the plan and can correct it before the work begins", "show"),
        _box("read_only", "Read only", "Nothing is written. For questions"),
        element("button", "Start", class_="first", title="Ctrl Enter"),
        class_="row",
    )


def _more(choices: Choices) -> Html:
    """The rarer options, folded."""
    tools = [("", "Any tool"), *((name, name) for name in choices.tools)]
    check = element(
        "input",
        type="text",
        name="check",
        id="choose-check",
        data_list=True,
        placeholder="your tests, if kith finds them",
        spellcheck="false",
    )
    return element(
        "details",
        element("summary", "Check, tools, pictures"),
        element(
            "div",
            element("label", "The command that judges the change", for_="choose-check"),
            check,
            element("label", "The tool to use first", for_="choose-tool"),
            select("tool", "The tool to use first", tools),
            element("label", "Pictures (or paste one)", for_="choose-pictures"),
            pictures("choose-pictures"),
        ),
        class_="more",
    )


def _box(name: str, words: str, hint: str, value: str | None = None) -> Html:
    return element("label", element("input", type="checkbox", name=name, value=value), words, title=hint)


def pictures(id: str) -> Html:
    """A field to choose pictures for the model."""
    kinds = "image/png,image/jpeg,image/gif,image/webp"
    return element("input", type="file", id=id, name="images", accept=kinds, multiple=True)


def select(name: str, label: str, options: Sequence[tuple[str, str]], load: str | None = None) -> Html:
    """A field with these (value, words) to choose from; `load` is where more of them come from."""
    return element(
        "select",
        *(element("option", words, value=value) for value, words in options),
        name=name,
        aria_label=label,
        id=f"choose-{name}",
        data_load=load,
    )


def model_options(models: Sequence[tuple[str, float]], first: str = "", *, found: bool = True) -> Html:
    """Models to choose from, each with the tokens a second that it was measured to write (0.0: unknown).

    `found`: there is one that is asked where nobody chooses.
    """
    names = dict(models)
    top = [(first, names.pop(first, 0.0))] if first else []
    usual = element("option", "Usual model" if found else "No model yet: see Models", value="")
    return joined([*(map(_model, top)), usual, *map(_model, names.items())])


def _model(model: tuple[str, float]) -> Html:
    name, rate = model
    speed = f" · {figure(rate)} tokens/s" if rate else ""
    return element("option", f"{name}{speed}", value=name)
