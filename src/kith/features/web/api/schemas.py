"""The shapes of requests, answers and refusals, as the OpenAPI description shows them."""

import json
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal

from fastapi import Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from kith.core.errors import UsageError
from kith.core.pictures import read_picture
from kith.core.values import FileChange, Image, Question, TodoItem
from kith.edits.pieces import pieces_of
from kith.features.web.guard import MOST
from kith.features.web.problems import Refused
from kith.settings.check import check_value
from kith.terminal.options import SAMPLING
from kith.view.printing import printable
from kith.view.wording import question_text

MOST_WORDS: Final = 200_000  # characters
Words = Annotated[str, Field(min_length=1, max_length=MOST_WORDS, pattern=r"\S")]
Name = Annotated[str, Field(max_length=300, pattern=r"^[^\x00-\x1f]*$")]
Check = Annotated[list[Annotated[str, Field(min_length=1, max_length=2_000)]], Field(max_length=20)]


# --- what is sent ----------------------------------------------------------------------------


def check_sampling(options: dict[str, int | float]) -> dict[str, int | float]:
    """Options of sampling, each known and in its range. Raises ValueError."""
    if unknown := options.keys() - set(SAMPLING):
        raise ValueError(f"{', '.join(sorted(unknown))} is no option of sampling")
    try:
        for name, value in options.items():
            check_value(f"sampling.{name}", value, "")
    except UsageError as error:
        raise ValueError(str(error).rstrip(".")) from None
    return options


class Sent(BaseModel):
    """A body: what it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


class Picture(Sent):
    """A picture for the model: PNG, JPEG, GIF or WebP in Base64."""

    name: Annotated[str, Field(max_length=300)] = "picture"
    data: Annotated[str, Field(min_length=1, max_length=MOST)]

    def read(self) -> Image:
        """Raises Refused for what no model takes."""
        try:
            found = read_picture(b64decode(self.data, validate=True), printable(self.name))
        except ValueError:
            found = None
        if found is None:
            raise Refused(422, "Pictures are PNG, JPEG, GIF or WebP in Base64.")
        return found


class Wanted(Sent):
    """A task and its options."""

    words: Words
    kind: Literal["run", "build", "confer"] = "run"
    plan: Literal["no", "yes", "show"] = "no"
    tool: Name = Field("", description="The tool to use first; empty: the model chooses.")
    model: Name = Field(
        "", description="As `kith -m` takes it; to confer, two with a comma; empty: as it is configured."
    )
    read_only: bool = False
    check: Check | None = Field(
        None, description="Commands that decide about the change; `none`: nothing does."
    )

    images: Annotated[list[Picture], Field(max_length=8)] = []
    sampling: Annotated[dict[str, int | float], AfterValidator(check_sampling)] = Field(
        {}, description="Sampling, such as `temperature` and `top_k`; left out: as it is configured."
    )

    def flags(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Settings for the task, over those that were `given` to the server."""
        sampling = {f"sampling.{name}": value for name, value in self.sampling.items()}
        return dict(given) | chosen_flags(self.model, self.read_only, self.check) | sampling


class Message(Wanted):
    """Words for a session; all but the words counts only where they begin a task."""

    words: Annotated[str, Field(max_length=MOST_WORDS)] = ""
    resume: bool = Field(False, description="Go on with a task that was cut short; words steer it then.")


class NewSession(Wanted):
    """The first words of a session."""

    project: Name = Field("", description="One of /projects; empty: the first.")


class KeptPieces(Sent):
    """Of a changed file the pieces that are kept, by their numbers from 0."""

    path: Annotated[str, Field(max_length=4_096)]
    hunks: Annotated[list[Annotated[int, Field(ge=0, le=1_000_000)]], Field(max_length=100_000)]


class GivenAnswer(Sent):
    """An answer: one of the question's choices, with words or pieces where the choice wants them."""

    choice: Annotated[str, Field(min_length=1, max_length=200)]
    text: Annotated[str, Field(max_length=MOST_WORDS)] = ""
    kept: Annotated[list[KeptPieces], Field(max_length=10_000)] = []


def chosen_flags(model: str, read_only: bool, check: list[str] | None) -> dict[str, Any]:
    """Settings that a request chose, as the command line would give them."""
    flags: dict[str, Any] = {"model": model} if model else {}
    flags |= {"read_only": True} if read_only else {}
    return flags | ({"check": check} if check is not None else {})


# --- what is answered ------------------------------------------------------------------------


class Project(TypedDict):
    """A folder whose sessions and files are served."""

    name: str
    root: str


class Projects(TypedDict):
    """The first one is meant where none is named."""

    projects: list[Project]


class File(TypedDict):
    """A changed file as a unified diff; `pieces` can be kept by their numbers from 0.

    `warning`: in a question, who runs or follows the file without being told to; else "".
    `planned`: in a question, if the agreed plan names the file; null without a plan.
    """

    path: str
    added: int
    removed: int
    diff: str
    pieces: int
    warning: str
    planned: bool | None


class Asked(TypedDict):
    """A question that waits for a person; `pattern` is what "always" allows of calls with that effect."""

    id: str
    kind: Literal["change", "plan", "tool", "trust"]
    text: str
    choices: list[str]
    draft: str
    files: list[File]
    effect: str
    pattern: str


class Todo(TypedDict):
    """One line of the model's list."""

    text: str
    state: Literal["pending", "active", "done"]


class SessionLine(TypedDict):
    """A session in a line; `at` counts seconds since 1970."""

    id: str
    task: str
    model: str
    at: float
    status: str
    working: bool
    waiting: Annotated[bool, Field(description="A change was not applied, and waits: see `apply`.")]


class SessionList(TypedDict):
    """The newest sessions first."""

    sessions: list[SessionLine]


class SessionNow(TypedDict):
    """A session as it stands; `position` is where its events go on."""

    id: str
    project: str
    task: str
    model: str
    status: Annotated[
        str, Field(description="done, failed, rejected, held, limit, unavailable, interrupted, unfinished")
    ]
    text: str
    working: bool
    resumable: Annotated[bool, Field(description="It was cut short; a message with `resume` goes on.")]
    waiting: Annotated[bool, Field(description="A change was not applied, and waits: see `apply`.")]
    question: Asked | None
    todo: list[Todo]
    position: str


class Begun(TypedDict):
    """The session that got the words, and the position from which to read on."""

    session: str
    position: str


class Stopped(TypedDict):
    """The session whose work was asked to stop; its events tell when it has."""

    session: str


class Answered(TypedDict):
    """The answer that counts."""

    question: str
    choice: str
    by: str


class Diff(TypedDict):
    """A change: it waits for an answer, is kept for `apply`, was applied or only proposed; or none."""

    state: Literal["waiting", "kept", "applied", "proposed", "none"]
    files: list[File]


class TodoList(TypedDict):
    """The model's list."""

    items: list[Todo]


class ListedTodo(Todo):
    """One line of the model's list; a line keeps its `id` while its text stays the same."""

    id: int


class Discarded(TypedDict):
    """The change that waited, and was thrown away."""

    files: list[File]


class Undone(TypedDict):
    """The change that took another one back."""

    change: str
    undoes: str
    files: list[File]


def question_of(question: Question | None) -> Asked | None:
    """A question as it is answered over HTTP."""
    if question is None:
        return None
    files = [file_of(file) for file in question.files]
    kind, choices = question.kind, list(question.choices)
    return Asked(
        id=question.id,
        kind=kind,
        text=question_text(question),
        choices=choices,
        draft=question.draft,
        files=files,
        effect=question.effect,
        pattern=question.pattern,
    )


def file_of(file: FileChange) -> File:
    """A changed file, with the number of its pieces."""
    return File(
        path=file.path,
        added=file.added,
        removed=file.removed,
        diff=file.diff,
        pieces=len(pieces_of(file)),
        warning=file.warning,
        planned=file.planned,
    )


def todo_of(items: Iterable[TodoItem]) -> list[Todo]:
    """The list, line by line."""
    return [Todo(text=item.text, state=item.state) for item in items]


def answer(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The answer as JSON. In ASCII: names of files may hold bytes that no UTF-8 text can."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return Response(text, status, headers, "application/json")


# How requests are refused, as the OpenAPI description tells it: always a problem with one sentence.

_WORDS: Final = {
    400: "The request is not one that this server reads.",
    401: "It needs the token.",
    403: "It comes from a page of somebody else.",
    404: "There is no such thing here.",
    409: "It does not fit what has happened already.",
    410: "Nobody waits for this any more.",
    413: "It is too large.",
    415: "It is not JSON.",
    421: "It was meant for another host.",
    422: "Something in it is wrong; the sentence says what.",
    429: "There were too many wrong tokens.",
    502: "A model's server failed.",
    503: "What is needed cannot be reached now.",
}
_AT_THE_DOOR: Final = (400, 401, 403, 413, 415, 421, 429)
_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "title": "Problem",
    "description": "RFC 9457: `detail` is one sentence for a person.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals of a route, besides those of every route: a wrong request, and no authentication."""
    content = {"application/problem+json": {"schema": _PROBLEM}}
    chosen = sorted({*statuses, 422, *_AT_THE_DOOR})
    return {status: {"description": _WORDS[status], "content": content} for status in chosen}
